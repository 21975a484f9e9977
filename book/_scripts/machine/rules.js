// Any number of the GPT, opened: the terms that it is the sum of, and where each comes from. Each term
// is a product of factors, and a factor that was computed has an address in turn. So one goes from a
// probability down to the numbers of the tables, which training has set. The sum is a number by
// itself, or something is done with it (1 / √ for a norm): `outer`.

import { EPS, normalCdf } from "../gpt/model.js";
import { normReads, symbolOf, value } from "./rows.js";

// --- factors: a value, its name, and its address if it can be opened

const constant = (value, name) => ({ value, name });
const power = ({ value, name, to }) => ({ value: Math.exp(value), name: `e^(${name})`, to });

// A table's name in a term.
function short(table) {
  if (/^(embedding|position|head)\.weight$/.test(table)) return table.split(".")[0];
  if (table.includes("norm")) return table.replace(/.*weight/, "γ").replace(/.*bias/, "β");
  return table.split(".").slice(-2).join(".").replace("weight", "W").replace("bias", "b");
}

// A number of a table, which training has set.
function learned({ model: { weights } }, table, at, column) {
  const { codes, scales, columns } = weights[table],
    to = { part: "learned", table, row: at };
  if (!codes) return { value: weights[table][at], name: `${short(table)}[${at + 1}]`, to };
  return {
    value: codes[at * columns + column] * scales[at],
    name: `${short(table)}[${at + 1}, ${column + 1}]`,
    to: { ...to, column },
  };
}

// --- a rule for each part: its terms. It is given `here`, which gives another number as a factor, of
// the same place but for what is said, `of`, which gives those of a row, `trained`, which gives one of
// a table, and the address.

const each = (length, term) => Array.from({ length }, (_, n) => term(n));

// A row of a table times a row of the machine, by `factor`, and the bias, as terms.
function linear({ machine: { model }, trained, a }, table, factor, i = a.entry) {
  const [weight, bias] = ["weight", "bias"].map((name) => `${table}.${name}`),
    terms = each(model.weights[weight].columns, (j) => [trained(weight, i, j), factor(j)]);
  return model.weights[bias] ? [...terms, [trained(bias, i)]] : terms;
}
const ofLayer = ({ layer }, name) => `blocks.${layer - 1}.${name}`;

// LayerNorm: its mean, x − mean, variance, 1 / √(variance + ε), and the result.
const which = ({ part }) => /[12]$/.exec(part)?.[0] ?? "";
const NORM = {
  mean: ({ here, a, C, machine }) =>
    each(C, (entry) => [here("", normReads(machine, { ...a, entry })), constant(1 / C, `1/${C}`)]),
  centred: ({ here, a, machine }) => [
    [here("", normReads(machine, a))],
    [constant(-1, "−1"), here(`mean${which(a)}`, { entry: undefined })],
  ],
  variance: ({ here, a, C }) =>
    each(C, (entry) => {
      const centred = here(`centred${which(a)}`, { entry });
      return [centred, centred, constant(1 / C, `1/${C}`)];
    }),
  rstd: ({ here, a }) => [[here(`variance${which(a)}`)], [constant(EPS, "ε")]],
  norm({ here, trained, a }) {
    const table = which(a) ? ofLayer(a, `norm_${which(a)}`) : "norm",
      by = here(`rstd${which(a)}`, { entry: undefined });
    return [
      [here(`centred${which(a)}`), by, trained(`${table}.weight`, a.entry)],
      [trained(`${table}.bias`, a.entry)],
    ];
  },
};

// q, k and v alike: from one matrix for all three.
function projected(given) {
  const { a, C, D } = given,
    at = "qkv".indexOf(a.part) * C + (a.head - 1) * D + a.entry;
  return linear(given, ofLayer(a, "attention.qkv"), given.of("norm1"), at);
}

