// Brings predictions and explorers on the page to life. What they show was computed when the
// outputs were stored (helpers/explore/); nothing is fetched and nothing leaves the page.
"use strict";

// --- explorers: stored frames under native range inputs

async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// What is packed stands in a notebook's output, or in a script beside the page (postprocess/explorers.py).
function stored(packed) {
  const { source, key } = packed.dataset;
  if (!source) return Promise.resolve(packed.textContent);
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = source;
    script.onload = () => done(globalThis.bookFrames[key]);
    script.onerror = () => failed(new Error(`${source} could not be loaded`));
    document.head.append(script);
  });
}

const NARROW = matchMedia("(max-width: 600px)");
const address = (svg) => "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);

// The part of a picture that a panel shows.
function cut(svg, panel) {
  const [width, height] = ["width", "height"].map((side) => panel.getAttribute(side));
  const size = `viewBox="${panel.dataset.box}" width="${width}" height="${height}"`;
  return svg.replace(/<svg\b[^>]*>/, (tag) =>
    tag.replace(/ (?:viewBox|width|height)="[^"]*"/g, "").replace("<svg", `<svg ${size}`),
  );
}

// Where the page is narrow, panels that stand side by side stand one below the other.
function stacked(picture) {
  if (!picture.dataset.panels) return [];
  const stack = document.createElement("div");
  stack.className = "explore-panels";
  const panels = picture.dataset.panels.split(",").map((box, at) => {
    const panel = document.createElement("img"),
      [, , width, height] = box.split(" ");
    panel.alt = at ? "" : picture.alt;
    panel.className = "themed";
    panel.dataset.box = box;
    [panel.width, panel.height] = [width, height].map((points) => Math.round((points * 4) / 3));
    return panel;
  });
  stack.append(...panels);
  picture.after(stack);
  return panels;
}

function initExplorer(explorer) {
  const picture = explorer.querySelector(":scope > img");
  const says = explorer.querySelector(".explore-says");
  const inputs = [...explorer.querySelectorAll("input[type=range]")];
  const packed = explorer.querySelector(".explore-frames");
  if (!packed || typeof DecompressionStream === "undefined") return;
  const panels = stacked(picture);
  let loaded = null,
    unpacked = null;
  const load = () => (loaded ??= stored(packed));
  const ready = () => (unpacked ??= load().then((text) => unpack(text.trim())));

  const name = (input) => JSON.parse(input.dataset.labels)[input.value];
  async function show() {
    for (const input of inputs) {
      input.setAttribute("aria-valuetext", name(input));
      input.nextElementSibling.textContent = name(input);
    }
    const { pieces, frames, sentences } = await ready();
    const at = inputs.reduce((sum, i) => sum * (Number(i.max) + 1) + Number(i.value), 0);
    const svg = frames[at].map((piece) => pieces[piece]).join("");
    picture.src = address(svg);
    if (NARROW.matches)
      panels.forEach((panel) => {
        panel.src = address(cut(svg, panel));
      });
    says.innerHTML = sentences[at];
    explorer.dataset.at = at;
  }
  for (const input of inputs) {
    input.addEventListener("input", show);
    input.addEventListener("pointerenter", ready, { once: true });
    input.addEventListener("keydown", (event) => event.stopPropagation());
  }
  explorer.querySelector(".explore-controls").hidden = false;
  NARROW.addEventListener("change", () => panels.length && show());
  const near = new IntersectionObserver(
    (seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      near.disconnect();
      if (panels.length && NARROW.matches) show();
      else load();
    },
    { rootMargin: "800px" },
  );
  near.observe(explorer);
}

// --- predictions: lock a guess, then uncover the result; what waits for it stands in its fold
// (postprocess/predictions.py)

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

// --- what a reload and Back leave as it was, of this page and release: guesses, and what is open

const KEPT = `${location.pathname} ${typeof DOCUMENTATION_OPTIONS === "undefined" ? "" : DOCUMENTATION_OPTIONS.VERSION}`;

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT)) ?? {};
  } catch {
    return {};
  }
}

function keep(change) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ ...kept(), ...change }));
  } catch {
    /* forbidden */
  }
}

