// The page of all numbers: a worker reads the text, rules.js opens numbers, this shows both. The left
// side follows one token through one layer and one head; the right side has the number that was opened
// last. The page's own address names the text and that number. What answers is drawn first, what is in
// view after it, and the rest when it comes near.

import { load, offer, onTheme, percent, takeInks } from "../gpt/page.js";
import { parse } from "./address.js";
import { ask, forget } from "./inquiry.js";
import { map } from "./maps.js";
import { arrive, reveal, showNumber, toView } from "./navigation.js";
import { answer, lens, next } from "./next.js";
import { showOpened } from "./opened.js";
import { hearModels } from "./own.js";
import { comeTo, fit, locate, showPicture, startPicture } from "./picture.js";
import { changed, heard, post, reader, readText, replace, undo } from "./reader.js";
import {
  at,
  chosen,
  data,
  field,
  find,
  instead,
  likeliestOf,
  root,
  rowHere,
  say,
  state,
  there,
  typedName,
  wordOf,
} from "./state.js";
import { strip } from "./strip.js";
import { why } from "./why.js";

const idle = (work) => (globalThis.requestIdleCallback ?? setTimeout)(work, { timeout: 200 });
let parts = [], // each box with the function that draws it, and whether it is near
  waiting = false, // for the rest of a drawing
  whole = true; // whether all is drawn, and not only what is near

// Draw the answer at once, within the frame that shows what was typed; the rest when it stands.
export function drawPage() {
  if (!there()) return;
  answer(choose);
  for (const part of parts) part.stale = true;
  if (!waiting) requestAnimationFrame(() => idle(drawRest));
  waiting = true;
}

// Draw what was put off.
function drawRest() {
  waiting = false;
  if (!there()) return;
  if (whole) takeInks(root);
  showChange();
  showOpened();
  showPicture();
  parts.filter(({ near }) => near || whole).forEach(catchUp);
  whole = false;
  if (state.sought) reveal(state.sought);
  state.sought = null;
}

function catchUp(part) {
  if (!part.stale || !there()) return;
  part.stale = false;
  part.update();
}

function redraw() {
  whole = true;
  drawPage();
}

// Follow another token.
function choose(position) {
  const { opened, machine } = state;
  forget();
  Object.assign(state, { position, followed: position === machine.ids.length - 1 });
  if (opened?.position === undefined || opened.position === position) return drawPage();
  const key = opened.key > position ? { key: position } : {};
  showNumber({ ...opened, position, ...key }, "walk");
}

// Say what was changed, and what comes of it.
function showChange() {
  const other = instead(chosen()),
    { silent, mean, positions } = changed(),
    names = (heads, does) => heads.map(([layer, head]) => `layer ${layer}, head ${head} ${does}`);
  field("works").value = other ? (other.some((x) => x) ? "mean" : "silent") : "";
  const changes = [...names(silent, "is silenced"), ...names(mean, "gives its mean")];
  if (positions) changes.push("no positions");
  const p_V = rowHere("probabilities"),
    first = likeliestOf(p_V),
    said = find(".machine-changed");
  said.textContent =
    `${changes.length ? `Changed: ${changes.join("; ")}. ` : ""}` +
    `Likeliest after ${at(state.position)}: ${wordOf(first)}, ${percent(p_V[first])}.`;
  said.classList.toggle("visually-hidden", !changes.length);
  field("undo").hidden = !changes.length;
}

// --- what the reader does

// Load the book's model, and begin.
async function begin() {
  const button = field("load");
  button.setAttribute("aria-disabled", true);
  say("");
  try {
    const model = await load(root.dataset.weights);
    if (!state.machine) use(model);
  } catch {
    button.setAttribute("aria-disabled", false);
    say(
      "The model could not be started. Its weights stand in the folder _static, beside this book’s pages; " +
        "a page that was saved alone does not have them.",
    );
  }
}

