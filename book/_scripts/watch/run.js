// One run of training, in steps: what the page shows, and what benchmarks/watch.py stores.

import { startKernel } from "../train/kernel.js";
import {
  Tokenizer,
  baselines,
  crossEntropy,
  generate,
  generator,
  getBatch,
  initWeights,
  train,
} from "../train/loop.js";
import { GPT } from "../train/model.js";

const EVERY = 25; // steps from one look at the unseen text to the next
const BATCHES = 4; // of unseen text, always the same
const SLICE = 60; // milliseconds between two looks at the messages
const isSampled = (step) => [0, 10, 25, 50].includes(step) || step % 100 === 0;

// What is asked: the text seen and unseen, the tokenizer's pattern, sizes (without V), batch, steps,
// lr and seed, what the samples begin with, their length and temperature, and what is left out.
// Returns what is known before the first step; events, of each step its loss, now and then the loss
// on unseen text, and what the model writes; and model(), the model as it is.
export function begin(asked) {
  const { pattern, batch, steps, lr, seed, length, temperature } = asked;
  const tokenizer = Tokenizer(asked.seen + asked.unseen, pattern);
  const [seen, unseen] = [asked.seen, asked.unseen].map(tokenizer.encode);
  const sizes = { V: tokenizer.vocab.length, ...asked.sizes };
  const kernel = startKernel(asked.code, sizes, batch);
  const gpt = GPT(sizes, batch, { ...kernel, without: asked.without });
  const random = generator(seed),
    other = generator(seed + 1);
  initWeights(gpt, random);
  const windows = Array.from({ length: BATCHES }, () => getBatch(unseen, batch, sizes.T, other));

  const loss = ([x, y]) => crossEntropy(gpt, gpt.forward(x, batch), y) / BATCHES,
    judge = () => windows.reduce((sum, window) => sum + loss(window), 0);
  function write() {
    const prompt = tokenizer.encode(asked.prompt);
    const ids = generate(gpt, prompt, length, generator(seed), temperature);
    return tokenizer.decode(ids.slice(prompt.length));
  }
  function look(step, loss) {
    const samples = isSampled(step) || step === steps;
    if (!samples && step % EVERY) return { step, loss };
    return { step, loss, unseen: judge(), ...(samples && { text: write() }) };
  }
  function* events() {
    yield look(0);
    for (const [step, loss] of train(gpt, seen, steps, batch, lr, random)) yield look(step, loss);
  }
  const parameters = gpt.parameters.reduce((sum, { value }) => sum + value.length, 0);
  const copy = ({ name, shape, value }) => ({ name, shape, value: value.slice() });
  return {
    about: { parameters, baselines: baselines(seen, unseen, sizes.V) },
    events: events(),
    model: () => ({ sizes, vocab: tokenizer.vocab, pattern, tensors: gpt.parameters.map(copy) }),
  };
}

// --- in a worker: it trains a while, then listens

let [current, timer] = [null, 0];

// At least a step; if it is going, all that fit into a while, and so on.
function advance(going) {
  const [events, until] = [[], performance.now() + (going ? SLICE : 0)];
  while (!current.ended && (!events.length || performance.now() < until)) {
    events.push(current.events.next().value);
    current.ended = events.at(-1).step === current.steps;
  }
  postMessage({ events, ended: current.ended });
  if (going && !current.ended) timer = setTimeout(advance, 0, true);
}

if (globalThis.WorkerGlobalScope) {
  onmessage = ({ data: { asked, go, step, model } }) => {
    if (asked) {
      current = { ...begin(asked), steps: asked.steps };
      postMessage({ about: current.about });
    }
    if (go !== undefined) clearTimeout(timer);
    if (go !== undefined) postMessage({ goes: go }); // after what it has done so far
    if (asked || step || go) advance(go);
    if (model) postMessage({ model: current.model() });
  };
}
