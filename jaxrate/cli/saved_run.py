"""The saved run that `jaxrate rate --state` carries on, and the one that --out leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.shared_options import RatingRequest

# options of which new ones take the place of all
FORMAT_OPTIONS = {"format", "a", "b", "score", "winner", "loser", "contest", "participant", "rank", "last_rank"}


def known_ids(saved: jr.Rated | None) -> dict[str, Any]:
    """What has ids already, as `jr.read` takes it."""
    if saved is None:
        return {}
    kinds: dict[str, Any] = {} if saved.categories is None else {"categories": saved.categories}
    kinds |= {} if saved.seasons is None else {"seasons": saved.seasons}
    if {"rest", "form"} & saved.options.get("columns", {}).keys():
        kinds["history"] = saved.predictions
    return {"players": saved.players} | kinds


def continue_request(saved: jr.Rated, request: RatingRequest) -> RatingRequest:
    """What was asked for, in the form of this run; ValueError if it is another system, hyperparameter or period."""
    from jaxrate.league.query_time import written_date_format
    from jaxrate.league.system_choice import make_system
    from jaxrate.systems.outcome_probabilities import is_outlook

    if request.fitted is not None:
        raise ValueError("--params is of a new run; the one to carry on has its own")
    now = make_system(request.name or saved.system.name, {})
    if now.name != saved.system.name:
        raise ValueError(
            f"the saved run is of {saved.system.name}, not {now.name}; rate its matches again by {now.name}"
        )
    before = dict(saved.system.settings) | saved.system.params._asdict()
    wanted = make_system(now.name, before | request.changes)
    if is_outlook(saved.system) and not is_outlook(wanted):
        wanted = jr.forecasts.add_outcomes(wanted)
    if (wanted.params, wanted.rules) != (saved.system.params, saved.system.rules):
        kept = ", ".join(f"{key}={before[key]}" for key in request.changes)
        raise ValueError(f"the saved run has {kept}; carry on without --param, or rate its matches again")
    if request.period not in (None, saved.period):
        was = "match by match" if saved.period is None else f"in periods of {saved.period:g}"
        raise ValueError(f"the saved run was rated {was}; carry on without --period, or rate its matches again")
    then = saved.options.get("columns", {})
    stays = {
        key: x
        for key, x in then.items()
        if not (key in {*FORMAT_OPTIONS, "team"} and request.columns.keys() & FORMAT_OPTIONS)
    }
    if (dates := written_date_format(saved)) is not None and "format" not in stays | request.columns:
        stays["dates"] = dates
    return request._replace(period=saved.period, columns=stays | request.columns)


def lock_output_folder(out: Path) -> None:
    """Make the folder, unless it is there; nobody else saves into it until the command ends."""
    from jaxrate.storage.atomic_folder import lock_folder

    context = click.get_current_context()
    if not context.meta.get(__name__):
        out.mkdir(parents=True, exist_ok=True)
        context.with_resource(lock_folder(out))
        context.meta[__name__] = True


def save_run(out: Path, rated: jr.Rated, tables: dict[str, Any], csv: bool, csv_safe: bool) -> None:
    """Save the run, and tables by name beside it, perhaps `csv_safe` for spreadsheets; those of an earlier run go."""
    from jaxrate.league.run_description import describe_run
    from jaxrate.saved_runs import write_run
    from jaxrate.storage.atomic_folder import OPTIONAL_FILES

    beside: dict[str, Any] = dict.fromkeys(OPTIONAL_FILES)
    if csv or csv_safe:
        beside |= {"ratings.csv": jr.league.rating_table(rated), "predictions.csv": rated.predictions}
    for name, columns in tables.items():
        beside |= {f"{name}.csv": columns} if csv or csv_safe else {f"{name}.parquet": columns}
    lock_output_folder(out)
    write_run(out, rated, describe_run(rated), beside, csv_safe)
