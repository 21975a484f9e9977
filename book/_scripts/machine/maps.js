// One head large: who reads whom.

import { cellUnder, drawMap, largest } from "../gpt/page.js";
import { likeliest } from "../gpt/sampling.js";
import { label } from "../gpt/tokens.js";
import { showNumber } from "./navigation.js";
import { aboutPart, at, chosen, field, number, rowOf, state, there, token } from "./state.js";

const EDGE = 72; // room for a word

// The rows (t + 1,) of a head: its scores, or weights.
export const rowsOf = ({ layer, head }, part) =>
  state.machine.seen.map((kept) => kept.layers[layer].heads[head - 1][part]);

// A function that draws the map in its box, which then answers to pointer and keys.
export function map(box) {
  const [canvas, mark, pointed] = ["canvas", ".machine-mark", ".machine-pointed"].map((name) =>
      box.querySelector(name),
    ),
    said = box.querySelector(".machine-label");
  let cursor = { t: state.position, s: 0 },
    cell = 12;

  const shown = () => field("shown").value;
  const address = ({ t, s }) => ({ part: shown(), position: t, ...chosen(), key: s });

  // Put a frame around a cell.
  function frame({ style }, t, s) {
    const [top, left] = [t, s].map((n) => `${EDGE + n * cell}px`);
    Object.assign(style, { left, top, width: `${cell}px`, height: `${cell}px` });
  }

  // Point at a cell, or else at the whole row: what it says, its number beside it.
  function point(found) {
    const { t, s } = found ?? { t: state.position, s: null },
      masked = s > t;
    pointed.hidden = s === null || masked;
    const all = rowOf(address({ t, s: 0 }));
    if (!pointed.hidden) {
      frame(pointed, t, s);
      pointed.dataset.number = number(all[s]);
    }
    const most = likeliest(all, 3).map((k) => `${at(k)} ${number(all[k])}`),
      { layer, head } = chosen();
    let sentence = `${at(t)} reads ${most.join(", ")}.`;
    if (masked) sentence = `${at(s)} comes after ${at(t)}: masked.`;
    else if (s !== null)
      sentence = `${at(t)} reads ${at(s)}: ${aboutPart(shown()).name} ${number(all[s])}.`;
    said.textContent = `Layer ${layer}, head ${head}. ${sentence}`;
    canvas.ariaLabel =
      `Layer ${layer}, head ${head}: a row for each token that reads, a column for each that is ` +
      `read. ${sentence} Arrow keys move, Enter opens.`;
  }

  function update() {
    const { opened, position, machine } = state,
      T = machine.seen.length,
      rows = rowsOf(chosen(), shown()),
      most = shown() === "weights" ? 1 : Math.max(...rows.map(largest)),
      names = machine.ids.map((_, t) => label(token(t)));
    cell = Math.max(11, Math.min(32, Math.floor((state.width - EDGE) / T)));
    canvas.style.width = canvas.style.height = `${EDGE + cell * T}px`;
    drawMap(canvas, rows, names, { edge: EDGE, cell, most, reader: position });
    box.querySelector(".machine-most").textContent = number(most);
    cursor = { t: Math.min(cursor.t, T - 1), s: Math.min(cursor.s, T - 1) };
    const { layer, head } = chosen();
    mark.hidden = opened?.key === undefined || opened.layer !== layer || opened.head !== head;
    if (!mark.hidden) frame(mark, opened.position, opened.key);
    point(null);
  }

  const under = (event) =>
    cellUnder(canvas, event, { edge: EDGE, cell }, state.machine.seen.length);
  // Open a cell; a finger points as it presses.
  const opens = (found) => (found.s > found.t ? point(found) : showNumber(address(found)));
  const listen = (name, hears) => canvas.addEventListener(name, (event) => there() && hears(event));
  listen("pointermove", (event) => point(under(event)));
  listen("pointerleave", () => point(null));
  listen("click", (event) => under(event) && opens(under(event)));
  listen("keydown", (event) => {
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] },
      step = steps[event.key];
    if (!step && event.key !== "Enter") return;
    event.preventDefault();
    if (!step) return opens(cursor);
    const keep = (x) => Math.min(state.machine.seen.length - 1, Math.max(0, x));
    cursor = { t: keep(cursor.t + step[0]), s: keep(cursor.s + step[1]) };
    point(cursor);
    pointed.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  field("shown").addEventListener("change", () => there() && update());
  return update;
}
