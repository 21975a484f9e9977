// Chapter 04: pick the axes of a norm, watch one result, change one number.
"use strict";

(() => {
  const { tag, escaped, fixed, number, factor, listed, many, capital } = Play;
  const STILL = 1e-9; // a result that moves by less has not moved
  const SEEN = 0.0005; // one that moves by less looks as before in three decimals
  const [LEAST, MOST] = [-12, 12]; // of a number that is changed
  const TERMS = 6; // so many terms of a sum are written out; of more, the first three and the last
  const LEGEND = {
    itself: "its own word",
    earlier: "earlier words",
    later: "later words: a leak",
    other: "the other sentence: a leak",
  };

  // --- what is computed. A block is x[b][t][c]; a point is { over: axes of "BT", groups, centred }

  const each = (x, f) =>
    x.map((words, b) => words.map((row, t) => row.map((value, c) => f([b, t, c], value))));

  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  // Numbers whose sets have one name share their mean and variance.
  function setOf({ over, groups }, [b, t, c], width) {
    const [B, T] = [..."BT"].map((axis) => over.includes(axis));
    return [B ? "all" : b, T ? "all" : t, Math.floor((c * groups) / width)].join();
  }

  // As helpers.norms.normalise_over: every number's mean, variance and result; and how many sets there are.
  function normalised(x, point, eps) {
    const name = (at) => setOf(point, at, x[0][0].length),
      sets = {},
      found = {};
    each(x, (at, value) => (sets[name(at)] ??= []).push(value));
    for (const [set, values] of Object.entries(sets)) {
      const middle = point.centred ? mean(values) : 0;
      found[set] = { mean: middle, variance: mean(values.map((value) => (value - middle) ** 2)) };
    }
    return {
      mean: each(x, (at) => found[name(at)].mean),
      variance: each(x, (at) => found[name(at)].variance),
      output: each(x, (at, value) => {
        const { mean, variance } = found[name(at)];
        return (value - mean) / Math.sqrt(variance + eps);
      }),
      statistics: Object.keys(sets).length,
    };
  }

  // What a number is to the watched result: its word's own, of an earlier or later word, of another
  // sentence, or null where it belongs to another set.
  function kinds(x, point, watched) {
    const width = x[0][0].length,
      own = setOf(point, watched, width);
    return each(x, (at) => {
      if (setOf(point, at, width) !== own) return null;
      if (at[0] !== watched[0]) return "other";
      return at[1] === watched[1] ? "itself" : at[1] < watched[1] ? "earlier" : "later";
    });
  }

  const leaks = (x, { over }) => ({
    future: over.includes("T") && x[0].length > 1,
    others: over.includes("B") && x.length > 1,
  });

  const moved = (before, after) =>
    each(after, ([b, t, c], value) => {
      const by = value - before[b][t][c];
      return Math.abs(by) > STILL ? by : 0;
    });

  Play.compute.axes = { normalised, kinds, leaks, moved };

  // --- words

  function working(x, found, all, [b, t, c], { centred }, eps) {
    const at = (part) => found[part][b][t][c],
      n = all.length;
    const sum = (words) =>
      (words.length > TERMS ? [...words.slice(0, 3), "…", words.at(-1)] : words).join(" + ");
    const squares = sum(all.map((value) => `${factor(value - at("mean"))}²`));
    const off = centred ? `(${number(x[b][t][c])} − ${factor(at("mean"))})` : number(x[b][t][c]);
    return {
      mean: centred
        ? `mean = (${sum(all.map(factor))}) / ${n} = ${number(at("mean"))}`
        : "mean: not subtracted",
      variance:
        `${centred ? "variance" : "mean square"} = (${squares}) / ${n} = ` + number(at("variance")),
      result:
        `result = ${off} / √(${number(at("variance"))} + ${number(eps, 10)}) = ` +
        number(at("output")),
    };
  }

  function norm(name, { statistics }, size, { centred }) {
    const extent = `${statistics === 1 ? "" : "each "}of ${many(size, "number")}`;
    const taken = centred
      ? `${many(statistics, "mean")} and ${many(statistics, "variance")}`
      : `${many(statistics, "mean square")}, with no mean subtracted,`;
    const zero = centred && size === 1 ? " Each number is its own mean, so all results are 0." : "";
    return `This is ${name}: ${taken} in all, ${extent}.${zero}`;
  }

  function reading(x, point) {
    const { future, others } = leaks(x, point);
    const read = [future && "later words", others && "the other sentence"].filter(Boolean);
    return `Through this norm a word reads ${listed(read) || "nothing that it must not"}.`;
  }

  function change(changed, moves, before, after, results) {
    const [first] = changed,
      by = after - before;
    const what =
      changed.length > 1
        ? `${changed.length} numbers are changed`
        : `${capital(first.name)} is ${number(first.now)} in place of ${number(first.before)}`;
    const watched =
      Math.abs(by) <= STILL
        ? `the watched one stays ${number(after)}`
        : Math.abs(by) < SEEN
          ? `the watched one by less than ${number(2 * SEEN)}, which ε lets through`
          : `the watched one from ${number(before)} to ${number(after)}`;
    return `${what}: that moves ${moves || "none"} of the ${results} results, ${watched}.`;
  }

  // --- what is drawn

  const get = (block, [b, t, c]) => block[b][t][c];
  const same = (one, other) => one.join() === other.join();
  const key = ({ over, groups, centred }) => [over, groups, centred ? "yes" : "no"].join("|");
  const place = ({ sentences }, [b, t, c]) =>
    `number ${c + 1} of “${sentences[b][t]}” in sentence ${b + 1}`;

  // A block, sentence below sentence, a row a word; cell(at) is one number. On the right words are
  // there for a screen reader only.
  function table({ sentences, x }, side, caption, cell) {
    const columns = x[0][0].length + (side === "x"),
      hidden = { class: "visually-hidden" };
    const row = (word, b, t) =>
      tag(
        "tr",
        {},
        side === "x" ? tag("th", { scope: "row" }, escaped(word)) : "",
        x[b][t].map((_, c) =>
          tag(
            "td",
            {},
            side === "y" && !c ? tag("span", hidden, escaped(word)) : "",
            cell([b, t, c]),
          ),
        ),
      );
    const bodies = sentences.map((words, b) =>
      tag(
        "tbody",
        {},
        tag(
          "tr",
          { class: "axes-sentence" },
          tag("th", { scope: "rowgroup", colspan: columns }, `sentence ${b + 1}`),
        ),
        words.map((word, t) => row(word, b, t)),
      ),
    );
    return tag(
      "table",
      { class: "axes-block", "data-side": side },
      tag("caption", {}, caption),
      tag("colgroup", {}, "<col>".repeat(columns)),
      bodies,
    );
  }

  // Both blocks, the set of the watched result lit.
  function blocks(data, { x, chosen, watched }, [now, before], moves, lit, shown, live) {
    const role = (at, is, label) =>
      live && { role: "button", "aria-pressed": String(same(at, is)), "aria-label": label };
    const into = table(data, "x", "goes in", (at) => {
      const [value, was] = [get(x, at), get(data.x, at)],
        text = number(value);
      const label =
        `${place(data, at)}: ${text}` + (value === was ? "" : `, changed from ${number(was)}`);
      return tag(
        "span",
        {
          class: "axes-cell",
          "data-kind": get(lit, at),
          "data-own": same(at, shown),
          "data-changed": value !== was,
          ...role(at, chosen, label),
        },
        text,
      );
    });
    const out = table(data, "y", "comes out", (at) => {
      const [y, by] = [get(now.output, at), get(moves, at)];
      const label =
        `result of ${place(data, at)}: ${fixed(y)} (${fixed(y, 1)})` +
        (by ? `, before ${fixed(get(before.output, at))}` : "");
      return tag(
        "span",
        {
          class: "axes-cell",
          "data-own": same(at, shown),
          "data-moved": by ? (by > 0 ? "up" : "down") : null,
          ...role(at, watched, label),
        },
        tag("span", { class: "axes-fine" }, fixed(y)),
        tag("span", { class: "axes-coarse" }, fixed(y, 1)),
      );
    });
    return tag("div", { class: "axes-blocks" }, into, out);
  }

  const legend = () =>
    tag(
      "ul",
      { class: "axes-legend" },
      Object.entries(LEGEND).map(([kind, words]) =>
        tag(
          "li",
          {},
          tag("span", { class: "axes-cell", "data-kind": kind, "aria-hidden": "true" }),
          words,
        ),
      ),
    );

  // The controls for the axes, and the names that wait to be found.
  function picker({ groups, five, names }, { point, found }, { ident, live }) {
    const name = key(point),
      { over } = point;
    const items = five.map((one) =>
      tag(
        "li",
        {
          "data-point": one,
          "data-found": live && found.includes(one),
          "aria-current": live && one === name && "true",
        },
        (live && found.includes(one) ? "✓ " : "") + escaped(names[one]),
      ),
    );
    return Play.steered(
      live,
      "axes-picker",
      tag(
        "div",
        { class: "axes-over" },
        tag("span", {}, "average over"),
        Play.buttons(
          { B: "sentences (B)", T: "words (T)" },
          { B: over.includes("B"), T: over.includes("T") },
        ),
      ),
      Play.buttons({ centred: "subtract the mean" }, { centred: point.centred }),
      Play.choices(
        ident,
        "features",
        "features (C)",
        ["each by itself", "two and two", "all four"],
        groups.indexOf(point.groups),
      ),
      tag("div", { class: "axes-find" }, tag("span", {}, "find all five:"), tag("ul", {}, items)),
    );
  }

  function sentence(data, { x, point, watched }, [now, before], size, moves) {
    const changed = [];
    each(x, (at, value) => {
      const before = get(data.x, at);
      if (value !== before) changed.push({ name: place(data, at), now: value, before });
    });
    const shared =
      `The watched result, ${place(data, watched)}, shares its ` +
      `${point.centred ? "mean and variance" : "mean square"} with ` +
      `${size === 1 ? "no other" : many(size - 1, "other")}.`;
    const results = [before, now].map(({ output }) => get(output, watched));
    return [
      norm(data.names[key(point)] ?? data.nameless, now, size, point),
      shared,
      reading(x, point),
      changed.length ? change(changed, moves, ...results, x.flat(2).length) : "",
    ]
      .filter(Boolean)
      .join(" ");
  }

  // What a mouse is over is lit in place of what is watched; the sentence stays with the latter.
  function draw(data, state, frame) {
    const both = [state.x, data.x].map((x) => normalised(x, state.point, data.eps));
    const shown = state.peeked ?? state.watched,
      lit = kinds(state.x, state.point, shown),
      all = [];
    each(state.x, (at, value) => get(lit, at) && all.push(value));
    const moves = moved(both[1].output, both[0].output),
      value = get(state.x, state.chosen);
    const lines = Object.entries(working(state.x, both[0], all, shown, state.point, data.eps));
    return {
      stage:
        picker(data, state, frame) +
        blocks(data, state, both, moves, lit, shown, frame.live) +
        legend() +
        tag(
          "div",
          { class: "axes-working" },
          lines.map(([name, words]) => tag("p", { "data-line": name }, words)),
        ),
      controls:
        Play.slider({
          name: "value",
          label: place(data, state.chosen),
          value,
          low: LEAST,
          high: MOST,
          step: 1,
          words: number(value),
        }) + Play.buttons({ back: "Back to the chapter’s numbers" }),
      says: sentence(data, state, both, all.length, moves.flat(2).filter(Boolean).length),
    };
  }

  // --- what the reader does

  function liven({ element, data, state, put }) {
    const T = data.x[0].length,
      { chosen, watched } = state;
    const pick = (change) => {
      const point = { ...state.point, ...change };
      put({ point, found: [...state.found, key(point)] });
    };
    const turn = (axis) => () =>
      pick({
        over: ["B", "T"]
          .filter((one) => state.point.over.includes(one) !== (one === axis))
          .join(""),
      });
    const change = (value) =>
      put({ x: each(state.x, (at, old) => (same(at, state.chosen) ? value : old)) });
    const whose = (row, c) => [Math.floor(row / T), row % T, c];
    const rows = (side) =>
      [...element.querySelectorAll(`[data-side="${side}"] tr:has(td)`)].map((row) => [
        ...row.querySelectorAll("td .axes-cell"),
      ]);
    Play.grid(rows("x"), { reach: (row, c) => put({ chosen: whose(row, c) }) })(
      chosen[0] * T + chosen[1],
      chosen[2],
    );
    Play.grid(rows("y"), {
      reach: (row, c) => put({ watched: whose(row, c), peeked: null }),
      peek: (row, c) => put({ peeked: row === undefined ? null : whose(row, c) }),
    })(watched[0] * T + watched[1], watched[2]);
    return {
      B: turn("B"),
      T: turn("T"),
      centred: () => pick({ centred: !state.point.centred }),
      features: (i) => pick({ groups: data.groups[i] }),
      value: change,
      back: () => put({ x: data.x }),
    };
  }

  const first = ({ x, start, watched, chosen }) => ({
    x,
    point: start,
    watched,
    chosen,
    peeked: null,
    found: [key(start)],
  });
  Play.figure("axes", { first, draw, liven });
})();
