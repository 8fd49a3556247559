// The report page: its tables, players and pairs.

const data = JSON.parse(byId("data").textContent);
const linked = (place, name) => {
  const shown = make("bdi", {}, name);
  return place in data.sheets ? make("a", { href: `#player-${place}` }, shown) : shown;
};
const figure = (kind) => (x) => {
  if (x === null) return "";
  if (kind === "result") return resultWords[x] ?? `scored ${x}`;
  if (kind === "percent") return percent(x);
  return kind === "plain" ? String(x) : (kind[0] === "+" ? signed : grouped)(x, Number(kind));
};
const columnsOf = (table, kinds, name) => {
  const shown = { text: name, time: undefined };
  return [...table.querySelectorAll("th")].map((th, i) => ({
    name: th.textContent,
    text: kinds[i] in shown || kinds[i] === "result",
    searched: kinds[i] === "text",
    value: (row) => row[i],
    show: kinds[i] in shown ? shown[kinds[i]] : figure(kinds[i]),
  }));
};

{
  const table = byId("board");
  const columns = columnsOf(table, data.boardKinds, (name, row) => linked(row[0] - 1, name));
  const board = new Table(table, columns, { caption: "Leaderboard", file: "players", search: byId("search"), empty: "Nobody of this name." });
  const who = byId("who");
  const choose = () => {
    const some = data.board.filter((_, i) => who?.value !== "current" || data.current[i]);
    const rank = new Map(some.map((row, i) => [row, i + 1]));
    columns[0].value = (row) => rank.get(row);
    board.order = null;
    board.fill(some);
  };
  who?.addEventListener("change", choose);
  choose();
}

// Players.

const [choice, other] = ["choice", "other"].map(byId);
let events;
let chart;

function draw() {
  const named = (place) => [data.board[place][1], data.careers[place]];
  const others = other.value && other.value !== choice.value ? [named(other.value)] : [];
  showCareers(chart, [named(choice.value), ...others], data.dated);
}

function open(place) {
  choice.value = place;
  byId("sheet").replaceChildren(byId(`sheet-${place}`).content.cloneNode(true));
  byId("search-events").value = "";
  if (byId("chart")) {
    chart = new Chart(byId("chart"), { title: `Rating of ${data.board[place][1]}`, digits: data.digits });
    other.value = "";
    draw();
  }
  byId("compare").hidden = !byId("chart");
  events ??= new Table(byId("events"), columnsOf(byId("events"), data.sheetKinds, (name) => make("bdi", {}, name)), {
    caption: "Events of the player",
    file: "player",
    length: 10,
    search: byId("search-events"),
  });
  events.part = "";
  events.fill(data.sheets[place]);
}

function followAddress() {
  const place = location.hash.match(/^#player-(\d+)$/)?.[1];
  if (place in data.sheets) {
    open(place);
    byId("player").scrollIntoView();
    byId("name").focus({ preventScroll: true });
  }
}

if (choice) {
  open(choice.value);
  choice.addEventListener("change", () => open(choice.value));
  other.addEventListener("change", draw);
  addEventListener("hashchange", followAddress);
  addEventListener("click", (event) => event.target.closest?.("a")?.hash === location.hash && followAddress());
  followAddress();
}

if (data.pairs) {
  const names = data.board.slice(0, data.pairs.even.players).map((row) => row[1]);
  const best = names.map((_, i) => i).filter((i) => data.current[i]);
  pairFields(names, chancesOf(data.pairs), [best[0] ?? 0, best[1] ?? 1], (place) => linked(place, names[place]));
}

document.documentElement.dataset.ready = "";
