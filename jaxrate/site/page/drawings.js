// Drawings of one line each, as jaxrate/site/drawings.py makes them: intervals on an axis, and the course of a career.

const svgElement = (tag, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const multiples = (step, low, high) => {
  const marks = [];
  for (let i = Math.ceil(low / step - 1e-9); i <= Math.floor(high / step + 1e-9); i++) marks.push(Number((i * step).toPrecision(12)));
  return marks;
};
const shortNumber = (x) => minus(x.toLocaleString(LANGUAGES, { maximumFractionDigits: 6 }));

// The axis of rows { rating, half }: its ends and marks.

const MIN_MARKS = 3;
const MAX_MARKS = 5;
const MARK_ROOM = 0.06;

const axisMarks = (low, high) => {
  const size = 10 ** Math.floor(Math.log10((high - low) / MAX_MARKS));
  const marks = [1, 2, 2.5, 5, 10].map((k) => multiples(size * k, low, high)).filter((x) => x.length >= MIN_MARKS && x.length <= MAX_MARKS);
  return marks.find((x) => x.length < MAX_MARKS) ?? marks[0];
};
const axisOf = (rows) => {
  if (!rows.length) return { low: 0, high: 1, marks: [] };  // nobody is searched for
  let [low, high] = rows.reduce(([a, b], { rating, half }) => [Math.min(a, rating - half), Math.max(b, rating + half)], [Infinity, -Infinity]);
  if (!(high - low > 1e-9)) [low, high] = [low - 1, high + 1];
  const room = 0.02 * (high - low);
  [low, high] = [low - room, high + room];
  const marks = axisMarks(low, high);
  const edge = MARK_ROOM * (high - low);
  return { low: Math.min(low, marks[0] - edge), high: Math.max(high, marks.at(-1) + edge), marks };
};
const showAxis = (table, axis) => {
  const at = axis.marks.map((x) => onAxis(axis, x) / 10);
  table.querySelector(".axis").replaceChildren(...axis.marks.map((x, i) => make("i", { style: `left:${at[i]}%` }, shortNumber(x))));
  const lines = at.map((x) => `#0000 ${x}%,var(--rule) 0 calc(${x}% + 1px),#0000 0`);
  table.style.setProperty("--grid", lines.join());
  table.style.setProperty("--coarse", lines.filter((_, i) => lines.length < 3 || i % 2 === 0).join());
};
const onAxis = ({ low, high }, x) => Math.round((1000 * (x - low)) / (high - low));

const intervalBar = (axis, { rating, half }, digits) => {
  const [begin, at, end] = [rating - half, rating, rating + half].map((x) => onAxis(axis, x));
  const label = `95% interval ${grouped(rating - half, digits)} to ${grouped(rating + half, digits)}`;
  return svgElement(
    "svg",
    { class: "bar", viewBox: "0 0 1000 10", preserveAspectRatio: "none", ...(half ? { role: "img", "aria-label": label } : { "aria-hidden": "true" }) },
    svgElement("path", half ? { d: `M${begin} 5H${end}` } : {}),
    svgElement("path", { d: `M${at} 0v10` }),
  );
};

const courseLine = (levels) => {
  const points = [...levels].map((level, x) => [x, level === " " ? null : 121 - level.charCodeAt(0)]).filter(([, y]) => y !== null);
  if (!points.length) return "";
  return svgElement(
    "svg",
    { class: "course", viewBox: "0 0 59 56", preserveAspectRatio: "none", "aria-hidden": "true" },
    svgElement("path", { d: `M${points.map((p) => p.join(" ")).join("L")}` }),
    svgElement("path", { d: `M${points.at(-1).join(" ")}h0` }),
  );
};
