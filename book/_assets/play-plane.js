// The similarity plane of chapter 02: a query and three words to drag, and three measures. One word
// at a time is compared with the query in the picture: the angle between the two, the distance
// between their tips, and the shadow of the query on the word's line, whose length the chapter shows
// to be the best length of the word by distance.
"use strict";

(() => {
  const { html, at, dot, fixed, number, listed, clamp, capital, none } = Play;
  const MEASURES = ["dot", "cosine", "euclid"];
  const TIE = 1e-9; // measures this close, for their size, are the same
  const [LEAST, MOST] = [-5, 9]; // of an entry
  const ARC = 1.7; // radius of the arc that shows the angle
  const EVEN = 5; // the length that all can be given
  const plane = Play.plane({ reach: 7.5, side: 360, middle: 2 }); // most room where the words are

  // --- what is computed

  const ofLength = (vector, length) =>
    vector.map((x) => (none(vector) ? 0 : (x * length) / Math.hypot(...vector)));

  // Each measure for each point, the distance as a distance; without direction no cosine.
  function measured(query, points) {
    const unit = (vector) => ofLength(vector, 1);
    return {
      length: points.map((point) => Math.hypot(...point)),
      dot: points.map((point) => dot(query, point)),
      cosine: points.map((point) =>
        none(query) || none(point) ? null : clamp(dot(unit(query), unit(point)), -1, 1),
      ),
      euclid: points.map((point) => Math.hypot(...point.map((x, d) => x - query[d]))),
    };
  }

  // By each measure, which points are most alike: several where they tie, or none.
  function winners(found) {
    const won = MEASURES.map((measure) => {
      const sign = measure === "euclid" ? -1 : 1;
      const values = found[measure].map((x) => (x === null ? -Infinity : sign * x));
      const best = Math.max(...values);
      const near = best - TIE * Math.max(1, Math.abs(best));
      return [
        measure,
        [...values.keys()].filter((n) => values[n] > -Infinity && values[n] >= near),
      ];
    });
    return Object.fromEntries(won);
  }

  // The angle between two vectors in degrees, and how long the query's shadow on the point's line is.
  function pair(query, point) {
    const across = query[0] * point[1] - query[1] * point[0];
    const angle = (Math.atan2(Math.abs(across), dot(query, point)) * 180) / Math.PI;
    return { angle, shadow: dot(query, point) / Math.hypot(...point) };
  }

  // --- words

  function sentence({ names: [asks, ...words], spoken }, [query, ...points], compared) {
    const won = winners(measured(query, points));
    const named = MEASURES.map((m) => listed(won[m].map((n) => words[n])) || "none");
    const by = MEASURES.map((m, i) => `by ${spoken[m]} ${named[i]}`).join(", ");
    const verdict = ["All three agree", "Two of three agree", "All three disagree"][
      new Set(named).size - 1
    ];
    const more = standing(asks, words[compared], query, points[compared]);
    return `Most like ${asks}: ${by}. ${verdict}. ${more}`;
  }

  function standing(asks, word, query, point) {
    if (none(point) || none(query)) {
      const lost = capital(none(point) ? word : asks);
      return `${lost} is (0, 0): it has no direction, so no angle and no cosine.`;
    }
    const { angle, shadow } = pair(query, point);
    const length = Math.hypot(...point);
    const between = `Between ${asks} and ${word} are ${number(angle, 1)}°. `;
    if (shadow <= TIE) {
      return `${between}The shadow points away from ${word}: the shorter ${word}, the nearer.`;
    }
    const other = `a ${length < shadow ? "longer" : "shorter"} ${word}`;
    return (
      `${between}The shadow of ${asks} on the line of ${word} is ${fixed(shadow)} long, ${word} ` +
      `${fixed(length)}: ${Math.abs(length - shadow) < 0.005 ? "no other length" : other} would lie nearer.`
    );
  }

  // --- what is drawn

  function arc(query, point) {
    if (none(query) || none(point)) return "";
    const turns = query[0] * point[1] - query[1] * point[0] < 0 ? 1 : 0; // 1: clockwise
    const [a, b] = [query, point].map((vector) => {
      const [x, y] = ofLength(vector, ARC);
      return `${at(plane.x(x))} ${at(plane.y(y))}`;
    });
    const wide = at(plane.x(ARC) - plane.x(0));
    return `M${a}A${wide} ${wide} 0 0 ${turns} ${b}`;
  }

  function name(vector, words, ink) {
    const [right, up] = none(vector) ? [0, -1] : ofLength(vector, 1);
    const x = clamp(plane.x(vector[0]) + 30 * right, 22, plane.side - 22);
    const y = clamp(plane.y(vector[1]) - 22 * up + 5, 13, plane.side - 4);
    return html`<text x=${x} y=${y} text-anchor="middle" class="halo ${ink}">${words}</text>`;
  }

  function rule() {
    const [low, high] = [plane.middle - plane.reach, plane.middle + plane.reach];
    const places = Array.from({ length: high - low }, (_, i) => Math.ceil(low) + i);
    const lines = places.map((x) => [
      plane.line(null, [x, low], [x, high]),
      plane.line(null, [low, x], [high, x]),
    ]);
    return html`<g class="line">${lines}</g>`;
  }

  function picture({ names, inks }, { vectors, compared }, live) {
    const [query, point] = [vectors[0], vectors[compared + 1]];
    const foot = ofLength(point, pair(query, point).shadow);
    const inked = (draw) =>
      vectors.map((vector, n) => html`<g class=${inks[n]}>${draw(vector, n)}</g>`);
    return Play.picture(
      plane,
      "The query and the words in the plane",
      null,
      rule(),
      Play.origin(plane),
      plane.line("along", ...plane.through(point)),
      plane.line("drop", query, foot),
      plane.line("shadow", [0, 0], foot),
      plane.line("apart", query, point),
      inked((vector) => Play.arrow(plane, vector)),
      html`<path d=${arc(query, point)} class="arc" />`,
      vectors.map((vector, n) => name(vector, names[n], inks[n])),
      inked((vector, n) => Play.handle(live, plane, n, vector, `tip of ${names[n]}`)),
    );
  }

  // Lengths and measures, a row a word, the most alike of each column marked.
  function table({ names: [asks, ...words], inks, spoken }, [query, ...points]) {
    const found = measured(query, points);
    const won = winners(found);
    const value = (column, n) =>
      html`
      <td class=${won[column]?.includes(n) ? "won" : "not"}>
        ${found[column][n] === null ? "none" : fixed(found[column][n])}
      </td>`;
    const best = (measure) => listed(won[measure].map((n) => words[n])) || "none";
    const place = query.map((x) => number(x, 2)).join(", ");
    return html`
      <table class="plane-measures">
        <caption>${asks} is (${place}), ${fixed(Math.hypot(...query))} long</caption>
        <thead>
          <tr>
            <td></td><th scope="col">length</th>
            ${MEASURES.map((measure) => html`<th scope="col">${spoken[measure]}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${words.map(
            (word, n) =>
              html`
              <tr>
                <th scope="row" class=${inks[n + 1]}>${word}</th>
                ${["length", ...MEASURES].map((column) => value(column, n))}
              </tr>`,
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">most alike</th><td></td>
            ${MEASURES.map((measure) => html`<td>${best(measure)}</td>`)}
          </tr>
        </tfoot>
      </table>`;
  }

  function draw(data, state, { ident, live }) {
    const { vectors, moved, compared } = state;
    const slider = (name, label, value) =>
      Play.slider({ name, label, value, low: LEAST, high: MOST, step: 0.1 });
    return {
      stage: html`<div class="plane-parts">${picture(data, state, live)}${table(data, vectors)}</div>`,
      controls: [
        Play.choices(ident, "moved", "The sliders move", data.names, moved),
        slider("x", "first number", vectors[moved][0]),
        slider("y", "second number", vectors[moved][1]),
        Play.buttons(
          ["double", "Twice as long"],
          ["half", "Half as long"],
          ["even", "Give all words one length"],
          ["anew", "Start again"],
        ),
      ],
      says: sentence(data, vectors, compared),
    };
  }

  // --- what the reader does: what is taken is what sliders and buttons move; a word is also compared

  const take = (n, { compared }) => ({ moved: n, compared: n ? n - 1 : compared });
  const move = (n, vector, state) => ({
    vectors: state.vectors.with(
      n,
      vector.map((x) => clamp(x, LEAST, MOST)),
    ),
    ...take(n, state),
  });
  const change = (made) => (value, state) =>
    move(state.moved, made(state.vectors[state.moved], value), state);

  Play.figure("plane", {
    first: ({ vectors }) => ({ vectors, moved: 2, compared: 1 }),
    draw,
    acts: {
      moved: take,
      x: change(([, y], x) => [x, y]),
      y: change(([x], y) => [x, y]),
      double: change((vector) => Play.stretched(vector, 2, LEAST, MOST)),
      half: change((vector) => Play.stretched(vector, 0.5, LEAST, MOST)),
      even: (_, { vectors: [query, ...points] }) => ({
        vectors: [query, ...points.map((point) => ofLength(point, EVEN))],
      }),
      anew: (_, state, { vectors }) => ({ vectors }),
    },
    handles: { plane, points: ({ vectors }) => vectors, move },
  });
})();
