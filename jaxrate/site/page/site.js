// The pages of the site: their tables, charts and fields.

const about = JSON.parse(byId("about-data").textContent);
const { root, dated, digits, event, events } = about;
const shownDay = (x) => shownTime(x, dated);
const onDay = (x) => make(dated ? "time" : "span", {}, x);
const rating = (x) => (x === null || x === undefined ? "" : grouped(x, digits));
const moved = (x) => (x === null || x === undefined ? "" : signed(x, digits));
const linkTo = (slug, name) => make("a", { href: `${root}players/${slug}.html` }, make("bdi", {}, name));
const withBoard = () => load(`${root}data/board.js?v=${about.stamp}`).then(() => window.jaxrateBoard);
const ready = () => (document.documentElement.dataset.ready = "");

async function leaderboard() {
  const board = await withBoard();
  const rows = board.name.map((_, i) => ({ i }));
  const of = (key) => (row) => board[key][row.i];
  const columns = [
    { name: "rank", value: (row, i) => i + 1 },
    { name: "name", text: true, searched: true, value: of("name"), show: (name, row) => linkTo(board.slug[row.i], name) },
    { name: "rating", value: of("rating"), show: rating },
  ];
  if (board.spread) columns.push({ name: "±", title: "half of the 95 % interval", value: of("spread"), show: rating });
  if (board.change) {
    columns.push({ name: "change", title: about.since, value: of("change"), show: moved });
    columns.push({ name: "rank then", title: about.since, value: of("then"), show: (x) => (x === null ? "" : grouped(x, 0)) });
  }
  columns.push({ name: events, value: of("games"), show: (x) => grouped(x, 0) });
  if (board.last) columns.push({ name: "last played", text: true, value: (row) => shownDay(of("last")(row)), show: onDay });
  columns.push({ name: "best", title: "the highest rating", value: of("peak"), show: rating });
  if (board.last) columns.push({ name: "best on", title: "when the rating was highest", text: true, value: (row) => shownDay(of("peaked")(row)), show: onDay });
  const search = byId("search");
  const table = new Table(byId("board"), columns, { caption: "Leaderboard", file: "players", search, empty: "Nobody of this name." });
  const choice = byId("who");
  const choose = () => {
    const some = { current: (row) => board.current[row.i], all: () => true, best: () => true }[choice?.value ?? "all"];
    const chosen = rows.filter(some);
    if (choice?.value === "best") chosen.sort((a, b) => board.peak[b.i] - board.peak[a.i]);
    const rank = new Map(chosen.map((row, i) => [row.i, i + 1]));
    columns[0].value = (row) => rank.get(row.i);
    table.order = null;
    table.fill(chosen);
  };
  choice?.addEventListener("change", choose);
  search.addEventListener("input", () => {
    if (choice?.value === "current" && search.value && !table.kept.length) {
      choice.value = "all";
      choose();
    }
  });
  choose();
}

// The tables of a player's page, the latest event first.

function matchesTable(career) {
  const n = career.rating.length - 1;
  const rows = Array.from({ length: n }, (_, i) => ({ i: n - 1 - i }));
  const of = (key) => (row) => career[key][row.i];
  const columns = [];
  if (career.time) columns.push({ name: dated ? "date" : "time", text: true, value: (row) => shownDay(career.time[row.i]), show: onDay });
  if (career.score) {
    columns.push({ name: "opponent", text: true, searched: true, value: (row) => opponentOf(career, row.i)[1], show: (name, row) => linkTo(opponentOf(career, row.i)[0], name) });
    columns.push({ name: "result", text: true, value: (row) => resultOf(career, row.i) });
    columns.push({ name: "chance", title: career.draw ? "to win, as it was before the match" : "as it was before the match", value: of("chance"), show: percent });
    if (career.draw) columns.push({ name: "draw", title: "the chance of a draw before the match", value: of("draw"), show: percent });
  } else {
    columns.push({ name: "contest", text: true, searched: true, value: (row) => String(career.contest[row.i]) });
    columns.push({ name: "place", value: of("place"), show: (x, row) => resultOf(career, row.i) });
    columns.push({ name: "expected", title: "the place that was expected before", value: of("expected"), show: (x) => grouped(x, 1) });
  }
  columns.push({ name: "rating", title: `after the ${event}`, value: (row) => career.rating[row.i + 1], show: rating });
  columns.push({ name: "change", value: (row) => Number((career.rating[row.i + 1] - career.rating[row.i]).toFixed(digits + 2)), show: moved });
  for (const [name, values] of Object.entries(career.columns)) {
    const text = values.some((x) => typeof x === "string");
    columns.push({ name, text, value: (row) => values[row.i], show: (x) => (x === null ? "" : text ? make("bdi", {}, x) : String(x)) });
  }
  const table = new Table(byId("events"), columns, { caption: `All ${events}`, file: about.file, length: 25, search: byId("search") });
  table.fill(rows);
  return { columns, rows };
}

