// Further inside, for who wants more: a word's logit as a sum, the logit lens, what a head reads, and at
// which block and position the answer turns if another word is swapped in.

import { largest, make, offer, percent, tableRow } from "../gpt/page.js";
import { ask } from "./asks.js";
import { textOf, tokensOf } from "./words.js";

const FIRST = 8; // parts that are shown
const LEVELS = Array.from({ length: 16 }, (_, n) => 2 * n); // after which vectors are swapped
const signed = (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}`;
const visible = (text) => text.replaceAll("\n", "↵").replaceAll(" ", text.trim() ? "\u00a0" : "␣");
const tinted = (x, most) => ({ className: x < 0 ? "minus" : "plus", share: Math.abs(x) / most });
const cell = (x, most) => make("td", tinted(x, most), signed(x));

// How far each vector turns the answer, of those levels that are there, the last one on top.
function drawTurns(grid, rows, names) {
  const label = (words, className) => make("span", { className: `label ${className}` }, words);
  grid.style.gridTemplateColumns = `max-content repeat(${names.length}, auto)`;
  grid.replaceChildren(
    label("", ""),
    ...names.map((text) => label(visible(text), "top")),
    ...LEVELS.toReversed().flatMap((level) => [
      label(level ? `after block ${level}` : "embedding", ""),
      ...names.map((_, t) =>
        make("span", { share: Math.min(1, Math.max(0, rows[level]?.[t] ?? 0)) }),
      ),
    ]),
  );
}

// A function that is told of a word, and shows what is inside when that is open; null where the page has
// no place for it.
export function inside(root) {
  const box = root.querySelector(".chat-inside");
  if (!box) return null;
  const find = (name) => box.querySelector(name),
    field = (name) => find(`[name="${name}"]`);
  let word = null,
    shown = null, // the word whose parts are shown
    reader = Infinity; // the token whose weights are

  async function sum() {
    const { tokens, ids, at } = word,
      { reasons } = await ask({ reasons: { ids, at } }).answer,
      { logit, mean, embedding, blocks, byPosition, lens } = reasons,
      read = Array(at).fill(0),
      parts = [["embedding", embedding]];
    blocks.forEach(({ ffn }, l) => {
      parts.push([`block ${l + 1}, feed-forward network`, ffn]);
      byPosition[l].forEach((head, h) =>
        head.forEach((x, s) => {
          read[s] += x;
          parts.push([`block ${l + 1}, head ${h + 1} reads ${visible(tokens[s].text)}`, x]);
        }),
      );
    });
    parts.sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
    const most = Math.abs(parts[0][1]),
      rest = parts.slice(FIRST).reduce((all, [, x]) => all + x, 0);
    find(".chat-parts tbody").replaceChildren(
      ...parts.slice(0, FIRST).map(([name, x]) => tableRow(name, cell(x, most))),
      tableRow(`${parts.length - FIRST} others`, signed(rest)),
      tableRow("all together", signed(logit - mean)),
    );
    const sums = blocks.map(({ heads, ffn }) => [heads.reduce((a, b) => a + b), ffn]),
      widest = largest(sums.flat());
    find(".chat-blocks tbody").replaceChildren(
      ...sums.map((both, l) => {
        const [{ text, probability }] = lens[l + 1];
        const cells = both.map((x) => cell(x, widest));
        return tableRow(`${l + 1}`, ...cells, `${visible(text)} ${percent(probability)}`);
      }),
    );
    tint(find(".chat-read"), read);
  }

  // The tokens, as full as their numbers are large.
  function tint(list, numbers, press) {
    const most = largest(numbers);
    const pieces = numbers.map((x, t) => {
      const name = visible(word.tokens[t].text),
        properties = { ...tinted(x, most), title: press ? percent(x) : signed(x) };
      if (!press) return make("span", properties, name);
      return make("button", { type: "button", onclick: () => press(t), ...properties }, name);
    });
    list.replaceChildren(...pieces);
  }

  async function attention() {
    const { ids, at, tokens } = word,
      [block, head] = ["block", "head"].map((name) => Number(field(name).value)),
      { weights } = await ask({ attention: { ids: ids.slice(0, at), block, head } }).answer;
    function show(t) {
      reader = t;
      const row = [...weights[t]],
        most = row.indexOf(Math.max(...row));
      tint(find(".chat-reads"), row, show);
      find(".chat-reader").textContent =
        `At ${visible(tokens[t].text)} it gives ${percent(row[most])} of its weight to ${visible(tokens[most].text)}. ` +
        "Press another token to see what it reads there.";
    }
    show(Math.min(reader, at - 1));
  }

  // Up to the word, the tokens with a word replaced wherever it is.
  async function replaced(from, to) {
    const change = (text) => text.replaceAll(new RegExp(`(?<!\\p{L})${from}(?!\\p{L})`, "gu"), to),
      { turn, tokens, at, prompt } = word,
      asked = await tokensOf(turn.messages.map(([role, text]) => [role, change(text)])),
      said = change(textOf(tokens.slice(prompt, at))),
      all = said ? await tokensOf([["assistant", said]]) : [];
    const [, , begins, ends] = [...all.keys()].filter((t) => all[t].text.startsWith("<|im_"));
    const line = all.findIndex(({ text }, t) => t > begins && text === "\n");
    return [...asked, ...all.slice(line + 1, ends)];
  }

  async function swap(from, to) {
    const { ids, at, text } = word,
      told = (words) => (find(".chat-turned").textContent = words),
      grid = find(".chat-grid"),
      rows = [];
    const texts = [await replaced(from, from), await replaced(from, to)],
      [same, other] = texts.map((all) => all.map(({ id }) => id));
    if (`${same}` !== `${ids.slice(0, at)}`)
      return told("This answer can’t be cut into tokens anew.");
    if (other.length !== same.length)
      return told(
        `With ${to} the text has ${other.length} tokens in place of ${same.length}. It takes a word of as many tokens.`,
      );
    if (`${same}` === `${other}`) return told("Swap in another word.");
    let about = null;
    grid.replaceChildren();
    told("It reads both texts, and swaps one vector at a time …");
    await ask(
      { swap: { ids, other: [...other, ids[at]], at, levels: LEVELS } },
      ({ instead, level, row, ...more }) => {
        if (instead !== undefined) about = { instead, ...more };
        if (!row) return;
        rows[level] = row.map((x) => (about.ours - x) / (about.ours - about.theirs));
        drawTurns(
          grid,
          rows,
          texts[1].slice(about.first).map((token) => token.text),
        );
      },
    ).answer;
    if (about?.instead.id === ids[at])
      return told(`With ${to} it would say “${text.trim()}” just the same, so nothing turns.`);
    if (rows.length <= LEVELS.at(-1)) return undefined; // another question came
    const last = rows[0].length - 1,
      turned = (t) => LEVELS.filter((level) => rows[level][t] > 0.5),
      range = (found) => (found.length ? `after blocks ${found[0]} to ${found.at(-1)}` : "nowhere");
    const says =
      `With ${to} it would say “${about.instead.text.trim()}”. We put one vector of that text’s stream into this one. ` +
      `At ${to} it turns the answer by more than half ${range(turned(0))}, and at the last token ${range(turned(last))}. ` +
      "The fuller a cell, the further the answer turns.";
    told(says);
    grid.ariaLabel = says;
  }

  async function open() {
    if (!word || !box.open || shown === word) return;
    shown = word;
    find(".chat-name").textContent = word.text.trim();
    offer(
      field("from"),
      [...new Set(word.words.filter(({ kind }) => !kind).map(({ text }) => text.trim()))],
      (x) => x,
    );
    if (word.bet) field("from").value = word.bet.text.trim();
    find(".chat-grid").replaceChildren();
    find(".chat-turned").textContent = "";
    await sum();
    await attention();
  }

  box.addEventListener("toggle", open);
  for (const name of ["block", "head"]) field(name).addEventListener("change", attention);
  find(".chat-swap").addEventListener("submit", (event) => {
    event.preventDefault();
    const to = field("to").value.trim();
    if (to) swap(field("from").value, to);
  });
  return (asked) => {
    word = asked;
    box.hidden = !word;
    open();
  };
}
