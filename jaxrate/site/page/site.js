// The pages of the site: their tables, charts and fields.

const about = JSON.parse(byId("about-data").textContent);
const { root, file, page: kindOfPage } = document.body.dataset;
const { dated, digits, events } = about;
const linkTo = (slug, name) => make("a", { href: `${root}players/${slug}.html` }, make("bdi", {}, joinFigures(name)));
const withBoard = () => load(`${root}data/board.js?v=${about.stamp}`).then(() => window.jaxrateBoard);
const storedCareer = (slug) => load(`${root}data/careers/${encodeURIComponent(slug)}.js?v=${about.stamp}`).then(() => window.jaxrateCareers[slug]);
const ready = () => (document.documentElement.dataset.ready = "");

function leaderboard() {
  ranking(byId("board"), about, { source: withBoard, linked: (board, i) => linkTo(board.slug[i], board.name[i]) });
}

// The tables of a player's page, the latest event first.

function others(career, key, id, one, last) {
  const met = new Map();
  career[key].forEach((event, i) => {
    for (const other of [event].flat()) {
      const row = met.get(other) ?? { other, count: 0, won: 0, drawn: 0, lost: 0, last: null };
      row.count += 1;
      row[{ 1: "won", 0: "lost" }[career.score[i]] ?? "drawn"] += 1;
      row.last = i;
      met.set(other, row);
    }
  });
  const rows = [...met.values()].sort((a, b) => b.last - a.last); // of equal counts the latest first, as without scripts
  const columns = [
    { name: one, text: true, value: (row) => career.others[row.other][1], show: (_, row) => linkTo(...career.others[row.other]) },
    { name: events, value: (row) => row.count, show: (x) => grouped(x, 0) },
    ...["won", "drawn", "lost"].filter((way) => way !== "drawn" || rows.some((row) => row.drawn)).map((way) => ({ name: way, value: (row) => row[way], show: (x) => grouped(x, 0) })),
  ];
  if (career.time) columns.push({ name: last, text: dated, kind: "words", value: (row) => (dated ? day(career.time[row.last]) : career.time[row.last]), show: (x) => (dated ? timeElement(x) : shownTime(x, false)) });
  const table = byId(id);
  const title = table.caption.textContent;
  table.nextElementSibling.remove();
  new Table(table, columns, { caption: title, file: `${file}-${title.toLowerCase()}`, length: 10, order: [columns[1], true] }).fill(rows);
}

async function player() {
  if (!byId("events")) return;
  const inPage = byId("career");
  const career = inPage ? JSON.parse(inPage.textContent) : await storedCareer(file);
  const name = document.querySelector("h1").textContent;
  const columns = eventColumns(career, about, (other) => linkTo(...other));
  const rows = latestFirst(career);
  if (byId("events").nextElementSibling.matches(".pages")) byId("events").nextElementSibling.remove();
  document.querySelector("h2:last-of-type").textContent = `All ${events}`;
  new Table(byId("events"), columns, { caption: `All ${events}`, file, length: 25, search: byId("search") }).fill(rows);
  if (byId("partners")) others(career, "mates", "partners", "team-mate", "last match");
  if (career.score) others(career, "opponent", "against", "opponent", "last met");
  if (byId("upsets")) {
    const expected = ({ i }) => career.chance[i] + 0.5 * (career.draw?.[i] ?? 0);
    const wins = rows.filter((row) => career.score[row.i] === 1 && expected(row) < 0.5).sort((a, b) => career.chance[a.i] - career.chance[b.i]);
    new Table(byId("upsets"), columns, { caption: "Biggest upset wins", file: `${file}-wins`, length: 5 }).fill(wins.slice(0, 5));
  }
  if (byId("chart")) comparisons(new Chart(byId("chart"), { title: `Rating of ${name}`, digits }), [name, career]);
  else document.querySelector(".choose").hidden = true;
}

function comparisons(chart, own) {
  showCareers(chart, [own], about);
  const [field, note] = ["other", "compared"].map(byId);
  let picker;
  field.addEventListener("focus", async () => {
    if (picker) return;
    const board = await withBoard();
    const careerOf = async (place) => {
      if (board.stored[place]) return storedCareer(board.slug[place]);
      const page = await (await fetch(`${encodeURIComponent(board.slug[place])}.html`)).text();
      return JSON.parse(new DOMParser().parseFromString(page, "text/html").getElementById("career").textContent);
    };
    picker ??= new Picker(field, byId("others"), board.name, async (place) => {
      if (place === null) return;
      try {
        showCareers(chart, [own, [board.name[place], await careerOf(place)]], about);
        note.replaceChildren("With ", linkTo(board.slug[place], board.name[place]), ".");
      } catch {
        note.textContent = "This comparison needs the site on a web server.";
      }
    });
    if (field.value) picker.suggest();
  });
}

async function pairs() {
  const [board] = await Promise.all([withBoard(), load(`${root}data/pairs.js?v=${about.stamp}`)]);
  const packed = window.jaxratePairs;
  const names = board.name.slice(0, Math.min(...packed.map((x) => x.even.players)));
  const chances = packed.map(chancesOf);
  const asked = new URLSearchParams(location.hash.slice(1));
  const start = (key, place) => (board.slug.includes(asked.get(key)) ? board.slug.indexOf(asked.get(key)) : place);
  const best = board.name.map((_, i) => i).filter((i) => board.current[i] && i < names.length);
  const places = [start("first", best[0] ?? 0), start("second", best[1] ?? 1)];
  if (places[0] === places[1]) places[1] = best.find((place) => place !== places[0]) ?? null;
  const who = (place) => linkTo(board.slug[place], names[place]);
  const changed = (a, b) => history.replaceState(null, "", `#${new URLSearchParams({ first: board.slug[a], second: board.slug[b] })}`);
  pairFields(names, chances, places, about, who, board.group, changed);
}

document.documentElement.dataset.script = "";
translateFigures(document);
Promise.resolve({ index: leaderboard, player, pairs }[kindOfPage]?.()).then(ready);
