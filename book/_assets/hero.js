// The picture on the first page: the GPT reads a sentence. The build draws it with the sentence of
// the book (book/_ext/play/hero.py); here it is drawn anew with the reader's, once they ask for it.
"use strict";

const bookHero = (() => {
  const LEAST = 8,
    ROWS = 14; // rows of the picture, a token each, the last one lowest
  const NEXT = 6,
    CELLS = 6; // likeliest tokens, and numbers of a row, that are drawn
  const STRIP = 8,
    FAN = 14; // of 100 across: a row of numbers, and the lines to what may come next
  const FAINT = 0.05; // attention weights below it are left out
  const plain = (text) => text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);
  const short = (x) => String(Math.round(100 * x) / 100);
  const percent = (share) => (share < 0.0005 ? "< 0.1%" : `${(100 * share).toFixed(1)}%`);
  const curve = (x1, y1, x2, y2, share, more = "") => {
    const [a, b, c, d, mid] = [x1, y1, x2, y2, (x1 + x2) / 2].map(short);
    return `<path d="M${a} ${b}C${mid} ${b} ${mid} ${d} ${c} ${d}" style="--share:${short(share)}"${more}/>`;
  };

  // Rows of numbers as cells, those above zero and those below, in three strengths each.
  function cells(rows, x) {
    const most = Math.max(...rows.flat().map(Math.abs)),
      found = {};
    rows.forEach((row, t) =>
      row.forEach((value, i) => {
        const strength = Math.min(3, Math.ceil((4 * Math.abs(value)) / most)) / 3;
        (found[`${value < 0 ? "minus" : "plus"}" style="--share:${short(strength)}`] ??= []).push(
          `M${short(x + (i * STRIP) / CELLS)} ${short(t + 0.2)}h${short(STRIP / CELLS - 0.2)}v.6h-${short(STRIP / CELLS - 0.2)}z`,
        );
      }),
    );
    return Object.entries(found)
      .map(([kind, all]) => `<path class="${kind}" d="${all.join("")}"/>`)
      .join("");
  }

  // What a model makes of a text, as HTML, and in a sentence.
  function draw(model, ids) {
    const cache = bookGPT.kvCache(model),
      { L, H } = model.sizes;
    const seen = ids.map((id) => bookGPT.read(model, cache, id)),
      end = seen.length;
    const from = Math.max(0, end - ROWS),
      shown = seen.slice(from),
      T = shown.length,
      top = Math.min(0, T - LEAST);
    const gap = (100 - FAN - (L + 1) * STRIP) / L,
      left = (layer) => layer * (STRIP + gap);
    const rows = (layer) => shown.map(({ layers }) => [...layers[layer].stream].slice(0, CELLS));
    const mean = (at, l, s) =>
      at.layers[l].heads.reduce((sum, { weights }) => sum + weights[s], 0) / H;
    const reads = (t, l) =>
      shown
        .slice(0, t + 1)
        .map((_, s) => [s, mean(shown[t], l, from + s)])
        .filter(([, share]) => share >= FAINT)
        .map(([s, share]) =>
          curve(
            left(l - 1) + STRIP,
            s + 0.5,
            left(l),
            t + 0.5,
            share,
            t === T - 1 ? ' class="last"' : "",
          ),
        );
    const part = (name, inside) => `<g data-part="${name}">${inside}</g>`;
    const p_V = bookGPT.probabilities(seen[end - 1].logits_V),
      likely = bookGPT.likeliest(p_V, NEXT);
    const byLayer = (inside) =>
      Array.from({ length: L }, (_, l) => `<g style="--layer:${l}">${inside(l + 1)}</g>`).join("");
    const svg =
      part(
        "attention",
        byLayer((l) => shown.map((_, t) => reads(t, l).join("")).join("")),
      ) +
      part("embedding", cells(rows(0), 0)) +
      part(
        "sums",
        byLayer((l) => cells(rows(l), left(l))),
      ) +
      part(
        "next",
        likely
          .map((id, i) =>
            curve(100 - FAN, T - 0.5, 100, top + ((i + 0.5) * (T - top)) / NEXT, p_V[id]),
          )
          .join(""),
      );
    const layers = Array.from({ length: L }, (_, l) => `<span><i>layer </i>${l + 1}</span>`).join(
      "",
    );
    const words =
      "<span></span>".repeat(-top) +
      ids
        .slice(from)
        .map((id) => `<span>${plain(bookGPT.label(model.vocab[id]))}</span>`)
        .join("");
    const next = likely
      .map(
        (id) =>
          `<li style="--share:${short(p_V[id])}"><button type="button" disabled data-token="${plain(model.vocab[id])}">` +
          `<span>${plain(bookGPT.label(model.vocab[id]))}</span> <b>${percent(p_V[id])}</b></button></li>`,
      )
      .join("");
    return {
      view:
        `<div class="hero-layers" style="--strip:${STRIP}%;--fan:${FAN}%" aria-hidden="true">${layers}</div>` +
        `<div class="hero-words" data-part="tokens" aria-hidden="true">${words}</div>` +
        `<svg viewBox="0 ${top} 100 ${T - top}" preserveAspectRatio="none" aria-hidden="true">${svg}</svg>` +
        `<ol class="hero-next" aria-label="What may come next">${next}</ol>`,
      said:
        `After ${bookGPT.named(model.vocab[ids.at(-1)])} come ${likely
          .slice(0, 3)
          .map((id) => `${bookGPT.named(model.vocab[id])} ${percent(p_V[id])}`)
          .join(", ")}.` + (from ? ` The picture shows the last ${ROWS} tokens.` : ""),
    };
  }

  function liven(root) {
    const find = (name) => root.querySelector(name),
      field = find("textarea"),
      view = find(".hero-view");
    const most = Number(root.dataset.places);
    let model = null;
    const link = (text) =>
      root
        .querySelectorAll(".hero-open")
        .forEach((open, i) => (open.hash = new URLSearchParams(i ? { text } : { text, why: "" })));

    const say = (words) => (find(".hero-said").textContent = words),
      patiently = bookGPT.patient(say);

    function show(tell = say) {
      const { ids, told } = bookGPT.tokenize(model, field.value);
      link(field.value);
      if (!ids.length) return tell(told);
      const { view: html, said } = draw(model, ids.slice(-most));
      view.innerHTML = html;
      awake();
      tell(`${told} ${said}`.trim());
      root.dataset.state = "live";
    }

    const awake = () =>
      view.querySelectorAll("button").forEach((button) => (button.disabled = false));

    async function run() {
      say(model ? "" : "Loading …");
      try {
        model ??= await bookGPT.load(root.dataset.weights);
        show();
        root.dataset.state = "reading"; // from left to right, where motion is welcome
      } catch {
        say(
          "The weights could not be read. They lie in the folder _static beside this book’s pages.",
        );
      }
    }

    find("form").addEventListener("submit", (event) => {
      event.preventDefault();
      run();
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        run();
      }
    });
    field.addEventListener("input", () => (model ? show(patiently) : link(field.value)));
    view.addEventListener("click", async ({ target }) => {
      const token = target.closest("button")?.dataset.token,
        part = target.closest("[data-part]")?.dataset.part;
      if (token !== undefined) {
        const at = [...view.querySelectorAll("button")].indexOf(target.closest("button"));
        field.value += field.value ? token : token.trim();
        await run();
        view.querySelectorAll("button")[at]?.focus({ preventScroll: true });
      } else if (part) find(`.hero-parts [data-part="${part}"] a`).click();
    });
    awake();
  }

  return { draw, liven };
})();

if (globalThis.document) document.querySelectorAll(".hero").forEach(bookHero.liven);