export const RULES = {
  learned({ machine, a: { table, row: at, column } }) {
    const { codes, scales, columns } = machine.model.weights[table];
    if (!codes) return [[constant(machine.model.weights[table][at], "as it is")]];
    const code = constant(codes[at * columns + column], "its code, a whole number");
    return [[code, constant(scales[at], "the scale of its row")]];
  },
  embedding: ({ trained, a, machine }) => [
    [trained("embedding.weight", machine.ids[a.position], a.entry)],
  ],
  position({ trained, a, machine }) {
    if (machine.change.positions === "none") return [[constant(0, "no position")]];
    return [[trained("position.weight", a.position, a.entry)]];
  },
  ...Object.fromEntries(
    ["", "1", "2"].flatMap((n) => Object.entries(NORM).map(([step, rule]) => [step + n, rule])),
  ),
  q: projected,
  k: projected,
  v: projected,
  scores: ({ here, a: { key }, D }) =>
    each(D, (entry) => [
      here("q", { key: undefined, entry }),
      here("k", { key: undefined, position: key, entry }),
    ]),
  scaled: ({ here, D }) => [[here("scores"), constant(1 / Math.sqrt(D), `1/√${D}`)]],
  weights: ({ here }) => [[power(here("scaled")), here("share", { key: undefined })]],
  share: ({ here, a }) => each(a.position + 1, (key) => [power(here("scaled", { key }))]),
  mixed({ here, a, machine }) {
    const other = machine.change.instead?.[a.layer]?.[a.head];
    if (other) return [[constant(other[a.entry], "put in its place")]];
    return each(a.position + 1, (key) => [
      here("weights", { key, entry: undefined }),
      here("v", { position: key }),
    ]);
  },
  out(given) {
    const { here, a, D } = given;
    const factor = (j) => here("mixed", { head: Math.floor(j / D) + 1, entry: j % D });
    return linear(given, ofLayer(a, "attention.out"), factor);
  },
  middle: ({ here, a }) => [[here("stream", { layer: a.layer - 1 })], [here("out")]],
  up: (given) => linear(given, ofLayer(given.a, "feed_forward.up"), given.of("norm2")),
  activation({ here }) {
    const up = here("up");
    return [[up, constant(normalCdf(up.value), `Φ(${up.name})`)]];
  },
  down: (given) => linear(given, ofLayer(given.a, "feed_forward.down"), given.of("activation")),
  stream: ({ here, a }) =>
    a.layer
      ? [[here("middle")], [here("down")]]
      : [[here("embedding", { layer: undefined })], [here("position", { layer: undefined })]],
  logits: (given) => linear(given, "head", given.of("norm")),
  probabilities: ({ here }) => [[power(here("logits")), here("share_next", { entry: undefined })]],
  share_next: ({ here, machine }) =>
    machine.model.vocab.map((_, entry) => [power(here("logits", { entry }))]),
};

// What is done with the sum.
function outerOf(part) {
  if (part.startsWith("share")) return [(sum) => 1 / sum, "1 / sum"];
  if (part.startsWith("rstd")) return [(sum) => 1 / Math.sqrt(sum), "1 / √sum"];
  return [(sum) => sum, ""];
}

// The number at an address: its terms, each with its product, their sum, and what is done with it.
export function open(machine, a) {
  const { C, H } = machine.model.sizes,
    trained = (...at) => learned(machine, ...at);
  const here = (part, other) => {
    const to = { ...a, part, ...other };
    return { value: value(machine, to), name: symbolOf(machine, to), to };
  };
  const of = (part) => (entry) => here(part, { head: undefined, entry });
  const terms = RULES[a.part]({ here, of, trained, machine, a, C, D: C / H }).map((factors) => ({
    factors,
    product: factors.reduce((product, factor) => product * factor.value, 1),
  }));
  const sum = terms.reduce((all, { product }) => all + product, 0),
    [outer, said] = outerOf(a.part);
  return { terms, sum, outer: said, value: outer(sum) };
}
