// Text to tokens for a GPT in the page, and tokens to words on it. A token is a word with the space
// before it, or a mark, as minigpt.WORDS cuts them, or else a character; what the model does not know
// is told.

export const CHARACTERS = "(?s)."; // the pattern of minigpt.Tokenizer

// A text cut by a pattern: \w is a letter, a numeral or _, as in Python.
export const cut = (text, pattern) =>
  pattern === CHARACTERS ? [...text] : (text.match(/ ?[\p{L}\p{N}_]+|[^\p{L}\p{N}_]/gu) ?? []);

// Marks that keyboards and copied text bring along, as the tales write them.
const PLAIN = { "’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\t": " ", "\r": "\n" };

// The token of the vocabulary that a token is read as: itself, or the same word with another
// space or capital; undefined where there is none.
function known({ ids }, token) {
  const word = token.trim(),
    lower = word.toLowerCase(),
    upper = word && word[0].toUpperCase() + word.slice(1);
  return [token, ` ${word}`, word, ` ${lower}`, lower, ` ${upper}`, upper].find((form) =>
    ids.has(form),
  );
}

// The three words of the vocabulary that share most pairs of letters with a word.
function alike({ vocab }, word) {
  const pairs = (text) => new Set([...` ${text}`].map((letter, i) => letter + (text[i] ?? " ")));
  const own = pairs(word.toLowerCase());
  const shared = (other) => {
    const others = pairs(other);
    return [...others].filter((pair) => own.has(pair)).length / (own.size + others.size);
  };
  return [
    ...new Set(vocab.map((token) => token.trim()).filter((token) => /^\p{L}{2,}$/u.test(token))),
  ]
    .map((token) => [shared(token), token])
    .sort(([a], [b]) => b - a)
    .slice(0, 3)
    .map(([, token]) => token);
}

// The ids of a text, (T,), and in words what is left out or read as something else: one rule for
// every page. A space after the last word belongs to the word that is still to come.
export function tokenize(model, text) {
  const words = model.pattern !== CHARACTERS;
  const plain = text
    .replace(/\r\n/g, "\n")
    .replace(/([\p{L}\p{N}_]) $/u, words ? "$1" : "$&")
    .replace(/[’‘“”\u00a0\t\r]/g, (found) => (model.ids.has(found) ? found : PLAIN[found]));
  const unknown = new Set(),
    instead = new Set(),
    ids = [];
  for (const token of cut(plain, model.pattern)) {
    const read = known(model, token);
    if (read === undefined) unknown.add(token.trim() || token);
    else ids.push(model.ids.get(read));
    if (read !== undefined && read.trim() !== token.trim())
      instead.add(`${named(token.trim())} as ${named(read.trim())}`);
  }
  const last = [...unknown].findLast((token) => words && /^\p{L}/u.test(token)),
    more = unknown.size - 5;
  const said =
    [...unknown].slice(0, 5).map(named).join(", ") + (more > 0 ? ` and ${more} more` : "");
  return {
    ids,
    told: [
      unknown.size && `The model does not know ${said}${ids.length ? "; it reads the rest." : "."}`,
      last && `Spelled like ${named(last)} are ${alike(model, last).map(named).join(", ")}.`,
      instead.size && `It reads ${[...instead].join(", ")}.`,
      !ids.length && `Type words that it knows${model.pattern ? "" : ", such as “The fox”"}.`,
    ]
      .filter(Boolean)
      .join(" "),
  };
}

// What a token is called in a sentence.
export function named(token) {
  if (token === "\n") return "new line";
  return token === " " ? "space" : `“${token.replace(/^ /, "\u00a0")}”`; // no line breaks there
}

// How a token is drawn where there is little room.
export const label = (token) => (token === " " ? "␣" : token.replaceAll("\n", "↵").trim());
