"""Benchmarks as one HTML page that needs no network: how near the best rating of each history comes to ceilings."""

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxrate.argument_checks import enforce_argument_annotations
from jaxrate.league.benchmark_table import Benchmark, BenchmarkRow
from jaxrate.league.comparison_table import INTERVAL_ERRORS, format_loss_difference
from jaxrate.metrics.prediction_metrics import LogLossDifference
from jaxrate.site.drawings import Axis, interval_bar, make_axis, site_icon, site_mark
from jaxrate.site.page_templates import STYLE_FILES, load_template_and_assets
from jaxrate.site.system_bars import SystemRow
from jaxrate.systems import SYSTEMS
from jaxrate.systems.system_titles import system_title

SCRIPT_FILES = ("words.js",)
GENERAL_HEADLINE = "How near ratings come to the best forecasts"


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
    gap: str  # by how much the best rating is behind it
    head: list[str]
    cells: list[list[str]]


@enforce_argument_annotations
def benchmark_page_html(benchmarks: Mapping[str, Benchmark], *, title: str = "Benchmark") -> str:
    """The HTML of the page, to be written to a file in UTF-8.

        result = jr.league.benchmark_systems("games.csv", ["elo", "glicko"])
        page = jr.site.benchmark_page_html({"Our league": result})
        pathlib.Path("benchmark.html").write_text(page, encoding="utf-8")

    Of several histories it begins with a table of the best ratings and the best ceilings.

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
    headline = GENERAL_HEADLINE if len(sections) > 1 else _write_headline(sections[0].findings)
    return str(
        template.render(
            **assets,
            title=title,
            headline=headline,
            histories=sections,
            mark=site_mark(),
            icon=site_icon(),
            data={},
        )
    )


def _build_section(anchor: str, title: str, benchmark: Benchmark) -> HistorySection:
    systems = [row for row in benchmark.rows if row.kind == "system"]
    ceilings = [row for row in benchmark.rows if row.kind not in ("system", "frequencies") and row.scored]
    gaps = [(0.0, None), *(_gap_and_half_width(row.log_loss_difference) for row in [*systems[1:], *ceilings])]
    low, high = (choose(gap + sign * (half or 0.0) for gap, half in gaps) for choose, sign in ((min, -1), (max, 1)))
    axis = make_axis(low, high)
    rows = [_build_row(row, axis) for row in (*systems, *ceilings)]
    whole = [row for row in ceilings if row.kind != "blend" and row.scored == benchmark.scored]
    best_ceiling = whole[0] if whole else None
    gap = None if best_ceiling is None else best_ceiling.log_loss_difference
    return HistorySection(
        anchor,
        title,
        f"{benchmark.scored:,}",
        benchmark.scored_on,
        benchmark.findings,
        benchmark.notes,
        axis,
        rows[: len(systems)],
        rows[len(systems) :],
        rows[0],
        None if best_ceiling is None else _build_row(best_ceiling, axis),
        "" if gap is None else format_loss_difference(gap._replace(difference=-gap.difference)),
        benchmark.head,
        benchmark.cells,
    )


def _build_row(row: BenchmarkRow, axis: Axis) -> SystemRow:
    gap, half = _gap_and_half_width(row.log_loss_difference)
    text = "best" if row.log_loss_difference is None else format_loss_difference(row.log_loss_difference)
    name = system_title(row.name) if row.kind == "system" and row.name in SYSTEMS else row.name
    return SystemRow(name, f"{row.quality['log loss']:.4f}", interval_bar(axis, gap, half), text)


def _gap_and_half_width(gap: LogLossDifference | None) -> tuple[float, float | None]:
    """A difference, and half of its 95% interval, None if that is not known."""
    if gap is None:
        return 0.0, None
    return gap.difference, INTERVAL_ERRORS * gap.error if math.isfinite(gap.error) else None


def _write_headline(findings: list[str]) -> str:
    """The first finding about a ceiling, without its figures' second half; a general headline without any."""
    sentence: Any = findings[1] if len(findings) > 1 else None
    return GENERAL_HEADLINE if sentence is None else re.split("[;:]", sentence.rstrip("."))[0]
