// Search for sections. The build makes the index with `build`, in Node; the search page scores it,
// so that both cut words alike. A section is found by its title, the names that its manifest gives
// it, and its words; a page loads the index only for a query, as a script, since a copy on a disk
// must search too.
const bookSearch = (() => {
  const STOP = new Set(("a about an and are as at be been by can do does each for from had has have how i if in "
    + "into is it its let me my no not of on one or our so than that the their them then there these they this "
    + "to us use was we were what when where which who why will with work you your").split(" "));
  const SAME = { // what is typed → what it is called here
    attn: "attention", bos: "special token", eos: "end token", ffn: "feed-forward", finetune: "fine-tuning",
    glorot: "xavier", indices: "index", init: "initialization", kaiming: "he", ln: "layernorm", lr: "learning rate",
    matrices: "matrix", params: "parameters", pe: "positional encoding", std: "standard deviation",
  };
  const GREEK = Object.fromEntries(("α alpha β beta γ gamma δ delta ε epsilon η eta θ theta λ lambda μ mu "
    + "π pi ρ rho σ sigma τ tau φ phi").split(" ").map((e, n, all) => [e, all[n + 1]]).filter((_, n) => n % 2 === 0));

  // Words: formulas as they are spoken, √d_k as "sqrt dk"; LayerNorm and layer-norm as
  // "layernorm", "layer" and "norm".
  function pieces(text) {
    const letters = /^[\x20-\x7e]*$/.test(text) ? text : text.normalize("NFKD").replace(/\p{M}/gu, "");
    const plain = letters.replace(/_|['’](s\b)?/g, "")
      .replace(/√|\bsquare[\s-]+roots?(\s+of)?\b/gi, " sqrt ")
      .replace(/[α-ω]/g, (letter) => ` ${GREEK[letter] ?? letter} `);
    const found = plain.match(/\d+(?:[.,]\d+)+|[\p{L}\p{N}]+(?:[-‑][\p{L}\p{N}]+)*/gu) ?? [];
    return found.map((word) => word.replace(/(\p{Ll})(\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, "$1$3-$2").toLowerCase()
      .split(/^[\d.,]+$/.test(word) ? "," : /[-‑]/));
  }
  const cut = (text) => pieces(text).flatMap((parts) => (parts.length > 1 ? [parts.join(""), ...parts] : parts));

  // A word without its ending, British and American alike.
  const seen = new Map();
  const stem = (word) => seen.get(word) ?? seen.set(word, bare(word)).get(word);
  function bare(word) {
    if (word.length < 4 || /\d/.test(word)) return word;
    const one = word.replace(/ies$/, "y").replace(/(s|x|ch|sh)es$/, "$1").replace(/([^sui])s$/, "$1");
    const whole = one.replace(/our(?=s?$|al|ed|ing)/, "or").replace(/([ts]ion)al$/, "$1")
      .replace(/is(?=(e|ed|er|ing|ation|able)$)/, "iz");
    const short = whole.replace(/(...)iz(e|ed|er|ing|ation|able)$/, "$1iz").replace(/(..)(ation|ated|ating|ator|ate)$/, "$1at")
      .replace(/^(.*[aeiouy].*[^aeiouy])(ing|ed)$/, "$1").replace(/([bdgmnprt])\1$/, "$1")
      .replace(/e$/, "").replace(/y$/, "i");
    return short.replace(/normaliz$/, "norm");
  }

  const called = (words) => words.flatMap((word) => (Object.hasOwn(SAME, word) ? stems(SAME[word]) : [stem(word)]));
  const keyOf = (text) => stem(pieces(text).flat().filter((word) => !STOP.has(word))
    .map((word) => (Object.hasOwn(SAME, word) ? SAME[word].replace(/\W/g, "") : word)).join(""));
  const stems = (text) => called(cut(text).filter((word) => !STOP.has(word)));
  const slug = (title) => title.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");

  // Make the index. pages: [file, title, weight]; sections: {page, anchor, title, says,
  // terms, topics, text}.
  function build({ pages, sections }) {
    const counted = sections.map(({ text }) => {
      const words = stems(text).filter((word) => word.length > 1 && !/^[\d.]{5,}$/.test(word)), times = {};
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
    const words = [...found].filter(([, { list }]) => list.length < 0.3 * sections.length)
      .map(([word, { list }]) => [word, ...list.map((n) => n.toString(36))].join(" ")).sort();
    const rows = sections.map(({ page, anchor, title, says, terms, topics }) =>
      [page, title, anchor === slug(title) ? 0 : anchor, says, terms.length, ...terms, ...topics]);
    return { pages, rows, words: words.join("\n") };
  }

  // The sections of an index, ready to be searched.
  function open({ pages, rows, words }) {
    const lists = new Map(words.split("\n").map((line) => [line.slice(0, line.indexOf(" ")), line]));
    const index = { lists, names: [], spelt: new Map(), counts: new Map() };
    const known = new Set(lists.keys());
    index.sections = rows.map(([page, title, anchor, says, terms, ...more]) => {
      const names = [title, ...more].map((name, n) => {
        const typed = cut(name).filter((word) => !STOP.has(word)), found = called(typed);
        for (const word of typed) if (word.length > 2) index.spelt.set(word, stem(word));
        for (const word of found) known.add(word);
        index.names.push(name);
        return { kind: n === 0 ? 0.9 : n > terms ? 0.95 : 1, name, found };
      });
      const href = pages[page][0] + (anchor === "" ? "" : `#${anchor || slug(title)}`);
      return { title, says, href, page: pages[page][1], weight: pages[page][2], names };
    });
    for (const { names } of index.sections) {
      for (const name of names) name.words = joined(name.found, known);
      for (const word of new Set(names.flatMap((name) => [...name.words]))) index.counts.set(word, (index.counts.get(word) ?? 0) + 1);
    }
    return { ...index, known };
  }

  // Words, and two neighbours as one where the book writes them so: warm up, layer norm.
  function joined(words, known) {
    const pairs = words.slice(1).map((word, n) => words[n] + word);
    return new Set([...words, ...pairs.filter((pair) => known.has(pair))]);
  }

  // How much two words have in common, in pairs of letters.
  function likeness(a, b) {
    const pairs = (word) => [...` ${word} `].map((c, n, all) => c + (all[n + 1] ?? "")).slice(0, -1);
    const [left, right] = [pairs(a), pairs(b)];
    return (2 * left.filter((pair) => right.includes(pair)).length) / (left.length + right.length);
  }
  const nearest = (word, candidates) => [...candidates].map((name) => [likeness(word, name.toLowerCase()), name])
    .sort((a, b) => b[0] - a[0]);

  // What is asked: words that the book has, and for others the likest one that names something.
  function understand(index, text) {
    const typed = cut(text), asked = typed.filter((word) => !STOP.has(word)), instead = [];
    const words = (asked.length ? asked : typed).flatMap((word) => {
      const own = called([word]);
      if (own.some((one) => index.known.has(one))) return own;
      const [alike, name] = nearest(word, index.spelt.keys())[0];
      if (alike < 0.6) return own;
      instead.push([word, name]);
      return index.spelt.get(name);
    });
    const key = keyOf(instead.reduce((whole, [typed, name]) => whole.replace(typed, name), text.toLowerCase()));
    return { key: key || keyOf(typed.join("-")), words: joined(words, index.known), instead };
  }

  function search(index, text, most = 20) {
    const { key, words, instead } = understand(index, text);
    const rarity = (word) => Math.log(1 + index.sections.length
      / Math.max(1, index.counts.get(word) ?? 0, index.lists.get(word)?.match(/ /g).length ?? 0));
    const sum = (list) => list.reduce((all, word) => all + rarity(word), 0);
    const whole = sum([...words]), none = () => new Array(index.sections.length).fill(0);
    const scores = none(), shares = none(); // of what is asked, which part a section has
    for (const word of words) {
      let at = 0;
      for (const code of (index.lists.get(word) ?? "").split(" ").slice(1)) {
        const number = parseInt(code, 36);
        at += number >> 3;
        scores[at] += (rarity(word) / whole) * (number & 7) / 7;
        shares[at] += rarity(word) / whole;
      }
    }
    index.sections.forEach(({ names, weight }, n) => {
      const all = new Set(names.flatMap((name) => [...name.words]));
      const named = sum([...words].filter((word) => all.has(word))) / whole;
      scores[n] += 2 * named;
      scores[n] += 3 * Math.max(...names.map((name) => name.kind
        * sum([...words].filter((word) => name.words.has(word))) / sum([...new Set([...words, ...name.words])])));
      scores[n] *= weight * Math.max(shares[n], named);
      const exact = named > 0.99 && names.find(({ name }) => keyOf(name) === key);
      if (exact) scores[n] += 10 * exact.kind;
    });
    const least = Math.max(0.1, Math.max(...scores) / 40);
    const found = scores.map((score, n) => ({ score, ...index.sections[n] })).filter(({ score }) => score > least)
      .sort((a, b) => b.score - a.score).slice(0, most);
    const near = found.length ? [] : nearest(text.toLowerCase(), new Set(index.names)).slice(0, 5).map(([, name]) => name);
    return { found, instead, near };
  }

  // --- the page

  function made(tag, name, text) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    element.textContent = text;
    return element;
  }

  function add(list, href, words, ...more) {
    const item = document.createElement("li"), link = made("a", "", words);
    link.href = href;
    item.append(link, ...more);
    list.append(item);
  }

  function show(list, said, text) {
    const { found, instead, near } = search(open(bookSearch.data), text);
    for (const { title, says, page, href } of found) {
      const part = href.includes("#"); // of a page; else it is the page
      add(list, href, part ? title : page, made("span", "where", part ? page : ""), made("p", "context", says));
    }
    const other = instead.map(([typed, name]) => `“${typed}” is not in the book; this is for “${name}”.`);
    said.textContent = [...other, found.length ? `${found.length} section${found.length > 1 ? "s" : ""}, the best first.`
      : "No section has this. What is nearest:"].join(" ");
    for (const name of near) add(list, `?q=${encodeURIComponent(name)}`, name);
  }

  function start() {
    const [list, said] = ["#search-results", "#search-said"].map((name) => document.querySelector(name));
    const field = list.parentElement.querySelector("input[name=q]");
    const text = new URLSearchParams(location.search).get("q")?.trim();
    if (!text) return;
    field.value = text;
    const script = document.createElement("script");
    script.src = list.dataset.index;
    script.onload = () => show(list, said, text);
    script.onerror = () => { said.textContent = "The index cannot be loaded."; };
    document.head.append(script);
  }
  return { build, open, search, start };
})();
if (typeof document !== "undefined") bookSearch.start();
