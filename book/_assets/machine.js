// Any number of the book's GPT, opened: the terms that it is the sum of, and where each comes from.
//
// gpt.js reads the text and keeps every step. A number has an address: the part of the machine that
// it belongs to, and which layer, head, place, key and entry. `open` gives the terms of which it is
// the sum; each is a product of factors, and a factor that was computed has an address in turn. So
// one goes from a probability down to the numbers of the tables, which training has set. The sum is
// a number by itself, or something is done with it (1 / √ for a norm): `outer`.
"use strict";

globalThis.bookMachine = (() => {
  const EPS = 1e-5; // what a norm adds to the mean square
  const BASE = 10000; // of RoPE's wavelengths
  const OF_HEAD = ["q", "k", "v", "q_normed", "k_normed", "q_turned", "k_turned",
    "scores", "scaled", "weights", "mixed"];
  const READ_OUT = ["norm", "by", "logits", "probabilities", "share_next"]; // with a layer: read after it
  const OF_LAYER = ["norm1", "out", "middle", "norm2", "up", "bent", "down", "stream"];

  // --- where a number stands

  // The whole row to which a number belongs, as gpt.js has kept it; none for one that stands alone.
  function row({ model, seen }, { part, layer, head, place }) {
    if (part === "learned") return undefined;
    const kept = READ_OUT.includes(part) && layer !== undefined
      ? bookGPT.last(model, row({ seen }, after({ place, layer }))) : seen[place];
    if (part === "probabilities") return bookGPT.probabilities(kept.logits_V, 1, kept.logits_V.length);
    if (part === "logits") return kept.logits_V;
    if (OF_HEAD.includes(part)) return kept.layers[layer].heads[head][part];
    return OF_LAYER.includes(part) ? kept.layers[layer][part] : kept[part];
  }

  const byKey = (part) => ["scores", "scaled", "weights"].includes(part);
  const inHead = (part) => OF_HEAD.includes(part) || /^([qk]_by|share)$/.test(part);
  const inLayer = (part) => inHead(part) || OF_LAYER.includes(part) || /^by[12]$/.test(part);

  function value(machine, a) {
    const found = row(machine, a);
    return found ? found[byKey(a.part) ? a.key : a.entry] : open(machine, a).value;
  }

  // --- factors

  const learned = (machine, table, at, column) => {
    const tensor = machine.model.weights[table];
    return tensor.codes
      ? { value: tensor.codes[at * tensor.columns + column] * tensor.scales[at],
          name: `${short(table)}[${at + 1}, ${column + 1}]`, to: { part: "learned", table, row: at, column } }
      : { value: tensor[at], name: `${short(table)}[${at + 1}]`, to: { part: "learned", table, row: at } };
  };
  const short = (table) => ({ embedding: "embedding", head: "output" })[table.split(".")[0]]
    ?? table.split(".").slice(-2).join(".").replace("norm.weight", "γ").replace("norm.bias", "β").replace("weight", "W").replace("bias", "b");
  const constant = (value, name) => ({ value, name });

  // Row i of a table times a vector, and its bias.
  function linear(machine, table, i, from) {
    const inputs = row(machine, from), bias = machine.model.weights[`${table}.bias`];
    const terms = Array.from(inputs, (_, j) =>
      [learned(machine, `${table}.weight`, i, j), computed(machine, { ...from, entry: j })]);
    return bias ? [...terms, [learned(machine, `${table}.bias`, i)]] : terms;
  }

  const computed = (machine, a) => ({ value: value(machine, a), name: label(machine, a), to: a });

  // The stream after a layer (-1: the embedding), and the one that a layer reads.
  const after = ({ place, layer, entry }) =>
    (layer < 0 ? { part: "embedding", place, entry } : { part: "stream", place, layer, entry });
  const before = (a) => after({ ...a, layer: a.layer - 1 });

  // 1 / √(mean square + ε) of a row: what a norm multiplies by.
  function scale(machine, from) {
    const all = row(machine, from), share = constant(1 / all.length, `1/${all.length}`);
    const terms = Array.from(all, (_, j) => {
      const x = computed(machine, { ...from, entry: j });
      return [x, x, share];
    });
    return { terms: [...terms, [constant(EPS, "ε")]], outer: [(sum) => 1 / Math.sqrt(sum), "1 / √sum"] };
  }

  function normed(machine, a, from, by, gamma) {
    return { terms: [[computed(machine, from), computed(machine, { ...a, part: by, entry: undefined }),
      learned(machine, gamma, a.entry)]] };
  }

  // q and k alike: from one row of the table for all three, normed, turned by their place.
  function asked(machine, a) {
    const [letter, step] = a.part.split("_"), { width: C, heads: H } = machine.model.config;
    const D = C / H, { entry: d } = a;
    if (!step) {
      const at = "qkv".indexOf(letter) * C + a.head * D + d;
      return { terms: linear(machine, `blocks.${a.layer}.attention.sublayer.qkv`, at,
        { part: "norm1", layer: a.layer, place: a.place }) };
    }
    const plain = (entry) => computed(machine, { ...a, part: letter, entry });
    if (step === "by") return scale(machine, { ...a, part: letter });
    if (step === "normed") {
      const by = { ...a, part: `${letter}_by`, entry: undefined };
      return { terms: [[plain(d), computed(machine, by)]] };
    }
    const half = D / 2, angle = `${a.place} · 10000^(−${d % half}/${half})`;
    const turn = a.place / BASE ** ((d % half) / half);
    const from = (entry) => computed(machine, { ...a, part: `${letter}_normed`, entry });
    if (machine.change.positions !== undefined) return { terms: [[from(d)]] };
    const [cos, sin] = [constant(Math.cos(turn), `cos(${angle})`), constant(Math.sin(turn), `sin(${angle})`)];
    return { terms: d < half
      ? [[from(d), cos], [from(d + half), { value: -sin.value, name: `−${sin.name}` }]]
      : [[from(d - half), sin], [from(d), cos]] };
  }

  // --- a rule for each part

  const exponential = (machine, a) => {
    const exponent = computed(machine, a);
    return { ...exponent, value: Math.exp(exponent.value), name: `e^(${exponent.name})` };
  };

  const RULES = {
    learned: ({ model: { weights } }, { table, row: at, column }) => {
      const { codes, scales, columns } = weights[table];
      if (!codes) return { terms: [[constant(weights[table][at], "as it is")]] };
      return { terms: [[constant(codes[at * columns + column], "its code, a whole number"),
        constant(scales[at], "the scale of its row")]] };
    },
    embedding: (machine, a) => ({ terms: [[learned(machine, "embedding.weight", machine.ids[a.place], a.entry)]] }),
    norm1: (machine, a) => normed(machine, a, before(a), "by1", `blocks.${a.layer}.attention.norm.weight`),
    by1: (machine, a) => scale(machine, before(a)),
    scores: (machine, a) => ({ terms: Array.from(row(machine, { ...a, part: "q_turned" }), (_, entry) => [
      computed(machine, { ...a, part: "q_turned", key: undefined, entry }),
      computed(machine, { ...a, part: "k_turned", place: a.key, key: undefined, entry })]) }),
    scaled: (machine, a) => {
      const D = machine.model.config.width / machine.model.config.heads;
      return { terms: [[computed(machine, { ...a, part: "scores" }), constant(1 / Math.sqrt(D), `1/√${D}`)]] };
    },
    weights: (machine, a) => ({ terms: [[exponential(machine, { ...a, part: "scaled" }),
      computed(machine, { ...a, part: "share", key: undefined })]] }),
    share: (machine, a) => ({ outer: [(sum) => 1 / sum, "1 / sum"], terms: Array.from({ length: a.place + 1 },
      (_, key) => [exponential(machine, { ...a, part: "scaled", key })]) }),
    mixed: (machine, a) => {
      const other = machine.change.instead?.[a.layer]?.[a.head];
      if (other) return { terms: [[constant(other[a.entry], "put in its place")]] };
      return { terms: Array.from({ length: a.place + 1 }, (_, s) => [
        computed(machine, { ...a, part: "weights", entry: undefined, key: s }),
        computed(machine, { ...a, part: "v", place: s })]) };
    },
    out: (machine, a) => {
      const { width: C, heads: H } = machine.model.config, D = C / H, table = `blocks.${a.layer}.attention.sublayer.out`;
      return { terms: [...Array.from({ length: C }, (_, j) => [learned(machine, `${table}.weight`, a.entry, j),
        computed(machine, { ...a, part: "mixed", head: Math.floor(j / D), entry: j % D })]),
        [learned(machine, `${table}.bias`, a.entry)]] };
    },
    middle: (machine, a) => ({ terms: [[computed(machine, before(a))], [computed(machine, { ...a, part: "out" })]] }),
    norm2: (machine, a) =>
      normed(machine, a, { ...a, part: "middle" }, "by2", `blocks.${a.layer}.feed_forward.norm.weight`),
    by2: (machine, a) => scale(machine, { ...a, part: "middle" }),
    up: (machine, a) => ({ terms: linear(machine, `blocks.${a.layer}.feed_forward.sublayer.up`, a.entry,
      { ...a, part: "norm2" }) }),
    bent: (machine, a) => {
      const up = computed(machine, { ...a, part: "up" });
      return { terms: [[up, constant(bookGPT.below(up.value), `Φ(${up.name})`)]] };
    },
    down: (machine, a) => ({ terms: linear(machine, `blocks.${a.layer}.feed_forward.sublayer.down`, a.entry,
      { ...a, part: "bent" }) }),
    stream: (machine, a) => ({ terms: [[computed(machine, { ...a, part: "middle" })],
      [computed(machine, { ...a, part: "down" })]] }),
    norm: (machine, a) => normed(machine, a, lastStream(machine, a), "by", "norm.weight"),
    by: (machine, a) => scale(machine, lastStream(machine, a)),
    logits: (machine, a) => ({ terms: linear(machine, "head", a.entry, { ...a, part: "norm" }) }),
    probabilities: (machine, a) => ({ terms: [[exponential(machine, { ...a, part: "logits" }),
      computed(machine, { ...a, part: "share_next", entry: undefined })]] }),
    share_next: (machine, a) => ({ outer: [(sum) => 1 / sum, "1 / sum"], terms: machine.model.vocab.map(
      (_, entry) => [exponential(machine, { ...a, part: "logits", entry })]) }),
  };
  for (const letter of "qkv") {
    for (const step of ["", "_by", "_normed", "_turned"]) RULES[letter + step] = asked;
  }
  const lastStream = ({ model }, a) => after({ ...a, layer: a.layer ?? model.config.layers - 1 });

  // The number at an address: its terms, each with its product, their sum, and what is done with it.
  function open(machine, a) {
    const { terms, outer = [(sum) => sum, ""] } = RULES[a.part](machine, a);
    const products = terms.map((factors) => factors.reduce((product, { value }) => product * value, 1));
    const sum = products.reduce((all, product) => all + product, 0);
    return { terms: terms.map((factors, i) => ({ factors, product: products[i] })), sum,
      outer: outer[1], value: outer[0](sum) };
  }

  // --- why this word: its logit as a sum over what each part has added to the stream

  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const lead = (logits_V, { entry, over }) => logits_V[entry] - (over === undefined ? 0 : logits_V[over]);

  // What 1 in each entry of the last stream adds to the logit of a word (`entry`), or to its lead over
  // another word (`over`), with the last norm's scale held at what it is for this text.
  function towards({ model: { weights }, seen }, { place, entry, over }) {
    const { codes, scales, columns } = weights["head.weight"], gamma = weights["norm.weight"];
    const of = (i, c) => (i === undefined ? 0 : codes[i * columns + c] * scales[i]), by = scaleOf(seen[place]);
    return Float64Array.from(gamma, (g, c) => g * by * (of(entry, c) - of(over, c)));
  }

  const lastOf = ({ layers }) => layers.at(-1).stream;
  const scaleOf = (kept) => 1 / Math.sqrt(dot(lastOf(kept), lastOf(kept)) / lastOf(kept).length + EPS);

  // All parts, each with its share of the logit: the embedding, each head by the token that it reads
  // (as a whole where something was put in its place), each feed-forward network, and all biases.
  function parts(machine, asked) {
    const { model: { weights, config: { layers, heads, width: C } }, seen, change } = machine;
    const { place } = asked, u_C = towards(machine, asked), D = C / heads;
    const found = [{ part: "embedding", value: dot(seen[place].embedding, u_C) }], biases = { part: "biases", value: 0 };
    for (let layer = 0; layer < layers; layer++) {
      const { codes, scales } = weights[`blocks.${layer}.attention.sublayer.out.weight`], back_C = new Float64Array(C);
      for (let i = 0, at = 0; i < C; i++) {
        const by = u_C[i] * scales[i];
        for (let j = 0; j < C; j++, at++) back_C[j] += by * codes[at];
      }
      for (let head = 0; head < heads; head++) {
        const { weights: shares, mixed } = seen[place].layers[layer].heads[head], back_D = back_C.slice(head * D, (head + 1) * D);
        const put = change.instead?.[layer]?.[head], part = { part: "attention", layer, head };
        if (put) found.push({ ...part, value: dot(mixed, back_D) });
        else for (let key = 0; key <= place; key++) found.push({ ...part, key, value: shares[key] * dot(seen[key].layers[layer].heads[head].v, back_D) });
      }
      const [out, down] = biasesOf(machine, layer).map((bias) => dot(bias, u_C));
      found.push({ part: "down", layer, value: dot(seen[place].layers[layer].down, u_C) - down });
      biases.value += out + down;
    }
    return [...found, biases];
  }

  const biasesOf = ({ model: { weights } }, layer) =>
    ["attention.sublayer.out", "feed_forward.sublayer.down"].map((name) => Float64Array.from(weights[`blocks.${layer}.${name}.bias`]));

  // The vectors that a part has added to the stream, where gpt.js can leave them out.
  function added(machine, place, { part, layer, head, key }) {
    const { model: { weights, config: { layers, heads, width: C } }, seen } = machine, kept = seen[place].layers[layer];
    if (part === "embedding") return { embedding: seen[place].embedding };
    if (part === "biases") {
      return Object.fromEntries(Array.from({ length: layers }, (_, l) => [l, { out: biasesOf(machine, l)[0], down: biasesOf(machine, l)[1] }]));
    }
    if (part === "down") {
      const [, bias] = biasesOf(machine, layer);
      return { [layer]: { down: kept.down.map((x, i) => x - bias[i]) } };
    }
    const mixed = key === undefined ? kept.heads[head].mixed : seen[key].layers[layer].heads[head].v.map((x) => x * kept.heads[head].weights[key]);
    const mixed_C = new Float64Array(C);
    mixed_C.set(mixed, (head * C) / heads);
    return { [layer]: { out: bookGPT.linear(mixed_C, weights[`blocks.${layer}.attention.sublayer.out.weight`]) } };
  }

  const vectors = ({ embedding, ...layers }) => [embedding, ...Object.values(layers).flatMap(({ out, down }) => [out, down])].filter(Boolean);

  // A part left out of the stream at this place: the logits now, by the sum, and as the machine computes
  // them again from there. `later`: how much of the difference the layers above make, `norm`: the rest.
  function silence(machine, asked, part) {
    const { model, ids, seen, change } = machine, { place } = asked, less = added(machine, place, part), kept = seen[place];
    const memory = bookGPT.remember(model).map((heads, l) => heads.map((_, h) => {
      const earlier = seen.slice(0, place).map(({ layers }) => layers[l].heads[h]);
      return { keys: earlier.map(({ k_turned }) => k_turned), values: earlier.map(({ v }) => v) };
    }));
    const without = bookGPT.read(model, memory, ids[place], { ...change, less });
    const gone_C = vectors(less).reduce((all, vector) => all.map((x, i) => x + vector[i]), new Float64Array(model.config.width));
    const by = scaleOf(kept), gone_V = bookGPT.linear(gone_C.map((x, c) => x * by * model.weights["norm.weight"][c]), model.weights["head.weight"]);
    const said_V = kept.logits_V.map((x, i) => x - gone_V[i]), logits = { now: kept.logits_V, said: said_V, found: without.logits_V };
    const u_C = towards(machine, asked), later = dot(lastOf(without), u_C) - dot(lastOf(kept), u_C) + dot(gone_C, u_C);
    return { logits, later, norm: lead(logits.found, asked) - lead(said_V, asked) - later, by: { now: by, said: by, found: scaleOf(without) } };
  }

  // The number that a part opens: of a row the entry that adds most, up or down.
  function leads(machine, asked, { part, layer, head, key }) {
    const u_C = towards(machine, asked), { place } = asked;
    const most = (vector) => vector.reduce((best, x, i) => (Math.abs(x * u_C[i]) > Math.abs(vector[best] * u_C[best]) ? i : best), 0);
    if (part === "attention") return key === undefined ? { part: "mixed", layer, head, place, entry: 0 } : { part: "weights", layer, head, place, key };
    if (part !== "biases") return { part, layer, place, entry: most(vectors(added(machine, place, { part, layer }))[0]) };
    const last = machine.model.config.layers - 1;
    return { part: "learned", table: `blocks.${last}.feed_forward.sublayer.down.bias`, row: most(biasesOf(machine, last)[1]) };
  }

  // --- addresses in words, and in the page's own address

  const SYMBOLS = { embedding: "x", stream: "x", middle: "x′", norm1: "x̂", norm2: "x̂′", norm: "x̂", by1: "1/rms",
    by2: "1/rms", by: "1/rms", scores: "score", scaled: "scaled score", weights: "weight", share: "1/Σ", mixed: "mix",
    q_by: "1/rms(q)", k_by: "1/rms(k)", q_normed: "q̂", k_normed: "k̂", q_turned: "q↻", k_turned: "k↻", bent: "bent",
    logits: "logit", probabilities: "p", share_next: "1/Σ" };
  const token = ({ model, ids }, place) => bookGPT.named(model.vocab[ids[place]]);

  // As it stands in a table of terms: q[5], k[5] of “ fox” (2), score with “ fox” (2), logit of “ a”.
  function label(machine, { part, head, place, key, entry }) {
    const symbol = SYMBOLS[part] ?? part;
    if (["logits", "probabilities"].includes(part)) {
      return `${symbol} of ${bookGPT.named(machine.model.vocab[entry])}`;
    }
    if (key !== undefined) return `${symbol} with ${token(machine, key)} (${key + 1})`;
    const where = ["v", "k_turned"].includes(part) ? ` of ${token(machine, place)} (${place + 1})`
      : part === "mixed" ? ` of head ${head + 1}` : "";
    return symbol + (entry === undefined ? "" : `[${entry + 1}]`) + where;
  }

  // Tokens count from 1 in words and in addresses, as a reader counts.
  const WRITTEN = { layer: "layer", head: "head", place: "q", key: "k", entry: "i", row: "row", column: "column" };

  // The address of a number in a text, of what was changed (heads as [layer, head]), and of the word
  // that is asked about: why it, over which other, after which place.
  function write(text, a, { silent = [], mean = [], positions } = {}, why = {}) {
    const query = new URLSearchParams({ text });
    for (const [name, heads] of Object.entries({ silent, mean })) {
      if (heads.length) query.set(name, heads.map((head) => head.map((n) => n + 1).join(".")).join(" "));
    }
    if (positions) query.set("positions", positions);
    for (const [name, word] of Object.entries(why ?? {})) if (word !== undefined) query.set(name, word);
    if (!a) return query.toString();
    query.set("number", a.part);
    if (a.table) query.set("table", a.table);
    for (const [name, short] of Object.entries(WRITTEN)) if (a[name] !== undefined) query.set(short, a[name] + 1);
    return query.toString();
  }

  // What an address names: text and number are null where it names none.
  function parse(hash) {
    const query = new URLSearchParams(hash.replace(/^#/, ""));
    const heads = (name) => (query.get(name) ?? "").split(/[ ,]+/).filter(Boolean)
      .map((head) => head.split(".").map((n) => Number(n) - 1));
    const change = { silent: heads("silent"), mean: heads("mean"), positions: query.get("positions") === "none" ? "none" : undefined };
    const part = query.get("number"), number = part && { part };
    if (part && query.has("table")) number.table = query.get("table");
    for (const [name, short] of Object.entries(part ? WRITTEN : {})) {
      if (query.has(short)) number[name] = Number(query.get(short)) - 1;
    }
    const why = Object.fromEntries(["why", "over", "after"].filter((name) => query.has(name)).map((name) => [name, query.get(name)]));
    return { text: query.get("text"), number, change, why: query.has("why") ? why : null };
  }

  // What an address asks about: a place and ids of words (without one, the likeliest); null where one
  // is not there.
  function asks({ model, ids }, { why, over, after = String(ids.length) }) {
    const id = (word) => model.ids.get(/^\S/.test(word) && model.ids.has(` ${word}`) ? ` ${word}` : word);
    const place = Number(after) - 1;
    const found = { place, ...(why && { entry: id(why) }), ...(over !== undefined && { over: id(over) }) };
    return place >= 0 && place < ids.length && !Object.values(found).includes(undefined) ? found : null;
  }

  // As it is written there: without its space, where that is clear.
  const word = ({ model }, entry) => {
    const token = model.vocab[entry];
    return asks({ model, ids: [0] }, { why: token.trim() })?.entry === entry ? token.trim() : token;
  };

  // The number: of what comes next the likeliest, where none is named.
  function placed(machine, a) {
    if (!["logits", "probabilities"].includes(a.part) || a.entry !== undefined) return a;
    const all = has(machine, { ...a, entry: 0 }) ? row(machine, a) : [];
    return { ...a, entry: all.indexOf(Math.max(...all)) };
  }

  // Whether there is such a number in this text.
  function has(machine, a) {
    const { config, weights } = machine.model, { layers, heads } = config, T = machine.seen.length;
    const between = (at, end) => Number.isInteger(at) && at >= 0 && at < end;
    if (a.part === "learned") {
      const tensor = weights[a.table];
      if (tensor && !tensor.codes) return between(a.row, tensor.length) && a.column === undefined;
      return Boolean(tensor) && between(a.row, tensor.rows) && between(a.column, tensor.columns);
    }
    if (!Object.hasOwn(RULES, a.part) || !between(a.place, T) || a.part.startsWith("v_")) return false;
    if (READ_OUT.includes(a.part) && a.layer !== undefined && !between(a.layer + 1, layers + 1)) return false;
    if (inLayer(a.part) && !between(a.layer, layers)) return false;
    if (inHead(a.part) && !between(a.head, heads)) return false;
    const all = row(machine, a);
    return !all || between(byKey(a.part) ? a.key : a.entry, all.length);
  }

  return { parts, silence, leads, lead, asks, word, row, value, open, label, write, parse, placed, has, byKey, isReadOut: ({ part }) => READ_OUT.includes(part) };
})();
