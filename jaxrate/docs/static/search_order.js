// The order of search results: exact titles and names first, then headings, then text; guides before notebooks before
// the reference. Each page is listed once, and says what it is. Lists of what is new come last.
const KINDS = { guides: "guide", notebooks: "notebook", gallery: "gallery", reference: "reference" };
const KIND_ORDER = [undefined, "reference", "gallery", "notebook", "guide"]; // ascending
const LAST = /^(guides\/(changes|code_glossary|contributing)|_modules\/.*)$/;

const pageKind = (page) => KINDS[page.split("/")[0]];
const searchedWords = () => (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().trim();

var Scorer = {
  score([page, title, anchor, , score, , kind]) {
    const query = searchedWords().replace(/^(jr|jaxrate)\.|\(\)$/g, "");
    const order = KIND_ORDER.indexOf(pageKind(page)), isName = title === query ? 5 : 0; // of a function, say
    const head = title.split(" > ").pop().toLowerCase().replace(/^jaxrate\./, "").replace(/^\d+\. /, "");
    const depth = head.split(".").length - 1 + (anchor && kind === "title" ? 1 : 0);
    if (head === query) return 1000 - 10 * depth + order + isName;
    if (head.split(".").pop() === query) return 900 - 10 * depth + order;
    if (LAST.test(page)) return 0;
    if (kind === "title" || kind === "index") return 400 + score + 20 * order;
    if (kind === "object") return 300 + score;
    return (score >= Scorer.title ? 400 : 100) + 20 * order;
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

// One result for each page, the best one, with the text that was found; results ascend.
function mergePages(results) {
  const pages = new Map();
  for (const [page, title, anchor, , ...rest] of results)
    pages.set(page, [page, title.replace(/^jaxrate\./, ""), anchor, null, ...rest]);
  return [...pages.values()].sort((a, b) => a[4] - b[4]);
}

// What a page is, behind its title in the list of results.
function addKind(item) {
  const kind = pageKind(item.querySelector("a").getAttribute("href"));
  if (!kind) return;
  const label = document.createElement("span");
  label.className = "result-kind";
  label.textContent = kind;
  item.querySelector("a").after(" ", label);
}

// Sphinx lets languages replace this function. A search calls it first, so it also prepares the list.
var splitQuery = (query) => {
  const results = document.getElementById("search-results"), search = Search._performSearch;
  if (search && !results.dataset.prepared) {
    results.dataset.prepared = "true";
    Search._performSearch = (...words) => mergePages(search(...words));
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes)
        for (const node of addedNodes) if (node.matches?.("ul.search > li")) addKind(node);
    }).observe(results, { childList: true, subtree: true });
  }
  return query.split(/[^\p{Letter}\p{Number}_]+/gu).filter((word) => word);
};
