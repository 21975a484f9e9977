// Numbers, words and HTML for the figures that a reader moves (play.js).
"use strict";

globalThis.Play = (() => {
  // --- numbers and words: as Python writes them, with true minus signs, no minus before a zero

  // As Python, which rounds a tie to the even digit; toFixed rounds it away from zero.
  function rounded(x, digits) {
    const tie = Math.abs(x) * 2 ** (digits + 1);
    if (tie % 2 !== 1) return Math.abs(x).toFixed(digits);
    const below = Math.floor(Math.abs(x) * 10 ** digits);
    return ((below + (below % 2)) / 10 ** digits).toFixed(digits);
  }

  const signed = (x, text, minus) => (x < 0 && /[1-9]/.test(text) ? minus + text : text);
  const short = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  const fixed = (x, digits = 2) => signed(x, rounded(x, digits), "−");
  const number = (x, digits = 3) => signed(x, short(rounded(x, digits)), "−");
  const at = (x) => signed(x, short(rounded(x, 2)), "-"); // as an attribute

  function factor(x) {
    const text = number(x);
    return text.startsWith("−") ? `(${text})` : text;
  }

  const product = (a, b) => a.map((x, i) => `${factor(x)} · ${factor(b[i])}`).join(" + ");
  const listed = (words) =>
    words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
  const quoted = (words) => listed(words.map((word) => `“${word}”`));
  const many = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  const capital = (words) => words[0].toUpperCase() + words.slice(1);

  // --- arithmetic

  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  const sum = (values) => values.reduce((total, x) => total + x, 0);
  const dot = (a, b) => sum(a.map((x, i) => x * b[i]));

  // Of scores that are −Infinity only some; the largest is taken off first, so nothing overflows.
  function softmax(scores) {
    const most = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - most));
    const total = sum(powers);
    return powers.map((power) => power / total);
  }

  // --- HTML

  class Html {
    constructor(text) {
      this.text = text;
    }
  }
  const raw = (text) => new Html(text);
  const escaped = (words) => String(words).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const none = (value) => value === false || value === null || value === undefined;

  function inside(value) {
    if (Array.isArray(value)) return value.map(inside).join("");
    if (value instanceof Html) return value.text;
    return none(value) ? "" : escaped(value);
  }

  function attribute(name, value) {
    if (none(value)) return "";
    if (value === true) return ` ${name}`;
    return ` ${name}="${typeof value === "number" ? at(value) : escaped(value)}"`;
  }

  // The HTML of a template. Of name=${value} true leaves the name, false and null nothing, a number
  // two decimals; elsewhere a list is joined, and what is no HTML is escaped.
  function html(parts, ...values) {
    return raw(
      parts.reduce((text, part, i) => {
        const [whole, name] = /(?:^| )([\w-]+)=$/.exec(text) ?? [""];
        const value = name ? attribute(name, values[i - 1]) : inside(values[i - 1]);
        return text.slice(0, text.length - whole.length) + value + part.replace(/\s*\n\s*/g, " ");
      }, ""),
    );
  }

  // --- native controls, and cells to walk

  function slider({ name, label, value, low, high, step }) {
    const words = step < 1 ? fixed(value) : number(value);
    return html`
    <label class="play-slider">
      <span>${label}</span>
      <input type="range" name=${name} min=${low} max=${high} step=${step} value=${String(value)}
        aria-valuetext=${words} autocomplete="off">
      <output aria-hidden="true">${words}</output>
    </label>`;
  }

  // Radio buttons in a named group; the value of each is its number.
  function choices(ident, name, label, options, chosen) {
    const group = `${ident}-${name}`;
    const radio = (n) =>
      html`<input type="radio" name=${group} value=${n} autocomplete="off" checked=${n === chosen}>`;
    return html`
      <fieldset class="play-choices">
        <legend>${label}</legend>
        ${options.map((option, n) => html`<label>${radio(n)} ${option}</label>`)}
      </fieldset>`;
  }

  // A row of buttons, each [name, label], of one that is on or off also which, and its value.
  function buttons(...all) {
    const button = ([name, label, pressed = null, value]) =>
      html`
      <button type="button" name=${name} value=${value} aria-pressed=${pressed?.toString()}
        >${label}</button>`;
    return html`<p class="play-buttons">${all.map(button)}</p>`;
  }

  const steered = (live, kind, ...children) =>
    html`<div class=${`play-controls ${kind}`.trim()} hidden=${!live}>${children}</div>`;

  // What makes a cell at [row, column] one of a grid, of which Tab reaches the current one; `aria`
  // are more attributes.
  function cell(live, grid, place, current, aria) {
    if (!live) return "";
    const tabindex = String(place) === String(current) ? "0" : "-1";
    const all = { "data-grid": grid, "data-at": String(place), tabindex, ...aria };
    return raw(
      Object.entries(all)
        .map((pair) => attribute(...pair))
        .join(""),
    );
  }

  // The role of a button for what is none.
  const pressable = (pressed, label) => ({
    role: "button",
    "aria-pressed": String(pressed),
    "aria-label": label,
  });

  return {
    fixed,
    number,
    at,
    factor,
    product,
    listed,
    quoted,
    many,
    capital,
    clamp,
    sum,
    dot,
    softmax,
    html,
    raw,
    slider,
    choices,
    buttons,
    steered,
    cell,
    pressable,
  };
})();
