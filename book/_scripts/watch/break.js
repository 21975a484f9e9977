// One piece taken away, beside a healthy run with the same seed.

import { make } from "../gpt/page.js";
import { chart } from "./chart.js";
import { data, field, find, listen, press, pressed, root, say } from "./elements.js";
import { asked, learner, state, tales } from "./state.js";

let pair = []; // the broken run and the healthy one
const part = (name) => find(`.watch-broken ${name}`);

// Take a piece away, and ask what it will do.
function choose({ target }) {
  pair.forEach(({ worker }) => worker.terminate());
  pair = [];
  press("break", target);
  press("bet", null);
  find(".watch-broken").hidden = false;
  part(".watch-asks").textContent = `With ${target.textContent}, will the loss be higher or lower?`;
  for (const name of [".watch-chart", ".watch-verdict", "dl"]) part(name).replaceChildren();
  field("bet").focus({ preventScroll: true });
}

// Take the guess, and run both.
async function bet({ target }) {
  if (pair.length) return;
  press("bet", target);
  say((part(".watch-verdict").textContent = "Training both …"));
  const { value: without, textContent: name } = pressed("break");
  pair = [
    { name, without, look: "broken", points: [] },
    { name: "healthy", look: "unseen", points: [] },
  ];
  const asks = { ...asked, ...(await tales()), seed: state.seed, steps: data.brokenSteps };
  for (const one of pair) {
    one.worker = learner({
      about: ({ baselines }) => (one.baselines = baselines),
      events: (events, { ended }) => hear(one, events, ended),
    });
    one.worker.postMessage({ asked: { ...asks, without: one.without } });
    one.worker.postMessage({ go: true });
  }
}

function hear(one, events, ended) {
  for (const { step, unseen, text } of events) {
    if (unseen !== undefined) one.points.push([step, unseen]);
    one.text = text ?? one.text;
  }
  one.ended = ended;
  part(".watch-chart").innerHTML = chart({
    steps: data.brokenSteps,
    baselines: { ...one.baselines, uniform: undefined },
    names: data.words.baselines,
    lines: pair,
  });
  if (pair.every((each) => each.ended)) verdict();
}

function verdict() {
  const [loss, healthy] = pair.map(({ points }) => points.at(-1)[1]),
    what = loss < healthy ? "lower" : "higher",
    { chapter, href, ended, [what]: because } = data.words.breaks[pair[0].without];
  const says = what === pressed("bet").value ? "As you said, it is" : "It is";
  part(".watch-verdict").replaceChildren(
    `${says} ${what}: ${loss.toFixed(2)} against ${healthy.toFixed(2)} on text unseen. ${because} ${ended} `,
    make("a", { href }, `Chapter ${chapter}`),
    ".",
  );
  say(part(".watch-verdict").textContent);
  part("dl").replaceChildren(
    ...pair.flatMap(({ name, text }) => [
      make("dt", {}, `The model (${name}) writes`),
      make("dd", {}, text.trim()),
    ]),
  );
  pair.forEach(({ worker }) => worker.terminate());
}

if (root) listen({ break: choose, bet });
