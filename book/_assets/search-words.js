// The index of sections, which the build makes with `build`, in Node, and how words are cut, alike
// there and on the search page (search.js).
"use strict";

globalThis.bookSearch = (() => {
  const STOP = new Set(
    (
      "a about an and are as at be been but by can cant did do does doesnt dont each explain for from " +
      "gets getting go goes going got had has have how i if in instead into is isnt it its just let like many me mean means much " +
      "my no not of on one only or our should so some than that the their them then there these they this to " +
      "us use versus vs want was we were what when where which who why will with work you your"
    ).split(" "),
  );
  // Words of other languages that look like misspelt English ones.
  const FOREIGN =
    /^(fonction|funcion|funktion|matriz|modell|modele|modelo|vecteur|vektor(en)?|tenseur)$/;
  const SAME = {
    // what is typed → what it is called here
    attn: "attention",
    backprop: "backpropagation",
    bos: "special token",
    eos: "end token",
    ffn: "feed-forward",
    finetune: "fine-tuning",
    glorot: "xavier",
    grad: "gradient",
    indices: "index",
    init: "initialization",
    kaiming: "he",
    ln: "layernorm",
    lr: "learning rate",
    matrices: "matrix",
    params: "parameters",
    pe: "positional encoding",
    slower: "slow",
    std: "standard deviation",
    val: "validation",
    vocab: "vocabulary",
  };
  const GREEK = Object.fromEntries(
    (
      "α alpha β beta γ gamma δ delta ε epsilon η eta θ theta λ lambda μ mu " +
      "π pi ρ rho σ sigma τ tau φ phi"
    )
      .split(" ")
      .map((e, n, all) => [e, all[n + 1]])
      .filter((_, n) => n % 2 === 0),
  );

  // Words: formulas as they are spoken, √d_k as "sqrt dk"; LayerNorm and layer-norm as
  // "layernorm", "layer" and "norm".
  function pieces(text) {
    const letters = /^[\x20-\x7e]*$/.test(text)
      ? text
      : text.normalize("NFKD").replace(/\p{M}/gu, "");
    const plain = letters
      .replace(/(\p{L}{2})_(?=\p{L}{2})/gu, "$1-")
      .replace(/_|['’](s\b)?/g, "")
      .replace(/(\d),(?=\d{3}(?!\d))/g, "$1") // 10,000
      .replace(
        /\b10(?:\^-|\^?−)0*(\d)|\b(\d)e[-−]0*(\d)/gi,
        (_, tens, digit, e) => `${digit ?? 1}em${e ?? tens}`,
      ) // 1e-5
      .replace(/√|\bsquare[\s-]+roots?(\s+of)?\b/gi, " sqrt ")
      .replace(/[α-ω]/g, (letter) => ` ${GREEK[letter] ?? letter} `);
    const found = plain.match(/\d+(?:\.\d+)+|[\p{L}\p{N}]+(?:[-‑][\p{L}\p{N}]+)*/gu) ?? [];
    return found.map((word) =>
      word
        .replace(/(\p{Ll})(\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, "$1$3-$2")
        .toLowerCase()
        .split(/[-‑]/),
    );
  }
  const cut = (text) =>
    pieces(text).flatMap((parts) => (parts.length > 1 ? [parts.join(""), ...parts] : parts));

  // A word without its ending, British and American alike.
  const seen = new Map();
  const stem = (word) => seen.get(word) ?? seen.set(word, bare(word)).get(word);
  function bare(word) {
    if (word.length < 4 || /\d/.test(word)) return word;
    const one = word
      .replace(/ies$/, "y")
      .replace(/(s|x|ch|sh)es$/, "$1")
      .replace(/([^sui])s$/, "$1");
    const whole = one
      .replace(/our(?=s?$|al|ed|ing)/, "or")
      .replace(/([ts]ion)al$/, "$1")
      .replace(/is(?=(e|ed|er|ing|ation|able)$)/, "iz");
    const short = whole
      .replace(/(...)iz(e|ed|er|ing|ation|able)$/, "$1iz")
      .replace(/(..)(ation|ated|ating|ator|ate)$/, "$1at")
      .replace(/^(.*[aeiouy].*[^aeiouy])(ing|ed)$/, "$1")
      .replace(/([bdgmnprt])\1$/, "$1")
      .replace(/e$/, "")
      .replace(/y$/, "i");
    return short.replace(/normaliz$/, "norm");
  }

  const called = (words) =>
    words.flatMap((word) => (Object.hasOwn(SAME, word) ? stems(SAME[word]) : [stem(word)]));
  const keyOf = (text) =>
    stem(
      pieces(text)
        .flat()
        .filter((word) => !STOP.has(word))
        .map((word) => (Object.hasOwn(SAME, word) ? SAME[word].replace(/\W/g, "") : word))
        .join(""),
    );
  const stems = (text) => called(cut(text).filter((word) => !STOP.has(word)));
  const slug = (title) =>
    title
      .normalize("NFKD")
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "");

  // Make the index. pages: [file, title, weight]; sections: {page, anchor, title, says,
  // terms, topics, text}.
  function build({ pages, sections }) {
    const counted = sections.map(({ text }) => {
      const words = stems(text).filter((word) => word.length > 1 && !/^\d*\.\d{3,}$/.test(word)),
        times = {};
      for (const word of words) times[word] = (Object.hasOwn(times, word) ? times[word] : 0) + 1;
      return { times, length: words.length };
    });
    const mean = counted.reduce((sum, { length }) => sum + length, 0) / counted.length;
    const found = new Map(); // for each word numbers, gap to its next section and weight in it as one
    counted.forEach(({ times, length }, number) => {
      for (const [word, n] of Object.entries(times)) {
        const weight = Math.round((6.6 * n) / (n + 0.3 + (0.9 * length) / mean)); // as BM25 has it
        const at = found.get(word) ?? found.set(word, { last: 0, list: [] }).get(word);
        at.list.push((number - at.last) * 8 + weight);
        at.last = number;
      }
    });
    const told = (list) => (list.length < 0.3 * sections.length ? list : []); // one that is everywhere tells nothing
    const words = [...found]
      .map(([word, { list }]) => [word, ...told(list).map((n) => n.toString(36))].join(" "))
      .sort();
    const rows = sections.map(({ page, anchor, title, says, terms, topics }) => [
      page,
      title,
      anchor === slug(title) ? 0 : anchor,
      says,
      terms.length,
      ...terms,
      ...topics,
    ]);
    return { pages, rows, words: words.join("\n") };
  }

  return { build, STOP, FOREIGN, cut, stem, called, keyOf, slug };
})();
