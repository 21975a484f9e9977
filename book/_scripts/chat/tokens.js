// Text to the tokens of a chat model and back: helpers/minillama.py's BytePairTokenizer, with tokens and
// merges from a file (helpers/pretrained.py's PretrainedTokenizer), and SmolLM2's template.

// Never crossed by a token: minillama.SPLIT. What Python's \s is, \s is not here.
const SPLIT =
  /'(?:[sdmt]|ll|ve|re)| ?\p{L}+|\p{N}| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?=\p{N})|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

// GPT-2's letter for each byte: its own if it can be printed, else one from 256 on.
const LETTERS = [];
for (let byte = 0, others = 256; byte < 256; byte++) {
  const printed = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  LETTERS.push(String.fromCharCode(printed ? byte : others++));
}
const BYTES = new Map(LETTERS.map((letter, byte) => [letter, byte]));

// tokens: their texts by id; merges: pairs, the first to be joined first; all in those letters.
export function BytePairTokenizer(tokens, merges) {
  const ids = new Map(tokens.map((token, id) => [token, id])),
    rank = new Map(merges.map((pair, rank) => [pair, rank])),
    encoder = new TextEncoder();

  // A character's bytes; none where the model has no token for them.
  function begin(character) {
    const letters = Array.from(encoder.encode(character), (byte) => LETTERS[byte]);
    return ids.has(letters[0]) ? letters : [];
  }

  // A word's ids: its bytes, joined in the order of the merges.
  function joined(word) {
    const parts = Array.from(word).flatMap(begin),
      of = (i) => rank.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity,
      ranks = Array.from({ length: Math.max(parts.length - 1, 0) }, (_, i) => of(i));
    while (ranks.length) {
      const at = ranks.reduce((best, rank, i) => (rank < ranks[best] ? i : best), 0);
      if (ranks[at] === Infinity) break;
      parts.splice(at, 2, parts[at] + parts[at + 1]);
      ranks.splice(at, 1);
      if (at > 0) ranks[at - 1] = of(at - 1);
      if (at < ranks.length) ranks[at] = of(at);
    }
    return parts.map((part) => ids.get(part));
  }

  const encode = (text) => (text.match(SPLIT) ?? []).flatMap(joined);
  const bytes = (id) => Uint8Array.from(tokens[id], (letter) => BYTES.get(letter));
  // Ids to text, one after the other; a character is held back until all its bytes are there.
  function decoder() {
    const inner = new TextDecoder("utf-8", { ignoreBOM: true });
    return (id) => inner.decode(bytes(id), { stream: true });
  }
  const text = (id) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes(id));
  return { ids, encode, decoder, text };
}

// Pairs [role, text] in SmolLM2's template, up to the answer.
export function chatIds({ ids, encode }, messages) {
  const [start, end] = ["<|im_start|>", "<|im_end|>"].map((name) => ids.get(name));
  const said = messages.flatMap(([role, text]) => [
    start,
    ...encode(`${role}\n${text}`),
    end,
    ...encode("\n"),
  ]);
  return [...said, start, ...encode("assistant\n")];
}
