// Ratings as lines, with a tooltip at the pointer, or at the marker that arrow keys move. A line has a name, a class, and points { x, y, spread, text, broken },
// `first` tells how many points at its beginning may run off the chart, and `peak` which one is marked. A line is broken before a broken
// point, and dots lead over the gap. The
// chart has the form of those in the page: lines in thousandths of its size, labels beside them in percent.

const UNITS = 1000;
const PEAK_ROOM = 16; // pixels to the right of the chart into which the label of a peak may reach
const EDGE_ROOM = 0.05; // of the height of lines and bands: free above and below them
const MONTH_STEPS = [1, 2, 3, 4, 6];

// Marks of dates: years, or where there are fewer than three, months, or else the ends and the middle.

const dateMarks = (low, high, most) => {
  const [begin, end] = [low, high].map((x) => new Date(Math.floor(x) * 864e5));
  const [first, last] = [begin.getUTCFullYear() + 1, end.getUTCFullYear()];
  const step = [1, 2, 5, 10, 20, 50].find((k) => (last - first) / k <= most) ?? 100;
  const marks = [];
  for (let y = Math.ceil(first / step) * step; y <= last; y += step) marks.push([Date.UTC(y, 0) / 864e5, String(y)]);
  if (marks.length >= 3) return marks;
  const months = (date) => 12 * date.getUTCFullYear() + date.getUTCMonth();
  const starts = [];
  for (let m = months(begin) + (begin.getUTCDate() > 1); m <= months(end); m++) starts.push(m);
  const some = MONTH_STEPS.map((k) => starts.filter((m) => m % k === 0)).find((x) => x.length >= 3 && x.length <= 5);
  if (some) return some.map((m) => Date.UTC(Math.floor(m / 12), m % 12) / 864e5).map((x) => [x, spelledDate(day(x).slice(0, 7))]);
  return [...new Set([low, Math.floor((Math.floor(low) + Math.floor(high)) / 2), high])].map((x) => [x, spelledDate(day(x))]);
};

const piecesOf = (points) => {
  const pieces = [];
  for (const p of points) p.broken || !pieces.length ? pieces.push([p]) : pieces.at(-1).push(p);
  return pieces;
};

