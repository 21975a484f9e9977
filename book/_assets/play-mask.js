// Chapter 07: edit a mask, and see which losses cheat. The first state is drawn by
// book/_ext/play/mask.py.
"use strict";

(() => {
  const { fixed, listed, svg } = Play;
  const SIGNS = { honest: "✓", cheats: "✗", nothing: "?" };

  // --- what is computed. mask[t][s]: whether word t may read word s. `after` is true where the mask
  // is put on after softmax, which then runs over all scores.

  // Weights of each row; null for a row that may read no word: softmax over nothing has no answer.
  function weights(scaled, mask, after) {
    return scaled.map((scores, t) => {
      if (after) return Play.softmax(scores).map((weight, s) => (mask[t][s] ? weight : 0));
      if (!mask[t].some(Boolean)) return null;
      return Play.softmax(scores.map((score, s) => (mask[t][s] ? score : -Infinity)));
    });
  }

  // On which words an output depends in one layer: on itself, since the layer adds to it, and on
  // what it may read. After softmax the scores of all words stand in the sum that it divides by.
  const sees = (mask, after) => mask.map((row, t) =>
    row.map((may, s) => t === s || (after ? row.some(Boolean) : Boolean(may))));

  // The same through so many layers: a power of that table, with "or" for plus and "and" for times.
  function reach(mask, layers, after) {
    const one = sees(mask, after);
    let all = mask.map((row, t) => row.map((_, s) => t === s));
    for (let layer = 0; layer < layers; layer++) {
      const below = all;
      all = one.map((row) => row.map((_, s) => row.some((sees, u) => sees && below[u][s])));
    }
    return all;
  }

  // The shortest way by which word t reads word `to`, both named; of several the first in order.
  function path(mask, after, t, to) {
    const one = sees(mask, after), from = { [t]: null }, queue = [t];
    for (const u of queue) {
      one[u].forEach((is, s) => {
        if (!is || s in from) return;
        from[s] = u;
        queue.push(s);
      });
    }
    const way = [];
    for (let s = to; s !== null; s = from[s]) way.unshift(s);
    return way;
  }

  // For each word: does its loss, on the word after it, cheat? If so, by which way; to its answer if
  // there is one, else to the first later word that it reads.
  function verdicts(mask, layers, after) {
    return reach(mask, layers, after).map((read, t) => {
      if (!after && !mask[t].some(Boolean)) return { kind: "nothing", path: [] };
      const later = read.findIndex((is, s) => is && s > t);
      return later < 0 ? { kind: "honest", path: [] }
        : { kind: "cheats", path: path(mask, after, t, later) };
    });
  }

  Play.compute.mask = { weights, sees, reach, path, verdicts };

  // --- words

  const many = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  const quoted = (words) => listed(words.map((word) => `“${word}”`));

  function judged(words, t, { kind, path }) {
    if (kind === "honest") return "honest";
    if (kind === "nothing") return "no answer: it may read no word";
    const past = path.at(-1) === t + 1 ? "" : ", past it";
    return `cheats: ${path.map((s) => words[s]).join(" → ")}${past}`;
  }

  function emptiness(words, all) {
    const empty = words.filter((_, t) => all[t]?.kind === "nothing");
    if (!empty.length) return "";
    const rows = empty.length === 1 ? "The row of" : "The rows of", are = empty.length === 1 ? "is" : "are";
    return `${rows} ${quoted(empty)} ${are} empty: softmax over nothing has no answer, and this book’s `
      + "code refuses such a mask. The other verdicts are those of a layer in which such a row adds 0.";
  }

  function sentence(words, name, mask, layers, after) {
    const cheating = (layers) => verdicts(mask, layers, after).map(({ kind }) => kind === "cheats");
    const [now, one] = [layers, 1].map(cheating), count = (all) => all.filter(Boolean).length;
    const rows = mask.length, empty = emptiness(words, verdicts(mask, layers, after));
    const found = count(now) ? `${count(now)} of ${rows} losses cheat: at `
        + `${quoted(words.filter((_, t) => now[t]))}.`
      : empty ? "no loss cheats." : `all ${rows} losses are honest.`;
    const less = count(now) === count(one) ? ""
      : `In one layer ${count(one) || "none"} of them would.`;
    const late = after ? "After softmax a mask hides the values only: each weight is still a share of "
      + "a sum in which the scores of all words stand." : "";
    return [`${name ? `Mask “${name}”` : "A mask of your own"}, ${many(layers, "layer")}: ${found}`,
            less, late, empty].filter(Boolean).join(" ");
  }

  function told(words, t, verdict, mask, read, layers, weights) {
    const asked = `“${words[t]}” has to say “${words[t + 1]}”.`;
    const through = `Through ${many(layers, "layer")} it has read ${quoted(words.filter((_, s) => read[s]))}`;
    const last = t === read.length - 1;
    const sum = weights?.reduce((sum, weight) => sum + weight, 0);
    const left = weights && sum < 0.9995 ? ` Its weights sum to ${fixed(sum)}.` : "";
    if (verdict.kind === "nothing") return `${asked} It may read no word, and has no weights.`;
    if (last) return `${asked} That stands beyond the window: no mask can give it away.${left}`;
    if (verdict.kind === "honest") return `${asked} ${through}: nothing that comes later.${left}`;
    return `${asked} ${by(words, verdict.path, mask, layers)}${left}`;
  }

  // Told from the top layer down, as the way runs.
  function by(words, path, mask, layers) {
    const hops = path.slice(1).map((s, i) => {
      const [reader, read] = [path[i], s].map((t) => `“${words[t]}”`);
      return (mask[path[i]][s] ? `${reader} reads ${read}` : `${reader} has ${read} in its sum`)
        + (path.length > 2 ? ` in layer ${layers - i}` : "");
    });
    return `It cheats: ${hops.join(", where ")}.`;
  }

  // --- the drawing of layers

  function ways(picture, words, mask, after, layers, chosen, verdict, { step, rise, top, foot }) {
    const one = sees(mask, after), x = (t) => step * (t + 0.5), y = (l) => top + rise * (layers - l);
    const lit = [...Array(layers + 1).keys()].map((l) => reach(mask, layers - l, after)[chosen]);
    const { path } = verdict, at = (l) => path[Math.min(layers - l, path.length - 1)];
    const taken = (l, t, s) => path.length > 0 && at(l + 1) === t && at(l) === s;
    const lines = [], dots = [];
    for (let l = 0; l < layers; l++) for (const t of one.keys()) for (const s of one.keys()) {
      if (!lit[l + 1][t] || !one[t][s]) continue;
      const plain = mask[t][s] || (after && t !== s) ? "mask-way" : "mask-way round";
      lines.push(svg("line", { x1: x(s), y1: y(l), x2: x(t), y2: y(l + 1), class: plain,
                               "data-taken": taken(l, t, s) }));
    }
    for (const l of lit.keys()) for (const t of one.keys()) {
      dots.push(svg("circle", { cx: x(t), cy: y(l), r: lit[l][t] ? 5 : 2.5, class: "mask-dot",
                                "data-lit": lit[l][t], "data-later": lit[l][t] && t > chosen }));
    }
    const feet = one.map((_, t) => svg("text", {
      x: x(t), y: y(0) + 22, "text-anchor": "middle", "data-lit": lit[0][t],
      "data-later": lit[0][t] && t > chosen }, words[t]));
    const sign = svg("text", { x: x(chosen), y: y(layers) - 10, "text-anchor": "middle",
                               class: "mask-sign" }, SIGNS[verdict.kind]);
    Play.set(picture, { viewBox: `0 0 ${step * one.length} ${y(0) + foot}`,
      "aria-label": `What reaches the loss at ${words[chosen]} through the layers` });
    lines.sort((a, b) => a.hasAttribute("data-taken") - b.hasAttribute("data-taken")); // on top
    picture.replaceChildren(...lines, ...dots, ...feet, sign);
  }

  // --- the figure

  Play.figure("mask", (element, data) => {
    const { words, scaled, presets, start } = data, names = Object.keys(presets);
    const copy = (mask) => mask.map((row) => row.map(Boolean));
    const state = { mask: copy(presets[start]), layers: data.layers, after: false,
                    chosen: data.chosen };
    const say = Play.says(element), find = (part) => element.querySelector(part);
    const rows = [...element.querySelectorAll(".mask-grid tbody tr")];
    const cells = rows.map((row) => [...row.querySelectorAll(".mask-cell")]);

    // --- showing

    function showRow(t, weights, read, verdict) {
      const row = rows[t], [word, sign, says] = [".mask-word", ".mask-sign", ".mask-told"]
        .map((part) => row.querySelector(part));
      Play.set(row, { "data-kind": verdict.kind, "data-chosen": t === state.chosen });
      sign.textContent = SIGNS[verdict.kind];
      says.textContent = judged(words, t, verdict);
      Play.set(word, { "aria-pressed": String(t === state.chosen),
                       "aria-label": `${words[t]}: ${says.textContent}` });
      cells[t].forEach((cell, s) => {
        const may = state.mask[t][s], weight = (may && weights?.[s]) || 0;
        const through = !may && read[s] && s !== t;
        cell.textContent = may ? fixed(weight) : through ? "○" : "";
        cell.style.setProperty("--weight", Play.at(weight));
        Play.set(cell, {
          "data-may": may, "data-through": through, "aria-pressed": String(may),
          "aria-label": `${words[t]} may read ${words[s]}` + (may ? `, weight ${fixed(weight)}`
            : through ? ", not allowed, but reached ○" : ", not allowed"),
        });
      });
    }

    function show() {
      const { mask, layers, after, chosen } = state;
      const [shares, read, all] = [weights(scaled, mask, after), reach(mask, layers, after),
                                   verdicts(mask, layers, after)];
      rows.forEach((_, t) => showRow(t, shares[t], read[t], all[t]));
      ways(find(".mask-ways"), words, mask, after, layers, chosen, all[chosen], data.drawing);
      find(".mask-below").dataset.kind = all[chosen].kind;
      find(".mask-chosen").textContent =
        told(words, chosen, all[chosen], mask, read[chosen], layers, shares[chosen]);
      const name = names.find((name) => String(copy(presets[name])) === String(mask));
      names.forEach((one, i) =>
        find(`[name="preset-${i}"]`).setAttribute("aria-pressed", one === name));
      showLayers(layers, String(layers));
      say(sentence(words, name, mask, layers, after));
    }

    // --- what the reader does

    function put(change) {
      Object.assign(state, change);
      show();
    }

    function allow(t, s, may) {
      state.mask[t][s] = may;
      put({ chosen: t });
    }

    const showLayers = Play.slider(element, "layers", (layers) => put({ layers }));
    const showOrder = Play.choice(element, "order", (i) => put({ after: i === 1 }));
    showOrder(0); // a browser may have kept another from an earlier visit
    names.forEach((name, i) =>
      Play.press(element, `preset-${i}`, () => put({ mask: copy(presets[name]) })));
    const go = Play.grid(rows.map((row, t) => [row.querySelector(".mask-word"), ...cells[t]]), {
      reach: (t) => put({ chosen: t }),
      press: (t, column) => column && allow(t, column - 1, !state.mask[t][column - 1]),
    });
    go(state.chosen, state.chosen + 1);
    for (const cell of element.querySelectorAll(".mask-word, .mask-cell")) {
      cell.setAttribute("role", "button");
    }
    rows.forEach((row, t) =>
      row.querySelector("td.mask-verdict").addEventListener("click", () => put({ chosen: t })));
    paint(find(".mask-grid"), cells, (t, s) => state.mask[t][s], allow);
    show();
  });

  // The cells on the way from one to another, the last included: a quick hand skips some.
  function between([t, s], [toT, toS]) {
    const steps = Math.max(Math.abs(toT - t), Math.abs(toS - s));
    return Array.from({ length: steps }, (_, i) =>
      [t + ((toT - t) * (i + 1)) / steps, s + ((toS - s) * (i + 1)) / steps].map(Math.round));
  }

  // Drag over cells: all of them become what a click would have made of the first.
  function paint(grid, cells, get, put) {
    let stroke = null;
    const places = new Map(cells.flatMap((row, t) => row.map((cell, s) => [cell, [t, s]])));
    const under = ({ clientX, clientY }) =>
      places.get(document.elementFromPoint(clientX, clientY)?.closest(".mask-cell"));
    grid.addEventListener("pointerdown", (event) => {
      const from = !event.button && under(event);
      stroke = from ? { last: from, may: !get(...from), drawn: false } : null;
    });
    grid.addEventListener("pointermove", (event) => {
      const at = stroke && event.buttons && under(event);
      if (!at || (!stroke.drawn && String(at) === String(stroke.last))) return;
      if (!stroke.drawn) put(...stroke.last, stroke.may);
      between(stroke.last, at).forEach((place) => put(...place, stroke.may));
      Object.assign(stroke, { last: at, drawn: true });
    });
    grid.addEventListener("pointercancel", () => (stroke = null));
    grid.addEventListener("pointerup", () => setTimeout(() => (stroke = null))); // after its click
    grid.addEventListener("click", (event) => {
      if (stroke?.drawn) event.stopPropagation(); // what ends a stroke is no click of its own
    }, { capture: true });
  }
})();
