// The ranking, which the page has already: its columns, to be sorted and searched once the data of all players are there.

function ranking(table, about, { source, linked }) {
  const { dated, digits, event, events, noun, since, peak: peakText } = about;
  const lastHeading = event === "match" ? "last played" : "last contest";
  const [search, choice] = ["search", "who"].map(byId);
  let board;
  let axis = { low: 0, high: 1, marks: [] };
  const has = (kind) => table.tHead.querySelector(`.${kind}`) !== null;
  const dates = [...table.tHead.querySelectorAll(".more")].some((th) => th.textContent === lastHeading);
  const spread = (i) => board.spread?.[i] ?? 0;
  const byPeak = () => choice?.value === "best";
  const barOf = (i) => (byPeak() ? { rating: board.peak[i], half: 0 } : { rating: board.rating[i], half: spread(i) });
  const of = (key) => (row) => board[key]?.[row.i] ?? null;
  const rating = (x) => (x === null ? "" : grouped(x, digits));
  const peakRating = (x) => (about.leads ? signed(x, digits) : rating(x));
  const groupOf = (i) => board.group?.[i] ?? 1;
  const shownDay = (x) => (x === null ? "" : dated ? day(x) : String(x));
  const onDay = (x) => (dated && x ? timeElement(x) : x);
  const scale = make("span", { class: "axis" });
  scale.append(...(table.tHead.querySelector(".axis")?.cloneNode(true).childNodes ?? []));
  const lastYear = (i) => (choice?.value === "all" && dated && board.last?.[i] != null ? [" ", make("small", { title: lastHeading }, day(board.last[i]).slice(0, 4))] : []);
  const badge = (i) => (groupOf(i) > 1 ? [" ", make("small", { class: "badge" }, `group ${groupOf(i)}`)] : []);
  const rank = { name: "rank", kind: "rank", value: null, show: (x) => grouped(x, 0) };
  const columns = [rank];
  if (has("move")) columns.push({ name: "move", kind: "move", text: true, title: since, value: (row) => moveOf(row), show: movement });
  columns.push({ name: noun, kind: "name", text: true, searched: true, value: of("name"), show: (name, { i }) => make("span", {}, linked(board, i), ...lastYear(i), ...badge(i)) });
  columns.push({ name: "rating", kind: "rating", value: of("rating"), show: rating });
  columns.push({ name: "interval", kind: "interval", fixed: true, head: [scale, make("span", { class: "hidden" }, "95% interval")], value: () => null, show: (_, { i }) => (barOf(i).rating === null ? "" : intervalBar(axis, barOf(i), digits)) });
  columns.push({ name: "±", kept: true, value: of("spread") });
  if (has("change")) columns.push({ name: "change", kind: "change", title: since, value: of("change"), show: (x) => (x === null ? "" : signed(x, digits)) });
  columns.push({ name: "course", kind: "course", fixed: true, head: [about.course], value: () => null, show: (_, { i }) => courseLine(board.course[i]) });
  if (has("peak")) columns.push({ name: "peak", kind: "peak", title: peakText, value: of("peak"), show: (x, { i }) => peak(x, i) });
  columns.push({ name: events, kind: "more", value: of("games"), show: (x) => grouped(x, 0) });
  if (dates) {
    columns.push({ name: lastHeading, kind: "more", text: true, value: (row) => shownDay(of("last")(row)), show: onDay });
    if (has("peak")) columns.push({ name: "peak on", kind: "more", text: true, value: (row) => shownDay(of("peaked")(row)), show: onDay });
  }

  // The move among current players; on lists of all it is not shown.

  function moveOf({ i }) {
    const then = board.then?.[i];
    return board.current[i] ? (then ? then - board.now[i] : Infinity) : null;
  }
  function movement(x) {
    if (x === null) return "";
    if (x === 0) return "–";
    return make("span", { class: x > 0 ? "up" : "drop" }, x === Infinity ? "joined" : `${x > 0 ? "▲" : "▼"} ${grouped(Math.abs(x), 0)}`);
  }
  function peak(x, i) {
    if (x === null) return "";
    const year = dated && board.peaked?.[i] != null ? [" ", make("small", {}, day(board.peaked[i]).slice(0, 4))] : [];
    return make("span", {}, peakRating(x), ...year);
  }
  const drawn = (rows) => {
    axis = axisOf(rows.map(({ i }) => barOf(i)).filter((x) => x.rating !== null));
    showAxis(table, axis);
  };
  const headings = ["h1", ".lead"].map((x) => document.querySelector(`[data-page="index"] main > ${x}`));
  const finding = headings[0]?.textContent;

  // The finding at the head of the page is one about current players.

  function nameList(rows) {
    if (!headings[0]) return;
    const kind = table.dataset.list;
    const [first] = rows;
    const best = first && kind === "best" && board.peak[first.i] !== null ? `: ${board.name[first.i]} ${about.leads ? "stood" : "reached"} ${rating(board.peak[first.i])}${about.leads ? " above the median" : ""}${dated ? ` in ${day(board.peaked[first.i]).slice(0, 4)}` : ""}` : "";
    headings[0].textContent = kind === "current" ? finding : `All ${about.nouns} by ${kind === "best" ? "peak" : "last"} rating${best}`;
    headings[1].hidden = kind !== "current";
  }
  const chosen = () => {
    const isWhole = byPeak() || choice?.value === "all";
    const rows = board.name.map((_, i) => ({ i })).filter(({ i }) => isWhole || board.current[i]);
    if (byPeak()) rows.sort((a, b) => (board.peak[b.i] ?? -Infinity) - (board.peak[a.i] ?? -Infinity) || 0);
    if (isWhole) rows.sort((a, b) => board.settled[b.i] - board.settled[a.i]);
    table.dataset.list = choice?.value ?? "current";
    rows.sort((a, b) => groupOf(a.i) - groupOf(b.i));
    const ranked = {};
    for (const row of rows) row.rank = ranked[groupOf(row.i)] = (ranked[groupOf(row.i)] ?? 0) + 1;
    nameList(rows);
    return rows;
  };
  rank.value = (row) => row.rank;
  const all = async () => {
    board = await source();
    const now = {};
    board.now = board.current.map((isCurrent, i) => (isCurrent ? (now[groupOf(i)] = (now[groupOf(i)] ?? 0) + 1) : null));
    return chosen();
  };
  const shown = new Table(table, columns, { caption: "Ranking", file: "players", search, empty: "No such name.", source: all, drawn });
  const choose = async () => {
    remember({ list: choice.value === "current" ? "" : choice.value, sort: "" });
    await shown.load();
    shown.order = null;
    shown.fill(chosen());
  };
  choice?.addEventListener("change", choose);
  const list = asked().get("list");
  if (choice && list) choice.value = list;
  if (shown.restore() || list) shown.restored = shown.load().then(() => shown.fill(chosen()));
  search.addEventListener("input", async () => {
    await shown.load();
    if (choice?.value === "current" && search.value && !shown.kept.length) {
      choice.value = "all";
      choose();
    }
  });
  return shown;
}
