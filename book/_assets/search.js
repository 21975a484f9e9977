// Search for sections in the index that search-words.js makes. A section is found by its title, the
// names that its manifest gives it, and its words; a page loads the index only for a query, as a
// script, since a copy on a disk must search too.
"use strict";

(() => {
  const { STOP, FOREIGN, cut, stem, called, keyOf, slug } = bookSearch;

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
  Object.assign(bookSearch, { open, search });
  if (typeof document !== "undefined") start();
})();
