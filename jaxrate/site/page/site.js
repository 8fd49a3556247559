// The pages of the site: their tables, charts and fields.

const about = JSON.parse(byId("about-data").textContent);
const { root, file, page: kindOfPage } = document.body.dataset;
const { dated, digits, events } = about;
const linkTo = (slug, name) => make("a", { href: `${root}players/${slug}.html` }, make("bdi", {}, joinFigures(name)));
const withBoard = () => load(`${root}data/board.js?v=${about.stamp}`).then(() => window.jaxrateBoard);
const storedCareer = (slug) => load(`${root}data/careers/${encodeURIComponent(slug)}.js?v=${about.stamp}`).then(() => window.jaxrateCareers[slug]);
const ready = () => (document.documentElement.dataset.ready = "");

const leaderboard = () => ranking(byId("board"), about, { source: withBoard, linked: (board, i) => linkTo(board.slug[i], board.name[i]) }).restored;

// The tables of a player's page, the latest event first.

function others(career, key, id, one, last) {
  const met = new Map();
  career[key].forEach((event, i) => {
    for (const other of [event].flat()) {
      const row = met.get(other) ?? { other, count: 0, won: 0, drawn: 0, lost: 0, podiums: 0, last: null };
      row.count += 1;
      if (career.score) row[{ 1: "won", 0: "lost" }[career.score[i]] ?? "drawn"] += 1;
      else for (const [way, most] of [["won", 1], ["podiums", 3]]) row[way] += career.place[i] <= most;
      row.last = i;
      met.set(other, row);
    }
  });
  const rows = [...met.values()].sort((a, b) => b.last - a.last); // of equal counts the latest first, as without scripts
  const columns = [
    { name: one, text: true, value: (row) => career.others[row.other][1], show: (_, row) => linkTo(...career.others[row.other]) },
    { name: events, value: (row) => row.count, show: (x) => grouped(x, 0) },
    ...about.ways.map((way) => ({ name: way, value: (row) => row[way], show: (x) => grouped(x, 0) })),
  ];
  if (career.time) columns.push({ name: last, text: dated, kind: "words", value: (row) => (dated ? day(career.time[row.last]) : career.time[row.last]), show: (x) => (dated ? timeElement(x) : shownTime(x, false)) });
  const table = byId(id);
  const title = table.caption.textContent;
  table.nextElementSibling.remove();
  new Table(table, columns, { caption: title, length: 10, order: [columns[1], true] }).fill(rows);
}

async function player() {
  if (!byId("events")) return;
  const inPage = byId("career");
  const career = inPage ? JSON.parse(inPage.textContent) : await storedCareer(file);
  const name = document.querySelector("h1 bdi").textContent;
  const columns = eventColumns(career, about, (other) => linkTo(...other));
  const rows = latestFirst(career);
  if (byId("events").nextElementSibling.matches(".pages")) byId("events").nextElementSibling.remove();
  document.querySelector("h2:last-of-type").textContent = `All ${events}`;
  const table = new Table(byId("events"), columns, { caption: `All ${events}`, file, length: 25, search: byId("search") });
  table.restore();
  table.fill(rows);
  if (byId("partners")) others(career, "mates", "partners", "team-mate", `last ${about.event}`);
  if (career.score) others(career, "opponent", "against", "opponent", "last met");
  if (byId("chart")) await comparisons(new Chart(byId("chart"), { title: `Rating of ${name}`, digits }), [name, career]);
  else document.querySelector(".choose").hidden = true;
}

// How often one was better than the other, in matches or in contests that both took part in.

function headToHead(career, other, slug) {
  let scores;
  if (career.score) {
    const at = career.others.findIndex(([x]) => x === slug);
    scores = career.score.filter((_, i) => [career.opponent[i]].flat().includes(at));
  } else {
    const places = new Map(other.contest.map((x, i) => [`${x} ${other.time?.[i]}`, other.place[i]]));
    scores = career.contest.map((x, i) => (Math.sign(places.get(`${x} ${career.time?.[i]}`) - career.place[i]) + 1) / 2);
  }
  const [won, drawn, lost] = [1, 0.5, 0].map((score) => scores.filter((x) => x === score).length);
  const count = won + drawn + lost;
  if (!count) return `no ${events} ${career.score ? "against each other" : "of both"} yet`;
  const ways = career.score ? ["won", "drawn", "lost"] : ["ahead", "level", "behind"];
  const told = [won, drawn, lost].map((x, i) => (i === 1 && !x ? "" : `${ways[i]} ${grouped(x, 0)}`)).filter(Boolean);
  return `${told.join(", ")} of ${grouped(count, 0)} ${events}`;
}

