// The page on which a GPT learns: it asks for a guess, starts and stops the worker, and shows the loss
// and what the model writes on the way.

import { make } from "../gpt/page.js";
import { CHARACTERS, cut } from "../gpt/tokens.js";
import { chart } from "./chart.js";
import { goOn, listenToModels, models } from "./own.js";
import { data, field, find, listen, press, pressed, root, say, trouble } from "./elements.js";
import { address, asked, learner, state, tales } from "./state.js";

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
  lists().forEach((list) => list.replaceChildren());
  find(".watch-reply").textContent = "";
  history.replaceState(null, "", state.texts.entropy ? address(seed) : "#");
  state.seed = seed;
  state.run = { about: null, seen: [], unseen: [], samples: [], step: 0 };
  state.worker = learner({
    about: (found) => (state.run.about = found),
    events,
    goes: (on) => (root.dataset.goes = on),
    model: (found) => models.shift()(found),
  });
  state.worker.postMessage({ asked: { ...asked, ...state.texts, seed } });
  goOn();
  return state.run;
}

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
    if ([0, 100, 400, asked.steps].includes(step)) say(`${told()} It writes: ${sample.text}`);
  }
  if (ended) go(false);
  draw();
}

// --- what is seen

const lists = () => document.querySelectorAll(".watch-live .watch-samples"); // the newest, earlier ones
const last = (points) => points.at(-1)?.[1].toFixed(2) ?? "–";
function told() {
  const { step, about, seen, unseen } = state.run;
  return (
    `Step ${step} of ${asked.steps}, seed ${state.seed}, ${about.parameters.toLocaleString("en")} parameters. ` +
    `Loss ${seen.length ? `${last(seen)} on text seen, ` : ""}${last(unseen)} on text unseen.`
  );
}

function draw() {
  const { run, texts } = state;
  find(".watch-state").textContent = told();
  find(".watch-chart").innerHTML = chart({
    steps: asked.steps,
    baselines: { ...run.about.baselines, entropy: texts.entropy },
    names: data.words.baselines,
    lines: [
      { name: "text seen", look: "seen", points: run.seen },
      { name: "text unseen", look: "unseen", points: run.unseen },
    ],
  });
  if (run.step >= 200 && texts.entropy)
    find(".watch-reply").textContent = data.words.guesses[pressed("guess")?.value] ?? "";
}

// The text of *Copy this run*. Of a text of one’s own it has no word, and no address that repeats it.
function copied() {
  const { seed, run } = state,
    here = location.href.split("#")[0];
  if (!state.texts.entropy) return `I watched a GPT learn from a text of mine. ${told()}\n${here}`;
  const [noise, now] = [run.samples[0], run.samples.at(-1)].map(
    ({ step, text }) => `Step ${step}: ${text}`,
  );
  return `I watched a GPT learn. ${told()}\n${noise}\n${now}\n${here}${address(seed)}`;
}

// --- what the reader does

// Start or stop the run, or begin one; not while the tales come.
let coming = false;
async function go(on, seed = state.seed) {
  if (coming) return;
  coming = true;
  const run = seed === state.seed && state.run ? state.run : await begin(seed);
  coming = false;
  if (!run) return;
  const over = run.step >= asked.steps;
  state.going = on;
  if (on) goOn();
  if (over && document.activeElement === field("go")) field("again").focus();
  field("go").hidden = field("step").hidden = over;
  field("go").textContent = on ? "Pause" : run.step ? "Go on" : "Start";
  state.worker.postMessage({ go: on });
  if (!on && run.step && !over) say(told());
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
  state.texts = { seen: seen.join(""), unseen: unseen.join(""), prompt: prompt.join("") };
  Object.assign(state.texts, { pattern, length: words ? data.length : 150 });
  state.run = null;
  go(true);
}

if (root) {
  listen({
    guess: ({ target }) => {
      press("guess", target);
      if (!state.run) go(true);
    },
    go: () => go(!state.going),
    step: async () => {
      await go(false);
      if (!state.worker) return;
      goOn();
      state.worker.postMessage({ step: true });
    },
    again: () => go(true, state.seed + 1),
    train,
    copy: async ({ target }) => {
      const words = copied();
      try {
        await navigator.clipboard.writeText(words);
        say((target.textContent = "Copied"));
        setTimeout(() => (target.textContent = "Copy this run"), 2000);
      } catch {
        trouble(words); // a browser that lets no page copy
      }
    },
  });
  listenToModels(go);
}
