// From logits to a token: probabilities, and draws that repeat.

import { softmax } from "./model.js";

// The probabilities (V,) from which a token is drawn. Temperature 0: all on the likeliest. Of the
// others, the `most` likeliest take part. Among equals the first comes first.
export function probabilities(logits_V, temperature = 1, most = logits_V.length) {
  const sorted = Float64Array.from(logits_V).sort().reverse();
  if (temperature === 0) {
    const first = logits_V.indexOf(sorted[0]);
    return logits_V.map((_, i) => Number(i === first));
  }
  const least = sorted[Math.min(most, sorted.length) - 1];
  let equals = most - sorted.indexOf(least); // that may take part
  const kept = (x) => x > least || (x === least && equals-- > 0);
  return softmax(logits_V.map((x) => (kept(x) ? x / temperature : -Infinity)));
}

// The n likeliest ids, among equals the first. It does not sort: a chat model has 49,152 of them.
export function likeliest(p_V, n) {
  const found = [];
  while (found.length < Math.min(n, p_V.length)) {
    let best = -1;
    p_V.forEach((p, id) => {
      if (!(p <= p_V[best]) && !found.includes(id)) best = id;
    });
    found.push(best);
  }
  return found;
}

// A number from 0 up to 1 for each position of a text, the same whenever it is asked for: seed and
// position, mixed by the last steps of MurmurHash3 (Appleby 2011), twice.
export function uniform(seed, position) {
  let h = (Math.imul(seed, 0x9e3779b1) + position) | 0;
  for (let round = 0; round < 2; round++) {
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    h = (h ^ (h >>> 16)) + 1;
  }
  return (h >>> 0) / 2 ** 32;
}

// The id into whose probability a number falls, if they are laid end to end from 0 to 1.
export function draw(p_V, number) {
  let sum = 0;
  for (let i = 0; i < p_V.length; i++) if (number < (sum += p_V[i])) return i;
  return likeliest(p_V, 1)[0]; // rounding left a gap
}
