// Tables that can be sorted, searched, paged and downloaded. A column has a name, a `value` of a row, which is sorted and
// downloaded, and optionally `show`, which makes text or an element of the value; `text` marks columns of text, `fixed`
// those that are not sorted, with the `head` that they have, `kept` those that are only downloaded, and `unsaved` those
// that are not; without a `file` nothing is. A table may begin with the rows of the page itself: then `source` is a
// function that promises all of them. The search and the order of a `linked` table are in the address.

const LENGTH = 50;

class Table {
  constructor(table, columns, { caption, file, length = LENGTH, order = null, search = null, linked = Boolean(search), empty = "None.", source = null, drawn = () => {} }) {
    Object.assign(this, { table, columns, file, length, order, search, linked, empty, source, drawn, part: "", page: 0, rows: [], kept: [] });
    this.shown = columns.filter((column) => !column.kept);
    this.status = make("p", { class: "note", role: "status" });
    this.pages = make("p", { class: "pages" });
    this.head = this.shown.map((column) => {
      const button = make("button", { type: "button" }, column.name);
      button.addEventListener("click", () => this.sort(column));
      const head = column.fixed ? column.head : [button];
      return make("th", { scope: "col", role: "columnheader", class: this.kind(column), title: column.title ?? null }, ...head);
    });
    table.classList.remove("narrow"); // without scripts it is a table on phones, too
    table.setAttribute("role", "table");
    this.body = source ? table.tBodies[0] : make("tbody", { role: "rowgroup" });
    table.replaceChildren(
      make("caption", { class: "hidden" }, caption),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...this.head)),
      this.body,
    );
    const saved = (file ? ["CSV", "JSON"] : []).map((kind) => {
      const button = make("button", { type: "button", class: "quiet" }, kind);
      button.addEventListener("click", () => this.download(kind));
      return button;
    });
    this.below = make("div", { class: "below" }, this.status, this.pages, make("p", { class: "note" }, file ? "Download: " : "", ...saved));
    this.former = []; // what the page says of its rows, until there are all
    let last = table;
    while (last.nextElementSibling?.matches(".pages, .short")) {
      last = last.nextElementSibling;
      if (last.matches(".pages")) this.former.push(last);
    }
    last.after(this.below);
    search?.addEventListener("input", () => this.find(search.value));
    search?.addEventListener("keydown", ({ key }) => key === "Enter" && this.kept.length === 1 && this.body.querySelector("a")?.click());
  }

  kind({ kind = "", text, fixed }) {
    return `${fixed ? "" : text ? "words" : "figure"} ${kind}`.trim();
  }

  async load() {
    if (!this.source) return;
    this.loading ??= this.source();
    const rows = await this.loading;
    if (this.source) {
      this.source = null;
      this.former.forEach((x) => x.remove());
      if (!this.rows.length) this.rows = this.kept = rows;
    }
  }

  fill(rows) {
    this.rows = rows;
    this.arrange();
  }

  // The search and the order that the address asks for; returns whether it asks for any.

  restore() {
    const [part, order] = ["search", "sort"].map((name) => asked().get(name) ?? "");
    const column = this.shown.find(({ name, fixed }) => !fixed && name === order.replace("-", ""));
    if (part) this.search.value = part;
    this.part = fold(part).trim();
    if (column) this.order = [column, order.startsWith("-")];
    return Boolean(part || column);
  }

  async find(part) {
    if (this.linked) remember({ search: part });
    await this.load();
    this.part = fold(part).trim();
    this.arrange();
  }

  async sort(column) {
    await this.load();
    const [at, down] = this.order ?? [];
    this.order = [column, at === column ? !down : !column.text];
    if (this.linked) remember({ sort: `${this.order[1] ? "-" : ""}${column.name}` });
    this.arrange();
  }

  arrange() {
    const named = this.columns.find((column) => column.searched) ?? this.columns[0];
    this.kept = this.part ? this.rows.filter((row) => (row.folded ??= fold(String(named.value(row)))).includes(this.part)) : [...this.rows];
    if (this.order) {
      const [{ value, text }, down] = this.order;
      const turn = down ? -1 : 1;
      const known = (x) => x !== null && x !== undefined && x === x;
      const compare = text ? new Intl.Collator(LANGUAGES).compare : (x, y) => x - y;
      this.kept.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        return known(x) && known(y) ? turn * compare(x, y) : known(y) - known(x);
      });
    }
    this.head.forEach((th, i) => {
      if (this.order?.[0] === this.shown[i]) th.setAttribute("aria-sort", this.order[1] ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
    this.page = 0;
    this.draw();
  }

  draw() {
    const { kept, length, page, shown } = this;
    const from = page * length;
    const some = kept.slice(from, from + length);
    this.drawn(some);
    this.body.replaceChildren(...some.map((row, i) => make("tr", { role: "row" }, ...shown.map((column) => this.cell(column, row, from + i)))));
    const all = kept.length === this.rows.length ? "" : ` (of ${grouped(this.rows.length, 0)})`;
    this.status.textContent = kept.length && kept.length === some.length && !all ? "" : kept.length ? `${grouped(from + 1, 0)} to ${grouped(from + some.length, 0)} of ${grouped(kept.length, 0)}${all}` : this.empty;
    const last = Math.max(Math.ceil(kept.length / length) - 1, 0);
    this.pages.hidden = last === 0;
    this.pages.replaceChildren(
      ...[["Previous", page - 1], ["Next", page + 1]].map(([name, to]) => {
        const button = make("button", { type: "button" }, name);
        button.disabled = to < 0 || to > last;
        button.addEventListener("click", () => {
          this.page = to;
          this.draw();
          this.table.scrollIntoView({ block: "nearest" });
        });
        return button;
      }),
    );
  }

  cell(column, row, i) {
    const value = column.value(row, i);
    const shown = column.show ? column.show(value, row, i) : (value ?? "");
    const kind = [this.kind(column), column.mark?.(value, row)].filter(Boolean).join(" ");
    return make("td", { role: "cell", class: kind, "data-name": column.fixed ? null : column.name }, shown);
  }

  async download(kind) {
    await this.load();
    const columns = this.columns.filter((column) => !column.fixed && !column.unsaved);
    const rows = this.kept.map((row, i) => columns.map((column) => column.value(row, i) ?? null));
    const names = columns.map((column) => column.name);
    const safe = (x) => (typeof x === "string" && /^'*[=+\-@\t\r]/.test(x) ? `'${x}` : x);
    const quoted = (x) => (x === null ? "" : /[",\n\r]/.test(safe(x)) ? `"${String(safe(x)).replaceAll('"', '""')}"` : safe(x));
    const text =
      kind === "CSV"
        ? [names, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n")
        : JSON.stringify(rows.map((row) => Object.fromEntries(row.map((x, i) => [names[i], x]))), null, 1);
    const link = make("a", { href: URL.createObjectURL(new Blob([text])), download: `${this.file}.${kind.toLowerCase()}` });
    link.click();
    URL.revokeObjectURL(link.href);
  }
}
