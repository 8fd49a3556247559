"""Benchmarks as one HTML page that needs no network: how near the best rating of each history comes to ceilings."""

from collections.abc import Mapping
from typing import NamedTuple

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.evaluation.benchmark import Benchmark
from jaxrate.evaluation.scored_predictions import LOSS_DIFFERENCE_HEAD
from jaxrate.metrics.prediction_metrics import LogLossDifference
from jaxrate.site.drawings import Axis, site_icon, site_mark
from jaxrate.site.page_templates import STYLE_FILES, load_template_and_assets
from jaxrate.site.system_bars import (
    SystemRow,
    build_system_rows,
    compare_in_words,
    describe_gap,
    gap_and_half_width,
    name_in_print,
    name_systems_in_print,
)

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
      benchmarks: from `evaluation.benchmark_systems`, by the titles of their histories; one or more.
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
    axis, rows = build_system_rows([*systems, *ceilings])
    is_whole = [row.kind != "blend" and row.scored == benchmark.scored for row in ceilings]
    first = is_whole.index(True) if any(is_whole) else None
    ceiling = None if first is None else rows[len(systems) + first]
    gap = None if first is None else ceilings[first].log_loss_difference
    lead, half = gap_and_half_width(gap)
    names = [row.name for row in systems]
    head, cells = _arrange_table(benchmark)
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
        ceiling,
        "" if ceiling is None else describe_gap(-lead, half),
        _write_verdict(rows[0], ceiling, gap),
        half is not None and lead < -half,
        "fit" in head,
        head,
        cells,
    )


def _write_verdict(best: SystemRow, ceiling: SystemRow | None, gap: LogLossDifference | None) -> str:
    """How the best ceiling and the best system compare, as a headline."""
    if ceiling is None:
        return f"{best.name} predicts best of the systems"
    return f"{ceiling.name} {compare_in_words(gap, best.name)}"


def _arrange_table(benchmark: Benchmark) -> tuple[list[str], list[list[str]]]:
    """The head and the cells of a benchmark with names in print, without the differences, which the bars have."""
    head = benchmark.head
    columns = [i for i, name in enumerate(head) if name != LOSS_DIFFERENCE_HEAD]
    cells = [
        [name_in_print(row), *(texts[i] for i in columns[1:])]
        for row, texts in zip(benchmark.rows, benchmark.cells, strict=True)
    ]
    return [head[i] for i in columns], cells


def _write_headline(sections: list[HistorySection]) -> str:
    """How the best rating and the best ceiling compare; of several histories, how many ceilings are ahead."""
    if len(sections) == 1:
        return sections[0].verdict
    num_ahead = sum(section.is_ahead for section in sections)
    return f"A ceiling is ahead of the best rating on {num_ahead} of {len(sections)} histories"