function against(career) {
  const met = new Map();
  career.opponent.forEach((other, i) => {
    const row = met.get(other) ?? { other, count: 0, won: 0, drawn: 0, lost: 0, last: null };
    row.count += 1;
    row[{ 1: "won", 0: "lost" }[career.score[i]] ?? "drawn"] += 1;
    row.last = i;
    met.set(other, row);
  });
  const rows = [...met.values()];
  const columns = [
    { name: "opponent", text: true, value: (row) => career.others[row.other][1], show: (name, row) => linkTo(career.others[row.other][0], name) },
    { name: events, value: (row) => row.count },
    ...["won", "drawn", "lost"].filter((way) => way !== "drawn" || rows.some((row) => row.drawn)).map((way) => ({ name: way, value: (row) => row[way] })),
  ];
  if (career.time) columns.push({ name: "last met", text: true, value: (row) => shownDay(career.time[row.last]), show: onDay });
  new Table(byId("against"), columns, { caption: "Opponents", file: `${about.file}-opponents`, length: 10, order: [1, true] }).fill(rows);
}

async function player() {
  const career = JSON.parse(byId("career").textContent);
  if (career.rating.length < 2) return;
  const { columns, rows } = matchesTable(career);
  if (career.score) {
    against(career);
    const wins = rows.filter((row) => career.score[row.i] === 1).sort((a, b) => career.chance[a.i] - career.chance[b.i]);
    new Table(byId("upsets"), columns, { caption: "Least expected wins", file: `${about.file}-wins`, length: 5, empty: "No wins." }).fill(wins.slice(0, 5));
  }
  const chart = new Chart(byId("chart"), { title: `Rating of ${about.name}`, digits });
  const own = [about.name, career];
  showCareers(chart, [own], dated);
  const field = byId("other");
  const note = byId("compared");
  let picker;
  field.addEventListener("focus", async () => {
    if (picker) return;
    const board = await withBoard();
    picker ??= new Picker(field, byId("others"), board.name, async (place) => {
      if (place === null) return;
      try {
        const page = await (await fetch(`${board.slug[place]}.html`)).text();
        const theirs = JSON.parse(new DOMParser().parseFromString(page, "text/html").getElementById("career").textContent);
        showCareers(chart, [own, [board.name[place], theirs]], dated);
        note.replaceChildren("With ", linkTo(board.slug[place], board.name[place]), ".");
      } catch {
        note.textContent = "To compare two players, the site must be on a web server.";
      }
    });
    if (field.value) picker.suggest();
  });
}

async function pairs() {
  const [board] = await Promise.all([withBoard(), load(`${root}data/pairs.js?v=${about.stamp}`)]);
  const packed = window.jaxratePairs;
  const names = board.name.slice(0, packed.even.players);
  const chances = chancesOf(packed);
  const asked = new URLSearchParams(location.hash.slice(1));
  const start = (key, place) => (board.slug.includes(asked.get(key)) ? board.slug.indexOf(asked.get(key)) : place);
  const best = board.name.map((_, i) => i).filter((i) => board.current[i] && i < names.length);
  const places = [start("first", best[0] ?? 0), start("second", best[1] ?? 1)];
  if (places[0] === places[1]) places[1] = best.find((place) => place !== places[0]) ?? null;
  const who = (place) => linkTo(board.slug[place], names[place]);
  const changed = (a, b) => history.replaceState(null, "", `#first=${board.slug[a]}&second=${board.slug[b]}`);
  pairFields(names, chances, places, who, changed);
}

const page = { index: leaderboard, player, pairs }[document.body.dataset.page];
Promise.resolve(page?.()).then(ready);
