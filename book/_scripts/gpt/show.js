// What the widget shows of a text that the model has read: the text, who reads whom, what comes next.
// view: the widget's elements by `find` and `field`, and its reading.

import { cellUnder, drawMap, make, percent, tableRow, takeInks } from "./page.js";
import { likeliest } from "./sampling.js";
import { label, named } from "./tokens.js";

const SHOWN = 8; // tokens in the table of what may come next

// A position in words.
export const atPosition = ({ reading }, at) =>
  `${named(reading.token(at))} (${reading.start + at + 1})`;

// The layer and the head that are chosen.
const chosenHead = ({ field }) => [Number(field("layer").value), Number(field("head").value)];

// What a position reads in the chosen head, (at + 1,).
export function weightsOf(view, at) {
  const [layer, h] = chosenHead(view);
  return view.reading.seen[at].layers[layer].heads[h - 1].weights;
}

// Show the text, each token as full as the position reads it.
export function showText(view, at) {
  const { find, reading } = view,
    weights_T = weightsOf(view, at),
    most = Math.max(...weights_T),
    { start, prompted } = reading,
    piece = (words, className) => make("span", { className }, words);
  find(".gpt-plain").textContent = reading.text(0);
  find(".gpt-text").replaceChildren(
    piece(reading.text(0, Math.min(start, prompted)), "pale"),
    piece(reading.text(Math.min(start, prompted), start), "pale written"),
    ...reading.seen.map((_, s) => {
      const span = piece(reading.token(s).replaceAll("\n", "↵\n"), "token");
      span.dataset.at = s;
      span.classList.toggle("written", start + s >= prompted);
      span.classList.toggle("reader", s === at);
      if (s <= at) span.style.setProperty("--weight", `${(100 * weights_T[s]) / most}%`);
      return span;
    }),
  );
}

// Say what the position reads most.
export function showReads(view, at) {
  const weights_T = weightsOf(view, at),
    [layer, h] = chosenHead(view),
    name = atPosition(view, at);
  const shares = likeliest(weights_T, 3).map(
    (s) => `${percent(weights_T[s])} to ${s === at ? "itself" : atPosition(view, s)}`,
  );
  view.field("position").setAttribute("aria-valuetext", name);
  view.find(".gpt-at").textContent = name;
  view.find(".gpt-reads").textContent =
    `In layer ${layer}, head ${h}, ${name} gives ${shares.join(", ")}.`;
}

// The likeliest, and the one that came if it is none of them; always as many rows.
export function showNext({ find, reading }, at, p_V, { temperature, most }) {
  const { ids, start, model } = reading,
    came = ids[start + at + 1], // after the last one nothing has come yet
    shown = likeliest(p_V, SHOWN);
  if (came !== undefined && !shown.includes(came)) shown[SHOWN - 1] = came;
  const line = (name, p, here = false) => {
    const row = tableRow(name, make("span", { className: "gpt-share" }, make("span"), percent(p)));
    row.style.setProperty("--share", p);
    row.classList.toggle("came", here);
    return row;
  };
  const before = reading.text(start, start + at + 1).slice(-16);
  find(".gpt-next caption").textContent =
    `What follows “${before.replaceAll("\n", "↵")}”: ` +
    (temperature === 0 ? "the likeliest" : `temperature ${temperature}`) +
    (most < p_V.length ? `, among the ${most} likeliest` : "");
  const others = p_V.reduce((sum, p, id) => (shown.includes(id) ? sum : sum + p), 0);
  find(".gpt-next tbody").replaceChildren(
    ...shown.map((id) =>
      line(named(model.vocab[id]) + (id === came ? " came" : ""), p_V[id], id === came),
    ),
    line(`${p_V.length - SHOWN} others`, others),
  );
}

// Where a position stands in the map, in CSS pixels: tokens along two edges if there is room.
function grid({ find, reading }) {
  const T = reading.seen.length,
    side = find("canvas").clientWidth,
    edge = (side - 64) / T >= 9 ? 64 : 0;
  return { edge, cell: (side - edge) / T };
}

// Draw whom each position reads, and say it.
export function showMap(view, at) {
  const { find, reading } = view,
    [layer, h] = chosenHead(view),
    canvas = find("canvas"),
    names = reading.seen.map((_, t) => label(reading.token(t))),
    rows = names.map((_, t) => weightsOf(view, t));
  takeInks(canvas);
  drawMap(canvas, rows, names, { ...grid(view), most: 1, reader: at });
  canvas.ariaLabel =
    `Map of layer ${layer}, head ${h}: a row for each of ${rows.length} tokens that read, ` +
    `a column for each that is read, the fuller the more. Outlined: the row of ${atPosition(view, at)}.`;
}

// The row t and the column s of the map under the pointer, or null.
export const pointed = (view, event) =>
  cellUnder(view.find("canvas"), event, grid(view), view.reading.seen.length);
