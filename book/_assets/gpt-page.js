// The widget in which the book's GPT writes: it asks gpt.js for numbers and shows them. The page
// holds its words and controls (book/_ext/play/gpt.py); the weights come when they are asked for.
"use strict";

(() => {
  const PACE = 30; // milliseconds from one token to the next, so that eyes can follow
  const SHOWN = 8; // tokens in the table of what may come next
  const SPOKEN = 80; // characters that a screen reader is given at a time, a sentence if it is shorter
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const percent = (probability) =>
    probability > 0 && probability < 0.0005 ? "< 0.1%" : `${(100 * probability).toFixed(1)}%`;
  const { named, label } = bookGPT;

  // --- a text, read by the model

  // When all positions are full, the last half of them is read afresh.
  class Reading {
    constructor(model) {
      this.model = model;
      this.ids = [];
      this.restart(0);
    }

    restart(start) {
      this.start = start; // where the part that the model reads begins
      this.kvCache = bookGPT.kvCache(this.model);
      this.seen = []; // for each token of that part: what the model gave
    }

    // Read a text, but not again what it has in common with the one before.
    read(ids) {
      const { T } = this.model.sizes,
        half = T / 2;
      const start = Math.max(0, Math.ceil((ids.length - T) / half) * half);
      let same = 0;
      while (same < ids.length && ids[same] === this.ids[same]) same++;
      if (start !== this.start) this.restart(start);
      this.forget(Math.max(0, same - start));
      this.ids = [...ids];
      for (const id of ids.slice(start + this.seen.length)) {
        this.seen.push(bookGPT.read(this.model, this.kvCache, id));
      }
    }

    forget(from) {
      if (from >= this.seen.length) return;
      this.seen.length = from;
      for (const { keys, values } of this.kvCache.flat()) keys.length = values.length = from;
    }
  }

  // --- the widget

  function liven(root) {
    const find = (name) => root.querySelector(name);
    const field = (name) => find(`[name="${name}"]`);
    const form = find("form"),
      canvas = find("canvas"),
      position = field("position");
    let reading = null,
      prompted = 0,
      writing = null;

    const token = (at) => reading.model.vocab[reading.ids[reading.start + at]];
    const text = (from, to) =>
      reading.ids
        .slice(from, to)
        .map((id) => reading.model.vocab[id])
        .join("");
    const say = (words) => (find(".gpt-said").textContent = words);
    const head = () => [Number(field("layer").value), Number(field("head").value)];
    const weights = (at) => {
      const [layer, h] = head();
      return reading.seen[at].layers[layer].heads[h - 1].weights;
    };
    const atPosition = (at) => `${named(token(at))} (${reading.start + at + 1})`;

    // --- what the reader has typed: the prompt's ids and the settings, or what is wrong with them

    function prompt() {
      const { ids, told } = bookGPT.tokenize(reading.model, field("prompt").value);
      return { ids: ids.length ? ids : null, told };
    }

    function settings() {
      const fields = ["temperature", "top-k", "seed", "length"].map(field);
      const bad = fields.find((input) => !input.checkValidity());
      if (bad)
        return { wrong: `${bad.parentElement.textContent.trim()}: ${bad.validationMessage}` };
      const [temperature, most, seed, length] = fields.map((input) => input.valueAsNumber);
      return { temperature, most, seed, length };
    }

    const told = bookGPT.patient((words) => (find(".gpt-trouble").textContent = words));
    const trouble = (...words) => told(words.filter(Boolean).join(" "));

    // Both, or nothing; and a word about what is wrong or left out.
    function typed() {
      const [asked, chosen] = [prompt(), settings()];
      trouble(asked.told, chosen.wrong);
      return !asked.ids || chosen.wrong ? null : { ...asked, ...chosen };
    }

    function begin() {
      halt();
      const { ids } = prompt();
      find(".gpt-shown").hidden = !ids;
      if (ids) {
        prompted = ids.length;
        reading.read(ids);
        follow();
      }
      show();
    }

    // --- writing

    function follow() {
      position.max = reading.seen.length - 1;
      position.value = position.max;
    }

    const next = (at, { temperature, most }) =>
      bookGPT.probabilities(reading.seen[at].logits_V, temperature, most);

    function one(chosen) {
      const p_V = next(reading.seen.length - 1, chosen);
      const id = bookGPT.draw(p_V, bookGPT.uniform(chosen.seed, reading.ids.length));
      reading.read([...reading.ids, id]);
      follow();
      return { token: reading.model.vocab[id], probability: p_V[id] };
    }

    async function write() {
      const chosen = !writing && typed();
      if (!chosen) return;
      const run = (writing = {}); // another object, or none, when somebody has pressed Stop
      let reported = reading.ids.length;
      running(true);
      for (let n = 0; n < chosen.length && writing === run; n++) {
        const { token } = one(chosen),
          { length } = text(reported);
        const ended = /[.!?\n]/.test(token) || (length >= SPOKEN && token.startsWith(" "));
        if (ended) {
          say(text(reported));
          reported = reading.ids.length;
        }
        if (!calm.matches || ended) show();
        await new Promise((done) => setTimeout(done, calm.matches ? 0 : PACE));
      }
      if (writing === run) halt();
      show();
      if (reported < reading.ids.length) say(text(reported));
    }

    function halt() {
      writing = null;
      running(false);
    }

    function running(is) {
      root.dataset.state = is ? "writing" : "waiting";
      for (const [name, idle] of [
        ["write", is],
        ["one", is],
        ["stop", !is],
      ]) {
        field(name).setAttribute("aria-disabled", idle);
      }
    }

    // --- showing

    function show() {
      const chosen = typed(),
        at = Number(position.value);
      if (find(".gpt-shown").hidden) return;
      showText(at);
      showReads(at);
      showMap(at);
      if (chosen) showNext(at, chosen);
    }

    function piece(words, ...classes) {
      const span = document.createElement("span");
      span.textContent = words;
      span.classList.add(...classes);
      return span;
    }

    function showText(at) {
      const weights_T = weights(at),
        most = Math.max(...weights_T),
        { start } = reading;
      find(".gpt-plain").textContent = text(0);
      find(".gpt-text").replaceChildren(
        piece(text(0, Math.min(start, prompted)), "pale"),
        piece(text(Math.min(start, prompted), start), "pale", "written"),
        ...reading.seen.map((_, s) => {
          const span = piece(token(s).replaceAll("\n", "↵\n"), "token");
          span.dataset.at = s;
          span.classList.toggle("written", start + s >= prompted);
          span.classList.toggle("reader", s === at);
          if (s <= at) span.style.setProperty("--weight", `${(100 * weights_T[s]) / most}%`);
          return span;
        }),
      );
    }

    function showReads(at) {
      const weights_T = weights(at);
      const most = [...weights_T.keys()].sort((a, b) => weights_T[b] - weights_T[a]).slice(0, 3);
      const [layer, h] = head();
      const shares = most.map(
        (s) => `${percent(weights_T[s])} to ${s === at ? "itself" : atPosition(s)}`,
      );
      position.setAttribute("aria-valuetext", atPosition(at));
      find(".gpt-at").textContent = atPosition(at);
      find(".gpt-reads").textContent =
        `In layer ${layer}, head ${h}, ${atPosition(at)} gives ${shares.join(", ")}.`;
    }

    // The likeliest, and the one that came if it is none of them; always as many rows.
    function showNext(at, chosen) {
      const p_V = next(at, chosen),
        { ids, start, model } = reading;
      const came = ids[start + at + 1]; // after the last one nothing has come yet
      const ranked = [...p_V.keys()].sort((a, b) => p_V[b] - p_V[a]),
        shown = ranked.slice(0, SHOWN);
      if (came !== undefined && !shown.includes(came)) shown[SHOWN - 1] = came;
      const rest = ranked.filter((id) => !shown.includes(id));
      const rows = shown.map((id) => [named(model.vocab[id]), p_V[id], id === came]);
      rows.push([`${rest.length} others`, rest.reduce((sum, id) => sum + p_V[id], 0), false]);
      const before = text(start, start + at + 1)
        .slice(-16)
        .replaceAll("\n", "↵");
      find(".gpt-next caption").textContent =
        `What follows “${before}”: ` +
        (chosen.temperature === 0 ? "the likeliest" : `temperature ${chosen.temperature}`) +
        (chosen.most < p_V.length ? `, among the ${chosen.most} likeliest` : "");
      find(".gpt-next tbody").replaceChildren(
        ...rows.map(([name, probability, here]) => {
          const tr = document.createElement("tr");
          tr.innerHTML =
            '<th scope="row"></th><td><span class="gpt-share"><span></span></span></td>';
          tr.firstChild.textContent = here ? `${name} came` : name;
          tr.classList.toggle("came", here);
          tr.querySelector(".gpt-share").append(percent(probability));
          tr.style.setProperty("--share", probability);
          return tr;
        }),
      );
    }

    // Where a position stands in the map, in CSS pixels: tokens along two edges if there is room.
    function grid() {
      const positions = reading.seen.length,
        side = canvas.clientWidth,
        wide = 64;
      const edge = (side - wide) / positions >= 9 ? wide : 0;
      return { positions, side, edge, cell: (side - edge) / positions };
    }

    function showMap(at) {
      const { positions, side, edge, cell } = grid(),
        sharp = devicePixelRatio || 1;
      const [layer, h] = head(),
        pen = canvas.getContext("2d");
      canvas.width = canvas.height = Math.round(side * sharp);
      pen.scale(sharp, sharp);
      pen.fillStyle = pen.strokeStyle = getComputedStyle(canvas).color;
      pen.font = `${Math.min(12, cell)}px monospace`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      for (let t = 0; t < positions; t++) {
        const weights_T = weights(t);
        for (let s = 0; s <= t; s++) {
          pen.globalAlpha = weights_T[s];
          pen.fillRect(edge + s * cell, t * cell, cell, cell);
        }
        pen.globalAlpha = 1;
        if (!edge) continue;
        const name = label(token(t));
        pen.fillText(name, edge / 2, (t + 0.5) * cell, edge - 4);
        pen.save();
        pen.translate(edge + (t + 0.5) * cell, side - edge / 2);
        pen.rotate(-Math.PI / 2);
        pen.fillText(name, 0, 0, edge - 4);
        pen.restore();
      }
      pen.strokeRect(edge + 0.5, at * cell + 0.5, (at + 1) * cell - 1, Math.max(cell - 1, 1));
      canvas.setAttribute(
        "aria-label",
        `Map of layer ${layer}, head ${h}: a row for each of ` +
          `${positions} tokens that read, a column for each that is read, the darker the more. ` +
          `Outlined: the row of ${atPosition(at)}.`,
      );
    }

    // --- what the reader does

    // A slider that moves names its token by itself.
    function choose(at, whole = true) {
      position.value = at;
      show();
      const sentence = find(".gpt-reads").textContent,
        name = find(".gpt-at").textContent;
      say(whole ? sentence : sentence.replace(`${name} gives`, "it gives"));
    }

    // The cell of the map under the pointer.
    function under(event) {
      const { positions, edge, cell } = grid(),
        box = canvas.getBoundingClientRect();
      const [s, t] = [event.clientX - box.left - edge, event.clientY - box.top].map((at) =>
        Math.floor(at / cell),
      );
      return s >= 0 && t >= 0 && s < positions && t < positions ? { s, t } : null;
    }

    function point(event) {
      const at = reading && !writing && under(event);
      if (!at) return;
      find(".gpt-reads").textContent =
        at.s > at.t
          ? `${atPosition(at.s)} comes after ${atPosition(at.t)}, which cannot read it.`
          : `${atPosition(at.t)} gives ${percent(weights(at.t)[at.s])} to ${atPosition(at.s)}.`;
    }

    const presses = {
      write,
      stop: halt,
      one: () => {
        const chosen = !writing && typed();
        if (!chosen) return;
        const { token, probability } = one(chosen);
        show();
        say(`${named(token)}, ${percent(probability)}`);
      },
      anew: begin,
      load: async () => {
        const button = field("load");
        if (root.dataset.state === "loading") return;
        root.dataset.state = "loading";
        button.setAttribute("aria-disabled", true);
        trouble("");
        try {
          reading = new Reading(await bookGPT.load(root.dataset.weights));
        } catch {
          root.dataset.state = "waiting";
          button.setAttribute("aria-disabled", false);
          trouble(
            "The weights could not be read. They stand in the folder _static, beside this " +
              "book's pages: a page that was saved alone does not have them. Else try again.",
          );
          return;
        }
        form.hidden = false;
        find(".gpt-load").hidden = true;
        begin();
        field("write").focus({ preventScroll: true });
        say("The model is loaded.");
      },
    };
    for (const [name, press] of Object.entries(presses))
      field(name).addEventListener("click", press);
    form.addEventListener("submit", (event) => event.preventDefault());
    field("prompt").addEventListener("input", begin);
    position.addEventListener("input", () => choose(position.value, false));
    for (const name of ["layer", "head"])
      field(name).addEventListener("change", () => choose(position.value));
    for (const name of ["temperature", "top-k"]) field(name).addEventListener("input", show);
    find(".gpt-text").addEventListener("click", ({ target }) => {
      if (target.dataset.at && !writing) choose(target.dataset.at);
    });
    canvas.addEventListener("pointermove", point);
    canvas.addEventListener("pointerleave", () => reading && showReads(Number(position.value)));
    canvas.addEventListener("click", (event) => {
      const at = !writing && under(event);
      if (at) choose(at.t);
    });
    const redraw = () => reading && !find(".gpt-shown").hidden && showMap(Number(position.value));
    new MutationObserver(redraw).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
    new ResizeObserver(redraw).observe(canvas);
    find(".gpt-scriptless").remove();
    find(".gpt-load").hidden = false;
    root.dataset.state = "waiting";
  }

  document.querySelectorAll(".gpt").forEach(liven);
})();
