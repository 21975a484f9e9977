// The number that is open: the terms that it is the sum of, and where each comes from.

import { button, headed, make, tableRow } from "../gpt/page.js";
import { ask } from "./inquiry.js";
import { reveal, showNumber, writeAddress } from "./navigation.js";
import { drawPage } from "./page.js";
import { has, isNext, isReadOut } from "./rows.js";
import { open } from "./rules.js";
import { aboutPart, at, capital, data, find, instead, number, state, wordOf } from "./state.js";

const MOST_TERMS = 8; // shown at first

// Where a number stands, in words.
function whereOf(a) {
  const { part, table, layer, head, position, key, entry, column } = a;
  const read = isReadOut(a) ? "read " : "",
    where = [];
  if (part === "learned") {
    const word = /^(embedding|head)\.weight$/.test(table) ? ` (${wordOf(a.row)})` : "";
    if (column === undefined) where.push(`${table}, number ${a.row + 1}${word}`);
    else where.push(`${table}, row ${a.row + 1}${word}, column ${column + 1}`);
  } else if (key !== undefined) where.push(`${at(position)} reads ${at(key)}`);
  else if (isNext(a)) where.push(`${wordOf(entry)} after ${at(position)}`);
  else where.push(at(position) + (entry === undefined ? "" : `, entry ${entry + 1}`));
  if (layer) where.push(`${read && "read after "}layer ${layer}`);
  else if (layer === 0) where.push(`${read}before layer 1`);
  if (head !== undefined) where.push(`head ${head}`);
  return where.join(" · ");
}

// A factor as a button, if it can be opened.
function factor({ value, name, to }) {
  const shown = [make("span", { className: "machine-name" }, name), ` ${number(value)}`];
  return to
    ? button(() => showNumber(to), { className: "machine-factor" }, ...shown)
    : make("span", { className: "machine-leaf" }, ...shown);
}

// What is said of a number of a head that does not work as it was trained.
function replacedBy(a) {
  const other = instead(a);
  if (!other) return "";
  const goes =
    a.part === "mixed"
      ? "this number goes on, in the place of what it mixes"
      : "what it mixes goes no further";
  return ` This head ${other.some((x) => x) ? "gives its mean" : "is silenced"}: ${goes}.`;
}

// Above the number: the way back, and its neighbours.
function steps(opened) {
  const name = ["key", "entry", "column"].find((n) => opened[n] !== undefined);
  const beside = (arrow, which, by) => {
    const a = { ...opened, [name]: opened[name] + by },
      aria = { label: `${arrow} ${which} ${name}` };
    return button(() => showNumber(a), { disabled: !has(state.machine, a), aria }, arrow);
  };
  const close = () => {
    state.opened = null;
    drawPage();
    writeAddress("on");
  };
  return make(
    "div",
    { className: "machine-steps" },
    button(() => history.back(), { disabled: !history.state?.depth }, "Back"),
    ...(name ? [beside("‹", "previous", -1), beside("›", "next", 1)] : []),
    button(close, {}, "Close"),
  );
}

// The table of terms, the largest first at first.
function termsOf({ terms, sum, outer, value }) {
  const ranked = [...terms].sort((a, b) => Math.abs(b.product) - Math.abs(a.product)),
    shown = state.every ? terms : ranked.slice(0, MOST_TERMS),
    most = Math.abs(ranked[0].product) || 1,
    rest = terms.length - shown.length;
  const line = (name, product) => {
    const row = tableRow(name, number(product));
    row.className = "machine-sum";
    return row;
  };
  const term = ({ factors, product }) => {
    const all = factors.flatMap((one, i) => (i ? [" × ", factor(one)] : [factor(one)])),
      className = product < 0 ? "minus" : "plus",
      share = Math.abs(product) / most;
    const cell = make("td", { className, share }, number(product));
    return make("tr", {}, make("td", {}, ...all), cell);
  };
  const body = make("tbody", {}, ...shown.map(term)),
    others = shown.reduce((left, { product }) => left - product, sum);
  if (rest) body.append(line(`${rest} other${rest > 1 ? "s" : ""}`, others));
  if (terms.length > 1) body.append(line("sum", sum));
  if (outer) body.append(line(outer, value));
  const first = rest ? `, the ${MOST_TERMS} largest first` : "",
    opens = terms.some(({ factors }) => factors.some(({ to }) => to)),
    says = terms.length > 1 ? `The sum of ${terms.length} terms${first}.` : "What it is made of.";
  const caption = make("caption", {}, says + (opens ? " Press a factor to open it." : ""));
  return make("table", {}, caption, headed("factors", "term"), body);
}

// Show the open number, or that there is none.
export function showOpened() {
  const { opened } = state,
    panel = find(".machine-opened"),
    none = !opened || !has(state.machine, opened),
    inside = () => [...panel.querySelectorAll("button, a")],
    focused = inside().indexOf(document.activeElement);
  panel.classList.toggle("empty", none);
  if (none) {
    panel.replaceChildren(make("p", {}, "Press any number: here it shows what it is made of."));
    return;
  }
  const about = aboutPart(opened.part, opened.layer),
    put = opened.part === "mixed" && instead(opened),
    early = isReadOut(opened) && opened.layer !== undefined,
    { href, where } = early ? data.early : about,
    found = open(state.machine, opened);
  const place = button(
    () => reveal({ a: opened }),
    { title: "Show where it stands" },
    whereOf(opened),
  );
  panel.replaceChildren(
    steps(opened),
    make("h2", {}, `${capital(about.name)} `, place),
    make("p", { className: "machine-value" }, number(found.value)),
    make("p", {}, put ? "" : about.says, replacedBy(opened)),
    termsOf(found),
  );
  if (isNext(opened) && opened.layer === undefined) {
    const asks = () => ask({ entry: opened.entry, over: undefined });
    panel.append(button(asks, {}, "Why this word?"));
  }
  if (found.terms.length > MOST_TERMS) {
    const toggle = () => {
      state.every = !state.every;
      showOpened();
    };
    const all = `All ${found.terms.length} terms, in order`;
    panel.append(button(toggle, {}, state.every ? "The largest alone" : all));
  }
  const link = make("a", { href, target: "_blank" }, where),
    computed = put ? "." : `. Computed in ${about.file}:`;
  panel.append(make("p", { className: "machine-where" }, "Explained in ", link, computed));
  if (!put) panel.append(make("pre", {}, make("code", {}, about.line)));
  if (focused >= 0) (inside()[focused] ?? panel).focus({ preventScroll: true });
}
