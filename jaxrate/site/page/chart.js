// Ratings as lines, with a tooltip at the pointer. A line has a name, a class, and points { x, y, spread, text }.

const SPACE = { left: 48, right: 12, top: 12, bottom: 26 };
const svgElement = (tag, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const roundMarks = (low, high, most) => {
  const rough = (high - low) / most;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = size * [1, 2, 5, 10].find((k) => size * k >= rough);
  const marks = [];
  for (let x = Math.ceil(low / step) * step; x <= high; x += step) marks.push(x);
  return marks;
};
const years = (low, high, most) => {
  const year = (x) => new Date(x * 864e5).getUTCFullYear();
  const [first, last] = [year(low) + 1, year(high)];
  if (last - first < 1) return [low, high].map((x) => [x, day(x)]);
  const step = [1, 2, 5, 10, 20, 50].find((k) => (last - first) / k <= most) ?? 100;
  const marks = [];
  for (let y = Math.ceil(first / step) * step; y <= last; y += step) marks.push([Date.UTC(y, 0) / 864e5, String(y)]);
  return marks;
};

class Chart {
  constructor(figure, { title, digits }) {
    Object.assign(this, { digits, dated: false, lines: [] });
    this.svg = svgElement("svg", { role: "img", "aria-label": title });
    this.tip = make("p", { class: "tip", "aria-hidden": "true" });
    this.tip.hidden = true;
    this.legend = make("p", { class: "legend" });
    this.frame = make("div", { class: "chart" }, this.svg, this.tip);
    figure.prepend(this.legend, this.frame);
    new ResizeObserver(() => this.draw()).observe(this.frame);
    this.frame.addEventListener("pointermove", (event) => this.point(event));
    this.frame.addEventListener("pointerdown", (event) => this.point(event));
    this.frame.addEventListener("pointerleave", () => this.leave());
  }

  show(lines, dated) {
    this.dated = dated;
    this.lines = lines.filter((line) => line.points.length);
    this.legend.hidden = this.lines.length < 2;
    this.legend.replaceChildren(...this.lines.map((line) => make("span", { class: `key ${line.class}` }, make("bdi", {}, line.name))));
    this.draw();
  }

  draw() {
    const wide = this.frame.clientWidth;
    const high = this.frame.clientHeight;
    const points = this.lines.flatMap((line) => line.points);
    if (!points.length || !wide) return;
    const xs = points.map((p) => p.x);
    const least = (values) => values.reduce((a, b) => Math.min(a, b));
    const most = (values) => values.reduce((a, b) => Math.max(a, b));
    let [x0, x1] = [least(xs), most(xs)];
    if (x0 === x1) [x0, x1] = [x0 - 1, x1 + 1];
    const bare = [least(points.map((p) => p.y)), most(points.map((p) => p.y))];
    const room = 0.6 * (bare[1] - bare[0]) + 1e-9; // wide intervals of the first matches may leave the picture
    let y0 = Math.max(least(points.map((p) => p.y - p.spread)), bare[0] - room);
    let y1 = Math.min(most(points.map((p) => p.y + p.spread)), bare[1] + room);
    if (y1 - y0 < 1e-6) [y0, y1] = [y0 - 1, y1 + 1];
    this.x = (x) => SPACE.left + ((x - x0) / (x1 - x0)) * (wide - SPACE.left - SPACE.right);
    this.y = (y) => SPACE.top + ((y1 - Math.min(Math.max(y, y0), y1)) / (y1 - y0)) * (high - SPACE.top - SPACE.bottom);
    const parts = [];
    for (const y of roundMarks(y0, y1, 8)) {
      parts.push(svgElement("path", { class: "grid", d: `M${SPACE.left} ${this.y(y)}H${wide - SPACE.right}` }));
      parts.push(svgElement("text", { class: "mark end", x: SPACE.left - 6, y: this.y(y) + 4 }, Number(y.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 6 })));
    }
    const marks = this.dated ? years(x0, x1, wide / 70) : roundMarks(x0, x1, wide / 70).map((x) => [x, String(Number(x.toPrecision(9)))]);
    marks.forEach(([x, text]) => {
      const at = this.x(x);
      const kind = at < 70 ? "start" : at > wide - 50 ? "end" : "middle";
      parts.push(svgElement("text", { class: `mark ${kind}`, x: at, y: high - 6 }, text));
    });
    for (const line of this.lines) {
      const put = (y) => line.points.map((p) => `${this.x(p.x).toFixed(1)} ${this.y(y(p)).toFixed(1)}`);
      if (line.points.some((p) => p.spread > 0)) {
        const band = [...put((p) => p.y + p.spread), ...put((p) => p.y - p.spread).reverse()];
        parts.push(svgElement("path", { class: `area ${line.class}`, d: `M${band.join("L")}Z` }));
      }
      parts.push(svgElement("path", { class: `line ${line.class}`, d: `M${put((p) => p.y).join("L")}` }));
    }
    this.dots = this.lines.map((line) => svgElement("circle", { class: `dot ${line.class}`, r: 4, visibility: "hidden" }));
    this.svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    this.svg.replaceChildren(...parts, ...this.dots);
  }

  point(event) {
    if (!this.dots) return;
    const box = this.frame.getBoundingClientRect();
    const at = event.clientX - box.left;
    const nearest = this.lines.map((line) => {
      const gap = (p) => Math.abs(this.x(p.x) - at);
      return line.points.reduce((best, p) => (gap(p) <= gap(best) ? p : best));
    });
    nearest.forEach((p, i) => {
      for (const [name, value] of [["cx", this.x(p.x)], ["cy", this.y(p.y)], ["visibility", "visible"]]) this.dots[i].setAttribute(name, value);
    });
    this.tip.replaceChildren(
      ...nearest.map((p, i) => {
        const name = this.lines.length > 1 ? `${this.lines[i].name}: ` : "";
        const spread = p.spread ? ` ± ${grouped(p.spread, this.digits)}` : "";
        return make("span", {}, `${name}${grouped(p.y, this.digits)}${spread}${p.text && ", "}${p.text}`);
      }),
    );
    this.tip.hidden = false;
    this.tip.style.left = "0"; // where it is as wide as it wants to be
    const over = nearest.reduce((sum, p) => sum + this.y(p.y), 0) < (nearest.length * box.height) / 2;
    [this.tip.style.top, this.tip.style.bottom] = over ? ["auto", `${SPACE.bottom}px`] : ["0", "auto"];
    const left = Math.min(Math.max(at + 12, 0), Math.max(box.width - this.tip.offsetWidth, 0));
    this.tip.style.left = `${left}px`;
  }

  leave() {
    this.tip.hidden = true;
    this.dots?.forEach((dot) => dot.setAttribute("visibility", "hidden"));
  }
}
