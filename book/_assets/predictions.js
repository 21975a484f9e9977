// Brings predictions to life (helpers/explore/): lock a guess, then uncover the result; what waits for
// it stands in its fold (postprocess/predictions.py).
"use strict";

const near = (guess, number, close) => Math.abs(guess - number) <= close * (Math.abs(number) || 1);

function answered(form) {
  if (form.dataset.kind === "choice") return new FormData(form).get(form.dataset.key);
  if (form.dataset.kind === "number") return form.querySelector("input").valueAsNumber;
  const lines = [];
  for (const input of form.querySelectorAll("input[type=range]")) {
    (lines[input.dataset.line] ??= []).push(input.valueAsNumber);
  }
  return lines;
}

function verdict(form, guess, { answer, close, replies, said }) {
  const { kind } = form.dataset;
  if (kind === "curve") return said.curve;
  const number = kind === "number";
  const right = number ? near(guess, answer, close) : guess === answer;
  const reply = Object.entries(replies).find(([key]) =>
    number ? near(guess, Number(key), close) : key === guess,
  )?.[1];
  const named = number
    ? String(guess).replace("-", "−")
    : `“${form.querySelector("input:checked + span").innerHTML}”`;
  return `${said.guessed} ${named}. ${right ? said.right : (reply ?? said.other)}`;
}

// What a drawing's axes span, in its own units and on the screen (helpers/explore/ wrote it).
function frame(svg) {
  const { low, high, edge, top } = svg.dataset;
  const { width, height } = svg.viewBox.baseVal;
  return {
    low: +low,
    high: +high,
    edge: +edge,
    wide: width - 2 * edge,
    foot: height - edge,
    tall: height - edge - top,
  };
}

function placeSketch(svg, lines) {
  const { low, high, edge, wide, foot, tall } = frame(svg);
  lines.forEach((values, line) => {
    const points = values.map((value, at) => [
      edge + (at * wide) / (values.length - 1),
      foot - ((value - low) / (high - low)) * tall,
    ]);
    svg.querySelector(`.guess[data-line="${line}"]`)?.setAttribute("points", points.join(" "));
  });
}

function placeNumber(svg, guess) {
  const { low, high, edge, wide } = frame(svg);
  const share = Math.min(Math.max((guess - low) / (high - low), 0), 1);
  const mark = svg.querySelector(".guess");
  mark.setAttribute("transform", `translate(${edge + share * wide})`);
  mark.setAttribute("visibility", "visible");
}

function initSketch(form) {
  const svg = form.querySelector("svg.sketch");
  const inputs = [...form.querySelectorAll("input[type=range]")];
  const hint = document.createElement("p");
  hint.className = "predict-hint";
  hint.textContent = `Drag the dashed ${
    svg.querySelectorAll(".guess").length > 1 ? "lines" : "line"
  } up or down, or move the sliders.`;
  svg.before(hint);
  const redraw = () => placeSketch(svg, answered(form));
  form.addEventListener("input", redraw);
  // Drag in the plot: the pointer moves the nearest point of the line that is nearest to it.
  let line = null;
  function drag(event) {
    const { low, high, edge, wide, foot, tall } = frame(svg);
    const box = svg.getBoundingClientRect();
    const unit = svg.viewBox.baseVal.width / box.width;
    const lines = answered(form);
    const x = (event.clientX - box.left) * unit;
    const at = Math.round(((x - edge) / wide) * (lines[0].length - 1));
    if (at < 0 || at >= lines[0].length) return;
    const value = low + ((foot - (event.clientY - box.top) * unit) / tall) * (high - low);
    if (line === null) {
      const away = lines.map((values) => Math.abs(values[at] - value));
      line = away.indexOf(Math.min(...away));
    }
    const input = inputs.find(
      (i) => Number(i.dataset.line) === line && Number(i.dataset.at) === at,
    );
    input.value = value;
    redraw();
  }
  svg.addEventListener("pointerdown", (event) => {
    if (form.dataset.locked) return;
    line = null;
    svg.setPointerCapture(event.pointerId);
    drag(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (svg.hasPointerCapture(event.pointerId)) drag(event);
  });
  redraw();
}

// The verdict stands where the guess was made, and has the focus, so that it is read out.
function initPrediction(form) {
  const reveal = document.querySelector(`details.reveal[data-key="${form.dataset.key}"]`);
  const fields = form.querySelector("fieldset"),
    button = form.querySelector("button");
  const note = form.querySelector(".predict-locked"); // a status: what it is given is read out
  const said = reveal?.querySelector(".reveal-guess");
  const again = document.createElement("button");
  again.type = "button";
  again.textContent = "Guess again";
  button.after(again);
  const lock = (locked) => {
    if (locked) form.dataset.locked = "yes";
    else delete form.dataset.locked;
    fields.disabled = button.hidden = locked;
    again.hidden = !locked;
    note.textContent = locked && !reveal ? "Locked." : "";
  };
  lock(false);
  if (form.dataset.kind === "curve") initSketch(form);
  const inputs = [...fields.querySelectorAll("input")],
    name = form.dataset.key;
  const settle = () => {
    const guess = answered(form);
    lock(true);
    if (!reveal) return;
    if (form.dataset.kind === "number") placeNumber(reveal.querySelector("svg"), guess);
    if (form.dataset.kind === "curve") placeSketch(reveal.querySelector("svg"), guess);
    (form.querySelector("label:has(input:checked, [type=number])") ?? fields.lastChild).after(said);
    said.innerHTML = verdict(form, guess, JSON.parse(reveal.dataset.told));
    said.removeAttribute("role");
    said.tabIndex = -1;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (fields.disabled) return;
    keep({ [name]: inputs.map((input) => (input.type === "radio" ? input.checked : input.value)) });
    settle();
    if (!reveal) return;
    said.focus();
    reveal.open = true;
  });
  again.addEventListener("click", ({ detail }) => {
    if (detail > 1) return; // the second of two quick clicks was meant for the button before it
    form.reset();
    keep({ [name]: undefined });
    lock(false);
    form.dispatchEvent(new Event("input")); // lets a sketch be drawn anew
    if (reveal) {
      reveal.open = false;
      said.replaceChildren();
      reveal.querySelector("svg.number-line .guess")?.setAttribute("visibility", "hidden");
    }
    form.querySelector("input").focus();
    note.textContent = "Your guess is taken back.";
  });
  if (reveal) labelFold(reveal);
  form.classList.add("alive");
  const before = kept()[name];
  if (before?.length !== inputs.length) return;
  inputs.forEach((input, at) => {
    input[input.type === "radio" ? "checked" : "value"] = before[at];
  });
  form.dispatchEvent(new Event("input"));
  settle();
}

function labelFold(reveal) {
  const summary = reveal.querySelector("summary"),
    closed = summary.textContent;
  const name = () => {
    summary.textContent = reveal.open ? "The result" : closed;
  };
  name(); // it may have been opened before this script came
  reveal.addEventListener("toggle", name);
}

document.addEventListener("DOMContentLoaded", () =>
  document.querySelectorAll("form.predict").forEach(initPrediction),
);
