// Guides come before the reference, unless the search is for a name of the code. Lists of what is new come last.
const LAST = /^guides\/(changes|code_glossary|contributing)$/;

var Scorer = {
  score([page, , , , score]) {
    const words = new URLSearchParams(location.search).get("q") ?? "";
    if (LAST.test(page)) return score - 1000;
    return /[_.(]/.test(words) || !page.startsWith("guides/") ? score : score + 1000;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
