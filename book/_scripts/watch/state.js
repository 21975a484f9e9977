// What the modules of the page share: its elements, its run, and models in training.

import { loadScript } from "../gpt/page.js";

export const root = globalThis.document?.querySelector(".watch");
export const find = (name) => document.querySelector(`.watch ${name}`);
export const field = (name) => find(`[name="${name}"]`);
export const all = (name) => document.querySelectorAll(`.watch [name="${name}"]`);
export const data = root && JSON.parse(find(".watch-data").textContent);

const given = new URLSearchParams(globalThis.location?.hash.slice(1)); // what repeats a run
const narrow = globalThis.matchMedia?.("(max-width: 600px)").matches;
const small = given.has("seed") ? given.has("small") : narrow;
export const asked = { ...data, ...(small && data?.small) };
export const address = (seed) => `#seed=${seed}${small ? "&small" : ""}`;

export const state = {
  run: null, // { about, seen: [[step, loss]], unseen, samples: [{ step, text }], step }
  seed: Number(given.get("seed")) || 1,
  texts: null, // what it learns from; of the book’s tales the entropy is known
  worker: null,
  going: false,
};

export const say = (words) => (find(".watch-said").textContent = words);

// Tell of trouble, after what was pressed, and in view.
export function trouble(words) {
  const told = find(".watch-trouble");
  document.activeElement.closest(".watch p, .watch form")?.after(told);
  told.textContent = words;
  if (words) told.scrollIntoView({ block: "nearest" });
}
export const pressed = (name) => find(`[name="${name}"][aria-pressed="true"]`);
export const press = (name, button) =>
  all(name).forEach((one) => one.setAttribute("aria-pressed", one === button));

export const tales = () => loadScript(root.dataset.tales).then(() => bookTales);

// A model in training, in a worker of its own, which runs this script too. heard: what to do with
// each kind of message.
export function learner(heard) {
  const script = new Blob([`(${wholeScript})();`], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(script));
  worker.addEventListener("message", ({ data: message }) => {
    for (const [name, value] of Object.entries(message)) heard[name]?.(value, message);
  });
  worker.addEventListener("error", ({ message }) => trouble(`It cannot learn here: ${message}`));
  return worker;
}
