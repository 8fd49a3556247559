// Predictions for any pair, from the tables of jaxrate/forecasts/pairwise_probabilities.py.

const tableOf = ({ players, scale, left, right }, skew) => {
  const numbers = (packed) => new Int16Array(Uint8Array.from(atob(packed), (x) => x.charCodeAt(0)).buffer);
  const [u, v] = [numbers(left), numbers(right)];
  return (a, b) => {
    const term = (k) => u[k * players + a] * v[k * players + b] - (skew ? v[k * players + a] * u[k * players + b] : 0);
    return Math.min(Math.max(scale.reduce((sum, c, k) => sum + c * term(k), skew ? 0.5 : 0), 0), 1);
  };
};

// The probabilities { win, draw, loss } of the first of two players; the side is "", "first" or "second".

const chancesOf = (packed) => {
  const { even, draw, home, home_draw: homeDraw } = packed;
  const [score, drawn, scoreAt, drawnAt] = [tableOf(even, true), ...[draw, home, homeDraw].map((x) => x && tableOf(x, false))];
  return (a, b, side) => {
    const turned = side === "second";
    const given = turned ? [b, a] : [a, b];
    const expected = side ? scoreAt(...given) : score(a, b);
    const half = Math.min((side ? drawnAt : drawn)?.(...given) ?? 0, 2 * expected, 2 - 2 * expected) / 2;
    const [win, loss] = [expected - half, 1 - expected - half];
    return { win: turned ? loss : win, draw: 2 * half, loss: turned ? win : loss };
  };
};

// The probability to win a series of independent matches, from that of one match.

const series = (p, games) => {
  const need = (games + 1) / 2;
  let [total, term] = [0, p ** need];
  for (let lost = 0; lost < need; lost++) {
    total += term;
    term *= ((1 - p) * (need + lost)) / (lost + 1);
  }
  return total;
};

// The fields that choose two players, the category, the side and one match or a series, and the prediction; the chances
// are those of each category, and `group` the numbers of groups that no chain of events joins.

function pairFields(names, chances, places, { noun, events }, who, group, changed = () => {}) {
  const [games, side, category] = ["games", "side", "category"].map(byId);
  const nameSide = (i) => {
    if (side && places[i] !== null) side.options[i + 1].textContent = names[places[i]];
  };
  const notFound = ({ found, field }) => (found.length ? "Choose a name from the list." : make("p", {}, "There is no ", noun, " called ", make("bdi", {}, field.value.trim()), "."));
  const answer = () => {
    const [a, b] = places;
    const unknown = pickers.find(({ place, field }) => place === null && field.value.trim());
    byId("bar").hidden = a === null || b === null || a === b;
    if (byId("bar").hidden) {
      const same = a !== null && a === b ? "Choose two different ones." : "Choose two.";
      byId("answer").replaceChildren(unknown ? notFound(unknown) : same);
      return;
    }
    for (const part of document.querySelectorAll("[data-category]")) part.hidden = part.dataset.category !== category.value;
    let { win, draw, loss } = chances[category?.value ?? 0](a, b, side?.value ?? "");
    const length = Number(games?.value ?? 1);
    if (length > 1) {
      win = series(win, length);
      loss = 1 - win;
    }
    const lines = [["win", who(a), win], ...(draw ? [["draw", "draw", draw]] : []), ["loss", who(b), loss]];
    const shown = percents(lines.map(([, , x]) => x));
    const what = length > 1 ? " in the series:" : "";
    byId("answer").replaceChildren(...lines.map(([kind, name], i) => make("p", { class: kind }, name, `${what} ${shown[i]}`)));
    if (group && group[a] !== group[b]) byId("answer").append(make("div", { class: "note" }, `No chain of ${events} joins the two: their ratings cannot be compared, and these are the chances of strangers.`));
    [win, draw, loss].forEach((x, i) => (byId("bar").children[i].style.flexGrow = x));
    changed(a, b);
  };
  const pickers = ["first", "second"].map((id, i) => {
    const chosen = (place) => {
      places[i] = place;
      nameSide(i);
      answer();
    };
    const picker = new Picker(byId(id), byId(`${id}-names`), names, chosen);
    picker.field.value = names[places[i]] ?? "";
    picker.place = places[i];
    nameSide(i);
    return picker;
  });
  [games, side, category].forEach((field) => field?.addEventListener("change", answer));
  answer();
}
