// Chapter 04: pick the axes of a norm, watch one result, change one number. The first state is
// drawn by book/_ext/play/axes.py.
"use strict";

(() => {
  const { fixed, number, factor, listed } = Play;
  const STILL = 1e-9; // a result that moves by less has not moved
  const SEEN = 0.0005; // one that moves by less looks as before in three decimals
  const STRIDE = 8; // CSS pixels that a number is dragged for each 1

  // --- what is computed. A block is x[b][t][c]; a point is { over: axes of "BT", groups, centred }

  const each = (x, f) =>
    x.map((words, b) => words.map((row, t) => row.map((value, c) => f([b, t, c], value))));

  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  // Numbers whose sets have one name share their mean and variance.
  function setOf({ over, groups }, [b, t, c], width) {
    const [B, T] = [..."BT"].map((axis) => over.includes(axis));
    return [B ? "all" : b, T ? "all" : t, Math.floor((c * groups) / width)].join();
  }

  // As helpers.norms.pooled: every number's mean, variance and result; and how many sets there are.
  function normalised(x, point, eps) {
    const name = (at) => setOf(point, at, x[0][0].length), sets = {}, found = {};
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
    const width = x[0][0].length, own = setOf(point, watched, width);
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

  const moved = (before, after) => each(after, ([b, t, c], value) => {
    const by = value - before[b][t][c];
    return Math.abs(by) > STILL ? by : 0;
  });

  Play.compute.axes = { normalised, kinds, leaks, moved };

  // --- words

  function working(x, found, all, [b, t, c], { centred }, { eps, terms }) {
    const at = (part) => found[part][b][t][c], n = all.length;
    const sum = (words) =>
      (words.length > terms ? [...words.slice(0, 3), "…", words.at(-1)] : words).join(" + ");
    const squares = sum(all.map((value) => `${factor(value - at("mean"))}²`));
    const off = centred ? `(${number(x[b][t][c])} − ${factor(at("mean"))})` : number(x[b][t][c]);
    return {
      mean: centred ? `mean = (${sum(all.map(factor))}) / ${n} = ${number(at("mean"))}`
        : "mean: not subtracted",
      variance: `${centred ? "variance" : "mean square"} = (${squares}) / ${n} = `
        + number(at("variance")),
      result: `result = ${off} / √(${number(at("variance"))} + ${number(eps, 10)}) = `
        + number(at("output")),
    };
  }

  const many = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

  function norm(name, { statistics }, size, { centred }) {
    const of = `${statistics === 1 ? "" : "each "}of ${many(size, "number")}`;
    const taken = centred ? `${many(statistics, "mean")} and ${many(statistics, "variance")}`
      : `${many(statistics, "mean square")}, with no mean subtracted,`;
    const zero = centred && size === 1 ? " Each number is its own mean, so all results are 0." : "";
    return `This is ${name}: ${taken} in all, ${of}.${zero}`;
  }

  function reading(x, point) {
    const { future, others } = leaks(x, point);
    const read = [future && "later words", others && "the other sentence"].filter(Boolean);
    return `Through this norm a word reads ${listed(read) || "nothing that it must not"}.`;
  }

  function change(changed, moves, before, after, results) {
    const [first] = changed, by = after - before;
    const what = changed.length > 1 ? `${changed.length} numbers are changed`
      : `${first.name[0].toUpperCase()}${first.name.slice(1)} is ${number(first.now)} `
        + `in place of ${number(first.then)}`;
    const watched = Math.abs(by) <= STILL ? `the watched one stays ${number(after)}`
      : Math.abs(by) < SEEN ? `the watched one by less than ${number(2 * SEEN)}, which ε lets through`
        : `the watched one from ${number(before)} to ${number(after)}`;
    return `${what}: that moves ${moves || "none"} of the ${results} results, ${watched}.`;
  }

  // --- the figure

  Play.figure("axes", (element, data) => {
    const { sentences, start, eps } = data, [B, T, C] = [sentences.length, sentences[0].length,
      data.x[0][0].length];
    const state = { x: structuredClone(data.x), point: { ...start }, watched: data.watched,
                    chosen: data.chosen, peeked: null };
    const say = Play.says(element), found = new Set();
    const [into, out] = ["x", "y"].map((side) => {
      const cells = [...element.querySelectorAll(`[data-side="${side}"] td .axes-cell`)];
      return each(data.x, ([b, t, c]) => cells[(b * T + t) * C + c]);
    });
    const place = ([b, t, c]) => `number ${c + 1} of “${sentences[b][t]}” in sentence ${b + 1}`;
    const get = (block, [b, t, c]) => block[b][t][c];
    const same = (one, other) => one.join() === other.join();

    // --- showing

    function showBlocks(now, before, watched) {
      const lit = kinds(state.x, state.point, watched), moves = moved(before.output, now.output);
      each(state.x, (at, value) => {
        const [cell, result] = [get(into, at), get(out, at)], y = get(now.output, at);
        const was = get(data.x, at), by = get(moves, at), text = number(value);
        cell.textContent = text;
        Play.set(cell, {
          "data-kind": get(lit, at), "data-own": same(at, watched), "data-changed": value !== was,
          "aria-pressed": String(same(at, state.chosen)),
          "aria-label": `${place(at)}: ${text}${value === was ? "" : `, changed from ${number(was)}`}`,
        });
        result.querySelector(".axes-fine").textContent = fixed(y);
        result.querySelector(".axes-coarse").textContent = fixed(y, 1);
        Play.set(result, {
          "data-own": same(at, watched), "data-moved": by ? (by > 0 ? "up" : "down") : null,
          "aria-pressed": String(same(at, state.watched)),
          "aria-label": `result of ${place(at)}: ${fixed(y)}`
            + (by ? `, before ${fixed(get(before.output, at))}` : ""),
        });
      });
      return { lit, moves: moves.flat(2).filter(Boolean).length };
    }

    function showPicker(name) {
      const { point } = state;
      for (const axis of ["B", "T"]) pressed(axis, point.over.includes(axis));
      pressed("centred", point.centred);
      showFeatures(data.groups.indexOf(point.groups));
      if (data.five.includes(name)) found.add(name);
      for (const item of element.querySelectorAll(".axes-find li")) {
        const key = item.dataset.point;
        item.textContent = (found.has(key) ? "✓ " : "") + data.names[key];
        Play.set(item, { "data-found": found.has(key), "aria-current": key === name && "true" });
      }
    }

    const pressed = (name, is) =>
      element.querySelector(`button[name="${name}"]`).setAttribute("aria-pressed", is);

    function showWorking(now, lit, watched) {
      const all = [];
      each(state.x, (at, value) => get(lit, at) && all.push(value));
      const lines = working(state.x, now, all, watched, state.point, data);
      for (const [name, words] of Object.entries(lines)) {
        element.querySelector(`[data-line="${name}"]`).textContent = words;
      }
      return all.length;
    }

    function words(name, now, before, size, moves) {
      const changed = [];
      each(state.x, (at, value) => {
        const then = get(data.x, at);
        if (value !== then) changed.push({ name: place(at), now: value, then });
      });
      const shared = `The watched result, ${place(state.watched)}, shares its `
        + `${state.point.centred ? "mean and variance" : "mean square"} with `
        + `${size === 1 ? "no other" : many(size - 1, "other")}.`;
      const results = [before, now].map(({ output }) => get(output, state.watched));
      return [
        norm(data.names[name] ?? data.nameless, now, size, state.point), shared,
        reading(state.x, state.point),
        changed.length ? change(changed, moves, ...results, B * T * C) : "",
      ].filter(Boolean).join(" ");
    }

    // What a mouse is over is lit in place of what is watched; the sentence stays with the latter.
    function show() {
      const { over, groups, centred } = state.point;
      const name = [over, groups, centred ? "yes" : "no"].join("|");
      const [now, before] = [state.x, data.x].map((x) => normalised(x, state.point, eps));
      const watched = state.peeked ?? state.watched;
      const { lit, moves } = showBlocks(now, before, watched);
      const size = showWorking(now, lit, watched);
      showPicker(name);
      const value = get(state.x, state.chosen);
      showValue(value, number(value));
      element.querySelector('input[name="value"]').previousElementSibling.textContent =
        place(state.chosen);
      say(words(name, now, before, size, moves));
    }

    // --- what the reader does

    function put(change) {
      Object.assign(state, change);
      show();
    }

    function setNumber(at, value) {
      const [low, high] = data.reach;
      state.x[at[0]][at[1]][at[2]] = Play.clamp(value, low, high);
      put({ chosen: at });
    }

    const turn = (axis) => () => {
      const over = ["B", "T"].filter((one) => state.point.over.includes(one) !== (one === axis));
      put({ point: { ...state.point, over: over.join("") } });
    };

    const showFeatures = Play.choice(element, "features", (i) =>
      put({ point: { ...state.point, groups: data.groups[i] } }));
    const showValue = Play.slider(element, "value", (value) => setNumber(state.chosen, value));
    for (const axis of ["B", "T"]) Play.press(element, axis, turn(axis));
    Play.press(element, "centred", () =>
      put({ point: { ...state.point, centred: !state.point.centred } }));
    Play.press(element, "back", () => put({ x: structuredClone(data.x) }));

    const whose = (row, c) => [Math.floor(row / T), row % T, c];
    const go = Play.grid(into.flat(), { reach: (row, c) => put({ chosen: whose(row, c) }) });
    const goOut = Play.grid(out.flat(), {
      reach: (row, c) => put({ watched: whose(row, c), peeked: null }),
      peek: (row, c) => put({ peeked: row === undefined ? null : whose(row, c) }),
    });
    go(data.chosen[0] * T + data.chosen[1], data.chosen[2]);
    goOut(data.watched[0] * T + data.watched[1], data.watched[2]);
    each(out, (at, cell) => cell.setAttribute("role", "button"));
    each(into, (at, cell) => {
      cell.setAttribute("role", "button");
      scrub(cell, () => get(state.x, at), (value) => setNumber(at, value));
    });
    show();
  });

  // A number that is dragged sideways, or counted up and down by + and −.
  function scrub(cell, get, put) {
    let held = null;
    cell.addEventListener("pointerdown", (event) => {
      if (!event.button) held = { from: event.clientX, value: get() };
    });
    cell.addEventListener("pointermove", (event) => {
      if (!held) return;
      const steps = Math.round((event.clientX - held.from) / STRIDE);
      if (steps && !cell.hasPointerCapture(event.pointerId)) cell.setPointerCapture(event.pointerId);
      if (cell.hasPointerCapture(event.pointerId)) put(held.value + steps);
    });
    for (const end of ["pointerup", "pointercancel"]) cell.addEventListener(end, () => (held = null));
    cell.addEventListener("keydown", (event) => {
      const by = { "+": 1, "=": 1, "-": -1, "−": -1 }[event.key];
      if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
      put(get() + by);
      event.preventDefault();
      event.stopPropagation();
    });
  }
})();
