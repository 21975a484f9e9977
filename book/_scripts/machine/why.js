// Why this word: what each part has added to its lead, and what becomes of the word without one.

import { button, headed, make, offer, percent, tableRow } from "../gpt/page.js";
import { likeliest, probabilities } from "../gpt/sampling.js";
import {
  askAgain,
  becomes,
  inquiry,
  isSilent,
  overWhat,
  reasons,
  silenced,
  sumOf,
} from "./inquiry.js";
import { showNumber } from "./navigation.js";
import { bar } from "./next.js";
import { locate } from "./picture.js";
import { lead, leadsTo } from "./reasons.js";
import { at, capital, field, find, likeliestOf, rowHere, signed, state, wordOf } from "./state.js";
import { words } from "./words.js";

const FIRST = 8, // parts that are shown at first
  NEAR = 20; // tokens that are offered

// A part in words.
function nameOf({ part, layer, head, key }) {
  if (part === "embedding") return `embedding of ${wordOf(state.machine.ids[state.position])}`;
  if (part === "position") return `position ${state.position + 1}`;
  if (part === "biases") return "biases added to the stream, and the last norm’s β";
  if (part === "down") return `layer ${layer}, feed-forward network`;
  const reads = key === undefined ? "as it was replaced" : `reads ${at(key)}`;
  return `layer ${layer}, head ${head} ${reads}`;
}

// Offer the likeliest words, and the chosen one.
function fill(select, p_V, chosen, name, itself) {
  const near = new Set(likeliest(p_V, NEAR));
  if (chosen !== undefined) near.add(chosen);
  near.delete(itself);
  offer(select.querySelector("optgroup"), [...near], name);
  select.value = chosen ?? "";
}

// The parts that are shown, the largest first, with at least one against the word.
function shownOf(ranked) {
  if (state.why.every) return ranked;
  const shown = ranked.slice(0, FIRST),
    against = ranked.find(({ value }) => value < 0);
  if (against && !shown.includes(against)) shown.splice(-1, 1, against);
  return shown;
}

// A line of the table without buttons.
function line(name, x) {
  const row = tableRow(name, signed(x), "");
  row.className = "machine-sum";
  return row;
}

// Show the choices, and the table of parts.
function showReasons() {
  const asked = inquiry(),
    p_V = rowHere("probabilities"),
    what = sumOf(asked),
    total = lead(state.machine.seen[state.position].logits_V, asked),
    average = asked.over === undefined;
  fill(field("why"), p_V, asked.entry, (id) => `${wordOf(id)} ${percent(p_V[id])}`);
  fill(field("over"), p_V, asked.over, wordOf, asked.entry);
  field("other").textContent = average ? "Over another word" : "Over the mean logit";
  find(".machine-after").textContent =
    `after ${at(state.position)}${state.machine.plain ? ", in the changed machine" : ""}`;
  const ranked = [...reasons()].sort((a, b) => Math.abs(b.value) - Math.abs(a.value)),
    shown = shownOf(ranked),
    most = Math.abs(ranked[0].value) || 1,
    rest = ranked.length - shown.length,
    rounded = (x) => Number(x.toFixed(3)),
    others = shown.reduce((left, { value }) => left - rounded(value), rounded(total));
  find(".machine-says").textContent =
    `${capital(what)} is ${signed(total)}. Each part of the machine has added a vector to the stream of ${at(state.position)}. ` +
    "With what the last norm divides by held at what it is here, their shares add up to this number exactly. This counts the last step alone: " +
    "a word or a part can also matter through later parts, which read what it has changed.";
  const table = find(".machine-why .machine-reasons"),
    focused = [...table.querySelectorAll("button")].indexOf(document.activeElement);
  table.caption.textContent =
    `${ranked.length} parts, the largest first. A plus favours ${wordOf(asked.entry)}, a minus ${average ? "the average word" : overWhat(asked)}. ` +
    "From layer 2 on, “reads” means the vector at that position, which already mixes in other words. Press a part to open its numbers.";
  table.tBodies[0].replaceChildren(
    ...shown.flatMap((part) => reason(part, most)),
    ...(rest ? [line(`${rest} others`, others)] : []),
    line(what, total),
  );
  field("every").textContent = state.why.every ? "The largest alone" : `All ${ranked.length} parts`;
  if (focused >= 0) table.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
}

