// A conversation as the model reads it, cut into words: which of its tokens are a word of whose.

import { ask, data } from "./asks.js";

export const textOf = (tokens) => tokens.map(({ text }) => text).join("");

// A promise of the tokens [{ id, text }] of messages, up to the answer.
export const tokensOf = (messages) =>
  ask({ tokenize: [["system", data.system], ...messages] }).answer.then(({ tokens }) => tokens);

// The words among tokens, from `first` on: { from, to, text }, and the first token that shows of it (` 17`
// begins with a space alone), without the signs between them.
export function wordsOf(tokens, first = 0) {
  const words = [];
  let last = null;
  tokens.forEach(({ text }, at) => {
    const isSign = !/[\p{L}\p{N}]/u.test(text) && text !== " ";
    if (!last || isSign || /^\s/.test(text)) {
      last = isSign ? null : { from: first + at, shows: first + at, to: first + at, text: "" };
      if (last) words.push(last);
    }
    if (!last) return;
    if (!last.text.trim()) last.shows = first + at;
    Object.assign(last, { to: first + at + 1, text: last.text + text });
  });
  return words.filter(({ text }) => text.trim());
}

// Your words in the tokens of a conversation, which its template encloses in marks.
export function yourWords(tokens) {
  const found = [];
  let from = 0;
  tokens.forEach(({ text }, at) => {
    if (text === "<|im_start|>") from = at + 3; // its role and a line’s end
    const isYours = tokens[from - 2]?.text === "user";
    if (text === "<|im_end|>" && isYours) found.push(...wordsOf(tokens.slice(from, at), from));
  });
  return found;
}
