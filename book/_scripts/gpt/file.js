// The book's one model format in the page: safetensors with minigpt's tensor names, and a metadata key
// `model` (helpers/checkpoint.py): read, written, and given to model.js.

import { products } from "../train/kernel.js";
import { GPT } from "../train/model.js";

const NONE =
  "This file holds no GPT of this book, or not all of it: it wants a .safetensors file that minigpt " +
  "or Watch it learn has saved.";

// Two bytes as a number: the exponent and the fraction of a float16.
export function half(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return NaN;
  return sign * (exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction);
}

const READ = {
  F32: (view, at, i) => view.getFloat32(at + 4 * i, true),
  F16: (view, at, i) => half(view.getUint16(at + 2 * i, true)),
};

// The model in the bytes of a file, with its `model` string. Throws an Error in words where it is none.
export function readModel(buffer) {
  try {
    const view = new DataView(buffer),
      begins = 8 + Number(view.getBigUint64(0, true)),
      header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, begins - 8))),
      about = header.__metadata__.model,
      { kind, sizes, tokens: vocab, pattern } = JSON.parse(about);
    if (kind !== "gpt" || vocab.length !== sizes.V) throw new Error(kind);
    const tensors = GPT(sizes, 1, { products }).parameters.map(({ name, shape, value }) => {
      const { dtype, shape: given, data_offsets: at } = header[name];
      for (let i = 0; i < value.length; i++) value[i] = READ[dtype](view, begins + at[0], i);
      if (`${given}` !== `${shape}` || !value.every(Number.isFinite)) throw new Error(name);
      return { name, shape, value };
    });
    return { sizes, vocab, pattern, tensors, about };
  } catch {
    throw new Error(NONE);
  }
}

// Text as json.dumps writes it.
const json = (text) =>
  JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

// A model to bytes, its tensors by name, as the package safetensors orders them.
export function writeModel({ sizes: { C, H, L, T, V }, vocab, pattern, tensors, about }) {
  const model =
    about ??
    `{"kind": "gpt", "pattern": ${json(pattern)}, "sizes": {"C": ${C}, "H": ${H}, "L": ${L}, ` +
      `"T": ${T}, "V": ${V}}, "tokens": [${vocab.map(json).join(", ")}]}`;
  const sorted = [...tensors].sort((a, b) => (a.name < b.name ? -1 : 1)),
    header = { __metadata__: { model } };
  let end = 0;
  for (const { name, shape, value } of sorted)
    header[name] = { dtype: "F32", shape, data_offsets: [end, (end += 4 * value.length)] };
  const words = new TextEncoder().encode(JSON.stringify(header)),
    begins = 8 + 8 * Math.ceil(words.length / 8); // filled up with spaces
  const bytes = new Uint8Array(begins + end).fill(32);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(begins - 8), true);
  bytes.set(words, 8);
  for (const { name, value } of sorted) {
    const { buffer, byteOffset, byteLength } = value;
    bytes.set(
      new Uint8Array(buffer, byteOffset, byteLength),
      begins + header[name].data_offsets[0],
    );
  }
  return bytes;
}

// The same for model.js, whose matrices have a scale for each row: here it is 1.
export function toGPT({ sizes, vocab, pattern, tensors }) {
  const weights = {};
  for (const { name, shape, value } of tensors) {
    const [rows, columns] = shape;
    weights[name] =
      shape.length === 1
        ? value
        : { rows, columns, scales: new Float32Array(rows).fill(1), codes: value };
  }
  return { sizes, vocab, pattern, weights, ids: new Map(vocab.map((token, id) => [token, id])) };
}

// Take the file that a field is given, or that is dropped anywhere on the page.
export function onFile(field, take) {
  field.addEventListener("change", () => field.files[0] && take(field.files[0]));
  for (const name of ["dragover", "drop"]) {
    addEventListener(name, (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      if (name === "drop") take(event.dataTransfer.files[0]);
    });
  }
}
