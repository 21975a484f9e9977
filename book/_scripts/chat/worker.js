// What runs in the worker: questions come as messages, and each answer repeats their `id`. A task is a
// generator of messages, and a reader may stop it after each.

import { softmax } from "../gpt/model.js";
import { draw, likeliest, uniform } from "../gpt/sampling.js";
import { DAMAGED, readGGUF } from "./gguf.js";
import { Llama, readText } from "./model.js";
import { Reasons } from "./reasons.js";
import { BytePairTokenizer, chatIds } from "./tokens.js";

const ENDS = ["<|im_end|>", "<|endoftext|>"];

// The chat model of a file that readGGUF has read, and its tasks.
export function chatModel(file, codes) {
  const { "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": merges } = file.about,
    tokenizer = BytePairTokenizer(tokens, merges),
    model = Llama(file, codes),
    { T } = model.sizes;

  function* tokenize(messages) {
    yield { tokens: chatIds(tokenizer, messages).map((id) => ({ id, text: tokenizer.text(id) })) };
  }

  // The likeliest token, or with a temperature one that is drawn.
  function next(logits_V, temperature, number) {
    if (!temperature) return likeliest(logits_V, 1)[0];
    return draw(softmax(logits_V.map((logit) => logit / temperature)), number);
  }

  // Each message with what has been said so far.
  function* answer({ messages, temperature = 0, seed = 0, n = T }) {
    const ids = chatIds(tokenizer, messages),
      so = { ids, prompt: ids.length, stopped: "full" },
      decode = tokenizer.decoder();
    if (ids.length >= T)
      throw new Error(`The conversation is longer than ${T} tokens: ${ids.length}.`);
    yield { prompt: so.prompt, so };
    while (ids.length < T && so.stopped === "full") {
      const began = performance.now();
      for (const read of readText(model, ids)) yield { ...read, so };
      const id = next(model.logits(), temperature, uniform(seed, ids.length));
      if (ENDS.includes(tokens[id])) so.stopped = "end";
      else {
        const token = { id, text: decode(id), ms: performance.now() - began, read: ids.length };
        if (ids.push(id) === so.prompt + n) so.stopped = "n";
        yield { token, so };
      }
    }
  }

  const tasks = { tokenize, answer, ...Reasons(model, tokenizer) };
  return { model, tokenizer, tasks };
}

// --- the messages

let chat, // the model, once there is one
  queue = Promise.resolve(); // one task after the other
const stops = new Set();
let heard = 0; // when messages could last come in

// Lets messages in, now and then: a browser makes each such pause 4 ms long.
async function pause() {
  if (performance.now() < heard + 50) return;
  await new Promise((done) => setTimeout(done));
  heard = performance.now();
}

async function load({ load, code, sha256 }) {
  chat = undefined;
  const file = readGGUF(load),
    digest = sha256 && (await globalThis.crypto?.subtle?.digest("SHA-256", load)),
    found = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, 0));
  if (digest && found.join("") !== sha256) throw new Error(DAMAGED);
  const bytes = load.byteLength;
  chat = chatModel(file, code);
  load.transfer?.(0); // what has been copied is free at once
  return { ready: { ...file.sizes, bytes } };
}

async function work(asked) {
  const { id } = asked;
  if (asked.load) return postMessage({ id, ...(await load(asked)) });
  const name = Object.keys(chat.tasks).find((task) => asked[task]);
  let done;
  for (const { so, ...message } of chat.tasks[name](asked[name])) {
    done = so;
    postMessage({ id, ...message });
    await pause();
    if (stops.has(id)) break;
  }
  postMessage({ id, done: { ...done, ...(stops.delete(id) && { stopped: "you" }) } });
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
