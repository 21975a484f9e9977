// The text that is typed, what is changed, and what the worker has read of it.

import { tokenize } from "../gpt/tokens.js";
import { answerTo, foundMore } from "./inquiry.js";
import { showNumber, writeAddress } from "./navigation.js";
import { drawPage } from "./page.js";
import { has, placed } from "./rows.js";
import { data, field, find, root, say, state } from "./state.js";

export const reader = {
  worker: null,
  run: 0, // the last question
  asked: null, // its ids and change
  missing: [], // which of its answers have not come
  arrived: { plain: [], changed: [] }, // what was read, of older questions too: it goes on from there
  wanted: null, // a number that the page's address names, until it can be opened
  question: null, // or a word that it asks about
};
const replaced = {}; // by layer and head: what takes the place of what it mixes

export const missing = () => reader.missing.length;
export const post = (message) => reader.worker.postMessage({ run: reader.run, ...message });

// The ids of what was typed, cut to the page's places, (T,); what is left out is told.
function typed() {
  const most = Math.min(root.dataset.places, state.machine.model.sizes.T);
  const { ids, told } = tokenize(state.machine.model, field("text").value),
    over = ids.length - most;
  say(told);
  find(".machine-cut").textContent =
    over > 0 ? `This page reads the last ${most} tokens, and not the first ${over}.` : "";
  return ids.slice(-most);
}

// The change that the controls say, as `read` takes it.
const change = () => ({
  ...(field("positions").checked && { positions: "none" }),
  ...(Object.keys(replaced).length && { instead: structuredClone(replaced) }),
});

// Put zeros, or its mean, in the place of what a head mixes; or nothing.
export function replace(layer, head, how) {
  const mean = data.means[layer - 1]?.[head - 1];
  if (how && mean)
    (replaced[layer] ??= {})[head] = how === "mean" ? mean : Array.from(mean, () => 0);
  else delete replaced[layer]?.[head];
  if (!Object.keys(replaced[layer] ?? {}).length) delete replaced[layer];
  return mean !== undefined;
}

// Take back all changes.
export function undo() {
  for (const layer of Object.keys(replaced)) delete replaced[layer];
  field("positions").checked = false;
}

// What is changed in what is shown: heads as [layer, head], by how they were changed.
export function changed() {
  const { change } = state.machine,
    heads = { silent: [], mean: [], positions: change.positions };
  for (const [layer, others] of Object.entries(change.instead ?? {})) {
    for (const [head, other] of Object.entries(others))
      heads[other.some((x) => x) ? "mean" : "silent"].push([Number(layer), Number(head)]);
  }
  return heads;
}

// Have the worker read what was typed.
export function readText() {
  const ids = typed();
  for (const name of ["tokens", "bar", "halves"]) find(`.machine-${name}`).hidden = !ids.length;
  reader.run++;
  if (!ids.length) {
    state.machine.ids = []; // no numbers of another text stay
    return;
  }
  reader.asked = { ids, change: change() };
  reader.missing = Object.keys(reader.asked.change).length ? ["plain", "changed"] : ["plain"];
  for (const as of reader.missing)
    post({ as, ids, change: as === "plain" ? {} : reader.asked.change });
}

// The page changes at once when the last question is answered; until then it shows the one before.
export function heard({ data: message }) {
  const { run, as, from, kept, done, task } = message,
    { arrived, asked } = reader;
  if (task) return foundMore(message);
  arrived[as].length = from;
  arrived[as].push(...kept);
  if (!done || run !== reader.run) return;
  reader.missing = reader.missing.filter((one) => one !== as);
  if (reader.missing.length) return;
  const changes = Object.keys(asked.change).length > 0,
    seen = [...arrived[changes ? "changed" : "plain"]];
  Object.assign(state.machine, asked, { seen, plain: changes ? [...arrived.plain] : null });
  ended();
}

// Show what was read, and what the address has named in it.
function ended() {
  const { machine } = state,
    last = machine.ids.length - 1,
    { question, wanted } = reader;
  state.position = state.followed ? last : Math.min(state.position, last);
  Object.assign(reader, { question: null, wanted: null });
  if (question) answerTo(question);
  if (question && !wanted) state.sought = { why: true, atOnce: true };
  if (wanted) {
    const a = placed(machine, wanted);
    if (has(machine, a)) return showNumber(a, "stay");
    say("The address of this page names a number that there is not in this text.");
  }
  if (state.opened && !has(machine, state.opened)) state.opened = null;
  drawPage();
  writeAddress("later");
}
