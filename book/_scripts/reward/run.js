// Chapter 17's loop, with minigpt's GPT. A row is a question and an answer, as ids.

import { readModel } from "../gpt/file.js";
import { draw, probabilities } from "../gpt/sampling.js";
import { startKernel } from "../train/kernel.js";
import { clipGradNorm, crossEntropy, generator, makeOptimizer } from "../train/loop.js";
import { GPT } from "../train/model.js";

const mean = (all) => all.reduce((sum, x) => sum + Number(x), 0) / all.length;

// Questions of one length to rows, up to the end of the answer, or of the context.
function sample({ forward, sizes: { V, T } }, asked, end, random) {
  const rows = asked.map((ids) => [...ids]);
  for (let t = rows[0].length, open = rows; t < T && open.length; t++) {
    const logits = forward(Int32Array.from(open.flat()), open.length);
    open.forEach((row, b) => {
      const last = logits.subarray(((b + 1) * t - 1) * V, (b + 1) * t * V);
      row.push(draw(probabilities(last), random()));
    });
    open = open.filter((row) => row.at(-1) !== end);
  }
  return rows;
}

// An update from rows, whose questions have n ids, `group` in a row the same, and the reward of each.
export function reinforce(model, optimizer, rows, n, rewards, group, end) {
  const { V, T } = model.sizes,
    read = rows.flatMap((row) => [...row, ...Array(T - row.length).fill(end)]),
    logits = model.forward(Int32Array.from(read), rows.length);
  crossEntropy(model, logits, [...read.slice(1), end]); // leaves (p − 1 at the target)/(B·T)
  for (let i = 0; i < read.length; i++) {
    const [b, t] = [Math.floor(i / T), i % T],
      first = b - (b % group),
      advantage = rewards[b] - mean(rewards.slice(first, first + group)),
      weight = t >= n - 1 && t < rows[b].length - 1 ? advantage * T : 0;
    for (let v = i * V; v < (i + 1) * V; v++) logits[v] *= weight;
  }
  model.backward(logits);
  clipGradNorm(model);
  optimizer(0.001);
}

// A run from the pre-trained model: what there is to show after an update, or to judge before one, for
// which it is then given eight rewards.
export function* begin({ model, code, question, seed, who, updates }) {
  const bytes = Uint8Array.from(atob(model), (c) => c.charCodeAt(0)),
    { sizes, vocab, tensors } = readModel(bytes.buffer),
    gpt = GPT(sizes, 128, startKernel(code, sizes, 128)),
    [random, optimizer] = [generator(seed), makeOptimizer(gpt)];
  gpt.parameters.forEach(({ value }, i) => value.set(tensors[i].value));
  const words = `cross stay near far . ${question}`.split(" "),
    [cross, stay, near, far, end, ...shown] = words.map((word) => vocab.indexOf(` ${word}`)),
    n = shown.length,
    text = (ids) => ids.map((id) => vocab[id].trim()).join(" "),
    ask = () => shown.map((id, i) => (i === n - 1 ? id : random() < 0.5 ? cross : stay)),
    times = (ids, each) => Array(each).fill(ids);
  function told(row) {
    const [question, answer] = [row.slice(0, n), row.slice(n)],
      side = question.filter((id) => id === cross).length % 2 ? far : near,
      right = answer.at(-1) === end && answer.at(-2) === side;
    return { question: text(question), answer: text(answer), right };
  }
  for (let update = 0, reward; ; update++) {
    const isLook = who === "you" || [0, 10, 20, 40].includes(update),
      look = isLook && sample(gpt, times(shown, 16), end, random).map(told);
    yield { update, reward, look };
    if (update === updates) return;
    const asked = times(0, who === "you" ? 1 : 16).flatMap(() => times(ask(), 8)),
      rows = sample(gpt, asked, end, random);
    let rewards = rows.map((row) => (who === "coin" ? random() < 0.5 : told(row).right));
    if (who === "you") rewards = yield { judge: rows.map(told) };
    reinforce(gpt, optimizer, rows, n, rewards, 8, end);
    reward = mean(rewards);
  }
}

// In a worker: go on, as long as there is nothing to judge.
let run;
function turn({ asked, rewards } = {}) {
  if (asked) run = begin(asked);
  const { value } = run.next(rewards);
  if (value) postMessage(value);
  if (value && !value.judge) setTimeout(turn);
}

if (globalThis.WorkerGlobalScope) onmessage = ({ data }) => turn(data);
