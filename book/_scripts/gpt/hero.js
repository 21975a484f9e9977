// The picture on the first page: the GPT reads a sentence. The build draws it with the sentence of
// the book (book/_ext/play/hero.py); here it is drawn anew with the reader's, once they ask for it.

import { kvCache, read } from "./model.js";
import { load, patient, percent } from "./page.js";
import { likeliest, probabilities } from "./sampling.js";
import { label, named, tokenize } from "./tokens.js";

const LEAST = 8,
  ROWS = 14; // rows of the picture, a token each, the last one lowest
const NEXT = 6,
  CELLS = 6; // likeliest tokens, and numbers of a row, that are drawn
const STRIP = 8,
  FAN = 14; // of 100 across: a row of numbers, and the lines to what may come next
const FAINT = 0.05; // attention weights below it are left out
const plain = (text) => text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);
const short = (x) => String(Math.round(100 * x) / 100);

// A path from one point to another, as strong as its share.
function curve(x1, y1, x2, y2, share, more = "") {
  const [a, b, c, d, mid] = [x1, y1, x2, y2, (x1 + x2) / 2].map(short);
  return `<path d="M${a} ${b}C${mid} ${b} ${mid} ${d} ${c} ${d}" style="--share:${short(share)}"${more}/>`;
}

// Rows of numbers as cells, those above zero and those below, in three strengths each.
function cells(rows, x) {
  const most = Math.max(...rows.flat().map(Math.abs)),
    width = STRIP / CELLS,
    shape = `h${short(width - 0.2)}v.6h-${short(width - 0.2)}z`,
    found = {};
  rows.forEach((row, t) =>
    row.forEach((value, i) => {
      const strength = short(Math.min(3, Math.ceil((4 * Math.abs(value)) / most)) / 3),
        kind = `${value < 0 ? "minus" : "plus"}" style="--share:${strength}`;
      (found[kind] ??= []).push(`M${short(x + i * width)} ${short(t + 0.2)}${shape}`);
    }),
  );
  return Object.entries(found)
    .map(([kind, all]) => `<path class="${kind}" d="${all.join("")}"/>`)
    .join("");
}

