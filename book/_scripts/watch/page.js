// The page on which a GPT learns: it asks for a guess, starts and stops the worker, and shows the loss
// and what the model writes on the way.

import { make } from "../gpt/page.js";
import { CHARACTERS, cut } from "../gpt/tokens.js";
import { chart } from "./chart.js";
import { goOn, listenToModels, models } from "./own.js";
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
  find(".watch-after").hidden = false;
  goOn();
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
    const sample = { step, text: text.trim() || "(only spaces)" },
      [newest, earlier] = lists();
    run.samples.push(sample);
    earlier.prepend(...newest.children);
    newest.append(
      make("li", {}, make("b", {}, `step ${step}`), " ", make("span", {}, sample.text)),
    );
    if (step === 0) newest.scrollIntoView({ block: "nearest" });
    if (SAID.includes(step) || step === asked.steps)
      say(`Step ${step}. ${inNumbers()} It writes: ${sample.text}`);
  }
  if (ended) go(false);
  drawing ??= requestAnimationFrame(draw);
}

// --- what is seen

let drawing = null;
const lists = () => document.querySelectorAll(".watch-live .watch-samples"); // the newest, earlier ones
const last = (points) => points.at(-1)?.[1].toFixed(2) ?? "–";
const size = () => `${state.run.about.parameters.toLocaleString("en")} parameters`;
function inNumbers() {
  const { seen, unseen } = state.run;
  return `Loss ${seen.length ? `${last(seen)} on text seen, ` : ""}${last(unseen)} on text unseen.`;
}

function draw() {
  drawing = null;
  const { run, texts, own } = state;
  if (!run.about) return;
  find(".watch-state").textContent =
    `Step ${run.step} of ${asked.steps}, seed ${run.seed}, ${size()}. ${inNumbers()}`;
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
    find(".watch-reply").textContent = data.words.guesses[pressed("guess")?.value] ?? "";
}

// The text of *Copy this run*. Of a text of one’s own it has no word, and no address that repeats it.
function copied() {
  const { run, own } = state,
    said = ({ step, text }) => `\nStep ${step}: ${text.replaceAll("\n", " ")}`;
  return (
    `I watched a GPT learn${own ? " from a text of mine" : ""}: ${size()}. ${inNumbers()}` +
    (own ? "" : [run.samples[0], run.samples.at(-1)].map(said).join("")) +
    `\nStep ${run.step}. ${location.href.split("#")[0]}${own ? "" : address(run.seed)}`
  );
}

// --- what the reader does

async function go(on) {
  if (!(await ready())) return;
  const { run } = state,
    over = run.step >= asked.steps;
  state.going = on;
  if (on) goOn();
  if (over && document.activeElement === field("go")) field("again").focus();
  field("go").hidden = field("step").hidden = over;
  field("go").textContent = state.going ? "Pause" : run.step ? "Go on" : "Start";
  state.worker.postMessage({ go: state.going });
  if (!state.going && run.about && !over) say(`Step ${run.step}. ${inNumbers()}`);
}

async function reset(seed) {
  lists().forEach((list) => list.replaceChildren());
  find(".watch-reply").textContent = "";
  history.replaceState(null, "", state.own ? "#" : address(seed));
  await begin(seed);
  await go(true);
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
  return reset((state.run ?? state).seed);
}

function listen() {
  const presses = {
    guess: ({ target }) => {
      press("guess", target);
      return state.run || go(true);
    },
    go: () => go(!state.going),
    step: async () => {
      if (state.going) await go(false);
      if (!(await ready())) return;
      goOn();
      state.worker.postMessage({ step: true });
    },
    again: () => reset((state.run ?? state).seed + 1),
    train,
    copy: async ({ target }) => {
      const words = copied(),
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
  let busy = false; // with the last press, as while the tales come
  const hear = (does) => async (event) => {
    if (busy) return;
    busy = true;
    await does(event);
    busy = false;
  };
  for (const [name, does] of Object.entries(presses))
    all(name).forEach((one) => one.addEventListener("click", hear(does)));
  listenToModels(go);
  find(".watch-seed").textContent = state.seed;
}

if (root) listen();
