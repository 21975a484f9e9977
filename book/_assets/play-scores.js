// One score taken apart, in chapter 05 (book/_ext/play/scores.py draws its first state).
"use strict";

Play.compute.scores = (() => {
  const { dot, softmax, number, product, listed } = Play;

  // All scores, scaled scores and weights, a row a query and a column a key.
  function all(queries, keys) {
    const scores = queries.map((query) => keys.map((key) => dot(query, key)));
    const scaled = scores.map((row) => row.map((score) => score / Math.sqrt(keys[0].length)));
    return { scores, scaled, weights: scaled.map(softmax) };
  }

  function ofScore({ words, queries, keys }, { scores, scaled, weights }, t, s) {
    return `What “${words[t]}” asks of “${words[s]}”: its row of Q times the other’s column of Kᵀ, `
      + `${product(queries[t], keys[s])} = ${number(scores[t][s])}. Divided by `
      + `√${keys[s].length} that is ${number(scaled[t][s])}, of which softmax along the row makes `
      + `the weight ${number(weights[t][s])}.`;
  }

  function ofRow({ words, keys }, { weights }, t) {
    const sum = weights[t].reduce((total, weight) => total + weight, 0);
    return `All that “${words[t]}” asks: the scores of its row, divided by √${keys[0].length}, go `
      + "through softmax together and become its weights, "
      + `${listed(words.map((word, s) => `“${word}” ${number(weights[t][s])}`))}. They sum to `
      + `${number(sum)}.`;
  }

  function notes({ words, keys }, { scores, scaled, weights }, t, s) {
    return {
      t: `t = ${t}: ${words[t]}`,
      s: `s = ${s}: ${words[s]}`,
      sum: `${number(scores[t][s])} / ${number(Math.sqrt(keys[0].length))} = ${number(scaled[t][s])}`,
      weights: weights[t].map((weight) => number(weight)).join(", "),
    };
  }

  return { all, ofScore, ofRow, notes };
})();

Play.figure("scores", (element, data) => {
  const { words, queries, keys, start, lines } = data;
  const { all, ofScore, ofRow, notes } = Play.compute.scores;
  const part = (name) => Play.part(element, name);
  const light = (name, on) => part(name).classList.toggle("lit", on);
  const found = all(queries, keys), say = Play.says(element);
  const table = element.querySelector("table");
  let [row, column] = start; // what is chosen; the column of a whole row is −1

  // Lights one score (t, s), or with s = −1 the row of t.
  function show(t, s) {
    const whole = s < 0;
    words.forEach((_, n) => {
      light(`row-${n}`, n === t);
      light(`column-${n}`, whole || n === s);
      queries[n].forEach((_, d) => light(`query-${n}-${d}`, n === t));
      keys[n].forEach((_, d) => light(`key-${n}-${d}`, whole || n === s));
      words.forEach((_, m) => light(`score-${n}-${m}`, n === t && (whole || m === s)));
    });
    element.querySelectorAll(".code-line").forEach((line, n) =>
      line.classList.toggle("lit", lines[whole ? "row" : "score"].includes(n)));
    element.classList.toggle("whole", whole);
    write(t, whole ? words.length - 1 : s);
    say(whole ? ofRow(data, found, t) : ofScore(data, found, t, s));
  }

  // Writes the sum of products, and what stands behind the lines of code.
  function write(t, s) {
    part("q-name").textContent = words[t];
    part("k-name").textContent = words[s];
    part("value").textContent = Play.number(found.scores[t][s]);
    queries[t].forEach((a, d) => {
      part(`product-${d}`).textContent = Play.product([a], [keys[s][d]]);
    });
    for (const [name, words] of Object.entries(notes(data, found, t, s))) {
      part(`note-${name}`).textContent = words;
    }
  }

  function choose(t, s) {
    element.querySelector('[aria-selected="true"]')?.removeAttribute("aria-selected");
    (s < 0 ? part(`row-${t}`) : part(`score-${t}-${s}`)).setAttribute("aria-selected", "true");
    [row, column] = [t, s];
    show(t, s);
  }

  const cells = words.map((_, t) =>
    [part(`row-${t}`), ...words.map((_, s) => part(`score-${t}-${s}`))]);
  const go = Play.grid(cells, {
    reach: (t, c) => choose(t, c - 1),
    peek: (t = row, c = column + 1) => show(t, c - 1),
  });
  table.setAttribute("role", "grid");
  go(row, column + 1);
  choose(row, column);
});
