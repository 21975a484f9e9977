// Why this word: what becomes of it in a reading in which nobody reads one of the reader's words, what each
// part adds to its logit, and at which block and position another text turns the answer. Tasks as in
// worker.js: `ids` are a text, `at` is the position of the token that is asked about.

import { dot, softmax } from "../gpt/model.js";
import { likeliest } from "../gpt/sampling.js";
import { ROWS, readText } from "./model.js";

const sum = (numbers) => numbers.reduce((a, b) => a + b);

// x plus y times by, in x.
function add(x, y, by) {
  for (let i = 0; i < x.length; i++) x[i] += y[i] * by;
}

export function Reasons(model, tokenizer) {
  const { sizes, blocks, x, matrixRow, forward, lastNorm, logits, known } = model,
    { C, H, G, L, V } = sizes,
    D = C / H;
  let mean_C; // of the head's rows

  // What the logits say of a token, and the n most probable ones.
  function said(id, n, logits_V = logits()) {
    const p_V = softmax(Float64Array.from(logits_V)),
      top = likeliest(p_V, n).map((id) => ({ id, text: tokenizer.text(id), probability: p_V[id] }));
    return { logProbability: Math.log(p_V[id]), probability: p_V[id], top };
  }

  // From the last word to the first: what the cache holds of the positions before a word is then still
  // what a reading with nothing hidden has left there.
  function* mattered({ ids, at, words }) {
    const before = ids.slice(0, at);
    yield* readText(model, before);
    const { logProbability: whole, ...rest } = said(ids[at], 5);
    yield { whole, ...rest };
    const hidden = words.map((word) => (word[0].length ? word : [word])), // in one place, or in several
      first = (word) => Math.min(...hidden[word].map(([, to]) => to)),
      order = [...words.keys()].sort((a, b) => first(b) - first(a));
    for (const word of order) {
      known.length = Math.min(known.length, first(word));
      yield* readText(model, before, { hide: hidden[word] });
      yield { word, ...said(ids[at], 3) };
    }
  }

  function meanRow() {
    if (mean_C) return mean_C;
    mean_C = new Float64Array(C);
    for (let id = 0; id < V; id++) add(mean_C, matrixRow("token_embd", id), 1 / V);
    return mean_C;
  }

  // What 1 in each entry of the last stream adds to a token's logit minus the mean of all, if the last
  // norm divides by what it divides by here.
  function toward(id, x_C) {
    const rms = Math.sqrt(dot(x_C, x_C) / C + sizes.eps),
      gamma = matrixRow("output_norm", 0),
      mean = meanRow();
    return matrixRow("token_embd", id).map((value, c) => ((value - mean[c]) * gamma[c]) / rms);
  }

  // The same for each entry that the heads of a block have mixed.
  function throughOut(l, toward_C) {
    const back_C = new Float64Array(C);
    for (let c = 0; c < C; c++) add(back_C, matrixRow(`blk.${l}.attn_output`, c), toward_C[c]);
    return back_C;
  }

  function* reasons({ ids, at }) {
    const streams = [],
      weights = Array.from({ length: L }, () => []);
    const look = {
      stream: (l, x, past, n) => (streams[l] = x.slice((n - 1) * C, n * C)),
      read: (l, h, _, weights_S) => (weights[l][h] = weights_S.slice()),
    };
    yield* readText(model, ids.slice(0, at), look);
    const toward_C = toward(ids[at], streams[L]);
    const parts = blocks.map(({ attention: { values } }, l) => {
      const back_C = throughOut(l, toward_C);
      const byPosition = weights[l].map((weights_S, h) =>
        Array.from(weights_S, (weight, s) => {
          const from = (s * G + Math.floor((h * G) / H)) * D;
          return weight * dot(values.subarray(from, from + D), back_C.subarray(h * D, (h + 1) * D));
        }),
      );
      const heads = byPosition.map(sum),
        whole = dot(streams[l + 1], toward_C) - dot(streams[l], toward_C);
      return { byPosition, heads, ffn: whole - sum(heads) };
    });
    yield {
      reasons: {
        logit: logits()[ids[at]],
        mean: dot(meanRow(), lastNorm(streams[L])),
        embedding: dot(streams[0], toward_C),
        blocks: parts.map(({ heads, ffn }) => ({ heads, ffn })),
        byPosition: parts.map(({ byPosition }) => byPosition),
        lens: streams.map((x_C) => said(ids[at], 3, logits(x_C)).top),
      },
    };
  }

  // With which weight each position reads each in a head, (T, T).
  function* attention({ ids, block, head }) {
    const weights = ids.map(() => new Float32Array(ids.length));
    const read = (l, h, position, weights_S) =>
      l === block && h === head && weights[position].set(weights_S);
    known.length = 0;
    yield* readText(model, ids, { read });
    yield { weights };
  }

  // What one vector of another text's stream does in this one, of each level and each position from which
  // they differ: by how much the token's logit then leads that of the token which the other leads to.
  function* swap({ ids, other, at, levels = [...Array(L + 1).keys()] }) {
    const first = ids.findIndex((id, t) => id !== other[t]),
      size = G * D,
      [theirs, ours] = [[], []];
    for (const [text, streams] of [
      [other, theirs],
      [ids, ours],
    ]) {
      known.length = Math.min(known.length, first);
      const stream = (l, x, past, n) =>
        (streams[l] ??= new Float32Array(at * C)).set(x.subarray(0, n * C), past * C);
      yield* readText(model, text.slice(0, at), { stream });
    }
    const lastOf = (streams) => streams[L].slice((at - 1) * C),
      [instead] = likeliest(logits(lastOf(theirs)), 1),
      lead_C = matrixRow("token_embd", ids[at]);
    add(lead_C, matrixRow("token_embd", instead), -1);
    const lead = (x_C) => dot(lastNorm(x_C), lead_C),
      whole = { ours: lead(lastOf(ours)), theirs: lead(lastOf(theirs)) };
    yield { first, instead: { id: instead, text: tokenizer.text(instead) }, ...whole };
    if (instead === ids[at]) return; // the other leads to the same
    known.length = first; // what is read from here on leaves other keys and values
    const kept = blocks.map(({ attention }) =>
      [attention.keys, attention.values].map((of) => of.slice(first * size, at * size)),
    );
    for (const level of levels) {
      const row = [];
      blocks.forEach(({ attention }, l) =>
        [attention.keys, attention.values].forEach((of, i) => of.set(kept[l][i], first * size)),
      );
      for (let position = at - 1; position >= first; position--) {
        for (let past = position; past < at; past += ROWS) {
          const n = Math.min(ROWS, at - past);
          x.set(ours[level].subarray(past * C, (past + n) * C));
          if (past === position) x.set(theirs[level].subarray(position * C, (position + 1) * C));
          forward(past, n, {}, level);
          row[position - first] = lead(x.slice((n - 1) * C, n * C));
        }
      }
      yield { level, row };
    }
  }

  return { mattered, reasons, attention, swap };
}
