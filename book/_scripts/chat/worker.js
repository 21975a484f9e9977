// What runs in the worker: questions come as messages, and each answer repeats their `id`. A task is a
// generator of messages, in which a true answer to one means that the reader has stopped it.

import { softmax } from "../gpt/model.js";
import { draw, uniform } from "../gpt/sampling.js";
import { readGGUF } from "./gguf.js";
import { Llama, readText } from "./model.js";
import { BytePairTokenizer, chatIds } from "./tokens.js";

const ENDS = ["<|im_end|>", "<|endoftext|>"];

// The index of the largest.
function largest(logits_V) {
  let best = 0;
  for (let i = 1; i < logits_V.length; i++) if (logits_V[i] > logits_V[best]) best = i;
  return best;
}

// The chat model of a GGUF file, its sizes and its tasks. Throws an Error, one sentence for a reader.
export function chatModel(buffer, codes) {
  const file = readGGUF(buffer),
    model = Llama(file, codes),
    { "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": merges } = file.about,
    tokenizer = BytePairTokenizer(tokens, merges),
    { T } = model.sizes;

  function tokenize(messages) {
    const ids = chatIds(tokenizer, messages);
    return { tokens: ids.map((id) => ({ id, text: tokenizer.text(id) })) };
  }

  // The likeliest token, or with a temperature one that is drawn.
  function next(logits_V, temperature, number) {
    if (!temperature) return largest(logits_V);
    return draw(softmax(logits_V.map((logit) => logit / temperature)), number);
  }

  function* answer({ messages, temperature = 0, seed = 0, n = T }) {
    const ids = chatIds(tokenizer, messages),
      prompt = ids.length,
      decode = tokenizer.decoder(),
      done = (stopped) => ({ done: { ids, prompt, stopped } });
    if (prompt >= T)
      return { error: `This conversation is longer than ${T} tokens. Please begin a new one.` };
    while (ids.length < Math.min(prompt + n, T)) {
      const began = performance.now();
      for (const share of readText(model, ids)) if (yield { reading: share }) return done("you");
      const id = next(model.logits(), temperature, uniform(seed, ids.length));
      if (ENDS.includes(tokens[id])) return done("end");
      const token = { id, text: decode(id), ms: performance.now() - began, read: ids.length };
      ids.push(id);
      if (yield { token }) return done("you");
    }
    return done(ids.length < T ? "n" : "full");
  }

  const ready = { ...model.sizes, bytes: buffer.byteLength };
  return { model, tokenizer, ready, tasks: { tokenize, answer } };
}

// --- the messages

let chat, // the model, once there is one
  queue = Promise.resolve(); // one task after the other
const stops = new Set();
const pause = () => new Promise((done) => setTimeout(done));

async function load({ load, code, sha256 }) {
  chat = undefined;
  const made = chatModel(load, code),
    digest = sha256 && (await globalThis.crypto?.subtle?.digest("SHA-256", load));
  const found =
    digest && Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, 0));
  if (found && found.join("") !== sha256)
    throw new Error("This file is damaged: some of its bytes have changed. Please load it again.");
  chat = made;
  return { ready: made.ready };
}

async function work(asked) {
  const { id } = asked;
  if (asked.load) return postMessage({ id, ...(await load(asked)) });
  const name = Object.keys(chat.tasks).find((task) => asked[task]),
    task = chat.tasks[name](asked[name]);
  if (!task.next) return postMessage({ id, ...task }); // the whole answer
  for (let stop = false; ; stop = stops.delete(id)) {
    const { value, done } = task.next(stop);
    postMessage({ id, ...value });
    if (done) return;
    await pause();
  }
}

if (globalThis.WorkerGlobalScope) {
  onmessage = ({ data }) => {
    if (data.stop !== undefined) stops.add(data.stop);
    else
      queue = queue
        .then(() => work(data))
        .catch(({ message }) => postMessage({ id: data.id, error: message }));
  };
}
