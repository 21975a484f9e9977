// The whole machine in one frame: where one is, and what each part adds to the word asked about.

import { largest, make, offer, pixels } from "../gpt/page.js";
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

const piece = (key, name, stations, inside = "<canvas></canvas>") =>
  `<button type="button" title="${name}" aria-label="${name}" data-piece="${key}" ` +
  `data-stations="${stations}">${inside}</button>`;
const layerOf = (l, heads) =>
  `<div class="machine-layer" data-piece="${l}"><span>layer ${l}</span>` +
  heads.map((h) => piece(`${l}.${h}`, `Layer ${l}, head ${h}`, "3 2 4")).join("") +
  `${piece(`${l}.down`, `Layer ${l}, feed-forward network (FFN)`, "5 6", "<span>FFN</span>")}</div>`;

// Make the pieces of a machine of these sizes, each with its stations, the first where it leads, and
// all that has a name for each layer or head.
export function fit({ L, H }) {
  const [layers, heads] = [L, H].map((n) => Array.from({ length: n }, (_, i) => i + 1));
  find(".machine-picture").innerHTML =
    piece("embedding", "Embedding and position", "1", "<span>embedding</span>") +
    layers.map((l) => layerOf(l, heads)).join("") +
    piece("output", "Output: last norm and logits", "7", "<span>output</span>");
  find(".machine-picture").style.setProperty("--heads", H);
  offer(field("layer"), layers, (l) => `layer ${l}`);
  offer(field("head"), heads, (h) => `head ${h}`);
  const levels = ["at", "before", ...layers.map((l) => `after ${l}`)];
  const names = levels.map((level) => make("th", { scope: "col" }, level));
  find(".machine-swap thead tr").replaceChildren(...names);
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
    `biases added to the stream, and the last norm’s β ${signed(totals.biases)}.`;
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
