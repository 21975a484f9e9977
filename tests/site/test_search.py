"""Search, and the way from page to page."""

import json
import re

import pytest
import yaml
from docutils import nodes
from support import NOTEBOOKS, ROOT

from helpers.chapters import BY_NUMBER, CHAPTERS


@pytest.fixture(scope="module")
def found(html_root) -> dict:
    script = (html_root / "searchindex.js").read_text("utf-8")
    return json.loads(script[script.index("{") : script.rindex("}") + 1])


def stemmer():
    from sphinx.search import languages  # noqa: F401
    from sphinx.search.en import SearchEnglish

    return SearchEnglish({})


def pages_with(found: dict, word: str) -> set[str]:
    """Pages that the index names for a word, as the search page looks it up."""
    lang = stemmer()
    names = set()
    for kind in ("terms", "titleterms"):
        where = found[kind].get(lang.stem(word.lower()), [])
        names |= {found["docnames"][n] for n in ([where] if isinstance(where, int) else where)}
    return names


def captions() -> list[tuple[str, str]]:
    """The page and the words of each figure's caption."""
    pairs = []
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            figure = cell["metadata"].get("mystnb", {}).get("figure", {})
            if figure.get("caption"):
                pairs.append((f"notebooks/{path.stem}", figure["caption"]))
    return pairs


def test_every_word_of_every_caption_is_in_the_index(found):
    lang, missing = stemmer(), []
    assert len(captions()) > 50
    for docname, caption in captions():
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)|[*$`\\]", r"\1", caption)
        for word in re.findall(r"[A-Za-z]{3,}", plain):
            if lang.word_filter(lang.stem(word.lower())) and docname not in pages_with(found, word):
                missing.append((docname, word))
    assert missing == []


def test_titles_and_sentences_of_explorers_are_in_the_index(found):
    lang, missing = stemmer(), []
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                page = "".join(output.get("data", {}).get("text/html", ""))
                for words in re.findall(r'class="explore-(?:title|says)"[^>]*>([^<]+)<', page):
                    missing += [
                        (path.stem, word)
                        for word in re.findall(r"[A-Za-z]{4,}", words)
                        if lang.word_filter(lang.stem(word.lower()))
                        and f"notebooks/{path.stem}" not in pages_with(found, word)
                    ]
    assert missing == []


def test_glossary_terms_lead_to_their_entries(found, html_root):
    page = (html_root / "book" / "glossary.html").read_text("utf-8")
    terms = set(re.findall(r'<dt id="(term-[^"]+)"', page))
    assert len(terms) > 100
    glossary = found["docnames"].index("book/glossary")
    listed = [
        place for rows in found["alltitles"].values() for page, place in rows if page == glossary
    ]
    assert terms <= set(listed)
    assert len(listed) == len(set(listed))


def test_topics_lead_to_their_sections(found, html_root):
    for chapter in CHAPTERS:
        page = (html_root / f"{chapter.docname}.html").read_text("utf-8")
        place = found["docnames"].index(chapter.docname)
        for topic in (topic for section in chapter.sections for topic in section.topics):
            rows = found["alltitles"][topic.replace("`", "")]
            (ident,) = {ident for where, ident in rows if where == place}
            assert f'<section id="{ident}"' in page


# --- as a reader does it --------------------------------------------------------------------------


def results(page) -> list[str]:
    page.get_by_text(
        re.compile(r"^Search finished, found \d+ page")
    ).wait_for()  # one by one they come
    return page.locator("#search-results li a").evaluate_all("links => links.map(l => l.href)")


SEARCH = """words => {
    fetch = () => new Promise(() => {}); // which would ask for each page, to quote it
    document.querySelector("#search-results").replaceChildren();
    Search.performSearch(words);
}"""


@pytest.fixture(scope="module")
def searched(browser, site_url):
    """Return a function that gives the links found for some words, on a page that is opened once.

    The search is the one that `search.html?q=…` starts, as the tests above have it.
    """
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site_url}/search.html")
    page.wait_for_function("Search.hasIndex()")

    def search(words: str) -> list[str]:
        page.evaluate(SEARCH, words)
        return results(page)

    yield search
    context.close()


def lonely_word(found) -> tuple[str, str, str]:
    """A word of a caption that stands nowhere else in the book: its page, it, its caption."""
    for docname, caption in captions():
        for word in re.findall(r"[a-z]{6,}", caption):
            source = (ROOT / f"{docname}.ipynb").read_text("utf-8").lower()
            if pages_with(found, word) == {docname} and source.count(word) <= 2:
                return docname, word, caption
    raise AssertionError("no caption has a word of its own")


def test_search_finds_a_word_of_a_caption(visit, page, found):
    docname, word, _ = lonely_word(found)
    problems = visit(f"search.html?q={word}")
    links = results(page)
    assert problems == []
    assert all(f"{docname}.html" in link for link in links)
    page.locator("#search-results li a").first.click()
    page.wait_for_url(f"**/{docname}.html**")
    assert page.locator(f"figcaption:has-text('{word}')").count() >= 1


@pytest.mark.parametrize("term", ["perplexity", "anisotropy", "residual stream", "RoPE"])
def test_search_leads_to_the_glossary_entry(searched, term):
    anchor = f"book/glossary.html#term-{term.replace(' ', '-')}"
    assert any(link.endswith(anchor) for link in searched(term)[:6])


