// The report: its ranking, the section of a player, and pairs. Its data are compressed.

function report(data) {
  const { board, sections, dated, digits, event, events } = data;
  const linked = (_, place) => {
    const shown = make("bdi", {}, joinFigures(board.name[place]));
    return place in sections ? make("a", { href: `#player-${place}` }, shown) : shown;
  };

  document.documentElement.dataset.script = "";
  translateFigures(document);
  for (const link of document.querySelectorAll("[data-section]")) link.href = `#player-${link.dataset.section}`;
  const rankingTable = ranking(byId("board"), data, { source: () => Promise.resolve(board), linked });

  byId("rest")?.addEventListener("click", () => rankingTable.find(""));

  const [choice, other] = ["choice", "other"].map(byId);
  choice?.append(...data.shown.map((place) => make("option", { value: place }, board.name[place])));
  other?.append(...[...choice.options].map((x) => x.cloneNode(true)));
  const others = new Proxy([], { get: (_, i) => [i, board.name[i]] });
  for (const career of Object.values(sections)) career.others = others;
  let chart;
  let table;

  function draw() {
    byId("note").textContent = sections[choice.value].note;
    const named = (place) => [board.name[place], sections[place]];
    const second = other.value && other.value !== choice.value ? [named(other.value)] : [];
    const careers = [named(choice.value), ...second];
    showCareers(chart, careers, data);
  }

  function open(place) {
    const career = sections[place];
    choice.value = place;
    byId("name").replaceChildren(make("bdi", {}, board.name[place]), spelledNumber(career.form));
    byId("summary").textContent = spelledNumber(career.summary).replace(/\d{4}-\d\d-\d\d/g, spelledDate);
    byId("search-events").value = "";
    const several = career.played > 1;
    byId("chart").hidden = !several;
    byId("compare").hidden = !several;
    if (several) {
      chart ??= new Chart(byId("chart"), { title: "Rating", digits });
      chart.frame.setAttribute("aria-label", `Rating of ${board.name[place]}`);
      other.value = "";
      draw();
    }
    const rows = latestFirst(career);
    const columns = eventColumns(career, data, ([place]) => linked(board, place));
    table?.below.remove();
    const fresh = byId("events").cloneNode(false);
    byId("events").replaceWith(fresh);
    const search = byId("search-events").cloneNode(false);
    byId("search-events").replaceWith(search);
    table = new Table(fresh, columns, { caption: events, file: "player", length: 10, search, linked: false });
    table.fill(rows);
    const missing = career.played - rows.length;
    byId("missing").textContent = missing > 0 ? `The latest ${grouped(rows.length, 0)} of ${grouped(career.played, 0)} ${events}.` : "";
  }

  function followAddress() {
    const place = location.hash.match(/^#player-(\d+)$/)?.[1];
    if (place in sections) {
      open(place);
      byId("player").scrollIntoView();
      byId("name").focus({ preventScroll: true });
    }
  }

  if (choice) {
    open(choice.value);
    choice.addEventListener("change", () => open(choice.value));
    other.addEventListener("change", draw);
    addEventListener("hashchange", followAddress);
    addEventListener("click", (event) => event.target.closest?.("a")?.hash === location.hash && followAddress());
    followAddress();
  }

  if (data.pairs.length) {
    const names = board.name.slice(0, Math.min(...data.pairs.map((x) => x.even.players)));
    const best = names.map((_, i) => i).filter((i) => board.current[i]);
    pairFields(names, data.pairs.map(chancesOf), [best[0] ?? 0, best[1] ?? 1], data, (place) => linked(board, place), board.group);
  }

  document.documentElement.dataset.ready = "";
}

const packed = Uint8Array.from(atob(JSON.parse(byId("data").textContent)), (x) => x.charCodeAt(0));
new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json().then(report);
