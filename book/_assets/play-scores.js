// One score taken apart, in chapter 05: its query, its key, the sum of products, the lines of code.
// Queries stand to the left of the scores and keys above them, so that each score stands where its row
// of Q and its column of K-transposed meet.
"use strict";

(() => {
  const { html, raw, dot, sum, softmax, number, factor, product, listed } = Play;
  const lit = (kind, is) => (is ? `${kind} lit` : kind);

  // All scores, scaled scores and weights, a row a query and a column a key.
  function attend({ queries, keys }) {
    const scores = queries.map((query) => keys.map((key) => dot(query, key)));
    const scaled = scores.map((row) => row.map((score) => score / Math.sqrt(keys[0].length)));
    return { scores, scaled, weights: scaled.map(softmax) };
  }

  // --- words

  function ofScore({ words, queries, keys }, { scores, scaled, weights }, t, s) {
    return (
      `What “${words[t]}” asks of “${words[s]}”: its row of Q times the other’s column of Kᵀ, ` +
      `${product(queries[t], keys[s])} = ${number(scores[t][s])}. Divided by ` +
      `√${keys[s].length} that is ${number(scaled[t][s])}, of which softmax along the row makes ` +
      `the weight ${number(weights[t][s])}.`
    );
  }

  function ofRow({ words, keys }, { weights }, t) {
    return (
      `All that “${words[t]}” asks: the scores of its row, divided by √${keys[0].length}, go ` +
      "through softmax together and become its weights, " +
      `${listed(words.map((word, s) => `“${word}” ${number(weights[t][s])}`))}. They sum to ` +
      `${number(sum(weights[t]))}.`
    );
  }

  // What stands behind the lines of code.
  const notes = ({ words, keys }, { scores, scaled, weights }, t, s) => ({
    t: `t = ${t}: ${words[t]}`,
    s: `s = ${s}: ${words[s]}`,
    sum: `${number(scores[t][s])} / ${number(Math.sqrt(keys[0].length))} = ${number(scaled[t][s])}`,
    weights: weights[t].map((weight) => number(weight)).join(", "),
  });

  // --- what is drawn: one score (t, s) lit, or with s = −1 the row of t

  // Q, K-transposed and the scores as one table.
  function grid({ words, queries, keys, entries }, { scores }, [t, s], chosen, live) {
    const isLit = (n) => s < 0 || n === s; // whether a column is lit
    const cell = (n, m) =>
      Play.cell(live, "scores", [n, m + 1], [chosen[0], chosen[1] + 1], {
        "aria-selected": String([n, m]) === String(chosen) && "true",
      });
    const [least, most] = [Math.min(...scores.flat()), Math.max(...scores.flat())];
    const score = (n, m) =>
      html`
      <td class=${lit("score", n === t && isLit(m))} ${cell(n, m)}
        style="--heat: ${((scores[n][m] - least) / (most - least)).toFixed(3)}"
        >${number(scores[n][m])}</td>`;
    const entry = (values, kind, is) =>
      values.map((x, d) => html`<td class=${lit(`${kind} pair-${d}`, is)}>${number(x)}</td>`);
    return html`
      <table class="scores-grid" role=${live && "grid"} aria-label="Queries, keys and their scores">
        <thead>
          <tr>
            <th colspan="3" scope="row" class="name">K<sup>T</sup>, a key a column</th>
            ${words.map(
              (word, n) =>
                html`
                <th scope="col" class=${lit("word", isLit(n))}><span>${word}</span></th>`,
            )}
          </tr>
          ${entries.map(
            (name, d) =>
              html`
              <tr>
                <th colspan="3" scope="row" class="entry">${name}</th>
                ${keys.map((key, n) => entry(key, "key", isLit(n))[d])}
              </tr>`,
          )}
          <tr>
            <th scope="col" class="name">Q, a query a row</th>
            ${entries.map((name) => html`<th scope="col" class="entry">${name}</th>`)}
            <th colspan=${words.length} scope="colgroup" class="name">scores Q K<sup>T</sup></th>
          </tr>
        </thead>
        <tbody>
          ${words.map(
            (word, n) =>
              html`
              <tr>
                <th scope="row" class=${lit("word", n === t)} ${cell(n, -1)}><span>${word}</span></th>
                ${entry(queries[n], "query", n === t)}
                ${words.map((_, m) => score(n, m))}
              </tr>`,
          )}
        </tbody>
      </table>`;
  }

  // The score as the sum that it is, each product marked like its two cells.
  function written({ words, queries, keys }, { scores }, t, s, whole) {
    const products = queries[t].map(
      (a, d) =>
        html`
        ${d > 0 && "+"} <span class="pair-${d}">${factor(a)} · ${factor(keys[s][d])}</span>`,
    );
    return html`
      <p class=${whole ? "scores-sum whole" : "scores-sum"}>
        <i>q</i><sub>${words[t]}</sub> · <i>k</i><sub>${words[s]}</sub> =
        ${products} = <b>${number(scores[t][s])}</b>
      </p>`;
  }

  // The chapter's code, with notes behind the lines that compute.
  function listing({ code, noted }, lines, said) {
    const line = (words, n) =>
      html`<span class=${lit("code-line", lines.includes(n))}
        ><span class="words">${raw(words)}</span
        >${noted[n] && html`<span class="note">${said[noted[n]]}</span>`}</span>`;
    return html`<pre class="highlight scores-code">${code.map(line)}</pre>`;
  }

  function draw(data, { chosen, peeked }, { live }) {
    const found = attend(data);
    const [t, column] = peeked ?? chosen;
    const whole = column < 0;
    const s = whole ? data.words.length - 1 : column;
    return {
      stage: [grid(data, found, [t, column], chosen, live), written(data, found, t, s, whole)],
      says: whole ? ofRow(data, found, t) : ofScore(data, found, t, s),
      more: listing(data, data.lines[whole ? "row" : "score"], notes(data, found, t, s)),
    };
  }

  const score = ([t, column]) => [t, column - 1];

  Play.figure("scores", {
    first: ({ start }) => ({ chosen: start, peeked: null }),
    draw,
    grids: {
      scores: {
        reach: (place) => ({ chosen: score(place), peeked: null }),
        peek: (place) => ({ peeked: place && score(place) }),
      },
    },
  });
})();
