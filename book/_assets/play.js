// What the figures that a reader moves have in common (book/_ext/play/ says what makes one). It runs
// twice: in Node at the build, which takes each figure's first state from it, and in the page.
//
//   Play.figure(NAME, {
//     first(data)                 the state it opens with
//     draw(data, state, frame)    the HTML of its { stage, controls, more }, and what it says. `frame`
//                                 has its ident, and whether it is live: on paper and without scripts
//                                 nothing has the role of what can be pressed
//     acts: { NAME(value, state, data) }    what changes in the state, {…}, when the slider, choice or
//                                 button of that name is moved or pressed
//     handles: { plane, points(state), move(n, point, state) }    points to drag, and what changes when
//                                 the n-th is moved
//     grids: { NAME: { reach, peek, press } }    what changes, given [row, column], state and data, when
//                                 a cell has the focus, is under a mouse (null: none is), is pressed
//   })
"use strict";

(() => {
  const { html, clamp } = Play;
  const PAUSE = 600; // milliseconds without a change before a screen reader is told
  const figures = {};

  function view(name, ident, data, state, live) {
    const { stage, controls, says, more } = figures[name].draw(data, state, { ident, live });
    return html`
        <div class="play-stage">${stage}</div>
        ${controls && Play.steered(live, "", controls)}
        <p class="play-says">${says}</p>
        ${more}`.text;
  }

  // The HTML of a figure in a state, on paper and without scripts.
  const still = (name, ident, data, state = figures[name].first(data)) =>
    view(name, ident, data, state, false);

  function figure(name, made) {
    figures[name] = made;
    const all = globalThis.document?.querySelectorAll(`figure.play[data-play="${name}"]`);
    all?.forEach((element) => begin(name, element));
  }

  function begin(name, element) {
    const data = JSON.parse(element.querySelector(".play-data").textContent);
    const [shown, said] = [".play-view", ".play-said"].map((part) => element.querySelector(part));
    const { first, acts, handles, grids } = figures[name];
    const state = first(data);
    let waiting;
    function redraw() {
      const template = document.createElement("template");
      template.innerHTML = view(name, element.id, data, state, true);
      morph(shown, template.content);
      for (const input of shown.querySelectorAll("input")) {
        input.value = input.getAttribute("value"); // a hand may have moved it
        input.checked = input.hasAttribute("checked");
      }
    }
    // The sentence is there at once; a screen reader has it when the reader has paused.
    function change(what) {
      Object.assign(state, what);
      redraw();
      clearTimeout(waiting);
      const says = shown.querySelector(".play-says").textContent;
      waiting = setTimeout(() => (said.textContent = says), PAUSE);
    }
    redraw();
    if (acts) {
      control(shown, (name, value) => {
        const act = acts[name.replace(`${element.id}-`, "")];
        if (act) change(act(value, state, data));
      });
    }
    if (handles) {
      const { plane, points, move } = handles;
      drag(
        shown,
        plane,
        (n) => points(state)[n],
        (n, point) => change(move(n, point, state)),
      );
    }
    if (grids) {
      walk(shown, (grid, what, place) => {
        const act = grids[grid][what];
        if (act) change(act(place, state, data));
      });
    }
    element.dataset.live = "";
  }

  // Changes in an element what differs from what it should show. All else stays the same node: what
  // has the focus, or is held by a hand.
  function morph(node, next) {
    const nodes = [...node.childNodes];
    const all = [...next.childNodes];
    all.forEach((wanted, i) => {
      const is = nodes[i];
      if (is?.isEqualNode(wanted)) return;
      if (is?.nodeName !== wanted.nodeName)
        return is ? is.replaceWith(wanted) : node.append(wanted);
      if (wanted.nodeType === Node.TEXT_NODE) return (is.data = wanted.data);
      for (const name of is.getAttributeNames()) {
        if (!wanted.hasAttribute(name)) is.removeAttribute(name);
      }
      for (const { name, value } of wanted.attributes) is.setAttribute(name, value);
      morph(is, wanted);
    });
    nodes.slice(all.length).forEach((rest) => rest.remove());
  }

  // --- what a reader does: act(name, value) of controls, move(n, point) of handles, and
  // act(grid, what, place) of cells

  function control(shown, act) {
    shown.addEventListener("input", ({ target }) => {
      if (target.type === "range") act(target.name, target.valueAsNumber);
      else act(target.name, Number(target.value));
    });
    shown.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (button) act(button.name, button.value);
    });
    shown.addEventListener("keydown", (event) => {
      if (event.target.type === "range") event.stopPropagation(); // JupyterLab takes arrow keys
    });
  }

  const STEP = 0.1; // of an arrow key; with Shift ten times as far
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const snap = (x) => Number((Math.round(x / STEP) * STEP).toFixed(9)) + 0; // no −0
  const modified = (event) => event.ctrlKey || event.metaKey || event.altKey;

  // Handles are dragged by mouse, pen or finger, and moved by the arrow keys.
  function drag(shown, plane, point, move) {
    let held = null; // which, and from where it was taken to the point itself
    const taken = ({ target }) => target.closest(".play-handle");
    const under = (event) => plane.under(taken(event).ownerSVGElement, event);
    shown.addEventListener("pointerdown", (event) => {
      const handle = taken(event);
      if (!handle || event.button) return;
      const [n, place] = [Number(handle.dataset.handle), under(event)];
      held = { n, away: point(n).map((value, i) => value - place[i]) };
      handle.setPointerCapture(event.pointerId);
      handle.focus({ preventScroll: true });
      event.preventDefault();
    });
    shown.addEventListener("pointermove", (event) => {
      if (held)
        move(
          held.n,
          under(event).map((value, i) => snap(value + held.away[i])),
        );
    });
    for (const end of ["pointerup", "pointercancel"]) {
      shown.addEventListener(end, () => (held = null));
    }
    // Where a browser does not heed `touch-action` inside a picture: a finger here does not scroll.
    const still = (event) => taken(event) && event.preventDefault();
    shown.addEventListener("touchstart", still, { passive: false });
    shown.addEventListener("keydown", (event) => {
      const way = ARROWS[event.key];
      if (!way || !taken(event) || modified(event)) return;
      event.preventDefault();
      event.stopPropagation();
      const [n, far] = [Number(taken(event).dataset.handle), STEP * (event.shiftKey ? 10 : 1)];
      move(
        n,
        point(n).map((value, i) => snap(value + way[i] * far)),
      );
    });
  }

  // Of the cells of a grid one can be reached by Tab, and the others from there by arrow keys, Home,
  // End (with Ctrl: the first and the last of all).
  function walk(shown, act) {
    const found = ({ target }) => target.closest("[data-grid]");
    const place = (cell) => cell.dataset.at.split(",").map(Number);
    let over = null; // the cell under the mouse
    function look(cell, { pointerType }) {
      if (cell === over || pointerType === "touch") return;
      if (over && cell?.dataset.grid !== over.dataset.grid) act(over.dataset.grid, "peek", null);
      over = cell;
      if (cell) act(cell.dataset.grid, "peek", place(cell));
    }
    shown.addEventListener("pointerover", (event) => look(found(event), event));
    shown.addEventListener("pointerleave", (event) => look(null, event));
    shown.addEventListener("focusin", (event) => {
      const cell = found(event);
      if (cell) act(cell.dataset.grid, "reach", place(cell));
    });
    shown.addEventListener("click", (event) => {
      const cell = found(event);
      if (!cell) return;
      act(cell.dataset.grid, "reach", place(cell));
      cell.focus();
      act(cell.dataset.grid, "press", place(cell));
    });
    shown.addEventListener("keydown", (event) => {
      const cell = found(event);
      if (!cell || event.metaKey || event.altKey) return;
      const { grid } = cell.dataset;
      const cells = [...shown.querySelectorAll(`[data-grid="${grid}"][tabindex]`)];
      const next = beside(event, place(cell), place(cells.at(-1)));
      if (next) cells.find(({ dataset }) => dataset.at === String(next)).focus();
      else if (event.key === "Enter" || event.key === " ") act(grid, "press", place(cell));
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  // Where a key leads from a cell, within its grid.
  function beside({ key, ctrlKey }, [row, column], last) {
    const next = {
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      Home: [ctrlKey ? 0 : row, 0],
      End: [ctrlKey ? last[0] : row, last[1]],
    }[key];
    return next?.map((x, i) => clamp(x, 0, last[i]));
  }

  Object.assign(Play, { figure, still });
})();
