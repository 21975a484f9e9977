// The similarity plane of chapter 02: a query and three words to drag, and three measures. One word
// at a time is compared with the query in the picture: the angle between the two, the distance
// between their tips, and the shadow of the query on the word's line, whose length the chapter shows
// to be the best length of the word by distance.
"use strict";

Play.compute.plane = (() => {
  const { dot, fixed, number, listed, clamp, at, capital } = Play;
  const MEASURES = ["dot", "cosine", "euclid"];
  const TIE = 1e-9; // measures this close, for their size, are the same
  const none = (vector) => vector.every((x) => x === 0);

  // Each measure for each point, the distance as a distance; without direction no cosine.
  function measured(query, points) {
    const length = points.map((point) => Math.hypot(...point)),
      size = Math.hypot(...query);
    const dots = points.map((point) => dot(query, point));
    const unit = (vector) => vector.map((x) => x / Math.hypot(...vector));
    return {
      dot: dots,
      cosine: points.map((point, n) =>
        size && length[n] ? clamp(dot(unit(query), unit(point)), -1, 1) : null,
      ),
      euclid: points.map((point) => Math.hypot(...point.map((x, d) => x - query[d]))),
      length,
    };
  }

  // By each measure, which points are most alike: several where they tie, or none.
  function winners(found) {
    return Object.fromEntries(
      MEASURES.map((measure) => {
        const values = found[measure].map((x) =>
          x === null ? -Infinity : measure === "euclid" ? -x : x,
        );
        const best = Math.max(...values),
          near = TIE * Math.max(1, Math.abs(best));
        const won =
          best === -Infinity ? [] : [...values.keys()].filter((n) => values[n] >= best - near);
        return [measure, won];
      }),
    );
  }

  // The angle between two vectors in degrees, and the query's shadow on the point's line.
  function pair(query, point) {
    const length = Math.hypot(...point),
      along = dot(query, point);
    const across = query[0] * point[1] - query[1] * point[0];
    const flat = none(query) || none(point);
    return {
      angle: flat ? null : (Math.atan2(Math.abs(across), along) * 180) / Math.PI,
      shadow: length ? along / length : null,
      foot: point.map((x) => (length ? (along / length) * (x / length) : 0)),
    };
  }

  function sentence({ names: [asks, ...words], spoken }, query, points, compared) {
    const won = winners(measured(query, points));
    const named = MEASURES.map((m) => listed(won[m].map((n) => words[n])) || "none");
    const by = MEASURES.map((m, i) => `by ${spoken[m]} ${named[i]}`).join(", ");
    const verdict = ["All three agree", "Two of three agree", "All three disagree"][
      new Set(named).size - 1
    ];
    return (
      `Most like ${asks}: ${by}. ${verdict}. ` +
      standing(asks, words[compared], query, points[compared])
    );
  }

  function standing(asks, word, query, point) {
    const { angle, shadow } = pair(query, point),
      length = Math.hypot(...point);
    const lost = "is (0, 0): it has no direction, so no angle and no cosine.";
    if (none(point)) return `${capital(word)} ${lost}`;
    if (none(query)) return `${capital(asks)} ${lost}`;
    const between = `Between ${asks} and ${word} are ${number(angle, 1)}°. `;
    if (shadow <= TIE) {
      return `${between}The shadow points away from ${word}: the shorter ${word}, the nearer.`;
    }
    const size =
      `The shadow of ${asks} on the line of ${word} is ${fixed(shadow)} long, ${word} ` +
      `${fixed(length)}: `;
    const wanted =
      Math.abs(length - shadow) < 0.005
        ? "no other length"
        : `a ${length < shadow ? "longer" : "shorter"} ${word}`;
    return `${between}${size}${wanted} would lie nearer.`;
  }

  // A vector so many times as long, or as long as it may be with entries from `least` to `most`.
  function stretched(vector, times, least, most) {
    const room = vector.map((x) => (x ? (x > 0 ? most : least) / x : Infinity));
    const factor = Math.min(times, ...room);
    return vector.map((x) => clamp(x * factor, least, most));
  }

  const ofLength = (vector, length) =>
    vector.map((x) => (none(vector) ? 0 : (x * length) / Math.hypot(...vector)));

  // --- places in the picture

  function arc(plane, query, point, radius) {
    if (none(query) || none(point)) return "";
    const turns = query[0] * point[1] - query[1] * point[0] < 0 ? 1 : 0; // 1: clockwise
    const [a, b] = [query, point].map((vector) => {
      const [x, y] = ofLength(vector, radius);
      return `${at(plane.x(x))} ${at(plane.y(y))}`;
    });
    const wide = at(plane.x(radius) - plane.x(0));
    return `M${a}A${wide} ${wide} 0 0 ${turns} ${b}`;
  }

  function labelAt(plane, vector) {
    const [right, up] = none(vector) ? [0, -1] : ofLength(vector, 1);
    return {
      x: clamp(plane.x(vector[0]) + 30 * right, 22, plane.side - 22),
      y: clamp(plane.y(vector[1]) - 22 * up + 5, 13, plane.side - 4),
    };
  }

  return { MEASURES, measured, winners, pair, sentence, stretched, ofLength, arc, labelAt };
})();

