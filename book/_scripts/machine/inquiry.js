// Which word is asked about, over which other, and what the worker finds of it.

import { percent } from "../gpt/page.js";
import { likeliest, probabilities } from "../gpt/sampling.js";
import { asks, wordIn } from "./address.js";
import { drawPage } from "./page.js";
import { writeAddress } from "./navigation.js";
import { missing, post } from "./reader.js";
import { partsOf, silence } from "./reasons.js";
import { likeliestOf, rowHere, say, state, there, wordOf } from "./state.js";

// Ask nothing: the likeliest word over the next likeliest.
export function forget() {
  state.why = {
    entry: undefined, // the word that was chosen
    over: undefined, // over which other one; null: the mean of all logits
    asked: false,
    silent: null, // the part that is left out
    every: false, // whether all parts are shown
    swap: null, // { at, id }: which position has which other token
  };
}

// What is asked, { position, entry, over }, where over is undefined for the mean. What is changed in the
// machine changes no question.
export function inquiry() {
  const { position, machine, why } = state;
  const [first, second] = likeliest((machine.plain ?? machine.seen)[position].logits_V, 2),
    entry = why.entry ?? first,
    next = entry === first ? second : first;
  if (why.over === null) return { position, entry, over: undefined };
  return { position, entry, over: why.over === entry ? next : (why.over ?? next) };
}

export const overWhat = ({ over }) => (over === undefined ? "the mean logit" : wordOf(over));
export const sumOf = (asked) => `the lead of ${wordOf(asked.entry)} over ${overWhat(asked)}`;

// The same for the page's address.
export function inWords() {
  const { entry, over } = inquiry(),
    { swap } = state.why;
  const word = (id) => (id === undefined ? undefined : wordIn(state.machine, id));
  return {
    why: word(entry),
    over: word(over) ?? "",
    after: state.position + 1,
    ...(swap?.id !== undefined && { swapped: swap.at + 1, swap: word(swap.id) }),
  };
}

// Ask as an address asks it, which may be written by hand.
export function answerTo(given) {
  const found = asks(state.machine, given);
  if (!found) return say("The address of this page asks about a word that there is not.");
  const { position, ...asked } = found;
  Object.assign(state.why, asked, { asked: true });
  state.position = position;
  state.followed = position === state.machine.ids.length - 1;
}

// Ask, in another step that Back undoes.
export function ask(given = {}) {
  Object.assign(state.why, given, { asked: true, silent: null });
  Object.assign(state, { opened: null, sought: { why: true } });
  drawPage();
  writeAddress("on");
}

// Ask otherwise, in the same step.
export function askAgain(given) {
  Object.assign(state.why, given, { asked: true });
  drawPage();
  writeAddress("stay");
}

// The parts of what is asked, each with its share, as reasons.js has them.
export const reasons = () => partsOf(state.machine, inquiry());

const keyOf = ({ part, layer, head, key }) => [part, layer, head, key].join();
export const isSilent = (part) =>
  Boolean(state.why.silent) && keyOf(part) === keyOf(state.why.silent);

// What comes of leaving out the silenced part, as `silence` says it; nothing where none is.
export function silenced() {
  const part = state.why.silent && reasons().find(isSilent);
  return part && silence(state.machine, inquiry(), part);
}

// --- what takes the worker more readings

export const tasks = { hide: { n: 0, found: {} }, swap: { n: 0, found: {} } };

// What it has found so far, by key, as probabilities (V,); it is asked if it was not yet.
export function found(task, more) {
  const { machine, position } = state,
    asked = JSON.stringify([position, more]),
    last = tasks[task];
  if ((last.seen === machine.seen && last.asked === asked) || missing()) return last.found;
  Object.assign(last, { seen: machine.seen, asked, n: last.n + 1, found: {} });
  post({ task, n: last.n, as: machine.plain ? "changed" : "plain", position, ...more });
  return last.found;
}

// Keep what came; it is shown once a frame, however much has come.
export function foundMore({ task, n, key, logits_V }) {
  const last = tasks[task];
  if (n !== last.n) return;
  last.found[key] = probabilities(logits_V);
  last.drawing ??= requestAnimationFrame(() => {
    last.drawing = null;
    if (there()) last.show();
  });
}

// What becomes of the word, from all read to p_V, and the likeliest there, where it is another one.
export function becomes(p_V) {
  const with_V = rowHere("probabilities"),
    { entry } = inquiry(),
    now = likeliestOf(p_V),
    then = now === likeliestOf(with_V) ? "" : `, then ${wordOf(now)}`;
  return `${percent(with_V[entry]).replace("%", "")} → ${percent(p_V[entry])}${then}`;
}
