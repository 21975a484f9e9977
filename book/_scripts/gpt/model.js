// The reader's GPT, helpers/minigpt.py, in plain JavaScript, for a page that has no Python: an id
// in, logits and every step on the way out. It reads one token at a time and keeps keys and values,
// so that a new one costs the same all the way.
//
// Names carry their axes, as in helpers/: T positions, C width, H heads, D head width, V vocabulary,
// L layers. Layers and heads are counted from 1, positions from 0.

export const EPS = 1e-5; // what LayerNorm adds to the variance

// --- weights

// The model of a weights script: base64 text to tensors. A matrix is whole numbers from -127 to
// 127 and a scale for each row; a vector is plain floats (book/_ext/play/gpt.py wrote them).
export function unpack({ sizes, vocab, tensors, data }) {
  const letters = atob(data),
    bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  const { buffer } = bytes;
  const weights = {};
  for (const { name, rows, columns, floats, codes } of tensors) {
    weights[name] =
      codes === undefined
        ? new Float32Array(buffer, floats, rows)
        : {
            rows,
            columns,
            scales: new Float32Array(buffer, floats, rows),
            codes: new Int8Array(buffer, codes, rows * columns),
          };
  }
  return { sizes, vocab, weights, ids: new Map(vocab.map((token, id) => [token, id])) };
}

// --- the parts: each takes the vector of one position

// Row `at` of a matrix, (C,).
function row({ columns, scales, codes }, at) {
  const scale = scales[at];
  return Float64Array.from(codes.subarray(at * columns, (at + 1) * columns), (c) => c * scale);
}

// W x + b, (rows,). The scale of a row of W stands outside the sum. Four rows at a time: each
// number of x is fetched once for them, and none of the four sums waits for another.
export function linear(x, { rows, columns, scales, codes }, bias) {
  const y = new Float64Array(rows);
  let i = 0;
  for (; i + 4 <= rows; i += 4) {
    let a = 0,
      b = 0,
      c = 0,
      d = 0;
    for (let j = 0, at = i * columns; j < columns; j++, at++) {
      a += codes[at] * x[j];
      b += codes[at + columns] * x[j];
      c += codes[at + 2 * columns] * x[j];
      d += codes[at + 3 * columns] * x[j];
    }
    [y[i], y[i + 1], y[i + 2], y[i + 3]] = [a, b, c, d];
  }
  for (; i < rows; i++) {
    // what is left of them
    for (let j = 0, at = i * columns; j < columns; j++, at++) y[i] += codes[at] * x[j];
  }
  return y.map((sum, i) => sum * scales[i] + (bias ? bias[i] : 0));
}

const mean = (x) => x.reduce((sum, v) => sum + v, 0) / x.length;

// A vector without its mean, (C,).
export const centred = (x) => {
  const m = mean(x);
  return x.map((v) => v - m);
};

// 1 / √(variance + ε) of a vector, a number.
export const rstd = (x) => 1 / Math.sqrt(mean(centred(x).map((v) => v * v)) + EPS);

// LayerNorm of a vector, (C,): to mean 0 and variance 1, times γ, plus β.
function layerNorm(x, weights, name) {
  const by = rstd(x),
    gamma = weights[`${name}.weight`],
    beta = weights[`${name}.bias`];
  return centred(x).map((v, i) => v * by * gamma[i] + beta[i]);
}

// Numbers above 0 that sum to 1, as many as there are scores.
export function softmax(scores) {
  const most = scores.reduce((a, b) => Math.max(a, b));
  const powers = scores.map((s) => Math.exp(s - most));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((p) => p / sum);
}

// The dot product of two vectors. A loop, because this is where a fifth of the time went.
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

// One head at the newest position, its steps by name: q, k, v and mixed (D,), the others (T,). It
// reads all keys and values so far, its own the last of them; no later one is there to be masked.
// hidden: an earlier position that is masked, too.
function head(q, k, v, { keys, values }, hidden) {
  keys.push(k);
  values.push(v);
  const scores = keys.map((key) => dot(q, key));
  const scaled = scores.map((score, s) =>
    s === hidden && s < keys.length - 1 ? -Infinity : score / Math.sqrt(q.length),
  );
  const weights = softmax(scaled),
    mixed = new Float64Array(v.length);
  for (let s = 0; s < values.length; s++) {
    for (let d = 0; d < v.length; d++) mixed[d] += weights[s] * values[s][d];
  }
  return { q, k, v, scores, scaled, weights, mixed };
}

// All heads side by side and the output of attention, (C,). instead: by head, what takes the place
// of what it has mixed.
function attention(x_C, cache_H, weights, name, instead = {}, hidden) {
  const C = x_C.length,
    D = C / cache_H.length,
    mixed_C = new Float64Array(C);
  const qkv = linear(x_C, weights[`${name}.qkv.weight`], weights[`${name}.qkv.bias`]);
  const heads = cache_H.map((cache, h) => {
    const qkv_D = [0, C, 2 * C].map((at) => qkv.slice(at + h * D, at + (h + 1) * D));
    const kept = head(...qkv_D, cache, hidden);
    if (instead[h + 1]) kept.mixed = Float64Array.from(instead[h + 1]);
    mixed_C.set(kept.mixed, h * D);
    return kept;
  });
  const out = linear(mixed_C, weights[`${name}.out.weight`], weights[`${name}.out.bias`]);
  return { heads, out };
}

