"""The saved run that `jaxrate rate --state` continues, and the one that --out writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.shared_options import RatingRequest
from jaxrate.data.column_role_definitions import LAYOUT_ROLES

LAYOUT_OPTIONS = {"format", *LAYOUT_ROLES}  # of which new ones replace all those of the saved run


def reader_arguments_from_saved_run(saved: jr.History | None) -> dict[str, Any]:
    """The names that have ids already, as arguments of `jr.read`."""
    if saved is None:
        return {}
    arguments: dict[str, Any] = {} if saved.categories is None else {"categories": saved.categories}
    arguments |= {} if saved.seasons is None else {"seasons": saved.seasons}
    if {"rest", "form"} & saved.options.get("columns", {}).keys():
        arguments["history"] = saved.predictions
    return {"players": saved.players} | arguments


def complete_request_from_saved_run(saved: jr.History, request: RatingRequest) -> RatingRequest:
    """The request, completed by the options of this run; ValueError for another system, hyperparameter or period."""
    from jaxrate.history.ratings_at_times import date_format_of_history_file
    from jaxrate.systems.draw_probability_wrapper import has_outcome_wrapper
    from jaxrate.systems.system_construction_by_name import make_system

    if request.fitted is not None:
        raise ValueError("--params is for new runs; the saved run has its own")
    requested = make_system(request.name or saved.system.name, {})
    if requested.name != saved.system.name:
        raise ValueError(
            f"the saved run is of {saved.system.name}, not {requested.name}; rate its matches again by {requested.name}"
        )
    saved_values = dict(saved.system.settings) | saved.system.params._asdict()
    system = make_system(requested.name, saved_values | request.changes)
    if has_outcome_wrapper(saved.system) and not has_outcome_wrapper(system):
        system = jr.forecasts.add_outcomes(system)
    if (system.params, system.rules) != (saved.system.params, saved.system.rules):
        differing = ", ".join(f"{key}={saved_values[key]}" for key in request.changes)
        raise ValueError(f"the saved run has {differing}; continue without --param, or rate its matches again")
    if request.period not in (None, saved.period):
        manner = "match by match" if saved.period is None else f"in periods of {saved.period:g}"
        raise ValueError(f"the saved run was rated {manner}; continue without --period, or rate its matches again")
    saved_columns = saved.options.get("columns", {})
    kept_columns = {
        key: x
        for key, x in saved_columns.items()
        if not (key in {*LAYOUT_OPTIONS, "team"} and request.columns.keys() & LAYOUT_OPTIONS)
    }
    if (dates := date_format_of_history_file(saved)) is not None and "format" not in kept_columns | request.columns:
        kept_columns["dates"] = dates
    return request._replace(period=saved.period, columns=kept_columns | request.columns)


def lock_output_folder(out: Path) -> None:
    """Make the folder if it does not exist; no other process saves into it until the command ends."""
    from jaxrate.storage.atomic_folder import lock_folder

    context = click.get_current_context()
    if not context.meta.get(__name__):
        out.mkdir(parents=True, exist_ok=True)
        context.with_resource(lock_folder(out))
        context.meta[__name__] = True


def save_run(out: Path, rated: jr.History, tables: dict[str, Any], csv: bool, csv_safe: bool) -> str:
    """Save the run and further tables by name, if `csv_safe` for spreadsheets; those of an earlier run are removed.

    Returns what run with more matches or contests it replaced, in words, or "".
    """
    from jaxrate.history.run_metadata import make_run_metadata
    from jaxrate.history.saved_runs import describe_longer_run, write_run
    from jaxrate.storage.atomic_folder import OPTIONAL_FILES

    other_files: dict[str, Any] = dict.fromkeys(OPTIONAL_FILES)
    if csv or csv_safe:
        other_files |= {"ratings.csv": jr.history.rating_table(rated), "predictions.csv": rated.predictions}
    for name, columns in tables.items():
        other_files |= {f"{name}.csv": columns} if csv or csv_safe else {f"{name}.parquet": columns}
    lock_output_folder(out)
    longer_run = describe_longer_run(out, rated)
    write_run(out, rated, make_run_metadata(rated), other_files, csv_safe)
    return longer_run