// Begin the worker, which runs this script too, with a model, and show the page.
function use(model) {
  const script = new Blob([`(${wholeScript})();`], { type: "text/javascript" }),
    first = !state.machine;
  if (!first) Object.assign(reader.worker, { onmessage: null }).terminate();
  Object.assign(reader, { worker: new Worker(URL.createObjectURL(script)), missing: [] });
  reader.arrived = { plain: [], changed: [] };
  reader.worker.onmessage = heard;
  post({ model });
  state.machine = { model, seen: [], plain: null, ids: [], change: {} };
  if (first) show();
  readText();
}

// Show the page, with all its parts.
function show() {
  for (const name of ["load", "start"]) find(`.machine-${name}`).hidden = true;
  find(".machine-live").hidden = false;
  field("text").after(find(".machine-trouble")); // where it moves nothing that is typed in
  find(".machine-live").scrollIntoView();
  find(".machine-live").focus({ preventScroll: true }); // the next Tab leads to the text
  const own = { why, maps: map, lens, next };
  parts = [...root.querySelectorAll(".machine-part")].map((box) => ({
    box,
    update: (own[box.dataset.part] ?? strip)(box),
  }));
  watch();
  startPicture();
}

// Notice what comes near, and which station one is at.
function watch() {
  const nearing = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        const part = parts.find(({ box }) => box === target);
        part.near = isIntersecting;
        if (part.near && !waiting) idle(() => catchUp(part)); // else it comes with the rest
      }
    },
    { rootMargin: "50% 0px" },
  );
  parts.forEach(({ box }) => nearing.observe(box));
  const visiting = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) comeTo(target.id);
      if (there()) locate();
    },
    { rootMargin: "-40% 0px -55% 0px" },
  );
  root.querySelectorAll(".machine-why, .machine-station").forEach((one) => visiting.observe(one));
}

// Hear the reader, before the model is loaded, too.
function listen() {
  const on = (name, ...listener) => field(name).addEventListener(...listener);
  on("load", "click", () => !state.machine && begin());
  find(".machine-live").addEventListener("submit", (event) => event.preventDefault());
  on("text", "input", () => {
    state.followed = true;
    forget();
    readText();
  });
  on("text", "keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (there()) ask();
  });
  on("ask", "click", () => there() && ask());
  hearModels(use);
  for (const link of root.querySelectorAll("[data-step]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault(); // the page's address is the number's
      toView(link.hash);
    });
  }
  for (const name of ["layer", "head"]) {
    on(name, "change", () => {
      const { opened } = state;
      if (opened?.[name] === undefined) return drawPage();
      const head = opened.head === undefined ? { head: undefined } : {};
      showNumber({ ...opened, ...chosen(), ...head });
    });
  }
  on("works", "change", ({ target }) => {
    replace(chosen().layer, chosen().head, target.value);
    readText();
  });
  on("positions", "change", readText);
  on("undo", "click", () => {
    undo();
    readText();
  });
  for (const name of ["why", "over"]) {
    const all = () => state.machine.model.vocab.map((_, id) => id), // many: when they are asked for
      more = ({ target: { lastElementChild: group } }) =>
        group.children.length || offer(group, all(), typedName);
    on(name, "focus", more);
  }
}

// Make the page ready, and show what its address names.
function start() {
  const { number, text, why: asked } = parse(location.hash);
  fit(data.sizes);
  listen();
  addEventListener("popstate", arrive);
  onTheme(redraw);
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width === state.width) return;
    state.width = contentRect.width;
    redraw();
  }).observe(find(".machine-stations"));
  new ResizeObserver(([{ target }]) =>
    root.style.setProperty("--machine-bar", `${target.offsetHeight}px`),
  ).observe(find(".machine-bar"));
  find(".machine-scriptless").remove();
  if (number || asked)
    field("load").append(number ? " and open the number of this address" : " and see why");
  find(".machine-still").hidden = text !== null; // it shows another text's answer
  arrive();
}

if (root) start();
