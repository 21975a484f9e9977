// GGUF files, in which llama.cpp keeps models (github.com/ggml-org/ggml/blob/master/docs/gguf.md): what a
// file says of itself, and where its tensors stand. Their blocks stay as they are.

const FORMATS = { 0: { name: "F32", bytes: 4, numbers: 1 } };
FORMATS[3] = { name: "Q4_1", bytes: 20, numbers: 32 };
FORMATS[8] = { name: "Q8_0", bytes: 34, numbers: 32 };

const NONE = "This is no GGUF file. The page wants SmolLM2-135M-Instruct.Q4_1.gguf.";
const SHORT = "This file ends early: the rest of it is missing. Please load it again.";
const DAMAGED = "This file is damaged: what it says of itself does not fit. Please load it again.";

// What reads one number after the other, and strings and lists of them.
function reader(view) {
  let at = 0;
  const take = (bytes, read) => {
    at += bytes;
    if (at > view.byteLength) throw new Error(SHORT);
    return read(at - bytes);
  };
  const long = () => Number(take(8, (i) => view.getBigUint64(i, true)));
  const decoder = new TextDecoder();
  function text() {
    const length = long();
    return take(length, (i) => decoder.decode(new Uint8Array(view.buffer, i, length)));
  }
  const kinds = [
    () => take(1, (i) => view.getUint8(i)),
    () => take(1, (i) => view.getInt8(i)),
    () => take(2, (i) => view.getUint16(i, true)),
    () => take(2, (i) => view.getInt16(i, true)),
    () => take(4, (i) => view.getUint32(i, true)),
    () => take(4, (i) => view.getInt32(i, true)),
    () => take(4, (i) => view.getFloat32(i, true)),
    () => take(1, (i) => Boolean(view.getUint8(i))),
    text,
    () => {
      const kind = int(),
        found = [];
      for (let left = long(); left > 0; left--) found.push(kinds[kind]());
      return found;
    },
    long,
    () => Number(take(8, (i) => view.getBigInt64(i, true))),
    () => take(8, (i) => view.getFloat64(i, true)),
  ];
  const int = kinds[4];
  return { int, long, text, value: () => kinds[int()](), at: () => at };
}

// The metadata of a file, the bytes of all its tensors, and of each tensor its format, its shape, and
// where it begins in them. Throws an Error, one sentence for a reader.
export function readGGUF(buffer) {
  try {
    return read(buffer);
  } catch (error) {
    throw error.constructor === Error ? error : new Error(DAMAGED);
  }
}

function read(buffer) {
  const { int, long, text, value, at } = reader(new DataView(buffer));
  if (buffer.byteLength < 8 || int() !== 0x46554747 || int() !== 3) throw new Error(NONE);
  const [tensors, entries] = [long(), long()],
    about = {},
    found = {};
  for (let n = 0; n < entries; n++) about[text()] = value();
  for (let n = 0; n < tensors; n++) {
    const name = text(),
      shape = Array.from({ length: int() }, long).reverse();
    found[name] = { name, shape, format: FORMATS[int()], at: long() };
  }
  const align = about["general.alignment"] ?? 32,
    begin = Math.ceil(at() / align) * align;
  for (const { shape, format, at } of Object.values(found)) {
    const end = begin + at + (shape.reduce((a, b) => a * b) / format.numbers) * format.bytes;
    if (end > buffer.byteLength) throw new Error(SHORT);
  }
  return { about, tensors: found, data: new Uint8Array(buffer, begin) };
}

// Sizes as helpers/minillama.py names them; of the context, what the page can keep.
export function sizesOf({ about, tensors }, context) {
  const wanted = {
    "general.architecture": "llama",
    "llama.rope.scaling.type": undefined,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
  };
  if (Object.entries(wanted).some(([name, is]) => about[name] !== is))
    throw new Error(
      `This file holds another model, ${about["general.name"] ?? "without a name"}. The page wants ` +
        "SmolLM2-135M-Instruct.Q4_1.gguf.",
    );
  const of = (name) => about[`llama.${name}`],
    [H, G] = [of("attention.head_count"), of("attention.head_count_kv")];
  return {
    V: tensors["token_embd.weight"].shape[0],
    T: Math.min(context, of("context_length")),
    C: of("embedding_length"),
    H,
    G,
    L: of("block_count"),
    hidden: of("feed_forward_length"),
    base: of("rope.freq_base"),
    eps: of("attention.layer_norm_rms_epsilon"),
  };
}
