// The dragged query of chapter 05. On the left the score of a key is the length of its shadow on the
// query's line, times the length of the query; on the right the values, shortened to their weights,
// are put end to end, and end at the output.
"use strict";

Play.compute.query = (() => {
  const { dot, softmax, fixed, number, listed, clamp } = Play;
  const NEAR = 0.005; // weights this close count as alike
  const length = (a) => Math.hypot(...a);

  // Scores, scaled scores, weights and output of one query; a row of keys and of values a word.
  function steps(query, keys, values) {
    const scores = keys.map((key) => dot(query, key));
    const scaled = scores.map((score) => score / Math.sqrt(query.length));
    const weights = softmax(scaled);
    const output = values[0].map((_, d) =>
      dot(
        weights,
        values.map((value) => value[d]),
      ),
    );
    return { scores, scaled, weights, output };
  }

  // Where the shadow of each key falls on the query's line; the origin if there is no line.
  function feet(query, keys) {
    const squared = dot(query, query) || 1;
    return keys.map((key) => query.map((x) => (x * dot(query, key)) / squared));
  }

  // The corners of the weighted values put end to end; the last is the output.
  function chain(weights, values) {
    const corners = [values[0].map(() => 0)];
    weights.forEach((weight, t) =>
      corners.push(corners[t].map((x, d) => x + weight * values[t][d])),
    );
    return corners;
  }

  // The corners of the half of the square from −reach to reach in which scores are below 0.
  function away(query, reach) {
    if (query.every((x) => x === 0)) return [];
    const square = [
      [1, 1],
      [-1, 1],
      [-1, -1],
      [1, -1],
    ].map((corner) => corner.map((x) => x * reach));
    return square.flatMap((start, i) => {
      const end = square[(i + 1) % 4],
        a = dot(start, query),
        b = dot(end, query);
      const corners = a <= 0 ? [start] : [];
      if (a * b < 0) corners.push(start.map((x, d) => x + ((end[d] - x) * a) / (a - b)));
      return corners;
    });
  }

  // A query so many times as long, or as long as it may be without an entry beyond `most`.
  function stretched(query, times, most) {
    const largest = Math.max(...query.map(Math.abs));
    const factor = largest ? Math.min(times, most / largest) : 0;
    return query.map((x) => clamp(x * factor, -most, most) + 0);
  }

  const share = (weight) => (weight < NEAR ? "less than 0.01" : fixed(weight));
  const pair = (point) => `(${point.map((x) => number(x, 2)).join(", ")})`;

  function sentence(words, query, { scores, weights, output }) {
    if (query.every((x) => x === 0)) {
      return (
        `The query is (0, 0) and asks nothing: every score is 0, every weight ${share(weights[0])}. ` +
        `The output is ${pair(output)}, the mean of the values.`
      );
    }
    const top = Math.max(...weights);
    const most = [...weights.keys()].filter((t) => weights[t] > top - NEAR);
    const bottom = Math.min(...weights),
      least = weights.findIndex((w) => w < bottom + 1e-9);
    const degrees = (Math.atan2(query[1], query[0]) * 180) / Math.PI;
    const angle = (Number(fixed(degrees, 0).replace("−", "-")) + 360) % 360;
    return (
      `The query ${pair(query)} is ${number(length(query), 2)} long and points to ${angle}°. ` +
      `It reads most from ${listed(most.map((t) => `“${words[t]}” (${share(weights[t])})`))}, ` +
      `least from “${words[least]}” (${share(weights[least])}, score ${number(scores[least], 2)}` +
      `${scores[least] < 0 ? ": its key points away" : ""}). The output is ${pair(output)}.`
    );
  }

  return { steps, feet, chain, away, stretched, sentence };
})();

