// Any number of the book's GPT, opened: the terms that it is the sum of, and where each comes from.
//
// gpt.js reads the text and keeps every step. A number has an address: the part of the machine that
// it belongs to, and which layer, head, position, key and entry. `open` gives the terms of which it
// is the sum; each is a product of factors, and a factor that was computed has an address in turn.
// So one goes from a probability down to the numbers of the tables, which training has set. The sum
// is a number by itself, or something is done with it (1 / √ for a norm): `outer`.
//
// Layers and heads are counted from 1; layer 0 is what layer 1 reads. A norm's parts end in 1 before
// attention, in 2 before the feed-forward network, and in no number after all layers.
"use strict";

globalThis.bookMachine = (() => {
  const { centred, rstd, dot } = bookGPT;
  const OF_HEAD = ["q", "k", "v", "scores", "scaled", "weights", "mixed"];
  const OF_NORM = /^(mean|centred|variance|rstd|norm)([12]?)$/;
  const READ_OUT = [
    "mean",
    "centred",
    "variance",
    "rstd",
    "norm",
    "logits",
    "probabilities",
    "share_next",
  ]; // with a layer: read after it
  const OF_LAYER = ["norm1", "out", "middle", "norm2", "up", "activation", "down", "stream"];

  // --- where a number stands

  // The whole row to which a number belongs, as gpt.js has kept it; none for one that stands alone.
  function row({ model, seen }, { part, layer, head, position }) {
    if (part === "learned" || /^(mean|variance|rstd)/.test(part)) return undefined;
    if (part.startsWith("centred"))
      return centred(row({ model, seen }, normReads({ model }, { part, layer, position })));
    const early = READ_OUT.includes(part) && layer !== undefined;
    const kept = early
      ? bookGPT.readOut(model.weights, seen[position].layers[layer].stream)
      : seen[position];
    if (part === "probabilities") return bookGPT.probabilities(kept.logits_V);
    if (part === "logits") return kept.logits_V;
    if (OF_HEAD.includes(part)) return kept.layers[layer].heads[head - 1][part];
    return OF_LAYER.includes(part) ? kept.layers[layer][part] : kept[part];
  }

  const byKey = (part) => ["scores", "scaled", "weights"].includes(part);
  const inHead = (part) => OF_HEAD.includes(part) || part === "share";
  const inLayer = (part) => inHead(part) || OF_LAYER.includes(part) || /[12]$/.test(part);

  // The number at an address.
  function value(machine, a) {
    const found = row(machine, a);
    return found ? found[byKey(a.part) ? a.key : a.entry] : open(machine, a).value;
  }

  // --- factors: a value, its name, and its address if it can be opened

  const learned = (machine, table, at, column) => {
    const tensor = machine.model.weights[table];
    return tensor.codes
      ? {
          value: tensor.codes[at * tensor.columns + column] * tensor.scales[at],
          name: `${short(table)}[${at + 1}, ${column + 1}]`,
          to: { part: "learned", table, row: at, column },
        }
      : {
          value: tensor[at],
          name: `${short(table)}[${at + 1}]`,
          to: { part: "learned", table, row: at },
        };
  };
  const short = (table) =>
    ({ "embedding.weight": "embedding", "position.weight": "position", "head.weight": "head" })[
      table
    ] ??
    (/norm/.test(table)
      ? table.replace(/.*weight/, "γ").replace(/.*bias/, "β")
      : table.split(".").slice(-2).join(".").replace("weight", "W").replace("bias", "b"));
  const constant = (value, name) => ({ value, name });
  const computed = (machine, a) => ({ value: value(machine, a), name: label(machine, a), to: a });
  const exponential = (machine, a) => {
    const exponent = computed(machine, a);
    return { ...exponent, value: Math.exp(exponent.value), name: `e^(${exponent.name})` };
  };

  // Row i of a matrix times a vector, and its bias, as terms.
  function linear(machine, table, i, from) {
    const bias = machine.model.weights[`${table}.bias`];
    const terms = Array.from(row(machine, from), (_, j) => [
      learned(machine, `${table}.weight`, i, j),
      computed(machine, { ...from, entry: j }),
    ]);
    return bias ? [...terms, [learned(machine, `${table}.bias`, i)]] : terms;
  }

  // --- LayerNorm: its mean, x − mean, variance, 1 / √(variance + ε), and the result

  // The address of the row that a norm reads.
  function normReads({ model }, { part, layer, position, entry }) {
    const [, , which] = OF_NORM.exec(part);
    if (which === "2") return { part: "middle", layer, position, entry };
    return {
      part: "stream",
      layer: which === "1" ? layer - 1 : (layer ?? model.sizes.L),
      position,
      entry,
    };
  }

  // The rule for a part of a norm.
  function ofNorm(machine, a) {
    const [, step, which] = OF_NORM.exec(a.part),
      x = normReads(machine, a),
      all = row(machine, x);
    const name = which ? `blocks.${a.layer - 1}.norm_${which}` : "norm",
      share = constant(1 / all.length, `1/${all.length}`);
    const other = (part, entry) => computed(machine, { ...a, part: part + which, entry });
    return {
      mean: () => ({
        terms: Array.from(all, (_, entry) => [computed(machine, { ...x, entry }), share]),
      }),
      centred: () => {
        const m = other("mean");
        return { terms: [[computed(machine, x)], [constant(-1, "−1"), m]] };
      },
      variance: () => ({
        terms: Array.from(all, (_, entry) => {
          const c = other("centred", entry);
          return [c, c, share];
        }),
      }),
      rstd: () => ({
        terms: [[other("variance")], [constant(bookGPT.EPS, "ε")]],
        outer: [(sum) => 1 / Math.sqrt(sum), "1 / √sum"],
      }),
      norm: () => ({
        terms: [
          [other("centred", a.entry), other("rstd"), learned(machine, `${name}.weight`, a.entry)],
          [learned(machine, `${name}.bias`, a.entry)],
        ],
      }),
    }[step]();
  }

  // --- a rule for each part

  // q, k and v alike: from one matrix for all three.
  function projected(machine, a) {
    const { C, H } = machine.model.sizes,
      at = "qkv".indexOf(a.part) * C + ((a.head - 1) * C) / H + a.entry;
    return {
      terms: linear(machine, `blocks.${a.layer - 1}.attention.qkv`, at, {
        part: "norm1",
        layer: a.layer,
        position: a.position,
      }),
    };
  }

  const inverse = [(sum) => 1 / sum, "1 / sum"];
  const RULES = {
    learned: ({ model: { weights } }, { table, row: at, column }) => {
      const { codes, scales, columns } = weights[table];
      if (!codes) return { terms: [[constant(weights[table][at], "as it is")]] };
      return {
        terms: [
          [
            constant(codes[at * columns + column], "its code, a whole number"),
            constant(scales[at], "the scale of its row"),
          ],
        ],
      };
    },
    embedding: (machine, a) => ({
      terms: [[learned(machine, "embedding.weight", machine.ids[a.position], a.entry)]],
    }),
    position: (machine, a) => ({
      terms: [
        [
          machine.change.positions === "none"
            ? constant(0, "no position")
            : learned(machine, "position.weight", a.position, a.entry),
        ],
      ],
    }),
    ...Object.fromEntries(
      ["1", "2", ""].flatMap((which) =>
        ["mean", "centred", "variance", "rstd", "norm"].map((step) => [step + which, ofNorm]),
      ),
    ),
    q: projected,
    k: projected,
    v: projected,
    scores: (machine, a) => ({
      terms: Array.from(row(machine, { ...a, part: "q" }), (_, entry) => [
        computed(machine, { ...a, part: "q", key: undefined, entry }),
        computed(machine, { ...a, part: "k", position: a.key, key: undefined, entry }),
      ]),
    }),
    scaled: (machine, a) => {
      const D = machine.model.sizes.C / machine.model.sizes.H;
      return {
        terms: [
          [computed(machine, { ...a, part: "scores" }), constant(1 / Math.sqrt(D), `1/√${D}`)],
        ],
      };
    },
    weights: (machine, a) => ({
      terms: [
        [
          exponential(machine, { ...a, part: "scaled" }),
          computed(machine, { ...a, part: "share", key: undefined }),
        ],
      ],
    }),
    share: (machine, a) => ({
      outer: inverse,
      terms: Array.from({ length: a.position + 1 }, (_, key) => [
        exponential(machine, { ...a, part: "scaled", key }),
      ]),
    }),
    mixed: (machine, a) => {
      const other = machine.change.instead?.[a.layer]?.[a.head];
      if (other) return { terms: [[constant(other[a.entry], "put in its place")]] };
      return {
        terms: Array.from({ length: a.position + 1 }, (_, s) => [
          computed(machine, { ...a, part: "weights", entry: undefined, key: s }),
          computed(machine, { ...a, part: "v", position: s }),
        ]),
      };
    },
    out: (machine, a) => {
      const { C, H } = machine.model.sizes,
        D = C / H,
        table = `blocks.${a.layer - 1}.attention.out`;
      return {
        terms: [
          ...Array.from({ length: C }, (_, j) => [
            learned(machine, `${table}.weight`, a.entry, j),
            computed(machine, { ...a, part: "mixed", head: Math.floor(j / D) + 1, entry: j % D }),
          ]),
          [learned(machine, `${table}.bias`, a.entry)],
        ],
      };
    },
    middle: (machine, a) => ({
      terms: [
        [computed(machine, { ...a, part: "stream", layer: a.layer - 1 })],
        [computed(machine, { ...a, part: "out" })],
      ],
    }),
    up: (machine, a) => ({
      terms: linear(machine, `blocks.${a.layer - 1}.feed_forward.up`, a.entry, {
        ...a,
        part: "norm2",
      }),
    }),
    activation: (machine, a) => {
      const up = computed(machine, { ...a, part: "up" });
      return { terms: [[up, constant(bookGPT.normalCdf(up.value), `Φ(${up.name})`)]] };
    },
    down: (machine, a) => ({
      terms: linear(machine, `blocks.${a.layer - 1}.feed_forward.down`, a.entry, {
        ...a,
        part: "activation",
      }),
    }),
    stream: (machine, a) => ({
      terms: (a.layer ? ["middle", "down"] : ["embedding", "position"]).map((part) => [
        computed(machine, { ...a, part, layer: a.layer || undefined }),
      ]),
    }),
    logits: (machine, a) => ({ terms: linear(machine, "head", a.entry, { ...a, part: "norm" }) }),
    probabilities: (machine, a) => ({
      terms: [
        [
          exponential(machine, { ...a, part: "logits" }),
          computed(machine, { ...a, part: "share_next", entry: undefined }),
        ],
      ],
    }),
    share_next: (machine, a) => ({
      outer: inverse,
      terms: machine.model.vocab.map((_, entry) => [
        exponential(machine, { ...a, part: "logits", entry }),
      ]),
    }),
  };

  // The number at an address: its terms, each with its product, their sum, and what is done with it.
  function open(machine, a) {
    const { terms, outer = [(sum) => sum, ""] } = RULES[a.part](machine, a);
    const products = terms.map((factors) =>
      factors.reduce((product, { value }) => product * value, 1),
    );
    const sum = products.reduce((all, product) => all + product, 0);
    return {
      terms: terms.map((factors, i) => ({ factors, product: products[i] })),
      sum,
      outer: outer[1],
      value: outer[0](sum),
    };
  }

  // --- why this word: the lead of its logit as a sum over what each part has added to the stream

  // The lead of a word's logit, `entry`, over another word's, `over`, or else over the mean of all.
  const lead = (logits_V, { entry, over }) =>
    logits_V[entry] -
    (over === undefined ? logits_V.reduce((sum, x) => sum + x) / logits_V.length : logits_V[over]);

  const lastOf = ({ layers }) => layers.at(-1).stream;

  // The difference of two rows of the head, or of one and the mean row, (C,).
  function headRow({ weights }, asked) {
    const { codes, scales, columns } = weights["head.weight"];
    return Float64Array.from({ length: columns }, (_, c) =>
      lead(
        Float64Array.from(scales, (scale, i) => codes[i * columns + c] * scale),
        asked,
      ),
    );
  }

  // What 1 in each entry of the last stream adds to the lead, (C,), with what the last
  // norm divides by held at what it is for this text. Its mean is taken away, as the norm does.
  function toward({ model, seen }, asked) {
    const by = rstd(lastOf(seen[asked.position])),
      gamma = model.weights["norm.weight"];
    return centred(headRow(model, asked).map((x, c) => x * gamma[c] * by));
  }

  // All parts, each with its share of the lead: the embedding, the position, each head by the token
  // that it reads (as a whole where something was put in its place), each feed-forward network, and
  // all biases, β of the last norm among them.
  function parts(machine, asked) {
    const {
      model: {
        weights,
        sizes: { L, H, C },
      },
      seen,
      change,
    } = machine;
    const { position } = asked,
      toward_C = toward(machine, asked),
      D = C / H,
      kept = seen[position];
    const found = ["embedding", "position"].map((part) => ({
      part,
      value: dot(kept[part], toward_C),
    }));
    const biases = {
      part: "biases",
      value: dot(headRow(machine.model, asked), weights["norm.bias"]),
    };
    for (let layer = 1; layer <= L; layer++) {
      const { codes, scales } = weights[`blocks.${layer - 1}.attention.out.weight`],
        back_C = new Float64Array(C);
      for (let i = 0, at = 0; i < C; i++) {
        const by = toward_C[i] * scales[i];
        for (let j = 0; j < C; j++, at++) back_C[j] += by * codes[at];
      }
      for (let head = 1; head <= H; head++) {
        const { weights: shares, mixed } = kept.layers[layer].heads[head - 1],
          back_D = back_C.slice((head - 1) * D, head * D);
        const part = { part: "attention", layer, head };
        if (change.instead?.[layer]?.[head]) found.push({ ...part, value: dot(mixed, back_D) });
        else
          for (let key = 0; key <= position; key++)
            found.push({
              ...part,
              key,
              value: shares[key] * dot(seen[key].layers[layer].heads[head - 1].v, back_D),
            });
      }
      const [out, down] = biasesOf(machine, layer).map((bias) => dot(bias, toward_C));
      found.push({ part: "down", layer, value: dot(kept.layers[layer].down, toward_C) - down });
      biases.value += out + down;
    }
    return [...found, biases];
  }

  const biasesOf = ({ model: { weights } }, layer) =>
    ["attention.out", "feed_forward.down"].map((name) =>
      Float64Array.from(weights[`blocks.${layer - 1}.${name}.bias`]),
    );

  // The vectors that a part has added at a position, as gpt.js takes them away (`less`).
  function added(machine, position, { part, layer, head, key }) {
    const {
        model: {
          weights,
          sizes: { L, H, C },
        },
        seen,
      } = machine,
      kept = seen[position];
    if (part === "embedding" || part === "position") return { [part]: kept[part] };
    if (part === "biases") {
      return Object.fromEntries([
        ["norm", Float64Array.from(weights["norm.bias"])],
        ...Array.from({ length: L }, (_, n) => {
          const [out, down] = biasesOf(machine, n + 1);
          return [n + 1, { out, down }];
        }),
      ]);
    }
    if (part === "down") {
      const [, bias] = biasesOf(machine, layer);
      return { [layer]: { down: kept.layers[layer].down.map((x, i) => x - bias[i]) } };
    }
    const { weights: shares, mixed: all } = kept.layers[layer].heads[head - 1];
    const mixed =
      key === undefined
        ? all
        : seen[key].layers[layer].heads[head - 1].v.map((x) => x * shares[key]);
    const mixed_C = new Float64Array(C);
    mixed_C.set(mixed, ((head - 1) * C) / H);
    return {
      [layer]: {
        out: bookGPT.linear(mixed_C, weights[`blocks.${layer - 1}.attention.out.weight`]),
      },
    };
  }

  // What is gone from the last stream without a part, if no layer notices, (C,).
  const goneOf = ({ norm, embedding, position, ...layers }, C) =>
    [embedding, position, ...Object.values(layers).flatMap(({ out, down }) => [out, down])]
      .filter(Boolean)
      .reduce((all, vector) => all.map((x, i) => x + vector[i]), new Float64Array(C));

  // A part left out at this position: the logits now, by the sum, and as the machine computes them
  // again from there. `later`: how much of the difference the layers after it make, `norm`: the rest;
  // `changed`: the length of what is different in what they add, relative to the vector left out.
  function silence(machine, asked, part) {
    const { model, ids, seen, change } = machine,
      { position } = asked,
      less = added(machine, position, part),
      kept = seen[position];
    const cache = bookGPT.kvCache(model).map((heads, l) =>
      heads.map((_, h) => {
        const earlier = seen.slice(0, position).map(({ layers }) => layers[l + 1].heads[h]);
        return { keys: earlier.map(({ k }) => k), values: earlier.map(({ v }) => v) };
      }),
    );
    const without = bookGPT.read(model, cache, ids[position], { ...change, less });
    const gone_C = goneOf(less, model.sizes.C),
      by = rstd(lastOf(kept)),
      gamma = model.weights["norm.weight"];
    const gone_V = bookGPT.linear(
      centred(gone_C).map((x, c) => x * by * gamma[c] + (less.norm?.[c] ?? 0)),
      model.weights["head.weight"],
    );
    const said_V = kept.logits_V.map((x, i) => x - gone_V[i]),
      logits = { now: kept.logits_V, said: said_V, found: without.logits_V };
    const toward_C = toward(machine, asked),
      later_C = gone_C.map((x, i) => x + lastOf(without)[i] - lastOf(kept)[i]);
    const later = dot(later_C, toward_C),
      changed = Math.sqrt(dot(later_C, later_C) / dot(gone_C, gone_C)) || 0;
    return {
      logits,
      later,
      changed,
      norm: lead(logits.found, asked) - lead(said_V, asked) - later,
      by: { now: by, found: rstd(lastOf(without)) },
    };
  }

  // The number that a part opens: of a row the entry that adds most, up or down.
  function leads(machine, asked, { part, layer, head, key }) {
    const toward_C = toward(machine, asked),
      { position } = asked;
    const most = (vector) =>
      vector.reduce(
        (best, x, i) =>
          Math.abs(x * toward_C[i]) > Math.abs(vector[best] * toward_C[best]) ? i : best,
        0,
      );
    if (part === "attention")
      return key === undefined
        ? { part: "mixed", layer, head, position, entry: 0 }
        : { part: "weights", layer, head, position, key };
    const { L, C } = machine.model.sizes;
    if (part !== "biases")
      return {
        part,
        layer,
        position,
        entry: most(goneOf(added(machine, position, { part, layer }), C)),
      };
    return {
      part: "learned",
      table: `blocks.${L - 1}.feed_forward.down.bias`,
      row: most(biasesOf(machine, L)[1]),
    };
  }

  // --- addresses in words, and in the page's own address

  const SYMBOLS = {
    embedding: "embedding",
    position: "position",
    stream: "x",
    middle: "x′",
    norm1: "x̂",
    norm2: "x̂′",
    norm: "x̂",
    scores: "score",
    scaled: "scaled score",
    weights: "weight",
    share: "1/Σ",
    mixed: "mix",
    activation: "GELU",
    logits: "logit",
    probabilities: "p",
    share_next: "1/Σ",
  };
  const token = ({ model, ids }, position) => bookGPT.named(model.vocab[ids[position]]);

  // A number as it stands in a table of terms: q[5], k[5] of “ fox” (2), score with “ fox” (2).
  function label(machine, { part, head, position, key, entry }) {
    const symbol =
      SYMBOLS[part] ??
      part.replace("centred", "(x − mean)").replace("rstd", "1/σ").replace(/[12]$/, "");
    if (["logits", "probabilities"].includes(part)) {
      return `${symbol} of ${bookGPT.named(machine.model.vocab[entry])}`;
    }
    if (key !== undefined) return `${symbol} with ${token(machine, key)} (${key + 1})`;
    const where = ["v", "k"].includes(part)
      ? ` of ${token(machine, position)} (${position + 1})`
      : part === "mixed"
        ? ` of head ${head}`
        : "";
    return symbol + (entry === undefined ? "" : `[${entry + 1}]`) + where;
  }

  // How an address writes a number's place. Positions and entries count from 1 there, as in words.
  const WRITTEN = {
    layer: "layer",
    head: "head",
    position: "q",
    key: "k",
    entry: "i",
    row: "row",
    column: "column",
  };
  const FROM = { layer: 0, head: 0 }; // what is added, 1 for all others

  // The address of a number in a text, of what was changed (heads as [layer, head]), and of the word
  // that is asked about: why it, over which other (none: its logit), after which position.
  function write(text, a, { silent = [], mean = [], positions } = {}, why = {}) {
    const query = new URLSearchParams({ text });
    for (const [name, heads] of Object.entries({ silent, mean })) {
      if (heads.length) query.set(name, heads.map((head) => head.join(".")).join(" "));
    }
    if (positions) query.set("positions", positions);
    for (const [name, word] of Object.entries(why ?? {}))
      if (word !== undefined) query.set(name, word);
    if (!a) return query.toString();
    query.set("number", a.part);
    if (a.table) query.set("table", a.table);
    for (const [name, short] of Object.entries(WRITTEN))
      if (a[name] !== undefined) query.set(short, a[name] + (FROM[name] ?? 1));
    return query.toString();
  }

  // What an address names: text and number are null where it names none.
  function parse(hash) {
    const query = new URLSearchParams(hash.replace(/^#/, ""));
    const heads = (name) =>
      (query.get(name) ?? "")
        .split(/[ ,]+/)
        .filter(Boolean)
        .map((head) => head.split(".").map(Number));
    const change = {
      silent: heads("silent"),
      mean: heads("mean"),
      positions: query.get("positions") === "none" ? "none" : undefined,
    };
    const part = query.get("number"),
      number = part && { part };
    if (part && query.has("table")) number.table = query.get("table");
    for (const [name, short] of Object.entries(part ? WRITTEN : {})) {
      if (query.has(short)) number[name] = Number(query.get(short)) - (FROM[name] ?? 1);
    }
    const why = Object.fromEntries(
      ["why", "over", "after", "swapped", "swap"]
        .filter((name) => query.has(name))
        .map((name) => [name, query.get(name)]),
    );
    return { text: query.get("text"), number, change, why: query.has("why") ? why : null };
  }

  // What an address asks about: a position, ids of words (without one, the likeliest, or the next
  // likeliest; `over` null: the logit), and which word is swapped; null where one is not there.
  function asks({ model, ids }, { why, over, after = String(ids.length), swapped, swap }) {
    const id = (word) =>
      model.ids.get(/^\S/.test(word) && model.ids.has(` ${word}`) ? ` ${word}` : word);
    const position = Number(after) - 1;
    const found = {
      position,
      ...(why && { entry: id(why) }),
      ...(over !== undefined && { over: over === "" ? null : id(over) }),
      ...(swap && { swap: { at: Number(swapped) - 1, id: id(swap) } }),
    };
    const places = [ids.length, position + 1]; // that the position and the swapped word have
    const there = [position, found.swap?.at ?? 0].every((at, n) => at >= 0 && at < places[n]);
    return there &&
      ![...Object.values(found), ...Object.values(found.swap ?? {})].includes(undefined)
      ? found
      : null;
  }

  // A word as it is written there: without its space, where that is clear.
  const word = ({ model }, entry) => {
    const token = model.vocab[entry];
    return asks({ model, ids: [0] }, { why: token.trim() })?.entry === entry ? token.trim() : token;
  };

  // An address with its entry: of what comes next the likeliest, where none is named.
  function placed(machine, a) {
    if (!["logits", "probabilities"].includes(a.part) || a.entry !== undefined) return a;
    const all = has(machine, { ...a, entry: 0 }) ? row(machine, a) : [];
    return { ...a, entry: all.indexOf(Math.max(...all)) };
  }

  // Whether there is such a number in this text.
  function has(machine, a) {
    const {
        sizes: { L, H },
        weights,
      } = machine.model,
      T = machine.seen.length;
    const between = (at, end) => Number.isInteger(at) && at >= 0 && at < end;
    if (a.part === "learned") {
      const tensor = weights[a.table];
      if (tensor && !tensor.codes) return between(a.row, tensor.length) && a.column === undefined;
      return Boolean(tensor) && between(a.row, tensor.rows) && between(a.column, tensor.columns);
    }
    if (!Object.hasOwn(RULES, a.part) || !between(a.position, T)) return false;
    const early = READ_OUT.includes(a.part) || a.part === "stream"; // layer 0, too
    if (
      early
        ? a.layer !== undefined && !between(a.layer, L + 1)
        : inLayer(a.part) && !between(a.layer - 1, L)
    )
      return false;
    if (a.part === "stream" && a.layer === undefined) return false;
    if (inHead(a.part) && !between(a.head - 1, H)) return false;
    const all = row(machine, a);
    return !all || between(byKey(a.part) ? a.key : a.entry, all.length);
  }

  return {
    parts,
    silence,
    leads,
    lead,
    asks,
    word,
    row,
    value,
    open,
    label,
    write,
    parse,
    placed,
    has,
    byKey,
    isReadOut: ({ part }) => READ_OUT.includes(part),
  };
})();
