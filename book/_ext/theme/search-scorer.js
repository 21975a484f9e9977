// How search orders what it found (theme hands it to Sphinx): as Sphinx does, but the section whose
// term was typed comes first, then the glossary's entry; and chapters and the glossary mostly come
// before the pages that are about the book, unless one's title was typed.
var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    const main = /^notebooks\/|^book\/(glossary|training-faster)$/.test(page);
    if (main && anchor && score >= 15) return page.startsWith("book") ? 2 * score : 3 * score;
    const typed = !anchor && score > 15; // Sphinx adds 1 to the 15 of a title, if it is the page's
    return main || typed ? score : score / 4;
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
