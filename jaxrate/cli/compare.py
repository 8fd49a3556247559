"""`jaxrate compare`."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import jaxrate as jr
from jaxrate.cli.commands import FILE, Output, command, option
from jaxrate.cli.hyperparameters import (
    FittedParams,
    hint_scored_on_fitted_data,
    load_fitted,
    note_open_hyperparameters,
    parse_params,
)
from jaxrate.cli.input_options import (
    first_rows_option,
    is_about_teams,
    published_forecasts,
    read_events,
    reading_options,
)
from jaxrate.cli.shared_options import RatingRequest, last_option, param_option, plain_option, system_option
from jaxrate.cli.system_selection import (
    SKILLS,
    ScoredSystem,
    add_fitted_evidence,
    check_period,
    drop_fitted_seasons_from_changes,
    facts_from_options,
    hint_side_advantage_without_sides,
    note_evidence,
    prefix_errors_with_file,
    read_events_with_evidence,
    remove_side_advantages,
    warn_worse_than_even,
)
from jaxrate.cli.terminal_tables import ProgressReport, TextTable
from jaxrate.core.text_format import contest_metrics_notes, did_you_mean_suffix, format_number, metric_heading

if TYPE_CHECKING:
    from jaxrate.evaluation.comparison import Comparison
    from jaxrate.metrics.prediction_metrics import LogLossDifference
    from jaxrate.systems.system_construction_by_name import DataFacts

DEFAULT_PERIOD = 7.0  # days


@command(
    FILE,
    system_option("Compare only this system.  [default: all that can rate the file]", multiple=True),
    param_option("Set a hyperparameter of one system, or of all that have it; or all of one system by a file that fit "
                 "--save wrote.", "[SYSTEM.]NAME=VALUE | FILE.toml"),
    option("period", "DAYS", "Length of rating periods.  [default: that of a file of --param, or 7]", above=0),
    reading_options(),
    first_rows_option,
    plain_option,
    last_option,
    option("fit", text="First fit each system to the matches before --last; takes a minute or so.", to="fitting"),
    groups={"Comparison": ("last", "fit")},
    usual=("a", "b", "score", "time", "system", "param", "period", "last", "fit", "json"),
    examples=(
        "jaxrate compare games.csv",
        "jaxrate compare games.csv --last 0.2 --fit",
        "jaxrate compare games.csv --param fitted.toml --param elo.k=20",
    ),
)  # fmt: skip
def compare(
    report: ProgressReport, file: str, name: tuple[str, ...], params: tuple[str, ...],
    period: float | None, options: dict[str, Any], last: float, fitting: bool, first: int | None, plain: bool,
) -> Output:  # fmt: skip
    """Rate FILE with every system, and rank the systems by how well they predicted it.

    Every match is predicted before its result is used. Matches are rated one by one, and also in rating periods.
    As in rate, systems learn from points and seasons in FILE, unless a system or hyperparameter is named.

    Matches are scored by log loss (lower is better). Contests are scored by the share of pairs in the right order
    (higher is better) and by the error of predicted ranks (lower is better), for all players with a rating and for
    those with 5 earlier contests. In JSON these are pair inversion and rank deviation, and 5plus.

    The values of home advantage and margins come from the matches before --last, or are defaults without it. Speeds are
    those of a second run, without compilation.
    """
    _check_fitting(fitting, last)
    values, files = parse_params(params)
    fits = [load_fitted(path) for path in files]
    names, facts = name or tuple(jr.extend.SYSTEMS), facts_from_options(options)
    changes = _merge_hyperparameter_changes(names, values, _fits_by_system(fits), facts)
    is_default = not (name or params)
    if is_default and first is None:
        request = RatingRequest(file, None, {}, None, options, plain=plain)
        data, request = read_events_with_evidence(report, request)
        options = request.columns
    else:
        data, options = _read_events_of_named(report, file, options, fits, first, plain)
    lengths = _period_lengths(report, data, _fitted_period(fits) if period is None else period)
    for fit in fits:
        changes[fit.system] = drop_fitted_seasons_from_changes(data, fit, changes[fit.system])
        note_open_hyperparameters(report, fit, changes[fit.system])
    comparison = compare_with_notes(
        report, file, data, changes, is_named=bool(name), lengths=lengths, last=last, timed=True, fit=fitting
    )
    _note_results(report, data, comparison, changes, last, shows_evidence=is_default and not plain)
    hint_scored_on_fitted_data(report, fits, file, last)
    nouns = "teams" if is_about_teams(file, options) else "players"
    return Output(_comparison_sections(comparison, nouns, last), _json_result(comparison, file))


def _read_events_of_named(
    report: ProgressReport,
    file: str,
    options: dict[str, Any],
    fits: list[FittedParams],
    first: int | None,
    plain: bool,
) -> tuple[jr.data.Dataset, dict[str, Any]]:
    """The events for systems that are named, and the columns that they and fitted ones learn from."""
    for fit in fits if first is None and not plain else ():
        options = add_fitted_evidence(file, options, fit)
    data = read_events(report, file, options, first=first)
    return remove_side_advantages(data) if plain else data, options


def _note_results(
    report: ProgressReport,
    data: jr.data.Dataset,
    comparison: Comparison,
    changes: dict[str, dict[str, Any]],
    last: float,
    *,
    shows_evidence: bool,
) -> None:
    """Say what systems learn from, and where changed hyperparameters do harm."""
    best = {result.name: result for result in reversed(comparison.results)}  # of its rating periods
    if shows_evidence and SKILLS in best:
        note_evidence(report, best[SKILLS].system, data)
    hint_side_advantage_without_sides(report, data, [result.system for result in best.values()])
    for name, result in best.items():
        warn_worse_than_even(report, data, ScoredSystem(name, changes[name], result.quality, result.period, last))


def _period_lengths(report: ProgressReport, data: jr.data.Dataset, period: float | None) -> tuple[float | None, ...]:
    """The lengths of rating periods by which matches are rated; None: one by one."""
    if not data.of_matches:
        check_period(data, period)
        return (None,)
    if data.clock is None:
        report.note("no column of time, so no rating periods; name one with --time")
        return (None,)
    return None, DEFAULT_PERIOD if period is None else period


def _comparison_sections(comparison: Comparison, nouns: str, last: float) -> list[str | TextTable]:
    """What was compared, the table, and notes."""
    counts = ", ".join(f"{count:,} {what}" for what, count in comparison.counts.items())
    scored = "" if last == 1 else f", the last {comparison.scored:,} scored"
    return [
        f"{counts} of {comparison.players:,} {nouns}{scored}",
        TextTable([*map(metric_heading, comparison.head)], comparison.rows, ("system", "form")),
        "\n".join([*contest_metrics_notes(comparison.results[0].quality), *comparison.notes]),
    ]


def _check_fitting(fitting: bool, last: float) -> None:
    if fitting and last == 1:
        raise ValueError("--fit needs matches before the scored ones; score the last part, as with --last 0.2")


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
            f"--param has fits in periods of {' and '.join(map(format_number, lengths))}; choose by --period"
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
        for name in _systems_with_parameter(field, parameter_names):
            changes[name][field.rpartition(".")[2]] = params[field]
    for name in systems:
        make_system(name, changes[name], facts)  # which raises errors before the file is read
    return changes


def _systems_with_parameter(field: str, parameter_names: dict[str, set[str]]) -> list[str]:
    """The systems that [SYSTEM.]NAME means; ValueError if there are none."""
    system_name, dot, parameter = field.rpartition(".")
    addressed = [name for name in parameter_names if name == system_name or not dot]
    if not addressed:
        hint = did_you_mean_suffix(system_name, parameter_names)
        raise ValueError(f"--param {field}: no system {system_name!r} here{hint}")
    fitting = [name for name in addressed if parameter in parameter_names[name]]
    if not fitting:
        every = set().union(*(parameter_names[name] for name in addressed))
        raise ValueError(
            f"{' and '.join(addressed)}: no parameter {parameter!r}{did_you_mean_suffix(parameter, every)}"
        )
    return fitting


def compare_with_notes(
    report: ProgressReport,
    file: str,
    data: jr.data.Dataset,
    changes: dict[str, dict[str, Any]],
    *,
    is_named: bool,
    **settings: Any,
) -> Comparison:
    """`jr.compare` by systems with these changes and of published forecasts, and notes about what is left out."""
    from jaxrate.evaluation.comparison import select_candidates

    with prefix_errors_with_file(file):
        fitting, left_out = select_candidates(data, changes, is_named=is_named)
    for reason in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name in left_out if left_out[name] == reason)
        report.note(f"left out, since {reason}: {names}")
    forecasters, is_fitted = fitting | (published_forecasts(file, data) or {}), settings.get("fit", False)
    stage = report.stage(f"{'fitting and ' * is_fitted}comparing {len(fitting)} systems", 1.0)
    with stage as watch, ThreadPoolExecutor(os.cpu_count()) as workers:
        return jr.compare(data, forecasters, **settings, watch=watch, executor=workers if is_fitted else None)


def _json_result(comparison: Comparison, file: str) -> dict[str, Any]:
    """The result for JSON."""
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
    values: dict[str, Any] = top | {"notes": comparison.notes, "results": results}
    if (blend := comparison.blend) is not None:
        values["blend"] = {"weights": blend.weights} | _json_forecaster(blend)
    if comparison.published:
        values["published"] = [{"name": one.name} | _json_forecaster(one) for one in comparison.published]
    return values


def _json_forecaster(forecaster: Any) -> dict[str, Any]:
    """The quality of a blend or a published forecast, and how far it is behind the best system."""
    return {"quality": forecaster.quality} | _json_difference(forecaster.log_loss_difference)


def _json_difference(difference: LogLossDifference | None) -> dict[str, float | None]:
    """A log loss less that of the best system, and its standard error, where it is known; nothing of contests."""
    if difference is None:
        return {}
    return {"behind": difference.difference, "behind_error": difference.error}
