"""Benchmarks as a page, with bars of systems."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import check_that, enforce_argument_annotations
from jaxrate.core.text_format import format_decimals, format_number, join_names, metric_heading, use_minus_sign
from jaxrate.evaluation.benchmark import Benchmark
from jaxrate.evaluation.comparison import Comparison, system_result_title
from jaxrate.evaluation.scored_predictions import INTERVAL_ERRORS, LOSS_DIFFERENCE_HEAD, ScoredForecaster
from jaxrate.metrics.prediction_metrics import LogLossDifference
from jaxrate.metrics.ranking_metrics import PairOrderDifference
from jaxrate.site.drawings import Axis, interval_bar, make_axis
from jaxrate.site.html_tables import Column, render_table, text_columns
from jaxrate.site.page_templates import render_page
from jaxrate.systems.system_titles import system_title
from jaxrate.views.findings import (
    MIN_SHARE_OF_WAY,
    Finding,
    count_pairs,
    find_best_system,
    judge_gap_to_best,
    surprise_limit,
)
from jaxrate.views.wording import list_names

BLEND_TITLE = "All blended"
# What is said of ratings by the standing of the best other forecast; "": there is none.
STANDINGS = {"behind": "ahead", "equal": "level within chance", "ahead": "behind", "": "not compared"}


class Measure(NamedTuple):
    """What systems are compared by: a metric, and the unit of differences of it."""

    calls: str  # the metric that is the share of right calls
    calls_text: str  # so many of 1,000, in words
    scale: float  # of differences
    digits: int
    explanation: str  # of the bars


LOG_LOSS = Measure(
    "accuracy",
    "called {} of 1,000 {} right",
    1.0,
    4,
    "log loss, with 95% intervals; less is better{beaten}.",
)
PAIR_ORDER = Measure(
    "pair inversion",
    "put {} of 1,000 pairs in order",
    100.0,
    2,
    "the share of pairs of opponents that finished in the predicted order, in percentage points, with 95% intervals. "
    "Here ties count as in order.",
)


def comparison_view(
    comparison: Comparison | None, system: str, events: str, period: float | None = None
) -> dict[str, Any]:
    """What a report says of other systems than that of this name, as variables; none of a single forecaster."""
    if comparison is None or len(comparison.results) + len(comparison.others) < 2:
        return {}
    results, forecasters = comparison.results, [*comparison.results, *comparison.others]
    names = [name_in_print(x._replace(period=None)) for x in forecasters]  # periods have a column of their own
    heads, cells_of_rows = comparison.heads_and_cells()
    rows = [[name, *map(use_minus_sign, cells)] for name, (_, *cells) in zip(names, cells_of_rows, strict=True)]
    view = {
        "title": "Other systems",
        "text": "",
        "notes": " ".join(_name_systems_in_print([*comparison.warnings, *comparison.notes], results)),
        "scored_on": comparison.scored_on.replace("contests", events),
        "bars": "",
        "others": _describe_others(comparison),
        "metrics": render_table("Systems", text_columns([*map(metric_heading, heads)], rows), "", box=True),
    }
    standing, measure = find_system_standing(comparison, system, period), _measure(comparison)
    if standing is None:
        return view
    is_beaten = any(gap_and_half_width(_difference_from_best(x))[0] < 0 for x in forecasters[1:])
    explanation = measure.explanation.format(beaten=", and less than 0 is better than the best" * is_beaten)
    return view | {
        "title": str(standing.finding),
        "text": standing.describe(),
        "bars": render_system_bars("Systems", "system", forecasters, len(results), measure),
        "explanation": explanation + standing.describe_limit(len(results)),
    }


def _describe_others(comparison: Comparison) -> str:
    """The forecasts of a comparison that no system makes, in words: the blend, and published models."""
    texts = ["a blend of all systems, weighted by how well each predicted earlier matches"] * bool(comparison.blend)
    if comparison.published:
        names = join_names(x.name for x in comparison.published)
        texts.append(f"the forecasts of {names}, computed by its published model")
    return ", and ".join(texts)


def render_system_bars(
    caption: str, head: str, forecasters: Sequence[ScoredForecaster], num_systems: int, measure: Measure = LOG_LOSS
) -> Any:
    """The bars of forecasters, the best system first; a line divides systems from others."""
    best, *others = (gap_and_half_width(_difference_from_best(x), measure) for x in forecasters)
    gap, half = np.array([best, *others]).T
    axis = make_axis(float((gap - half).min()), float((gap + half).max()))
    bars = [interval_bar(axis, *x, measure.digits) for x in (best, *others)]
    scale = f'<span class="axis">{axis.labels}</span><span class="hidden">behind</span>'
    columns = [
        Column("words name", head, [escape(name_in_print(x)) for x in forecasters], "name"),
        Column("interval", scale, bars),
        Column("figure change", "behind", ["best", *(describe_gap(*x, measure) for x in others)], "behind"),
    ]
    border = {num_systems - 1: "border"} if num_systems < len(forecasters) else {}
    return render_table(caption, columns, "rows ranking static systems", style=axis.grid, row_kinds=border)


def name_in_print(forecaster: ScoredForecaster) -> str:
    """The name of a forecaster in print, of a system with the length of its periods."""
    name = forecaster.name
    if forecaster.kind == "system":
        return system_result_title(forecaster)
    if forecaster.kind == "blend":
        return BLEND_TITLE
    return name if forecaster.kind in ("forecast", "odds") else name[0].upper() + name[1:]


def _measure(comparison: Comparison) -> Measure:
    return PAIR_ORDER if comparison.results[0].log_loss_difference is None else LOG_LOSS


def _difference_from_best(result: ScoredForecaster) -> LogLossDifference | PairOrderDifference | None:
    """How far a system is behind the best, by the measure of its comparison."""
    return result.pair_order_difference if result.log_loss_difference is None else result.log_loss_difference


def gap_and_half_width(
    gap: LogLossDifference | PairOrderDifference | None, measure: Measure = LOG_LOSS
) -> tuple[float, float]:
    """A difference in the unit of the measure, and half of its 95% interval; 0 for what is not known."""
    difference, error = gap or (0.0, 0.0)
    return measure.scale * difference, INTERVAL_ERRORS * (error or 0.0) * measure.scale


def describe_gap(gap: float, half: float, measure: Measure = LOG_LOSS) -> str:
    """How far behind the best system, as "+0.0041 ± 0.0012"; less than 0 is ahead of it."""
    text = use_minus_sign(format_decimals(gap, measure.digits, signed=True))
    return f"{text} ± {half:.{measure.digits}f}" if half else text


class ComparisonSummary(NamedTuple):
    """What a comparison says of systems, beside that whose ratings are shown."""

    finding: Finding
    equal: list[ScoredForecaster]  # to the best, which is the first of them, within chance
    shown: ScoredForecaster | None  # the system of this page if it is clearly behind
    measure: Measure
    event: str  # "matches" or what else was called

    def describe(self) -> str:
        """How many of 1,000 matches the best systems called right, and that of the page, if it is clearly behind."""
        calls = sorted(map(self._count_calls, self.equal))
        number = " to ".join(dict.fromkeys(map(str, (calls[0], calls[-1]))))
        best = name_in_print(self.equal[0]) if len(self.equal) == 1 else "They"
        text = f"{best} {self.measure.calls_text.format(number, self.event)}."
        if self.shown is None:
            return text
        fewer = self.measure.calls_text.format(self._count_calls(self.shown), self.event)
        return f"{text} The ratings on this page are those of {name_in_print(self.shown)}, which {fewer}."

    def describe_limit(self, count: int) -> str:
        """When a gap among so many systems is beyond chance, if one is not although its own interval says so."""
        gap, half = np.array([gap_and_half_width(_difference_from_best(x)) for x in self.equal]).T
        ratio = surprise_limit(count_pairs(count)) / INTERVAL_ERRORS
        text = f" As {count} systems were compared, a gap is beyond chance from {ratio:.1f} times its margin on."
        return text * bool(((np.abs(gap) > half) & (half > 0.0)).any())

    def _count_calls(self, result: ScoredForecaster) -> int:
        return round(1000 * result.quality[self.measure.calls])


def find_system_standing(
    comparison: Comparison | None, name: str, period: float | None = None
) -> ComparisonSummary | None:
    """The best systems, and the one of this name if it is behind them; None if differences are not known."""
    if comparison is None or len(comparison.results) < 2 or _difference_from_best(comparison.results[0]) is None:
        return None
    results, pairs = comparison.results, count_pairs(len(comparison.results))
    finding = _find_best(results, comparison.others)
    behind = [x for x in results if judge_gap_to_best(_difference_from_best(x), pairs) == "behind"]
    equal = [x for x in results if x not in behind]
    own = min((x for x in results if x.name == name), key=lambda x: x.period != period, default=None)
    shown = own if own in behind else None
    return ComparisonSummary(finding, equal, shown, _measure(comparison), next(iter(comparison.counts)))


def _find_best(systems: Sequence[ScoredForecaster], others: Sequence[ScoredForecaster]) -> Finding:
    """Which of the systems predicted best, and which other forecasts did as well or better; a blend only if better."""
    gaps = {name_in_print(x): _difference_from_best(x) for x in others}
    blend = gaps.pop(BLEND_TITLE, None)
    if judge_gap_to_best(blend) == "ahead":
        gaps["the blend of all"] = blend
    return find_best_system([*map(name_in_print, systems)], [*map(_difference_from_best, systems)], gaps)


def advise_best_system(
    comparison: Comparison | None, name: str, period: float | None = None, *, is_fitted: bool = False
) -> list[str]:
    """How to rate better, if the system of this name is behind the one that predicted best by more than chance."""
    standing = find_system_standing(comparison, name, period)
    if comparison is None or standing is None or standing.shown is None:
        return []
    place, best = comparison.results.index(standing.shown) + 1, comparison.results[0]
    option = f"--system {best.name}" + ("" if best.period is None else f" --period {format_number(best.period)}")
    fit = "jaxrate fit FILE --data-share 0.8 --save fitted.toml; jaxrate report FILE --param fitted.toml"
    return [
        f"{name_in_print(standing.shown)} was number {place} of {len(comparison.results)} systems by its predictions",
        *[f"to fit it to earlier results: {fit}"] * (not is_fitted),
        f"to rate by {name_in_print(best)}, which predicted best: jaxrate report FILE {option}",
    ]


def _name_systems_in_print(texts: Iterable[str], systems: Iterable[ScoredForecaster]) -> list[str]:
    """Texts about systems, with their names in print."""
    titles = {x.name: system_title(x.name) for x in systems}
    pattern = rf"(?<![/-])\b({'|'.join(map(re.escape, sorted(titles, key=len, reverse=True)))})\b(?![/-])"
    return [re.sub(pattern, lambda match: titles[match[0]], text) for text in texts]


@enforce_argument_annotations
def benchmark_page_html(benchmarks: Mapping[str, Benchmark], *, title: str = "Benchmark") -> str:
    """The HTML of the page, to be written to a file in UTF-8.

        result = jr.evaluation.benchmark_systems("games.csv", ["elo", "glicko"])
        page = jr.site.benchmark_page_html({"Our league": result})
        pathlib.Path("benchmark.html").write_text(page, encoding="utf-8")

    Its heading is what was found. It begins with a picture of how far the best rating and the best other forecast of
    each data set come on the way from past frequencies to the better one of them.

    Args:
      benchmarks: from `evaluation.benchmark_systems`, by the titles of their data sets; one or more.
      title: the title of the page.

    Raises:
      ValueError: without a benchmark, or for what is none.
      ImportError: if jinja2 is not installed.
    """
    check_that(benchmarks, "benchmarks is empty; give one or more, as {'Our league': benchmark}")
    sections = [_build_section(f"history-{i}", *x) for i, x in enumerate(benchmarks.items(), 1)]
    is_alone, has_others = len(sections) == 1, any(map(_find_best_ceiling, benchmarks.values()))
    return render_page(
        "benchmark.html",
        ("words.js", "boxes.js"),
        title=title,
        links={f"#{x['anchor']}": x["title"] for x in sections} | {"#about": "Method"},
        sections=sections,
        is_fitted=any(row.fit_seconds is not None for benchmark in benchmarks.values() for row in benchmark.rows),
        headline=sections[0]["verdict"] if is_alone else str(_find_benchmark_verdict(sections)),
        summary=_render_summary(benchmarks) if has_others or not is_alone else "",
        data={},
    )


def _find_benchmark_verdict(sections: list[dict[str, Any]]) -> Finding:
    """On which data sets ratings are ahead of the best other forecast, level within chance, behind, or not compared."""
    titles = {x: [section["title"] for section in sections if section["standing"] == x] for x in STANDINGS}
    told = [f"{STANDINGS[x]} on {list_names(names)}" for x, names in titles.items() if names]
    has_others = any(section["standing"] for section in sections)
    return Finding("ceilings", "some" if has_others else "none", other=f"{len(sections):,}", amount=", ".join(told))


def _render_summary(benchmarks: Mapping[str, Benchmark]) -> Any:
    """The best rating and best other forecast of each data set, on the way from past frequencies to the better."""
    names, shares, starts = list[str](), list[tuple[float, float]](), dict[int, str]()
    for number, (title, benchmark) in enumerate(benchmarks.items(), 1):
        best, ceilings = benchmark.rows[0], _find_best_ceiling(benchmark)
        gap, half = next((gap_and_half_width(x.log_loss_difference) for x in ceilings), (0.0, 0.0))
        way = _past_frequencies_log_loss(benchmark) - best.quality["log loss"]
        whole, starts[len(names)] = max(way, way - gap), "first"
        scale = 100.0 / whole if whole >= max(MIN_SHARE_OF_WAY, half) else math.nan
        names.append(f'<a href="#history-{number}">{escape(title)}</a><br>{escape(name_in_print(best))}')
        names += [escape(name_in_print(x)) for x in ceilings]
        both = (scale * way, scale * half * (gap < 0)), (scale * (way - gap), scale * half * (gap >= 0))
        shares += both[: 1 + len(ceilings)]
    middle, half_width = np.array(shares).T
    low, high = middle - half_width, middle + half_width
    axis = make_axis(float(np.nanmin([0.0, *low])), float(np.nanmax([100.0, *high])))
    head = '<span class="label">from knowing nothing to the best known</span>'
    texts, bars = zip(*(_draw_share_of_way(axis, *x) for x in shares), strict=True)
    columns = [
        Column("words name", "data set", names, "name"),
        Column("interval", f'{head}<span class="axis">{axis.labels}</span>', bars),
        Column("figure change", "% of the way", texts, "% of the way"),
    ]
    return render_table(
        "Ratings beside other forecasts", columns, "rows ranking static systems", style=axis.grid, row_kinds=starts
    )


def _draw_share_of_way(axis: Axis, share: float, half: float) -> tuple[str, str]:
    """A share of the way in percent with its margin, if it has one, as text and as a bar; NaN is unclear."""
    if share != share:
        return "unclear", ""
    return use_minus_sign(f"{share:.0f}" + f" ± {half:.0f}" * bool(half)), interval_bar(axis, share, half, 0)


def _build_section(anchor: str, title: str, benchmark: Benchmark) -> dict[str, Any]:
    """The variables of what the page says of one data set."""
    systems, others = [row for row in benchmark.rows if row.kind == "system"], _list_others(benchmark)
    findings = _name_systems_in_print(benchmark.findings, systems)
    section: dict[str, Any] = {
        "anchor": anchor,
        "title": title,
        "scored": f"{benchmark.scored:,}",
        "scored_on": benchmark.scored_on,
        "findings": [*map(_keep_figures_on_one_line, findings), _describe_calls([systems[0], *others])],
        "notes": " ".join(_name_systems_in_print(benchmark.notes, systems)),
        "bars": render_system_bars(title, "forecast", [*systems, *others], len(systems)),
        "metrics": _render_metrics(title, benchmark),
        "verdict": str(find_best_system([*map(name_in_print, systems)], [x.log_loss_difference for x in systems])),
        "standing": "",
    }
    for ceiling in _find_best_ceiling(benchmark):
        section |= _compare_with_ceiling(systems[0], ceiling)
    return section


def _list_others(benchmark: Benchmark) -> list[ScoredForecaster]:
    """The forecasters that are no systems, and have forecasts."""
    return [row for row in benchmark.rows if row.kind != "system" and row.scored]


def _compare_with_ceiling(best: ScoredForecaster, ceiling: ScoredForecaster) -> dict[str, str]:
    """How many matches the best system and the best other forecast called right, and which is ahead beyond chance."""
    gap = ceiling.log_loss_difference
    pair = [ceiling, best] if judge_gap_to_best(gap) == "ahead" else [best, ceiling]
    (first, second), (amount, since) = map(name_in_print, pair), map(_format_calls, pair)
    verdict = Finding("verdict", "same" if amount == since else "apart", first, second, amount, since=since)
    return {
        "verdict": str(verdict),
        "standing": "" if gap is None or gap.error is None else judge_gap_to_best(gap),
    }


def _keep_figures_on_one_line(text: str) -> str:
    """The text with its numbers and their margins on one line."""
    return text.replace(" ± ", "\u00a0±\u00a0")


def _format_calls(forecaster: ScoredForecaster) -> str:
    """How many of 1,000 matches a forecaster called right."""
    return f"{1000 * forecaster.quality[LOG_LOSS.calls]:.0f}"


def _describe_calls(forecasters: Sequence[ScoredForecaster]) -> str:
    """How many of 1,000 matches each of these called right, in a sentence."""
    first, *others = (f"{name_in_print(x)} {_format_calls(x)}" for x in forecasters)
    name, _, number = first.rpartition(" ")
    told = f"{name} {LOG_LOSS.calls_text.format(number, 'matches')}"
    return f"{join_names([told, *others])}."


def _find_best_ceiling(benchmark: Benchmark) -> list[ScoredForecaster]:
    """The best forecast of all matches that is neither a system nor a blend of systems, alone; nothing without any."""
    others = [x for x in benchmark.rows if x.kind not in ("system", "frequencies", "blend")]
    return [x for x in others if x.scored == benchmark.scored][:1]


def _past_frequencies_log_loss(benchmark: Benchmark) -> float:
    """The log loss of past frequencies, which know nothing of who plays."""
    return float(next(row for row in benchmark.rows if row.kind == "frequencies").quality["log loss"])


def _render_metrics(title: str, benchmark: Benchmark) -> Any:
    """The table of all metrics without the differences, which the bars have."""
    heads, cells = benchmark.heads_and_cells()
    columns = dict(zip(heads, zip(*cells, strict=True), strict=True))
    columns.pop(LOSS_DIFFERENCE_HEAD, None)
    columns[heads[0]] = tuple(map(name_in_print, benchmark.rows))
    rows = [*zip(*columns.values(), strict=True)]
    return render_table(f"{title}, all metrics", text_columns([*columns], rows, 2), "", box=True)
