// What runs in the worker: it reads a text, but not again what it begins with as before, once as it is
// and, if there are changes, once with them (`as` says which), and answers what takes more readings.

import { kvCache, read } from "../gpt/model.js";

let model,
  latest = 0; // the run that was asked for last
const asked = {}, // of each task, the last question
  readings = {}; // the last one of each kind

// A pause in which messages come: has the reader typed on?
const pause = () => new Promise((done) => setTimeout(done));

// The logits (V,) after a position, with another change at some; from the first of these it is read
// again. null where somebody has asked for something else.
async function again({ cache, ids, change }, from, position, changes, stale) {
  const begun = cache.map((heads) =>
    heads.map(({ keys, values }) => ({ keys: keys.slice(0, from), values: values.slice(0, from) })),
  );
  for (let at = from; ; at++) {
    const { logits_V } = read(model, begun, ids[at], { ...change, ...changes(at) });
    if (at === position || at % 16 === 0) await pause();
    if (stale()) return null;
    if (at === position) return logits_V;
  }
}

const tasks = {
  // Each earlier position hidden from all later ones, the nearest first, which takes the fewest steps.
  async hide({ position }, reading, tell, stale) {
    for (let hidden = position - 1; hidden >= 0 && !stale(); hidden--) {
      tell(hidden, await again(reading, hidden + 1, position, () => ({ hidden }), stale));
    }
  },
  // Another token at one position; then one vector of that text, a position's at a level, in this one.
  async swap({ position, at, id, levels }, reading, tell, stale) {
    const streams = [],
      cache = kvCache(model);
    for (let t = 0; t <= position; t++) {
      const token = t === at ? id : reading.ids[t];
      const { layers, logits_V } = read(model, cache, token, reading.change);
      streams.push(layers.map(({ stream }) => stream));
      if (t === position) tell("whole", logits_V);
    }
    for (let from = at; from <= position; from++) {
      for (let level = 0; level <= levels && !stale(); level++) {
        const patch = { [level]: streams[from][level] },
          changes = (t) => (t === from ? { patch } : {});
        tell(`${from}.${level}`, await again(reading, from, position, changes, stale));
      }
    }
  },
};

// Do a task, and post the logits for each of its keys.
function work({ task, n, run, as, ...given }) {
  const stale = () => latest !== run || asked[task] !== n,
    tell = (key, logits_V) => logits_V && postMessage({ task, n, key, logits_V });
  asked[task] = n;
  return tasks[task](given, readings[as], tell, stale);
}

// Read a text, and post what has come, eight tokens at a time.
async function readAll({ run, as, ids, change }) {
  latest = run;
  const reading = (readings[as] ??= { cache: kvCache(model), ids: [] }),
    another = JSON.stringify(change) !== JSON.stringify(reading.change);
  let same = 0;
  while (!another && same < reading.ids.length && reading.ids[same] === ids[same]) same++;
  Object.assign(reading, { ids: ids.slice(0, same), change });
  for (const { keys, values } of reading.cache.flat()) keys.length = values.length = same;
  let from = same,
    kept = [];
  for (const id of ids.slice(same)) {
    kept.push(read(model, reading.cache, id, change));
    reading.ids.push(id);
    if (kept.length < 8 || reading.ids.length === ids.length) continue;
    postMessage({ run, as, from, kept });
    [from, kept] = [reading.ids.length, []];
    await pause();
    if (latest !== run) return;
  }
  postMessage({ run, as, from, kept, done: true });
}

if (globalThis.WorkerGlobalScope) {
  onmessage = ({ data }) => {
    if (data.model) ({ model } = data);
    else if (data.task) work(data);
    else readAll(data);
  };
}
