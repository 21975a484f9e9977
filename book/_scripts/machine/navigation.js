// From number to number: what is open, what is in view, and the page's own address.

import { parse, write } from "./address.js";
import { forget, inWords } from "./inquiry.js";
import { drawPage } from "./page.js";
import { changed, reader, readText, replace, undo } from "./reader.js";
import { byKey, isReadOut } from "./rows.js";
import { field, find, state, token } from "./state.js";

let written = 0; // a timer

// Write what is shown into the page's address. how: "on", a step that Back undoes; "stay", none;
// "later", none, and not at each keystroke, because browsers count.
export function writeAddress(how) {
  clearTimeout(written);
  if (how === "later") {
    written = setTimeout(writeAddress, 250, "stay");
    return;
  }
  const text = state.machine.ids.map((_, t) => token(t)).join(""),
    hash = `#${write(text, state.opened, changed(), state.why.asked ? inWords() : {})}`;
  if (hash === location.hash) return;
  const depth = (history.state?.depth ?? 0) + (how !== "stay");
  history[how === "stay" ? "replaceState" : "pushState"]({ depth }, "", hash);
}

// Open a number. how: as above, or "walk", a step to another token.
export function showNumber(a, how = "on") {
  if (how === "on") writeAddress("stay");
  Object.assign(state, { opened: a, every: false });
  if (a.position !== undefined) {
    state.followed = state.followed && a.position === state.position;
    state.position = a.position;
  }
  for (const name of ["layer", "head"]) if (a[name] && !isReadOut(a)) field(name).value = a[name];
  if (byKey(a.part)) field("shown").value = a.part;
  if (how !== "walk") state.sought = { a, atOnce: how === "stay" };
  drawPage();
  writeAddress(how);
  if (how === "on") find(".machine-opened").focus({ preventScroll: true });
}

const behaviour = (atOnce) =>
  atOnce || matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";

export const toView = (name, atOnce) => find(name).scrollIntoView({ behavior: behaviour(atOnce) });

// Bring where a number stands into view by the shortest way: itself, or what it belongs to.
export function reveal({ a, atOnce, why }) {
  if (why) {
    find(".machine-why").focus({ preventScroll: true });
    return toView(".machine-why", atOnce);
  }
  const start = a.part === "stream" && !a.layer,
    own = a.part === "learned" ? a.table.split(".").at(-2) : start ? "start" : a.part;
  const known = own
    .replace(/^(scores|scaled|weights|share)$/, "maps")
    .replace(/^(mean|centred|variance|rstd|norm_)(?=[12]?$)/, "norm")
    .replace(/^share_next$/, "probabilities");
  const part = { qkv: "q", head: "logits" }[known] ?? known;
  const box = find(`[data-part="${isReadOut(a) && a.layer !== undefined ? "lens" : part}"]`);
  (box?.querySelector(".machine-mark:not([hidden])") ?? box)?.scrollIntoView({
    block: "nearest",
    inline: "nearest",
    behavior: behaviour(atOnce),
  });
}

// Show what the page's address names.
export function arrive() {
  const { text, number, change, why } = parse(location.hash);
  clearTimeout(written);
  if (text !== null) field("text").value = text;
  Object.assign(reader, { wanted: number, question: why });
  forget();
  if (!number) Object.assign(state, { followed: true, opened: null });
  undo();
  field("positions").checked = Boolean(change.positions);
  for (const how of ["silent", "mean"]) {
    for (const [layer, head] of change[how]) {
      if (replace(layer, head, how) && !number)
        [field("layer").value, field("head").value] = [layer, head];
    }
  }
  if (state.machine) readText();
}