Play.figure(
  "plane",
  (() => {
    const { tag, escaped, fixed, number, listed } = Play;
    const { MEASURES, measured, winners, pair, sentence, stretched, ofLength, arc, labelAt } =
      Play.compute.plane;
    const [LEAST, MOST] = [-5, 9]; // of an entry
    const ARC = 1.7; // radius of the arc that shows the angle
    const EVEN = 5; // the length that all can be given
    const plane = Play.plane({ reach: 7.5, side: 360, middle: 2 }); // most room where the words are
    const line = (name, a, b) =>
      tag("line", { ...plane.ends(a, b), class: name, "data-part": name });

    // --- what is drawn

    function rule() {
      const [low, high] = [plane.middle - plane.reach, plane.middle + plane.reach];
      const places = Array.from({ length: high - low }, (_, i) => Math.ceil(low) + i);
      const ends = [
        ...places.map((at) => [
          [at, low],
          [at, high],
        ]),
        ...places.map((at) => [
          [low, at],
          [high, at],
        ]),
      ];
      return tag(
        "g",
        { class: "line" },
        ends.map(([a, b]) => tag("line", plane.ends(a, b))),
      );
    }

    function picture({ names, inks }, { vectors, compared }, live) {
      const [query, ...points] = vectors,
        point = points[compared],
        { foot } = pair(query, point);
      const inked = (draw) =>
        vectors.map((vector, n) => tag("g", { class: inks[n] }, draw(vector, n)));
      const name = (vector, n) =>
        tag(
          "text",
          {
            ...labelAt(plane, vector),
            "text-anchor": "middle",
            class: `halo ${inks[n]}`,
            "data-part": `name-${n}`,
          },
          escaped(names[n]),
        );
      return tag(
        "svg",
        {
          viewBox: `0 0 ${plane.side} ${plane.side}`,
          role: "group",
          "aria-label": "The query and the words in the plane",
        },
        rule(),
        Play.origin(plane),
        line("along", ...plane.through(point)),
        line("drop", query, foot),
        line("shadow", [0, 0], foot),
        line("apart", query, point),
        inked((vector, n) => Play.arrow(plane, vector, `vector-${n}`)),
        tag("path", { d: arc(plane, query, point, ARC), class: "arc", "data-part": "arc" }),
        vectors.map(name),
        inked((vector, n) => Play.handle(plane, vector, `handle-${n}`, `tip of ${names[n]}`, live)),
      );
    }

    // Lengths and measures, a row a word, the most alike of each column marked.
    function table({ names: [asks, ...words], inks, spoken }, [query, ...points]) {
      const found = measured(query, points),
        won = winners(found);
      const heads = ["length", ...MEASURES.map((m) => spoken[m])];
      const rows = words.map((word, n) =>
        tag(
          "tr",
          {},
          tag("th", { scope: "row", class: inks[n + 1] }, escaped(word)),
          ["length", ...MEASURES].map((column) =>
            tag(
              "td",
              { class: won[column]?.includes(n) ? "won" : "not", "data-part": `${column}-${n}` },
              found[column][n] === null ? "none" : fixed(found[column][n]),
            ),
          ),
        ),
      );
      const best = MEASURES.map((m) =>
        tag(
          "td",
          { "data-part": `won-${m}` },
          escaped(listed(won[m].map((n) => words[n])) || "none"),
        ),
      );
      const caption =
        `${asks} is (${query.map((x) => number(x, 2)).join(", ")}), ` +
        `${fixed(Math.hypot(...query))} long`;
      return tag(
        "table",
        { class: "plane-measures" },
        tag("caption", { "data-part": "caption" }, escaped(caption)),
        tag(
          "thead",
          {},
          tag(
            "tr",
            {},
            tag("td", {}),
            heads.map((head) => tag("th", { scope: "col" }, escaped(head))),
          ),
        ),
        tag("tbody", {}, rows),
        tag(
          "tfoot",
          {},
          tag("tr", {}, tag("th", { scope: "row" }, "most alike"), tag("td", {}), best),
        ),
      );
    }

    function draw(data, state, { ident, live }) {
      const { vectors, moved, compared } = state,
        [query, ...points] = vectors;
      const slider = (name, label, value) =>
        Play.slider({ name, label, value, low: LEAST, high: MOST, step: 0.1 });
      return {
        stage: tag(
          "div",
          { class: "plane-parts" },
          picture(data, state, live),
          table(data, vectors),
        ),
        controls:
          Play.choices(ident, "moved", "The sliders move", data.names, moved) +
          slider("x", "first number", vectors[moved][0]) +
          slider("y", "second number", vectors[moved][1]) +
          Play.buttons({
            double: "Twice as long",
            half: "Half as long",
            even: "Give all words one length",
            anew: "Start again",
          }),
        says: sentence(data, query, points, compared),
      };
    }

    // --- what the reader does

    function liven({ element, part, data, state, put }) {
      // What is taken is what sliders and buttons move; a word is also compared.
      const take = (n) => put({ moved: n, compared: n ? n - 1 : state.compared });
      function move(vector, n = state.moved) {
        state.vectors = state.vectors.with(
          n,
          vector.map((x) => Play.clamp(x, LEAST, MOST)),
        );
        take(n);
      }
      const entry = (d) => (value) => move(state.vectors[state.moved].with(d, value));
      const stretch = (times) => () =>
        move(stretched(state.vectors[state.moved], times, LEAST, MOST));
      const even = () => state.vectors.map((vector, n) => (n ? ofLength(vector, EVEN) : vector));
      state.vectors.forEach((_, n) =>
        Play.point(element.querySelector("svg"), part(`handle-${n}`), {
          plane,
          at: () => state.vectors[n],
          put: (vector) => move(vector, n),
        }),
      );
      return {
        moved: take,
        x: entry(0),
        y: entry(1),
        double: stretch(2),
        half: stretch(0.5),
        even: () => put({ vectors: even() }),
        anew: () => put({ vectors: data.vectors }),
      };
    }

    return { first: ({ vectors }) => ({ vectors, moved: 2, compared: 1 }), draw, liven };
  })(),
);
