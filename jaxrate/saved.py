"""Rated histories: carried on with new matches, and kept in a folder that people can read.

run.json              the system, its parameters, the form, how far it went
ratings.parquet       one row per player, best first
predictions.parquet   one row per match: the probability and the ratings before it
state.npz             the state, exactly
"""

import json
import os
import zlib
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.data import Dataset, write
from jaxrate.events import period_number, periods
from jaxrate.history import history
from jaxrate.leaderboard import ratings
from jaxrate.run import blank
from jaxrate.system import RatingSystem, State
from jaxrate.systems import SYSTEMS
from jaxrate.tables import Values, pyarrow
from jaxrate.text import near, number

FORMAT = 2  # of the folder and of the states in it: raised when older ones cannot be carried on


class Rated(NamedTuple):
    """A rated history, with what it takes to carry on."""

    system: RatingSystem  # with the parameters of the run
    state: State  # leaves [num_players, ...]
    players: Values  # [num_players] names in order of id
    games: Values  # [num_players] matches played
    period: float | None  # the length of the rating periods; None: match by match
    last: float | None  # the time of the last match; None if there are no times
    clock: str | None  # of the times, as in `Dataset`
    predictions: Any  # an Arrow table: row in its file, time, a, b, score, prediction, and both ratings before
    options: dict[str, Any]  # for the caller's own use; what JSON can hold


def rate(system: RatingSystem, data: Dataset, *, period: float | None = None, onto: Rated | None = None) -> Rated:
    """Rate the matches of a table: predict each, then learn from it.

    Args:
      system: as from `elo()`, `glicko()`, ...
      data: matches and names, as from `read`. To carry on, read them with `players=onto.players`.
      period: the length of rating periods; None: match by match.
      onto: a history to carry on from: the result equals one run over both (on a CPU to the last bit;
        of BlatMMR to rounding). Players who are
        new to it join as newcomers.

    Raises:
      ValueError: if the data are not matches that the system rates, if names are of several types, or if the matches
        cannot follow `onto`: another system, other parameters or periods, times of another kind, players without their
        ids, or matches before its end (names the row).
    """
    matches, n = data.matches, len(data.players)
    names = _names(data.players)
    if period is not None and data.clock is None:
        raise ValueError("rating periods need times; name the column of time")
    if onto is not None:
        _check_follows(system, data, period, onto)
    start = None if onto is None else onto.state
    result = history(system, matches if period is None else periods(matches, period), state=start, num_players=n)
    games = np.bincount(matches.player.ravel(), minlength=n)
    before = np.asarray(result.before.mean).reshape(-1, 2)
    columns = {"row": data.rows, "time": to_dates(matches.time) if data.clock == "dates" else matches.time}
    columns |= {side: names.take(pyarrow().array(matches.player[:, i])) for i, side in enumerate("ab")}
    columns |= {"score": matches.score, "prediction": np.asarray(result.prediction)}
    table = pyarrow().table(columns | {"rating_a": before[:, 0], "rating_b": before[:, 1]})
    last = float(matches.time[-1]) if data.clock and len(matches.time) else None if onto is None else onto.last
    if onto is not None:
        games[: len(onto.games)] += onto.games
        table = pyarrow().concat_tables(_alike(onto.predictions, table), promote_options="permissive")
    options = {} if onto is None else onto.options
    return Rated(system, result.state, data.players, games, period, last, data.clock, table, options)


def career(rated: Rated, player: Any) -> dict[str, Values]:
    """A player's matches: time, opponent, his score, the probability (expected score) he had, rating, change.

    The change is up to the player's next match: of a rating period, all of it stands at his last match there.

    Args:
      rated: a rated history.
      player: his name, as it stands in `rated.players` or as that reads in text.

    Raises:
      ValueError: if there is no such player.
    """
    known = [str(x) for x in rated.players]
    if str(player) not in known:
        raise ValueError(f"no player {player!r}{near(str(player), known)}")
    which = known.index(str(player))
    table, arrow, name = rated.predictions, pyarrow(), rated.players[which]
    mine = [arrow.compute.equal(table[side], name) for side in "ab"]
    table = table.append_column("first", mine[0]).filter(arrow.compute.or_(*mine))
    got: dict[str, Values] = {key: table[key].to_numpy() for key in table.column_names}
    first = got["first"]
    rating = np.where(first, got["rating_a"], got["rating_b"])
    final = np.asarray(ratings(rated.system, rated.state).mean)[which]
    return {
        "time": got["time"],
        "opponent": np.where(first, got["b"], got["a"]),
        "score": np.where(first, got["score"], 1.0 - got["score"]),
        "probability": np.where(first, got["prediction"], 1.0 - got["prediction"]),
        "rating": rating,
        "change": np.append(rating[1:], final) - rating,
    }


