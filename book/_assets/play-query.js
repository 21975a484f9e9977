// The dragged query of chapter 05 (book/_ext/play/query.py draws its first state and says more).
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
    const output = values[0].map((_, d) => dot(weights, values.map((value) => value[d])));
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
      corners.push(corners[t].map((x, d) => x + weight * values[t][d])));
    return corners;
  }

  // The corners of the half of the square from −reach to reach in which scores are below 0.
  function away(query, reach) {
    if (query.every((x) => x === 0)) return [];
    const square = [[1, 1], [-1, 1], [-1, -1], [1, -1]].map((corner) => corner.map((x) => x * reach));
    return square.flatMap((start, i) => {
      const end = square[(i + 1) % 4], a = dot(start, query), b = dot(end, query);
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

  function told(words, query, { scores, weights, output }) {
    if (query.every((x) => x === 0)) {
      return `The query is (0, 0) and asks nothing: every score is 0, every weight ${share(weights[0])}. `
        + `The output is ${pair(output)}, the mean of the values.`;
    }
    const top = Math.max(...weights);
    const most = [...weights.keys()].filter((t) => weights[t] > top - NEAR);
    const bottom = Math.min(...weights), least = weights.findIndex((w) => w < bottom + 1e-9);
    const degrees = (Math.atan2(query[1], query[0]) * 180) / Math.PI;
    const angle = (Number(fixed(degrees, 0).replace("−", "-")) + 360) % 360;
    return `The query ${pair(query)} is ${number(length(query), 2)} long and points to ${angle}°. `
      + `It reads most from ${listed(most.map((t) => `“${words[t]}” (${share(weights[t])})`))}, `
      + `least from “${words[least]}” (${share(weights[least])}, score ${number(scores[least], 2)}`
      + `${scores[least] < 0 ? ": its key points away" : ""}). The output is ${pair(output)}.`;
  }

  return { steps, feet, chain, away, stretched, told };
})();

Play.figure("query", (element, { words, keys, values, query, most, reach, side, outer }) => {
  const { steps, feet, chain, away, stretched, told } = Play.compute.query;
  const { set, at } = Play;
  const part = (name) => Play.part(element, name);
  const plane = Play.plane({ reach, side }), arrow = Play.plane({ reach: 2 * reach, side });
  const beside = Play.plane({ reach: outer, side });
  const [asking] = element.querySelectorAll("svg");
  const say = Play.says(element);
  let q = query;

  function put(point) {
    q = point.map((x) => Play.clamp(x, -most, most));
    show();
  }

  function showAsking() {
    const shadows = feet(q, keys);
    set(part("away"), { points: plane.points(away(q, reach)) });
    set(part("along"), plane.ends(...plane.through(q)));
    keys.forEach((key, t) => {
      set(part(`drop-${t}`), plane.ends(key, shadows[t]));
      set(part(`foot-${t}`), { cx: plane.x(shadows[t][0]), cy: plane.y(shadows[t][1]) });
    });
    Play.arrow(element, "query", arrow, q);
    asking.classList.toggle("still", q.every((value) => value === 0));
  }

  function showTable(found) {
    words.forEach((_, t) => {
      for (const step of ["scores", "scaled", "weights"]) {
        part(`${step}-${t}`).textContent = Play.fixed(found[step][t]);
      }
      part(`bar-${t}`).style.setProperty("--share", found.weights[t].toFixed(4));
    });
  }

  function showAdding({ weights, output }) {
    const corners = chain(weights, values);
    words.forEach((_, t) => set(part(`link-${t}`), beside.ends(corners[t], corners[t + 1])));
    const place = `translate(${at(beside.x(output[0]))} ${at(beside.y(output[1]))})`;
    set(part("star"), { transform: place });
  }

  function show() {
    const found = steps(q, keys, values);
    showAsking();
    showTable(found);
    showAdding(found);
    handled(q);
    q.forEach((value, d) => slid[d](value));
    say(told(words, q, found));
  }

  const slid = ["x", "y"].map((name, d) => Play.slider(element, name, (value) =>
    put(q.map((old, i) => (i === d ? value : old)))));
  const handled = Play.point(asking, part("handle"), {
    label: "tip of the query", plane: arrow, at: () => q, put,
  });
  Play.tap(asking, { plane: arrow, put });
  for (const [name, times] of [["double", 2], ["half", 0.5], ["turn", -1], ["zero", 0]]) {
    Play.press(element, name, () => put(stretched(q, times, most)));
  }
  Play.press(element, "anew", () => put(query));
  show();
});
