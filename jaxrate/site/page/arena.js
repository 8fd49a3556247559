// The page of an arena works without a script. This one searches, sorts and downloads its table, and reads its heat map.

const SURELY_BETTER = 128; // added to the percentage of who is
const MANY_VOTES = 1e5; // of which no number is told
const data = JSON.parse(byId("data").textContent);
const board = byId("board");
const rows = [...document.querySelectorAll("#ranking tbody tr")];
const cells = rows.map((row) => row.cells);
const borders = cells.map(([place]) => place.classList.contains("border"));
const heads = [...board.tHead.rows[0].cells];
const of = (key) => (row) => data.board[row.i][data.columns.indexOf(key)];
const asWritten = (kind) => {
  const at = heads.findIndex((head) => head.classList.contains(kind));
  return (_, { i }) => cells[i][at].firstChild?.cloneNode(true) ?? "";
};
const has = (kind) => heads.some((head) => head.classList.contains(kind));
const half = (row) => (of("high")(row) - of("low")(row)) / 2;
const finite = (row) => of("rating")(row) !== null;
const scale = make("span", { class: "axis" });
const interval = (row) => ({ rating: of("rating")(row), half: half(row) });
let axis; // of the rows that are shown, but those far below most
const bar = (_, row) => (finite(row) ? intervalBar(axis, interval(row), 0) : "");
const inOrder = () => !table.order && !table.part;
const border = (_, { i }) => (inOrder() && borders[i] ? "border" : "");
const columns = [
  { name: "place", kind: "rank", value: of("place"), mark: border },
  { name: data.noun, kind: "name", text: true, searched: true, value: of("name"), show: asWritten("name") },
  ...data.tags.map((name) => ({ name, kept: true, value: of(name) })),
  { name: "rating", kind: "rating", value: of("rating"), show: asWritten("rating") },
  { name: "margin", kind: "margin", unsaved: true, value: half, show: asWritten("margin") },
  { name: "low", kept: true, value: of("low") },
  { name: "high", kept: true, value: of("high") },
  { name: "interval", kind: "interval", fixed: true, head: [make("span", { class: "label" }, "95% interval"), scale], value: () => null, show: bar },
];
if (has("ranks")) {
  columns.push({ name: "ranks", kind: "ranks", unsaved: true, value: of("best rank"), show: asWritten("ranks"), mark: (_, row) => (of("best rank")(row) === of("worst rank")(row) ? "sure" : "") });
  for (const name of ["best rank", "worst rank"]) columns.push({ name, kept: true, value: of(name) });
}
for (const name of ["votes", "score"]) columns.push({ name, kind: name, value: of(name), show: asWritten(name) });
const drawn = (some) => {
  axis = axisOf(some.filter((row) => finite(row) && of("rating")(row) >= data.low).map(interval));
  showAxis(board, axis);
  for (const [id, hidden] of [["of-border", !inOrder()], ["off-axis", some.every((row) => !finite(row) || of("rating")(row) >= data.low)]]) {
    if (byId(id)) byId(id).hidden = hidden;
  }
};

document.documentElement.dataset.script = "";
const source = () => Promise.resolve(data.board.map((_, i) => ({ i, folded: fold(["name", ...data.tags].map((key) => of(key)({ i })).join("\n")) })));
const table = new Table(board, columns, { caption: "Ranking", file: "ranking", length: Math.max(data.board.length, 1), search: byId("search"), empty: "No such name.", source, drawn });
const visible = rows.flatMap((row, i) => (row.offsetParent ? [{ i }] : []));
drawn(visible);
for (const row of visible) board.tBodies[0].rows[row.i].querySelector(".interval").replaceChildren(bar(null, row));
byId("rest")?.addEventListener("click", () => table.find(""));
if (table.restore()) table.load().then(() => table.arrange());

const heat = byId("heat");
if (heat) {
  const cell = byId("cell");
  const { places, percent } = data.heat;
  const values = Uint8Array.from(atob(percent), (x) => x.charCodeAt(0));
  const n = places.length;
  const name = ([low, high]) => (low === high ? `${data.board[low - 1][1]} (${low})` : `places ${low} to ${high}`);
  cell.textContent = "Point at a cell, or touch it, to read it.";
  const read = (event) => {
    const box = heat.getBoundingClientRect();
    const at = (x) => Math.min(Math.max(Math.floor(n * x), 0), n - 1);
    const [i, j] = [at((event.clientY - box.top) / box.height), at((event.clientX - box.left) / box.width)];
    const value = values[n * i + j];
    cell.textContent = value > 100 ? name(places[i]) : `${name(places[i])} against ${name(places[j])}: ${value} of 100 votes.`;
  };
  for (const kind of ["pointerdown", "pointermove"]) heat.addEventListener(kind, read);
}
// Any two are compared, and the row that is pointed at tells who is surely better and surely worse.

if (data.pairs) {
  const { players: n, first: skipped, width, score, error, needed } = data.pairs;
  const bytes = (packed) => Uint8Array.from(atob(packed), (x) => x.charCodeAt(0));
  const [scores, errors, missing] = [bytes(score), new Uint16Array(bytes(error).buffer), new Uint32Array(bytes(needed).buffer)];
  const isBetter = (a, b) => a >= 0 && b >= 0 && a < n && b < n && scores[n * a + b] >= SURELY_BETTER;
  const chosen = ["first", "second"].map(byId);
  const verdict = () => {
    const [a, b] = chosen.map((field) => Number(field.value)).sort((x, y) => x - y);
    if (a === b) return ["Choose two different ones."];
    const [ahead, behind] = [a, b].map((i) => data.board[skipped + i]);
    const rating = data.columns.indexOf("rating");
    const [lead, margin, votes] = [ahead[rating] - behind[rating], (width * errors[n * a + b]) / 10, missing[n * a + b]];
    const more = votes > MANY_VOTES ? `More than ${grouped(MANY_VOTES, 0)} votes` : `About ${grouped(Number(votes.toPrecision(2)), 0)} more votes`;
    const sure = isBetter(a, b) ? "The order is certain." : lead > margin ? "For these two alone, that is beyond chance." : `${more} between the two would tell them apart.`;
    const won = ` would win ${scores[n * a + b] % SURELY_BETTER} of 100 votes against `;
    return [make("bdi", {}, ahead[1]), won, make("bdi", {}, behind[1]), `. The lead is ${grouped(lead, 0)} ± ${grouped(margin, 0)} points. ${sure}`];
  };
  chosen.forEach((field, i) => {
    field.value = asked().get(field.id) ?? i;
    if (field.selectedIndex < 0) field.value = i;
    field.addEventListener("change", () => {
      remember({ [field.id]: field.value });
      byId("verdict").replaceChildren(...verdict());
    });
  });
  byId("verdict").replaceChildren(...verdict());
  const place = (row) => Number(row?.cells[0].textContent ?? 0) - 1 - skipped;
  const mark = (at) => {
    for (const row of board.tBodies[0].rows) {
      row.classList.toggle("better", isBetter(place(row), at));
      row.classList.toggle("worse", isBetter(at, place(row)));
    }
  };
  board.addEventListener("pointerover", ({ target }) => mark(place(target.closest("tbody tr"))));
  board.addEventListener("pointerleave", () => mark(-1));
}
document.documentElement.dataset.ready = "";
