// Which words matter, and what becomes of the word if another one is swapped.

import { usedAlike } from "../gpt/model.js";
import { button, make, offer, percent, tableRow } from "../gpt/page.js";
import { likeliest } from "../gpt/sampling.js";
import { cut, label, tokenize } from "../gpt/tokens.js";
import { becomes, found, inquiry, tasks } from "./inquiry.js";
import { writeAddress } from "./navigation.js";
import { at, field, find, likeliestOf, rowHere, state, token, typedName, wordOf } from "./state.js";

const NEAR = 20; // words that are offered
const PRONOUNS = [
  /^ ?(he|she|it|they|him|her|them|his|its|their)$/,
  /^ ?(He|She|It|They|Him|Her|Them|His|Its|Their)$/,
]; // which are offered for one another first
const each = (length, item) => Array.from({ length }, (_, n) => item(n));

// Show how probable the word is if no later position may read one of the words before.
function showWords() {
  const { entry } = inquiry(),
    { position } = state,
    without = found("hide", {}),
    p = rowHere("probabilities")[entry],
    falls = each(position, (t) => (without[t] ? p - without[t][entry] : 0)),
    most = likeliestOf(falls),
    tied = [...falls.keys()].filter((t) => t !== most && falls[t] > 0.9 * falls[most]),
    too = tied.length ? `, and nearly as much when it is ${tied.map(at).join(", ")}` : "",
    lost =
      falls[most] > 0.01 * p
        ? `Most is lost when ${at(most)} is hidden: ${wordOf(entry)} ${becomes(without[most])}${too}.`
        : `${wordOf(entry)} needs no single one of them.`;
  let says =
    `${find(".machine-trouble").textContent} Each earlier word is hidden in turn: no later position may read it, in any layer. ${lost} ` +
    "A loss isn’t yet a cause. Where two words say the same, either can make up for the hidden one, and then neither seems to matter. " +
    "And what the machine would say with another word in its place is another question, often with another answer: press a word to swap it. " +
    `The fuller the blue, the larger the part of the probability that is lost. ${at(position)} reads the others and can’t be hidden.`;
  if (!position) says = "There is no word before it.";
  else if (!without[0]) says = "Hiding one word after another …";
  find(".machine-matter").textContent = says;
  const items = each(position + 1, (t) => {
    const all = t === position ? `${percent(p)}, reads them` : "…",
      says = make("span", {}, without[t] ? becomes(without[t]) : all),
      className = falls[t] < 0 ? "minus" : "plus",
      share = Math.min(1, Math.abs(falls[t] ?? 0) / p);
    const swaps = button(() => swapFor(t).focus(), { title: "Swap this word" }, label(token(t)));
    return make("li", { className, share }, make("b", {}, swaps), " ", says);
  });
  find(".machine-words").replaceChildren(...items);
}

// --- another word in place of one, and one vector of that sentence in this one

let offered = "";

// Offer the words, and for one of them those that the machine uses most like it.
function offerWords() {
  const { position, machine, why } = state,
    { entry } = inquiry(),
    { found: without } = tasks.hide,
    left = each(position, (t) => -(without[t]?.[entry] ?? 1)),
    most = position && without[0] ? likeliestOf(left) : 0,
    { at: from = most, id, told } = why.swap ?? {},
    now = JSON.stringify([machine.ids, position, from, id]);
  if (now === offered) return;
  offered = now;
  const { model, ids } = machine,
    kind = PRONOUNS.find((one) => one.test(token(from))),
    alike_V = usedAlike(model, ids[from]).map((x, i) => x + (kind?.test(model.vocab[i]) ? 9 : 0)),
    near = likeliest(alike_V, NEAR + 1).filter((entry) => entry !== ids[from]);
  offer(field("swapped"), each(position + 1, Number), at);
  field("swapped").value = from;
  offer(find("#machine-alike"), [...new Set(near.map(typedName))], (name) => name);
  if (!told) field("swap").value = id === undefined ? "" : typedName(id);
}

// Show what becomes of the word with the other sentence, and with each of its vectors.
function showSwap() {
  offerWords();
  const { at: from, id, told } = state.why.swap ?? {},
    { entry } = inquiry(),
    says = find(".machine-swap-says"),
    table = find(".machine-swap");
  table.hidden = true;
  if (id === undefined) {
    says.textContent =
      told ??
      "What does the machine make of the sentence with one other word? And which of its vectors carries the difference?";
    return;
  }
  const levels = state.machine.model.sizes.L,
    all = found("swap", { at: from, id, levels }),
    with_V = rowHere("probabilities");
  says.textContent = "";
  if (!all.whole) return;
  const swapped = `${wordOf(id)} for ${wordOf(state.machine.ids[from])}`,
    other = all.whole[entry],
    moved = Math.abs(with_V[entry] - other);
  says.textContent = `With ${swapped}: ${wordOf(entry)} ${becomes(all.whole)}. `;
  if (moved < 0.05 * Math.max(with_V[entry], other)) {
    says.textContent += "That is too small a difference to look for in single vectors.";
    return;
  }
  says.textContent +=
    `In the table the sentence stays as it is, but for one vector of the stream: ` +
    "at one position, before layer 1 or after a layer, it is the other sentence’s. The fuller a cell, the nearer this vector alone brings the probability " +
    "to that of the other sentence. So the table shows which position holds the difference, layer after layer.";
  const cell = (p_V) => {
    const share = p_V ? 1 - Math.abs(p_V[entry] - other) / moved : 0;
    return make("td", { share: Math.max(0, share) }, p_V ? percent(p_V[entry]) : "…");
  };
  const row = (t) => tableRow(at(t), ...each(levels + 1, (level) => cell(all[`${t}.${level}`])));
  table.caption.textContent = `Probability of ${wordOf(entry)} with one vector of the sentence with ${swapped}, before layer 1 and after each layer`;
  table.tBodies[0].replaceChildren(...each(state.position - from + 1, (n) => row(from + n)));
  table.hidden = false;
}

// Swap the word at a position for one that is typed, if the machine knows it; returns the field for it.
function swapFor(from, typed = "") {
  const { model } = state.machine,
    { ids, told } = tokenize(model, typed),
    one = ids.length && cut(typed.trim(), model.pattern).length === 1,
    spaced = / ./.test(token(from)) ? model.ids.get(` ${model.vocab[ids[0]]}`) : undefined,
    id = one ? (spaced ?? ids[0]) : undefined;
  const refused = typed && !one && { told: told || "Put one word or mark in its place." };
  Object.assign(state.why, { asked: true, swap: { at: from, id, ...refused } });
  showSwap();
  writeAddress("stay");
  return field("swap");
}

// A function that asks the worker, and shows what is there of both.
export function words() {
  tasks.hide.show = () => {
    showWords();
    showSwap();
  };
  tasks.swap.show = showSwap;
  for (const name of ["swapped", "swap"]) {
    field(name).addEventListener("change", ({ target }) =>
      swapFor(Number(field("swapped").value), target === field("swap") ? target.value : ""),
    );
  }
  return tasks.hide.show;
}
