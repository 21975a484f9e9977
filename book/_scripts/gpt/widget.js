// The widget in which the book's GPT writes: it asks the model for numbers and shows them. The page
// holds its words and controls (book/_ext/play/gpt.py); the weights come when they are asked for.

import { load, make, patient, percent, tableRow } from "./page.js";
import { Reading } from "./reading.js";
import { draw, likeliest, probabilities, uniform } from "./sampling.js";
import { named, tokenize } from "./tokens.js";

const PACE = 30; // milliseconds from one token to the next, so that eyes can follow
const SPOKEN = 80; // characters that a screen reader is given at a time, a sentence if it is shorter
const SHOWN = 8; // tokens in the table of what may come next

// Have the widget answer to its reader.
function liven(root) {
  const find = (name) => root.querySelector(name),
    field = (name) => find(`[name="${name}"]`);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let reading = null,
    writing = null;

  const say = (words) => (find(".gpt-said").textContent = words);

  // --- what the reader has typed

  const prompt = () => tokenize(reading.model, field("prompt").value);

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
      reading.read(ids);
      reading.prompted = ids.length;
    }
    show();
  }

  // --- writing

  // The probabilities (V,) of the next token.
  const next = ({ temperature, most }) =>
    probabilities(reading.seen.at(-1).logits_V, temperature, most);

  // The token that was drawn and read, and its probability.
  function one(chosen) {
    const p_V = next(chosen);
    const id = draw(p_V, uniform(chosen.seed, reading.ids.length));
    reading.read([...reading.ids, id]);
    return { token: reading.model.vocab[id], probability: p_V[id] };
  }

  // Write token after token, until as many are written or somebody stops it.
  async function write() {
    const chosen = !writing && typed();
    if (!chosen) return;
    const run = {}; // another object is writing, or none, when somebody has pressed Stop
    let reported = reading.ids.length;
    running(run);
    for (let n = 0; n < chosen.length && writing === run; n++) {
      const { token } = one(chosen),
        { length } = reading.text(reported);
      const ended = /[.!?\n]/.test(token) || (length >= SPOKEN && token.startsWith(" "));
      if (ended) {
        say(reading.text(reported));
        reported = reading.ids.length;
      }
      if (!calm.matches || ended) show();
      await new Promise((done) => setTimeout(done, calm.matches ? 0 : PACE));
    }
    if (writing === run) running(null);
    show();
    if (reported < reading.ids.length) say(reading.text(reported));
  }

  // Begin a run, or end it (null).
  function running(run) {
    writing = run;
    root.dataset.state = run ? "writing" : "waiting";
    for (const name of ["write", "one", "stop"])
      field(name).setAttribute("aria-disabled", Boolean(run) === (name !== "stop"));
  }

  // --- showing

  // Show what was read and written, and what may come next.
  function show() {
    const chosen = typed();
    if (find(".gpt-shown").hidden) return;
    const { start, prompted } = reading,
      piece = (className, from, to) => make("span", { className }, reading.text(from, to));
    find(".gpt-text").replaceChildren(
      piece("pale", 0, Math.min(start, prompted)),
      piece("pale written", Math.min(start, prompted), start),
      piece("read", start, Math.max(start, prompted)),
      piece("written", Math.max(start, prompted)),
    );
    find(".gpt-open").hash = new URLSearchParams({ text: reading.text(start) });
    if (chosen) showNext(next(chosen), chosen);
  }

  // The likeliest tokens, always as many rows.
  function showNext(p_V, { temperature, most }) {
    const shown = likeliest(p_V, SHOWN);
    const line = (name, p) => {
      const bar = make("span", { className: "gpt-share" }, make("span"), percent(p));
      return Object.assign(tableRow(name, bar), { style: `--share: ${p}` });
    };
    const before = reading.text(reading.start).slice(-16);
    find(".gpt-next caption").textContent =
      `What follows “${before.replaceAll("\n", "↵")}”: ` +
      (temperature === 0 ? "the likeliest" : `temperature ${temperature}`) +
      (most < p_V.length ? `, among the ${most} likeliest` : "");
    const others = p_V.reduce((sum, p, id) => (shown.includes(id) ? sum : sum + p), 0);
    find(".gpt-next tbody").replaceChildren(
      ...shown.map((id) => line(named(reading.model.vocab[id]), p_V[id])),
      line(`${p_V.length - SHOWN} others`, others),
    );
  }

  // --- what the reader does

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
      reading = new Reading(await load(root.dataset.weights));
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
  for (const name of ["temperature", "top-k"]) field(name).addEventListener("input", show);
  find(".gpt-scriptless").remove();
  find(".gpt-load").hidden = false;
  root.dataset.state = "waiting";
}

globalThis.document?.querySelectorAll(".gpt").forEach(liven);
