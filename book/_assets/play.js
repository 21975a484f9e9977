// What the figures that a reader moves have in common (book/_ext/book_play.py says what makes one).
// One global, Play. Its interface, kept stable:
//
//   Play.figure(NAME, make)    calls make(element, data) for each figure of that name on the page,
//                              then shows its controls and marks it with data-live
//   Play.compute.NAME          where a figure's pure functions go, for tests to call
//   Play.says(element)         returns say(words): shows the sentence at once, and lets a screen
//                              reader have it when the reader has paused
//   Play.part(element, name)   the element with that data-part
//   Play.set(node, {…}), Play.svg(tag, {…}, …children)   attributes: numbers in two decimals,
//                              false and null take one away
//   Play.fixed(x, digits), number(x, digits), factor(x), product(a, b), listed(words), at(x)
//                              numbers and lists, written as book/_ext/play/__init__.py does
//   Play.clamp(x, low, high), Play.snap(x, step), Play.dot(a, b), Play.softmax(scores)
//   Play.plane({reach, side, middle})   x(value), y(value), ends(a, b), through(way), points(corners),
//                              under(svg, event)
//   Play.arrow(element, name, plane, end)   puts the arrow of that name where it belongs
//   Play.point(svg, handle, {label, plane, at, put, step, stride})   a point to drag in a plane;
//                              returns show(point), which puts the handle there and tells of it
//   Play.tap(svg, {plane, put, step})   a click or tap beside the handles
//   Play.slider(element, name, put)    a native range input; returns show(value, words)
//   Play.choice(element, name, put), Play.press(element, name, act)   radio buttons, a button
//   Play.grid(rows, {reach, peek, press})   cells with one tab stop, walked by the arrow keys
"use strict";