// What a model makes of a text, as HTML, and in a sentence.
export function drawHero(model, ids) {
  const cache = kvCache(model),
    { L, H } = model.sizes;
  const seen = ids.map((id) => read(model, cache, id)),
    from = Math.max(0, seen.length - ROWS),
    shown = seen.slice(from),
    T = shown.length,
    top = Math.min(0, T - LEAST);
  const gap = (100 - FAN - (L + 1) * STRIP) / L,
    left = (layer) => layer * (STRIP + gap);
  const rows = (layer) => shown.map(({ layers }) => [...layers[layer].stream].slice(0, CELLS));
  // What a row reads of another in a layer, the mean of its heads.
  const share = (t, layer, s) =>
    shown[t].layers[layer].heads.reduce((sum, { weights }) => sum + weights[from + s], 0) / H;
  const reads = (layer) =>
    shown.flatMap((_, t) =>
      Array.from({ length: t + 1 }, (_, s) => [s, share(t, layer, s)])
        .filter(([, weight]) => weight >= FAINT)
        .map(([s, weight]) => {
          const end = left(layer);
          const last = t === T - 1 ? ' class="last"' : "";
          return curve(end - gap, s + 0.5, end, t + 0.5, weight, last);
        }),
    );
  const each = (length, inside) => Array.from({ length }, (_, n) => inside(n)).join(""),
    part = (name, inside) => `<g data-part="${name}">${inside}</g>`,
    byLayer = (inside) => each(L, (l) => `<g style="--layer:${l}">${inside(l + 1)}</g>`);
  const p_V = probabilities(seen.at(-1).logits_V),
    likely = likeliest(p_V, NEXT),
    height = (i) => top + ((i + 0.5) * (T - top)) / NEXT;
  const svg =
    part(
      "attention",
      byLayer((l) => reads(l).join("")),
    ) +
    part("embedding", cells(rows(0), 0)) +
    part(
      "sums",
      byLayer((l) => cells(rows(l), left(l))),
    ) +
    part(
      "next",
      each(NEXT, (i) => curve(100 - FAN, T - 0.5, 100, height(i), p_V[likely[i]])),
    );
  const token = (id) => plain(label(model.vocab[id]));
  const next = likely.map(
    (id) =>
      `<li style="--share:${short(p_V[id])}"><button type="button" disabled data-token="${plain(model.vocab[id])}">` +
      `<span>${token(id)}</span> <b>${plain(percent(p_V[id]))}</b></button></li>`,
  );
  const likeliestThree = likely
    .slice(0, 3)
    .map((id) => `${named(model.vocab[id])} ${percent(p_V[id])}`);
  return {
    view:
      `<div class="hero-layers" style="--strip:${STRIP}%;--fan:${FAN}%" aria-hidden="true">` +
      `${each(L, (l) => `<span><i>layer </i>${l + 1}</span>`)}</div>` +
      `<div class="hero-words" data-part="tokens" aria-hidden="true">${"<span></span>".repeat(-top)}` +
      `${each(T, (t) => `<span>${token(ids[from + t])}</span>`)}</div>` +
      `<svg viewBox="0 ${top} 100 ${T - top}" preserveAspectRatio="none" aria-hidden="true">${svg}</svg>` +
      `<ol class="hero-next" aria-label="What may come next">${next.join("")}</ol>`,
    said:
      `After ${named(model.vocab[ids.at(-1)])} come ${likeliestThree.join(", ")}.` +
      (from ? ` The picture shows the last ${ROWS} tokens.` : ""),
  };
}

// Have the picture answer to its reader.
function liven(root) {
  const find = (name) => root.querySelector(name),
    field = find("textarea"),
    view = find(".hero-view"),
    say = (words) => (find(".hero-said").textContent = words),
    patiently = patient(say);
  let model = null;

  const link = (text) =>
    root
      .querySelectorAll(".hero-open")
      .forEach((open, i) => (open.hash = new URLSearchParams(i ? { text } : { text, why: "" })));
  const awake = () =>
    view.querySelectorAll("button").forEach((button) => (button.disabled = false));

  // Draw what was typed, and tell what comes of it, or what is wrong.
  function show(tell = say) {
    const { ids, told } = tokenize(model, field.value);
    link(field.value);
    if (!ids.length) return tell(told);
    const { view: html, said } = drawHero(model, ids.slice(-Number(root.dataset.places)));
    view.innerHTML = html;
    awake();
    tell(`${told} ${said}`.trim());
    root.dataset.state = "live";
  }

  // Load the model, if it is not, and draw.
  async function run() {
    say(model ? "" : "Loading …");
    try {
      model ??= await load(root.dataset.weights);
      show();
      root.dataset.state = "reading"; // from left to right, where motion is welcome
    } catch {
      say(
        "The weights could not be read. They lie in the folder _static beside this book’s pages.",
      );
    }
  }

  const press = (event) => {
    event.preventDefault();
    run();
  };
  find("form").addEventListener("submit", press);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) press(event);
  });
  field.addEventListener("input", () => (model ? show(patiently) : link(field.value)));
  view.addEventListener("click", async ({ target }) => {
    const button = target.closest("button"),
      part = target.closest("[data-part]")?.dataset.part;
    if (button) {
      const at = [...view.querySelectorAll("button")].indexOf(button),
        { token } = button.dataset;
      field.value += field.value ? token : token.trim();
      await run();
      view.querySelectorAll("button")[at]?.focus({ preventScroll: true });
    } else if (part) find(`.hero-parts [data-part="${part}"] a`).click();
  });
  awake();
}

globalThis.document?.querySelectorAll(".hero").forEach(liven);
