// Careers, the earliest event first, and their lines on a chart.

const resultWords = { 1: "won", 0.5: "drew", 0: "lost" };
const resultOf = (career, i) => (career.score ? (resultWords[career.score[i]] ?? `scored ${career.score[i]}`) + (career.points ? ` ${career.points[i]}` : "") : `${grouped(career.place[i], 0)} of ${grouped(career.among[i], 0)}`);
const opponentOf = (career, i) => career.others[career.opponent[i]];
const shownTime = (x, dated) => (x === null || x === undefined ? "" : dated ? day(x) : String(x));

// Shows one player, with a second line if there is hindsight, or two players: [name, career] of each.

function showCareers(chart, careers, dated) {
  const byTime = careers.some(([, { time }]) => time && time[0] !== time.at(-1));
  const line = (name, kind, { time }, ratings, spreads, textOf) => ({
    name,
    class: kind,
    points: ratings.map((y, i) => ({ x: byTime ? time[i] : i + 1, y, spread: spreads?.[i] ?? 0, text: textOf(i) })),
  });
  const describeEvent = (career) => (i) => {
    const against = career.score ? ` against ${opponentOf(career, i)[1]}` : career.contest ? ` in ${career.contest[i]}` : "";
    return `${career.time ? `${shownTime(career.time[i], dated)}, ` : ""}${resultOf(career, i)}${against}`;
  };
  const lines = careers.map(([name, career], i) => line(name, i ? "second" : "first", career, career.rating.slice(1), career.spread, describeEvent(career)));
  const [[, career], other] = careers;
  if (career.known && !other) {
    lines[0].name = "as known then";
    lines.push(line("as known now", "second now", career, career.known, career.knownSpread, () => ""));
  }
  chart.show(lines, dated && byTime);
}
