// What the modules of the page share: its run, and models in training.

import { loadScript } from "../gpt/page.js";
import { data, root, trouble } from "./elements.js";

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
