const read = (id) => JSON.parse(document.getElementById(id).textContent);
const find = (id) => document.getElementById(id);

const library = URL.createObjectURL(new Blob([read("bundle")], { type: "text/javascript" }));
const { default: DataTable } = await import(library);

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

// Tables. Names are text: as HTML they are always escaped.

const data = read("data");
const escaped = DataTable.render.text();
const named = { filter: escaped.filter, display: (name) => `<bdi>${escaped.display(name)}</bdi>` };
const linked = {
  filter: escaped.filter,
  display: (name, type, row) =>
    row[0] - 1 in data.sheets ? `<a href="#player-${row[0] - 1}">${named.display(name)}</a>` : named.display(name),
};
const figure = (kind) => ({
  display: (x) => (x === null ? "" : kind === "plain" ? x : (kind[0] === "+" && x > 0 ? "+" : "") + x.toFixed(kind)),
});
const columns = (kinds, text) =>
  kinds.map((kind) => {
    if (kind === "text") return { type: "string", render: text };
    return kind === "time" ? { type: "string", render: escaped } : { type: "num", render: figure(kind) };
  });
const options = { autoWidth: false, deferRender: true, orderMulti: false };
const words = { info: "_START_ to _END_ of _TOTAL_", infoEmpty: "none", infoFiltered: "(all: _MAX_)", zeroRecords: "None found" };

new DataTable("#board", {
  ...options,
  data: data.board,
  columns: columns(data.boardKinds, linked).map((column, i) => ({ ...column, searchable: i === 1 })),
  pageLength: 25,
  language: { ...words, search: "Search a player:", lengthMenu: "_MENU_ players a page" },
});

// Players.

const choice = find("choice");
let events;

function open(place) {
  choice.value = place;
  find("sheet").replaceChildren(find(`sheet-${place}`).content.cloneNode(true));
  events?.search("").clear().rows.add(data.sheets[place]).draw();
  events ??= new DataTable("#events", {
    ...options,
    data: data.sheets[place],
    columns: columns(data.sheetKinds, named),
    order: [],
    pageLength: 10,
    language: { ...words, search: "Search here:", lengthMenu: "_MENU_ a page" },
  });
}

function followAddress() {
  const place = location.hash.match(/^#player-(\d+)$/)?.[1];
  if (place in data.sheets) {
    open(place);
    find("player").scrollIntoView();
    find("name").focus({ preventScroll: true });
  }
}

if (choice) {
  open(choice.value);
  choice.addEventListener("change", () => open(choice.value));
  addEventListener("hashchange", followAddress);
  addEventListener("click", (event) => event.target.closest?.("a")?.hash === location.hash && followAddress());
  followAddress();
}

// Any pair: see jaxrate/pairs.py.

if (data.pairs) {
  const { players, scale } = data.pairs;
  const numbers = (packed) => new Int16Array(Uint8Array.from(atob(packed), (x) => x.charCodeAt(0)).buffer);
  const [left, right] = [numbers(data.pairs.left), numbers(data.pairs.right)];
  const names = data.board.slice(0, players).map((row) => row[1]);
  const places = new Map(names.map((name, i) => [name, i]).reverse());
  const fields = [find("first"), find("second")];

  const probability = (a, b) => {
    const term = (c, k) => c * (left[k * players + a] * right[k * players + b] - right[k * players + a] * left[k * players + b]);
    return Math.min(Math.max(scale.reduce((sum, c, k) => sum + term(c, k), 0.5), 0), 1);
  };

  const answer = () => {
    const [a, b] = fields.map((field) => places.get(field.value));
    const known = a !== undefined && b !== undefined && a !== b;
    const chance = known ? probability(a, b) : 0.5;
    find("meter").value = chance;
    find("meter").hidden = !known;
    find("answer").textContent = known
      ? `${chance.toFixed(3)} for \u2068${names[a]}\u2069, ${(1 - chance).toFixed(3)} for \u2068${names[b]}\u2069`
      : a === b && a !== undefined
        ? "Choose two different players."
        : "Choose two players by their full names, as they are suggested.";
  };

  fields.forEach((field, i) => {
    field.value = names[i];
    field.addEventListener("input", () => {
      const part = field.value.toLowerCase();
      const some = [];
      for (const name of names) if (name.toLowerCase().includes(part) && some.push(name) === 20) break;
      field.list.replaceChildren(...some.map((name) => new Option("", name)));
      answer();
    });
  });
  answer();
}

document.documentElement.dataset.ready = "";
