// A text that the model reads and writes on.

import { kvCache, read } from "./model.js";
import { draw, probabilities, uniform } from "./sampling.js";

// When all positions are full, the last half of them is read afresh.
export class Reading {
  constructor(model) {
    this.model = model;
    this.ids = [];
    this.prompted = 0; // tokens that the reader has typed
    this.restart(0);
  }

  // Forget all, and begin at a token.
  restart(start) {
    this.start = start; // where the part that the model reads begins
    this.kvCache = kvCache(this.model);
    this.seen = []; // for each token of that part: what the model gave
  }

  // Read a text, but not again what it has in common with the one before.
  read(ids) {
    const { T } = this.model.sizes,
      half = Math.ceil(T / 2);
    const start = Math.max(0, Math.ceil((ids.length - T) / half) * half);
    let same = 0;
    while (same < ids.length && ids[same] === this.ids[same]) same++;
    if (start !== this.start) this.restart(start);
    const kept = Math.min(this.seen.length, Math.max(0, same - start));
    for (const { keys, values } of this.kvCache.flat()) keys.length = values.length = kept;
    this.seen.length = kept;
    this.ids = [...ids];
    for (const id of ids.slice(start + kept)) this.seen.push(read(this.model, this.kvCache, id));
  }

  // A token of that part.
  token(at) {
    return this.model.vocab[this.ids[this.start + at]];
  }

  // The text from one token to another.
  text(from, to) {
    return this.ids
      .slice(from, to)
      .map((id) => this.model.vocab[id])
      .join("");
  }
}

// The tokens that a model draws after these, one by one; without any it begins a line.
export function* written(model, ids, seed, temperature = 0.8) {
  const reading = new Reading(model);
  reading.read(ids.length ? ids : [model.ids.get("\n") ?? 0]);
  while (true) {
    const p_V = probabilities(reading.seen.at(-1).logits_V, temperature);
    const id = draw(p_V, uniform(seed, reading.ids.length));
    yield model.vocab[id];
    reading.read([...reading.ids, id]);
  }
}
