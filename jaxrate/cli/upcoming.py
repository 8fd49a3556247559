"""What `jaxrate rate --predict` expects of matches and contests to come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import jaxrate as jr
from jaxrate.cli.choosing import hint_side
from jaxrate.cli.progress import Report
from jaxrate.cli.reading import read
from jaxrate.cli.saved import names_of
from jaxrate.text import name_of, table

SHOWN = 30  # rows that are printed
OF_BOTH = "time", "skip_incomplete", "normalise_names"  # what is read of each kind
KNOWN = "category", "mixtures", "margin", "covariates", "season", "columns"  # of matches before they are played
OF_MATCHES = "a", "b", "side", "neutral", *KNOWN, *OF_BOTH
RESULTS = "win", "draw", "loss"  # chances that are printed
OF_CONTESTS = "contest", "player", "team", "weight", "ceiling", "noise", *OF_BOTH


def predicted(report: Report, file: str, rated: jr.Rated, until: float | None) -> tuple[list[str], dict[str, Any]]:
    """What is expected of matches or contests to come, in words and as columns."""
    from jaxrate.systems.choosing import as_known

    of_matches = rated.contests is None
    given: dict[str, Any] = {"side": "a"} if rated.options.get("sided") else {}  # by the format, or by the columns
    given |= rated.options.get("columns", {})
    options = {key: given[key] for key in (OF_MATCHES if of_matches else OF_CONTESTS) if key in given}
    data = read(report, file, options, **names_of(rated), upcoming=True)
    if isinstance(data.events, jr.Matches) != of_matches:
        kinds = ("matches", "contests") if of_matches else ("contests", "matches")
        raise ValueError("{}: the run is of {}, these are {}".format(Path(file).name, *kinds))
    if data.clock not in (None, rated.clock):
        raise ValueError(f"{Path(file).name}: the times must be {rated.clock or 'left out'}, as in the run")
    hint_side(report, data, [rated.system])
    data = as_known(rated.system, data)
    if data.clock is None:
        data = _all_at(data, max((x for x in (until, rated.last) if x is not None), default=0.0))
    from jaxrate.records import outlooks
    from jaxrate.records.rated import in_further

    system = in_further(rated, (data.seasons or {}).values())
    prediction = jr.predict(system, rated.state, data.events, num_players=len(data.players))
    chances = outlooks.of_matches(prediction) if of_matches else outlooks.of_contests(prediction, data.rounds)
    guess = chances["prediction"]
    title, shown, columns = (_matches if of_matches else _contests)(data, guess)
    told = {"probability" if of_matches else "share": guess} | {x: chances[x] for x in RESULTS if x in chances}
    rows = list(zip(*shown.values(), *([f"{p:.3f}" for p in x] for x in told.values()), strict=True))
    text = table([*shown, *told], rows[:SHOWN], left=("a", "b", "contest", "player"))
    if len(rows) > SHOWN:
        text += f"\n... and {len(rows) - SHOWN:,} more; --out writes them all"
    new = data.players[len(rated.players) :]
    if len(new):
        names = ", ".join(map(name_of, new[:3])) + ", ..." * (len(new) > 3)
        report.note(f"{len(new)} of these players have not played yet: {names}")
    return [title, text], {"row": data.rows} | columns | chances


def _all_at(data: jr.Dataset, time: float) -> jr.Dataset:
    """Events without times, all at this one."""
    events: Any = data.events
    if isinstance(events, jr.Matches):
        return data._replace(events=events._replace(time=np.full_like(events.time, time)))
    flat = events.events._replace(time=np.full_like(events.events.time, time))
    return data._replace(events=events._replace(events=flat))


def _matches(data: jr.Dataset, guess: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """A title, and the columns to be shown and to be written beside the prediction."""
    columns = dict(zip("ab", data.players[data.matches.player].T, strict=True))
    return "To come, with the probability (expected score) of a:", columns, columns


def _contests(data: jr.Dataset, guess: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    from jaxrate.data.teams import in_teams
    from jaxrate.events import count_teams

    rounds, flat = data.rounds, data.rounds.events
    size = np.diff(rounds.player_start)
    columns = {"contest": np.repeat(np.asarray(data.contests), size), "player": data.players[flat.player]}
    rank = 1 + (1 - guess.astype(float)) * np.repeat(count_teams(rounds) - 1, size)
    others = "other teams" if in_teams(data) else "others"
    title = f"To come, with the expected rank and the share of the {others} to be left behind:"
    return title, columns | {"expected rank": [f"{x:.1f}" for x in rank]}, columns | {"expected_rank": rank}