function keepOpen() {
  const folds = [...document.querySelectorAll("article details")];
  for (const at of kept().open ?? []) if (folds[at]) folds[at].open = true;
  const note = () => keep({ open: [...folds.keys()].filter((at) => folds[at].open) });
  for (const fold of folds) fold.addEventListener("toggle", note);
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

// A link may lead into what is folded; not every browser opens the fold.
function openTarget() {
  let target = null;
  try {
    target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {
    /* it names nothing */
  }
  let folded = target && target.parentElement.closest("details:not([open])");
  if (!folded) return;
  for (; folded; folded = folded.parentElement.closest("details:not([open])")) folded.open = true;
  target.scrollIntoView();
}

// --- paper is white

let chosen = null;
addEventListener("beforeprint", () => {
  chosen ??= document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
});
addEventListener("afterprint", () => {
  document.documentElement.dataset.theme = chosen;
  chosen = null;
});

// --- what scrolls can be reached by the keyboard

const SCROLLS = "pre, .math, mjx-container, .cell_output, .output, .pst-scrollable-table-container";

// Sizes are read when the browser has them anyway: reading them earlier would have it lay out all.
function makeFocusable() {
  const sizes = new ResizeObserver((changed) => {
    const found = changed.map(({ target: e }) => [
      e,
      e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight + 1,
    ]);
    for (const [e, scrolls] of found) {
      if (scrolls) e.tabIndex = 0;
      else e.removeAttribute("tabindex");
    }
  });
  const all = document.querySelectorAll(SCROLLS),
    look = () =>
      all.forEach((e) => {
        sizes.unobserve(e); // who is observed anew is looked at, though its own size has not changed
        sizes.observe(e);
      });
  look();
  document.fonts.addEventListener("loadingdone", look); // letters of another width
}

// --- the lists of contents, which open over the page in a narrow window

// The theme gives them no way out that can be seen, leaves them open when a link leads to a place on
// the page below, and loses the focus when they close.
function drawer(dialog, toggle) {
  const shut = document.createElement("button");
  shut.type = "button";
  shut.className = "drawer-shut";
  shut.textContent = "Close";
  shut.addEventListener("click", () => dialog.close());
  new MutationObserver(() => dialog.open && dialog.prepend(shut)).observe(dialog, {
    attributeFilter: ["open"],
  });
  let led = false;
  dialog.addEventListener("click", ({ target }) => {
    led = Boolean(target.closest('a[href^="#"]:not([href="#"])'));
    if (led) dialog.close();
  });
  dialog.addEventListener("close", () => {
    shut.remove();
    if (!led) setTimeout(() => toggle.focus({ preventScroll: true }));
    led = false;
  });
}

function drawers() {
  for (const which of ["primary", "secondary"]) {
    const dialog = document.getElementById(`pst-${which}-sidebar-modal`);
    const toggle = document.querySelector(`.${which}-toggle`);
    if (dialog && toggle) drawer(dialog, toggle);
  }
}

const BAR = 48; // pixels at the top of a page that its bar covers, a few more where it is narrow

// Once its title has gone, the bar of a narrow page says which page this is, and leads to its top.
function showTitleInBar() {
  const title = document.querySelector("article h1");
  const bar = document.querySelector(".header-article-items__start");
  if (!title || !bar) return;
  const link = document.createElement("a");
  link.className = "bar-title";
  link.href = "#";
  link.hidden = true;
  title.tabIndex = -1; // takes the focus from the link, which goes as the title comes
  link.addEventListener("click", (event) => {
    event.preventDefault();
    scrollTo(0, 0);
    title.focus({ preventScroll: true });
  });
  link.innerHTML = '<span class="visually-hidden">To the top of </span>';
  link.append(
    [...title.childNodes]
      .filter((part) => part.className !== "headerlink")
      .map((part) => part.textContent)
      .join("")
      .trim(),
  );
  bar.append(link);
  new IntersectionObserver(
    (seen) => {
      const { isIntersecting, boundingClientRect } = seen.at(-1);
      link.hidden = isIntersecting || boundingClientRect.top > 0;
    },
    { rootMargin: `-${BAR}px 0px 0px` },
  ).observe(title);
}

function start() {
  keepOpen();
  makeFocusable();
  drawers();
  showTitleInBar();
  document.querySelectorAll("figure.explore").forEach(initExplorer);
  document.querySelectorAll("form.predict").forEach(initPrediction);
  addEventListener("hashchange", openTarget);
  openTarget();
}
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
