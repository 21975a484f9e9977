// Chapter 07: edit a mask, and see which losses cheat, in one layer or through several.
"use strict";

(() => {
  const { tag, escaped, fixed, listed, many } = Play;
  const SIGNS = { honest: "✓", cheats: "✗", nothing: "?" };
  const MOST = 4; // layers
  const [STEP, RISE, TOP, FOOT] = [48, 44, 24, 30]; // of the drawing of layers: SVG units
  const PRESETS = {
    // whether word t may read word s
    causal: (t, s) => s <= t,
    "none at all": () => true,
    "one too far": (t, s) => s <= t + 1,
    "only what came before": (t, s) => s < t || (t === 0 && s === 0),
    "the last three": (t, s) => s <= t && s > t - 3,
    "a prefix of three": (t, s) => s <= t || (s < 3 && t < 3),
    "the first two are padding": (t, s) => s <= t && s > 1,
  };
  const CAPTION =
    "What reaches the loss of the chosen row, from the words at the foot up through the " +
    "layers, each of which adds what a word reads to what it had. Hollow: what comes later.";

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
  const sees = (mask, after) =>
    mask.map((row, t) =>
      row.map((may, s) => t === s || (after ? row.some(Boolean) : Boolean(may))),
    );

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
    const one = sees(mask, after),
      from = { [t]: null },
      queue = [t];
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
      return later < 0
        ? { kind: "honest", path: [] }
        : { kind: "cheats", path: path(mask, after, t, later) };
    });
  }

  const preset = (name, length) =>
    Array.from({ length }, (_, t) => Array.from({ length }, (_, s) => PRESETS[name](t, s)));

  Play.compute.mask = { weights, sees, reach, path, verdicts, preset };

  // --- words

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
    const rows = empty.length === 1 ? "The row of" : "The rows of",
      are = empty.length === 1 ? "is" : "are";
    return (
      `${rows} ${quoted(empty)} ${are} empty: softmax over nothing has no answer, and this book’s ` +
      "code refuses such a mask. The other verdicts are those of a layer in which such a row adds 0."
    );
  }

  function sentence(words, name, mask, layers, after) {
    const cheating = (layers) => verdicts(mask, layers, after).map(({ kind }) => kind === "cheats");
    const [now, one] = [layers, 1].map(cheating),
      count = (all) => all.filter(Boolean).length;
    const rows = mask.length,
      empty = emptiness(words, verdicts(mask, layers, after));
    const found = count(now)
      ? `${count(now)} of ${rows} losses cheat: at ` + `${quoted(words.filter((_, t) => now[t]))}.`
      : empty
        ? "no loss cheats."
        : `all ${rows} losses are honest.`;
    const less =
      count(now) === count(one) ? "" : `In one layer ${count(one) || "none"} of them would.`;
    const late = after
      ? "After softmax a mask hides the values only: each weight is still a share of " +
        "a sum in which the scores of all words stand."
      : "";
    return [
      `${name ? `Mask “${name}”` : "A mask of your own"}, ${many(layers, "layer")}: ${found}`,
      less,
      late,
      empty,
    ]
      .filter(Boolean)
      .join(" ");
  }

  function reason(words, t, verdict, mask, read, layers, weights) {
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
      return (
        (mask[path[i]][s] ? `${reader} reads ${read}` : `${reader} has ${read} in its sum`) +
        (path.length > 2 ? ` in layer ${layers - i}` : "")
      );
    });
    return `It cheats: ${hops.join(", where ")}.`;
  }

  // --- what is drawn

  // All ways from words at the foot up to the chosen one's loss, the one that cheats on top.
  function ways(words, { mask, layers, after, chosen }, verdict) {
    const one = sees(mask, after),
      x = (t) => STEP * (t + 0.5),
      y = (l) => TOP + RISE * (layers - l);
    const lit = [...Array(layers + 1).keys()].map((l) => reach(mask, layers - l, after)[chosen]);
    const { path } = verdict,
      at = (l) => path[Math.min(layers - l, path.length - 1)];
    const later = (l, t) => lit[l][t] && t > chosen;
    const lines = { plain: [], taken: [] },
      dots = [];
    for (let l = 0; l < layers; l++)
      for (const t of one.keys())
        for (const s of one.keys()) {
          if (!lit[l + 1][t] || !one[t][s]) continue;
          const taken = path.length > 0 && at(l + 1) === t && at(l) === s;
          const kind = mask[t][s] || (after && t !== s) ? "mask-way" : "mask-way round";
          lines[taken ? "taken" : "plain"].push(
            tag("line", {
              x1: x(s),
              y1: y(l),
              x2: x(t),
              y2: y(l + 1),
              class: kind,
              "data-taken": taken,
            }),
          );
        }
    for (const l of lit.keys())
      for (const t of one.keys()) {
        dots.push(
          tag("circle", {
            cx: x(t),
            cy: y(l),
            r: lit[l][t] ? 5 : 2.5,
            class: "mask-dot",
            "data-lit": lit[l][t],
            "data-later": later(l, t),
          }),
        );
      }
    const feet = one.map((_, t) =>
      tag(
        "text",
        {
          x: x(t),
          y: y(0) + 22,
          "text-anchor": "middle",
          "data-lit": lit[0][t],
          "data-later": later(0, t),
        },
        escaped(words[t]),
      ),
    );
    const sign = tag(
      "text",
      { x: x(chosen), y: y(layers) - 10, "text-anchor": "middle", class: "mask-sign" },
      SIGNS[verdict.kind],
    );
    return tag(
      "svg",
      {
        viewBox: `0 0 ${STEP * one.length} ${y(0) + FOOT}`,
        class: "mask-ways",
        role: "img",
        "aria-label": `What reaches the loss at ${words[chosen]} through the layers`,
      },
      lines.plain,
      lines.taken,
      dots,
      feet,
      sign,
    );
  }

  // Whether word t may read word s, and with which weight it does.
  function cell(words, t, s, may, weight, reached, live) {
    const through = !may && reached && s !== t;
    const label =
      `${words[t]} may read ${words[s]}` +
      (may
        ? `, weight ${fixed(weight)}`
        : through
          ? ", not allowed, but reached ○"
          : ", not allowed");
    return tag(
      "td",
      {},
      tag(
        "span",
        {
          class: "mask-cell",
          "data-may": may,
          "data-later": s > t,
          "data-answer": s === t + 1,
          "data-through": through,
          style: `--weight: ${Play.at(weight)}`,
          ...(live && { role: "button", "aria-pressed": String(may), "aria-label": label }),
        },
        may ? fixed(weight) : through ? "○" : "",
      ),
    );
  }

  // The mask, a row a word that reads, with a verdict on its loss.
  function table({ words }, { mask, chosen }, shares, read, all, live) {
    const rows = mask.map((row, t) => {
      const verdict = escaped(judged(words, t, all[t])),
        word = escaped(words[t]);
      const role = live && {
        role: "button",
        "aria-pressed": String(t === chosen),
        "aria-label": `${words[t]}: ${judged(words, t, all[t])}`,
      };
      return tag(
        "tr",
        { "data-kind": all[t].kind, "data-chosen": t === chosen },
        tag("th", { scope: "row" }, tag("span", { class: "mask-word", ...role }, word)),
        row.map((may, s) => cell(words, t, s, may, (may && shares[t]?.[s]) || 0, read[t][s], live)),
        tag(
          "td",
          { class: "mask-verdict" },
          tag("span", { class: "mask-sign" }, SIGNS[all[t].kind]),
          " ",
          tag("em", {}, escaped(words[t + 1])),
          " ",
          tag("span", { class: "mask-told" }, verdict),
        ),
      );
    });
    const heads = mask.map((_, s) =>
      tag("th", { scope: "col" }, tag("span", {}, escaped(words[s]))),
    );
    return tag(
      "table",
      { class: "mask-grid", "aria-label": "Who may read whom" },
      tag("colgroup", {}, "<col>".repeat(mask.length + 2)),
      tag(
        "thead",
        {},
        tag(
          "tr",
          {},
          tag("td", {}),
          heads,
          tag("th", { scope: "col", class: "mask-verdict" }, "has to say"),
        ),
      ),
      tag("tbody", {}, rows),
    );
  }

  function draw({ words, scaled }, state, { ident, live }) {
    const { mask, layers, after, chosen } = state;
    const shares = weights(scaled, mask, after),
      read = reach(mask, layers, after);
    const all = verdicts(mask, layers, after),
      names = Object.keys(PRESETS);
    const name = names.find((name) => String(preset(name, mask.length)) === String(mask));
    const pairs = (value) => Object.fromEntries(names.map((one, i) => [`preset-${i}`, value(one)]));
    const below = reason(words, chosen, all[chosen], mask, read[chosen], layers, shares[chosen]);
    return {
      stage:
        Play.steered(
          live,
          "mask-presets",
          Play.buttons(
            pairs((one) => one),
            pairs((one) => one === name),
          ),
        ) +
        table({ words }, state, shares, read, all, live) +
        Play.steered(
          live,
          "",
          Play.slider({
            name: "layers",
            label: "layers",
            value: layers,
            low: 1,
            high: MOST,
            step: 1,
            words: String(layers),
          }),
          Play.choices(
            ident,
            "order",
            "the mask is put on",
            ["before softmax", "after softmax"],
            Number(after),
          ),
        ) +
        tag("p", { class: "mask-caption" }, CAPTION) +
        tag(
          "div",
          { class: "mask-below", "data-kind": all[chosen].kind },
          ways(words, state, all[chosen]),
          tag("p", { class: "mask-chosen" }, escaped(below)),
        ),
      says: sentence(words, name, mask, layers, after),
    };
  }

  // --- what the reader does

  function liven({ element, state, put }) {
    const allow = (t, s, may) =>
      put({ chosen: t, mask: state.mask.map((row, n) => (n === t ? row.with(s, may) : row)) });
    const rows = [...element.querySelectorAll(".mask-grid tbody tr")];
    const go = Play.grid(
      rows.map((row) => [...row.querySelectorAll(".mask-word, .mask-cell")]),
      {
        reach: (t) => put({ chosen: t }),
        press: (t, column) => column && allow(t, column - 1, !state.mask[t][column - 1]),
      },
    );
    go(state.chosen, state.chosen + 1);
    rows.forEach((row, t) =>
      row.querySelector("td.mask-verdict").addEventListener("click", () => put({ chosen: t })),
    );
    const acts = { layers: (layers) => put({ layers }), order: (i) => put({ after: i === 1 }) };
    Object.keys(PRESETS).forEach(
      (name, i) => (acts[`preset-${i}`] = () => put({ mask: preset(name, rows.length) })),
    );
    return acts;
  }

  const first = ({ scaled }) => ({
    mask: preset("causal", scaled.length),
    layers: 2,
    after: false,
    chosen: 3,
  });
  Play.figure("mask", { first, draw, liven });
})();
