// The book's small GPT, from scratch: an id in, logits and attention weights out. It is chapters
// 05 to 11 once more, in plain JavaScript, for a page that has no Python. It reads one token
// at a time and keeps keys and values, so that a new one costs the same all the way.
//
// Why not a runtime? Because it would hide what this book is about, and weigh more than the model:
// the smallest WebAssembly file of onnxruntime-web 1.30.0 is 14.2 MB, and transformers.js rests on
// that package; a page that is opened from a disk may not even fetch it. This file is 12 kB.
//
// Names carry their axes, as in helpers/: T places, C width, H heads, D width of a head, V
// tokens, L layers.
"use strict";

// A function, so that a worker can be given its text.
const bookGPTMade = () => {
  const EPS = 1e-5; // what a norm adds to the mean square
  const BASE = 10000; // of RoPE's wavelengths

  // --- weights: base64 text to tables (book/_ext/play/gpt.py wrote it)

  // A matrix is whole numbers from -127 to 127 and a scale for each row; a vector is plain floats.
  function unpack({ config, vocab, tensors, data }) {
    const letters = atob(data), bytes = new Uint8Array(letters.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
    const { buffer } = bytes;
    const weights = {};
    for (const { name, rows, columns, floats, codes } of tensors) {
      weights[name] = codes === undefined
        ? new Float32Array(buffer, floats, rows)
        : { rows, columns, scales: new Float32Array(buffer, floats, rows),
            codes: new Int8Array(buffer, codes, rows * columns) };
    }
    return { config, vocab, weights, ids: new Map(vocab.map((token, id) => [token, id])) };
  }

  // --- tokens: characters, or words with the space before them and the rest letter by letter

  // A text cut into what the vocabulary has, as helpers.corpus does; an unknown character as it is.
  function tokens({ ids }, text) {
    const pieces = text.match(/ ?\p{L}+|\n+|./gsu) ?? [];
    return pieces.flatMap((piece) => (ids.has(piece) ? [piece] : [...piece]));
  }

  // Signs that keyboards and copied text bring along, as the texts of the models write them.
  const PLAIN = { "’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "...", "\u00a0": " ", "\t": " ", "\r": "\n" };

  // What a model reads of a text, `ids`, and in words what it leaves out or reads as something else:
  // one rule for every page.
  function understood({ ids: rows, ...model }, text) {
    const instead = new Set();
    const plain = text.replace(/\r\n/g, "\n").replace(/[’‘“”–—…\u00a0\t\r]/g, (found) => {
      if (![...PLAIN[found]].every((one) => rows.has(one))) return found;
      if (found.trim()) instead.add(`${found} as ${PLAIN[found]}`);
      return PLAIN[found];
    });
    const all = tokens({ ids: rows, ...model }, plain), unknown = [...new Set(all.filter((token) => !rows.has(token)))];
    const ids = all.filter((token) => rows.has(token)).map((token) => rows.get(token));
    const some = unknown.slice(0, 5).map(named).join(", ") + (unknown.length > 5 ? ` and ${unknown.length - 5} more` : "");
    return { ids, told: [unknown.length && `The model has no row for ${some}${ids.length ? "; it reads the rest." : "."}`,
      instead.size && `It reads ${[...instead].join(", ")}.`, !ids.length && "Type something that it can read."].filter(Boolean).join(" ") };
  }

  // What a token is called in a sentence.
  function named(token) {
    if (/^\n+$/.test(token)) return token === "\n" ? "new line" : `${token.length} new lines`;
    return token === " " ? "space" : `“${token.replace(/^ /, "\u00a0")}”`; // no line breaks there
  }

  // How it is drawn where there is little room.
  const sign = (token) => (token === " " ? "␣" : token.replaceAll("\n", "↵").trim());

  // --- the parts: each takes the vector of one place

  function row({ columns, scales, codes }, at) {
    const scale = scales[at];
    return Float64Array.from(codes.subarray(at * columns, (at + 1) * columns), (c) => c * scale);
  }

  // W x + b. The scale of a row of W stands outside the sum. Four rows at a time: each number of x
  // is fetched once for them, and none of the four sums waits for another.
  function linear(x, { rows, columns, scales, codes }, bias) {
    const y = new Float64Array(rows);
    let i = 0;
    for (; i + 4 <= rows; i += 4) {
      let a = 0, b = 0, c = 0, d = 0;
      for (let j = 0, at = i * columns; j < columns; j++, at++) {
        a += codes[at] * x[j];
        b += codes[at + columns] * x[j];
        c += codes[at + 2 * columns] * x[j];
        d += codes[at + 3 * columns] * x[j];
      }
      [y[i], y[i + 1], y[i + 2], y[i + 3]] = [a, b, c, d];
    }
    for (; i < rows; i++) { // what is left of them
      for (let j = 0, at = i * columns; j < columns; j++, at++) y[i] += codes[at] * x[j];
    }
    return y.map((sum, i) => sum * scales[i] + (bias ? bias[i] : 0));
  }

  // To mean square 1, then times gamma where there is one.
  function rms(x, gamma) {
    const square = x.reduce((sum, v) => sum + v * v, 0) / x.length;
    const by = 1 / Math.sqrt(square + EPS);
    return x.map((v, i) => v * by * (gamma ? gamma[i] : 1));
  }

  // RoPE: entries k and k + D/2 are a pair, which turns by an angle that grows with the place t.
  function turn(x_D, t) {
    const half = x_D.length / 2, y_D = new Float64Array(x_D.length);
    for (let k = 0; k < half; k++) {
      const angle = t / BASE ** (k / half);
      const cos = Math.cos(angle), sin = Math.sin(angle);
      y_D[k] = x_D[k] * cos - x_D[k + half] * sin;
      y_D[k + half] = x_D[k] * sin + x_D[k + half] * cos;
    }
    return y_D;
  }

  function softmax(scores) {
    const most = Math.max(...scores);
    const powers = scores.map((s) => Math.exp(s - most));
    const sum = powers.reduce((a, b) => a + b);
    return powers.map((p) => p / sum);
  }

  // Loops, not array methods, where a step is taken most often: a fifth of the time goes.
  function dot(a, b) {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
  }

  // One head at the newest place: it asks, and gathers from all keys and values met so far, its
  // own the last of them. Nothing of what comes later is there to be masked.
  function head(q, k, v, { keys, values }, positions) {
    const t = keys.length;
    const [q_normed, k_normed] = [q, k].map((x_D) => rms(x_D));
    const [q_turned, k_turned] = [q_normed, k_normed]
      .map((x_D) => (positions === "rope" ? turn(x_D, t) : x_D));
    keys.push(k_turned);
    values.push(v);
    const scores = keys.map((key) => dot(q_turned, key));
    const scaled = scores.map((score) => score / Math.sqrt(q.length));
    const weights = softmax(scaled), mixed = new Float64Array(v.length);
    for (let s = 0; s <= t; s++) {
      for (let d = 0; d < v.length; d++) mixed[d] += weights[s] * values[s][d];
    }
    return { q, k, v, q_normed, k_normed, q_turned, k_turned, scores, scaled, weights, mixed };
  }

  // instead: for a head of this layer, what takes the place of what it has mixed.
  function attention(x_C, memory_H, { positions, weights }, name, instead = {}) {
    const C = x_C.length, H = memory_H.length, D = C / H, mixed_C = new Float64Array(C);
    const qkv = linear(x_C, weights[`${name}.qkv.weight`], weights[`${name}.qkv.bias`]);
    const heads = memory_H.map((memory, h) => {
      const qkv_D = [0, C, 2 * C].map((at) => qkv.slice(at + h * D, at + (h + 1) * D));
      const kept = head(...qkv_D, memory, positions);
      if (instead[h]) kept.mixed = Float64Array.from(instead[h]);
      mixed_C.set(kept.mixed, h * D);
      return kept;
    });
    const out = linear(mixed_C, weights[`${name}.out.weight`], weights[`${name}.out.bias`]);
    return { heads, out };
  }

  // Φ(x), the share of a normal distribution below x, to the digits that a double has, in the tail
  // too: a series near 0, a continued fraction far out (Abramowitz and Stegun 1964, 26.2.11 and 14).
  function below(x) {
    const z = Math.abs(x), density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
    if (z < 2) {
      let sum = z;
      for (let term = z, n = 3; term > 1e-15 * sum; n += 2) sum += term *= (z * z) / n;
      return 0.5 + Math.sign(x) * density * sum;
    }
    let fraction = z; // each further step brings less, and the less the larger z
    for (let n = Math.ceil(14 + 220 / (z * z)); n > 0; n--) fraction = z + n / fraction;
    return x < 0 ? density / fraction : 1 - density / fraction;
  }

  function feedForward(x_C, weights, name) {
    const up = linear(x_C, weights[`${name}.up.weight`], weights[`${name}.up.bias`]);
    const bent = up.map((x) => x * below(x)); // GELU
    return { up, bent, down: linear(bent, weights[`${name}.down.weight`], weights[`${name}.down.bias`]) };
  }

  const plus = (a_C, b_C) => a_C.map((v, i) => v + b_C[i]);

  // --- the whole machine

  // Keys and values of each layer and head, none yet: what the model knows of a text.
  const remember = ({ config }) => Array.from({ length: config.layers }, () =>
    Array.from({ length: config.heads }, () => ({ keys: [], values: [] })));

  // Read one more token, and keep every step under its name: `logits_V` for the one after it,
  // and for each layer what its two sub-layers made, `heads` with their `weights` among it.
  // change: without positions, `{ positions: "none" }`; what heads are to have mixed instead, by
  // layer and head, `{ instead: { 1: { 3: vector } } }`; what is taken from the stream at this place,
  // from the embedding and from what a layer's sub-layers add, `{ less: { embedding: vector, 1: { out:
  // vector, down: vector } } }`.
  function read(model, memory_LH, id, { instead = {}, less = {}, positions = "rope" } = {}) {
    const { weights, config: { context } } = model;
    if (memory_LH[0][0].keys.length >= context) {
      throw new RangeError(`the model reads ${context} tokens, no more`);
    }
    const minus = (x_C, y_C) => (y_C ? x_C.map((v, i) => v - y_C[i]) : x_C);
    const embedding = minus(row(weights["embedding.weight"], id), less.embedding);
    let stream = embedding;
    const layers = memory_LH.map((memory_H, layer) => {
      const [first, second] = ["attention", "feed_forward"].map((part) => `blocks.${layer}.${part}`);
      const norm1 = rms(stream, weights[`${first}.norm.weight`]);
      const { heads, out: whole } = attention(norm1, memory_H, { positions, weights }, `${first}.sublayer`, instead[layer]);
      const out = minus(whole, less[layer]?.out);
      const middle = plus(stream, out);
      const norm2 = rms(middle, weights[`${second}.norm.weight`]);
      const { up, bent, down: added_C } = feedForward(norm2, weights, `${second}.sublayer`);
      const down = minus(added_C, less[layer]?.down);
      stream = plus(middle, down);
      return { norm1, heads, out, middle, norm2, up, bent, down, stream };
    });
    return { embedding, layers, ...last(model, stream) };
  }

  // What the last norm and the output head make of a stream: after all layers, or of an earlier one.
  function last(model, stream) {
    const norm = rms(stream, model.weights["norm.weight"]);
    return { norm, logits_V: linear(norm, model.weights["head.weight"]) };
  }

  // --- from logits to a token

  // Temperature 0: all on the likeliest. Of the others, the `most` likeliest take part. Among equals
  // the first comes first.
  function probabilities(logits_V, temperature, most) {
    const sorted = Float64Array.from(logits_V).sort().reverse();
    if (temperature === 0) {
      const first = logits_V.indexOf(sorted[0]);
      return logits_V.map((_, i) => Number(i === first));
    }
    const least = sorted[Math.min(most, sorted.length) - 1];
    let equals = most - sorted.indexOf(least); // that may take part
    const kept = (x) => x > least || (x === least && equals-- > 0);
    return softmax(logits_V.map((x) => (kept(x) ? x / temperature : -Infinity)));
  }

  // A number from 0 up to 1 for each place of a text, the same whenever it is asked for: seed and
  // place, mixed by the last steps of MurmurHash3 (Appleby 2011), twice.
  function chance(seed, place) {
    let h = (Math.imul(seed, 0x9e3779b1) + place) | 0;
    for (let round = 0; round < 2; round++) {
      h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
      h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
      h = (h ^ (h >>> 16)) + 1;
    }
    return (h >>> 0) / 2 ** 32;
  }

  // Lay the probabilities end to end from 0 to 1, and see into which one the number falls.
  function draw(p_V, number) {
    let sum = 0;
    for (let i = 0; i < p_V.length; i++) if (number < (sum += p_V[i])) return i;
    return p_V.reduce((best, p, i) => (p > p_V[best] ? i : best), 0); // rounding left a gap
  }

  return { unpack, tokens, understood, linear, named, sign, below, remember, read, last, probabilities, chance, draw };
};

globalThis.bookGPT = bookGPTMade();

// The model whose weights are in a script beside this one, once for all of a page that ask for it.
bookGPT.load = ((here) => {
  let coming = null;
  return (file) => {
    coming ??= new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = new URL(file, here);
      script.onload = () => (globalThis.bookGPTWeights ? done() : fail());
      script.onerror = fail;
      document.head.append(script);
    }).then(() => bookGPT.unpack(globalThis.bookGPTWeights));
    coming.catch(() => (coming = null)); // so that one can try again
    return coming;
  };
})(globalThis.document?.currentScript.src);
