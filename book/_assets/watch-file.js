// The book's one model format in the page: safetensors with minigpt's tensor names, and a metadata key
// `model` (helpers/checkpoint.py): read, written, and given to gpt.js.
"use strict";

globalThis.bookFile = (() => {
  const KINDS = { F32: 4, F16: 2, BF16: 2 }; // bytes of a number

  // As json.dumps(value, sort_keys=True) writes it.
  function pythonJson(value) {
    if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
    if (typeof value === "object")
      return `{${Object.keys(value)
        .sort()
        .map((key) => `${pythonJson(key)}: ${pythonJson(value[key])}`)
        .join(", ")}}`;
    return JSON.stringify(value).replace(
      /[\u007f-\uffff]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  }

  // A model {sizes, vocab, pattern, tensors, and the `model` string if it came from a file} to bytes,
  // its tensors by name, as the package safetensors orders them.
  function write({ sizes, vocab, pattern, tensors, about }) {
    const model = about ?? pythonJson({ kind: "gpt", sizes, tokens: vocab, pattern });
    const sorted = [...tensors].sort((a, b) => (a.name < b.name ? -1 : 1)),
      header = { __metadata__: { model } };
    let at = 0;
    for (const { name, shape, value } of sorted) {
      header[name] = { dtype: "F32", shape, data_offsets: [at, at + 4 * value.length] };
      at += 4 * value.length;
    }
    let words = new TextEncoder().encode(JSON.stringify(header));
    const length = 8 * Math.ceil(words.length / 8); // filled up with spaces
    const bytes = new Uint8Array(8 + length + at).fill(32);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
    bytes.set(words, 8);
    let to = 8 + length;
    for (const { value } of sorted) {
      bytes.set(new Uint8Array(value.buffer, value.byteOffset, 4 * value.length), to);
      to += 4 * value.length;
    }
    return bytes;
  }

  // Two bytes as a number: the exponent and the fraction of a float16.
  function half(bits) {
    const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction);
  }

  const READ = {
    F32: (view, at) => view.getFloat32(at, true),
    F16: (view, at) => half(view.getUint16(at, true)),
  };

  // The model in the bytes of a file. Throws an Error in words where it is none of ours.
  function read(buffer) {
    const view = new DataView(buffer);
    let header, about;
    try {
      const length = Number(view.getBigUint64(0, true));
      header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
      about = JSON.parse(header.__metadata__.model);
      header.__begins__ = 8 + length;
    } catch {
      throw new Error(
        "This is no model of the book: it wants a .safetensors file that minigpt saved.",
      );
    }
    if (about.kind !== "gpt")
      throw new Error(
        "This page opens the GPT of chapters 3 to 11, and this file holds another kind.",
      );
    const tensors = Object.entries(header)
      .filter(([name]) => !name.startsWith("__"))
      .map(
        ([
          name,
          {
            dtype,
            shape,
            data_offsets: [from, to],
          },
        ]) => {
          if (!READ[dtype]) throw new Error(`Its numbers are ${dtype}; save them as float32.`);
          const value = new Float32Array((to - from) / KINDS[dtype]);
          for (let i = 0; i < value.length; i++)
            value[i] = READ[dtype](view, header.__begins__ + from + i * KINDS[dtype]);
          return { name, shape, value };
        },
      );
    const { sizes, tokens: vocab, pattern } = about;
    return { sizes, vocab, pattern, tensors, about: header.__metadata__.model };
  }

  // The same for gpt.js, whose matrices have a scale for each row: here it is 1.
  function toGPT({ sizes, vocab, pattern, tensors }) {
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

  return { read, toGPT, write };
})();
