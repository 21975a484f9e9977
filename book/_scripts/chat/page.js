// A figure with the chat: turns of a conversation, whose answers come token by token, and whose words can
// be asked about.

import { button, make, percent } from "../gpt/page.js";
import { ask, data, figures } from "./asks.js";
import { listenToFiles } from "./file.js";
import { why } from "./why.js";
import { textOf, tokensOf, wordsOf } from "./words.js";

const LONGEST = 400; // tokens of an answer

function talk(root) {
  const find = (name) => root.querySelector(name),
    field = (name) => find(`[name="${name}"]`),
    said = find(".chat-turns"),
    form = find(".chat-talk form"),
    state = find(".chat-state"),
    askWhy = why(root);
  let turns = [],
    running = null,
    seed = 0;

  // Say something, and show what the model answers.
  async function say(question) {
    const before = turns.flatMap((turn) => [
      ["user", turn.question],
      ["assistant", turn.answer],
    ]);
    const turn = { question, answer: "", tokens: [], messages: [...before, ["user", question]] },
      shown = make("p", { className: "chat-its" }, "…"),
      temperature = Math.min(3, Math.max(0, Number(field("temperature").value)));
    if (!turns.length) said.replaceChildren();
    for (const name of [".chat-coming", ".chat-trouble"]) find(name).textContent = "";
    said.append(make("li", {}, make("p", { className: "chat-yours" }, question), shown));
    find(".chat-why").hidden = true;
    shown.parentElement.scrollIntoView({ block: "nearest" });
    const mine = ask(
      {
        answer: {
          messages: [["system", data.system], ...turn.messages],
          temperature,
          seed,
          n: LONGEST,
        },
      },
      ({ reading, token }) => {
        if (reading < 1) state.textContent = `It has read ${percent(reading)} of the conversation.`;
        if (!token) return;
        turn.tokens.push(token);
        turn.answer += token.text;
        shown.textContent = turn.answer;
      },
    );
    running = mine;
    seed += 1;
    root.dataset.talks = true;
    try {
      const { done } = await mine.answer;
      if (running === mine) ended(turn, shown, done.stopped);
    } catch ({ message }) {
      find(".chat-trouble").textContent = `${message} Shorten it, or begin a new conversation.`;
      field("text").value = question;
      shown.parentElement.remove();
    }
    if (running === mine) delete root.dataset.talks;
  }

  const ENDS = {
    you: "You stopped it",
    n: `It may say ${LONGEST} tokens at most`,
    full: "Its memory is full",
  };
  function ended(turn, shown, stopped) {
    const { tokens, answer } = turn,
      [first, ...others] = tokens.map(({ ms }) => ms),
      each = others.reduce((sum, ms) => sum + ms, 0) / (others.length || 1);
    turns.push(turn);
    shown.replaceChildren(...pressable(turn));
    state.textContent =
      (stopped in ENDS ? `${ENDS[stopped]}. ` : "") +
      (tokens.length
        ? `${(first / 1000).toFixed(1)} s to the first token, then ${Math.round(each)} ms for each. `
        : "It said nothing. ") +
      (tokens.length
        ? "It is often wrong. Press a word of its answer to see which of yours it needed."
        : "");
    find(".chat-said").textContent = `SmolLM2 says: ${answer}`;
    showTokens();
    if (root.contains(document.activeElement)) field("text").focus({ preventScroll: true });
  }

  // The words of an answer as buttons, of which the arrow keys reach all but the first.
  function pressable(turn) {
    let at = 0;
    const signs = (end) => textOf(turn.tokens.slice(at, end));
    const pieces = wordsOf(turn.tokens).map(({ from, shows, to, text }, n) => {
      const onclick = ({ target }) => {
        root.querySelector(".chat-word[aria-pressed]")?.removeAttribute("aria-pressed");
        target.ariaPressed = true;
        askWhy(turn, shows, text);
      };
      const before = signs(from) + text.match(/^\s*/)[0];
      at = to;
      return [
        before,
        button(onclick, { className: "chat-word", tabIndex: n ? -1 : 0 }, text.trim()),
      ];
    });
    return [...pieces.flat(), signs(turn.tokens.length)];
  }

  function move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key],
      all = [...(event.target.closest(".chat-its")?.querySelectorAll(".chat-word") ?? [])],
      next = all[all.indexOf(event.target) + step];
    if (!next) return;
    event.preventDefault();
    [event.target.tabIndex, next.tabIndex] = [-1, 0];
    next.focus();
  }

  // What the model really reads, if that is open: the conversation in its template, cut into tokens.
  async function showTokens() {
    if (!find(".chat-reading")?.open || !turns.length) return;
    const { messages, tokens } = turns.at(-1),
      read = [...(await tokensOf(messages)), ...tokens];
    find(".chat-tokens").replaceChildren(
      ...read.flatMap(({ id, text }) => [
        make("span", { title: `id ${id}` }, text.replaceAll("\n", "↵")),
        ...(text.includes("\n") ? [make("br")] : [make("wbr")]),
      ]),
    );
    find(".chat-count").textContent =
      `${read.length} tokens. A frame is a token, and ↵ a new line.`;
  }

  function anew() {
    running?.stop();
    running = null;
    turns = [];
    said.replaceChildren();
    delete root.dataset.talks;
    find(".chat-why").hidden = true;
    state.textContent = "";
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = field("text").value.trim();
    if (!text || root.dataset.talks) return;
    field("text").value = "";
    say(text);
  });
  field("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  said.addEventListener("keydown", move);
  field("stop").addEventListener("click", () => running?.stop());
  field("anew").addEventListener("click", anew);
  find(".chat-reading")?.addEventListener("toggle", showTokens);
  for (const one of root.querySelectorAll('[name="ready"]'))
    one.addEventListener("click", () => {
      anew();
      say(one.textContent);
    });
}

if (figures.length) {
  figures.forEach(talk);
  listenToFiles();
}
