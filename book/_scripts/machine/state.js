// What the page of the machine knows, in one object, and words for it.

import { patient } from "../gpt/page.js";
import { likeliest } from "../gpt/sampling.js";
import { label, named } from "../gpt/tokens.js";
import { atPosition, row } from "./rows.js";

export const root = globalThis.document?.querySelector(".machine");
export const find = (name) => root.querySelector(name);
export const field = (name) => find(`[name="${name}"]`);
export const data = root && JSON.parse(find(".machine-data").textContent); // parts, early, means

export const state = {
  machine: null, // the text that is shown, as in rows.js, with `plain`: read without the changes
  position: 0,
  followed: true, // the last token, until another was chosen
  opened: null, // the address of the open number
  every: false, // whether all its terms are shown
  sought: null, // what is brought into view as soon as all is drawn
  width: 0, // of the stations
  why: {}, // what is asked, see inquiry.js
};

// Whether there is a text with the position that is looked at.
export const there = () => state.machine && state.position < state.machine.ids.length;

// The layer and the head that are chosen.
export const chosen = () => ({
  layer: Number(field("layer").value),
  head: Number(field("head").value),
});

// Of the text that is shown: a row, one at the position that is looked at, words of it.
export const rowOf = (a) => row(state.machine, a);
export const rowHere = (part) => rowOf({ part, position: state.position });
export const token = (at) => state.machine.model.vocab[state.machine.ids[at]];
export const at = (position) => atPosition(state.machine, position);
export const wordOf = (entry) => named(state.machine.model.vocab[entry]);
export const typedName = (entry) => label(state.machine.model.vocab[entry]); // in a list that keys search
export const likeliestOf = (p_V) => likeliest(p_V, 1)[0];

// What takes the place of what a head mixes, by the change that is shown; undefined where none does.
export const instead = ({ layer, head }) => state.machine.change.instead?.[layer]?.[head];

// What the page says of a part; those of the three norms share their words.
export const aboutPart = (part, layer) =>
  part === "stream" && layer === 0 ? data.parts.start : data.parts[part.replace(/[12]$/, "")];

// Tell a trouble, or that there is none.
export const say = patient((words) => (find(".machine-trouble").textContent = words));

export const capital = (words) => words[0].toUpperCase() + words.slice(1);
export const signed = (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(3)}`;

// A number with five digits, so that factors multiply to their product.
export function number(x) {
  const size = Math.abs(x);
  const exponent = size < 1e-3 || size >= 1e4;
  const text = exponent ? x.toExponential(4) : size < 1 ? x.toPrecision(5) : x.toFixed(4);
  return (Number.isInteger(x) ? `${x}` : text).replaceAll("-", "−");
}
