// The similarity plane of chapter 02 (book/_ext/play/plane.py draws its first state).
"use strict";

Play.compute.plane = (() => {
  const { dot, fixed, number, listed, clamp, at } = Play;
  const MEASURES = ["dot", "cosine", "euclid"];
  const TIE = 1e-9; // measures this close, for their size, are the same
  const none = (vector) => vector.every((x) => x === 0);
  const capital = (word) => word[0].toUpperCase() + word.slice(1);

  // Each measure for each point, the distance as a distance; without direction no cosine.
  function measured(query, points) {
    const length = points.map((point) => Math.hypot(...point)), size = Math.hypot(...query);
    const dots = points.map((point) => dot(query, point));
    const unit = (vector) => vector.map((x) => x / Math.hypot(...vector));
    return {
      dot: dots,
      cosine: points.map((point, n) =>
        size && length[n] ? clamp(dot(unit(query), unit(point)), -1, 1) : null),
      euclid: points.map((point) => Math.hypot(...point.map((x, d) => x - query[d]))),
      length,
    };
  }

  // By each measure, which points are most alike: several where they tie, or none.
  function winners(found) {
    return Object.fromEntries(MEASURES.map((measure) => {
      const values = found[measure].map((x) =>
        x === null ? -Infinity : measure === "euclid" ? -x : x);
      const best = Math.max(...values), near = TIE * Math.max(1, Math.abs(best));
      const won = best === -Infinity ? [] : [...values.keys()].filter((n) => values[n] >= best - near);
      return [measure, won];
    }));
  }

  // The angle between two vectors in degrees, and the query's shadow on the point's line.
  function pair(query, point) {
    const length = Math.hypot(...point), along = dot(query, point);
    const across = query[0] * point[1] - query[1] * point[0];
    const flat = none(query) || none(point);
    return {
      angle: flat ? null : (Math.atan2(Math.abs(across), along) * 180) / Math.PI,
      shadow: length ? along / length : null,
      foot: point.map((x) => (length ? (along / length) * (x / length) : 0)),
    };
  }

  function told({ names: [asks, ...words], spoken }, query, points, compared) {
    const won = winners(measured(query, points));
    const named = MEASURES.map((m) => listed(won[m].map((n) => words[n])) || "none");
    const by = MEASURES.map((m, i) => `by ${spoken[m]} ${named[i]}`).join(", ");
    const verdict = ["All three agree", "Two of three agree", "All three disagree"][
      new Set(named).size - 1];
    return `Most like ${asks}: ${by}. ${verdict}. `
      + standing(asks, words[compared], query, points[compared]);
  }

  function standing(asks, word, query, point) {
    const { angle, shadow } = pair(query, point), length = Math.hypot(...point);
    const lost = "is (0, 0): it has no direction, so no angle and no cosine.";
    if (none(point)) return `${capital(word)} ${lost}`;
    if (none(query)) return `${capital(asks)} ${lost}`;
    const between = `Between ${asks} and ${word} are ${number(angle, 1)}°. `;
    if (shadow <= TIE) {
      return `${between}The shadow points away from ${word}: the shorter ${word}, the nearer.`;
    }
    const size = `The shadow of ${asks} on the line of ${word} is ${fixed(shadow)} long, ${word} `
      + `${fixed(length)}: `;
    const wanted = Math.abs(length - shadow) < 0.005 ? "no other length"
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

  return { MEASURES, measured, winners, pair, told, stretched, ofLength, arc, labelAt };
})();

Play.figure("plane", (element, data) => {
  const { names, least, most } = data;
  const { MEASURES, measured, winners, pair, told, stretched, ofLength, arc, labelAt } =
    Play.compute.plane;
  const part = (name) => Play.part(element, name);
  const set = (name, attributes) => Play.set(part(name), attributes);
  const plane = Play.plane(data), picture = element.querySelector("svg");
  const say = Play.says(element);
  const start = [data.query, ...data.points];
  let vectors = start, moved = data.first + 1, compared = data.first;

  function put(vector, n = moved) {
    const clamped = vector.map((x) => Play.clamp(x, least, most));
    vectors = vectors.map((old, i) => (i === n ? clamped : old));
    take(n);
  }

  // Makes a vector the one that sliders and buttons move; a word is also compared.
  function take(n) {
    moved = n;
    if (n > 0) compared = n - 1;
    show();
  }

  function showPair() {
    const [query, ...points] = vectors, point = points[compared], { foot } = pair(query, point);
    set("along", plane.ends(...plane.through(point)));
    set("drop", plane.ends(query, foot));
    set("shadow", plane.ends([0, 0], foot));
    set("apart", plane.ends(query, point));
    set("arc", { d: arc(plane, query, point, data.arc) });
    vectors.forEach((vector, n) => {
      Play.arrow(element, `vector-${n}`, plane, vector);
      set(`name-${n}`, labelAt(plane, vector));
      handles[n](vector);
    });
  }

  function showTable() {
    const [query, ...points] = vectors, found = measured(query, points), won = winners(found);
    for (const column of ["length", ...MEASURES]) {
      found[column].forEach((value, n) => {
        const cell = part(`${column}-${n}`);
        cell.textContent = value === null ? "none" : Play.fixed(value);
        cell.className = won[column]?.includes(n) ? "won" : "not";
      });
    }
    for (const m of MEASURES) {
      part(`won-${m}`).textContent = Play.listed(won[m].map((n) => names[n + 1])) || "none";
    }
    part("caption").textContent = `${names[0]} is (${query.map((x) => Play.number(x, 2)).join(", ")}), `
      + `${Play.fixed(Math.hypot(...query))} long`;
  }

  function show() {
    showPair();
    showTable();
    chosen(moved);
    slid.forEach((slide, d) => slide(vectors[moved][d]));
    say(told(data, vectors[0], vectors.slice(1), compared));
  }

  const handles = names.map((name, n) => Play.point(picture, part(`handle-${n}`), {
    label: `tip of ${name}`, plane, at: () => vectors[n], put: (vector) => put(vector, n),
  }));
  const chosen = Play.choice(element, "moved", take);
  const slid = ["x", "y"].map((name, d) =>
    Play.slider(element, name, (value) => put(vectors[moved].map((old, i) => (i === d ? value : old)))));
  Play.press(element, "double", () => put(stretched(vectors[moved], 2, least, most)));
  Play.press(element, "half", () => put(stretched(vectors[moved], 0.5, least, most)));
  Play.press(element, "even", () => {
    vectors = vectors.map((vector, n) => (n ? ofLength(vector, data.even) : vector));
    show();
  });
  Play.press(element, "anew", () => {
    vectors = start;
    show();
  });
  show();
});
