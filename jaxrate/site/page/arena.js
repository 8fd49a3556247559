// The page of an arena works without a script. This one searches, sorts and downloads its table, and reads its heat map.

const data = JSON.parse(byId("data").textContent);
const table = byId("board");
const rows = [...table.tBodies[0].rows];
const heads = [...table.tHead.rows[0].cells];
const status = byId("status");
const counted = (n) => `${grouped(n, 0)} ${n === 1 ? "player" : "players"}`;

const search = byId("search");
const find = () => {
  const part = fold(search.value).trim();
  for (const row of rows) row.hidden = part !== "" && !fold(row.querySelector(".name").textContent).includes(part);
  const shown = rows.filter((row) => !row.hidden).length;
  status.firstChild.data = shown < rows.length ? `${grouped(shown, 0)} of ${counted(rows.length)}.` : `${counted(rows.length)}.`;
};

const sortBy = (i) => {
  const down = heads[i].getAttribute("aria-sort") ? heads[i].getAttribute("aria-sort") === "ascending" : i > 1 && !heads[i].classList.contains("place");
  heads.forEach((head, j) => (j === i ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
  const number = (row) => parseFloat(row.cells[i].textContent.replace(/[,±]/g, "").replace("∞", "1e99"));
  const compare = new Intl.Collator("en").compare;
  const sorted = [...rows].sort((a, b) => {
    if (heads[i].classList.contains("name")) return (down ? -1 : 1) * compare(a.cells[i].textContent, b.cells[i].textContent);
    const [x, y] = [number(a), number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? Number.isNaN(x) - Number.isNaN(y) : (down ? -1 : 1) * (x - y);
  });
  table.tBodies[0].append(...sorted);
};

const download = (kind) => {
  const safe = (x) => (typeof x === "string" && /^'*[=+\-@\t\r]/.test(x) ? `'${x}` : x);
  const quoted = (x) => (x === null ? "" : /[",\n\r]/.test(safe(x)) ? `"${String(safe(x)).replaceAll('"', '""')}"` : safe(x));
  const text =
    kind === "CSV"
      ? [data.columns, ...data.board].map((row) => row.map(quoted).join(",")).join("\r\n")
      : JSON.stringify(data.board.map((row) => Object.fromEntries(row.map((x, i) => [data.columns[i], x]))), null, 1);
  const link = make("a", { href: URL.createObjectURL(new Blob([text])), download: `ranking.${kind.toLowerCase()}` });
  link.click();
  URL.revokeObjectURL(link.href);
};

heads.forEach((head, i) => {
  if (head.classList.contains("lane")) return;
  const button = make("button", { type: "button" }, head.textContent);
  button.addEventListener("click", () => sortBy(i));
  head.replaceChildren(button);
});
search.closest("p").hidden = false;
search.addEventListener("input", find);
status.append("");
for (const kind of ["JSON", "CSV"]) {
  const button = make("button", { type: "button", class: "quiet" }, `Download ${kind}`);
  button.addEventListener("click", () => download(kind));
  status.after(button);
}
find();

const heat = byId("heat");
if (heat) {
  const cell = byId("cell");
  const { places, percent } = data.heat;
  const values = Uint8Array.from(atob(percent), (x) => x.charCodeAt(0));
  const n = places.length;
  const name = ([low, high]) => (low === high ? `${data.board[low - 1][1]} (${low})` : `places ${low} to ${high}`);
  cell.textContent = "Point at a cell to read it.";
  heat.addEventListener("pointermove", (event) => {
    const box = heat.getBoundingClientRect();
    const at = (x) => Math.min(Math.max(Math.floor(n * x), 0), n - 1);
    const [i, j] = [at((event.clientY - box.top) / box.height), at((event.clientX - box.left) / box.width)];
    const value = values[n * i + j];
    cell.textContent = value > 100 ? name(places[i]) : `${name(places[i])} against ${name(places[j])}: ${value} of 100 votes.`;
  });
}
