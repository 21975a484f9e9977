// The dragged query of chapter 05. On the left the score of a key is the length of its shadow on the
// query's line, times the length of the query; on the right the values, shortened to their weights,
// are put end to end, and end at the output.
"use strict";

(() => {
  const { html, at, dot, sum, softmax, fixed, number, listed, clamp, none } = Play;
  const MOST = 4; // the largest entry of a query
  const NEAR = 0.005; // weights this close count as alike
  const [REACH, SIDE] = [2.1, 300]; // of the plane of keys; of both pictures
  const plane = Play.plane({ reach: REACH, side: SIDE });
  const half = Play.plane({ reach: 2 * REACH, side: SIDE }); // in which the query is drawn
  const STAR = Array.from({ length: 10 }, (_, n) => {
    const [r, turn] = [n % 2 ? 3.2 : 8, (Math.PI * n) / 5];
    return `${at(r * Math.sin(turn))},${at(r * Math.cos(turn))}`;
  }).join(" ");

  // --- what is computed

  // Scores, scaled scores, weights and output of one query; a row of keys and of values a word.
  function attend(query, { keys, values }) {
    const scores = keys.map((key) => dot(query, key));
    const scaled = scores.map((score) => score / Math.sqrt(query.length));
    const weights = softmax(scaled);
    const output = query.map((_, d) => sum(values.map((value, t) => weights[t] * value[d])));
    return { scores, scaled, weights, output };
  }

  // Where the shadow of a key falls on the query's line; the origin if there is no line.
  const foot = (query, key) => query.map((x) => (x * dot(query, key)) / (dot(query, query) || 1));

  // The corners of the weighted values put end to end; the last is the output.
  function chain(weights, values) {
    const corners = [[0, 0]];
    weights.forEach((weight, t) =>
      corners.push(corners[t].map((x, d) => x + weight * values[t][d])),
    );
    return corners;
  }

  // The corners of the half of the picture in which scores are below 0.
  function away(query) {
    const signs = [1, -1, -1, 1];
    const square = signs.map((x, i) => [x * REACH, signs.at(i - 1) * REACH]);
    return square.flatMap((start, i) => {
      const end = square[(i + 1) % 4];
      const [a, b] = [dot(start, query), dot(end, query)];
      const corners = a <= 0 ? [start] : [];
      if (a * b < 0) corners.push(start.map((x, d) => x + ((end[d] - x) * a) / (a - b)));
      return corners;
    });
  }

  const share = (weight) => (weight < NEAR ? "less than 0.01" : fixed(weight));
  const pair = (point) => `(${point.map((x) => number(x, 2)).join(", ")})`;

  function sentence(words, query, { scores, weights, output }) {
    if (none(query)) {
      return (
        `The query is (0, 0) and asks nothing: every score is 0, every weight ${share(weights[0])}. ` +
        `The output is ${pair(output)}, the mean of the values.`
      );
    }
    const [top, bottom] = [Math.max(...weights), Math.min(...weights)];
    const most = [...weights.keys()].filter((t) => weights[t] > top - NEAR);
    const least = weights.findIndex((weight) => weight < bottom + 1e-9);
    const degrees = (Math.atan2(query[1], query[0]) * 180) / Math.PI;
    const angle = (Number(fixed(degrees, 0).replace("−", "-")) + 360) % 360;
    return (
      `The query ${pair(query)} is ${number(Math.hypot(...query), 2)} long and points to ${angle}°. ` +
      `It reads most from ${listed(most.map((t) => `“${words[t]}” (${share(weights[t])})`))}, ` +
      `least from “${words[least]}” (${share(weights[least])}, score ${number(scores[least], 2)}` +
      `${scores[least] < 0 ? ": its key points away" : ""}). The output is ${pair(output)}.`
    );
  }

  // --- what is drawn

  // Words' points with their names beside them.
  const dots = (plane, points, words, r) =>
    points.map(([a, b], t) => {
      const [x, y, side] = [plane.x(a), plane.y(b), a >= 0 ? 1 : -1];
      return html`
        <g class="ink-${t}">
          <circle cx=${x} cy=${y} r=${r} class="dot" />
          <text x=${x + 9 * side} y=${y - 8} class="halo"
            text-anchor=${side > 0 ? "start" : "end"}>${words[t]}</text>
        </g>`;
    });

  // The keys with their shadows on the query's line, and the query's arrow.
  function asking({ words, keys }, query, live) {
    const shadows = keys.map((key, t) => {
      const end = foot(query, key);
      return html`
        <g class="ink-${t}">
          ${plane.line("drop", key, end)}
          <circle cx=${plane.x(end[0])} cy=${plane.y(end[1])} r="3" class="foot" />
        </g>`;
    });
    return Play.picture(
      plane,
      "The keys, their shadows and the query",
      none(query) && "still",
      html`<polygon points=${none(query) ? "" : plane.points(away(query))} class="away" />`,
      plane.line("along", ...plane.through(query)),
      Play.origin(plane),
      shadows,
      dots(plane, keys, words, 6),
      Play.arrow(half, query),
      Play.handle(live, half, 0, query, "tip of the query"),
      html`
        <text x=${SIDE - 4} y=${SIDE - 6} text-anchor="end" class="soft">alive →</text>
        <text transform=${`translate(14 ${SIDE - 4}) rotate(-90)`} class="soft">size →</text>`,
    );
  }

  // The values put end to end, and the output within their hull.
  function adding({ words, values, hull }, { weights, output }) {
    const reach = 1.4 * Math.max(...values.flat().map(Math.abs), 1);
    const beside = Play.plane({ reach, side: SIDE });
    const corners = chain(weights, values);
    return Play.picture(
      beside,
      "The values, weighted and put end to end",
      null,
      html`<polygon points=${beside.points(hull)} class="hull" />`,
      Play.origin(beside),
      dots(beside, values, words, 4),
      words.map(
        (_, t) => html`<g class="ink-${t}">${beside.line("link", corners[t], corners[t + 1])}</g>`,
      ),
      html`<polygon points=${STAR} class="star" transform=${beside.move(output)} />`,
    );
  }

  // The steps, a row a step and a column a word.
  function table(words, { scores, scaled, weights }) {
    const row = (heading, values) =>
      html`
      <tr><th scope="row">${heading}</th>${values.map((value) => html`<td>${fixed(value)}</td>`)}</tr>`;
    const bars = weights.map(
      (weight, t) =>
        html`
        <td class="ink-${t}">
          <span class="bar" style="--share: ${weight.toFixed(4)}"></span>${fixed(weight)}
        </td>`,
    );
    return html`
      <table class="query-steps" aria-label="From scores to weights">
        <thead>
          <tr><td></td>${words.map((word, t) => html`<th scope="col" class="ink-${t}">${word}</th>`)}</tr>
        </thead>
        <tbody>
          ${row("q · k", scores)}
          ${row("÷ √2", scaled)}
          <tr class="weights"><th scope="row">weight</th>${bars}</tr>
        </tbody>
      </table>`;
  }

  function draw(data, { query }, { live }) {
    const found = attend(query, data);
    const slider = (name, label, value) =>
      Play.slider({ name, label, value, low: -MOST, high: MOST, step: 0.1 });
    return {
      stage: html`
        <div class="query-parts">
          <div>
            <p class="play-head">score = the key’s shadow × the query’s length</p>
            ${asking(data, query, live)}
          </div>
          ${table(data.words, found)}
          <div>
            <p class="play-head">output ★ = the weighted values, end to end</p>
            ${adding(data, found)}
          </div>
        </div>`,
      controls: [
        slider("x", "first number (alive)", query[0]),
        slider("y", "second number (size)", query[1]),
        Play.buttons(
          ["double", "Twice as long"],
          ["half", "Half as long"],
          ["turn", "Turn it round"],
          ["zero", "Ask nothing"],
          ["anew", "Start again"],
        ),
      ],
      says: sentence(data.words, query, found),
    };
  }

  const times =
    (factor) =>
    (_, { query }) => ({
      query: Play.stretched(query, factor, -MOST, MOST),
    });

  Play.figure("query", {
    first: ({ query }) => ({ query }),
    draw,
    acts: {
      x: (x, { query }) => ({ query: [x, query[1]] }),
      y: (y, { query }) => ({ query: [query[0], y] }),
      double: times(2),
      half: times(0.5),
      turn: times(-1),
      zero: times(0),
      anew: (_, state, { query }) => ({ query }),
    },
    handles: {
      plane: half,
      points: ({ query }) => [query],
      move: (_, point) => ({ query: point.map((x) => clamp(x, -MOST, MOST)) }),
    },
  });
})();