Play.figure(
  "query",
  (() => {
    const { steps, feet, chain, away, stretched, sentence } = Play.compute.query;
    const { tag, escaped, at, fixed } = Play;
    const MOST = 4; // the largest entry of a query
    const [REACH, SIDE] = [2.1, 300]; // of the plane of keys; of both pictures
    const plane = Play.plane({ reach: REACH, side: SIDE });
    const half = Play.plane({ reach: 2 * REACH, side: SIDE }); // in which the query is drawn
    const STAR = Array.from({ length: 10 }, (_, n) => {
      const [r, turn] = [n % 2 ? 3.2 : 8, (Math.PI * n) / 5];
      return `${at(r * Math.sin(turn))},${at(r * Math.cos(turn))}`;
    }).join(" ");

    // --- what is drawn

    const picture = (heading, label, kind, ...inside) =>
      tag(
        "div",
        {},
        tag("p", { class: "play-head" }, heading),
        tag(
          "svg",
          { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "group", "aria-label": label, class: kind },
          ...inside,
        ),
      );

    // Words' points with their names beside them.
    const dots = (plane, points, words, r) =>
      points.map(([a, b], t) => {
        const [x, y, side] = [plane.x(a), plane.y(b), a >= 0 ? 1 : -1];
        return tag(
          "g",
          { class: `ink-${t}` },
          tag("circle", { cx: x, cy: y, r, class: "dot" }),
          tag(
            "text",
            { x: x + 9 * side, y: y - 8, class: "halo", "text-anchor": side > 0 ? "start" : "end" },
            escaped(words[t]),
          ),
        );
      });

    // The keys with their shadows on the query's line, and the query's arrow.
    function asking({ words, keys }, query, live) {
      const shadows = feet(query, keys).map((foot, t) =>
        tag(
          "g",
          { class: `ink-${t}` },
          tag("line", { ...plane.ends(keys[t], foot), class: "drop", "data-part": `drop-${t}` }),
          tag("circle", {
            cx: plane.x(foot[0]),
            cy: plane.y(foot[1]),
            r: 3,
            class: "foot",
            "data-part": `foot-${t}`,
          }),
        ),
      );
      const up = `translate(14 ${SIDE - 4}) rotate(-90)`;
      return picture(
        "score = the key’s shadow × the query’s length",
        "The keys, their shadows and the query",
        query.every((x) => x === 0) && "still",
        tag("polygon", {
          points: plane.points(away(query, REACH)),
          class: "away",
          "data-part": "away",
        }),
        tag("line", {
          ...plane.ends(...plane.through(query)),
          class: "along",
          "data-part": "along",
        }),
        Play.origin(plane),
        shadows,
        dots(plane, keys, words, 6),
        Play.arrow(half, query, "query"),
        Play.handle(half, query, "handle", "tip of the query", live),
        tag("text", { x: SIDE - 4, y: SIDE - 6, "text-anchor": "end", class: "soft" }, "alive →"),
        tag("text", { transform: up, class: "soft" }, "size →"),
      );
    }

    // The steps, a row a step and a column a word.
    function table(words, found) {
      const row = (kind, heading, cells) =>
        tag("tr", { class: kind }, tag("th", { scope: "row" }, heading), cells);
      const step = (name, heading) =>
        row(
          false,
          heading,
          found[name].map((value, t) => tag("td", { "data-part": `${name}-${t}` }, fixed(value))),
        );
      const bars = found.weights.map((weight, t) =>
        tag(
          "td",
          { class: `ink-${t}` },
          tag("span", {
            class: "bar",
            style: `--share: ${weight.toFixed(4)}`,
            "data-part": `bar-${t}`,
          }),
          tag("span", { "data-part": `weights-${t}` }, fixed(weight)),
        ),
      );
      const names = words.map((word, t) =>
        tag("th", { scope: "col", class: `ink-${t}` }, escaped(word)),
      );
      return tag(
        "table",
        { class: "query-steps", "aria-label": "From scores to weights" },
        tag("thead", {}, tag("tr", {}, tag("td", {}), names)),
        tag(
          "tbody",
          {},
          step("scores", "q · k"),
          step("scaled", "÷ √2"),
          row("weights", "weight", bars),
        ),
      );
    }

    // The values put end to end, and the output within their hull.
    function adding({ words, values, hull }, { weights, output }) {
      const beside = Play.plane({
        reach: 1.4 * Math.max(...values.flat().map(Math.abs), 1),
        side: SIDE,
      });
      const corners = chain(weights, values);
      const links = words.map((_, t) =>
        tag(
          "g",
          { class: `ink-${t}` },
          tag("line", {
            ...beside.ends(corners[t], corners[t + 1]),
            class: "link",
            "data-part": `link-${t}`,
          }),
        ),
      );
      return picture(
        "output ★ = the weighted values, end to end",
        "The values, weighted and put end to end",
        false,
        tag("polygon", { points: beside.points(hull), class: "hull" }),
        Play.origin(beside),
        dots(beside, values, words, 4),
        links,
        tag("polygon", {
          points: STAR,
          class: "star",
          "data-part": "star",
          transform: beside.move(output),
        }),
      );
    }

    function draw(data, { query }, { live }) {
      const found = steps(query, data.keys, data.values);
      const slider = (name, label, value) =>
        Play.slider({ name, label, value, low: -MOST, high: MOST, step: 0.1 });
      return {
        stage: tag(
          "div",
          { class: "query-parts" },
          asking(data, query, live),
          table(data.words, found),
          adding(data, found),
        ),
        controls:
          slider("x", "first number (alive)", query[0]) +
          slider("y", "second number (size)", query[1]) +
          Play.buttons({
            double: "Twice as long",
            half: "Half as long",
            turn: "Turn it round",
            zero: "Ask nothing",
            anew: "Start again",
          }),
        says: sentence(data.words, query, found),
      };
    }

    // --- what the reader does

    function liven({ element, part, data, state, put }) {
      const move = (point) => put({ query: point.map((x) => Play.clamp(x, -MOST, MOST)) });
      const entry = (d) => (value) => move(state.query.with(d, value));
      const stretch = (times) => () => move(stretched(state.query, times, MOST));
      Play.point(element.querySelector("svg"), part("handle"), {
        plane: half,
        at: () => state.query,
        put: move,
      });
      return {
        x: entry(0),
        y: entry(1),
        double: stretch(2),
        half: stretch(0.5),
        turn: stretch(-1),
        zero: stretch(0),
        anew: () => put({ query: data.query }),
      };
    }

    return { first: ({ query }) => ({ query }), draw, liven };
  })(),
);
