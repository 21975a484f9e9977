// Brings predictions to life (helpers/explore/): lock a guess, then uncover the result; what waits for
// it stands in its fold (postprocess/predictions.py).
"use strict";

const near = (guess, number, close) => Math.abs(guess - number) <= close * (Math.abs(number) || 1);

function answered(form) {
  if (form.dataset.kind === "choice") return new FormData(form).get(form.dataset.key);
  return form.querySelector("input").valueAsNumber;
}

function verdict(form, guess, { answer, close, replies, said }) {
  const number = form.dataset.kind === "number";
  const right = number ? near(guess, answer, close) : guess === answer;
  const reply = Object.entries(replies).find(([key]) =>
    number ? near(guess, Number(key), close) : key === guess,
  )?.[1];
  const named = number
    ? String(guess).replace("-", "−")
    : `“${form.querySelector("input:checked + span").innerHTML}”`;
  return `${said.guessed} ${named}. ${right ? said.right : (reply ?? said.other)}`;
}

// The line's ends, in its own units and on the screen, are what helpers/explore/ wrote.
function placeNumber(svg, guess) {
  const [low, high, edge] = [svg.dataset.low, svg.dataset.high, svg.dataset.edge].map(Number);
  const share = Math.min(Math.max((guess - low) / (high - low), 0), 1);
  const mark = svg.querySelector(".guess");
  const wide = svg.viewBox.baseVal.width - 2 * edge;
  mark.setAttribute("transform", `translate(${edge + share * wide})`);
  mark.setAttribute("visibility", "visible");
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
  const inputs = [...fields.querySelectorAll("input")],
    name = form.dataset.key;
  const settle = () => {
    const guess = answered(form);
    lock(true);
    if (!reveal) return;
    if (form.dataset.kind === "number") placeNumber(reveal.querySelector("svg"), guess);
    form.querySelector("label:has(input:checked, [type=number])").after(said);
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
