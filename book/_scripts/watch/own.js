// The model goes elsewhere, and comes back: it writes, opens in the whole machine, and is a file.

import { onFile, readModel, toGPT, writeModel } from "../gpt/file.js";
import { make } from "../gpt/page.js";
import { written } from "../gpt/reading.js";
import { CHARACTERS, tokenize } from "../gpt/tokens.js";
import { data, field, find, listen, say, trouble } from "./elements.js";
import { state } from "./state.js";

export const models = []; // who waits for the worker's model
let brought = null, // a model from a file
  writing = null,
  times = 0; // that it was asked to write

// Show the run again, no model from a file, and nothing that another model wrote.
export function goOn() {
  brought = writing = null;
  for (const name of [".watch-which", ".watch-written"]) find(name).textContent = "";
  find(".watch-after").hidden = field("copy").hidden = false;
}

// A promise of the model as it is now.
function model() {
  if (brought) return Promise.resolve(brought);
  state.worker.postMessage({ model: true });
  return new Promise((done) => models.push(done));
}

async function save() {
  const href = URL.createObjectURL(new Blob([writeModel(await model())]));
  make("a", { href, download: "my.safetensors" }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

const opened = new Map(); // windows with the whole machine, and their models
function open() {
  const other = globalThis.open(data.machine);
  if (other) opened.set(other, Promise.all([model(), field("prompt").value]));
  else trouble("Your browser opens no second page. Take the model along, and drop it there.");
}

async function answer({ source, data: asks }) {
  if (asks !== "model" || !opened.has(source)) return;
  const to = location.protocol === "file:" ? "*" : location.origin;
  const [trained, text] = await opened.get(source);
  source.postMessage({ model: trained, text }, to);
}

// Take a file: a text, or a model. pause: stop the run.
async function take(file, pause) {
  trouble("");
  if (!file.name.endsWith(".safetensors")) {
    find(".watch-own").open = true;
    field("own").value = (await file.text()).replaceAll(/\r\n?/g, "\n");
    return say(`${file.name} is in the text field.`);
  }
  try {
    const found = readModel(await file.arrayBuffer());
    if (state.going) await pause();
    brought = found;
  } catch (error) {
    return trouble(error.message);
  }
  find(".watch-after").hidden = false;
  field("copy").hidden = true;
  find(".watch-which").textContent = `This is ${file.name}.`;
  write();
}

// Write on from the prompt, a token at a time.
async function write() {
  const mine = (writing = {}),
    shown = find(".watch-written"),
    gpt = toGPT(await model()),
    { ids, told } = tokenize(gpt, field("prompt").value);
  trouble(field("prompt").value && told);
  let left = gpt.pattern === CHARACTERS ? 240 : 60;
  shown.textContent = field("prompt").value;
  for (const token of written(gpt, ids, state.seed + times++)) {
    if (writing !== mine || !left--) break;
    shown.textContent += token;
    await new Promise((done) => setTimeout(done));
  }
  if (writing === mine) say(shown.textContent);
}

// Hear the reader. go: as the page has it.
export function listenToModels(go) {
  listen({ save, open });
  find(".watch-write").addEventListener("submit", (event) => {
    event.preventDefault();
    write();
  });
  onFile(field("file"), (file) => take(file, () => go(false)));
  addEventListener("message", answer);
}