class Chart {
  constructor(figure, { title, digits }) {
    Object.assign(this, { digits, dated: false, counted: false, lines: [], dots: [] });
    this.svg = svgElement("svg", { viewBox: `0 0 ${UNITS} ${UNITS}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    this.labels = make("span", { "aria-hidden": "true" });
    this.tip = make("p", { class: "tip", "aria-hidden": "true" });
    this.tip.hidden = true;
    this.legend = make("p", { class: "legend" });
    this.frame = make("div", { class: "chart", tabindex: 0, role: "slider", "aria-label": title, "aria-valuemin": 1 }, this.svg, this.labels, this.tip);
    figure.querySelectorAll(".chart, .keys, .key").forEach((x) => x.remove());
    this.strip = figure.querySelectorAll(".strip, .of-strip"); // along the axis of one career
    figure.prepend(this.legend, this.frame);
    new ResizeObserver(() => this.draw()).observe(this.frame);
    for (const kind of ["pointermove", "pointerdown"]) this.frame.addEventListener(kind, (event) => this.point(event.clientX - this.frame.getBoundingClientRect().left));
    for (const kind of ["pointerleave", "blur"]) this.frame.addEventListener(kind, () => this.leave());
    this.frame.addEventListener("keydown", (event) => this.press(event));
  }

  show(lines, dated, counted) {
    Object.assign(this, { dated, counted });
    this.lines = lines.filter((line) => line.points.length);
    this.legend.hidden = this.lines.length < 2;
    this.strip.forEach((x) => (x.hidden = lines.length > 1 && !lines[1].class.includes("now")));
    this.walk(this.lines[0]?.points.length - 1);
    this.legend.replaceChildren(...this.lines.map((line) => make("span", { class: `key ${line.class}` }, make("bdi", {}, line.name))));
    this.draw();
  }

  draw() {
    const points = this.lines.flatMap((line) => line.points);
    if (!points.length) return;
    const least = (values) => values.reduce((a, b) => Math.min(a, b));
    const most = (values) => values.reduce((a, b) => Math.max(a, b));
    const settled = this.lines.flatMap((line) => line.points.slice(line.first));
    const xs = points.map((p) => p.x);
    let [x0, x1] = [least(xs), most(xs)];
    if (x0 === x1) [x0, x1] = [x0 - 1, x1 + 1];
    let [y0, y1] = [least(settled.map((p) => p.y - p.spread)), most(settled.map((p) => p.y + p.spread))];
    const room = y1 - y0 < 1e-6 ? 1 : EDGE_ROOM * (y1 - y0);
    [y0, y1] = [y0 - room, y1 + room];
    this.x = (x) => (x - x0) / (x1 - x0);
    this.y = (y) => (y1 - y) / (y1 - y0);
    const put = (p, y) => `${(UNITS * this.x(p.x)).toFixed(1)} ${(UNITS * this.y(y)).toFixed(1)}`;
    const heights = axisMarks(y0, y1);
    const wide = this.frame.clientWidth / 70;
    const numbers = () => axisMarks(x0, x1).filter((x) => !this.counted || Number.isInteger(x));
    const marks = this.dated ? dateMarks(x0, x1, wide) : numbers().map((x) => [x, shortNumber(x)]);
    this.labels.replaceChildren(
      ...heights.map((y) => make("b", { class: "tall", style: `top:${100 * this.y(y)}%` }, shortNumber(y))),
      ...marks.map(([x, text]) => make("b", { class: `wide${x === x0 ? " begin" : x === x1 ? " end" : ""}`, style: `left:${100 * this.x(x)}%` }, text)),
    );
    const parts = [svgElement("path", { class: "grid", d: heights.map((y) => `M0 ${(UNITS * this.y(y)).toFixed(1)}H${UNITS}`).join("") })];
    for (const line of this.lines) {
      const pieces = piecesOf(line.points);
      if (line.points.some((p) => p.spread > 0)) {
        const outline = (piece) => [...piece.map((p) => put(p, p.y + p.spread)), ...piece.map((p) => put(p, p.y - p.spread)).reverse()];
        parts.push(svgElement("path", { class: `area ${line.class}`, d: pieces.map((x) => `M${outline(x).join("L")}Z`).join("") }));
      }
      parts.push(svgElement("path", { class: `line ${line.class}`, d: pieces.map((x) => `M${x.map((p) => put(p, p.y)).join("L")}${x.length > 1 ? "" : "h0"}`).join("") }));
      const bridges = pieces.slice(1).map((x, i) => [pieces[i].at(-1), x[0]].map((p) => put(p, p.y)).join("L"));
      if (bridges.length) parts.push(svgElement("path", { class: `line ${line.class} pause`, d: `M${bridges.join("M")}` }));
    }
    for (const { peak } of this.lines) if (peak) parts.push(svgElement("path", { class: "peak", d: `M${put(peak, peak.y)}h0` }));
    this.svg.replaceChildren(...parts);
    this.labelPeaks();
    this.dots.forEach((dot) => dot.remove());
    this.dots = this.lines.map(() => make("i", { class: "dot", hidden: "" }));
    this.frame.append(...this.dots);
  }

  // The label of each peak above its dot, or below it where it would touch another.

  labelPeaks() {
    const taken = [];
    for (const { peak, lead, class: kind } of this.lines) {
      if (!peak) continue;
      const year = this.dated ? ` (${new Date(864e5 * Math.floor(peak.x)).getUTCFullYear()})` : "";
      const place = `left:${100 * this.x(peak.x)}%;top:${100 * this.y(peak.y)}%`;
      const label = make("b", { class: `top ${kind}`, style: place }, `peak ${lead === undefined ? grouped(peak.y, this.digits) : signed(lead, this.digits)}${year}`);
      this.labels.append(label);
      const [x, width, half] = [this.frame.clientWidth * this.x(peak.x), this.frame.clientWidth, label.offsetWidth / 2];
      if (x + half > width + PEAK_ROOM) label.classList.add("late");
      else if (x < half) label.classList.add("early");
      const box = label.getBoundingClientRect();
      const touches = (other) => box.left < other.right + 3 && other.left < box.right + 3 && box.top < other.bottom && other.top < box.bottom;
      if (taken.some(touches)) label.style.setProperty("--lift", `${-box.height - 6}px`);
      taken.push(label.getBoundingClientRect());
    }
  }

  // Keys move a marker from point to point of the first line, and what it says is read out.

  press(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity }[event.key];
    if (!step || !this.dots.length) return;
    event.preventDefault();
    this.walk(this.at + (this.tip.hidden && step === -1 ? 0 : step));
    const marked = this.lines[0].points[this.at];
    this.point(this.x(marked.x) * this.frame.clientWidth, marked);
    this.frame.setAttribute("aria-valuetext", [...this.tip.children].map((x) => x.textContent).join("; "));
  }

  walk(to) {
    const count = this.lines[0]?.points.length ?? 1;
    this.at = Math.min(Math.max(to, 0), count - 1);
    this.frame.setAttribute("aria-valuemax", count);
    this.frame.setAttribute("aria-valuenow", this.at + 1);
  }

  // What the lines say at so many pixels from the left; of the first line, a point that is `marked`.

  point(at, marked) {
    if (!this.dots.length) return;
    const nearest = this.lines.map((line, i) => {
      const gap = (p) => Math.abs(this.x(p.x) * this.frame.clientWidth - at);
      return (i === 0 && marked) || line.points.reduce((best, p) => (gap(p) <= gap(best) ? p : best));
    });
    nearest.forEach((p, i) => {
      Object.assign(this.dots[i].style, { left: `${100 * this.x(p.x)}%`, top: `${100 * this.y(p.y)}%` });
      this.dots[i].hidden = false;
    });
    this.tip.replaceChildren(
      ...nearest.map((p, i) => {
        const name = this.lines.length > 1 ? `${this.lines[i].name}: ` : "";
        const spread = p.spread ? ` ± ${grouped(p.spread, this.digits)}` : "";
        const rating = `${name}${grouped(p.y, this.digits)}${spread}`;
        return make("span", {}, ...(name && p.text ? [rating, make("i", {}, p.text)] : [`${rating}${p.text && ", "}${p.text}`]));
      }),
    );
    this.tip.hidden = false;
    this.tip.style.left = "0"; // where it is as wide as it wants to be
    const over = nearest.reduce((sum, p) => sum + this.y(p.y), 0) < nearest.length / 2;
    const [left, top] = this.tipPlace(at, over);
    Object.assign(this.tip.style, { left: `${left}px`, top: `${top}px` });
  }

  // Beside the pointer, where there is more room or where no label of a peak is covered.

  tipPlace(at, over) {
    const [wide, high] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const [width, height] = [this.frame.clientWidth, this.frame.clientHeight];
    const sides = at > width / 2 ? [at - 12 - wide, at + 12] : [at + 12, at - 12 - wide];
    const tops = over ? [height - high, 0] : [0, height - high];
    const places = sides.flatMap((x) => tops.map((y) => [Math.max(Math.min(x, width - wide), 0), y]));
    const frame = this.frame.getBoundingClientRect();
    const peaks = [...this.labels.querySelectorAll(".top")].map((x) => x.getBoundingClientRect());
    const covers = ([x, y]) => peaks.some((b) => b.left - frame.left < x + wide && x < b.right - frame.left && b.top - frame.top < y + high && y < b.bottom - frame.top);
    return places.find((place) => !covers(place)) ?? places[0];
  }

  leave() {
    this.tip.hidden = true;
    this.dots.forEach((dot) => (dot.hidden = true));
  }
}