globalThis.Play = (() => {
  const PAUSE = 600; // milliseconds without a change before a screen reader is told

  // --- numbers in words: as Python writes them, with true minus signs, no minus before a zero

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
  const written = (x) => signed(x, short(rounded(x, 2)), "-"); // as an attribute

  function factor(x) {
    const text = number(x);
    return text.startsWith("−") ? `(${text})` : text;
  }

  const product = (a, b) => a.map((x, i) => `${factor(x)} · ${factor(b[i])}`).join(" + ");
  const listed = (words) =>
    words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

  // --- arithmetic

  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  const snap = (x, step) => Number((Math.round(x / step) * step).toFixed(9)) + 0; // no −0
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

  // Of scores that are −Infinity only some; the largest is taken off first, so nothing overflows.
  function softmax(scores) {
    const most = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - most));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  }

  // --- elements

  function set(node, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === false || value === null) node.removeAttribute(name);
      else node.setAttribute(name, typeof value === "number" ? written(value) : value === true ? "" : value);
    }
    return node;
  }

  const part = (element, name) => element.querySelector(`[data-part="${name}"]`);

  function svg(tag, attributes = {}, ...children) {
    const node = set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
    node.append(...children);
    return node;
  }

  function figure(name, make) {
    for (const element of document.querySelectorAll(`figure.play[data-play="${name}"]`)) {
      make(element, JSON.parse(element.querySelector(".play-data").textContent));
      element.querySelectorAll(".play-controls").forEach((controls) => (controls.hidden = false));
      element.dataset.live = "";
    }
  }

  function says(element) {
    const [shown, said] = [".play-says", ".play-said"].map((part) => element.querySelector(part));
    let waiting;
    return (words) => {
      if (shown.textContent === words) return;
      shown.textContent = words;
      clearTimeout(waiting);
      waiting = setTimeout(() => (said.textContent = words), PAUSE);
    };
  }

  // --- the plane

  function plane({ reach, side, middle = 0 }) {
    const x = (value) => (((value - middle) / reach + 1) * side) / 2;
    const y = (value) => ((1 - (value - middle) / reach) * side) / 2;
    return {
      reach, side, middle, x, y,
      ends: (a, b) => ({ x1: x(a[0]), y1: y(a[1]), x2: x(b[0]), y2: y(b[1]) }),
      points: (corners) => corners.map(([a, b]) => `${written(x(a))},${written(y(b))}`).join(" "),
      // The two ends, in the square, of the line through the origin; twice the origin for (0, 0).
      through: (way) => [-1, 1].map((sign) => {
        const room = way.filter((x) => x !== 0).map((x) =>
          (sign * x > 0 ? middle + reach : middle - reach) / (sign * x));
        return way.map((x) => (room.length ? sign * x * Math.min(...room) : 0));
      }),
      // The place in the plane that a pointer is over.
      under(picture, event) {
        const place = new DOMPoint(event.clientX, event.clientY)
          .matrixTransform(picture.getScreenCTM().inverse());
        const [across, up] = [(2 * place.x) / side - 1, 1 - (2 * place.y) / side];
        return [middle + across * reach, middle + up * reach];
      },
    };
  }

  function arrow(element, name, plane, end) {
    const turned = (Math.atan2(end[0], end[1]) * 180) / Math.PI;
    const place = `translate(${written(plane.x(end[0]))} ${written(plane.y(end[1]))})`;
    set(part(element, `${name}-line`), plane.ends([0, 0], end));
    set(part(element, `${name}-head`), { transform: `${place} rotate(${written(turned)})` });
    set(part(element, name), { visibility: end.some((x) => x !== 0) ? null : "hidden" });
  }

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

  // A handle that is dragged by mouse, pen or finger, and moved by the arrow keys: by `step`, with
  // Shift by `stride`. at() gives the point, put(point) is asked to move it and may refuse or clamp.
  function point(picture, handle, { label, plane, at, put, step = 0.1, stride = 1 }) {
    let held = null; // from where the handle was taken to the point itself
    set(handle, { tabindex: "0", role: "slider", "aria-label": label,
                  "aria-roledescription": "point in the plane" });
    handle.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      const under = plane.under(picture, event);
      held = at().map((value, i) => value - under[i]);
      handle.setPointerCapture(event.pointerId);
      handle.focus({ preventScroll: true });
      event.preventDefault();
    });
    handle.addEventListener("pointermove", (event) => {
      if (held) put(plane.under(picture, event).map((value, i) => snap(value + held[i], step)));
    });
    for (const end of ["pointerup", "pointercancel"]) {
      handle.addEventListener(end, () => (held = null));
    }
    // Where a browser does not heed `touch-action` inside a picture: a finger here does not scroll.
    handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    handle.addEventListener("keydown", (event) => {
      const way = ARROWS[event.key];
      if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      const far = event.shiftKey ? stride : step;
      put(at().map((value, i) => snap(value + way[i] * far, step)));
    });
    return ([x, y]) => set(handle, {
      transform: `translate(${written(plane.x(x))} ${written(plane.y(y))})`,
      "aria-valuenow": x,
      "aria-valuemin": plane.middle - plane.reach, "aria-valuemax": plane.middle + plane.reach,
      "aria-valuetext": `${number(x)} across, ${number(y)} up`,
    });
  }

  function tap(picture, { plane, put, step = 0.1 }) {
    picture.addEventListener("click", (event) => {
      if (event.target.closest(".play-handle")) return;
      put(plane.under(picture, event).map((value) => snap(value, step)));
    });
  }

  // --- native controls

  function slider(element, name, put) {
    const input = element.querySelector(`input[name="${name}"]`);
    input.addEventListener("input", () => put(input.valueAsNumber));
    input.addEventListener("keydown", (event) => event.stopPropagation());
    return (value, words = fixed(value)) => {
      if (input.valueAsNumber !== value) input.value = value;
      input.setAttribute("aria-valuetext", words);
      input.nextElementSibling.textContent = words;
    };
  }

  function choice(element, name, put) {
    const inputs = [...element.querySelectorAll(`input[name="${element.id}-${name}"]`)];
    inputs.forEach((input, i) => input.addEventListener("change", () => put(i)));
    return (i) => (inputs[i].checked = true);
  }

  function press(element, name, act) {
    element.querySelector(`button[name="${name}"]`).addEventListener("click", act);
  }

  // Cells in rows, of which one can be reached by Tab and the others from there by arrow keys, Home,
  // End (with Ctrl: the first and the last of all). reach(row, column) when one is focused,
  // peek(row, column) while a mouse is over one and peek() when it has left them all, press(row,
  // column) on Enter, Space and click. Returns go(row, column, focus = false): make it the tab stop.
  function grid(rows, { reach = () => {}, peek = () => {}, press = () => {} }) {
    const places = new Map(rows.flatMap((row, r) => row.map((cell, c) => [cell, [r, c]])));
    const keys = {
      ArrowLeft: (r, c) => [r, c - 1], ArrowRight: (r, c) => [r, c + 1],
      ArrowUp: (r, c) => [r - 1, c], ArrowDown: (r, c) => [r + 1, c],
      Home: (r, c, all) => [all ? 0 : r, 0],
      End: (r, c, all) => [all ? rows.length - 1 : r, rows[r].length - 1],
    };
    function go(row, column, focus = false) {
      for (const cell of places.keys()) cell.tabIndex = cell === rows[row][column] ? 0 : -1;
      if (focus) rows[row][column].focus();
    }
    for (const [cell, [row, column]] of places) {
      cell.addEventListener("focus", () => {
        go(row, column);
        reach(row, column);
      });
      cell.addEventListener("click", () => {
        cell.focus();
        press(row, column);
      });
      cell.addEventListener("pointerenter", ({ pointerType }) => {
        if (pointerType !== "touch") peek(row, column);
      });
      cell.addEventListener("pointerleave", ({ relatedTarget }) => {
        if (![...places.keys()].some((other) => other.contains(relatedTarget))) peek();
      });
      cell.addEventListener("keydown", (event) => {
        if (event.metaKey || event.altKey) return;
        const next = keys[event.key]?.(row, column, event.ctrlKey);
        if (next) {
          const to = clamp(next[0], 0, rows.length - 1);
          go(to, clamp(next[1], 0, rows[to].length - 1), true);
        }
        else if (event.key === "Enter" || event.key === " ") press(row, column);
        else return;
        event.preventDefault();
        event.stopPropagation();
      });
    }
    go(0, 0);
    return go;
  }

  return {
    compute: {}, figure, says, part, set, svg, at: written, fixed, number, factor, product, listed, clamp,
    snap, dot, softmax, plane, arrow, point, tap, slider, choice, press, grid,
  };
})();
