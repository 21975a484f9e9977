// What the pages of the GPT have in common: its weights, elements, words, and the map of a head.

import { unpack } from "./model.js";

const here = globalThis.document?.currentScript.src;
const coming = {};

// A promise that a script beside this one has run, once for all that ask: a page that is opened from a
// disk may load a script, but may not fetch a file.
export function loadScript(file) {
  coming[file] ??= new Promise((onload, onerror) => {
    document.head.append(make("script", { src: new URL(file, here), onload, onerror }));
  });
  coming[file].catch(() => delete coming[file]); // so that one can try again
  return coming[file];
}

// A promise of the model with the weights of such a script.
export const load = (file) => loadScript(file).then(() => unpack(bookGPTWeights));

// A probability in words.
export const percent = (p) => (p > 0 && p < 0.0005 ? "< 0.1%" : `${(100 * p).toFixed(1)}%`);

// A function that shows words after a pause, so that no half-typed word is reported, and clears
// them at once.
export function patient(show, pause = 500) {
  let timer = 0;
  return (words) => {
    clearTimeout(timer);
    if (words) timer = setTimeout(show, pause, words);
    else show("");
  };
}

// --- elements

// An element with these properties, filled to a share where there is one, and what is inside it.
export function make(tag, { aria = {}, share, ...properties } = {}, ...inside) {
  const element = Object.assign(document.createElement(tag), properties);
  for (const [name, value] of Object.entries(aria)) element.setAttribute(`aria-${name}`, value);
  if (share !== undefined) element.style.setProperty("--share", share);
  element.append(...inside);
  return element;
}

// A button that does something when it is pressed.
export const button = (onclick, properties, ...inside) =>
  make("button", { type: "button", onclick, ...properties }, ...inside);

const nameOf = (name) => (name ? make("th", { scope: "col" }, name) : make("td"));

// The head of a table, a name over each column that has one.
export const headed = (...names) => make("thead", {}, make("tr", {}, ...names.map(nameOf)));

// A row of a table: its name, and cells, or what stands in them.
export function tableRow(name, ...cells) {
  const all = cells.map((cell) => (cell.tagName === "TD" ? cell : make("td", {}, cell)));
  return make("tr", {}, make("th", { scope: "row" }, name), ...all);
}

// Offer ids in a select, or in a group of one, each called by `name`.
export const offer = (select, ids, name) =>
  select.replaceChildren(...ids.map((id) => make("option", { value: id }, name(id))));

// --- numbers in colour, and the map of a head

const inks = {};

// Take the two inks of numbers, and that of lines, as an element has them now.
export function takeInks(element) {
  const style = getComputedStyle(element),
    ink = (name) => style.getPropertyValue(`--book-ink${name}`).trim(),
    packed = (hex) =>
      hex.match(/[0-9a-f]{2}/gi).reduceRight((all, part) => (all << 8) | parseInt(part, 16), 0);
  Object.assign(inks, { plus: packed(ink("-1")), minus: packed(ink("-2")), line: ink("") });
}

// The largest size of numbers, or 1 where all are 0.
export const largest = (all) => all.reduce((most, x) => Math.max(most, Math.abs(x)), 0) || 1;

// Draw a pixel for each number of rows, as full as it is large; who shows the canvas enlarges it.
export function pixels(canvas, rows, columns, most) {
  const image = new ImageData(columns, rows.length),
    dots = new Uint32Array(image.data.buffer);
  rows.forEach((row, y) =>
    row.forEach((x, i) => {
      dots[y * columns + i] =
        (x < 0 ? inks.minus : inks.plus) | (((255 * Math.abs(x)) / most) << 24);
    }),
  );
  [canvas.width, canvas.height] = [columns, rows.length];
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// Draw a head: a row (t + 1,) for each token that reads, a column for each that is read, what is
// masked hatched, their names along two edges, and a frame around one row.
export function drawMap(canvas, rows, names, { edge, cell, most, reader }) {
  const T = rows.length,
    side = edge + cell * T,
    sharp = devicePixelRatio || 1,
    pen = canvas.getContext("2d"),
    enlarged = make("canvas");
  pixels(enlarged, rows, T, most);
  canvas.width = canvas.height = Math.round(side * sharp);
  pen.scale(sharp, sharp);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(enlarged, edge, edge, cell * T, cell * T);
  pen.fillStyle = pen.strokeStyle = inks.line;
  pen.font = `${Math.min(13, cell)}px monospace`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const y = edge + reader * cell;
  pen.strokeRect(edge + 0.5, y + 0.5, (reader + 1) * cell - 1, Math.max(cell - 1, 1));
  names.forEach((name, t) => {
    pen.fillText(name, edge / 2, edge + (t + 0.5) * cell, edge - 6);
    pen.save();
    pen.translate(edge + (t + 0.5) * cell, edge / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(name, 0, 0, edge - 6);
    pen.restore();
  });
  pen.globalAlpha = 0.25;
  pen.beginPath();
  for (let t = 0; t < T; t++) {
    for (let s = t + 1; s < T; s++) {
      pen.moveTo(edge + s * cell, edge + (t + 1) * cell);
      pen.lineTo(edge + (s + 1) * cell, edge + t * cell);
    }
  }
  pen.stroke();
}

// The row t and the column s of a map of T tokens under a pointer, or null.
export function cellUnder(canvas, { clientX, clientY }, { edge, cell }, T) {
  const { left, top } = canvas.getBoundingClientRect();
  const [s, t] = [clientX - left, clientY - top].map((x) => Math.floor((x - edge) / cell));
  return s >= 0 && t >= 0 && s < T && t < T ? { t, s } : null;
}

// Draw anew when the page turns dark or light.
export const onTheme = (redraw) =>
  new MutationObserver(redraw).observe(document.documentElement, {
    attributeFilter: ["data-theme"],
  });
