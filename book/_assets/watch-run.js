// One run of training, in steps: what the page shows, and what benchmarks/watch.py stores.
"use strict";

// A function, so that a worker can be given its text.
globalThis.bookRunMade = (kernel, model, loop) => {
  const EVERY = 25; // steps from one look at the unseen text to the next
  const BATCHES = 4; // of unseen text, always the same
  const isSampled = (step) => [0, 10, 25, 50].includes(step) || step % 100 === 0;

  // What is asked: the text seen and unseen, the tokenizer's pattern, sizes (without V), batch, steps,
  // lr and seed, what the samples begin with, their length and temperature, and what is left out.
  // Returns what is known before the first step; events, of each step its loss, now and then the loss
  // on unseen text, and what the model writes; and file(), the model as it is.
  function begin(asked) {
    const { pattern, batch, steps, lr, seed, length, temperature } = asked;
    const tokenizer = loop.Tokenizer(asked.seen + asked.unseen, pattern);
    const [seen, unseen] = [asked.seen, asked.unseen].map(tokenizer.encode);
    const sizes = { V: tokenizer.vocab.length, ...asked.sizes };
    const start = kernel.start(asked.code, sizes, batch);
    const gpt = model.GPT(sizes, batch, { ...start, without: asked.without });
    const random = loop.uniform(seed),
      other = loop.uniform(seed + 1);
    loop.initWeights(gpt, random);
    const windows = Array.from({ length: BATCHES }, () =>
      loop.getBatch(unseen, batch, sizes.T, other),
    );

    const judge = () => windows.reduce((sum, [x, y]) => sum + loop.lossOf(gpt, x, y) / BATCHES, 0);
    function write() {
      const prompt = tokenizer.encode(asked.prompt);
      const ids = loop.generate(gpt, prompt, length, loop.uniform(seed), temperature);
      return tokenizer.decode(ids.slice(prompt.length));
    }
    function* events() {
      yield { step: 0, unseen: judge(), text: write() };
      for (const [step, loss] of loop.train(gpt, seen, steps, batch, lr, random)) {
        const looks = isSampled(step) || step % EVERY === 0 || step === steps;
        yield {
          step,
          loss,
          ...(looks && { unseen: judge() }),
          ...((isSampled(step) || step === steps) && { text: write() }),
        };
      }
    }
    const about = {
      parameters: gpt.parameters.reduce((sum, { value }) => sum + value.length, 0),
      tokens: seen.length,
      sizes,
      baselines: loop.baselines(seen, unseen, sizes.V),
      simd: Boolean(start.memory),
    };
    const file = () => ({
      sizes,
      vocab: tokenizer.vocab,
      pattern,
      tensors: gpt.parameters.map(({ name, shape, value }) => ({
        name,
        shape,
        value: value.slice(),
      })),
    });
    return { about, events: events(), file };
  }

  // What a model from a file writes after a prompt, token by token.
  function* writeOn(
    { sizes, vocab, pattern, tensors },
    { code, prompt, length, temperature, seed },
  ) {
    const tokenizer = loop.read(vocab, pattern),
      gpt = model.GPT(sizes, 1, kernel.start(code, sizes, 1));
    const of = new Map(tensors.map(({ name, value }) => [name, value]));
    for (const { name, value } of gpt.parameters) value.set(of.get(name));
    const random = loop.uniform(seed);
    let ids = [...tokenizer.encode(prompt)];
    if (!ids.length) ids = [0];
    for (let i = 0; i < length; i++) {
      ids = loop.generate(gpt, ids, 1, random, temperature);
      yield vocab[ids.at(-1)];
    }
  }

  return { begin, writeOn };
};

// The worker: it trains a while, then listens. kept: what the page has sent.
globalThis.bookWatchWorker = (run) => {
  const SLICE = 60; // milliseconds between two looks at the messages
  let current = null,
    going = false,
    turning = false;

  function advance(until) {
    const events = [];
    do {
      const { value, done } = current.events.next();
      if (done) {
        going = false;
        break;
      }
      events.push(value);
    } while (performance.now() < until);
    postMessage({ events, ended: events.at(-1)?.step === current.steps });
  }

  async function turn() {
    if (turning) return;
    turning = true;
    while (going) {
      advance(performance.now() + SLICE);
      await new Promise((done) => setTimeout(done));
    }
    turning = false;
  }

  globalThis.onmessage = ({ data: { begin, go, step, file, write } }) => {
    if (begin) {
      current = { ...run.begin(begin), steps: begin.steps };
      postMessage({ about: current.about });
      advance(0);
    }
    if (go !== undefined) postMessage({ goes: (going = go) }); // after what it has done so far
    if (go) turn();
    if (step) advance(0);
    if (file) postMessage({ file: current.file() });
    if (write) {
      for (const token of run.writeOn(write.model, write)) postMessage({ token });
      postMessage({ written: true });
    }
  };
};
