// What the page says of a run: when its words first went together, what becomes of the guess, and the
// text of *Copy this run*.

const wordsOf = (text) => text.match(/[\p{L}\p{N}']+/gu) ?? [];
const pairsOf = (words) => words.slice(1).map((word, i) => `${words[i]} ${word}`);
const known = new Map(); // of each text the pairs of neighbours in it

// The first sample with a part, cut at these signs, of so many words at least, in which any two
// neighbours are neighbours in the text that was seen, too: { step, said }.
function first({ samples }, { seen }, signs, least) {
  if (!known.has(seen)) known.set(seen, new Set(pairsOf(wordsOf(seen))));
  for (const { step, text } of samples) {
    const said = text.match(signs)?.find((part) => {
      const words = wordsOf(part);
      return words.length >= least && pairsOf(words).every((pair) => known.get(seen).has(pair));
    });
    if (said) return { step, said: said.trim() };
  }
  return null;
}

// What the run says to a guess, `said`, or to none: when three words first went together, and when a
// whole sentence did.
export function reply(run, texts, said) {
  const words = first(run, texts, /[^.!?,;"“”\n]+/g, 3),
    sentence = first(run, texts, /[^.!?"“”\n]+[.!?]/g, 5);
  const says = [
    said,
    words && `Three words that go together came by step ${words.step}: “${words.said}”.`,
    sentence &&
      `The first whole sentence of words that go together came by step ${sentence.step}: “${sentence.said}”`,
  ];
  return says.filter(Boolean).join(" ");
}

// Noise, first words, first sentence, and the address that repeats the run. Of a text of one’s own
// (texts is null) no word, and no address that could repeat it.
export function copied(run, texts, numbers, address) {
  const size = `${run.about.parameters.toLocaleString("en")} parameters, ${run.step} steps`;
  const here = location.href.split("#")[0];
  if (!texts) return `I watched a GPT learn from a text of mine: ${size}. ${numbers}\n${here}`;
  const noise = run.samples[0].text.replaceAll("\n", " ");
  return (
    `I watched a GPT learn: ${size}. ${numbers}\nStep 0: ${noise}\n${reply(run, texts)}\n` +
    `${here}${address}`
  );
}
