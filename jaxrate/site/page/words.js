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

const percent = (p) => {
  const text = (100 * p).toFixed(p > 0.02 && p < 0.98 ? 0 : 1);
  return `${text === "100.0" ? "> 99.9" : text === "0.0" ? "< 0.1" : text} %`;
};
const grouped = (x, digits) => x.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const signed = (x, digits) => x.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay: "exceptZero" });
const day = (x) => new Date(Math.floor(x) * 864e5).toISOString().slice(0, 10);

// Data that several pages need are scripts, so that the site also opens without a web server.

const loaded = {};
const load = (path) =>
  (loaded[path] ??= new Promise((done, fail) => {
    const script = make("script", { src: path });
    script.onload = done;
    script.onerror = () => fail(new Error(`${path} could not be loaded`));
    document.head.append(script);
  }));
