// Helpers of all scripts: elements, searchable names, and formatted numbers.

const byId = (id) => document.getElementById(id);
const make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

const SINGLE = { ł: "l", ø: "o", đ: "d", ð: "d", þ: "th", ß: "ss", æ: "ae", œ: "oe", ı: "i" };
const fold = (text) =>
  text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[łøđðþßæœı]/g, (x) => SINGLE[x]).replace(/[-'’.]/g, " ");

// Names in which no line ends within figures, as those of a date.

const joinFigures = (name) => name.replace(/(?<=\d)-(?=\d)/g, "\u2011");

// Numbers and dates as the languages that the reader prefers have them.

const LANGUAGES = navigator.languages.filter((x) => /^[\w-]+$/.test(x));

const minus = (text) => text.replace("-", "−");
const grouped = (x, digits, options = {}) => {
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits, ...options };
  const isZero = x < 0 && Number(x.toFixed(format.maximumFractionDigits)) === 0; // which has no sign
  return minus((isZero ? 0 : x).toLocaleString(LANGUAGES, format));
};
const signed = (x, digits) => grouped(x, digits, { signDisplay: "exceptZero" });
const percentage = (x, digits) => grouped(x / 100, digits, { style: "percent" });
const percentTo = (p, digits) => {
  const text = (100 * p).toFixed(digits);
  return text === "100.0" ? `>\u00a0${percentage(99.9, 1)}` : text === "0.0" ? `<\u00a0${percentage(0.1, 1)}` : percentage(Number(text), digits);
};
const isClear = (p) => p > 0.02 && p < 0.98;
const percent = (p) => percentTo(p, isClear(p) ? 0 : 1);
// Probabilities of all that may happen: whole percents add up to 100, or all have tenths.

const percents = (chances) => {
  if (!chances.every(isClear)) return chances.map((p) => percentTo(p, 1));
  const whole = chances.map((p) => Math.floor(100 * p));
  const byRest = chances.map((_, i) => i).sort((i, j) => whole[i] - 100 * chances[i] - (whole[j] - 100 * chances[j]));
  for (const i of byRest.slice(0, 100 - whole.reduce((a, b) => a + b))) whole[i] += 1;
  return whole.map((x) => percentage(x, 0));
};
const day = (x) => new Date(Math.floor(x) * 864e5).toISOString().slice(0, 10);
const spellings = [{ year: "numeric", month: "short" }, { year: "numeric", month: "short", day: "numeric" }].map((x) => new Intl.DateTimeFormat(LANGUAGES, { ...x, timeZone: "UTC" }));
const spelledDate = (iso) => {
  const [, date, time = ""] = iso.match(/^(\d{4}-\d\d(?:-\d\d)?)( .*)?$/) ?? [];
  return date ? spellings[date.length > 7 ? 1 : 0].format(new Date(`${date}${date.length > 7 ? "" : "-01"}T00:00Z`)) + time : iso;
};
const spelledNumber = (text) =>
  text.replace(/(?<![\d.,])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d+(?=%))(?![.,]?\d)(%?)/g, (_, x, sign) =>
    (sign ? percentage : grouped)(Number(x.replaceAll(",", "")), x.split(".")[1]?.length ?? 0),
  );
const timeElement = (iso) => make("time", { datetime: iso }, spelledDate(iso));

// What was written into the page, in English and with ISO dates, in the reader's language. Names are in `bdi`.

function translateFigures(part) {
  for (const time of part.querySelectorAll("time:not([datetime])")) {
    time.dateTime = time.textContent;
    time.textContent = spelledDate(time.dateTime);
  }
  if (grouped(1234.5, 1) === "1,234.5") return;
  const texts = document.createTreeWalker(part.body ?? part, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (!text.parentElement.closest("bdi, time, script, style, option, pre, code")) text.data = spelledNumber(text.data);
  }
  for (const drawing of part.querySelectorAll("svg[aria-label]")) drawing.ariaLabel = spelledNumber(drawing.ariaLabel);
}

// What the reader has chosen stands in the address, so that it can be linked: search, order, list, comparison and pair.

const asked = () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
const remember = (choices) => {
  const now = asked();
  for (const [name, value] of Object.entries(choices)) value ? now.set(name, value) : now.delete(name);
  history.replaceState(null, "", String(now) ? `#${now}` : location.pathname);
};
addEventListener("hashchange", () => location.hash.includes("=") && location.reload());

// Data that several pages need are scripts, so that the site also opens without a web server.

const loaded = {};
const load = (path) =>
  (loaded[path] ??= new Promise((done, fail) => {
    const script = make("script", { src: path });
    script.onload = done;
    script.onerror = () => fail(new Error(`${path} could not be loaded`));
    document.head.append(script);
  }));
