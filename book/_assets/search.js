// Search for sections. The build makes the index with `build`, in Node; the search page scores it,
// so that both cut words alike. A section is found by its title, the names that its manifest gives
// it, and its words; a page loads the index only for a query, as a script, since a copy on a disk
// must search too.
const bookSearch = (() => {
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

  // The sections of an index, ready to be searched.
  function open({ pages, rows, words }) {
    const lists = new Map(
      words
        .split("\n")
        .map((line) => line.split(" "))
        .map(([word, ...codes]) => [word, codes]),
    );
    const index = { lists, spelt: new Map(), counts: new Map() };
    const known = new Set(lists.keys());
    index.sections = rows.map(([page, title, anchor, says, terms, ...more]) => {
      const names = [title, ...more].map((name, n) => {
        const typed = cut(name).filter((word) => !STOP.has(word)),
          found = called(typed);
        for (const word of typed) if (word.length > 2) index.spelt.set(word, stem(word));
        for (const word of found) known.add(word);
        return { kind: n === 0 ? 0.9 : n > terms ? 0.95 : 1, name, found };
      });
      const href = pages[page][0] + (anchor === "" ? "" : `#${anchor || slug(title)}`);
      return { title, says, href, page: pages[page][1], weight: pages[page][2], names };
    });
    for (const { names } of index.sections) {
      for (const name of names) name.words = joined(name.found, known);
      for (const word of new Set(names.flatMap((name) => [...name.words])))
        index.counts.set(word, (index.counts.get(word) ?? 0) + 1);
    }
    return { ...index, known };
  }

  // Words, and two neighbours as one where the book writes them so: warm up, layer norm.
  function joined(words, known) {
    const pairs = words.slice(1).map((word, n) => words[n] + word);
    return new Set([...words, ...pairs.filter((pair) => known.has(pair))]);
  }

  // How many letters to insert, delete, replace or swap with the next until two words are one.
  function edits(a, b) {
    let older = [],
      old = [...b, ""].map((_, n) => n);
    for (let i = 1; i <= a.length; i += 1) {
      const row = [i];
      for (let j = 1; j <= b.length; j += 1) {
        row[j] = Math.min(old[j] + 1, row[j - 1] + 1, old[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
        if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
          row[j] = Math.min(row[j], older[j - 2] + 1);
      }
      [older, old] = [old, row];
    }
    return old[b.length];
  }

  // The name that a word misspells, if there is one: a long word may have two slips.
  function meant(word, names) {
    const most = /\d/.test(word) || word.length < 5 ? 0 : word.length < 9 ? 1 : 2;
    const near = [...names]
      .filter((name) => name[0] === word[0])
      .map((name) => [edits(word, name), name])
      .filter(([slips]) => slips <= most)
      .sort(([a], [b]) => a - b);
    return near[0]?.[1];
  }

  // What is asked: words that the book has, names for misspelt ones, and what it does not have.
  function understand(index, text) {
    const typed = cut(text),
      named = typed.filter((word) => !STOP.has(word)),
      asked = named.length ? named : typed;
    const instead = [],
      missing = [];
    const abroad =
      asked.some((word) => FOREIGN.test(word)) ||
      (text.match(/\p{L}*[À-ÖØ-öø-ɏ]\p{L}*/gu) ?? []).some(
        (word) => !index.known.has(stem(cut(word)[0])),
      );
    const words = asked.flatMap((word) => {
      const own = called([word]),
        there = !FOREIGN.test(word) && own.some((one) => index.known.has(one)),
        name = there ? word : abroad ? undefined : meant(word, index.spelt.keys());
      if (name === word) return own;
      if (name) instead.push([word, name]);
      else if (word.length > 1) missing.push(word);
      return name ? index.spelt.get(name) : [];
    });
    const key = keyOf(
      instead.reduce((whole, [typed, name]) => whole.replace(typed, name), text.toLowerCase()),
    );
    const known = abroad || missing.length > (2 / 3) * asked.length ? [] : words;
    return {
      key: key || keyOf(typed.join("-")),
      words: joined(known, index.known),
      instead,
      missing,
    };
  }

  function search(index, text, most = 20) {
    const { key, words, instead, missing } = understand(index, text);
    const often = (word) =>
      index.lists.get(word)?.length || (index.lists.has(word) ? 0.3 * index.sections.length : 1);
    const rarity = (word) =>
      Math.log(1 + index.sections.length / Math.max(index.counts.get(word) ?? 0, often(word))) *
      (/^\d\d?$/.test(word) ? 0.5 : 1);
    const sum = (list) => list.reduce((all, word) => all + rarity(word), 0);
    const whole = sum([...words]),
      none = () => Array.from(index.sections, () => 0);
    const scores = none(),
      shares = none(); // of what is asked, which part a section has
    for (const word of words) {
      let at = 0;
      for (const code of index.lists.get(word) ?? []) {
        const number = parseInt(code, 36);
        at += number >> 3;
        scores[at] += ((rarity(word) / whole) * (number & 7)) / 7;
        shares[at] += rarity(word) / whole;
      }
    }
    index.sections.forEach(({ names, weight }, n) => {
      const all = new Set(names.flatMap((name) => [...name.words]));
      const named = sum([...words].filter((word) => all.has(word))) / whole;
      scores[n] += 2 * named;
      scores[n] +=
        3 *
        Math.max(
          ...names.map(
            (name) =>
              (name.kind * sum([...words].filter((word) => name.words.has(word)))) /
              sum([...new Set([...words, ...name.words])]),
          ),
        );
      scores[n] *= weight * Math.max(shares[n], named);
      const exact = named > 0.99 && names.find(({ name }) => keyOf(name) === key);
      if (exact) scores[n] += 10 * exact.kind;
    });
    const least = Math.max(0.1, Math.max(...scores) / 40);
    const found = scores
      .map((score, n) => ({ score, ...index.sections[n] }))
      .filter(({ score }) => score > least)
      .sort((a, b) => b.score - a.score)
      .slice(0, most);
    return { found, instead, missing };
  }

  // --- the page

  function made(tag, name, text) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    element.textContent = text;
    return element;
  }

  function add(list, href, words, ...more) {
    const item = document.createElement("li"),
      link = made("a", "", words);
    link.href = href;
    item.append(link, ...more);
    list.append(item);
  }

  function show(list, said, text) {
    const { found, instead, missing } = search(open(bookSearch.data), text);
    for (const { title, says, page, href } of found) {
      const part = href.includes("#"); // of a page; else it is the page
      add(
        list,
        href,
        part ? title : page,
        made("span", "where", part ? page : ""),
        made("p", "context", says),
      );
    }
    const other = instead.map(
      ([typed, name]) => `“${typed}” is not in the book; this is for “${name}”.`,
    );
    if (missing.length)
      other.push(`Not in the book: ${missing.map((word) => `“${word}”`).join(", ")}.`);
    said.textContent = [
      ...other,
      found.length
        ? `${found.length} section${found.length > 1 ? "s" : ""}, the best first.`
        : "The book has no section on this.",
    ].join(" ");
  }

  function start() {
    const [list, said] = ["#search-results", "#search-said"].map((name) =>
      document.querySelector(name),
    );
    const field = list.parentElement.querySelector("input[name=q]");
    const text = new URLSearchParams(location.search).get("q")?.trim();
    if (!text) return;
    field.value = text;
    const script = document.createElement("script");
    script.src = list.dataset.index;
    script.onload = () => show(list, said, text);
    script.onerror = () => {
      said.textContent = "The index cannot be loaded.";
    };
    document.head.append(script);
  }
  return { build, open, search, start };
})();
if (typeof document !== "undefined") bookSearch.start();
