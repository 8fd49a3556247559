// A combobox that suggests names during typing, regardless of case and accents, and names spelled alike if there are none.

const SUGGESTED = 12;
const NEAREST = 3; // names that are offered where none is as typed
const LIKE = 0.6; // from which share of letters on that are right, on average, a name is like what was typed

// The least number of letters to insert, to leave out and to replace that make one word the other.

function editsBetween(one, other) {
  let row = [...Array(other.length + 1).keys()];
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1];
    for (let k = 0; k < other.length; k++) next.push(Math.min(next[k] + 1, row[k + 1] + 1, row[k] + (one[i] !== other[k])));
    row = next;
  }
  return row[other.length];
}

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
    if (part && !this.found.length) this.found = this.nearest();
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

  // The places of names that are spelled like what was typed, the nearest first: by the edits from word to word.

  nearest() {
    const typed = fold(this.field.value).split(" ").filter(Boolean);
    const likeness = (name) => {
      const words = name.split(" ").filter(Boolean);
      const best = typed.map((word) => Math.max(...words.map((x) => 1 - editsBetween(word, x) / Math.max(word.length, x.length))));
      return best.reduce((x, y) => x + y, 0) / best.length;
    };
    return this.folded
      .map((name, place) => ({ place, likeness: likeness(name) }))
      .filter((x) => x.likeness >= LIKE)
      .sort((x, y) => y.likeness - x.likeness || x.place - y.place)
      .slice(0, NEAREST)
      .map(({ place }) => place);
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