// Φ(x), the fraction of a normal distribution that is lower than x, to the digits that a double
// has, in the tail too: a series near 0, a continued fraction far out (Abramowitz and Stegun 1964,
// 26.2.11 and 14).
export function normalCdf(x) {
  const z = Math.abs(x),
    density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  if (z < 2) {
    let sum = z;
    for (let term = z, n = 3; term > 1e-15 * sum; n += 2) sum += term *= (z * z) / n;
    return 0.5 + Math.sign(x) * density * sum;
  }
  let fraction = z; // each further step brings less, and the less the larger z
  for (let n = Math.ceil(14 + 220 / (z * z)); n > 0; n--) fraction = z + n / fraction;
  return x < 0 ? density / fraction : 1 - density / fraction;
}

// The steps of the feed-forward network by name: up and activation (4C,), down (C,).
function feedForward(x_C, weights, name) {
  const up = linear(x_C, weights[`${name}.up.weight`], weights[`${name}.up.bias`]);
  const activation = up.map((x) => x * normalCdf(x)); // GELU
  return {
    up,
    activation,
    down: linear(activation, weights[`${name}.down.weight`], weights[`${name}.down.bias`]),
  };
}

export const plus = (a_C, b_C) => a_C.map((v, i) => v + b_C[i]);
const minus = (a_C, b_C) => (b_C ? a_C.map((v, i) => v - b_C[i]) : a_C);

// --- the whole machine

// An empty KV cache, a pair of lists for each layer and head.
export const kvCache = ({ sizes: { L, H } }) =>
  Array.from({ length: L }, () => Array.from({ length: H }, () => ({ keys: [], values: [] })));

// One more token read, every step under its name: embedding and position (C,), `layers` from 1,
// where layer 0 has the stream that layer 1 reads, norm (C,) and logits_V for the next token.
// change: without positions, `{ positions: "none" }`; what heads are to have mixed instead, by
// layer and head, `{ instead: { 1: { 3: vector } } }`; what is taken away at this position,
// `{ less: { embedding: vector, position: vector, 1: { out: vector, down: vector }, norm: vector } }`;
// a position that no later one may read, in any layer, `{ hidden: 6 }`; the stream that is put in
// place of this one's at a level, before layer 1 or after a layer, `{ patch: { 0: vector } }`.
export function read(
  { sizes: { T, C }, weights },
  cache_LH,
  id,
  { instead = {}, less = {}, patch = {}, positions, hidden } = {},
) {
  const t = cache_LH[0][0].keys.length;
  if (t >= T) throw new RangeError(`the model reads ${T} tokens, no more`);
  const embedding = minus(row(weights["embedding.weight"], id), less.embedding);
  const position =
    positions === "none"
      ? new Float64Array(C)
      : minus(row(weights["position.weight"], t), less.position);
  const layers = [{ stream: patch[0] ?? plus(embedding, position) }];
  cache_LH.forEach((cache_H, at) => {
    const name = `blocks.${at}`,
      layer = at + 1,
      { stream } = layers[at];
    const norm1 = layerNorm(stream, weights, `${name}.norm_1`);
    const { heads, out: whole } = attention(
      norm1,
      cache_H,
      weights,
      `${name}.attention`,
      instead[layer],
      hidden,
    );
    const out = minus(whole, less[layer]?.out),
      middle = plus(stream, out);
    const norm2 = layerNorm(middle, weights, `${name}.norm_2`);
    const { up, activation, down: added_C } = feedForward(norm2, weights, `${name}.feed_forward`);
    const down = minus(added_C, less[layer]?.down);
    layers.push({
      norm1,
      heads,
      out,
      middle,
      norm2,
      up,
      activation,
      down,
      stream: patch[layer] ?? plus(middle, down),
    });
  });
  return { embedding, position, layers, ...readOut(weights, layers.at(-1).stream, less.norm) };
}

// How alike the model uses each token to one, (V,): the cosines of their rows in embedding and head.
export const usedAlike = ({ weights, vocab }, id) =>
  ["embedding.weight", "head.weight"]
    .map((name) => {
      const rows = vocab.map((_, at) => row(weights[name], at));
      return rows.map((x) => dot(x, rows[id]) / Math.sqrt(dot(x, x) * dot(rows[id], rows[id])));
    })
    .reduce(plus);

// What the last norm (C,) and the head (V,) make of a stream: after all layers, or of an earlier one.
export function readOut(weights, stream, less) {
  const norm = minus(layerNorm(stream, weights, "norm"), less);
  return { norm, logits_V: linear(norm, weights["head.weight"]) };
}