def rating_table(rated: Rated, time: float | None = None) -> dict[str, Values]:
    """Columns of the ratings, best first: the mean, the deviation if there is one, games, and what else the state says.

    `time` is as in `ratings`.
    """
    rating = ratings(rated.system, rated.state, time=time)
    columns = {"id": np.arange(len(rated.players)), "player": rated.players, "rating": np.asarray(rating.mean)}
    if rating.deviation is not None:
        columns["deviation"] = np.asarray(rating.deviation)
    columns["games"] = rated.games
    known = {"variance", "time", *columns}
    more = {name: np.asarray(x) for name, x in _leaves(rated.state).items()}
    columns |= {name: x for name, x in more.items() if x.ndim == 1 and name not in known}
    best = np.argsort(-columns["rating"], kind="stable")
    return {name: values[best] for name, values in columns.items()}


def save(folder: str | os.PathLike[str], rated: Rated) -> None:
    """Write a rated history to a folder, in place of the one there; files of other names stay.

    Raises:
      ValueError: if the system was made with something that has no name to be kept by, such as a function of one's own.
    """
    folder, settings = Path(folder), dict(rated.system.settings)
    for name, value in settings.items():
        if not (value is None or isinstance(value, (str, int, float))):
            raise ValueError(f"{rated.system.name} was made with {name} of its own, which a saved run cannot hold")
    about: dict[str, Any] = {
        "format": FORMAT,
        "jaxrate": version("jaxrate"),
        "system": rated.system.name,
        "settings": settings,
        "params": {name: None if x is None else float(x) for name, x in rated.system.params._asdict().items()},
        "period": rated.period,
        "matches": len(rated.predictions),
        "players": len(rated.players),
        "last": rated.last,
        "clock": rated.clock,
        "options": rated.options,
    }
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix=".saving") as temporary:
        new = Path(temporary)
        np.savez(new / "state.npz", allow_pickle=False, **_leaves(rated.state))
        write(rating_table(rated), new / "ratings.parquet")
        write(rated.predictions, new / "predictions.parquet")
        about["checksums"] = {file.name: _checksum(file) for file in sorted(new.iterdir())}
        (new / "run.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        for file in sorted(new.iterdir()):
            os.replace(file, folder / file.name)


def load(folder: str | os.PathLike[str]) -> Rated:
    """The rated history in a folder.

    Raises:
      ValueError: if there is none, if its files do not belong together, or if another version of jaxrate wrote it in a
        form that this one cannot carry on.
    """
    arrow, folder = pyarrow(), Path(folder)
    try:
        about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        writer, name = f"jaxrate {about['jaxrate']}", about["system"]
        if about["format"] != FORMAT:
            raise ValueError(f"{writer} wrote it in another form; rate the matches again")
        if name not in SYSTEMS:
            raise ValueError(f"{writer} wrote it for the system {name!r}, which this version does not have")
        for file, checksum in about["checksums"].items():
            if _checksum(folder / file) != checksum:
                raise ValueError(f"{file} was changed or belongs to another run; rate the matches again")
        system = SYSTEMS[name](**about["settings"], **about["params"])
        fresh = blank(system, about["players"])
        with np.load(folder / "state.npz", allow_pickle=False) as file:
            leaves = dict(file)
        if {key: x.shape for key, x in leaves.items()} != {key: x.shape for key, x in _leaves(fresh).items()}:
            raise ValueError(f"{writer} wrote another kind of state for {name}; rate the matches again")
        state = jax.tree.unflatten(jax.tree.structure(fresh), [leaves[key] for key in _leaves(fresh)])
        table = arrow.parquet.read_table(folder / "ratings.parquet", columns=["id", "player", "games"]).sort_by("id")
        guesses = arrow.parquet.read_table(folder / "predictions.parquet")
        names, games = table["player"].to_numpy(), table["games"].to_numpy().copy()
        period, last, clock, options = (about[key] for key in ("period", "last", "clock", "options"))
        return Rated(system, state, names, games, period, last, clock, guesses, options)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ValueError(f"{folder}: no saved run there: {Path(error.filename).name} is missing") from None
    except (KeyError, TypeError, json.JSONDecodeError, arrow.ArrowException) as error:
        raise ValueError(f"{folder}: its files are damaged ({error!r})") from None
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None


def _checksum(file: Path) -> int:
    checksum = 0
    with file.open("rb") as opened:
        while piece := opened.read(1 << 24):
            checksum = zlib.crc32(piece, checksum)
    return checksum


def to_dates(days: Values) -> Values:
    """Days since 1970-01-01 as dates, or as timestamps where some have a time of day."""
    if (np.floor(days) == days).all():
        return days.astype("datetime64[D]")
    return np.round(days * 86_400_000_000).astype("datetime64[us]")


def _check_follows(system: RatingSystem, data: Dataset, period: float | None, onto: Rated) -> None:
    if (system.rules, system.params) != (onto.system.rules, onto.system.params):
        raise ValueError(
            f"the saved run is of {onto.system.name} with its own parameters; carry on with those, or rate all matches "
            f"again by {system.name}"
        )
    if period != onto.period:
        was = "match by match" if onto.period is None else f"in periods of {onto.period:g}"
        raise ValueError(f"the saved run was rated {was}; carry on the same way")
    if not np.array_equal(data.players[: len(onto.players)], onto.players):
        raise ValueError("the players have other ids than in the saved run; read the matches with players=...")
    time = data.matches.time
    if data.clock != onto.clock:
        kinds = {None: "no times", "dates": "dates", "numbers": "numbers for times"}
        raise ValueError(f"the saved run has {kinds[onto.clock]}, the new matches have {kinds[data.clock]}")
    if onto.last is None or not len(data.rows):
        return

    def show(time: float) -> str:
        return str(to_dates(np.array([time]))[0]) if onto.clock == "dates" else number(time)

    first = f"row {data.rows[0]} (counting from 0): time {show(time[0])}"
    if time[0] < onto.last:
        raise ValueError(f"{first} is earlier than the last match of the saved run, {show(onto.last)}")
    if period is not None and period_number(time[0], period) == period_number(onto.last, period):
        raise ValueError(
            f"{first} is in the same rating period as the last match of the saved run, {show(onto.last)}; a period is "
            "rated as a whole, so carry on only where one has ended"
        )


def _names(players: Values) -> Any:
    """The names in Arrow; ValueError if they are not of one plain type."""
    arrow = pyarrow()
    try:
        names = arrow.array(players)
    except arrow.ArrowException:
        names = None
    kinds = ("is_string", "is_large_string", "is_binary", "is_integer", "is_floating", "is_boolean")
    if names is None or not any(getattr(arrow.types, kind)(names.type) for kind in kinds):
        raise ValueError("the names of players must be all text, or all numbers, to be written in a table")
    return names


def _alike(*several: Any) -> list[Any]:
    """Tables with days as timestamps, if not all have days."""
    arrow = pyarrow()
    if len({table["time"].type for table in several}) == 1 or not any(
        arrow.types.is_date(table["time"].type) for table in several
    ):
        return list(several)
    place = several[0].column_names.index("time")
    return [table.set_column(place, "time", table["time"].cast(arrow.timestamp("us"))) for table in several]


def _leaves(state: State) -> dict[str, Any]:
    """The leaves of a state, or their shapes, by name."""
    found = jax.tree_util.tree_leaves_with_path(state)
    return {jax.tree_util.keystr(path, simple=True, separator="."): x for path, x in found}
