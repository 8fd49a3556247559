"""`jaxrate compare`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import jaxrate as jr
from jaxrate.cli import file_rating, options
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.command_framework import Output, command, prefix_errors_with_file
from jaxrate.cli.options import (
    FILE,
    SHARE,
    HyperparameterFileContents,
    RatingRequest,
    first_rows_option,
    load_hyperparameters,
    option,
)
from jaxrate.cli.terminal_tables import ProgressReport, TextTable
from jaxrate.core.text_format import contest_metrics_notes, did_you_mean_suffix, metric_heading

DEFAULT_PERIOD = 7.0  # days


@command(
    FILE,
    *options.reading_options(),
    options.plain_option,
    first_rows_option,
    "System",
    options.system_option("Compare only this system; may be repeated.  [default: all that can]", multiple=True),
    options.param_option("Set a hyperparameter of all systems, as elo.k=20 of one, or a FILE.toml; may be repeated."),
    option("period", "DAYS", "Length of rating periods.  [default: that of a file of --param, or 7]", above=0),
    "Comparison",
    option("last", "SHARE", "Score only the last SHARE of the predictions, as 0.2.  [default: all]", default=1.0,
           **SHARE),
    option("fit", text="First fit each system to the matches before --last; takes a minute or so.", to="fitting"),
    usual=("a", "b", "score", "time", "system", "param", "period", "last", "fit", "json"),
    examples=(
        "jaxrate compare games.csv",
        "jaxrate compare games.csv --last 0.2 --fit",
        "jaxrate compare games.csv --param fitted.toml --param elo.k=20",
    ),
)  # fmt: skip
def compare(
    report: ProgressReport, file: str, name: tuple[str, ...], params: tuple[str, ...], period: float | None,
    first: int | None, plain: bool, **scoring: Any,
) -> Output:  # fmt: skip
    """Rate FILE with every system, and rank the systems by how well they predicted it.

    Every match is predicted before its result is used. Matches are rated one by one, and also in rating periods.
    As in rate, systems learn from points and seasons in FILE; --plain turns this off.

    Matches are scored by log loss (lower is better). Contests are scored by the share of pairs in the right order
    (higher is better) and by the error of predicted ranks (lower is better), for all players with a rating and for
    those with 5 earlier contests. In JSON these are pair inversion and rank deviation, and 5plus.

    The values of home advantage and margins come from the matches before --last, or are defaults without it.
    """
    last, fitting = scoring["last"], scoring["fitting"]
    values, files = options.parse_params(params)
    fits = _load_fits(files)
    columns = options.pop_column_arguments(scoring | {"file": file, "plain": plain})
    request = RatingRequest(file, columns, plain=plain)
    data, request = file_rating.read_events_with_evidence(report, request, first)
    names = dict.fromkeys([*(name or jr.extend.SYSTEMS), *fits])
    changes = _merge_hyperparameter_changes(data, names, values, fits)
    comparison = compare_with_notes(
        report,
        file,
        data,
        changes,
        is_named=bool(name),
        lengths=_period_lengths(report, data, period, fits),
        last=last,
        fit=fitting,
    )
    best: dict[str, Any] = {}
    for result in comparison.results:
        best.setdefault(result.name, result)  # of its rating periods
    if file_rating.SKILLS in best:
        file_rating.note_evidence(report, best[file_rating.SKILLS].system, data)
    file_rating.note_idle_side_advantage(report, data, [x.system for x in best.values()])
    options.hint_scored_on_fitted_data(report, [*fits.values()], file, last)
    nouns = lazy.name_rated({"noun": data.noun}).many
    shown = comparison.results if period or fits else [*best.values()]
    notes = _compose_notes(comparison, len(shown), is_calibrated=not data.of_matches or bool(fitting or fits))
    sections = _comparison_sections(comparison._replace(results=shown), nouns, last, notes)
    return Output(sections, _json_result(comparison, file))


def _compose_notes(comparison: jr.evaluation.Comparison, num_shown: int, *, is_calibrated: bool) -> list[str]:
    """The notes beneath a comparison, of whose results so many are shown."""
    is_cut = num_shown < len(comparison.results)
    own = {
        "Each in its better form, by match or in periods; --period lists both.": is_cut,
        "Unlike in jaxrate rate, chances are not calibrated.": not is_calibrated,
    }
    others = *contest_metrics_notes(comparison.results[0].quality), *comparison.notes
    return [*(note for note, counts in own.items() if counts), *others]


def _load_fits(files: Iterable[Path]) -> dict[str, HyperparameterFileContents]:
    """The contents of files of hyperparameters by their system; ValueError for two of one system."""
    fits: dict[str, HyperparameterFileContents] = {}
    for fit in map(load_hyperparameters, files):
        if fits.setdefault(fit.system, fit) is not fit:
            raise ValueError(f"{fits[fit.system].path} and {fit.path} are both of {fit.system}; compare one at a time")
    return fits


def _period_lengths(
    report: ProgressReport, data: jr.data.Dataset, period: float | None, fits: dict[str, HyperparameterFileContents]
) -> tuple[float | None, ...]:
    """The lengths of rating periods by which matches with times are rated; None: one by one."""
    if not data.of_matches:
        file_rating.check_period(data, period)
        return (None,)
    if data.clock is None:
        report.note("no column of time, so no rating periods; name one with --time")
        return (None,)
    lengths: set[Any] = {period or fit.period for fit in fits.values()} - {None}
    return None, *sorted(lengths or {period or DEFAULT_PERIOD})


def _merge_hyperparameter_changes(
    data: jr.data.Dataset, names: Iterable[str], values: dict[str, Any], fits: dict[str, HyperparameterFileContents]
) -> dict[str, dict[str, Any]]:
    """The hyperparameters to change of each system for these data, by its name."""
    changes: dict[str, dict[str, Any]] = {}
    taken: set[tuple[str, str]] = set()  # systems, and the names of their hyperparameters
    for name in names:
        fit, system = fits.get(name, HyperparameterFileContents()), lazy.make_system_for_data(name, {}, None, data)
        changes[name] = file_rating.drop_fitted_seasons_from_changes(data, fit, fit.values)
        fields = *system.params._fields, *system.settings, *lazy.addable_param_names(system)
        taken |= {*product([name], fields)}
    for field in sorted(values, key=lambda field: "." in field):  # those of one system replace the others
        owner, _, parameter = field.rpartition(".")
        owners = [name for name in changes if owner in ("", name) and (name, parameter) in taken]
        if not owners:
            hint = did_you_mean_suffix(parameter, {name for _, name in taken})
            raise ValueError(f"{owner or ' and '.join(changes)}: no parameter {parameter!r} here{hint}")
        for name in owners:
            changes[name][parameter] = values[field]
    return changes


def compare_with_notes(
    report: ProgressReport,
    file: str,
    data: jr.data.Dataset,
    changes: dict[str, dict[str, Any]],
    *,
    is_named: bool,
    **settings: Any,
) -> lazy.Comparison:
    """`jr.compare` by systems with these changes and of published forecasts, and notes about what is left out."""
    with prefix_errors_with_file(file):
        fitting, left_out = lazy.select_candidates(data, changes, is_named=is_named)
    for reason in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name in left_out if left_out[name] == reason)
        report.note(f"left out, since {reason}: {names}")
    forecasters, is_fitted = fitting | file_rating.published_forecasts(file, data), settings.get("fit", False)
    stage = report.stage(f"{'fitting and ' * is_fitted}comparing {len(fitting)} systems", 1.0)
    with stage as watch, ThreadPoolExecutor(os.cpu_count()) as workers:
        return jr.compare(data, forecasters, **settings, watch=watch, executor=workers if is_fitted else None)


def _comparison_sections(
    comparison: lazy.Comparison, nouns: str, last: float, notes: list[str]
) -> list[str | TextTable]:
    """What was compared, which system predicted best, and the table, with notes beneath."""
    counts = ", ".join(f"{count:,} {what}" for what, count in comparison.counts.items())
    heads, cells = comparison.heads_and_cells()
    scored = "" if last == 1 else f", the last {comparison.scored:,} scored"
    standing = lazy.find_system_standing(comparison, "")
    found = [] if standing is None else [f"{standing.finding}.", standing.describe()]
    return [
        f"{counts} of {comparison.players:,} {nouns}{scored}",
        " ".join([*found, *comparison.warnings]),
        TextTable([*map(metric_heading, heads)], cells, comparison.left_aligned, "\n".join(notes)),
    ]


def _json_result(comparison: lazy.Comparison, file: str) -> dict[str, Any]:
    """The comparison of systems as values for JSON."""
    results = [
        {
            "system": result.name,
            "period": result.period,
            "params": result.system.params._asdict() | dict(result.system.settings),
            **result.quality,
            **_json_difference(result.log_loss_difference),
        }
        for result in comparison.results
    ]
    others = [
        {"name": one.name, "quality": one.quality} | _json_difference(one.log_loss_difference)
        for one in comparison.published
    ]
    top = {"file": file, **comparison.counts, "players": comparison.players, "scored": comparison.scored}
    notes = [*comparison.warnings, *comparison.notes]
    values: dict[str, Any] = top | {"notes": notes, "results": results}
    if (blend := comparison.blend) is not None:
        behind = _json_difference(blend.log_loss_difference)
        values["blend"] = {"weights": blend.weights, "quality": blend.quality} | behind
    return values | ({"published": others} if others else {})


def _json_difference(difference: lazy.LogLossDifference | None) -> dict[str, float | None]:
    """A log loss less that of the best system, and its standard error, where it is known; nothing of contests."""
    if difference is None:
        return {}
    return {"behind": difference.difference, "behind_error": difference.error}
