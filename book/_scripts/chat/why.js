// Which of your words mattered for a word that the model said: each is hidden in turn from all that comes
// after it, once the reader has bet on one.

import { button, make, percent } from "../gpt/page.js";
import { ask } from "./asks.js";
import { inside } from "./inside.js";
import { tokensOf, wordsOf, yourWords } from "./words.js";

const MOST = 60; // words that are hidden, the latest
const named = ({ text }) => text.trim();
const quoted = (text) => `“${text.trim() || "␣"}”`;
const alike = (one, other) => named(one).toLowerCase() === named(other).toLowerCase();

// Words that stand in several places, to be hidden in all of them.
function repeated(words) {
  const groups = words.map((one) => words.filter((other) => alike(one, other)));
  return groups
    .filter((group, n) => group.length > 1 && group[0] === words[n])
    .map((group) => ({
      text: group.at(-1).text,
      kind: "all",
      places: group.map(({ from, to }) => [from, to]),
    }));
}

// A function that asks why a token of a turn was said: of its tokens the one at `said`.
export function why(root) {
  const find = (name) => root.querySelector(`.chat-why ${name}`),
    further = inside(root);
  let running = null;

  async function look(word, bet) {
    const { ids, at, words } = word,
      fell = words.map(() => null);
    let p = 0;
    find(".chat-bets").hidden = true;
    find(".chat-verdict").textContent = "Each word is hidden in turn …";
    const shown = words.map((one) =>
      make("li", { className: one.kind ?? "", share: 0 }, make("b", {}, named(one)), "…"),
    );
    find(".chat-words").replaceChildren(...shown);
    const mattered = { ids, at, words: words.map(({ from, to, places }) => places ?? [from, to]) };
    const mine = ask({ mattered }, ({ probability, word: n, logProbability, top }) => {
      if (n === undefined) p = probability ?? p;
      if (n === undefined || !top || running !== mine) return;
      const left = Math.exp(logProbability),
        then = top[0].id === ids[at] ? "" : `, then ${quoted(top[0].text)}`;
      fell[n] = p - left;
      shown[n].lastChild.replaceWith(make("span", {}, `${percent(left)}${then}`));
      shown[n].style.setProperty("--share", Math.max(0, fell[n] / p));
    });
    running = mine;
    await mine.answer.catch(() => null);
    if (running !== mine || fell.includes(null)) return;
    const says = verdict(word, p, fell, bet);
    find(".chat-verdict").textContent = says;
    find(".chat-verdict").scrollIntoView({ block: "nearest" });
    root.querySelector(".chat-said").textContent = says;
    further?.({ ...word, bet });
  }

  return async (turn, said, text) => {
    const asked = await tokensOf(turn.messages),
      tokens = [...asked, ...turn.tokens],
      at = asked.length + said,
      ids = tokens.slice(0, at + 1).map(({ id }) => id),
      yours = yourWords(asked).slice(-MOST),
      its = wordsOf(turn.tokens.slice(0, Math.max(0, said - 1)), asked.length),
      single = [...yours, ...its.map((one) => ({ ...one, kind: "its" }))],
      words = [...single, ...repeated(single)],
      word = { turn, tokens, prompt: asked.length, ids, at, words, text };
    running = null;
    find("").hidden = find(".chat-bets").hidden = false;
    for (const name of [".chat-words", ".chat-verdict"]) find(name).replaceChildren();
    further?.(null);
    find(".chat-asks").replaceChildren(
      "It said ",
      make("b", {}, text.trim()),
      ". Which of your words did it need for that? Bet on one before you look.",
    );
    const bets = yours.map((one) => button(() => look(word, one), {}, named(one)));
    find(".chat-bets").replaceChildren(
      ...bets,
      button(() => look(word, null), {}, "no single one"),
    );
    find("").scrollIntoView({ block: "nearest" });
    bets[0].focus({ preventScroll: true });
  };
}

// What came of it, in words.
function verdict({ words, text }, p, fell, bet) {
  const left = (n) => `${named(words[n])} (${percent(p)} → ${percent(p - fell[n])})`,
    order = [...fell.keys()].sort((a, b) => fell[b] - fell[a]).filter((n) => fell[n] > p / 2),
    alone = order.filter((n) => !words[n].places),
    together = order.filter(
      (n) => words[n].places && !alone.some((m) => alike(words[m], words[n])),
    ),
    listed = (some) => some.map(left).join(", ");
  const yours = bet ? `You bet on ${left(words.indexOf(bet))}. ` : "",
    found = alone.length
      ? `It needed ${listed(alone)}. `
      : `It needed no single one of them: whichever is hidden, ${quoted(text)} keeps more than half of its probability. `;
  if (!together.length) return yours + found;
  return `${yours}${found}But where a word is hidden in all of its places, it does need ${listed(together)}.`;
}
