// How search orders what it found (book_search.py hands it to Sphinx): as Sphinx does, but chapters
// and the glossary come before the pages that are about the book.
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    page.startsWith("notebooks/") || page === "book/glossary" ? score : score / 4,
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
