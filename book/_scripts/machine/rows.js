// Where a number of the GPT stands. A machine is { model, ids, seen, change }: a text that was read,
// every step kept. A number has an address: the part that it belongs to, and which layer, head,
// position, key and entry.
//
// Layers and heads are counted from 1; layer 0 is what layer 1 reads. A norm's parts end in 1 before
// attention, in 2 before the feed-forward network, and in no number after all layers.

import { centred, readOut } from "../gpt/model.js";
import { likeliest, probabilities } from "../gpt/sampling.js";
import { named } from "../gpt/tokens.js";
import { open, RULES } from "./rules.js";

const listed = (words) => new Set(words.split(" "));
const BY_KEY = listed("scores scaled weights");
const OF_HEAD = listed("q k v scores scaled weights mixed share");
const OF_LAYER = listed("norm1 out middle norm2 up activation down stream");
const READ_OUT = listed("mean centred variance rstd norm logits probabilities share_next");
const SINGLE = /^(learned|share.*|(mean|variance|rstd)[12]?)$/; // stands in no row
// What kind of part it is.
export const byKey = (part) => BY_KEY.has(part);
export const inHead = (part) => OF_HEAD.has(part);
export const inLayer = (part) => inHead(part) || OF_LAYER.has(part) || /[12]$/.test(part);
export const isReadOut = ({ part }) => READ_OUT.has(part); // with a layer: read after it
export const isNext = ({ part }) => part === "logits" || part === "probabilities";

// The address of the row (C,) that a norm reads.
export function normReads({ model }, { part, layer, position, entry }) {
  if (part.endsWith("2")) return { part: "middle", layer, position, entry };
  const before = part.endsWith("1") ? layer - 1 : (layer ?? model.sizes.L);
  return { part: "stream", layer: before, position, entry };
}

// The whole row to which a number belongs; none for one that stands alone.
export function row(machine, a) {
  const { part, layer, head, position } = a,
    kept = machine.seen[position];
  if (SINGLE.test(part)) return undefined;
  if (part.startsWith("centred")) return centred(row(machine, normReads(machine, a)));
  if (part === "probabilities") return probabilities(row(machine, { ...a, part: "logits" }));
  if (isReadOut(a)) {
    const stream = layer === undefined ? null : kept.layers[layer].stream;
    return (stream ? readOut(machine.model.weights, stream) : kept)[
      part === "logits" ? "logits_V" : part
    ];
  }
  if (OF_HEAD.has(part)) return kept.layers[layer].heads[head - 1][part];
  return OF_LAYER.has(part) ? kept.layers[layer][part] : kept[part];
}

// The number at an address.
export function value(machine, a) {
  const found = row(machine, a);
  return found ? found[byKey(a.part) ? a.key : a.entry] : open(machine, a).value;
}

// Whether there is such a number in this text.
export function has(machine, a) {
  const { weights, sizes } = machine.model;
  const between = (at, end) => Number.isInteger(at) && at >= 0 && at < end;
  if (a.part === "learned") {
    const tensor = weights[a.table];
    if (tensor && !tensor.codes) return between(a.row, tensor.length) && a.column === undefined;
    return Boolean(tensor) && between(a.row, tensor.rows) && between(a.column, tensor.columns);
  }
  if (!Object.hasOwn(RULES, a.part) || !between(a.position, machine.seen.length)) return false;
  const from = a.part === "stream" || isReadOut(a) ? 0 : 1, // layer 0, too
    needed = a.part === "stream" || inLayer(a.part);
  if (needed || (from === 0 && a.layer !== undefined)) {
    if (!between(a.layer - from, sizes.L + 1 - from)) return false;
  }
  if (inHead(a.part) && !between(a.head - 1, sizes.H)) return false;
  const all = row(machine, a);
  return !all || between(byKey(a.part) ? a.key : a.entry, all.length);
}

// An address with its entry: of what comes next the likeliest, where none is named.
export function placed(machine, a) {
  if (!isNext(a) || a.entry !== undefined || !has(machine, { ...a, entry: 0 })) return a;
  return { ...a, entry: likeliest(row(machine, a), 1)[0] };
}

// --- in words

const SYMBOLS = {
  stream: "x",
  middle: "x′",
  norm1: "x̂",
  norm2: "x̂′",
  norm: "x̂",
  scores: "score",
  scaled: "scaled score",
  weights: "weight",
  share: "1/Σ",
  mixed: "mix",
  activation: "GELU",
  logits: "logit",
  probabilities: "p",
  share_next: "1/Σ",
};

// A position in words.
export const atPosition = ({ model, ids }, position) =>
  `${named(model.vocab[ids[position]])} (${position + 1})`;

// A number as it stands in a table of terms: q[5], k[5] of “ fox” (2), score with “ fox” (2).
export function symbolOf(machine, a) {
  const { part, head, position, key, entry } = a,
    plain = part.replace("centred", "(x − mean)").replace("rstd", "1/σ").replace(/[12]$/, ""),
    symbol = SYMBOLS[part] ?? plain;
  if (isNext(a)) return `${symbol} of ${named(machine.model.vocab[entry])}`;
  if (key !== undefined) return `${symbol} with ${atPosition(machine, key)}`;
  const at = entry === undefined ? "" : `[${entry + 1}]`;
  if (part === "mixed") return `${symbol}${at} of head ${head}`;
  return symbol + at + (part === "k" || part === "v" ? ` of ${atPosition(machine, position)}` : "");
}
