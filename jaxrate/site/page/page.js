// The table of the arena page.

const data = JSON.parse(byId("data").textContent);
const figure = (kind) => (x) => (x === null ? "" : kind === "plain" ? String(x) : grouped(x, Number(kind)));

{
  const table = byId("board");
  const columns = [...table.querySelectorAll("th")].map((th, i) => {
    const text = data.boardKinds[i] === "text";
    return { name: th.textContent, text, searched: text, value: (row) => row[i], show: text ? (name) => make("bdi", {}, name) : figure(data.boardKinds[i]) };
  });
  new Table(table, columns, { caption: "Leaderboard", file: "players", search: byId("search"), empty: "No such name." }).fill(data.board);
}

document.documentElement.dataset.ready = "";
