// GGUF files, in which llama.cpp keeps models (github.com/ggml-org/ggml/blob/master/docs/gguf.md): what a
// file says of itself, and where its tensors stand. Their blocks stay as they are.

import { half } from "../gpt/file.js";

// Of each format the bytes and the numbers of a block, and how these are read into an array, from i on.
const FORMATS = {
  0: { name: "F32", bytes: 4, numbers: 1, decode: f32 },
  3: { name: "Q4_1", bytes: 20, numbers: 32, decode: q4_1 },
  8: { name: "Q8_0", bytes: 34, numbers: 32, decode: q8_0 },
};

function f32(view, at, x, i) {
  x[i] = view.getFloat32(at, true);
}

// A scale and a minimum of 16 bits, and 16 bytes: low halves are the first numbers, high halves the others.
function q4_1(view, at, x, i) {
  const [scale, least] = [half(view.getUint16(at, true)), half(view.getUint16(at + 2, true))];
  for (let n = 0; n < 16; n++) {
    const byte = view.getUint8(at + 4 + n);
    x[i + n] = scale * (byte & 15) + least;
    x[i + 16 + n] = scale * (byte >> 4) + least;
  }
}

// A scale of 16 bits, and 32 bytes.
function q8_0(view, at, x, i) {
  const scale = half(view.getUint16(at, true));
  for (let n = 0; n < 32; n++) x[i + n] = scale * view.getInt8(at + 2 + n);
}

// Row `row` of a tensor that stands in these bytes; a vector is one row.
export function rowOf(view, { format: { bytes, numbers, decode }, shape, at }, row) {
  const found = new Float32Array(shape.at(-1)),
    blocks = found.length / numbers;
  for (let i = 0; i < blocks; i++)
    decode(view, at + (row * blocks + i) * bytes, found, i * numbers);
  return found;
}

const WANTED = "The page wants SmolLM2-135M-Instruct.Q4_1.gguf.";
const SHORT = "This file ends early: the rest of it is missing. Please load it again.";

export const DAMAGED =
  "This file is damaged: some of its bytes have changed. Please load it again.";

const CONTEXT = 2048; // tokens, for which the page keeps keys and values

// The kinds of numbers, as a DataView names them; 8 is a text, 9 a list.
const KINDS =
  "Uint8 Int8 Uint16 Int16 Uint32 Int32 Float32 Uint8 text list BigUint64 BigInt64 Float64";

// What reads one value of a kind after the other.
function reader(view) {
  const kinds = KINDS.split(" ");
  let at = 0;
  function skip(bytes) {
    if (at + bytes > view.byteLength) throw new Error(SHORT);
    return (at += bytes) - bytes;
  }
  function value(kind) {
    const name = kinds[kind];
    if (name === "text") {
      const length = value(10);
      return new TextDecoder().decode(new Uint8Array(view.buffer, skip(length), length));
    }
    if (name !== "list") return Number(view[`get${name}`](skip(name.match(/\d+/) / 8), true));
    const [of, found] = [value(4), []];
    for (let left = value(10); left > 0; left--) found.push(value(of));
    return found;
  }
  return { int: () => value(4), long: () => value(10), text: () => value(8), value, at: () => at };
}

// SmolLM2's file: its metadata, the bytes of all its tensors, of each tensor its format, its shape, and
// where it begins in them, and the sizes. Throws an Error, one sentence for a reader.
export function readGGUF(buffer) {
  try {
    const file = read(buffer);
    return { ...file, sizes: sizesOf(file) };
  } catch (error) {
    throw error.constructor === Error ? error : new Error(DAMAGED);
  }
}

function read(buffer) {
  const { int, long, text, value, at } = reader(new DataView(buffer));
  if (buffer.byteLength < 8 || int() !== 0x46554747 || int() !== 3)
    throw new Error(`This is no GGUF file. ${WANTED}`);
  const [tensors, entries] = [long(), long()],
    [about, found] = [{}, {}];
  for (let n = 0; n < entries; n++) about[text()] = value(int());
  for (let n = 0; n < tensors; n++) {
    const name = text(),
      shape = Array.from({ length: int() }, long).reverse();
    found[name] = { shape, format: FORMATS[int()], at: long() };
  }
  const align = about["general.alignment"] ?? 32,
    begin = Math.ceil(at() / align) * align;
  for (const { shape, format, at } of Object.values(found)) {
    const end = begin + at + (shape.reduce((a, b) => a * b) / format.numbers) * format.bytes;
    if (end > buffer.byteLength) throw new Error(SHORT);
  }
  return { about, tensors: found, data: new Uint8Array(buffer, begin) };
}

// Sizes as helpers/minillama.py names them.
function sizesOf({ about, tensors }) {
  if (about["general.architecture"] !== "llama" || about["tokenizer.ggml.pre"] !== "smollm")
    throw new Error(`This file holds another model, ${about["general.name"]}. ${WANTED}`);
  const of = (name) => about[`llama.${name}`];
  const sizes = {
    V: tensors["token_embd.weight"].shape[0],
    T: Math.min(CONTEXT, of("context_length")),
    C: of("embedding_length"),
    H: of("attention.head_count"),
    G: of("attention.head_count_kv"),
    L: of("block_count"),
    hidden: of("feed_forward_length"),
    base: of("rope.freq_base"),
    eps: of("attention.layer_norm_rms_epsilon"),
  };
  if (!Object.values(sizes).every(Number.isFinite)) throw new Error(DAMAGED);
  return sizes;
}
