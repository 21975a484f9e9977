// Chapter 04: pick the axes of a norm, watch one result, change one number.
"use strict";

(() => {
  const { html, fixed, number, factor, sum, listed, many, capital } = Play;
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
  const LEAKS = { T: "later words", B: "the other sentence" };
  const FEATURES = ["each by itself", "two and two", "all four"];

  // --- what is computed. A block x has a row a word, sentence after sentence; `at` is [row, column];
  // a point is { over: axes of "BT", groups, centred }

  const each = (x, f) => x.map((row, r) => row.map((value, c) => f([r, c], value)));
  const get = (block, [r, c]) => block[r][c];
  const same = (one, other) => String(one) === String(other);
  const mean = (values) => sum(values) / values.length;

  // Numbers whose sets have one name share their mean and variance. T: words of a sentence.
  function setOf({ over, groups }, [r, c], T, width) {
    const b = over.includes("B") ? "all" : Math.floor(r / T);
    const t = over.includes("T") ? "all" : r % T;
    return [b, t, Math.floor((c * groups) / width)].join();
  }

  // As helpers.norms.normalise_over: every number's set, with its values, mean and variance, and its
  // result.
  function normalised(x, point, { sentences: [{ length: T }], eps }) {
    const sets = {};
    const setAt = (at) => (sets[setOf(point, at, T, x[0].length)] ??= { values: [] });
    each(x, (at, value) => setAt(at).values.push(value));
    for (const set of Object.values(sets)) {
      set.mean = point.centred ? mean(set.values) : 0;
      set.variance = mean(set.values.map((value) => (value - set.mean) ** 2));
    }
    return {
      sets: each(x, setAt),
      output: each(x, (at, value) => {
        const { mean, variance } = setAt(at);
        return (value - mean) / Math.sqrt(variance + eps);
      }),
      statistics: Object.keys(sets).length,
    };
  }

  // What a number of the watched result's set is to it: its word's own, of an earlier or later word,
  // of another sentence.
  function kind([r], [watched], T) {
    if (Math.floor(r / T) !== Math.floor(watched / T)) return "other";
    return r === watched ? "itself" : r < watched ? "earlier" : "later";
  }

  // --- words

  const key = ({ over, groups, centred }) => [over, groups, centred ? "yes" : "no"].join("|");
  function place({ sentences }, [r, c]) {
    const T = sentences[0].length;
    return `number ${c + 1} of “${sentences.flat()[r]}” in sentence ${Math.floor(r / T) + 1}`;
  }

  // The lines in which a result is written out.
  function working(value, output, { values, mean, variance }, centred, eps) {
    const total = (terms) =>
      (terms.length > TERMS ? [...terms.slice(0, 3), "…", terms.at(-1)] : terms).join(" + ");
    const squares = total(values.map((one) => `${factor(one - mean)}²`));
    const off = centred ? `(${number(value)} − ${factor(mean)})` : number(value);
    const n = values.length;
    const terms = total(values.map(factor));
    return [
      centred ? `mean = (${terms}) / ${n} = ${number(mean)}` : "mean: not subtracted",
      `${centred ? "variance" : "mean square"} = (${squares}) / ${n} = ${number(variance)}`,
      `result = ${off} / √(${number(variance)} + ${number(eps, 10)}) = ${number(output)}`,
    ];
  }

  function norm(name, statistics, size, centred) {
    const taken = centred
      ? `${many(statistics, "mean")} and ${many(statistics, "variance")}`
      : `${many(statistics, "mean square")}, with no mean subtracted,`;
    const zero = centred && size === 1 ? " Each number is its own mean, so all results are 0." : "";
    const of = statistics === 1 ? "of" : "each of";
    return `This is ${name}: ${taken} in all, ${of} ${many(size, "number")}.${zero}`;
  }

  function change(data, changed, moves, before, after, results) {
    const [{ at, value, was }] = changed;
    const by = Math.abs(after - before);
    const what =
      changed.length > 1
        ? `${changed.length} numbers are changed`
        : `${capital(place(data, at))} is ${number(value)} in place of ${number(was)}`;
    let watched = `the watched one from ${number(before)} to ${number(after)}`;
    if (by < SEEN) watched = `the watched one by less than ${2 * SEEN}, which ε lets through`;
    if (by <= STILL) watched = `the watched one stays ${number(after)}`;
    return ` ${what}: that moves ${moves || "none"} of the ${results} results, ${watched}.`;
  }

  function sentence(data, { x, point, watched }, now, before) {
    const size = get(now.sets, watched).values.length;
    const all = each(x, (at, value) => ({ at, value, was: get(data.x, at) })).flat();
    const changed = all.filter(({ value, was }) => value !== was);
    const by = all.map(({ at }) => get(now.output, at) - get(before.output, at));
    const moves = by.filter((x) => Math.abs(x) > STILL).length;
    const read = Object.keys(LEAKS).filter((axis) => point.over.includes(axis));
    const results = [before, now].map(({ output }) => get(output, watched));
    return (
      norm(data.names[key(point)] ?? data.nameless, now.statistics, size, point.centred) +
      ` The watched result, ${place(data, watched)}, shares its ` +
      `${point.centred ? "mean and variance" : "mean square"} with ` +
      `${size === 1 ? "no other" : many(size - 1, "other")}. Through this norm a word reads ` +
      `${listed(read.map((axis) => LEAKS[axis])) || "nothing that it must not"}.` +
      (changed.length ? change(data, changed, moves, ...results, all.length) : "")
    );
  }

  // --- what is drawn

  // A block, sentence below sentence, a row a word; cell(at) is one number.
  function table({ sentences, x }, side, caption, cell) {
    const columns = x[0].length + (side === "x");
    function row(word, r) {
      const name = side === "x" && html`<th scope="row">${word}</th>`;
      return html`<tr>${name}${x[r].map((_, c) => html`<td>${cell([r, c])}</td>`)}</tr>`;
    }
    const body = (words, b) =>
      html`
        <tbody>
          <tr class="axes-sentence"><th scope="rowgroup" colspan=${columns}>sentence ${b + 1}</th></tr>
          ${words.map((word, t) => row(word, b * words.length + t))}
        </tbody>`;
    return html`
      <table class="axes-block" data-side=${side}>
        <caption>${caption}</caption>
        <colgroup>${Array.from({ length: columns }, () => html`<col>`)}</colgroup>
        ${sentences.map(body)}
      </table>`;
  }

  // Both blocks, the set of the watched result lit.
  function blocks(data, { x, chosen, watched }, now, before, live) {
    const T = data.sentences[0].length;
    const cell = (side, at, current, label) =>
      Play.cell(live, side, at, current, Play.pressable(same(at, current), label));
    function goesIn(at) {
      const [value, was] = [get(x, at), get(data.x, at)];
      const lit = get(now.sets, at) === get(now.sets, watched);
      const changed = value === was ? "" : `, changed from ${number(was)}`;
      const label = `${place(data, at)}: ${number(value)}${changed}`;
      return html`
        <span class="axes-cell" data-kind=${lit && kind(at, watched, T)} data-own=${same(at, watched)}
          data-changed=${value !== was} ${cell("x", at, chosen, label)}>${number(value)}</span>`;
    }
    function comesOut(at) {
      const [y, was] = [now, before].map(({ output }) => get(output, at));
      const moved = Math.abs(y - was) > STILL && (y > was ? "up" : "down");
      const told = moved ? `, before ${fixed(was)}` : "";
      const label = `result of ${place(data, at)}: ${fixed(y)} (${fixed(y, 1)})${told}`;
      return html`
        <span class="axes-cell" data-own=${same(at, watched)} data-moved=${moved}
          ${cell("y", at, watched, label)}><span class="axes-fine">${fixed(y)}</span
          ><span class="axes-coarse">${fixed(y, 1)}</span></span>`;
    }
    return html`
      <div class="axes-blocks">
        ${table(data, "x", "goes in", goesIn)}${table(data, "y", "comes out", comesOut)}
      </div>`;
  }

  function legend([kind, words]) {
    const sample = html`<span class="axes-cell" data-kind=${kind} aria-hidden="true"></span>`;
    return html`<li>${sample}${words}</li>`;
  }

  // The controls for the axes, and the names that wait to be found.
  function picker({ groups, five, names }, { point, found }, { ident, live }) {
    const { over, centred } = point;
    function name(one) {
      const [is, was] = [live && one === key(point), live && found.includes(one)];
      return html`
        <li data-point=${one} data-found=${was} aria-current=${is && "true"}
          >${was && "✓ "}${names[one]}</li>`;
    }
    const axis = (name, letter) => ["over", name, over.includes(letter), letter];
    return html`
      <div class="axes-over">
        <span>average over</span>
        ${Play.buttons(axis("sentences (B)", "B"), axis("words (T)", "T"))}
      </div>
      ${Play.buttons(["centred", "subtract the mean", centred])}
      ${Play.choices(ident, "features", "features (C)", FEATURES, groups.indexOf(point.groups))}
      <div class="axes-find"><span>find all five:</span><ul>${five.map(name)}</ul></div>`;
  }

  function draw(data, state, frame) {
    const { x, point, chosen, watched } = state;
    const [now, before] = [x, data.x].map((block) => normalised(block, point, data));
    const [value, y, set] = [x, now.output, now.sets].map((block) => get(block, watched));
    const lines = working(value, y, set, point.centred, data.eps);
    const slider = { name: "value", label: place(data, chosen), value: get(x, chosen) };
    return {
      stage: html`
        ${Play.steered(frame.live, "axes-picker", picker(data, state, frame))}
        ${blocks(data, state, now, before, frame.live)}
        <ul class="axes-legend">${Object.entries(LEGEND).map(legend)}</ul>
        <div class="axes-working">${lines.map((line) => html`<p>${line}</p>`)}</div>`,
      controls: [
        Play.slider({ ...slider, low: LEAST, high: MOST, step: 1 }),
        Play.buttons(["back", "Back to the chapter’s numbers"]),
      ],
      says: sentence(data, state, now, before),
    };
  }

  // --- what the reader does

  function pick(change, { point, found }) {
    const next = { ...point, ...change };
    return { point: next, found: [...found, key(next)] };
  }

  Play.figure("axes", {
    first: ({ x, start: point, watched, chosen }) => {
      return { x, point, watched, chosen, found: [key(point)] };
    },
    draw,
    acts: {
      over: (axis, state) => {
        const is = (one) => state.point.over.includes(one) !== (one === axis);
        return pick({ over: ["B", "T"].filter(is).join("") }, state);
      },
      centred: (_, state) => pick({ centred: !state.point.centred }, state),
      features: (n, state, { groups }) => pick({ groups: groups[n] }, state),
      value: (value, { x, chosen: [r, c] }) => ({ x: x.with(r, x[r].with(c, value)) }),
      back: (_, state, { x }) => ({ x }),
    },
    grids: {
      x: { reach: (chosen) => ({ chosen }) },
      y: { reach: (watched) => ({ watched }) },
    },
  });
})();
