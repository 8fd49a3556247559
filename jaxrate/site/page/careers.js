// Careers, the earliest event first, and their lines on a chart.

const resultWords = { 1: "won", 0.5: "drew", 0: "lost" };
const resultMarks = { 1: "up", 0: "drop" };
const resultOf = (career, i) => (career.score ? (resultWords[career.score[i]] ?? `scored ${career.score[i]}`) + (career.points?.[i] ? ` ${career.points[i]}` : "") : `${grouped(career.place[i], 0)} of ${grouped(career.among[i], 0)}`);
const playersOf = (career, key, i) => [career[key][i]].flat().map((x) => career.others[x]);
const joinNames = (players) => players.map(([, name]) => name).join(", ");
const linkAll = (players, linked) => {
  const shown = new DocumentFragment();
  players.forEach((x, i) => shown.append(...(i ? [", "] : []), linked(x)));
  return shown;
};
const shownTime = (x, dated) => (x === null || x === undefined ? "" : dated ? spelledDate(day(x)) : grouped(x, 0, { maximumFractionDigits: 3, useGrouping: false }));

// Shows one player, with a second line if there is hindsight, or two players: [name, career] of each. Of a career that is
// not told as a whole, `number` are the numbers of its events, and `drawn` those of them that are on the line. `pauses` are
// the events before which it is broken. The first events of a career twice as long or longer may run off the chart.

function showCareers(chart, careers, { dated, firstEvents, events }) {
  const byTime = careers.some(([, { time }]) => time && time[0] !== time.at(-1));
  const line = (name, kind, career, key, spreads, textOf) => {
    const numberOf = (i) => career.number?.[i] ?? i + 1;
    const all = career[key].map((y, i) => ({ x: byTime ? career.time[i] : numberOf(i), number: numberOf(i), y, spread: career[spreads]?.[i] ?? 0, text: textOf(i), broken: career.pauses?.includes(i) }));
    const points = career.drawn?.map((i) => all[i]) ?? all;
    const settled = (career.played ?? all.length) < 2 * firstEvents ? 0 : points.findIndex(({ number }) => number > firstEvents);
    const peak = key === "rating" ? points.find(({ number }) => number === career.peak) : undefined;
    return { name, class: kind, points, first: settled, peak, lead: career.lead };
  };
  const describeEvent = (career) => (i) => {
    const mates = career.mates?.[i].length ? ` with ${joinNames(playersOf(career, "mates", i))}` : "";
    const against = career.score ? ` against ${joinNames(playersOf(career, "opponent", i))}` : career.contest ? ` in ${career.contest[i]}` : "";
    return `${career.time ? `${shownTime(career.time[i], dated)}, ` : ""}${resultOf(career, i)}${mates}${against}`;
  };
  const lines = careers.map(([name, career], i) => line(name, i ? "second" : "first", career, "rating", "spread", describeEvent(career)));
  const [[, career], other] = careers;
  if (career.known && !other) {
    lines[0].name = "at the time";
    lines.push(line("in hindsight", "second now", career, "known", "knownSpread", () => ""));
  }
  if (other) byId("note").textContent = describeComparison(lines, firstEvents, events);
  chart.show(lines, dated && byTime, !byTime);
}

// What the chart of two shows besides the lines.

const describeComparison = (lines, firstEvents, events) =>
  [
    lines.some(({ first }) => first > 0) && `The first ${firstEvents} ${events} may run off the chart.`,
    lines.some(({ peak }) => peak) && "The dots are the peaks.",
    lines.some(({ points }) => points.some(({ broken }) => broken)) && "A dotted line leads over a pause of years.",
    lines.some(({ points }) => points.some(({ spread }) => spread > 0)) && "The bands are the 95% intervals at the time.",
  ]
    .filter(Boolean)
    .join(" ");

// The columns of the table of a career, whose rows { i } are events.

function eventColumns(career, about, linked) {
  const { dated, digits, event, halves } = about;
  const at = (key, { i }) => career[key].at(i - career.rating.length); // some columns only have the last events
  const of = (key) => (row) => at(key, row);
  const rating = (x) => grouped(x, digits);
  const players = (name, key) => ({ name, text: true, searched: true, value: (row) => joinNames(playersOf(career, key, row.i)), show: (_, row) => linkAll(playersOf(career, key, row.i), linked) });
  const mates = career.mates ? [players("with", "mates")] : [];
  const columns = [];
  if (career.time) columns.push({ name: dated ? "date" : "time", text: dated, kind: "words", value: (row) => (dated ? day(career.time[row.i]) : career.time[row.i]), show: (x) => (dated ? timeElement(x) : shownTime(x, false)) });
  if (career.score) {
    columns.push(...mates, players(career.mates ? "opponents" : "opponent", "opponent"));
    if (career.ground) columns.push({ name: about.sides.head, kind: "h", text: true, value: (row) => about.sides.names[at("ground", row)] });
    columns.push({ name: "result", text: true, value: (row) => resultOf(career, row.i), mark: (_, row) => resultMarks[career.score[row.i]] });
    columns.push({ name: halves ? "expected" : "chance", title: halves ? "the expected score before the match; a draw counts as half" : "to win, before the match", value: of("chance"), show: percent });
    if (career.draw) columns.push({ name: "draw", title: "the chance of a draw before the match", value: of("draw"), show: percent });
  } else {
    columns.push({ name: "contest", text: true, searched: true, value: (row) => String(career.contest[row.i]), show: (x) => make("bdi", {}, x) });
    columns.push({ name: "place", value: of("place"), show: (_, row) => resultOf(career, row.i) });
    columns.push({ name: "expected", title: "the expected place before the contest", value: of("expected"), show: (x) => grouped(x, 1) });
    columns.push(...mates);
  }
  columns.push({ name: "rating", title: `after the ${event}`, value: of("rating"), show: rating });
  columns.push({ name: "change", title: `by the ${event}`, value: of("change"), show: (x) => signed(x, digits) });
  for (const [name, values] of Object.entries(career.columns ?? {})) {
    const text = values.some((x) => typeof x === "string");
    columns.push({ name, text, kind: name === about.category ? "h" : "", value: (row) => values[row.i], show: (x) => (x === null ? "" : text ? make("bdi", {}, x) : String(x)) });
  }
  return columns;
}

const latestFirst = ({ rating, listed }) => rating.map((_, i) => ({ i })).reverse().slice(0, listed);
