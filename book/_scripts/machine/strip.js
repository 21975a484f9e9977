// A part whose numbers stand in one row for the position, layer and head that are looked at.

import { largest, pixels } from "../gpt/page.js";
import { showNumber } from "./navigation.js";
import { inHead, inLayer, isNext } from "./rows.js";
import { aboutPart, chosen, number, rowOf, state, there, wordOf } from "./state.js";

// The columns in which a row of so many numbers stands: room for a finger, or at least a mouse.
const columnsOf = (length) => (length > 128 && state.width >= 64 * 7 ? 64 : Math.min(length, 32));

// A function that draws a part in its box, which then answers to pointer and keys.
export function strip(box) {
  const start = box.dataset.part === "start",
    part = start ? "stream" : box.dataset.part,
    [said, canvas, mark] = ["p", "canvas", ".machine-mark"].map((name) => box.querySelector(name));
  let pointed = null,
    columns = 1;

  const address = (entry) => {
    const { layer, head } = chosen();
    return {
      part,
      position: state.position,
      ...(inLayer(part) && { layer: start ? 0 : layer }),
      ...(inHead(part) && { head }),
      entry,
    };
  };
  const numbers = () => rowOf(address(0));
  const name = (i) => (isNext({ part }) ? wordOf(i) : `entry ${i + 1}`);

  // Point at a number, or else at the open one: its outline, and its words.
  function point(entry) {
    const { opened } = state,
      all = numbers(),
      here = address(0),
      isOpened = ["part", "position", "layer", "head"].every((n) => opened?.[n] === here[n]);
    pointed = entry;
    const shown = entry ?? (isOpened ? opened.entry : null),
      rows = Math.ceil(all.length / columns),
      range = `${number(Math.min(...all))} to ${number(Math.max(...all))}`,
      title = aboutPart(part, start ? 0 : undefined).name;
    const words = (i) => `${name(i)}: ${number(all[i])}`;
    box.classList.toggle("opened", isOpened);
    mark.hidden = shown === null;
    const [left, top] = [shown % columns, Math.floor(shown / columns)];
    mark.style.cssText = `width: ${100 / columns}%; height: ${100 / rows}%; left: ${(100 * left) / columns}%; top: ${(100 * top) / rows}%`;
    said.innerHTML = `<b>${title}</b> · `;
    said.append(shown === null ? `${all.length} numbers, ${range}` : words(shown));
    Object.assign(canvas, {
      ariaLabel: `${title}, ${all.length} numbers from ${range}. Arrow keys choose one, Enter opens it.`,
      ariaValueMin: 1,
      ariaValueMax: all.length,
      ariaValueNow: (shown ?? 0) + 1,
      ariaValueText: words(shown ?? 0),
    });
  }

  // The number under the pointer, or null.
  function under({ clientX, clientY }) {
    const { left, top, width, height } = canvas.getBoundingClientRect(),
      { length } = numbers(),
      rows = Math.ceil(length / columns);
    const [x, y] = [(clientX - left) / width, (clientY - top) / height];
    const i = Math.floor(y * rows) * columns + Math.floor(x * columns);
    return i >= 0 && i < length ? i : null;
  }

  const listen = (name, hears) => canvas.addEventListener(name, (event) => there() && hears(event));
  listen("pointermove", (event) => point(under(event)));
  listen("pointerleave", () => point(null));
  listen("click", (event) => under(event) !== null && showNumber(address(under(event))));
  listen("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns },
      step = steps[event.key];
    if (!step && event.key !== "Enter") return;
    event.preventDefault();
    if (!step) return showNumber(address(pointed ?? 0));
    point(Math.min(numbers().length - 1, Math.max(0, (pointed ?? -1) + step)));
  });

  return () => {
    const all = numbers();
    columns = columnsOf(all.length);
    const rows = Array.from({ length: Math.ceil(all.length / columns) }, (_, n) =>
      all.slice(n * columns, (n + 1) * columns),
    );
    pixels(canvas, rows, columns, largest(all));
    point(pointed < all.length ? pointed : null);
  };
}
