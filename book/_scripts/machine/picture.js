// The whole machine in one frame: where one is, and what each part adds to the word asked about.

import { largest, pixels } from "../gpt/page.js";
import { inquiry, reasons, sumOf } from "./inquiry.js";
import { rowsOf } from "./maps.js";
import { toView } from "./navigation.js";
import { drawPage } from "./page.js";
import { isReadOut } from "./rows.js";
import { chosen, field, find, instead, root, signed, state } from "./state.js";

const pieces = () => [...root.querySelectorAll("[data-piece]")];
let station = ""; // the id of the one in view

// The piece of the picture to which a part belongs.
function pieceOf({ part, layer, head }) {
  if (["embedding", "position"].includes(part) || layer === 0) return "embedding";
  if (part === "biases") return part;
  if (layer === undefined || isReadOut({ part })) return "output";
  if (head !== undefined) return `${layer}.${head}`;
  return /2$|^(up|activation|down)$/.test(part) ? `${layer}.down` : `${layer}`;
}

// A piece leads to its stations; at one that has the part one stays there.
export function startPicture() {
  find(".machine-picture").addEventListener("click", ({ target }) => {
    const { piece, stations } = target.closest("button")?.dataset ?? {};
    if (!piece) return;
    const [layer, head] = piece.split(".").map(Number);
    if (layer) field("layer").value = layer;
    if (head) field("head").value = head;
    const names = stations.split(" ").map((n) => `station-${n}`);
    if (!names.includes(station)) toView(`#${names[0]}`);
    drawPage();
  });
}

// Draw what each head reads, and how much each piece adds.
export function showPicture() {
  const { layer, head } = chosen(),
    T = state.machine.seen.length,
    totals = {};
  for (const part of reasons()) totals[pieceOf(part)] = (totals[pieceOf(part)] ?? 0) + part.value;
  const most = largest(Object.values(totals)),
    said = [];
  for (const one of pieces()) {
    const { piece } = one.dataset,
      total = totals[piece] ?? 0,
      [l, h] = piece.split(".").map(Number);
    one.style.setProperty("--share", Math.abs(total) / most);
    one.classList.toggle("minus", total < 0);
    if (piece in totals) said.push(`${one.title.toLowerCase()} ${signed(total)}`);
    if (!h) continue;
    one.setAttribute("aria-pressed", l === layer && h === head);
    one.classList.toggle("changed", Boolean(instead({ layer: l, head: h })));
    pixels(one.firstElementChild, rowsOf({ layer: l, head: h }, "weights"), T, 1);
  }
  const { L, H } = state.machine.model.sizes;
  find("#machine-all").textContent =
    `From left to right: embedding and position, ${L} layers, each with ${H} heads, which are drawn as what they read, ` +
    `and a feed-forward network, and the output. Of ${sumOf(inquiry())} they add: ${said.join("; ")}; ` +
    `all biases ${signed(totals.biases)}.`;
  locate();
}

// Mark where one is, say it, and light the place of the reason that is pointed at, or silenced.
export function locate(pointed = null) {
  const { opens } = document.getElementById(station)?.dataset ?? {},
    { layer, head } = chosen(),
    inHead = ["q", "mixed", "weights"].includes(opens),
    here = opens ? pieceOf({ part: opens, layer, head: inHead ? head : undefined }) : "",
    lit = [state.why.silent, pointed].filter(Boolean).map(pieceOf);
  for (const one of pieces()) {
    const { piece } = one.dataset,
      whole = lit.includes("biases") && one.className.includes("layer");
    if (piece === here) one.setAttribute("aria-current", "location");
    else one.removeAttribute("aria-current");
    one.classList.toggle("lit", whole || lit.includes(piece));
  }
  const inLayer = `layer ${layer}${inHead ? `, head ${head}` : ""}`,
    where = ["", "embedding", "output"].includes(here) ? here : inLayer,
    bars = `Bars: what each part adds to ${sumOf(inquiry())}.`;
  find(".machine-here").innerHTML = `<b>${where}</b><span></span>`;
  find(".machine-here span").textContent = `${where && ". "}${bars}`;
}

// Come to a station.
export function comeTo(id) {
  station = id;
  for (const link of root.querySelectorAll("[data-step]"))
    link.setAttribute("aria-current", link.hash === `#${id}` ? "step" : "false");
}