async function chanceAgainst(slug) {
  const link = document.querySelector('a[href^="../pairs.html"]');
  if (!link) return [];
  link.href = `../pairs.html#first=${encodeURIComponent(file)}&second=${encodeURIComponent(slug)}`;
  await load(`${root}data/pairs.js?v=${about.stamp}`);
  const places = [file, slug].map((x) => window.jaxrateBoard.slug.indexOf(x));
  const { win } = places.every((x) => x < window.jaxratePairs[0].even.players) ? chancesOf(window.jaxratePairs[0])(...places, "") : {};
  return win === undefined ? [] : [`; ${percent(win)} to ${about.event === "match" ? "win" : "be ahead in"} the next`];
}

async function comparisons(chart, own) {
  showCareers(chart, [own], about);
  const [field, note] = ["other", "compared"].map(byId);
  let picker;
  const begin = async () => {
    if (picker) return;
    const board = await withBoard();
    const careerOf = async (place) => {
      if (board.stored[place]) return storedCareer(board.slug[place]);
      const page = await (await fetch(`${encodeURIComponent(board.slug[place])}.html`)).text();
      return JSON.parse(new DOMParser().parseFromString(page, "text/html").getElementById("career").textContent);
    };
    picker ??= new Picker(field, byId("others"), board.name, async (place) => {
      if (place === null) return;
      const [name, slug] = [board.name[place], board.slug[place]];
      try {
        const career = await careerOf(place);
        showCareers(chart, [own, [name, career]], about);
        remember({ with: slug });
        note.replaceChildren("Against ", linkTo(slug, name), `: ${headToHead(own[1], career, slug)}`, ...(await chanceAgainst(slug)), ".");
      } catch {
        note.textContent = "This comparison needs the site on a web server.";
      }
    });
  };
  field.addEventListener("focus", async () => {
    await begin();
    if (field.value) picker.suggest();
  });
  if (!asked().get("with")) return;
  await begin();
  const place = window.jaxrateBoard.slug.indexOf(asked().get("with"));
  if (place >= 0) picker.take(place);
}

async function pairs() {
  const [board] = await Promise.all([withBoard(), load(`${root}data/pairs.js?v=${about.stamp}`)]);
  const packed = window.jaxratePairs;
  const names = board.name.slice(0, Math.min(...packed.map((x) => x.even.players)));
  const chances = packed.map(chancesOf);
  const start = (key, place) => (board.slug.includes(asked().get(key)) ? board.slug.indexOf(asked().get(key)) : place);
  const choices = ["games", "side", "category"].map(byId).filter(Boolean);
  for (const choice of choices) choice.value = asked().get(choice.id) ?? choice.value;
  const best = board.name.map((_, i) => i).filter((i) => board.current[i] && i < names.length);
  const places = [start("first", best[0] ?? 0), start("second", best[1] ?? 1)];
  if (places[0] === places[1]) places[1] = best.find((place) => place !== places[0]) ?? null;
  const who = (place) => linkTo(board.slug[place], names[place]);
  const usual = asked().get("first") ? "" : places.join();
  const changed = (a, b) => {
    const others = choices.map((x) => [x.id, x.selectedIndex ? x.value : ""]);
    remember({ first: board.slug[a], second: board.slug[b], ...Object.fromEntries(others) });
    if (usual !== `${a},${b}`) for (const title of document.querySelectorAll("h1")) title.textContent = `${names[a]} \u2013 ${names[b]}`;
  };
  pairFields(names, chances, places, about, who, board.group, changed);
}

document.documentElement.dataset.script = "";
translateFigures(document);
Promise.resolve({ index: leaderboard, player, pairs }[kindOfPage]?.()).then(ready);
