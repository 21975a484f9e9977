// Brings explorers to life: stored frames under native range inputs. What they show was computed when
// the outputs were stored (helpers/explore/); nothing is fetched and nothing leaves the page.
"use strict";

async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// What is packed stands in a notebook's output, or in a script beside the page (postprocess/explorers.py).
function stored(packed) {
  const { source, key } = packed.dataset;
  if (!source) return Promise.resolve(packed.textContent);
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = source;
    script.onload = () => done(globalThis.bookFrames[key]);
    script.onerror = () => failed(new Error(`${source} could not be loaded`));
    document.head.append(script);
  });
}

const NARROW = matchMedia("(max-width: 600px)");
const address = (svg) => "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);

// The part of a picture that a panel shows.
function cut(svg, panel) {
  const [width, height] = ["width", "height"].map((side) => panel.getAttribute(side));
  const size = `viewBox="${panel.dataset.box}" width="${width}" height="${height}"`;
  return svg.replace(/<svg\b[^>]*>/, (tag) =>
    tag.replace(/ (?:viewBox|width|height)="[^"]*"/g, "").replace("<svg", `<svg ${size}`),
  );
}

// Where the page is narrow, panels that stand side by side stand one below the other.
function stacked(picture) {
  if (!picture.dataset.panels) return [];
  const stack = document.createElement("div");
  stack.className = "explore-panels";
  const panels = picture.dataset.panels.split(",").map((box, at) => {
    const panel = document.createElement("img"),
      [, , width, height] = box.split(" ");
    panel.alt = at ? "" : picture.alt;
    panel.className = "themed";
    panel.dataset.box = box;
    [panel.width, panel.height] = [width, height].map((points) => Math.round((points * 4) / 3));
    return panel;
  });
  stack.append(...panels);
  picture.after(stack);
  return panels;
}

function initExplorer(explorer) {
  const picture = explorer.querySelector(":scope > img");
  const says = explorer.querySelector(".explore-says");
  const inputs = [...explorer.querySelectorAll("input[type=range]")];
  const packed = explorer.querySelector(".explore-frames");
  if (!packed || typeof DecompressionStream === "undefined") return;
  const panels = stacked(picture);
  let loaded = null,
    unpacked = null;
  const load = () => (loaded ??= stored(packed));
  const ready = () => (unpacked ??= load().then((text) => unpack(text.trim())));

  const name = (input) => JSON.parse(input.dataset.labels)[input.value];
  async function show() {
    for (const input of inputs) {
      input.setAttribute("aria-valuetext", name(input));
      input.nextElementSibling.textContent = name(input);
    }
    const { pieces, frames, sentences } = await ready();
    const at = inputs.reduce((sum, i) => sum * (Number(i.max) + 1) + Number(i.value), 0);
    const svg = frames[at].map((piece) => pieces[piece]).join("");
    picture.src = address(svg);
    if (NARROW.matches)
      panels.forEach((panel) => {
        panel.src = address(cut(svg, panel));
      });
    says.innerHTML = sentences[at];
    explorer.dataset.at = at;
  }
  for (const input of inputs) {
    input.addEventListener("input", show);
    input.addEventListener("pointerenter", ready, { once: true });
    input.addEventListener("keydown", (event) => event.stopPropagation());
  }
  explorer.querySelector(".explore-controls").hidden = false;
  NARROW.addEventListener("change", () => panels.length && show());
  const near = new IntersectionObserver(
    (seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      near.disconnect();
      if (panels.length && NARROW.matches) show();
      else load();
    },
    { rootMargin: "800px" },
  );
  near.observe(explorer);
}

document.querySelectorAll("figure.explore").forEach(initExplorer);
