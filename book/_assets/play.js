// What the figures that a reader moves have in common (book/_ext/play/ says what makes one).
// One global, Play. It runs twice: in Node at the build, which takes each figure's first state from
// it, and in the page. Its interface, kept stable:
//
//   Play.figure(NAME, { first, draw, liven })   a figure, all that is seen of it drawn from its state:
//                              first(data) gives the state it opens with; draw(data, state, { ident,
//                              live }) gives the HTML of its { stage, controls, more } and what it
//                              says; liven({ element, part, data, state, put }) brings it to life
//                              and returns what its controls do, by their names. put({…}) changes
//                              the state and what is seen. `live` is false on paper and without
//                              scripts, where nothing has the role of what can be pressed
//   Play.still(NAME, ident, data)   the HTML of a figure as it opens
//   Play.compute.NAME          where a figure's pure functions go, for tests to call
//   Play.tag(kind, {…}, …children), escaped(words)   an element in HTML: numbers in two decimals,
//                              true is an attribute without a value, false and null are none
//   Play.slider({…}), choices(…), buttons({…})   native controls in HTML
//   Play.fixed(x, digits), number(x, digits), factor(x), product(a, b), listed(words), at(x),
//   many(n, word), capital(word)   numbers and words, numbers as Python writes them
//   Play.clamp(x, low, high), snap(x, step), dot(a, b), softmax(scores)
//   Play.plane({reach, side, middle})   x(value), y(value), ends(a, b), through(way), points(corners),
//                              move(point), under(svg, event)
//   Play.arrow(plane, end, name), handle(plane, point, name, label, live), origin(plane)
//   Play.point(svg, handle, {plane, at, put, step, stride})   a handle to drag in a plane
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
  const at = (x) => signed(x, short(rounded(x, 2)), "-"); // as an attribute

  function factor(x) {
    const text = number(x);
    return text.startsWith("−") ? `(${text})` : text;
  }

  const product = (a, b) => a.map((x, i) => `${factor(x)} · ${factor(b[i])}`).join(" + ");
  const listed = (words) =>
    words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

  const many = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  const capital = (words) => words[0].toUpperCase() + words.slice(1);

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

  const escaped = (words) => String(words).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

  function tag(kind, attributes, ...children) {
    const written = Object.entries(attributes)
      .filter(([, value]) => value !== false && value !== null && value !== undefined)
      .map(([name, value]) =>
        value === true
          ? ` ${name}`
          : ` ${name}="${typeof value === "number" ? at(value) : escaped(value)}"`,
      );
    const end = kind === "input" ? "" : `</${kind}>`;
    return `<${kind}${written.join("")}>${children.flat().join("")}${end}`;
  }

  function slider({ name, label, value, low, high, step, words = fixed(value) }) {
    const input = {
      type: "range",
      name,
      min: low,
      max: high,
      step,
      value: String(value),
      "aria-valuetext": words,
      autocomplete: "off",
    };
    return tag(
      "label",
      { class: "play-slider" },
      tag("span", {}, escaped(label)),
      tag("input", input),
      tag("output", { "aria-hidden": "true" }, words),
    );
  }

  // Native radio buttons in a named group; the value of each is its number.
  function choices(ident, name, label, options, chosen) {
    const radios = options.map((option, value) => {
      const input = {
        type: "radio",
        name: `${ident}-${name}`,
        value,
        autocomplete: "off",
        checked: value === chosen,
      };
      return tag("label", {}, tag("input", input), ` ${escaped(option)}`);
    });
    return tag("fieldset", { class: "play-choices" }, tag("legend", {}, escaped(label)), radios);
  }

  // A row of buttons: { name: label }; those of which `pressed` knows are on or off.
  const buttons = (labels, pressed = {}) =>
    tag(
      "p",
      { class: "play-buttons" },
      Object.entries(labels).map(([name, label]) =>
        tag(
          "button",
          { type: "button", name, "aria-pressed": name in pressed && String(pressed[name]) },
          escaped(label),
        ),
      ),
    );

  const steered = (live, kind, ...children) =>
    tag("div", { class: `play-controls ${kind}`.trim(), hidden: !live }, ...children);

  // --- figures

  const figures = {};

  function view(name, ident, data, state, live) {
    const { stage, controls, says, more = "" } = figures[name].draw(data, state, { ident, live });
    const html =
      tag("div", { class: "play-stage" }, stage) +
      (controls ? steered(live, "", controls) : "") +
      tag("p", { class: "play-says" }, escaped(says)) +
      more;
    return { html, says };
  }

  const still = (name, ident, data) =>
    view(name, ident, data, figures[name].first(data), false).html;

  function figure(name, made) {
    figures[name] = made;
    if (!globalThis.document) return;
    document
      .querySelectorAll(`figure.play[data-play="${name}"]`)
      .forEach((element) =>
        begin(name, element, JSON.parse(element.querySelector(".play-data").textContent)),
      );
  }

  function begin(name, element, data) {
    const shown = element.querySelector(".play-view"),
      say = says(element);
    const state = figures[name].first(data),
      inputs = shown.getElementsByTagName("input");
    let last = parsed(shown.innerHTML);
    function put(change = {}) {
      Object.assign(state, change);
      const { html, says } = view(name, element.id, data, state, true),
        next = parsed(html);
      morph(shown, last, next);
      last = next;
      next.querySelectorAll("input").forEach(({ value, checked }, i) => {
        // a hand may have moved it
        if (inputs[i].value !== value) inputs[i].value = value;
        inputs[i].checked = checked;
      });
      say(says);
    }
    put();
    const part = (name) => shown.querySelector(`[data-part="${name}"]`);
    steer(element, figures[name].liven({ element: shown, part, data, state, put }));
    element.dataset.live = "";
  }

  function parsed(html) {
    const made = document.createElement("template");
    made.innerHTML = html;
    return made.content;
  }

  // Changes in an element what differs between two drawings, the one that it shows and the next. All
  // else stays the same node: what has the focus, is held by a hand, or has a tab stop.
  function morph(node, last, next) {
    const nodes = [...node.childNodes],
      was = [...last.childNodes],
      all = [...next.childNodes];
    all.forEach((wanted, i) => {
      if (was[i]?.isEqualNode(wanted)) return;
      if (was[i]?.nodeName !== wanted.nodeName) {
        const made = wanted.cloneNode(true);
        return nodes[i] ? nodes[i].replaceWith(made) : node.append(made);
      }
      if (wanted.nodeType !== 1) return (nodes[i].data = wanted.data);
      for (const { name } of was[i].attributes) {
        if (!wanted.hasAttribute(name)) nodes[i].removeAttribute(name);
      }
      for (const { name, value } of wanted.attributes) {
        if (was[i].getAttribute(name) !== value) nodes[i].setAttribute(name, value);
      }
      morph(nodes[i], was[i], wanted);
    });
    nodes.slice(all.length).forEach((rest) => rest.remove());
  }

  // The sentence is there at once; a screen reader has it when the reader has paused.
  function says(element) {
    const said = element.querySelector(".play-said");
    let last = element.querySelector(".play-says")?.textContent,
      waiting;
    return (words) => {
      if (words === last) return;
      last = words;
      clearTimeout(waiting);
      waiting = setTimeout(() => (said.textContent = words), PAUSE);
    };
  }

  // Lets the native controls do what `acts` has under their names.
  function steer(element, acts) {
    element.addEventListener("input", ({ target }) => {
      if (target.type === "range") acts[target.name](target.valueAsNumber);
    });
    element.addEventListener("change", ({ target }) => {
      if (target.type === "radio")
        acts[target.name.slice(element.id.length + 1)](Number(target.value));
    });
    element.addEventListener("click", ({ target }) => acts[target.closest("button")?.name]?.());
    element.addEventListener("keydown", (event) => {
      if (event.target.type === "range") event.stopPropagation(); // JupyterLab takes arrow keys
    });
  }

  // --- the plane

  function plane({ reach, side, middle = 0 }) {
    const x = (value) => (((value - middle) / reach + 1) * side) / 2;
    const y = (value) => ((1 - (value - middle) / reach) * side) / 2;
    return {
      reach,
      side,
      middle,
      x,
      y,
      ends: (a, b) => ({ x1: x(a[0]), y1: y(a[1]), x2: x(b[0]), y2: y(b[1]) }),
      points: (corners) => corners.map(([a, b]) => `${at(x(a))},${at(y(b))}`).join(" "),
      move: ([a, b]) => `translate(${at(x(a))} ${at(y(b))})`,
      // The two ends, in the square, of the line through the origin; twice the origin for (0, 0).
      through: (way) =>
        [-1, 1].map((sign) => {
          const room = way
            .filter((x) => x !== 0)
            .map((x) => (sign * x > 0 ? middle + reach : middle - reach) / (sign * x));
          return way.map((x) => (room.length ? sign * x * Math.min(...room) : 0));
        }),
      // The place in the plane that a pointer is over.
      under(picture, event) {
        const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(
          picture.getScreenCTM().inverse(),
        );
        const [across, up] = [(2 * place.x) / side - 1, 1 - (2 * place.y) / side];
        return [middle + across * reach, middle + up * reach];
      },
    };
  }

  // An arrow from the origin, its line and head the parts NAME-line and NAME-head.
  function arrow(plane, end, name) {
    const turned = `rotate(${at((Math.atan2(end[0], end[1]) * 180) / Math.PI)})`;
    return tag(
      "g",
      { class: "arrow", "data-part": name, visibility: end.some((x) => x !== 0) ? null : "hidden" },
      tag("line", { ...plane.ends([0, 0], end), "data-part": `${name}-line` }),
      tag("polygon", {
        points: "0,-1 5,11 -5,11",
        "data-part": `${name}-head`,
        transform: `${plane.move(end)} ${turned}`,
      }),
    );
  }

  // What a reader takes hold of at a point.
  function handle(plane, point, name, label, live) {
    const aria = {
      tabindex: "0",
      role: "slider",
      "aria-label": label,
      "aria-roledescription": "point in the plane",
      "aria-valuenow": point[0],
      "aria-valuemin": plane.middle - plane.reach,
      "aria-valuemax": plane.middle + plane.reach,
      "aria-valuetext": `${number(point[0])} across, ${number(point[1])} up`,
    };
    return tag(
      "g",
      { class: "play-handle", "data-part": name, transform: plane.move(point), ...(live && aria) },
      tag("circle", { r: 20, class: "reach" }),
      tag("circle", { r: 8, class: "ring" }),
    );
  }

  function origin(plane) {
    const [x, y] = [plane.x(0), plane.y(0)];
    return tag("path", {
      d: `M${at(x - 6)} ${at(y)}h12M${at(x)} ${at(y - 6)}v12`,
      class: "origin",
    });
  }

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

  // A handle that is dragged by mouse, pen or finger, and moved by the arrow keys: by `step`, with
  // Shift by `stride`. at() gives the point, put(point) is asked to move it and may refuse or clamp.
  function point(picture, handle, { plane, at, put, step = 0.1, stride = 1 }) {
    let held = null; // from where the handle was taken to the point itself
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
  }

  // Cells in rows, of which one can be reached by Tab and the others from there by arrow keys, Home,
  // End (with Ctrl: the first and the last of all). reach(row, column) when one is focused,
  // peek(row, column) while a mouse is over one and peek() when it has left them all, press(row,
  // column) on Enter, Space and click. Returns go(row, column, focus = false): make it the tab stop.
  function grid(rows, { reach = () => {}, peek = () => {}, press = () => {} }) {
    const places = new Map(rows.flatMap((row, r) => row.map((cell, c) => [cell, [r, c]])));
    const keys = {
      ArrowLeft: (r, c) => [r, c - 1],
      ArrowRight: (r, c) => [r, c + 1],
      ArrowUp: (r, c) => [r - 1, c],
      ArrowDown: (r, c) => [r + 1, c],
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
        } else if (event.key === "Enter" || event.key === " ") press(row, column);
        else return;
        event.preventDefault();
        event.stopPropagation();
      });
    }
    go(0, 0);
    return go;
  }

  return {
    compute: {},
    figure,
    still,
    tag,
    escaped,
    slider,
    choices,
    buttons,
    steered,
    fixed,
    number,
    factor,
    product,
    listed,
    at,
    many,
    capital,
    clamp,
    snap,
    dot,
    softmax,
    plane,
    arrow,
    handle,
    origin,
    point,
    grid,
  };
})();