def test_search_leads_to_the_section_on_a_topic(searched):
    found = searched("induction heads")
    assert any(link.endswith("#how-does-a-model-learn-to-copy") for link in found[:3])


USUAL = {  # what readers type, and the chapter whose section is to come first
    "tokenization": 1,
    "embedding": 1,
    "word2vec": 1,
    "one-hot": 1,
    "cosine similarity": 2,
    "RMSNorm": 4,
    "bigram": 3,
    "cross-entropy": 3,
    "perplexity": 3,
    "Adam": 3,
    "gradient descent": 3,
    "softmax": 3,
    "layer normalization": 4,
    "batch normalization": 4,
    "self-attention": 5,
    "query, key, value": 5,
    "scaled dot-product attention": 6,
    "multi-head attention": 7,
    "causal mask": 7,
    "padding mask": 7,
    "positional encoding": 7,
    "RoPE": 7,
    "KV cache": 7,
    "attention sink": 7,
    "residual connection": 8,
    "skip connection": 8,
    "feed-forward network": 8,
    "MLP": 8,
    "backpropagation": 8,
    "vanishing gradient": 8,
    "pre-norm": 9,
    "post-norm": 9,
    "Xavier initialization": 10,
    "He initialization": 10,
    "learning rate warm-up": 9,
    "temperature": 11,
    "sampling": 11,
    "n-gram": 11,
    "Muon": 11,
    "teacher forcing": 3,
    "one hot": 1,
    "self attention": 5,
    "query key value": 5,
    "PCA": 2,
    "KL divergence": 3,
    "GroupNorm": 4,
    "grouped-query attention": 7,
    "exploding gradient": 8,
    "GELU": 8,
    "AdamW": 11,
    "dropout": 7,
    "training loop": 11,
    "logit lens": 12,
    "induction head": 12,
    "next-token prediction": 0,
}


FIRST = """term => {  // as the page looks a term up, without drawing what it found
    const found = Search._performSearch(...Search._parseQuery(term)).at(-1);
    return found ? `${found[0]}.html${found[2]}` : "nothing";
}"""


def test_a_usual_term_leads_to_its_section_first(visit, page):
    problems, wrong = visit("search.html?q=softmax"), []
    assert results(page)[0].endswith(page.evaluate(FIRST, "softmax"))
    for term, number in USUAL.items():
        chapter = BY_NUMBER[number]
        (heading,) = [s.heading for s in chapter.sections if term in s.terms]
        first = page.evaluate(FIRST, term)
        if first != f"{chapter.docname}.html#{nodes.make_id(heading)}":
            wrong.append((term, first))
    assert problems + wrong == []


@pytest.mark.parametrize("words", ["causal mask", "dropout", "residual stream", "variance"])
def test_chapters_and_glossary_come_before_pages_about_the_book(searched, words):
    taught = ["/notebooks/" in link or "/book/glossary" in link for link in searched(words)]
    assert True in taught
    assert False in taught
    assert taught == sorted(taught, reverse=True)


@pytest.mark.parametrize("title", ["results", "corrections", "notation", "for the lecture"])
def test_a_page_whose_title_is_typed_comes_first(searched, title):
    assert searched(title)[0].endswith(f"book/{title.replace(' ', '-')}.html")


def test_search_goes_by_stems_and_says_when_there_is_nothing(visit, page):
    visit("search.html?q=normalising")
    assert any("04_layernorm" in link for link in results(page))
    visit("search.html?q=zzyzx")
    page.wait_for_function("() => /did not match/.test(document.body.innerText)")


# --- next and previous ----------------------------------------------------------------------------


def order() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    return [toc["root"], *(entry["file"] for part in toc["parts"] for entry in part["chapters"])]


def test_each_page_names_its_neighbours(html_root):
    pages = order()
    for n, name in enumerate(pages):
        text = (html_root / f"{name}.html").read_text("utf-8")
        for kind, other in (("left-prev", n - 1), ("right-next", n + 1)):
            link = re.search(rf'<a class="{kind}"\s+href="([^"]+)"', text)
            if not 0 <= other < len(pages):
                assert link is None
                continue
            target = (html_root / f"{name}.html").parent / link[1]
            assert target.resolve() == (html_root / f"{pages[other]}.html").resolve()


def test_search_quotes_the_text_of_a_page(visit, page, html_root):
    """Not the theme's buttons and the copy of the title for print; of a term, what it means."""
    assert visit("search.html?q=layer norm") == []
    found = results(page)
    page.wait_for_function(  # each comes with its page
        "n => document.querySelectorAll('#search-results .context').length === n", arg=len(found)
    )
    quotes = page.locator("#search-results .context").all_inner_texts()
    assert len(quotes) > 10
    assert not [q for q in quotes if ".pdf" in q or "On this page" in q or "Show the code" in q]
    entry = page.locator("#search-results li:has(a[href$='#term-layer-norm']) .context").first
    text = (html_root / "book" / "glossary.html").read_text("utf-8").partition("term-layer-norm")[2]
    meaning = re.search(r"<dd><p>([^<]+)<", text)[1].strip()
    assert " ".join(entry.inner_text().split()).startswith(meaning[:60])
