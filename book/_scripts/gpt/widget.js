// The widget in which the book's GPT writes: it asks the model for numbers and shows them. The page
// holds its words and controls (book/_ext/play/gpt.py); the weights come when they are asked for.

import { load, onTheme, patient, percent } from "./page.js";
import { Reading } from "./reading.js";
import { draw, probabilities, uniform } from "./sampling.js";
import { atPosition, pointed, showMap, showNext, showReads, showText, weightsOf } from "./show.js";
import { named, tokenize } from "./tokens.js";

const PACE = 30; // milliseconds from one token to the next, so that eyes can follow
const SPOKEN = 80; // characters that a screen reader is given at a time, a sentence if it is shorter

// Have the widget answer to its reader.
function liven(root) {
  const find = (name) => root.querySelector(name),
    field = (name) => find(`[name="${name}"]`);
  const canvas = find("canvas"),
    position = field("position"),
    calm = matchMedia("(prefers-reduced-motion: reduce)");
  const view = { find, field, reading: null };
  let writing = null;

  const say = (words) => (find(".gpt-said").textContent = words);

  // --- what the reader has typed

  const prompt = () => tokenize(view.reading.model, field("prompt").value);

  // The settings, or what is wrong with them.
  function settings() {
    const fields = ["temperature", "top-k", "seed", "length"].map(field);
    const bad = fields.find((input) => !input.checkValidity());
    if (bad) return { wrong: `${bad.parentElement.textContent.trim()}: ${bad.validationMessage}` };
    const [temperature, most, seed, length] = fields.map((input) => input.valueAsNumber);
    return { temperature, most, seed, length };
  }

  const trouble = patient((words) => (find(".gpt-trouble").textContent = words));

  // The settings if there are both, a prompt and settings; and a word about what is wrong.
  function typed() {
    const { ids, told } = prompt(),
      chosen = settings();
    trouble([told, chosen.wrong].filter(Boolean).join(" "));
    return ids.length && !chosen.wrong ? chosen : null;
  }

  // Read the prompt.
  function begin() {
    running(null);
    const { ids } = prompt();
    find(".gpt-shown").hidden = !ids.length;
    if (ids.length) {
      view.reading.read(ids);
      view.reading.prompted = ids.length;
      follow();
    }
    show();
  }

  // --- writing

  // Look at the last position.
  function follow() {
    position.max = view.reading.seen.length - 1;
    position.value = position.max;
  }

  // The probabilities (V,) after a position.
  const next = (at, { temperature, most }) =>
    probabilities(view.reading.seen[at].logits_V, temperature, most);

  // The token that was drawn and read, and its probability.
  function one(chosen) {
    const p_V = next(view.reading.seen.length - 1, chosen);
    const id = draw(p_V, uniform(chosen.seed, view.reading.ids.length));
    view.reading.read([...view.reading.ids, id]);
    follow();
    return { token: view.reading.model.vocab[id], probability: p_V[id] };
  }

  // Write token after token, until as many are written or somebody stops it.
  async function write() {
    const chosen = !writing && typed();
    if (!chosen) return;
    const run = {}; // another object is writing, or none, when somebody has pressed Stop
    let reported = view.reading.ids.length;
    running(run);
    for (let n = 0; n < chosen.length && writing === run; n++) {
      const { token } = one(chosen),
        { length } = view.reading.text(reported);
      const ended = /[.!?\n]/.test(token) || (length >= SPOKEN && token.startsWith(" "));
      if (ended) {
        say(view.reading.text(reported));
        reported = view.reading.ids.length;
      }
      if (!calm.matches || ended) show();
      await new Promise((done) => setTimeout(done, calm.matches ? 0 : PACE));
    }
    if (writing === run) running(null);
    show();
    if (reported < view.reading.ids.length) say(view.reading.text(reported));
  }

  // Begin a run, or end it (null).
  function running(run) {
    writing = run;
    root.dataset.state = run ? "writing" : "waiting";
    for (const name of ["write", "one", "stop"])
      field(name).setAttribute("aria-disabled", Boolean(run) === (name !== "stop"));
  }

  // --- showing

  // Show what was read, from where one looks.
  function show() {
    const chosen = typed(),
      at = Number(position.value);
    if (find(".gpt-shown").hidden) return;
    showText(view, at);
    showReads(view, at);
    showMap(view, at);
    if (chosen) showNext(view, at, next(at, chosen), chosen);
  }

  // --- what the reader does

  // A slider that moves names its token by itself.
  function choose(at, whole = true) {
    position.value = at;
    show();
    const sentence = find(".gpt-reads").textContent;
    say(whole ? sentence : sentence.replace(`${atPosition(view, Number(at))} gives`, "it gives"));
  }

  const under = (event) => (view.reading && !writing ? pointed(view, event) : null);

  // Say what is under the pointer.
  function point(event) {
    const at = under(event);
    if (!at) return;
    const [reader, other] = [at.t, at.s].map((one) => atPosition(view, one));
    find(".gpt-reads").textContent =
      at.s > at.t
        ? `${other} comes after ${reader}, which cannot read it.`
        : `${reader} gives ${percent(weightsOf(view, at.t)[at.s])} to ${other}.`;
  }

  // Write one token.
  function step() {
    const chosen = !writing && typed();
    if (!chosen) return;
    const { token, probability } = one(chosen);
    show();
    say(`${named(token)}, ${percent(probability)}`);
  }

  // Load the model, and read the prompt.
  async function start() {
    if (root.dataset.state === "loading") return;
    root.dataset.state = "loading";
    field("load").setAttribute("aria-disabled", true);
    trouble("");
    try {
      view.reading = new Reading(await load(root.dataset.weights));
    } catch {
      root.dataset.state = "waiting";
      field("load").setAttribute("aria-disabled", false);
      return trouble(
        "The weights could not be read. They stand in the folder _static, beside this " +
          "book's pages: a page that was saved alone does not have them. Else try again.",
      );
    }
    find("form").hidden = false;
    find(".gpt-load").hidden = true;
    begin();
    field("write").focus({ preventScroll: true });
    say("The model is loaded.");
  }

  const presses = { write, stop: () => running(null), one: step, anew: begin, load: start };
  for (const [name, press] of Object.entries(presses)) field(name).addEventListener("click", press);
  find("form").addEventListener("submit", (event) => event.preventDefault());
  field("prompt").addEventListener("input", begin);
  position.addEventListener("input", () => choose(position.value, false));
  for (const name of ["layer", "head"])
    field(name).addEventListener("change", () => choose(position.value));
  for (const name of ["temperature", "top-k"]) field(name).addEventListener("input", show);
  find(".gpt-text").addEventListener("click", ({ target }) => {
    if (target.dataset.at && !writing) choose(target.dataset.at);
  });
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener(
    "pointerleave",
    () => view.reading && showReads(view, Number(position.value)),
  );
  canvas.addEventListener("click", (event) => under(event) && choose(under(event).t));
  const redraw = () =>
    view.reading && !find(".gpt-shown").hidden && showMap(view, Number(position.value));
  onTheme(redraw);
  new ResizeObserver(redraw).observe(canvas);
  find(".gpt-scriptless").remove();
  find(".gpt-load").hidden = false;
  root.dataset.state = "waiting";
}

globalThis.document?.querySelectorAll(".gpt").forEach(liven);
