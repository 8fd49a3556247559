// A combobox that suggests names during typing, regardless of case and accents.

const SUGGESTED = 12;

class Picker {
  constructor(field, list, names, chosen) {
    Object.assign(this, { field, list, names, chosen, place: null, at: -1, found: [] });
    this.folded = names.map((name) => ` ${fold(name)}`);
    field.addEventListener("input", () => this.suggest());
    field.addEventListener("focus", () => field.select());
    field.addEventListener("blur", () => this.close());
    field.addEventListener("keydown", (event) => this.press(event));
    list.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const option = event.target.closest("li");
      if (option) this.take(Number(option.dataset.place));
    });
  }

  suggest() {
    const part = fold(this.field.value).trim();
    const starts = [];
    const within = [];
    this.folded.forEach((name, place) => {
      if (starts.length === SUGGESTED || !part) return;
      if (name.includes(` ${part}`)) starts.push(place);
      else if (within.length < SUGGESTED && name.includes(part)) within.push(place);
    });
    this.found = [...starts, ...within].slice(0, SUGGESTED);
    const exact = this.folded.indexOf(` ${part}`);
    this.place = exact === -1 ? null : exact;
    this.at = -1;
    this.list.replaceChildren(
      ...this.found.map((place, i) =>
        make("li", { role: "option", id: `${this.list.id}-${i}`, "aria-selected": "false", "data-place": place }, make("bdi", {}, this.names[place])),
      ),
    );
    this.open(this.found.length > 0);
    this.chosen(this.place);
  }

  open(shown) {
    this.list.hidden = !shown;
    this.field.setAttribute("aria-expanded", shown);
    this.field.removeAttribute("aria-activedescendant");
  }

  close() {
    this.open(false);
  }

  take(place) {
    this.place = place;
    this.field.value = this.names[place];
    this.close();
    this.chosen(place);
  }

  press(event) {
    const { found, list } = this;
    if (event.key === "Escape") this.close();
    if (list.hidden) return;
    if (event.key === "Enter" && (this.at >= 0 || found.length === 1)) {
      event.preventDefault();
      this.take(found[Math.max(this.at, 0)]);
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const step = event.key === "ArrowDown" ? 1 : -1;
    this.at = (this.at + step + found.length) % found.length;
    [...list.children].forEach((option, i) => option.setAttribute("aria-selected", i === this.at));
    this.field.setAttribute("aria-activedescendant", list.children[this.at].id);
    list.children[this.at].scrollIntoView({ block: "nearest" });
  }
}
