// Why this word: the lead of its logit as a sum over what each part has added to the stream, and what
// becomes of the word without a part. asked: { position, entry, over }.

import { centred, dot, kvCache, linear, plus, read, rstd } from "../gpt/model.js";

// The lead of a word's logit, `entry`, over another word's, `over`, or else over the mean of all.
export const lead = (logits_V, { entry, over }) =>
  logits_V[entry] -
  (over === undefined ? logits_V.reduce((sum, x) => sum + x) / logits_V.length : logits_V[over]);

const lastOf = ({ layers }) => layers.at(-1).stream;
const scaled = (a, by) => a.map((x) => x * by);
const attentionOut = ({ weights }, layer) => weights[`blocks.${layer - 1}.attention.out.weight`];

// The biases (C,) of a layer's attention and of its feed-forward network.
const biasesOf = ({ weights }, layer) =>
  ["attention.out", "feed_forward.down"].map((name) =>
    Float64Array.from(weights[`blocks.${layer - 1}.${name}.bias`]),
  );

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

// What 1 in each entry of the last stream adds to the lead, (C,), with what the last norm divides by
// held at what it is for this text. Its mean is taken away, as the norm does.
function toward({ model, seen }, asked) {
  const by = rstd(lastOf(seen[asked.position])),
    gamma = model.weights["norm.weight"];
  return centred(headRow(model, asked).map((x, c) => x * gamma[c] * by));
}

// All parts, each with its share of the lead: the embedding, the position, each head by the token
// that it reads (as a whole where something was put in its place), each feed-forward network, and
// all biases, β of the last norm among them.
export function partsOf(machine, asked) {
  const { model, seen, change } = machine,
    { L, H, C } = model.sizes,
    { position } = asked,
    kept = seen[position],
    toward_C = toward(machine, asked);
  const found = ["embedding", "position"].map((part) => ({
    part,
    value: dot(kept[part], toward_C),
  }));
  let biases = dot(headRow(model, asked), model.weights["norm.bias"]);
  for (let layer = 1; layer <= L; layer++) {
    const { codes, scales } = attentionOut(model, layer),
      back_C = new Float64Array(C); // what 1 in each entry that the heads have mixed adds
    for (let i = 0, at = 0; i < C; i++) {
      const by = toward_C[i] * scales[i];
      for (let j = 0; j < C; j++, at++) back_C[j] += by * codes[at];
    }
    for (let head = 1; head <= H; head++) {
      const { weights, mixed } = kept.layers[layer].heads[head - 1],
        back_D = back_C.slice(((head - 1) * C) / H, (head * C) / H),
        part = { part: "attention", layer, head };
      if (change.instead?.[layer]?.[head]) found.push({ ...part, value: dot(mixed, back_D) });
      else
        weights.forEach((weight, key) => {
          const { v } = seen[key].layers[layer].heads[head - 1];
          found.push({ ...part, key, value: weight * dot(v, back_D) });
        });
    }
    const [out, down] = biasesOf(model, layer).map((bias) => dot(bias, toward_C));
    found.push({ part: "down", layer, value: dot(kept.layers[layer].down, toward_C) - down });
    biases += out + down;
  }
  return [...found, { part: "biases", value: biases }];
}

// The vectors (C,) that a part has added at a position, as `read` takes them away (`less`).
function added({ model, seen }, position, { part, layer, head, key }) {
  const { weights, sizes } = model,
    kept = seen[position];
  if (part === "embedding" || part === "position") return { [part]: kept[part] };
  if (part === "biases") {
    const less = { norm: Float64Array.from(weights["norm.bias"]) };
    for (let n = 1; n <= sizes.L; n++) {
      const [out, down] = biasesOf(model, n);
      less[n] = { out, down };
    }
    return less;
  }
  if (part === "down") {
    const down = plus(kept.layers[layer].down, scaled(biasesOf(model, layer)[1], -1));
    return { [layer]: { down } };
  }
  const { weights: shares, mixed } = kept.layers[layer].heads[head - 1];
  const mixed_C = new Float64Array(sizes.C),
    read_D =
      key === undefined ? mixed : scaled(seen[key].layers[layer].heads[head - 1].v, shares[key]);
  mixed_C.set(read_D, ((head - 1) * sizes.C) / sizes.H);
  return { [layer]: { out: linear(mixed_C, attentionOut(model, layer)) } };
}

// What is gone from the last stream without a part, if no layer notices, (C,).
const goneOf = ({ norm, embedding, position, ...layers }, C) =>
  [embedding, position, ...Object.values(layers).flatMap(({ out, down }) => [out, down])]
    .filter(Boolean)
    .reduce(plus, new Float64Array(C));

// A part left out at this position: the logits now, by the sum, and as the machine computes them
// again from there. `later`: how much of the difference the layers after it make, `norm`: the rest;
// `changed`: the length of what is different in what they add, relative to the vector left out.
export function silence(machine, asked, part) {
  const { model, ids, seen, change } = machine,
    { position } = asked,
    less = added(machine, position, part),
    kept = seen[position];
  const cache = kvCache(model).map((heads, l) =>
    heads.map((_, h) => {
      const earlier = seen.slice(0, position).map(({ layers }) => layers[l + 1].heads[h]);
      return { keys: earlier.map(({ k }) => k), values: earlier.map(({ v }) => v) };
    }),
  );
  const without = read(model, cache, ids[position], { ...change, less });
  const gone_C = goneOf(less, model.sizes.C),
    by = rstd(lastOf(kept)),
    gamma = model.weights["norm.weight"];
  const gone_V = linear(
    centred(gone_C).map((x, c) => x * by * gamma[c] + (less.norm?.[c] ?? 0)),
    model.weights["head.weight"],
  );
  const said_V = kept.logits_V.map((x, i) => x - gone_V[i]),
    later_C = gone_C.map((x, i) => x + lastOf(without)[i] - lastOf(kept)[i]),
    later = dot(later_C, toward(machine, asked));
  return {
    logits: { now: kept.logits_V, said: said_V, found: without.logits_V },
    later,
    changed: Math.sqrt(dot(later_C, later_C) / dot(gone_C, gone_C)) || 0,
    norm: lead(without.logits_V, asked) - lead(said_V, asked) - later,
    by: { now: by, found: rstd(lastOf(without)) },
  };
}

// The address that a part opens: of a row the entry that adds most, up or down.
export function leadsTo(machine, asked, { part, layer, head, key }) {
  const { position } = asked,
    { L, C } = machine.model.sizes;
  if (part === "attention") {
    const at = { layer, head, position };
    return key === undefined ? { ...at, part: "mixed", entry: 0 } : { ...at, part: "weights", key };
  }
  const toward_C = toward(machine, asked);
  const most = (vector) => {
    const sizes = vector.map((x, i) => Math.abs(x * toward_C[i]));
    return sizes.indexOf(Math.max(...sizes));
  };
  if (part === "biases") {
    const table = `blocks.${L - 1}.feed_forward.down.bias`;
    return { part: "learned", table, row: most(biasesOf(machine.model, L)[1]) };
  }
  const vector = goneOf(added(machine, position, { part, layer }), C);
  return { part, layer, position, entry: most(vector) };
}
