// The rest of helpers/minigpt.py in plain JavaScript: tokens, batches, initial weights, the loss, AdamW,
// the training loop, and writing. Same pieces, same order, same names as there.

import { draw, probabilities } from "../gpt/sampling.js";
import { cut } from "../gpt/tokens.js";

// Numbers from 0 up to 1, the same for the same seed (mulberry32, Tommy Ettinger 2017).
export function generator(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let h = Math.imul(state ^ (state >>> 15), 1 | state);
    h = (h + Math.imul(h ^ (h >>> 7), 61 | h)) ^ h;
    return ((h ^ (h >>> 14)) >>> 0) / 2 ** 32;
  };
}

// A number from the normal distribution (Box and Muller 1958).
const normal = (random) =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

// --- chapter 3: tokens and batches

// The tokens of a text, sorted by code points as in Python.
export function Tokenizer(text, pattern) {
  const points = (token) =>
    Array.from(token, (c) => c.codePointAt(0).toString(16).padStart(6, 0)).join("");
  const vocab = [...new Set(cut(text, pattern))].sort((a, b) => (points(a) < points(b) ? -1 : 1)),
    ids = new Map(vocab.map((token, id) => [token, id]));
  return {
    vocab,
    encode: (text) => Int32Array.from(cut(text, pattern), (token) => ids.get(token)),
    decode: (ids_T) => Array.from(ids_T, (id) => vocab[id]).join(""),
  };
}

// Random windows, and the same one token later, B·T ids each.
export function getBatch(ids, batch, context, random) {
  const x = new Int32Array(batch * context),
    y = new Int32Array(batch * context);
  for (let b = 0; b < batch; b++) {
    const start = Math.floor(random() * (ids.length - context));
    x.set(ids.subarray(start, start + context), b * context);
    y.set(ids.subarray(start + 1, start + 1 + context), b * context);
  }
  return [x, y];
}

// --- chapter 10: initial weights

// GPT-2's: N(0, 0.02²), smaller where a block adds; biases 0, and 1 for the γ of a norm.
export function initWeights({ parameters, sizes }, random) {
  for (const { name, shape, value } of parameters) {
    const std = /(out|down)\.weight$/.test(name) ? 0.02 / Math.sqrt(2 * sizes.L) : 0.02;
    for (let i = 0; i < value.length; i++)
      value[i] = shape.length === 2 ? std * normal(random) : Number(name.endsWith("weight"));
  }
}

// --- chapter 11: the loss, the optimiser and the loop

// The mean of −log p over all targets; the logits become their own gradient, (p − 1 at the target)/N.
export function crossEntropy({ sizes: { V }, exp }, logits, targets) {
  const N = targets.length;
  let loss = 0;
  for (let i = 0; i < N; i++) {
    const row = logits.subarray(i * V, (i + 1) * V);
    let [most, sum] = [-Infinity, 0];
    for (let v = 0; v < V; v++) if (row[v] > most) most = row[v];
    loss += most - row[targets[i]];
    exp(row, V, most);
    for (let v = 0; v < V; v++) sum += row[v];
    for (let v = 0, by = 1 / (sum * N); v < V; v++) row[v] *= by;
    row[targets[i]] -= 1 / N;
    loss += Math.log(sum);
  }
  return loss / N;
}

// AdamW that decays matrices, and leaves biases and norms alone.
export function makeOptimizer({ parameters }) {
  const [beta1, beta2, eps] = [0.9, 0.99, 1e-8];
  const groups = parameters.map(({ value, grad, shape }) => {
    const [m, v] = [value.slice().fill(0), value.slice().fill(0)];
    return { value, grad, m, v, decay: shape.length === 2 ? 0.1 : 0 };
  });
  let steps = 0;
  return (lr) => {
    steps++;
    const [whole1, whole2] = [1 - beta1 ** steps, Math.sqrt(1 - beta2 ** steps)];
    for (const { value, grad, m, v, decay } of groups) {
      for (let i = 0; i < value.length; i++) {
        m[i] = beta1 * m[i] + (1 - beta1) * grad[i];
        v[i] = beta2 * v[i] + (1 - beta2) * grad[i] * grad[i];
        value[i] *= 1 - lr * decay;
        value[i] -= ((lr / whole1) * m[i]) / (Math.sqrt(v[i]) / whole2 + eps);
      }
    }
  };
}

// Gradients that are longer than 1, taken as one vector, are scaled to length 1.
export function clipGradNorm({ parameters }) {
  let squares = 0;
  for (const { grad } of parameters) for (const g of grad) squares += g * g;
  const by = Math.min(1, 1 / (Math.sqrt(squares) + 1e-6));
  for (const { grad } of parameters) for (let i = 0; i < grad.length; i++) grad[i] *= by;
}

// The learning rate: to its peak in 20 steps, then down to 0.
const lrAt = (step, steps, peak) => peak * Math.min((step + 1) / 20, 1 - step / steps);

// After each step, its number and the loss before it.
export function* train(model, ids, steps, batch, lr, random) {
  const optimizer = makeOptimizer(model);
  for (let step = 0; step < steps; step++) {
    const [x, y] = getBatch(ids, batch, model.sizes.T, random);
    const logits = model.forward(x, batch),
      loss = crossEntropy(model, logits, y);
    model.backward(logits);
    clipGradNorm(model);
    optimizer(lrAt(step, steps, lr));
    yield [step + 1, loss];
  }
}

// The ids and n more, drawn from all tokens.
export function generate(model, ids, n, random, temperature) {
  const written = [...ids],
    { V, T } = model.sizes;
  for (let i = 0; i < n; i++) {
    const read = Int32Array.from(written.slice(-T)),
      last = model.forward(read, 1).subarray((read.length - 1) * V, read.length * V);
    written.push(draw(probabilities(last, temperature), random()));
  }
  return written;
}

// --- chapter 3: the baselines

// What other ways of guessing lose on unseen ids, in nats a token: evenly among all V, by how often
// each token comes, and by the token before it; each count begins with 1.
export function baselines(seen, unseen, V) {
  const counts = new Map(); // of tokens, and of pairs, whose keys are V or more
  const pair = (a, b) => (a + 1) * V + b,
    count = (key) => counts.set(key, (counts.get(key) ?? 0) + 1),
    of = (key) => counts.get(key) ?? 0;
  seen.forEach((id, i) => [id, ...(i ? [pair(seen[i - 1], id)] : [])].forEach(count));
  const mean = (p) =>
    unseen.reduce((sum, id, i) => sum - (i && Math.log(p(unseen[i - 1], id))), 0) /
    (unseen.length - 1);
  const followed = (a) => of(a) - (a === seen.at(-1));
  return {
    uniform: Math.log(V),
    unigram: mean((_, b) => (of(b) + 1) / (seen.length + V)),
    bigram: mean((a, b) => (of(pair(a, b)) + 1) / (followed(a) + V)),
  };
}
