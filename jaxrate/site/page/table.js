// Tables that can be sorted, searched, paged and downloaded. A column has a name, a `value` of a row, which is sorted and
// downloaded, and optionally `show`, which makes text or an element of the value; `text` marks columns of text.

const LENGTH = 50;

class Table {
  constructor(table, columns, { caption, file, length = LENGTH, order = null, search = null, empty = "None." }) {
    Object.assign(this, { table, columns, file, length, order, empty, part: "", page: 0, rows: [], kept: [] });
    this.status = make("p", { class: "note", role: "status" });
    this.pages = make("p", { class: "pages" });
    this.head = columns.map((column, i) => {
      const button = make("button", { type: "button" }, column.name);
      button.addEventListener("click", () => this.sort(i));
      return make("th", { scope: "col", role: "columnheader", class: column.text ? "words" : "figure", title: column.title ?? null }, button);
    });
    table.setAttribute("role", "table");
    this.body = make("tbody", { role: "rowgroup" });
    table.replaceChildren(
      make("caption", { class: "hidden" }, caption),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...this.head)),
      this.body,
    );
    const saved = ["CSV", "JSON"].map((kind) => {
      const button = make("button", { type: "button", class: "quiet" }, kind);
      button.addEventListener("click", () => this.download(kind));
      return button;
    });
    table.after(make("div", { class: "below" }, this.status, this.pages, make("p", { class: "note" }, "Download: ", ...saved)));
    search?.addEventListener("input", () => this.find(search.value));
  }

  fill(rows) {
    this.rows = rows;
    this.arrange();
  }

  find(part) {
    this.part = fold(part).trim();
    this.arrange();
  }

  sort(i) {
    const [at, down] = this.order ?? [];
    this.order = [i, at === i ? !down : !this.columns[i].text];
    this.arrange();
  }

  arrange() {
    const named = this.columns.find((column) => column.searched) ?? this.columns[0];
    this.kept = this.part ? this.rows.filter((row) => (row.folded ??= fold(String(named.value(row)))).includes(this.part)) : [...this.rows];
    if (this.order) {
      const [i, down] = this.order;
      const { value, text } = this.columns[i];
      const turn = down ? -1 : 1;
      const known = (x) => x !== null && x !== undefined && x === x;
      const compare = text ? new Intl.Collator("en").compare : (x, y) => x - y;
      this.kept.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        return known(x) && known(y) ? turn * compare(x, y) : known(y) - known(x);
      });
    }
    this.head.forEach((th, i) => {
      if (this.order?.[0] === i) th.setAttribute("aria-sort", this.order[1] ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
    this.page = 0;
    this.draw();
  }

  draw() {
    const { kept, length, page, columns } = this;
    const from = page * length;
    const some = kept.slice(from, from + length);
    this.body.replaceChildren(...some.map((row, i) => make("tr", { role: "row" }, ...columns.map((column) => this.cell(column, row, from + i)))));
    const all = kept.length === this.rows.length ? "" : ` (of ${grouped(this.rows.length, 0)})`;
    this.status.textContent = kept.length ? `${grouped(from + 1, 0)} to ${grouped(from + some.length, 0)} of ${grouped(kept.length, 0)}${all}` : this.empty;
    const last = Math.max(Math.ceil(kept.length / length) - 1, 0);
    this.pages.hidden = last === 0;
    this.pages.replaceChildren(
      ...[["First", 0], ["Previous", page - 1], ["Next", page + 1], ["Last", last]].map(([name, to]) => {
        const button = make("button", { type: "button" }, name);
        button.disabled = to < 0 || to > last || to === page;
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
    return make("td", { role: "cell", class: column.text ? "words" : "figure", "data-name": column.name }, shown);
  }

  download(kind) {
    const rows = this.kept.map((row, i) => this.columns.map((column) => column.value(row, i) ?? null));
    const names = this.columns.map((column) => column.name);
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
