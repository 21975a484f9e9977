// The page on which a GPT learns: it asks for a guess, starts and stops the worker, and shows the loss
// and what the model writes on the way.

import { make } from "../gpt/page.js";
import { CHARACTERS, cut } from "../gpt/tokens.js";
import { chart } from "./chart.js";
import { goOn, listenToModels, models } from "./own.js";
import { copied, reply } from "./said.js";
import {
  address,
  all,
  asked,
  data,
  field,
  find,
  learner,
  press,
  pressed,
  root,
  say,
  state,
  tales,
  trouble,
} from "./state.js";

const SAID = [0, 100, 400]; // steps at which a screen reader is told

// --- a run

// Begin a run, in a worker; null where there is nothing to learn from.
async function begin(seed) {
  try {
    state.texts ??= await tales();
  } catch {
    trouble("The tales could not be read. They stand in the folder _static, beside the pages.");
    return null;
  }
  state.worker?.terminate();
  trouble("");
  models.length = 0;
  state.run = { seed, about: null, seen: [], unseen: [], samples: [], step: 0 };
  state.worker = learner({
    about: (found) => (state.run.about = found),
    events,
    goes: (on) => (root.dataset.goes = on),
    model: (found) => models.shift()(found),
  });
  state.worker.postMessage({ asked: { ...asked, ...state.texts, seed } });
  find(".watch-after").hidden = field("copy").hidden = false;
  return state.worker;
}

const ready = async () => state.worker ?? begin(state.seed);

function events(given, { ended }) {
  const { run } = state;
  for (const { step, loss, unseen, text } of given) {
    run.step = step;
    const before = run.seen.at(-1)?.[1] ?? loss;
    if (loss !== undefined) run.seen.push([step, 0.8 * before + 0.2 * loss]); // batches differ
    if (unseen !== undefined) run.unseen.push([step, unseen]);
    if (text === undefined) continue;
    run.samples.push({ step, text: text.trim() });
    const sample = make("span", {}, text.trim() || "(only spaces)");
    find(".watch-live .watch-samples").prepend(
      make("li", {}, make("b", {}, `step ${step}`), " ", sample),
    );
    if (SAID.includes(step) || step === asked.steps)
      say(`Step ${step}. ${inNumbers()} It writes: ${text.trim()}`);
  }
  if (ended) go(false);
  drawing ??= requestAnimationFrame(draw);
}

// --- what is seen

let drawing = null;
const last = (points) => points.at(-1)?.[1].toFixed(2) ?? "–";
function inNumbers() {
  const { seen, unseen } = state.run;
  return `Loss ${seen.length ? `${last(seen)} on text seen, ` : ""}${last(unseen)} on text unseen.`;
}

function draw() {
  drawing = null;
  const { run, texts, own } = state;
  if (!run.about) return;
  const size = `${run.about.parameters.toLocaleString("en")} parameters`;
  find(".watch-state").textContent =
    `Step ${run.step} of ${asked.steps}, seed ${run.seed}, ${size}. ${inNumbers()}`;
  find(".watch-chart").innerHTML = chart({
    steps: asked.steps,
    baselines: { ...run.about.baselines, entropy: texts.entropy },
    names: data.words.baselines,
    lines: [
      { name: "text seen", look: "seen", points: run.seen },
      { name: "text unseen", look: "unseen", points: run.unseen },
    ],
  });
  if (run.step >= 200 && !own)
    find(".watch-reply").textContent = reply(
      run,
      texts,
      data.words.guesses[pressed("guess")?.value],
    );
}

// --- what the reader does

async function go(on) {
  if (!(await ready())) return;
  const { run } = state;
  if (on && run.step >= asked.steps) return reset(run.seed + 1);
  state.going = on;
  if (on) goOn();
  field("go").textContent = state.going ? "Pause" : run.step ? "Go on" : "Start";
  state.worker.postMessage({ go: state.going });
  if (!state.going && run.about && run.step < asked.steps) say(`Step ${run.step}. ${inNumbers()}`);
}

async function reset(seed) {
  find(".watch-live .watch-samples").replaceChildren();
  find(".watch-reply").textContent = "";
  history.replaceState(null, "", state.own ? "#" : address(seed));
  await begin(seed);
  go(true);
}

function train() {
  const words = field("pattern").value === "words",
    pattern = words ? data.pattern : CHARACTERS,
    tokens = cut(field("own").value, pattern),
    at = Math.floor(0.9 * tokens.length),
    [seen, unseen, prompt] = [tokens.slice(0, at), tokens.slice(at), tokens.slice(0, 5)];
  if (unseen.length <= 2 * asked.sizes.T)
    return trouble(
      `The last tenth is kept to measure on, and of this text it has ${unseen.length} tokens. It ` +
        `takes more than ${2 * asked.sizes.T}: a longer text, or characters as tokens.`,
    );
  state.own = true;
  state.texts = { seen: seen.join(""), unseen: unseen.join(""), prompt: prompt.join("") };
  Object.assign(state.texts, { pattern, length: words ? data.length : 150 });
  reset((state.run ?? state).seed);
}

function listen() {
  const presses = {
    guess: ({ target }) => {
      press("guess", target);
      if (!state.run) go(true);
    },
    go: () => go(!state.going),
    step: async () => {
      if (state.going) await go(false);
      if (await ready()) state.worker.postMessage({ step: true });
    },
    again: () => reset((state.run ?? state).seed + 1),
    train,
    copy: async ({ target }) => {
      const { run, own, texts } = state,
        words = copied(run, own ? null : texts, inNumbers(), address(run.seed)),
        before = target.textContent;
      try {
        await navigator.clipboard.writeText(words);
        say((target.textContent = "Copied"));
        setTimeout(() => (target.textContent = before), 2000);
      } catch {
        trouble(words); // a browser that lets no page copy
      }
    },
  };
  for (const [name, does] of Object.entries(presses))
    all(name).forEach((one) => one.addEventListener("click", does));
  listenToModels(go);
  find(".watch-seed").textContent = state.seed;
}

if (root) listen();
