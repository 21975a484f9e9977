// The page's own address: the text, the number that is open, what was changed, and what is asked.

// How an address writes a number's place, and from where it counts: positions and entries from 1
// there, as in words; layers and heads as they are.
const WRITTEN = {
  layer: ["layer", 0],
  head: ["head", 0],
  position: ["q", 1],
  key: ["k", 1],
  entry: ["i", 1],
  row: ["row", 1],
  column: ["column", 1],
};
const ASKED = ["why", "over", "after", "swapped", "swap"];

// The address of a number in a text, of what was changed (heads as [layer, head]), and of the word
// that is asked about: why it, over which other (none: the mean), after which position, and which
// word is swapped for which.
export function write(text, a, { silent = [], mean = [], positions } = {}, why = {}) {
  const query = new URLSearchParams({ text });
  const set = (name, given) => given !== undefined && query.set(name, given);
  for (const [name, heads] of Object.entries({ silent, mean })) {
    if (heads.length) set(name, heads.map((head) => head.join(".")).join(" "));
  }
  set("positions", positions);
  for (const name of ASKED) set(name, why?.[name]);
  set("number", a?.part);
  set("table", a?.table);
  for (const [name, [short, from]] of Object.entries(WRITTEN))
    if (a?.[name] !== undefined) set(short, a[name] + from);
  return query.toString();
}

// What an address names: text, number and question are null where it names none.
export function parse(hash) {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const heads = (name) =>
    (query.get(name)?.split(/[ ,]+/) ?? [])
      .filter(Boolean)
      .map((head) => head.split(".").map(Number));
  const positions = query.get("positions") === "none" ? "none" : undefined;
  const part = query.get("number"),
    number = part && { part };
  if (part && query.has("table")) number.table = query.get("table");
  for (const [name, [short, from]] of Object.entries(part ? WRITTEN : {}))
    if (query.has(short)) number[name] = Number(query.get(short)) - from;
  const asked = ASKED.filter((name) => query.has(name)).map((name) => [name, query.get(name)]);
  return {
    text: query.get("text"),
    number,
    change: { silent: heads("silent"), mean: heads("mean"), positions },
    why: query.has("why") ? Object.fromEntries(asked) : null,
  };
}

// What an address asks about: a position, ids of words (without one, the likeliest, or the next
// likeliest; `over` null: the mean), and which word is swapped; null where one is not there.
export function asks({ model, ids }, { why, over, after = String(ids.length), swapped, swap }) {
  const id = (word) =>
    model.ids.get(/^\S/.test(word) && model.ids.has(` ${word}`) ? ` ${word}` : word);
  const position = Number(after) - 1;
  const found = {
    position,
    ...(why && { entry: id(why) }),
    ...(over !== undefined && { over: over === "" ? null : id(over) }),
    ...(swap && { swap: { at: Number(swapped) - 1, id: id(swap) } }),
  };
  const { at = 0 } = found.swap ?? {},
    all = [...Object.values(found), ...Object.values(found.swap ?? {})];
  const there = position >= 0 && position < ids.length && at >= 0 && at <= position;
  return there && !all.includes(undefined) ? found : null;
}

// A word as it is written there: without its space, where that is clear.
export function wordIn({ model }, entry) {
  const token = model.vocab[entry];
  return asks({ model, ids: [0] }, { why: token.trim() })?.entry === entry ? token.trim() : token;
}
