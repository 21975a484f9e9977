// The text on the first page comes letter by letter, where motion is welcome, and can be stopped.
// All of it stands on the page from the start, for those who listen and where no script runs.
"use strict";

(() => {
  const figure = document.querySelector(".written");
  if (!figure) return;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const shown = figure.querySelector(".written-text span");
  const actions = figure.querySelector(".written-actions");
  const button = actions.querySelector("button");
  const whole = shown.textContent;
  const pause = Math.max(28, 2400 / whole.length); // ms a letter
  const waiting = document.createElement("span");
  waiting.className = "to-come";
  shown.after(waiting);
  let timer = null;

  function show(count) {
    shown.textContent = whole.slice(0, count);
    waiting.textContent = whole.slice(count);
    figure.dataset.at = count;
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    show(whole.length);
    button.textContent = "Write it again";
  }

  function write() {
    let count = 0;
    show(count);
    button.textContent = "Stop, show all of it";
    timer = setInterval(() => (++count < whole.length ? show(count) : stop()), pause);
  }

  function settle() {
    actions.hidden = still.matches;
    if (still.matches) stop();
  }

  button.addEventListener("click", () => (timer ? stop() : write()));
  still.addEventListener("change", settle);
  settle();
  if (!still.matches) write();
})();
