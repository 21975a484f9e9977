// Chapter 07: edit a mask, and see which losses cheat, in one layer or through several.
"use strict";

(() => {
  const { html, at, fixed, sum, quoted, many } = Play;
  const SIGNS = { honest: "✓", cheats: "✗", nothing: "?" };
  const MOST = 4; // layers
  const [STEP, RISE, TOP, FOOT] = [48, 44, 24, 30]; // of the drawing of layers: SVG units
  const PRESETS = {
    // whether word t may read word s
    causal: (t, s) => s <= t,
    "none at all": () => true,
    "one too far": (t, s) => s <= t + 1,
    "only what came before": (t, s) => s < t || (t === 0 && s === 0),
    "the last three": (t, s) => s <= t && s > t - 3,
    "a prefix of three": (t, s) => s <= t || (s < 3 && t < 3),
    "the first two are padding": (t, s) => s <= t && s > 1,
  };
  const ORDERS = ["before softmax", "after softmax"];
  const LAYERS = { name: "layers", label: "layers", low: 1, high: MOST, step: 1 };
  const NAMES = Object.keys(PRESETS);
  const range = (length) => [...Array(length).keys()];
  const preset = (name, length) =>
    range(length).map((t) => range(length).map((s) => PRESETS[name](t, s)));

  // --- what is computed. mask[t][s]: whether word t may read word s. `after` is true where the mask
  // is put on after softmax, which then runs over all scores.

  // Weights of a row; null where it may read no word: softmax over nothing has no answer.
  function weights(scores, row, after) {
    if (after) return Play.softmax(scores).map((weight, s) => (row[s] ? weight : 0));
    if (!row.includes(true)) return null;
    return Play.softmax(scores.map((score, s) => (row[s] ? score : -Infinity)));
  }

  // On which words an output depends in one layer: on itself, since the layer adds to it, and on
  // what it may read. After softmax the scores of all words stand in the sum that it divides by.
  const sees = (mask, after) =>
    mask.map((row, t) => row.map((may, s) => t === s || (after ? row.includes(true) : may)));

  // The same through so many layers: a power of that table, with "or" for plus and "and" for times.
  function reach(mask, layers, after) {
    const one = sees(mask, after);
    const more = (below) =>
      one.map((row) => row.map((_, s) => row.some((is, u) => is && below[u][s])));
    const none = mask.map((row, t) => row.map((_, s) => t === s));
    return range(layers).reduce(more, none);
  }

  // The shortest way by which word t reads word `to`, both named; of several the first in order.
  function path(mask, after, t, to) {
    const one = sees(mask, after);
    const ways = [[t]];
    for (const way of ways) {
      if (way.at(-1) === to) return way;
      one[way.at(-1)].forEach((is, s) => is && !way.includes(s) && ways.push([...way, s]));
    }
  }

  // For each word: does its loss, on the word after it, cheat? If so, by which way; to its answer if
  // there is one, else to the first later word that it reads.
  function verdicts(mask, layers, after) {
    return reach(mask, layers, after).map((read, t) => {
      if (!after && !mask[t].includes(true)) return { kind: "nothing", path: [] };
      const later = read.findIndex((is, s) => is && s > t);
      if (later < 0) return { kind: "honest", path: [] };
      return { kind: "cheats", path: path(mask, after, t, later) };
    });
  }

  // --- words

  function judged(words, t, { kind, path }) {
    if (kind === "honest") return "honest";
    if (kind === "nothing") return "no answer: it may read no word";
    const past = path.at(-1) === t + 1 ? "" : ", past it";
    return `cheats: ${path.map((s) => words[s]).join(" → ")}${past}`;
  }

  function sentence(words, name, { mask, layers, after }) {
    const of = (layers, kind) =>
      words.filter((_, t) => verdicts(mask, layers, after)[t]?.kind === kind);
    const [now, one, empty] = [of(layers, "cheats"), of(1, "cheats"), of(layers, "nothing")];
    const none = empty.length ? "no loss cheats." : `all ${mask.length} losses are honest.`;
    const some = `${now.length} of ${mask.length} losses cheat: at ${quoted(now)}.`;
    const less =
      now.length === one.length ? "" : ` In one layer ${one.length || "none"} of them would.`;
    const late = after
      ? " After softmax a mask hides the values only: each weight is still a share of " +
        "a sum in which the scores of all words stand."
      : "";
    const rows = empty.length === 1 ? "The row of # is" : "The rows of # are";
    const refused = empty.length
      ? ` ${rows.replace("#", quoted(empty))} empty: softmax over nothing has no answer, and this ` +
        "book’s code refuses such a mask. The other verdicts are those of a layer in which such a " +
        "row adds 0."
      : "";
    const whose = name ? `Mask “${name}”` : "A mask of your own";
    return `${whose}, ${many(layers, "layer")}: ${now.length ? some : none}${less}${late}${refused}`;
  }

  function reason(words, t, { kind, path }, { mask, layers, after }, weights) {
    const asked = `“${words[t]}” has to say “${words[t + 1]}”.`;
    if (kind === "nothing") return `${asked} It may read no word, and has no weights.`;
    const left = sum(weights) < 0.9995 ? ` Its weights sum to ${fixed(sum(weights))}.` : "";
    if (t === mask.length - 1) {
      return `${asked} That stands beyond the window: no mask can give it away.${left}`;
    }
    if (kind === "cheats") return `${asked} It cheats: ${hops(words, path, mask, layers)}.${left}`;
    const read = quoted(words.filter((_, s) => reach(mask, layers, after)[t][s]));
    const through = many(layers, "layer");
    return `${asked} Through ${through} it has read ${read}: nothing that comes later.${left}`;
  }

  // Told from the top layer down, as the way runs.
  function hops(words, path, mask, layers) {
    const told = path.slice(1).map((s, i) => {
      const how = mask[path[i]][s] ? `reads “${words[s]}”` : `has “${words[s]}” in its sum`;
      return `“${words[path[i]]}” ${how}${path.length > 2 ? ` in layer ${layers - i}` : ""}`;
    });
    return told.join(", where ");
  }

  // --- what is drawn

  // All ways from words at the foot up to the chosen one's loss, the one that cheats on top.
  function ways(words, { mask, layers, after, place: [chosen] }, { kind, path }) {
    const [one, all] = [sees(mask, after), range(mask.length)];
    const lit = range(layers + 1).map((l) => reach(mask, layers - l, after)[chosen]);
    const at = (l) => path[Math.min(layers - l, path.length - 1)];
    const x = (t) => STEP * (t + 0.5);
    const y = (l) => TOP + RISE * (layers - l);
    const lines = range(layers).map((l) =>
      all.map((t) => all.filter((s) => lit[l + 1][t] && one[t][s]).map((s) => line(l, t, s))),
    );
    function line(l, t, s) {
      const kind = mask[t][s] || (after && t !== s) ? "mask-way" : "mask-way round";
      return html`<line x1=${x(s)} y1=${y(l)} x2=${x(t)} y2=${y(l + 1)} class=${kind} />`;
    }
    const taken = range(layers + 1).map((l) => `${x(at(l))},${y(l)} `);
    const state = (l, t) => html`data-lit=${lit[l][t]} data-later=${lit[l][t] && t > chosen}`;
    function dot(l, t) {
      const r = lit[l][t] ? 5 : 2.5;
      return html`<circle cx=${x(t)} cy=${y(l)} r=${r} class="mask-dot" ${state(l, t)} />`;
    }
    const word = (x, y, more, words) =>
      html`<text x=${x} y=${y} text-anchor="middle" ${more}>${words}</text>`;
    return html`
      <svg viewBox="0 0 ${STEP * mask.length} ${y(0) + FOOT}" class="mask-ways" role="img"
        aria-label=${`What reaches the loss at ${words[chosen]} through the layers`}>
        ${lines}
        ${path.length > 0 && html`<polyline points=${taken.join("")} class="mask-taken" />`}
        ${range(layers + 1).map((l) => all.map((t) => dot(l, t)))}
        ${all.map((t) => word(x(t), y(0) + 22, state(0, t), words[t]))}
        ${word(x(chosen), y(layers) - 10, html`class="mask-sign"`, SIGNS[kind])}
      </svg>`;
  }

  // The mask, a row a word that reads, with a verdict on its loss.
  function table({ words, scaled }, { mask, layers, after, place }, all, live) {
    const read = reach(mask, layers, after);
    // Whether word t may read word s, and with which weight it does.
    function cell(t, s, weight) {
      const [may, through] = [mask[t][s], !mask[t][s] && read[t][s] && s !== t];
      const told = `not allowed${through ? ", but reached ○" : ""}`;
      const label = `${words[t]} may read ${words[s]}, ${may ? `weight ${fixed(weight)}` : told}`;
      return html`
        <td><span class="mask-cell" style="--weight: ${at(weight)}" data-may=${may}
          data-later=${s > t} data-answer=${s === t + 1} data-through=${through}
          ${Play.cell(live, "mask", [t, s + 1], place, Play.pressable(may, label))}
          >${may ? fixed(weight) : through && "○"}</span></td>`;
    }
    function row(scores, t) {
      const shares = weights(scores, mask[t], after) ?? [];
      const [chosen, told] = [t === place[0], judged(words, t, all[t])];
      const aria = Play.pressable(chosen, `${words[t]}: ${told}`);
      return html`
        <tr data-kind=${all[t].kind} data-chosen=${chosen}>
          <th scope="row">
            <span class="mask-word" ${Play.cell(live, "mask", [t, 0], place, aria)}>${words[t]}</span>
          </th>
          ${mask.map((_, s) => cell(t, s, shares[s] ?? 0))}
          <td class="mask-verdict" data-grid="mask" data-at=${`${t},0`}>
            <span class="mask-sign">${SIGNS[all[t].kind]}</span>
            <em>${words[t + 1]}</em> <span class="mask-told">${told}</span>
          </td>
        </tr>`;
    }
    return html`
      <table class="mask-grid" aria-label="Who may read whom">
        <colgroup>${[...mask, 0, 0].map(() => html`<col>`)}</colgroup>
        <thead>
          <tr>
            <td></td>${mask.map((_, s) => html`<th scope="col"><span>${words[s]}</span></th>`)}
            <th scope="col" class="mask-verdict">has to say</th>
          </tr>
        </thead>
        <tbody>${scaled.map(row)}</tbody>
      </table>`;
  }

  function draw({ words, scaled }, state, { ident, live }) {
    const { mask, layers, after } = state;
    const [all, t] = [verdicts(mask, layers, after), state.place[0]];
    const shares = weights(scaled[t], mask[t], after);
    const name = NAMES.find((one) => String(preset(one, mask.length)) === String(mask));
    const presets = Play.buttons(...NAMES.map((one) => ["preset", one, one === name, one]));
    const controls = [
      Play.slider({ ...LAYERS, value: layers }),
      Play.choices(ident, "order", "the mask is put on", ORDERS, Number(after)),
    ];
    return {
      stage: html`
        ${Play.steered(live, "mask-presets", presets)}
        ${table({ words, scaled }, state, all, live)}
        ${Play.steered(live, "", controls)}
        <p class="mask-caption">What reaches the loss of the chosen row, from the words at the foot
          up through the layers, each of which adds what a word reads to what it had. Hollow: what
          comes later.</p>
        <div class="mask-below" data-kind=${all[t].kind}>
          ${ways(words, state, all[t])}
          <p class="mask-chosen">${reason(words, t, all[t], state, shares)}</p>
        </div>`,
      says: sentence(words, name, state),
    };
  }

  // Column 0 is the word that reads.
  function press([t, column], { mask }) {
    const row = mask[t].map((may, s) => may !== (s === column - 1));
    return { mask: mask.with(t, row) };
  }

  Play.figure("mask", {
    first: ({ scaled }) => {
      const mask = preset("causal", scaled.length);
      return { mask, layers: 2, after: false, place: [3, 4] };
    },
    draw,
    acts: {
      layers: (layers) => ({ layers }),
      order: (order) => ({ after: order === 1 }),
      preset: (name, { mask }) => ({ mask: preset(name, mask.length) }),
    },
    grids: { mask: { reach: (place) => ({ place }), press } },
  });
})();
