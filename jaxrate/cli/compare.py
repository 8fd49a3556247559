"""`jaxrate compare`."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import jaxrate as jr
from jaxrate.cli.hyperparameters import (
    FittedParams,
    hint_scored_on_fitted_data,
    load_fitted,
    note_open_hyperparameters,
    parse_params,
)
from jaxrate.cli.input_options import (
    VariadicColumnOptionsCommand,
    first_rows_option,
    is_about_teams,
    published_forecasts,
    read_events,
    reading_options,
)
from jaxrate.cli.output_path_checks import NonEmptyPath
from jaxrate.cli.shared_options import RatingRequest, period_option, share_option, system_option
from jaxrate.cli.system_selection import (
    SKILLS,
    add_fitted_evidence,
    check_period,
    drop_fitted_seasons_from_changes,
    facts_from_options,
    hint_side_advantage_without_sides,
    note_evidence,
    plain_option,
    prefix_errors_with_file,
    read_events_with_evidence,
    remove_side_advantages,
    warn_worse_than_even,
)
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, print_escaped, print_sections, report_options
from jaxrate.core.text_format import contest_metrics_notes, did_you_mean_suffix, format_number, metric_heading

if TYPE_CHECKING:
    from jaxrate.evaluation.comparison import Comparison
    from jaxrate.metrics.prediction_metrics import LogLossDifference
    from jaxrate.systems.system_construction_by_name import DataFacts


@click.command(
    cls=VariadicColumnOptionsCommand,
    groups={"Comparison": ("last", "fit")},
    examples=(
        "jaxrate compare games.csv",
        "jaxrate compare games.csv --last 0.2 --fit",
        "jaxrate compare games.csv --params fitted.toml --param elo.k=20",
    ),
)
@click.argument("file", metavar="FILE", type=NonEmptyPath())
@system_option(multiple=True, help="Compare only this system; may be repeated.  [default: all that can rate the file]")
@click.option("--param", "params", multiple=True, metavar="[SYSTEM.]NAME=VALUE",
              help="Set a hyperparameter of one system, or of all that have it; may be repeated.")  # fmt: skip
@click.option("--params", "files", multiple=True, type=NonEmptyPath(path_type=Path), metavar="FILE.toml",
              help="Hyperparameters of one system, as saved by jaxrate fit --save; may be repeated.")  # fmt: skip
@period_option(help="Length of rating periods.  [default: that of --params, or 7]")
@reading_options()
@first_rows_option
@plain_option
@share_option("--last", default=1.0, help="Score only the last SHARE of the predictions, as 0.2.  [default: all]")
@click.option("--fit", "fitting", is_flag=True,
              help="First fit each system to the matches before --last; takes a minute or so.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@report_options
def compare(
    report: ProgressReport,
    file: str,
    name: tuple[str, ...],
    params: tuple[str, ...],
    files: tuple[Path, ...],
    period: float | None,
    options: dict[str, Any],
    last: float,
    fitting: bool,
    as_json: bool,
    first: int | None,
    plain: bool,
) -> None:
    """Rate FILE with every system, and rank the systems by how well they predicted it.

    Every match is predicted before its result is used. Matches are rated one by one, and also in rating periods.
    As in rate, systems learn from points and seasons in FILE, unless a system or hyperparameter is named.

    Matches are scored by log loss (lower is better). Contests are scored by the share of pairs in the right order
    (higher is better) and by the error of predicted ranks (lower is better), for all players with a rating and for
    those with 5 earlier contests. In JSON these are pair inversion and rank deviation, and 5plus.

    The values of home advantage and margins come from the matches before --last, or are defaults without it. Speeds are
    those of a second run, without compilation.
    """
    if fitting and last == 1:
        raise ValueError("--fit needs matches before the scored ones; score the last part, as with --last 0.2")
    fits = [load_fitted(path) for path in files]
    changes = _merge_hyperparameter_changes(
        name or tuple(jr.extend.SYSTEMS), parse_params(params), _fits_by_system(fits), facts_from_options(options)
    )
    period = _fitted_period(fits) if period is None else period
    if name or params or files or first is not None:
        for fit in fits if first is None and not plain else ():
            options = add_fitted_evidence(file, options, fit)
        data = read_events(report, file, options, first=first)
        data = remove_side_advantages(data) if plain else data
    else:
        data, request = read_events_with_evidence(report, file, RatingRequest(None, {}, period, options), plain=plain)
        options = request.columns
    lengths: tuple[float | None, ...] = (None,)
    if not data.of_matches:
        check_period(data, period)
    elif data.clock is None:
        report.note("no column of time, so no rating periods; name one with --time")
    else:
        lengths = None, 7.0 if period is None else period
    for fit in fits:
        changes[fit.system] = drop_fitted_seasons_from_changes(data, fit, changes[fit.system])
        note_open_hyperparameters(report, fit, changes[fit.system])
    comparison = compare_with_notes(
        report,
        file,
        data,
        changes,
        is_named=bool(name),
        period_lengths=lengths,
        last=last,
        timed=True,
        is_fitted=fitting,
        published=published_forecasts(file, data),
    )
    best = {result.name: result for result in reversed(comparison.results)}  # of its rating periods
    if not (name or params or files or plain) and SKILLS in best:
        note_evidence(report, best[SKILLS].system, data)
    hint_side_advantage_without_sides(report, data, [result.system for result in best.values()])
    for system_name, result in best.items():
        warn_worse_than_even(report, data, system_name, changes[system_name], result.quality, result.period, last)
    hint_scored_on_fitted_data(report, fits, file, last)
    if as_json:
        print_escaped(json.dumps(_json_result(comparison, file), indent=2))
        return
    counts = ", ".join(f"{count:,} {what}" for what, count in comparison.counts.items())
    scored = "" if last == 1 else f", the last {comparison.scored:,} scored"
    plural = "teams" if is_about_teams(file, options) else "players"
    print_sections(
        f"{counts} of {comparison.players:,} {plural}{scored}",
        TextTable([*map(metric_heading, comparison.head)], comparison.rows, ("system", "form")),
        "\n".join([*contest_metrics_notes(comparison.results[0].quality), *comparison.notes]),
    )


def _fits_by_system(fits: list[FittedParams]) -> dict[str, FittedParams]:
    """The fitted hyperparameters of each system; ValueError if a system has two files."""
    fit_by_system: dict[str, FittedParams] = {}
    for fit in fits:
        if fit.system in fit_by_system:
            raise ValueError(
                f"{fit_by_system[fit.system].path} and {fit.path} are both of {fit.system}; compare one at a time"
            )
        fit_by_system[fit.system] = fit
    return fit_by_system


def _fitted_period(fits: list[FittedParams]) -> float | None:
    """The length of the rating periods in which these were fitted, if any was; ValueError if they differ."""
    lengths = sorted({fit.period for fit in fits if fit.period is not None})
    if len(lengths) > 1:
        raise ValueError(
            f"--params were fitted in periods of {' and '.join(map(format_number, lengths))}; choose by --period"
        )
    return lengths[0] if lengths else None


def _merge_hyperparameter_changes(
    names: tuple[str, ...], params: dict[str, Any], fits: dict[str, FittedParams], facts: DataFacts
) -> dict[str, dict[str, Any]]:
    """The hyperparameters to change of each system for such data, by its name."""
    from jaxrate.systems.system_construction_by_name import addable_wrapper_param_names, make_system

    systems = {name: make_system(name, {}, facts) for name in names}
    for name, fit in fits.items():
        if name not in systems:
            raise ValueError(f"{fit.path} is of {name}, which --system leaves out; add --system {name}")
    parameter_names = {
        name: {*system.params._fields, *system.settings, *addable_wrapper_param_names(system)}
        for name, system in systems.items()
    }
    changes = {name: dict(fits[name].values) if name in fits else {} for name in systems}
    for field in sorted(params, key=lambda field: "." in field):  # those of one system last: they replace the others
        system_name, dot, parameter = field.rpartition(".")
        addressed = [name for name in systems if name == system_name or not dot]
        fitting = [name for name in addressed if parameter in parameter_names[name]]
        if not addressed:
            raise ValueError(
                f"--param {field}: no system {system_name!r} here{did_you_mean_suffix(system_name, systems)}"
            )
        if not fitting:
            all_parameters = set().union(*(parameter_names[name] for name in addressed))
            raise ValueError(
                f"{' and '.join(addressed)}: no parameter {parameter!r}{did_you_mean_suffix(parameter, all_parameters)}"
            )
        for name in fitting:
            changes[name][parameter] = params[field]
    for name in systems:
        make_system(name, changes[name], facts)  # which raises errors before the file is read
    return changes


def compare_with_notes(
    report: ProgressReport,
    file: str,
    data: jr.data.Dataset,
    changes: dict[str, dict[str, Any]],
    *,
    is_named: bool,
    period_lengths: tuple[float | None, ...],
    last: float,
    timed: bool,
    is_fitted: bool = False,
    published: dict[str, Any] | None = None,
) -> Comparison:
    """`jr.compare` by systems with these changes, and notes about the systems that are left out."""
    from jaxrate.evaluation.comparison import select_candidates

    with prefix_errors_with_file(file):
        fitting, left_out = select_candidates(data, changes, is_named=is_named)
    for reason in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name in left_out if left_out[name] == reason)
        report.note(f"left out, since {reason}: {names}")
    forecasters = fitting | (published or {})
    options: dict[str, Any] = dict(lengths=period_lengths, last=last, timed=timed, fit=is_fitted)
    stage = report.stage(f"{'fitting and ' * is_fitted}comparing {len(fitting)} systems", 1.0)
    with stage as update_progress, ThreadPoolExecutor(os.cpu_count()) as workers:
        return jr.compare(data, forecasters, **options, watch=update_progress, executor=workers if is_fitted else None)


def _json_result(comparison: Comparison, file: str) -> dict[str, Any]:
    """The result for JSON, in which None stands for what is not finite."""
    unit = f"{[*comparison.counts][-1]}/s"
    results = [
        {
            "system": result.name,
            "period": result.period,
            "params": result.system.params._asdict() | dict(result.system.settings),
            **result.quality,
            **_json_difference(result.log_loss_difference),
            unit: result.speed,
        }
        for result in comparison.results
    ]
    top = {"file": file, **comparison.counts, "players": comparison.players, "scored": comparison.scored}
    top["notes"] = comparison.notes
    blend = comparison.blend
    others: dict[str, Any] = {}
    if blend is not None:
        difference = _json_difference(blend.log_loss_difference)
        others["blend"] = {"weights": blend.weights, "quality": blend.quality} | difference
    if comparison.published:
        others["published"] = [
            {"name": one.name, "quality": one.quality} | _json_difference(one.log_loss_difference)
            for one in comparison.published
        ]
    return top | {"results": results} | others


def _json_difference(difference: LogLossDifference | None) -> dict[str, float | None]:
    """A log loss less that of the best system, and its standard error, where it is known; nothing of contests."""
    if difference is None:
        return {}
    return {"behind": difference.difference, "behind_error": difference.error}
