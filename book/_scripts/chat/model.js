// helpers/minillama.py's Llama in plain JavaScript: the same pieces in the same order, with the same names.
// Weights stay in the blocks of their file, and are multiplied there by kernel.wat with activations
// rounded to 16 bits; all else is float32. A piece writes into an array of its own.
//
// Axes as in helpers/: T position, C width, H heads, G heads of keys and values, D head width, L layers;
// `n` rows, of positions that begin at `past`.

import { instance, productsOf } from "../train/kernel.js";
import { rowOf } from "./gguf.js";

export const ROWS = 48; // read at once
const LEVELS = 32767; // of an activation
const SIMD =
  "This browser cannot run the model: it lacks WebAssembly’s SIMD, which Chrome has from version 91, " +
  "Firefox from 89 and Safari from 16.4 on.";
const MEMORY = "The browser gives this page too little memory for the model: it takes 250 MB.";

// What is made, or a sentence that says why it cannot be.
function attempt(make, sentence) {
  try {
    return make();
  } catch {
    throw new Error(sentence);
  }
}

// A model from what readGGUF found. codes: train/kernel.wat and chat/kernel.wat, in base64.
export function Llama(file, codes) {
  const { sizes, tensors, data } = file,
    { V, T, C, H, G, L, hidden, base, eps } = sizes,
    D = C / H,
    share = H / G;
  const floats = V + 2 * L * T * G * D + share * T + ROWS * (5 * C + 3 * hidden);
  const pages = Math.ceil((data.length + 4 * floats) / 2 ** 16) + 1,
    memory = attempt(() => new WebAssembly.Memory({ initial: pages }), MEMORY),
    [train, chat] = attempt(() => codes.map((code) => instance(code, memory)), SIMD),
    { ab, abT, exp } = productsOf(train);
  new Uint8Array(memory.buffer).set(data);
  let used = 16 * Math.ceil(data.length / 16);

  function array(size) {
    const made = new Float32Array(memory.buffer, used, size);
    used += 16 * Math.ceil(size / 4);
    return made;
  }

  // A tensor of the file by its name there.
  function tensor(name, format, ...shape) {
    const found = tensors[`${name}.weight`];
    if (!found || found.format.name !== format || `${found.shape}` !== `${shape}`)
      throw new Error(`This file does not hold SmolLM2: its ${name} is missing or another one.`);
    return found;
  }

  const [x, normed, q, mixed, added] = [1, 2, 3, 4, 5].map(() => array(ROWS * C)),
    [gate, up, rounded] = [1, 2, 3].map(() => array(ROWS * hidden)),
    [weights, logits_V] = [array(share * T), array(V)];

  const roundTo16 = (x, size) => chat.round(x.byteOffset, size / 32, rounded.byteOffset, LEVELS);

  // What `rounded` holds, times the weights.
  function Linear(name, I, O, format = "Q4_1") {
    const { at } = tensor(name, format, O, I),
      eight = Number(format === "Q8_0");
    return (y, n) => chat.product(at, rounded.byteOffset, y.byteOffset, n, O, I / 32, eight);
  }

  function RMSNorm(name) {
    const weight = new Float32Array(memory.buffer, tensor(name, "F32", C).at, C);
    return (x, n) => {
      for (let at = 0; at < n * C; at += C) {
        let squares = 0;
        for (let c = at; c < at + C; c++) squares += x[c] * x[c];
        const rms = Math.sqrt(squares / C + eps);
        for (let c = 0; c < C; c++) normed[at + c] = (weight[c] * x[at + c]) / rms;
      }
    };
  }

  const [cos_TK, sin_TK] = [0, 0].map(() => new Float32Array((T * D) / 2));
  for (let i = 0; i < (T * D) / 2; i++) {
    const angle = Math.floor(i / (D / 2)) / base ** ((2 * (i % (D / 2))) / D);
    [cos_TK[i], sin_TK[i]] = [Math.cos(angle), Math.sin(angle)];
  }

  // Turn each pair (2i, 2i + 1) of each head by position · base^(-2i / D).
  function rotate(x, heads, past, n) {
    for (let at = 0; at < n * heads * D; at += 2) {
      const k = (past + Math.floor(at / (heads * D))) * (D / 2) + (at % D) / 2,
        [a, b] = [x[at], x[at + 1]];
      x[at] = a * cos_TK[k] - b * sin_TK[k];
      x[at + 1] = a * sin_TK[k] + b * cos_TK[k];
    }
  }

  function GroupedQueryAttention(l) {
    const [query, key] = [Linear(`blk.${l}.attn_q`, C, C), Linear(`blk.${l}.attn_k`, C, G * D)],
      [value, out] = [Linear(`blk.${l}.attn_v`, C, G * D), Linear(`blk.${l}.attn_output`, C, C)];
    const keys = array(T * G * D),
      values = array(T * G * D);

    // One position's heads that share keys and values: the weights with which each reads, and the mix.
    function attend(row, g, past, { hide, read }) {
      const S = past + row + 1,
        heads = row * C + g * share * D;
      abT(q.subarray(heads), D, keys.subarray(g * D), G * D, weights, T, share, S, D);
      for (let h = 0; h < share; h++) {
        const w = weights.subarray(h * T, h * T + S);
        for (const [from, to] of hide ?? []) if (S > to) w.fill(-Infinity, from, to);
        let [most, sum] = [-Infinity, 0];
        for (let s = 0; s < S; s++) if (w[s] > most) most = w[s];
        exp(w, S, most, 1 / Math.sqrt(D));
        for (let s = 0; s < S; s++) sum += w[s];
        for (let s = 0; s < S; s++) w[s] /= sum;
        read?.(l, g * share + h, S - 1, w);
      }
      ab(weights, T, values.subarray(g * D), G * D, mixed.subarray(heads), D, share, D, S);
    }

    function forward(past, n, look) {
      roundTo16(normed, n * C);
      const [k, v] = [keys, values].map((kept) => kept.subarray(past * G * D));
      query(q, n);
      key(k, n);
      value(v, n);
      rotate(q, H, past, n);
      rotate(k, G, past, n);
      for (let row = 0; row < n; row++) for (let g = 0; g < G; g++) attend(row, g, past, look);
      roundTo16(mixed, n * C);
      out(added, n);
    }
    return { forward, keys, values };
  }

  function SwiGLU(l) {
    const [toGate, toUp] = ["gate", "up"].map((name) => Linear(`blk.${l}.ffn_${name}`, C, hidden)),
      down = Linear(`blk.${l}.ffn_down`, hidden, C);
    return (n) => {
      roundTo16(normed, n * C);
      toGate(gate, n);
      toUp(up, n);
      for (let i = 0; i < n * hidden; i++) gate[i] *= up[i] / (1 + Math.exp(-gate[i]));
      roundTo16(gate, n * hidden);
      down(added, n);
    };
  }

  function LlamaBlock(_, l) {
    const norm_1 = RMSNorm(`blk.${l}.attn_norm`),
      attention = GroupedQueryAttention(l),
      norm_2 = RMSNorm(`blk.${l}.ffn_norm`),
      feed_forward = SwiGLU(l);
    const add = (n) => {
      for (let i = 0; i < n * C; i++) x[i] += added[i];
    };
    function forward(past, n, look) {
      norm_1(x, n);
      attention.forward(past, n, look);
      add(n);
      norm_2(x, n);
      feed_forward(n);
      add(n);
    }
    return { forward, attention };
  }

  // --- the whole

  const blocks = Array.from({ length: L }, LlamaBlock),
    norm = RMSNorm("output_norm"),
    head = Linear("token_embd", C, V, "Q8_0"); // tied

  // Row `row` of a matrix of the file.
  const view = new DataView(memory.buffer),
    matrixRow = (name, row) => rowOf(view, tensors[`${name}.weight`], row);

  // Rows in x, from a level of the stream up. look: what notes or changes the stream at each level
  // (`stream`), notes attention weights (`read`), or hides positions [from, to) from all later ones
  // (`hide`, a list).
  function forward(past, n, look = {}, level = 0) {
    for (let l = level; l < L; l++) {
      look.stream?.(l, x, past, n);
      blocks[l].forward(past, n, look);
    }
    look.stream?.(L, x, past, n);
  }

  // A vector of the stream after the last norm, and the logits (V,) to which it leads.
  function lastNorm(x_C) {
    norm(x_C, 1);
    return normed.slice(0, C);
  }
  function logits(x_C = model.last) {
    norm(x_C, 1);
    roundTo16(normed, C);
    head(logits_V, 1);
    return logits_V;
  }

  // known: the ids that the cache holds; last: the stream after the last of them.
  const model = { sizes, x, blocks, matrixRow, forward, lastNorm, logits, known: [], last: x };
  return model;
}

// Read a text, but not again what it begins with as before, except for its last token. Yields the share
// that is read so far, before it is all.
export function* readText(model, ids, look = {}) {
  const { known, matrixRow, forward, x, sizes } = model,
    same = known.findIndex((id, i) => id !== ids[i]),
    begun = Math.min(same < 0 ? known.length : same, ids.length - 1);
  known.length = begun;
  for (let past = begun; past < ids.length; past += ROWS) {
    const rows = ids.slice(past, past + ROWS);
    rows.forEach((id, row) => x.set(matrixRow("token_embd", id), row * sizes.C));
    forward(past, rows.length, look);
    if (!look.hide) known.push(...rows);
    const share = (past + rows.length) / ids.length;
    model.last = x.slice((rows.length - 1) * sizes.C, rows.length * sizes.C);
    if (share < 1) yield { reading: share };
  }
}
