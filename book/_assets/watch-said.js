// What the page says of a run: when its words first went together, what becomes of the guess, and the
// text of *Copy this run*.
"use strict";

globalThis.bookSaid = (() => {
  const wordsOf = (text) => text.match(/[\p{L}\p{N}']+/gu) ?? [];
  const pairsOf = (words) => words.slice(1).map((word, i) => `${words[i]} ${word}`);
  const known = new Map(); // of each text the pairs of neighbours in it

  function knownIn(text) {
    if (!known.has(text)) known.set(text, new Set(pairsOf(wordsOf(text))));
    return known.get(text);
  }

  // The first part of a text, cut at these signs, with so many words at least, in which any two
  // neighbours are neighbours in the text that was seen, too.
  const together = (text, seen, signs, least) =>
    (text.match(signs) ?? [])
      .map((part) => part.trim())
      .find((part) => {
        const words = wordsOf(part);
        return words.length >= least && pairsOf(words).every((pair) => knownIn(seen).has(pair));
      });

  // The first sample in which there is one: { step, said }.
  function first(run, { seen }, signs, least) {
    for (const { step, text } of run.samples) {
      const said = together(text, seen, signs, least);
      if (said) return { step, said };
    }
    return null;
  }
  const firstWords = (run, texts) => first(run, texts, /[^.!?,;"“”\n]+/g, 3);
  const firstSentence = (run, texts) => first(run, texts, /[^.!?"“”\n]+[.!?]/g, 5);

  const REPLIES = {
    letters: "You guessed letters. Those it cannot get wrong, because its tokens are whole words.",
    words: "You guessed words, and those that go together do come first.",
    names: "You guessed names. Words that go together come before a name that stays the same.",
    plots: "You guessed plots. Words that go together come before any plot.",
  };

  // What the run says to a guess, or to none.
  function reply(run, texts, guess) {
    const [words, sentence] = [firstWords(run, texts), firstSentence(run, texts)];
    return [
      REPLIES[guess],
      words && `Three words that go together came by step ${words.step}: “${words.said}”.`,
      sentence && `The first whole sentence came by step ${sentence.step}: “${sentence.said}”`,
    ]
      .filter(Boolean)
      .join(" ");
  }

  // Noise, first words, first sentence, and the address that repeats the run. Of a text of one’s own
  // (texts is null) no word, and no address that could repeat it.
  function copied(run, texts, numbers) {
    const size = `${run.about.parameters.toLocaleString("en")} parameters, ${run.step} steps`;
    const here = location.href.split("#")[0];
    if (!texts) return `I watched a GPT learn from a text of mine: ${size}. ${numbers}\n${here}`;
    const [words, sentence] = [firstWords(run, texts), firstSentence(run, texts)];
    return [
      `I watched a GPT learn: ${size}. ${numbers}`,
      `Step 0: ${run.samples[0].text.replaceAll("\n", " ")}`,
      words && `Step ${words.step}, first words that go together: ${words.said}`,
      sentence && `Step ${sentence.step}, first sentence: ${sentence.said}`,
      `${here}#seed=${run.seed}`,
    ]
      .filter(Boolean)
      .join("\n");
  }

  return { copied, reply };
})();
