// What comes next: above the stations, in a table, and read after each layer.

import { button, make, percent, tableRow } from "../gpt/page.js";
import { likeliest, probabilities } from "../gpt/sampling.js";
import { label } from "../gpt/tokens.js";
import { silenced } from "./inquiry.js";
import { showNumber } from "./navigation.js";
import { at, find, rowHere, rowOf, state, token, wordOf } from "./state.js";

const LIKELY = 8,
  FIRST = 5,
  EARLY = 3; // tokens in the table of what comes next, above the stations, and after each layer

// The likeliest tokens as buttons, each with its share; before: the shares without the changes.
function likelyButtons(p_V, n, a, before = null) {
  const [first, ...others] = likeliest(p_V, n),
    was = before ? likeliest(before, 1) : [], // that one second, at least
    { opened } = state,
    same = opened && ["part", "position", "layer"].every((name) => opened[name] === a[name]);
  return [...new Set([first, ...was, ...others])].slice(0, n).map((entry) => {
    const current = Boolean(same && opened.entry === entry),
      words = `${wordOf(entry)} ${percent(p_V[entry])}`;
    return button(
      () => showNumber({ ...a, entry }),
      { share: p_V[entry], aria: { current } },
      words + (before ? ` (was ${percent(before[entry])})` : ""),
    );
  });
}

// Show the tokens, and what comes next: what a reader who types waits for.
export function answer(choose) {
  const tokens = find(".machine-tokens"),
    { position, machine } = state;
  while (tokens.children.length > machine.ids.length) tokens.lastChild.remove();
  machine.ids.forEach((_, t) => {
    const one = tokens.children[t] ?? tokens.appendChild(button(() => choose(t)));
    one.ariaPressed = t === position;
    one.textContent = label(token(t));
    one.ariaLabel = at(t).includes(one.textContent) ? at(t) : `${one.textContent} ${at(t)}`;
  });
  bar();
}

// Show what comes next, with what is changed or silenced, and what came without that.
export function bar() {
  const { position, machine } = state,
    a = { part: "probabilities", position },
    gone = silenced(),
    before = machine.plain ? probabilities(machine.plain[position].logits_V) : gone && rowOf(a);
  find(".machine-answer").replaceChildren(
    make("span", {}, `after ${at(position)}${gone ? ", a part silenced" : ""}`),
    ...likelyButtons(gone ? probabilities(gone.logits.found) : rowOf(a), FIRST, a, before),
  );
}

// A function that draws what is read after each layer in its box.
export const lens = (box) => () => {
  const { L } = state.machine.model.sizes,
    { position } = state;
  const rows = Array.from({ length: L + 1 }, (_, layer) => {
    const from = { part: "probabilities", position, ...(layer < L && { layer }) },
      cell = make("td", { className: "machine-likely" });
    cell.append(...likelyButtons(rowOf(from), EARLY, from));
    return tableRow(layer ? `layer ${layer}` : "before", cell);
  });
  box.querySelector("tbody").replaceChildren(...rows);
};

// A function that draws the table of what comes next in its box.
export const next = (box) => () => {
  const p_V = rowHere("probabilities"),
    { position } = state;
  const rows = likeliest(p_V, LIKELY).map((entry) => {
    const opens = () => showNumber({ part: "probabilities", position, entry }),
      shown = button(opens, { share: p_V[entry] }, percent(p_V[entry]));
    return tableRow(wordOf(entry), shown);
  });
  const table = box.firstElementChild;
  table.caption.textContent = `After ${at(position)}`;
  table.tBodies[0].replaceChildren(...rows);
};
