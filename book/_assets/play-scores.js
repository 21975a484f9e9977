// One score taken apart, in chapter 05: its query, its key, the sum of products, the lines of code.
// Queries stand to the left of the scores and keys above them, so that each score stands where its row
// of Q and its column of K-transposed meet.
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
    return (
      `What “${words[t]}” asks of “${words[s]}”: its row of Q times the other’s column of Kᵀ, ` +
      `${product(queries[t], keys[s])} = ${number(scores[t][s])}. Divided by ` +
      `√${keys[s].length} that is ${number(scaled[t][s])}, of which softmax along the row makes ` +
      `the weight ${number(weights[t][s])}.`
    );
  }

  function ofRow({ words, keys }, { weights }, t) {
    const sum = weights[t].reduce((total, weight) => total + weight, 0);
    return (
      `All that “${words[t]}” asks: the scores of its row, divided by √${keys[0].length}, go ` +
      "through softmax together and become its weights, " +
      `${listed(words.map((word, s) => `“${word}” ${number(weights[t][s])}`))}. They sum to ` +
      `${number(sum)}.`
    );
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

Play.figure(
  "scores",
  (() => {
    const { tag, escaped, number, factor } = Play;
    const { all, ofScore, ofRow, notes } = Play.compute.scores;
    const lit = (kind, is) => (is ? `${kind} lit` : kind);

    // --- what is drawn: one score (t, s) lit, or with s = −1 the row of t

    // Q, K-transposed and the scores as one table.
    function grid({ words, queries, keys, entries }, { scores }, [t, s], chosen, live) {
      const isLit = (n) => s < 0 || n === s; // whether a column is lit
      const word = (scope, name, n, is, more) =>
        tag(
          "th",
          { scope, class: lit("word", is), "data-part": `${name}-${n}`, ...more },
          tag("span", {}, escaped(words[n])),
        );
      const selected = (row, column) =>
        live && String([row, column]) === String(chosen) && { "aria-selected": "true" };
      const over = (kind, ...inside) =>
        tag("th", { colspan: 3, scope: "row", class: kind }, ...inside);
      const head = [
        tag(
          "tr",
          {},
          over("name", "K<sup>T</sup>, a key a column"),
          words.map((_, n) => word("col", "column", n, isLit(n))),
        ),
      ];
      entries.forEach((entry, d) =>
        head.push(
          tag(
            "tr",
            {},
            over("entry", escaped(entry)),
            keys.map((key, n) =>
              tag(
                "td",
                { class: lit(`key pair-${d}`, isLit(n)), "data-part": `key-${n}-${d}` },
                number(key[d]),
              ),
            ),
          ),
        ),
      );
      head.push(
        tag(
          "tr",
          {},
          tag("th", { scope: "col", class: "name" }, "Q, a query a row"),
          entries.map((entry) => tag("th", { scope: "col", class: "entry" }, escaped(entry))),
          tag(
            "th",
            { colspan: words.length, scope: "colgroup", class: "name" },
            "scores Q K<sup>T</sup>",
          ),
        ),
      );
      const least = Math.min(...scores.flat()),
        most = Math.max(...scores.flat());
      const score = (n, m) =>
        tag(
          "td",
          {
            class: lit("score", n === t && isLit(m)),
            ...selected(n, m),
            "data-part": `score-${n}-${m}`,
            style: `--heat: ${((scores[n][m] - least) / (most - least)).toFixed(3)}`,
          },
          number(scores[n][m]),
        );
      const body = words.map((_, n) =>
        tag(
          "tr",
          {},
          word("row", "row", n, n === t, selected(n, -1)),
          queries[n].map((entry, d) =>
            tag(
              "td",
              { class: lit(`query pair-${d}`, n === t), "data-part": `query-${n}-${d}` },
              number(entry),
            ),
          ),
          words.map((_, m) => score(n, m)),
        ),
      );
      return tag(
        "table",
        {
          class: "scores-grid",
          role: live && "grid",
          "aria-label": "Queries, keys and their scores",
        },
        tag("thead", {}, head),
        tag("tbody", {}, body),
      );
    }

    // The score as the sum that it is, each product marked like its two cells.
    function sum({ words, queries, keys }, { scores }, t, s, whole) {
      const products = queries[t].map((a, d) =>
        tag(
          "span",
          { class: `pair-${d}`, "data-part": `product-${d}` },
          `${factor(a)} · ${factor(keys[s][d])}`,
        ),
      );
      const name = (letter, n) =>
        `<i>${letter}</i>${tag("sub", { "data-part": `${letter}-name` }, escaped(words[n]))}`;
      return tag(
        "p",
        { class: whole ? "scores-sum whole" : "scores-sum" },
        `${name("q", t)} · ${name("k", s)} = ${products.join(" + ")} = `,
        tag("b", { "data-part": "value" }, number(scores[t][s])),
      );
    }

    // The chapter's code, with notes behind the lines that compute.
    const listing = ({ code, noted }, lines, said) =>
      tag(
        "pre",
        { class: "highlight scores-code" },
        code.map((words, n) =>
          tag(
            "span",
            { class: lit("code-line", lines.includes(n)), "data-part": `line-${n}` },
            tag("span", { class: "words" }, words),
            noted[n]
              ? tag(
                  "span",
                  { class: "note", "data-part": `note-${noted[n]}` },
                  escaped(said[noted[n]]),
                )
              : "",
          ),
        ),
      );

    function draw(data, { chosen, peeked }, { live }) {
      const found = all(data.queries, data.keys),
        [t, column] = peeked ?? chosen;
      const whole = column < 0,
        s = whole ? data.words.length - 1 : column;
      return {
        stage: grid(data, found, [t, column], chosen, live) + sum(data, found, t, s, whole),
        says: whole ? ofRow(data, found, t) : ofScore(data, found, t, s),
        more: listing(data, data.lines[whole ? "row" : "score"], notes(data, found, t, s)),
      };
    }

    // --- what the reader does

    function liven({ part, data: { words }, state: { chosen }, put }) {
      const cells = words.map((_, t) => [
        part(`row-${t}`),
        ...words.map((_, s) => part(`score-${t}-${s}`)),
      ]);
      const go = Play.grid(cells, {
        reach: (t, c) => put({ chosen: [t, c - 1], peeked: null }),
        peek: (t, c) => put({ peeked: t === undefined ? null : [t, c - 1] }),
      });
      go(chosen[0], chosen[1] + 1);
      return {};
    }

    return { first: ({ start }) => ({ chosen: start, peeked: null }), draw, liven };
  })(),
);
