"""Benchmarks as one HTML page that needs no network: how near the best rating of each history comes to ceilings."""

from collections.abc import Mapping
from typing import NamedTuple

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.evaluation.benchmark import Benchmark
from jaxrate.evaluation.scored_predictions import LOSS_DIFFERENCE_HEAD, ScoredForecaster
from jaxrate.site.drawings import Axis, interval_bar, make_axis, site_icon, site_mark
from jaxrate.site.page_templates import STYLE_FILES, load_template_and_assets
from jaxrate.site.system_bars import (
    BLEND_TITLE,
    SystemRow,
    compare_in_words,
    describe_gap,
    gap_and_half_width,
    name_systems_in_print,
)
from jaxrate.systems.system_titles import system_title

SCRIPT_FILES = ("words.js",)


class HistorySection(NamedTuple):
    """What the page says of one history."""

    anchor: str
    title: str
    scored: str
    scored_on: str
    findings: list[str]
    notes: list[str]
    axis: Axis
    systems: list[SystemRow]
    ceilings: list[SystemRow]
    best: SystemRow
    ceiling: SystemRow | None  # the best forecast of others, odds or trees of all matches
    rating_gap: str  # how far the best rating is behind it
    verdict: str  # how the two compare, as a headline
    is_ahead: bool  # whether the ceiling is ahead by more than the 95% interval
    is_fitted: bool  # whether a system is fitted
    head: list[str]
    cells: list[list[str]]


@enforce_argument_annotations
def benchmark_page_html(benchmarks: Mapping[str, Benchmark], *, title: str = "Benchmark") -> str:
    """The HTML of the page, to be written to a file in UTF-8.

        result = jr.evaluation.benchmark_systems("games.csv", ["elo", "glicko"])
        page = jr.site.benchmark_page_html({"Our league": result})
        pathlib.Path("benchmark.html").write_text(page, encoding="utf-8")

    Its heading is what was found. Of several histories it begins with a table of the best ratings and the best
    ceilings.

    Args:
      benchmarks: from `league.benchmark_systems`, by the titles of their histories; one or more.
      title: the title of the page.

    Raises:
      ValueError: without a benchmark, or for what is none.
      ImportError: if jinja2 is not installed.
    """
    if not benchmarks:
        raise ValueError("benchmarks is empty; give one or more, as {'Our league': benchmark}")
    template, assets = load_template_and_assets("benchmark.html", STYLE_FILES, SCRIPT_FILES)
    sections = [
        _build_section(f"history-{number}", name, benchmark)
        for number, (name, benchmark) in enumerate(benchmarks.items(), 1)
    ]
    return str(
        template.render(
            **assets,
            title=title,
            headline=_write_headline(sections),
            histories=sections,
            is_fitted=any(section.is_fitted for section in sections),
            mark=site_mark(),
            icon=site_icon(),
            data={},
        )
    )


def _build_section(anchor: str, title: str, benchmark: Benchmark) -> HistorySection:
    systems = [row for row in benchmark.rows if row.kind == "system"]
    ceilings = [row for row in benchmark.rows if row.kind not in ("system", "frequencies") and row.scored]
    gaps = [(0.0, None), *(gap_and_half_width(row.log_loss_difference) for row in [*systems[1:], *ceilings])]
    low, high = (choose(gap + sign * (half or 0.0) for gap, half in gaps) for choose, sign in ((min, -1), (max, 1)))
    axis = make_axis(low, high)
    rows = [_build_row(row, axis) for row in (*systems, *ceilings)]
    complete = (row for row in ceilings if row.kind != "blend" and row.scored == benchmark.scored)
    ceiling = next(complete, None)
    lead, half = (0.0, None) if ceiling is None else gap_and_half_width(ceiling.log_loss_difference)
    best = rows[0].name
    verdict = f"{best} predicts best of the systems"
    if ceiling is not None:
        verdict = f"{_row_title(ceiling)} {compare_in_words(ceiling.log_loss_difference, best)}"
    names = [row.name for row in systems]
    columns = [i for i, name in enumerate(benchmark.head) if name != LOSS_DIFFERENCE_HEAD]  # which the bars have
    return HistorySection(
        anchor,
        title,
        f"{benchmark.scored:,}",
        benchmark.scored_on,
        [name_systems_in_print(x, names).replace(" ± ", "\u00a0±\u00a0") for x in benchmark.findings],
        [name_systems_in_print(x, names) for x in benchmark.notes],
        axis,
        rows[: len(systems)],
        rows[len(systems) :],
        rows[0],
        None if ceiling is None else _build_row(ceiling, axis),
        "" if ceiling is None else describe_gap(-lead, half),
        verdict,
        half is not None and lead < -half,
        any(row.fit_seconds is not None for row in systems),
        [benchmark.head[i] for i in columns],
        [
            [_row_title(row), *(cells[i] for i in columns[1:])]
            for row, cells in zip(benchmark.rows, benchmark.cells, strict=True)
        ],
    )


def _build_row(row: ScoredForecaster, axis: Axis) -> SystemRow:
    gap, half = gap_and_half_width(row.log_loss_difference)
    text = "best" if row.log_loss_difference is None else describe_gap(gap, half)
    return SystemRow(_row_title(row), f"{row.quality['log loss']:.4f}", interval_bar(axis, gap, half, digits=4), text)


def _row_title(row: ScoredForecaster) -> str:
    """The name of a forecaster in print."""
    if row.kind == "system":
        return system_title(row.name)
    if row.kind == "blend":
        return BLEND_TITLE
    return row.name if row.kind in ("forecast", "odds") else row.name[0].upper() + row.name[1:]


def _write_headline(sections: list[HistorySection]) -> str:
    """How the best rating and the best ceiling compare; of several histories, how many ceilings are ahead."""
    if len(sections) == 1:
        return sections[0].verdict
    num_ahead = sum(section.is_ahead for section in sections)
    return f"A ceiling is ahead of the best rating on {num_ahead} of {len(sections)} histories"
