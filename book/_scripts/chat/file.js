// The model's file: from the site, from the reader's disk, or from what this browser has kept.

import { onFile } from "../gpt/file.js";
import { ask, data, figures } from "./asks.js";

const here = globalThis.document?.currentScript?.src;
const fields = (name) => document.querySelectorAll(`.chat [name="${name}"]`);
const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`;

// --- kept in the browser, from a disk and without a network too

// A promise of what `does` asks of the store of files.
function store(mode, does) {
  return new Promise((done, fail) => {
    const opening = indexedDB.open("transformers-worked-out", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("files");
    opening.onerror = () => fail(opening.error);
    opening.onsuccess = () => {
      const change = opening.result.transaction("files", mode),
        asked = does(change.objectStore("files"));
      change.oncomplete = () => done(asked.result);
      change.onabort = () => fail(change.error);
    };
  });
}

const kept = () => store("readonly", (files) => files.get(data.sha256)).catch(() => null);
const keep = (file) => store("readwrite", (files) => files.put(file, data.sha256));
const forget = () => store("readwrite", (files) => files.delete(data.sha256));

// --- from the site

const REFUSED = {
  404: `This copy of the site doesn’t hold the file. Where the book’s folder has it, “make book” puts it there.`,
  other:
    "The site’s host won’t send the file now, perhaps because it has been asked for too often this " +
    "month. Please try again later, or take the file from your disk, as said below.",
  incomplete: "The file came incomplete. Please try again.",
  offline: "The file can’t be reached, so you may be offline. You can take it from your disk, too.",
};

// A promise of the bytes. told: hears how many have come.
async function fromSite(signal, told) {
  let response;
  try {
    response = await fetch(new URL(data.file, here), { signal });
  } catch (error) {
    throw signal.aborted ? error : new Error(REFUSED.offline);
  }
  if (!response.ok) throw new Error(REFUSED[response.status] ?? REFUSED.other);
  const bytes = new Uint8Array(data.bytes),
    reader = response.body.getReader();
  for (let at = 0; ;) {
    const { done, value } = await reader.read();
    if (at + (value?.length ?? 0) > bytes.length || (done && at < bytes.length))
      throw new Error(REFUSED.incomplete);
    if (done) return bytes.buffer;
    bytes.set(value, at);
    told((at += value.length));
  }
}

// --- as the figures show it

let coming = null, // what stops it
  asker = null; // the figure from which it was asked for

function show(state, words = "") {
  for (const root of figures) {
    root.dataset.state = state;
    root.querySelector(".chat-coming").textContent = words;
  }
}

// Load the model from its bytes; keep: whether its file is new to this browser.
async function wake(buffer, isNew) {
  show("coming", "It has come. The model wakes up …");
  const file = isNew && new Blob([buffer]);
  await ask({ load: buffer, code: data.code, sha256: data.sha256 }, undefined, [buffer]).answer;
  let told = "This browser keeps the file, so it needn’t come again.";
  if (isNew)
    await keep(file).catch(() => {
      told = "This browser wouldn’t keep the file, so next time it has to come again.";
    });
  show("ready", told);
  asker?.querySelector('[name="text"]').focus({ preventScroll: true });
}

// Show what comes of a file in the making, or why there is none.
async function take(bringing, isNew = true) {
  if (figures[0].dataset.state === "ready") return;
  try {
    await wake(await bringing, isNew);
  } catch (error) {
    show("absent", coming?.signal.aborted ? "You stopped it. Nothing was kept." : error.message);
  }
  coming = null;
}

async function get({ target }) {
  asker = target.closest(".chat");
  const file = await kept();
  if (file) return take(file.arrayBuffer(), false);
  coming = new AbortController();
  const told = (at) => {
    show("coming", `${megabytes(at)} of ${megabytes(data.bytes)} have come.`);
    for (const bar of document.querySelectorAll(".chat progress")) bar.value = at;
  };
  told(0);
  take(fromSite(coming.signal, told));
}

// Hear the reader, and say whether this browser has the file.
export async function listenToFiles() {
  const presses = { get, halt: () => coming?.abort(), forget: () => forget().then(() => offer()) };
  for (const [name, does] of Object.entries(presses))
    fields(name).forEach((one) => one.addEventListener("click", does));
  onFile(fields("file")[0], (file) => take(file.arrayBuffer()));
  offer();
}

async function offer() {
  const has = Boolean(await kept()),
    fromDisk = location.protocol === "file:";
  for (const button of fields("get")) {
    if (has) button.textContent = "Start the model (this browser has kept it)";
    button.hidden = fromDisk && !has;
  }
  if (fromDisk && !has) document.querySelector(".chat-disk").open = true;
  for (const button of fields("forget")) button.hidden = !has;
}