// A row, and under it what becomes of the word without this part, if that was asked.
function reason(part, most) {
  const name = nameOf(part),
    silent = isSilent(part),
    says = silent ? "Put back" : "Silence",
    className = part.value < 0 ? "minus" : "plus";
  const opens = () => {
    state.why.asked = true;
    showNumber(leadsTo(state.machine, inquiry(), part));
  };
  const press = () => {
    state.why.silent = silent ? null : part;
    update();
    bar();
    const result = find(".machine-silenced");
    find(".machine-told").textContent = result?.querySelector("p").textContent ?? "";
    result?.scrollIntoView({ block: "nearest" });
  };
  const row = make(
    "tr",
    {},
    make("td", {}, button(opens, { className: "machine-reason" }, name)),
    make("td", { className, share: Math.abs(part.value) / most }, signed(part.value)),
    make("td", {}, button(press, { aria: { label: `${says}: ${name}`, expanded: silent } }, says)),
  );
  for (const event of ["pointerenter", "focusin"]) row.addEventListener(event, () => locate(part));
  for (const event of ["pointerleave", "focusout"]) row.addEventListener(event, () => locate());
  return silent ? [row, without()] : [row];
}

// What becomes of the word without the silenced part, by the sum and computed again.
function without() {
  const asked = inquiry(),
    { logits, later, changed, norm, by } = silenced(),
    ways = [logits.now, logits.said, logits.found];
  const [, predicted, computed] = ways.map((logits_V) => signed(lead(logits_V, asked)));
  const compared = (name, of) => tableRow(name, ...ways.map(of));
  const above =
    changed < 1e-9
      ? "No later part reads what is gone."
      : `Later parts read what is gone: what they add changes by a vector ${percent(changed)} as long as the one left out, which makes ${signed(later)}.`;
  const body = make(
    "tbody",
    {},
    compared("probability", (logits_V) => percent(probabilities(logits_V)[asked.entry])),
    compared("likeliest", (logits_V) => wordOf(likeliestOf(logits_V))),
    compared("lead", (logits_V) => signed(lead(logits_V, asked))),
  );
  const head = headed("", "with it", "without it, by the sum", "without it, computed");
  const says =
    `${wordOf(asked.entry)} without this part at ${at(asked.position)}, computed again from there: ${becomes(probabilities(logits.found))}. ` +
    `${state.why.silent.part === "down" ? "Its bias stays, since it counts with the other biases. " : ""}` +
    `Of its lead the sum predicts ${predicted}, and the machine gives ${computed}. ` +
    `${above} What the last norm multiplies by goes from ${by.now.toFixed(3)} to ${by.found.toFixed(3)}, which makes ${signed(norm)}.`;
  const inside = [make("table", {}, head, body), make("p", {}, says)];
  const cell = make("td", { colSpan: 3 }, ...inside);
  return make("tr", { className: "machine-silenced" }, cell);
}

function update() {
  showReasons();
  locate();
}

// A function that draws all of this in its box, which then answers to the reader.
export function why() {
  for (const [name, asks] of Object.entries({ why: "entry", over: "over" })) {
    field(name).addEventListener("change", ({ target }) =>
      askAgain({ [asks]: target.value ? Number(target.value) : null, silent: null }),
    );
  }
  field("other").addEventListener("click", () =>
    askAgain({ over: state.why.over === null ? undefined : null, silent: null }),
  );
  field("every").addEventListener("click", () => {
    state.why.every = !state.why.every;
    update();
  });
  const showWords = words();
  return () => {
    showReasons();
    showWords();
  };
}
