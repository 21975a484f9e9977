// The figures of a page, and the worker with the model, which they share: a question to it has an id,
// which each of its answers repeats.

export const figures = [...(globalThis.document?.querySelectorAll(".chat") ?? [])];
export const data = figures.length && JSON.parse(document.querySelector(".chat-data").textContent);

const LONG = ["answer", "mattered", "swap"];
const waiting = new Map();
let worker = null,
  count = 0;

function begin() {
  const script = new Blob([`(${wholeScript})();`], { type: "text/javascript" });
  worker = new Worker(URL.createObjectURL(script));
  worker.addEventListener("message", ({ data: { id, ...found } }) => waiting.get(id)(found));
  worker.addEventListener("error", ({ message }) => {
    for (const hear of waiting.values()) hear({ error: `The model has stopped: ${message}` });
    worker = null;
  });
}

// Ask the worker. heard: what to do with each answer. `answer` is a promise of all that they hold; stop
// ends it early, and so does the next question that takes long.
export function ask(question, heard = () => {}, transfer = []) {
  if (!worker) begin();
  if (LONG.some((name) => name in question))
    for (const id of waiting.keys()) worker.postMessage({ stop: id });
  const id = ++count;
  const all = {};
  const answer = new Promise((done, fail) => {
    waiting.set(id, (found) => {
      Object.assign(all, found);
      heard(found);
      if (!found.error && !found.ready && !found.done) return;
      waiting.delete(id);
      if (found.error) fail(new Error(found.error));
      else done(all);
    });
  });
  worker.postMessage({ id, ...question }, transfer);
  return { answer, stop: () => worker?.postMessage({ stop: id }) };
}
