// The page of all numbers: a worker reads the text (gpt.js), machine.js opens numbers, this shows
// both. The left side follows one token through one layer and one head; the right side has the
// number that was opened last. The page's own address names the text and that number. What answers
// is drawn first, what is in view after it, and the rest when it comes near.
"use strict";

(() => {
  const MOST_TERMS = 8; // shown at first
  const LIKELY = 8,
    FIRST = 5; // tokens in the table of what comes next, and above the stations
  const STANDS_FOR = {
    scores: "maps",
    scaled: "maps",
    weights: "maps",
    share: "maps",
    share_next: "probabilities",
    qkv: "q",
    head: "logits",
    norm_1: "norm1",
    norm_2: "norm2",
  }; // where on the left a number is that has no picture of its own
  const standsFor = (part) =>
    STANDS_FOR[part] ?? part.replace(/^(mean|centred|variance|rstd)(?=[12]?$)/, "norm");
  const { open, row, byKey } = bookMachine;
  const { named, label, likeliest } = bookGPT;
  const percent = (share) => (share < 0.0005 ? "< 0.1%" : `${(100 * share).toFixed(1)}%`);
  const number = (x) => {
    const size = Math.abs(x); // five digits, so that factors multiply to their product
    const text = Number.isInteger(x)
      ? `${x}`
      : size < 1e-3 || size >= 1e4
        ? x.toExponential(4)
        : size < 1
          ? x.toPrecision(5)
          : x.toFixed(4);
    return text.replaceAll("-", "−");
  };

  function make(tag, properties = {}, ...inside) {
    const element = Object.assign(document.createElement(tag), properties);
    for (const [name, value] of Object.entries(properties.aria ?? {}))
      element.setAttribute(`aria-${name}`, value);
    element.append(...inside);
    return element;
  }

  // --- the worker

  // Runs there, with bookGPT beside it: reads a text, but not again what it begins with as before,
  // once as it is and, if there are changes, once with them: `as` says which.
  function work() {
    let model,
      latest = 0;
    const asked = {}; // of each task, the last question
    const readings = {}; // the last one of each kind
    // All numbers of a token in one buffer, which is handed over and not copied.
    function handOver(message) {
      const found = [],
        walk = (parts) =>
          Object.entries(parts).forEach(([name, x]) =>
            typeof x[0] === "number" ? found.push([parts, name, x]) : walk(x),
          );
      message.kept.forEach(walk);
      const all = new Float64Array(found.reduce((sum, [, , x]) => sum + x.length, 0));
      let at = 0;
      for (const [parts, name, x] of found) {
        parts[name] = all.subarray(at, (at += x.length));
        parts[name].set(x);
      }
      postMessage(message, [all.buffer]);
    }
    // The logits after a position, with another change at some; from the first of these it is read again.
    async function again({ kvCache, ids, change }, from, position, changes, stale) {
      const cache = kvCache.map((heads) =>
        heads.map(({ keys, values }) => ({
          keys: keys.slice(0, from),
          values: values.slice(0, from),
        })),
      );
      let logits_V = null;
      for (let at = from; at <= position; at++) {
        ({ logits_V } = bookGPT.read(model, cache, ids[at], {
          ...JSON.parse(change),
          ...changes(at),
        }));
        if (at % 16 && at < position) continue;
        await new Promise((done) => setTimeout(done)); // has the reader typed on?
        if (stale()) return null;
      }
      return logits_V;
    }
    const tasks = {
      // Each earlier position hidden from all later ones, the nearest first, which takes the fewest steps.
      async hide({ position }, reading, tell, stale) {
        for (let hidden = position - 1; hidden >= 0 && !stale(); hidden--) {
          tell(hidden, await again(reading, hidden + 1, position, () => ({ hidden }), stale));
        }
      },
      // Another token at one position; then one vector of that text, a position's at a level, in this one.
      async swap({ position, at, id, levels }, reading, tell, stale) {
        const streams = [],
          change = JSON.parse(reading.change),
          cache = bookGPT.kvCache(model);
        for (const token of reading.ids
          .slice(0, position + 1)
          .map((token, t) => (t === at ? id : token))) {
          const { layers, logits_V } = bookGPT.read(model, cache, token, change);
          if (streams.push(layers.map(({ stream }) => stream)) > position) tell("whole", logits_V);
        }
        for (let from = at; from <= position; from++) {
          for (let level = 0; level <= levels && !stale(); level++) {
            const patch = { [level]: streams[from][level] };
            tell(
              `${from}.${level}`,
              await again(reading, from, position, (t) => (t === from ? { patch } : {}), stale),
            );
          }
        }
      },
    };
    onmessage = async ({ data }) => {
      if (data.weights) {
        model = bookGPT.unpack(data.weights);
        return;
      }
      if (data.task) {
        const { task, n, run, as } = data,
          stale = () => latest !== run || asked[task] !== n;
        asked[task] = n;
        return tasks[task](
          data,
          readings[as],
          (key, logits_V) => logits_V && postMessage({ task, n, key, logits_V }),
          stale,
        );
      }
      const { run, as } = data,
        change = JSON.stringify(data.change);
      latest = run;
      const reading = (readings[as] ??= { kvCache: bookGPT.kvCache(model), ids: [], change });
      let same = 0;
      while (
        change === reading.change &&
        same < reading.ids.length &&
        reading.ids[same] === data.ids[same]
      )
        same++;
      const { kvCache } = reading,
        ids = data.ids.slice(0, same);
      Object.assign(reading, { ids, change });
      for (const { keys, values } of kvCache.flat()) keys.length = values.length = same;
      let from = same,
        kept = [];
      for (const id of data.ids.slice(same)) {
        kept.push(bookGPT.read(model, kvCache, id, data.change));
        ids.push(id);
        if (kept.length < 8 || ids.length === data.ids.length) continue;
        handOver({ run, as, from, kept });
        [from, kept] = [ids.length, []];
        await new Promise((done) => setTimeout(done)); // has the reader typed on?
        if (latest !== run) return;
      }
      handOver({ run, as, from, kept, done: true });
    };
  }

  function liven(root) {
    const find = (name) => root.querySelector(name);
    const field = (name) => find(`[name="${name}"]`);
    const {
      parts: PARTS,
      sections: SECTIONS,
      means,
      why: WHY,
    } = JSON.parse(find(".machine-data").textContent);
    let machine = null,
      worker = null,
      run = 0,
      position = 0,
      opened = null,
      every = false;
    let wanted = null; // a number that the page's address names, until it can be opened
    let question = null; // or a word that it asks about

    // What the page says of a part; those of the three norms share their words.
    const aboutPart = (part, layer) =>
      part === "stream" && layer === 0 ? PARTS.start : PARTS[part.replace(/[12]$/, "")];
    const head = () => ({ layer: Number(field("layer").value), head: Number(field("head").value) });
    const say = bookGPT.patient((words) => (find(".machine-trouble").textContent = words));
    const text = () => machine.ids.map((id) => machine.model.vocab[id]).join("");
    const token = (at) => machine.model.vocab[machine.ids[at]];
    const atPosition = (at) => `${named(token(at))} (${at + 1})`;
    const there = () => machine && position < machine.ids.length;

    // --- reading

    // The ids of what was typed, cut to the machine's places; what is left out is told.
    function typed() {
      const most = Number(root.dataset.places);
      const { ids, told } = bookGPT.tokenize(machine.model, field("text").value),
        over = ids.length - most;
      say(told);
      find(".machine-cut").textContent =
        over > 0 ? `This page reads the last ${most} tokens, and not the first ${over}.` : "";
      return ids.slice(-most);
    }

    const instead = {}; // by layer and head: what takes the place of what it mixes

    function change() {
      const change = field("positions").checked ? { positions: "none" } : {};
      return Object.keys(instead).length
        ? { ...change, instead: structuredClone(instead) }
        : change;
    }

    function replace(layer, h, how) {
      instead[layer] ??= {};
      if (how) instead[layer][h] = means[layer - 1][h - 1].map((x) => (how === "mean" ? x : 0));
      else delete instead[layer][h];
      if (!Object.keys(instead[layer]).length) delete instead[layer];
    }

    // The heads changed in what is shown, as [layer, head], by how they were changed.
    function changed() {
      const heads = { silent: [], mean: [], positions: machine.change.positions };
      for (const [layer, others] of Object.entries(machine.change.instead ?? {})) {
        for (const [h, other] of Object.entries(others)) {
          heads[other.some((x) => x) ? "mean" : "silent"].push([Number(layer), Number(h)]);
        }
      }
      return heads;
    }

    function undo() {
      for (const layer of Object.keys(instead)) delete instead[layer];
      field("positions").checked = false;
    }

    function read() {
      const ids = typed();
      for (const name of ["tokens", "bar", "halves"]) find(`.machine-${name}`).hidden = !ids.length;
      run++;
      if (!ids.length) {
        // no numbers of another text stay
        machine.ids = [];
        return;
      }
      asked = { ids, change: change() };
      missing = Object.keys(asked.change).length ? ["plain", "changed"] : ["plain"];
      for (const as of missing)
        worker.postMessage({ run, as, ids, change: as === "plain" ? {} : asked.change });
    }

    let asked = null,
      missing = []; // what the worker was asked last, and which answers have not come
    const arrived = { plain: [], changed: [] }; // what it has read, of older questions too: it goes on from there

    // The page changes at once when the last question is answered; until then it shows the one before.
    function heard({ data: { run: answered, as, from, kept, done, task, n, key, logits_V } }) {
      if (task) {
        if (n !== tasks[task].n) return;
        tasks[task].found[key] = bookGPT.probabilities(logits_V);
        tasks[task].drawing ??= requestAnimationFrame(() => {
          // once a frame, however much has come
          tasks[task].drawing = null;
          if (there()) tasks[task].show();
        });
        return;
      }
      arrived[as].length = from;
      arrived[as].push(...kept);
      if (!done || answered !== run) return;
      missing = missing.filter((one) => one !== as);
      if (missing.length) return;
      const changes = Object.keys(asked.change).length > 0;
      Object.assign(machine, asked, {
        seen: [...arrived[changes ? "changed" : "plain"]],
        plain: changes ? [...arrived.plain] : null,
      }); // plain: the same text without the changes
      ended();
    }

    function ended() {
      position = Math.min(followed ? machine.ids.length - 1 : position, machine.ids.length - 1);
      if (question) answerTo(question);
      if (question && !wanted) sought = { why: true, atOnce: true };
      question = null;
      if (wanted) {
        const a = bookMachine.placed(machine, wanted);
        wanted = null;
        if (bookMachine.has(machine, a)) return show(a, "stay");
        say("The address of this page names a number that there is not in this text.");
      }
      if (opened && !bookMachine.has(machine, opened)) opened = null;
      draw();
      clearTimeout(written);
      written = setTimeout(write, 250, "stay"); // not at each keystroke: browsers count
    }
    let written = 0;
    let followed = true; // the last token, until another was chosen

    // --- the opened number, and the page's address

    function write(how) {
      clearTimeout(written);
      const hash = `#${bookMachine.write(text(), opened, changed(), why.asked ? inWords() : {})}`;
      if (hash === location.hash) return;
      history[how === "stay" ? "replaceState" : "pushState"](
        { depth: (history.state?.depth ?? 0) + (how !== "stay") },
        "",
        hash,
      );
    }

    // how: "on", a step that Back undoes; "walk", one to another token; "stay", none.
    function show(a, how = "on") {
      if (how === "on") write("stay");
      opened = a;
      every = false;
      if (a.position !== undefined) {
        followed = followed && a.position === position;
        position = a.position;
      }
      for (const name of ["layer", "head"]) {
        if (a[name] && !bookMachine.isReadOut(a)) field(name).value = a[name];
      }
      if (byKey(a.part)) field("shown").value = a.part;
      if (how !== "walk") sought = { a, atOnce: how === "stay" };
      draw();
      write(how);
      if (how === "on") find(".machine-opened").focus({ preventScroll: true });
    }

    let sought = null; // a number that is to be brought into view as soon as all is drawn

    // Bring where a number stands into view by the shortest way: itself, or what it belongs to.
    function reveal({ a, atOnce, why: asks }) {
      if (asks) {
        find(".machine-why").focus({ preventScroll: true });
        return toView(".machine-why", atOnce);
      }
      const own =
        a.part === "learned"
          ? a.table.split(".").at(-2)
          : a.part === "stream" && !a.layer
            ? "start"
            : a.part;
      const part = bookMachine.isReadOut(a) && a.layer !== undefined ? "lens" : standsFor(own);
      const still = atOnce || matchMedia("(prefers-reduced-motion: reduce)").matches;
      const box = find(`[data-part="${part}"]`),
        marked = box?.querySelector(".machine-mark:not([hidden])");
      (marked ?? box)?.scrollIntoView({
        block: "nearest",
        inline: "nearest",
        behavior: still ? "instant" : "smooth",
      });
    }

    function arrive() {
      const {
        text: given,
        number: a,
        change: other,
        why: about,
      } = bookMachine.parse(location.hash);
      clearTimeout(written);
      if (given !== null) field("text").value = given;
      [wanted, question] = [a, about];
      forget();
      if (!a) [followed, opened] = [true, null];
      undo();
      field("positions").checked = Boolean(other.positions);
      for (const how of ["silent", "mean"]) {
        for (const [layer, h] of other[how]) {
          if (!means[layer - 1]?.[h - 1]) continue;
          replace(layer, h, how);
          if (!a) [field("layer").value, field("head").value] = [layer, h];
        }
      }
      if (machine) read();
    }

    function heading(a) {
      const early = bookMachine.isReadOut(a) ? "read " : "";
      const where = [
        a.layer !== undefined &&
          (a.layer ? `${early && "read after "}layer ${a.layer}` : `${early}before layer 1`),
        a.head !== undefined && `head ${a.head}`,
      ];
      const word = ["embedding.weight", "head.weight"].includes(a.table)
        ? ` (${named(machine.model.vocab[a.row])})`
        : "";
      const which =
        a.part === "learned"
          ? `${a.table}, ${a.column === undefined ? "number" : "row"} ${a.row + 1}${word}${a.column === undefined ? "" : `, column ${a.column + 1}`}`
          : a.key !== undefined
            ? `${atPosition(a.position)} reads ${atPosition(a.key)}`
            : ["logits", "probabilities"].includes(a.part)
              ? `${named(machine.model.vocab[a.entry])} after ${atPosition(a.position)}`
              : atPosition(a.position) + (a.entry === undefined ? "" : `, entry ${a.entry + 1}`);
      const about = aboutPart(a.part, a.layer);
      return [
        `${about.name[0].toUpperCase()}${about.name.slice(1)}`,
        [which, ...where].filter(Boolean).join(" · "),
      ];
    }

    function factor({ value, name, to }) {
      const shown = [make("span", { className: "machine-name" }, name), ` ${number(value)}`];
      if (!to) return make("span", { className: "machine-leaf" }, ...shown);
      return make(
        "button",
        { type: "button", className: "machine-factor", onclick: () => show(to) },
        ...shown,
      );
    }

    function showOpened() {
      const panel = find(".machine-opened"),
        none = !opened || !bookMachine.has(machine, opened),
        inside = () => [...panel.querySelectorAll("button, a")];
      const focused = inside().indexOf(document.activeElement);
      panel.classList.toggle("empty", none);
      if (none) {
        panel.replaceChildren(make("p", {}, "Press any number: here it shows what it is made of."));
        return;
      }
      const about = aboutPart(opened.part, opened.layer),
        put = opened.part === "mixed" && otherThan(opened);
      const explained =
        bookMachine.isReadOut(opened) && opened.layer !== undefined ? SECTIONS.early : about;
      const { terms, sum, outer, value } = open(machine, opened),
        [name, where] = heading(opened);
      const ranked = [...terms].sort((a, b) => Math.abs(b.product) - Math.abs(a.product));
      const shown = every ? terms : ranked.slice(0, MOST_TERMS),
        most = Math.abs(ranked[0].product) || 1;
      const rest = terms.length - shown.length;
      const others = sum - shown.reduce((all, { product }) => all + product, 0);
      const opens = terms.some(({ factors }) => factors.some(({ to }) => to))
        ? " Press a factor to open it."
        : "";
      const line = (name, product) =>
        make(
          "tr",
          { className: "machine-sum" },
          make("th", { scope: "row" }, name),
          make("td", {}, number(product)),
        );
      const body = make(
        "tbody",
        {},
        ...shown.map(({ factors, product }) => {
          const cell = make("td", { className: product < 0 ? "minus" : "plus" }, number(product));
          cell.style.setProperty("--share", Math.abs(product) / most);
          return make(
            "tr",
            {},
            make("td", {}, ...factors.flatMap((f, i) => (i ? [" × ", factor(f)] : [factor(f)]))),
            cell,
          );
        }),
      );
      if (rest) body.append(line(`${rest} other${rest > 1 ? "s" : ""}`, others));
      if (terms.length > 1) body.append(line("sum", sum));
      if (outer) body.append(line(outer, value));
      panel.replaceChildren(
        steps(),
        make(
          "h2",
          {},
          `${name} `,
          make(
            "button",
            { type: "button", title: "Show where it stands", onclick: () => reveal({ a: opened }) },
            where,
          ),
        ),
        make("p", { className: "machine-value" }, number(value)),
        make("p", {}, ...(put ? [] : [about.says]), replacedBy(opened)),
        make(
          "table",
          {},
          make(
            "caption",
            {},
            terms.length > 1
              ? `The sum of ${terms.length} terms${rest ? `, the ${MOST_TERMS} largest first` : ""}.${opens}`
              : `What it is made of.${opens}`,
          ),
          make(
            "thead",
            {},
            make(
              "tr",
              {},
              make("th", { scope: "col" }, "factors"),
              make("th", { scope: "col" }, "term"),
            ),
          ),
          body,
        ),
      );
      if (["logits", "probabilities"].includes(opened.part) && opened.layer === undefined) {
        panel.append(
          make(
            "button",
            { type: "button", onclick: () => ask({ entry: opened.entry, over: undefined }) },
            "Why this word?",
          ),
        );
      }
      if (terms.length > MOST_TERMS) {
        panel.append(
          make(
            "button",
            {
              type: "button",
              onclick: () => {
                every = !every;
                showOpened();
              },
            },
            every ? "The largest alone" : `All ${terms.length} terms, in order`,
          ),
        );
      }
      panel.append(
        make(
          "p",
          { className: "machine-where" },
          "Explained in ",
          make("a", { href: explained.href, target: "_blank" }, explained.where),
          put ? "." : `. Computed in ${about.file}:`,
        ),
        ...(put ? [] : [make("pre", {}, make("code", {}, about.line))]),
      );
      if (focused >= 0) (inside()[focused] ?? panel).focus({ preventScroll: true });
    }

    // Of a head that does not work as it was trained: what takes the place of what it mixes.
    const otherThan = ({ layer, head: h }) => machine.change.instead?.[layer]?.[h];

    function replacedBy(a) {
      const other = otherThan(a);
      const goes =
        a.part === "mixed"
          ? "this number goes on, in the place of what it mixes"
          : "what it mixes goes no further";
      return !other
        ? ""
        : ` This head ${other.some((x) => x) ? "gives its mean" : "is silenced"}: ${goes}.`;
    }

    // Above the number: the way back, and its neighbours.
    function steps() {
      const press = (name, onclick, properties) =>
        make("button", { type: "button", onclick, ...properties }, name);
      const name = ["key", "entry", "column"].find((n) => opened[n] !== undefined);
      const beside = [-1, 1].map((by) => ({ ...opened, [name]: opened[name] + by }));
      return make(
        "div",
        { className: "machine-steps" },
        press("Back", () => history.back(), { disabled: !history.state?.depth }),
        ...(name
          ? beside.map((a, n) =>
              press("‹›"[n], () => show(a), {
                disabled: !bookMachine.has(machine, a),
                aria: { label: `${"‹›"[n]} ${["previous", "next"][n]} ${name}` },
              }),
            )
          : []),
        press("Close", () => {
          opened = null;
          draw();
          write("on");
        }),
      );
    }

    // --- rows of numbers as strips

    // The two inks and that of lines, as the page has them now.
    let inks = {};
    function takeInks() {
      const style = getComputedStyle(root),
        [plus, minus, line] = ["-1", "-2", ""].map((n) =>
          style.getPropertyValue(`--book-ink${n}`).trim(),
        );
      inks = {
        line,
        ...Object.fromEntries(
          Object.entries({ plus, minus }).map(([name, hex]) => [
            name,
            hex
              .match(/[0-9a-f]{2}/gi)
              .reduceRight((all, part) => (all << 8) | parseInt(part, 16), 0),
          ]),
        ),
      };
    }

    // A pixel for each number, as full as it is large; the style sheet, or who draws it, enlarges it.
    function pixels(canvas, rows, columns, most) {
      const image = new ImageData(columns, rows.length),
        dots = new Uint32Array(image.data.buffer);
      rows.forEach((row, y) =>
        row.forEach((x, i) => {
          dots[y * columns + i] =
            (x < 0 ? inks.minus : inks.plus) | (((255 * Math.abs(x)) / most) << 24);
        }),
      );
      [canvas.width, canvas.height] = [columns, rows.length];
      canvas.getContext("2d").putImageData(image, 0, 0);
    }

    const largest = (all) => all.reduce((most, x) => Math.max(most, Math.abs(x)), 0) || 1;

    // The columns in which a row of so many numbers stands: room for a finger, or at least a mouse.
    const columnsOf = (length) => (length > 128 && width >= 64 * 7 ? 64 : Math.min(length, 32));

    // A part whose numbers stand in one row for the position, layer and head that are looked at.
    function strip(box) {
      const start = box.dataset.part === "start",
        part = start ? "stream" : box.dataset.part;
      const inLayer = !["embedding", "position", "norm", "logits", "probabilities"].includes(part);
      const inHead = ["q", "k", "v", "mixed"].includes(part);
      const said = make("p", { className: "machine-label" }),
        canvas = make("canvas", { tabIndex: 0 });
      const mark = make("span", { className: "machine-mark" });
      let at = null,
        columns = 1;
      canvas.setAttribute("role", "slider");
      box.append(said, make("div", { className: "machine-strip" }, canvas, mark));
      const address = (entry) => {
        const { layer, head: h } = head();
        return {
          part,
          position,
          ...(inLayer && { layer: start ? 0 : layer }),
          ...(inHead && { head: h }),
          entry,
        };
      };
      const isOpened = () =>
        opened && ["part", "position", "layer", "head"].every((n) => opened[n] === address(0)[n]);
      const name = (i) =>
        ["logits", "probabilities"].includes(part)
          ? named(machine.model.vocab[i])
          : `entry ${i + 1}`;
      // The number that is pointed at, or that is open: its outline, and its words.
      function point() {
        const all = row(machine, address(0)),
          range = `${number(Math.min(...all))} to ${number(Math.max(...all))}`;
        const chosen = at ?? (isOpened() ? opened.entry : null),
          rows = Math.ceil(all.length / columns);
        box.classList.toggle("opened", Boolean(isOpened()));
        mark.hidden = chosen === null;
        mark.style.cssText = `width: ${100 / columns}%; height: ${100 / rows}%; left: ${(100 * (chosen % columns)) / columns}%; top: ${(100 * Math.floor(chosen / columns)) / rows}%`;
        said.replaceChildren(
          make("b", {}, aboutPart(part, start ? 0 : undefined).name),
          ` · ${chosen === null ? `${all.length} numbers, ${range}` : `${name(chosen)}: ${number(all[chosen])}`}`,
        );
        canvas.setAttribute(
          "aria-label",
          `${aboutPart(part, start ? 0 : undefined).name}, ${all.length} numbers from ${range}. Arrow keys choose one, Enter opens it.`,
        );
        for (const [what, v] of [
          ["valuemin", 1],
          ["valuemax", all.length],
          ["valuenow", (chosen ?? 0) + 1],
          ["valuetext", `${name(chosen ?? 0)}: ${number(all[chosen ?? 0])}`],
        ])
          canvas.setAttribute(`aria-${what}`, v);
      }
      function update() {
        const all = row(machine, address(0));
        if (at !== null && at >= all.length) at = null;
        columns = columnsOf(all.length);
        const rows = Array.from({ length: Math.ceil(all.length / columns) }, (_, n) =>
          all.slice(n * columns, (n + 1) * columns),
        );
        pixels(canvas, rows, columns, largest(all));
        point();
      }
      const under = ({ clientX, clientY }) => {
        const { left, top, width, height } = canvas.getBoundingClientRect(),
          all = row(machine, address(0));
        const rows = Math.ceil(all.length / columns);
        const i =
          Math.floor(((clientY - top) / height) * rows) * columns +
          Math.floor(((clientX - left) / width) * columns);
        return i >= 0 && i < all.length ? i : null;
      };
      canvas.addEventListener("pointermove", (event) => {
        if (there()) {
          at = under(event);
          point();
        }
      });
      canvas.addEventListener("pointerleave", () => {
        if (there()) {
          at = null;
          point();
        }
      });
      canvas.addEventListener("click", (event) => {
        if (there() && under(event) !== null) show(address(under(event)));
      });
      canvas.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[
          event.key
        ];
        if (!there() || (!step && event.key !== "Enter")) return;
        event.preventDefault();
        const { length } = row(machine, address(0));
        if (event.key === "Enter") return show(address(at ?? 0));
        at = Math.min(length - 1, Math.max(0, (at ?? -1) + step));
        point();
      });
      return update;
    }

    // --- the whole machine in one frame: where one is, and what each part adds to the word asked about

    const rows = ({ layer, head: h }, part) =>
      machine.seen.map((kept) => kept.layers[layer].heads[h - 1][part]);
    const pieceOf = ({ part, layer, head: h }) =>
      ["embedding", "position"].includes(part) || layer === 0
        ? "embedding"
        : part === "biases"
          ? part
          : layer === undefined || bookMachine.isReadOut({ part })
            ? "output"
            : h !== undefined
              ? `${layer}.${h}`
              : /2$|^(up|activation|down)$/.test(part)
                ? `${layer}.down`
                : `${layer}`;

    function picture() {
      const { L, H } = machine.model.sizes,
        box = find(".machine-picture"),
        tall = (words) => make("span", {}, words);
      const each = (length, make) => Array.from({ length }, (_, n) => make(n + 1));
      // At a station that has the part one stays there.
      const to = (stations, layer, h) => () => {
        if (layer !== undefined) field("layer").value = layer;
        if (h !== undefined) field("head").value = h;
        if (!stations.some((n) => here === `station-${n}`)) go(stations[0]);
        draw();
      };
      const piece = (key, name, onclick, inside) => {
        const button = make(
          "button",
          { type: "button", title: name, onclick, aria: { label: name } },
          inside,
        );
        button.dataset.piece = key;
        return button;
      };
      box.append(
        piece("embedding", "Embedding and position", to([1]), tall("embedding")),
        ...each(L, (layer) => {
          const whole = make(
            "div",
            { className: "machine-layer" },
            make("span", {}, `layer ${layer}`),
            ...each(H, (h) =>
              piece(
                `${layer}.${h}`,
                `Layer ${layer}, head ${h}`,
                to([3, 2, 4], layer, h),
                make("canvas"),
              ),
            ),
            piece(
              `${layer}.down`,
              `Layer ${layer}, feed-forward network (FFN)`,
              to([5, 6], layer),
              tall("FFN"),
            ),
          );
          whole.dataset.piece = `${layer}`;
          return whole;
        }),
        piece("output", "Output: last norm and logits", to([7]), tall("output")),
      );
      pieces = [...box.querySelectorAll("[data-piece]")];
      return () => {
        const T = machine.seen.length,
          chosen = head(),
          totals = {};
        for (const part of reasons())
          totals[pieceOf(part)] = (totals[pieceOf(part)] ?? 0) + part.value;
        const most = largest(Object.values(totals));
        for (const one of pieces) {
          const total = totals[one.dataset.piece] ?? 0,
            [layer, h] = one.dataset.piece.split(".").map(Number);
          one.style.setProperty("--share", Math.abs(total) / most);
          one.classList.toggle("minus", total < 0);
          if (one.firstChild.tagName !== "CANVAS") continue;
          one.setAttribute("aria-pressed", layer === chosen.layer && h === chosen.head);
          one.classList.toggle("changed", Boolean(machine.change.instead?.[layer]?.[h]));
          pixels(one.firstChild, rows({ layer, head: h }, "weights"), T, 1);
        }
        const what = sumOf(inquiry()),
          name = ({ title, dataset }) => `${title.toLowerCase()} ${signed(totals[dataset.piece])}`;
        find("#machine-all").textContent =
          `From left to right: embedding and position, ${L} layers, each with ${H} heads, which are drawn as what they read, ` +
          `and a feed-forward network, and the output. Of ${what} they add: ${pieces
            .filter(({ dataset }) => dataset.piece in totals)
            .map(name)
            .join("; ")}; all biases ${signed(totals.biases)}.`;
        locate();
      };
    }

    // Mark where one is, say it, and light the place of the reason that is pointed at, or silenced.
    let pieces = [],
      here = "";
    function locate(pointed = null) {
      const { opens } = document.getElementById(here)?.dataset ?? {},
        a = { part: opens, ...head() };
      if (!["q", "mixed", "weights"].includes(opens)) delete a.head;
      const at = opens ? pieceOf(a) : "",
        lit = [why.silent, pointed].filter(Boolean).map(pieceOf);
      for (const one of pieces) {
        const { piece } = one.dataset;
        if (piece === at) one.setAttribute("aria-current", "location");
        else one.removeAttribute("aria-current");
        one.classList.toggle(
          "lit",
          lit.includes(piece) || (lit.includes("biases") && one.className.includes("layer")),
        );
      }
      const { layer, head: h } = head(),
        where = ["", "embedding", "output"].includes(at)
          ? at
          : `layer ${layer}${a.head === undefined ? "" : `, head ${h}`}`;
      find(".machine-here").replaceChildren(
        make("b", {}, where),
        make("span", {}, `${where && ". "}Bars: what each part adds to ${sumOf(inquiry())}.`),
      );
    }

    // --- why this word

    // What is asked: why the likeliest word, or one that was chosen, leads the next likeliest, or one
    // that was chosen; null: the mean of all logits.
    const why = {};
    function forget() {
      Object.assign(why, {
        entry: undefined,
        over: undefined,
        silent: null,
        every: false,
        asked: false,
        swap: null,
      });
    }
    forget();
    function inquiry() {
      const [first, second] = likeliest(machine.seen[position].logits_V, 2),
        entry = why.entry ?? first;
      const over = why.over === null || why.over !== entry ? why.over : undefined;
      return {
        position,
        entry,
        over: over === null ? undefined : (over ?? (entry === first ? second : first)),
      };
    }
    const wordOf = (entry) => named(machine.model.vocab[entry]);
    const overWhat = ({ over }) => (over === undefined ? "the mean logit" : wordOf(over));
    const sumOf = (asked) => `the lead of ${wordOf(asked.entry)} over ${overWhat(asked)}`;
    const signed = (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(3)}`;

    function inWords() {
      const { entry, over } = inquiry(),
        { at, id } = why.swap ?? {},
        word = (id) => (id === undefined ? id : bookMachine.word(machine, id));
      return {
        why: word(entry),
        over: word(over) ?? "",
        after: position + 1,
        ...(id !== undefined && { swapped: at + 1, swap: word(id) }),
      };
    }

    let ledger = {};
    function reasons() {
      const asked = JSON.stringify(inquiry());
      if (ledger.seen !== machine.seen || ledger.asked !== asked)
        ledger = { seen: machine.seen, asked, parts: bookMachine.parts(machine, inquiry()) };
      return ledger.parts;
    }

    // As an address asks it, which may be written by hand.
    function answerTo(given) {
      const found = bookMachine.asks(machine, given);
      if (!found) return say("The address of this page asks about a word that there is not.");
      Object.assign(why, found, { asked: true });
      position = found.position;
      followed = position === machine.ids.length - 1;
    }

    function ask(given = {}) {
      Object.assign(why, given, { asked: true, silent: null });
      opened = null;
      sought = { why: true };
      draw();
      write("on");
    }

    // What the worker has found so far, by key, as probabilities; it is asked if it was not yet.
    const tasks = { hide: { n: 0, found: {} }, swap: { n: 0, found: {} } };
    function found(task, more) {
      const asks = JSON.stringify([position, more]),
        last = tasks[task];
      if ((last.seen === machine.seen && last.asks === asks) || missing.length) return last.found; // or all is drawn again soon
      Object.assign(last, { seen: machine.seen, asks, n: last.n + 1, found: {} });
      worker.postMessage({
        task,
        n: last.n,
        run,
        as: machine.plain ? "changed" : "plain",
        position,
        ...more,
      });
      return last.found;
    }

    // Of the word, with_V before and p_V now, and the likeliest now, where that is another one.
    function becomes(with_V, p_V) {
      const { entry } = inquiry(),
        [[before], [now]] = [with_V, p_V].map((one) => likeliest(one, 1));
      return `${percent(with_V[entry]).replace("%", "")} → ${percent(p_V[entry])}${now === before ? "" : `, then ${wordOf(now)}`}`;
    }

    // Which words matter: how probable the word is if no later position may read one of them.
    function words(said, list) {
      return () => {
        const { entry } = inquiry(),
          without = found("hide", {}),
          with_V = row(machine, { part: "probabilities", position }),
          p = with_V[entry];
        const falls = Array.from({ length: position }, (_, at) =>
            without[at] ? p - without[at][entry] : 0,
          ),
          most = falls.indexOf(Math.max(...falls));
        said.textContent = !position
          ? "There is no word before it."
          : !without[0]
            ? "Hiding one word after another …"
            : `Each word is hidden in turn: no later position may read it, in any layer. ${
                falls[most] > 0.01 * p
                  ? `Most is lost without ${atPosition(most)}: ${wordOf(entry)} ${becomes(with_V, without[most])}.`
                  : `${wordOf(entry)} needs no single one of them.`
              } The fuller the blue, the larger the part of the probability that is lost. ` +
              "Two words that say the same can stand in for each other, and then neither seems to matter.";
        list.replaceChildren(
          ...Array.from({ length: position + 1 }, (_, at) => {
            const one = make(
              "li",
              {},
              make("b", {}, label(token(at))),
              " ",
              make(
                "span",
                {},
                at === position
                  ? `${percent(p)}, all read`
                  : without[at]
                    ? becomes(with_V, without[at])
                    : "…",
              ),
            );
            one.className = falls[at] < 0 ? "minus" : "plus";
            one.style.setProperty("--share", Math.min(1, Math.abs(falls[at] ?? 0) / p));
            return one;
          }),
        );
      };
    }

    // Another word in place of one, and one vector of that sentence in this one.
    function swaps(box) {
      const at = make("select", { name: "swapped" }),
        other = make("select", { name: "swap" }),
        says = make("p"),
        table = make("table", { className: "machine-swap" });
      const option = (id) => make("option", { value: id }, wordOf(id)),
        { L } = machine.model.sizes;
      const levels = Array.from({ length: L + 1 }, (_, level) => level),
        id = () => Number(other.value);
      let offered = "";
      other.addEventListener(
        "focus",
        () =>
          other.append(
            make("optgroup", { label: "all" }, ...machine.model.vocab.map((_, id) => option(id))),
          ),
        { once: true },
      );
      at.addEventListener("change", () => {
        why.swap = { at: Number(at.value) };
        show();
        write("stay");
      });
      other.addEventListener("change", () => {
        why.swap = { at: Number(at.value), ...(other.value && { id: id() }) };
        why.asked = true;
        show();
        write("stay");
      });
      box.append(
        make(
          "p",
          { className: "machine-choices" },
          make("label", {}, "For ", at),
          make("label", {}, "put ", other),
        ),
        says,
      );
      // The words, and for one of them what else was likely there.
      function offer() {
        const { found: without } = tasks.hide,
          { entry } = inquiry();
        const most =
          likeliest(
            Array.from({ length: position }, (_, t) => -(without[t]?.[entry] ?? 1)),
            1,
          )[0] ?? 0;
        const chosen = why.swap?.at ?? (without[0] ? most : 0),
          now = JSON.stringify([machine.ids, position, chosen, why.swap?.id]);
        if (now === offered) return;
        offered = now;
        at.replaceChildren(
          ...Array.from({ length: position + 1 }, (_, t) =>
            make("option", { value: t }, atPosition(t)),
          ),
        );
        at.value = chosen;
        const likely = chosen ? likeliest(machine.seen[chosen - 1].logits_V, 20) : [],
          near = new Set([...likely, ...(why.swap?.id === undefined ? [] : [why.swap.id])]);
        near.delete(machine.ids[chosen]);
        const all = other.querySelector('[label="all"]');
        other.replaceChildren(
          make("option", { value: "" }, "another word"),
          make("optgroup", { label: "likely there" }, ...[...near].map(option)),
          ...(all ? [all] : []),
        );
        other.value = why.swap?.id ?? "";
      }
      function show() {
        offer();
        const { at: from, id } = why.swap ?? {},
          { entry } = inquiry(),
          with_V = row(machine, { part: "probabilities", position });
        table.remove();
        says.textContent =
          id === undefined
            ? "What does the machine make of the sentence with one other word? And which of its vectors carries the difference?"
            : "";
        if (id === undefined) return;
        const all = found("swap", { at: from, id, levels: L }),
          { whole } = all;
        if (!whole) return;
        const swapped = `${wordOf(id)} for ${wordOf(machine.ids[from])}`,
          moved = with_V[entry] - whole[entry];
        says.textContent =
          `With ${swapped}: ${wordOf(entry)} ${becomes(with_V, whole)}. In the table the sentence stays as it is, but for one vector of the stream: ` +
          "at one position, before layer 1 or after a layer, it is the other sentence’s. The fuller a cell, the nearer this vector alone brings the probability " +
          "to that of the other sentence. So the table shows which position holds the difference, layer after layer.";
        table.replaceChildren(
          make(
            "caption",
            {},
            `Probability of ${wordOf(entry)} with one vector of the sentence with ${swapped}, before layer 1 and after each layer`,
          ),
          make(
            "thead",
            {},
            make(
              "tr",
              {},
              ...["at", "before", ...levels.slice(1).map((l) => `after ${l}`)].map((name) =>
                make("th", { scope: "col" }, name),
              ),
            ),
          ),
          make(
            "tbody",
            {},
            ...Array.from({ length: position - from + 1 }, (_, n) =>
              make(
                "tr",
                {},
                make("th", { scope: "row" }, atPosition(from + n)),
                ...levels.map((level) => {
                  const p_V = all[`${from + n}.${level}`],
                    cell = make("td", {}, p_V ? percent(p_V[entry]) : "…");
                  cell.style.setProperty(
                    "--share",
                    p_V && moved
                      ? Math.min(1, Math.max(0, (with_V[entry] - p_V[entry]) / moved))
                      : 0,
                  );
                  return cell;
                }),
              ),
            ),
          ),
        );
        box.append(table);
      }
      return show;
    }

    function whyThis(box) {
      const update = () => {
        showReasons();
        locate();
      };
      const choice = (name, first) => {
        const select = make("select", { name }, ...first, make("optgroup", { label: "likeliest" }));
        const more = () =>
          select.append(
            make(
              "optgroup",
              { label: "all" },
              ...machine.model.vocab.map((token, id) =>
                make("option", { value: id }, named(token)),
              ),
            ),
          );
        select.addEventListener("focus", more, { once: true });
        select.addEventListener("change", () => {
          Object.assign(why, {
            [name === "why" ? "entry" : "over"]: select.value ? Number(select.value) : null,
            asked: true,
            silent: null,
          });
          draw();
          write("stay");
        });
        return select;
      };
      const word = choice("why", []),
        over = choice("over", [make("option", { value: "" }, "the mean logit")]),
        after = make("span");
      const says = make("p"),
        body = make("tbody"),
        caption = make("caption"),
        told = make("p", { className: "visually-hidden" });
      told.setAttribute("role", "status");
      const all = make("button", {
        type: "button",
        onclick: () => {
          why.every = !why.every;
          update();
        },
      });
      const other = make("button", {
        type: "button",
        onclick: () => {
          Object.assign(why, {
            over: why.over === null ? undefined : null,
            asked: true,
            silent: null,
          });
          draw();
          write("stay");
        },
      });
      const matter = make("p"),
        sentence = make("ol", { className: "machine-words" }),
        swap = make("div");
      const showSwap = swaps(swap),
        showWords = words(matter, sentence);
      tasks.hide.show = () => {
        showWords();
        showSwap();
      };
      tasks.swap.show = showSwap;
      box.append(
        make("p", { className: "machine-choices" }, make("label", {}, "Why ", word), after),
        make("h3", {}, "Which words matter?"),
        matter,
        sentence,
        make("h3", {}, "What has each part added?"),
        make(
          "p",
          { className: "machine-choices" },
          make("label", {}, "Its lead over ", over),
          other,
        ),
        says,
        make(
          "table",
          { className: "machine-reasons" },
          caption,
          make(
            "thead",
            {},
            make(
              "tr",
              {},
              ...["part", "adds", "without it"].map((name) => make("th", { scope: "col" }, name)),
            ),
          ),
          body,
        ),
        all,
        told,
        make(
          "p",
          { className: "machine-note" },
          `${WHY.says} `,
          make("a", { href: WHY.href, target: "_blank" }, WHY.where),
          ".",
        ),
        make("h3", {}, "Swap a word"),
        swap,
      );

      function fill(select, p_V, chosen, name, itself) {
        const near = [
          ...new Set([...likeliest(p_V, 20), ...(chosen === undefined ? [] : [chosen])]),
        ].filter((id) => id !== itself);
        select
          .querySelector("optgroup")
          .replaceChildren(...near.map((id) => make("option", { value: id }, name(id))));
        select.value = chosen ?? "";
      }

      const nameOf = ({ part, layer, head: h, key }) =>
        part === "embedding"
          ? `embedding of ${named(token(position))}`
          : part === "position"
            ? `position ${position + 1}`
            : part === "biases"
              ? "all biases"
              : `layer ${layer}, ${part === "down" ? "feed-forward network" : `head ${h} ${key === undefined ? "as it was replaced" : `reads ${atPosition(key)}`}`}`;
      const same = (a, b) =>
        Boolean(b) && ["part", "layer", "head", "key"].every((n) => a[n] === b[n]);

      function showReasons() {
        const asked = inquiry(),
          p_V = row(machine, { part: "probabilities", position }),
          focused = [...box.querySelectorAll("button")].indexOf(document.activeElement);
        fill(word, p_V, asked.entry, (id) => `${wordOf(id)} ${percent(p_V[id])}`);
        fill(over, p_V, asked.over, wordOf, asked.entry);
        other.textContent = asked.over === undefined ? "Over another word" : "Over the mean logit";
        tasks.hide.show();
        after.textContent = `after ${atPosition(position)}`;
        const ranked = [...reasons()].sort((a, b) => Math.abs(b.value) - Math.abs(a.value)),
          most = Math.abs(ranked[0].value) || 1;
        const shown = why.every ? ranked : ranked.slice(0, MOST_TERMS),
          total = bookMachine.lead(machine.seen[position].logits_V, asked);
        const against = ranked.find(({ value }) => value < 0);
        if (against && !shown.includes(against)) shown.splice(-1, 1, against);
        const rest = ranked.length - shown.length,
          rounded = (x) => Number(x.toFixed(3)),
          what = sumOf(asked);
        says.textContent =
          `${what[0].toUpperCase()}${what.slice(1)} is ${signed(total)}. Each part of the machine has added a vector to the stream of ${atPosition(position)}. ` +
          "With what the last norm divides by held at what it is here, their shares add up to this number exactly. This counts the last step alone: " +
          "a word or a part can also matter through later parts, which read what it has changed.";
        caption.textContent =
          `${ranked.length} parts, the largest first. A plus favours ${wordOf(asked.entry)}, a minus ${asked.over === undefined ? "the average word" : overWhat(asked)}. ` +
          "From layer 2 on, “reads” means the vector at that position, which already mixes in other words. Press a part to open its numbers.";
        const line = (name, x) =>
          make(
            "tr",
            { className: "machine-sum" },
            make("th", { scope: "row" }, name),
            make("td", {}, signed(x)),
            make("td"),
          );
        body.replaceChildren(
          ...shown.flatMap((part) => reason(part, most)),
          ...(rest
            ? [
                line(
                  `${rest} others`,
                  rounded(total) - shown.reduce((sum, { value }) => sum + rounded(value), 0),
                ),
              ]
            : []),
          line(what, total),
        );
        all.textContent = why.every ? "The largest alone" : `All ${ranked.length} parts`;
        if (focused >= 0) box.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
      }

      // A row, and under it what becomes of the word without this part, if that was asked.
      function reason(part, most) {
        const silent = same(part, why.silent),
          cell = make("td", { className: part.value < 0 ? "minus" : "plus" }, signed(part.value)),
          name = nameOf(part);
        cell.style.setProperty("--share", Math.abs(part.value) / most);
        const says = silent ? "Put back" : "Silence",
          press = () => {
            why.silent = silent ? null : part;
            update();
            const result = box.querySelector(".machine-silenced");
            told.textContent = result?.querySelector("p").textContent ?? "";
            result?.scrollIntoView({ block: "nearest" });
          };
        const line = make(
          "tr",
          {},
          make(
            "td",
            {},
            make(
              "button",
              {
                type: "button",
                className: "machine-reason",
                onclick: () => {
                  why.asked = true;
                  show(bookMachine.leads(machine, inquiry(), part));
                },
              },
              name,
            ),
          ),
          cell,
          make(
            "td",
            {},
            make(
              "button",
              {
                type: "button",
                onclick: press,
                aria: { label: `${says}: ${name}`, expanded: silent },
              },
              says,
            ),
          ),
        );
        for (const event of ["pointerenter", "focusin"])
          line.addEventListener(event, () => locate(part));
        for (const event of ["pointerleave", "focusout"])
          line.addEventListener(event, () => locate());
        return silent ? [line, without(part)] : [line];
      }

      function without(part) {
        const asked = inquiry(),
          { logits, later, changed, norm, by } = bookMachine.silence(machine, asked, part),
          ways = ["now", "said", "found"];
        const p = Object.fromEntries(ways.map((way) => [way, bookGPT.probabilities(logits[way])]));
        const value = (way) => bookMachine.lead(logits[way], asked);
        const line = (name, of) =>
          make(
            "tr",
            {},
            make("th", { scope: "row" }, name),
            ...ways.map((way) => make("td", {}, of(way))),
          );
        const above =
          changed < 1e-9
            ? "No later part reads what is gone."
            : `Later parts read what is gone: what they add changes by a vector ${percent(changed)} as long as the one left out, which makes ${signed(later)}.`;
        return make(
          "tr",
          { className: "machine-silenced" },
          make(
            "td",
            { colSpan: 3 },
            make(
              "table",
              {},
              make(
                "thead",
                {},
                make(
                  "tr",
                  {},
                  make("td"),
                  ...["with it", "without it, by the sum", "without it, computed"].map((name) =>
                    make("th", { scope: "col" }, name),
                  ),
                ),
              ),
              make(
                "tbody",
                {},
                line("lead", (way) => signed(value(way))),
                line("probability", (way) => percent(p[way][asked.entry])),
                line("likeliest", (way) => wordOf(likeliest(p[way], 1)[0])),
              ),
            ),
            make(
              "p",
              {},
              `Without this part the sum predicts ${signed(value("said"))}, and the machine, computed again from there, gives ${signed(value("found"))}. ` +
                `${above} What the last norm multiplies by goes from ${by.now.toFixed(3)} to ${by.found.toFixed(3)}, which makes ${signed(norm)}.`,
            ),
          ),
        );
      }

      return showReasons;
    }

    // --- one head large

    function maps(box) {
      const shown = make(
        "select",
        { name: "shown" },
        ...["weights", "scaled", "scores"].map((part) =>
          make("option", { value: part }, `${aboutPart(part, start ? 0 : undefined).name}s`),
        ),
      );
      const canvas = make("canvas", { tabIndex: 0 }),
        [said, scale] = [0, 1].map(() => make("p", { className: "machine-label" }));
      const mark = make("span", { className: "machine-mark" }),
        pointed = make("span", { className: "machine-pointed" });
      const bands = [0, 1].map(() => make("span", { className: "machine-band" })); // under the two words of a cell
      let at = { t: position, s: 0 },
        cell = 12;
      const EDGE = 72; // room for a word
      canvas.setAttribute("role", "img");
      said.setAttribute("role", "status");
      box.append(
        make("label", {}, "shown large: ", shown),
        said,
        make("div", { className: "machine-map" }, canvas, ...bands, mark, pointed),
        scale,
      );
      const address = ({ t, s }) => ({ part: shown.value, position: t, ...head(), key: s });

      const enlarged = make("canvas");
      function sized(canvas, side) {
        const sharp = devicePixelRatio || 1,
          pen = canvas.getContext("2d");
        canvas.width = canvas.height = Math.round(side * sharp);
        pen.scale(sharp, sharp);
        return pen;
      }
      function update() {
        const T = machine.seen.length,
          chosen = head();
        cell = Math.max(11, Math.min(32, Math.floor((width - EDGE) / T)));
        const side = EDGE + cell * T,
          pen = sized(canvas, side);
        canvas.style.width = canvas.style.height = `${side}px`;
        const all = rows(chosen, shown.value);
        const most = shown.value === "weights" ? 1 : Math.max(...all.map(largest));
        scale.replaceChildren(
          `A row for each token that reads, a column for each that is read. The fullest colour is ${number(most)}. ` +
            "Hatched cells are masked: ",
          make("a", { href: SECTIONS.masked.href, target: "_blank" }, SECTIONS.masked.where),
          ".",
        );
        pixels(enlarged, all, T, most);
        pen.imageSmoothingEnabled = false;
        pen.drawImage(enlarged, EDGE, EDGE, cell * T, cell * T);
        pen.fillStyle = pen.strokeStyle = inks.line;
        pen.font = `${Math.min(13, cell)}px monospace`;
        pen.textAlign = "center";
        pen.textBaseline = "middle";
        for (let t = 0; t < T; t++) {
          const name = label(token(t));
          pen.fillText(name, EDGE / 2, EDGE + (t + 0.5) * cell, EDGE - 6);
          pen.save();
          pen.translate(EDGE + (t + 0.5) * cell, EDGE / 2);
          pen.rotate(-Math.PI / 2);
          pen.fillText(name, 0, 0, EDGE - 6);
          pen.restore();
        }
        hatch(pen, T);
        pen.strokeRect(
          EDGE + 0.5,
          EDGE + position * cell + 0.5,
          (position + 1) * cell - 1,
          cell - 1,
        );
        at = { t: Math.min(at.t, T - 1), s: Math.min(at.s, T - 1) };
        mark.hidden =
          opened?.key === undefined || opened.layer !== chosen.layer || opened.head !== chosen.head;
        if (!mark.hidden)
          frame(mark, EDGE + opened.key * cell, EDGE + opened.position * cell, cell, cell);
        point({ t: position, s: null });
      }
      // What comes later is masked: a stroke through each of its cells.
      function hatch(pen, T) {
        pen.globalAlpha = 0.25;
        pen.beginPath();
        for (let t = 0; t < T; t++) {
          for (let s = t + 1; s < T; s++) {
            pen.moveTo(EDGE + s * cell, EDGE + (t + 1) * cell);
            pen.lineTo(EDGE + (s + 1) * cell, EDGE + t * cell);
          }
        }
        pen.stroke();
        pen.globalAlpha = 1;
      }
      const frame = ({ style }, ...sides) =>
        ["left", "top", "width", "height"].forEach((side, n) => {
          style[side] = `${sides[n]}px`;
        });
      // A cell that is pointed at, or a whole row: what it says, its number beside it, its words lit.
      function point({ t, s }) {
        for (const one of [pointed, ...bands]) one.hidden = s === null || s > t;
        if (!pointed.hidden) {
          const [x, y] = [EDGE + s * cell, EDGE + t * cell];
          frame(bands[0], 0, y, EDGE, cell);
          frame(bands[1], x, 0, cell, EDGE);
          frame(pointed, x, y, cell, cell);
          pointed.dataset.number = number(row(machine, address({ t, s }))[s]);
        }
        const { layer, head: h } = head(),
          name = aboutPart(shown.value).name,
          whose = `Layer ${layer}, head ${h}`;
        const all = row(machine, address({ t, s: 0 })),
          most = [...all.keys()].sort((a, b) => all[b] - all[a]).slice(0, 3);
        const sentence =
          s === null
            ? `${atPosition(t)} reads ${most.map((k) => `${atPosition(k)} ${number(all[k])}`).join(", ")}.`
            : s > t
              ? `${atPosition(s)} comes after ${atPosition(t)}: masked.`
              : `${atPosition(t)} reads ${atPosition(s)}: ${name} ${number(all[s])}.`;
        said.textContent = `${whose}. ${sentence}`;
        canvas.setAttribute(
          "aria-label",
          `${whose}: a row for each token that reads, a column for each that is read. ${sentence} Arrow keys move, Enter opens.`,
        );
      }
      const under = ({ clientX, clientY }) => {
        const { left, top } = canvas.getBoundingClientRect();
        const [s, t] = [clientX - left - EDGE, clientY - top - EDGE].map((x) =>
          Math.floor(x / cell),
        );
        return s >= 0 && t >= 0 && s < machine.seen.length && t < machine.seen.length
          ? { t, s }
          : null;
      };
      canvas.addEventListener(
        "pointermove",
        (event) => there() && under(event) && point(under(event)),
      );
      canvas.addEventListener("pointerleave", () => there() && point({ t: position, s: null }));
      canvas.addEventListener("click", (event) => {
        const found = there() && under(event);
        if (found && found.s > found.t) point(found);
        else if (found) show(address(found)); // a finger points as it presses
      });
      canvas.addEventListener("keydown", (event) => {
        const step = {
          ArrowRight: [0, 1],
          ArrowLeft: [0, -1],
          ArrowDown: [1, 0],
          ArrowUp: [-1, 0],
        }[event.key];
        if (!there() || (!step && event.key !== "Enter")) return;
        event.preventDefault();
        if (event.key === "Enter") return at.s <= at.t && show(address(at));
        const end = machine.seen.length - 1,
          keep = (x) => Math.min(end, Math.max(0, x));
        at = { t: keep(at.t + step[0]), s: keep(at.s + step[1]) };
        point(at);
        pointed.scrollIntoView({ block: "nearest", inline: "nearest" });
      });
      shown.addEventListener("change", () => there() && update());
      return update;
    }

    // --- read early, and what comes next

    // The likeliest tokens as buttons, each with its share; before: the shares without the changes.
    function probabilityButtons(p_V, n, a, before = null) {
      const [first, ...others] = likeliest(p_V, n),
        was = before ? likeliest(before, 1) : []; // that one second, at least
      return [...new Set([first, ...was, ...others])].slice(0, n).map((entry) => {
        const opens = make(
          "button",
          {
            type: "button",
            onclick: () => show({ ...a, entry }),
            aria: {
              current: Boolean(
                opened &&
                ["part", "position", "layer"].every((n) => opened[n] === a[n]) &&
                opened.entry === entry,
              ),
            },
          },
          `${named(machine.model.vocab[entry])} ${percent(p_V[entry])}`,
          ...(before ? [` (was ${percent(before[entry])})`] : []),
        );
        opens.style.setProperty("--share", p_V[entry]);
        return opens;
      });
    }

    // What comes next without the changes, where there are any.
    const unchanged = () =>
      machine.plain && bookGPT.probabilities(machine.plain[position].logits_V);

    function lens(box) {
      const table = make(
        "table",
        {},
        make(
          "caption",
          {},
          "What the last norm and the head make of the stream, before layer 1 and after each layer",
        ),
      );
      box.append(table);
      return () => {
        const { L } = machine.model.sizes;
        table.replaceChildren(
          table.caption,
          make(
            "tbody",
            {},
            ...Array.from({ length: L + 1 }, (_, layer) => {
              const from = { part: "probabilities", position, ...(layer < L && { layer }) };
              return make(
                "tr",
                {},
                make("th", { scope: "row" }, layer ? `layer ${layer}` : "before"),
                make(
                  "td",
                  { className: "machine-likely" },
                  ...probabilityButtons(row(machine, from), 3, from),
                ),
              );
            }),
          ),
        );
      };
    }

    function next(box) {
      const table = make("table", { className: "machine-next" });
      box.append(table);
      return () => {
        const p_V = row(machine, { part: "probabilities", position });
        const before = unchanged();
        const head = ["next", "probability", ...(before ? ["unchanged"] : [])];
        table.replaceChildren(
          make("caption", {}, `After ${atPosition(position)}`),
          make(
            "thead",
            {},
            make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name))),
          ),
          make(
            "tbody",
            {},
            ...likeliest(p_V, LIKELY).map((entry) => {
              const opens = make(
                "button",
                { type: "button", onclick: () => show({ part: "probabilities", position, entry }) },
                percent(p_V[entry]),
              );
              opens.style.setProperty("--share", p_V[entry]);
              return make(
                "tr",
                {},
                make("th", { scope: "row" }, named(machine.model.vocab[entry])),
                make("td", {}, opens),
                ...(before ? [make("td", {}, percent(before[entry]))] : []),
              );
            }),
          ),
        );
      };
    }

    // --- drawing all

    const idle = (work) => (globalThis.requestIdleCallback ?? setTimeout)(work, { timeout: 200 });
    let parts = [],
      showPicture = null,
      waiting = false,
      whole = true,
      width = 0;

    // The answer at once, within the frame that shows what was typed; the rest when it stands.
    function draw() {
      if (!there()) return;
      answer();
      for (const part of parts) part.stale = true;
      if (!waiting) requestAnimationFrame(() => idle(drawRest));
      waiting = true;
    }

    function drawRest() {
      waiting = false;
      if (!there()) return;
      if (whole) takeInks();
      showChange();
      showOpened();
      showPicture();
      parts.filter(({ near }) => near || whole).forEach(catchUp);
      whole = false;
      if (sought) reveal(sought);
      sought = null;
    }

    function catchUp(part) {
      if (!part.stale || !there()) return;
      part.stale = false;
      part.update();
    }

    const nearing = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          const part = parts.find(({ box }) => box === target);
          part.near = isIntersecting;
          if (part.near && !waiting) idle(() => catchUp(part)); // else it comes with the rest
        }
      },
      { rootMargin: "50% 0px" },
    );

    function redraw() {
      whole = true;
      draw();
    }

    // The tokens, and what comes next: what a reader who types waits for. Only what differs is touched.
    let drawn = [],
      pressed = 0;

    function answer() {
      const tokens = find(".machine-tokens"),
        { ids } = machine;
      while (tokens.children.length > ids.length) tokens.lastChild.remove();
      ids.forEach((id, at) => {
        const button =
          tokens.children[at] ??
          tokens.appendChild(
            make("button", { type: "button", ariaPressed: "false", onclick: () => choose(at) }),
          );
        if (drawn[at] === id && button.textContent) return;
        button.textContent = label(token(at));
        const name = atPosition(at);
        button.ariaLabel = name.includes(button.textContent)
          ? name
          : `${button.textContent} ${name}`;
      });
      drawn = [...ids];
      for (const at of [pressed, position])
        tokens.children[at]?.setAttribute("aria-pressed", at === position);
      pressed = position;
      const a = { part: "probabilities", position };
      find(".machine-answer").replaceChildren(
        make("span", {}, `after ${atPosition(position)}`),
        ...probabilityButtons(row(machine, a), FIRST, a, unchanged()),
      );
    }

    function choose(at) {
      forget();
      position = at;
      followed = at === machine.ids.length - 1;
      if (opened && opened.position !== undefined && opened.position !== at) {
        const other = { ...opened, position: at, ...(opened.key > at && { key: at }) };
        return show(other, "walk");
      }
      draw();
    }

    function showChange() {
      const { layer, head: h } = head(),
        other = machine.change.instead?.[layer]?.[h];
      field("works").value = other ? (other.some((x) => x) ? "mean" : "silent") : "";
      const { silent, mean, positions } = changed(),
        names = (heads, does) => heads.map(([l, h]) => `layer ${l}, head ${h} ${does}`);
      const changes = [
        ...names(silent, "is silenced"),
        ...names(mean, "gives its mean"),
        ...(positions ? ["no positions"] : []),
      ];
      const p_V = row(machine, { part: "probabilities", position }),
        [first] = likeliest(p_V, 1);
      find(".machine-changed").textContent =
        `${changes.length ? `Changed: ${changes.join("; ")}. ` : ""}` +
        `Likeliest after ${atPosition(position)}: ${named(machine.model.vocab[first])}, ${percent(p_V[first])}.`;
      find(".machine-changed").classList.toggle("visually-hidden", !changes.length);
      field("undo").hidden = !changes.length;
    }

    // --- the stations

    function toView(name, atOnce) {
      const still = atOnce || matchMedia("(prefers-reduced-motion: reduce)").matches;
      find(name).scrollIntoView({ behavior: still ? "instant" : "smooth" });
    }

    const go = (n) => toView(`#station-${n}`);

    const watch = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue;
          here = target.id;
          root
            .querySelectorAll("[data-step]")
            .forEach((link) =>
              link.setAttribute("aria-current", link.hash === `#${target.id}` ? "step" : "false"),
            );
          if (there()) locate();
        }
      },
      { rootMargin: "-40% 0px -55% 0px" },
    );

    // --- what the reader does

    async function begin() {
      const button = field("load");
      button.setAttribute("aria-disabled", true);
      say("");
      try {
        const model = await bookGPT.load(root.dataset.weights);
        const script = new Blob(
          [`"use strict"; const bookGPT = (${bookGPTMade})(); (${work})();`],
          { type: "text/javascript" },
        );
        worker = new Worker(URL.createObjectURL(script));
        worker.onmessage = heard;
        worker.postMessage({ weights: bookGPTWeights });
        machine = { model, seen: [], plain: null, ids: [], change: {} };
      } catch {
        button.setAttribute("aria-disabled", false);
        say(
          "The model could not be started. Its weights stand in the folder _static, beside this book’s pages; " +
            "a page that was saved alone does not have them.",
        );
        return;
      }
      find(".machine-start").hidden = true;
      find(".machine-live").hidden = false;
      field("text").after(find(".machine-trouble")); // where it moves nothing that is typed in
      find(".machine-live").scrollIntoView();
      find(".machine-opened").focus({ preventScroll: true });
      parts = [...root.querySelectorAll(".machine-part")].map((box) => ({
        box,
        update: { why: whyThis, maps, lens, next }[box.dataset.part]?.(box) ?? strip(box),
      }));
      parts.forEach(({ box }) => nearing.observe(box));
      showPicture = picture();
      root.querySelectorAll(".machine-why, .machine-station").forEach((one) => watch.observe(one));
      read();
    }

    field("load").addEventListener("click", () => !machine && begin());
    find(".machine-live").addEventListener("submit", (event) => event.preventDefault());
    field("text").addEventListener("input", () => {
      followed = true;
      forget();
      read();
    });
    field("text").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (there()) ask();
    });
    field("ask").addEventListener("click", () => there() && ask());
    root.querySelectorAll("[data-step]").forEach((link) =>
      link.addEventListener("click", (event) => {
        event.preventDefault(); // the page's address is the number's
        go(link.dataset.step);
      }),
    );
    for (const name of ["layer", "head"]) {
      field(name).addEventListener("change", () => {
        if (opened?.[name] !== undefined)
          return show({
            ...opened,
            ...head(),
            ...(opened.head === undefined && { head: undefined }),
          });
        draw();
      });
    }
    field("works").addEventListener("change", ({ target }) => {
      const { layer, head: h } = head();
      replace(layer, h, target.value);
      read();
    });
    field("positions").addEventListener("change", read);
    field("undo").addEventListener("click", () => {
      undo();
      read();
    });
    addEventListener("popstate", arrive);
    new MutationObserver(redraw).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
    new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width !== width) [width] = [contentRect.width, redraw()];
    }).observe(find(".machine-stations"));
    new ResizeObserver(([{ target }]) =>
      root.style.setProperty("--machine-bar", `${target.offsetHeight}px`),
    ).observe(find(".machine-bar"));
    find(".machine-scriptless").remove();
    find(".machine-load").hidden = false;
    const asks = bookMachine.parse(location.hash);
    if (asks.number || asks.why)
      field("load").append(asks.number ? " and open the number of this address" : " and see why");
    find(".machine-still").hidden = asks.text !== null; // it shows another text's answer
    arrive();
  }

  document.querySelectorAll(".machine").forEach(liven);
})();
