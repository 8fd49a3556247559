"""Rated histories, carried on with new events: every prediction beside its row, and what a player went through."""

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.data.dataset import Dataset
from jaxrate.data.tables import Values, located, pyarrow
from jaxrate.events import (
    Array,
    Matches,
    Ragged,
    Rounds,
    check_order,
    count_better,
    count_teams,
    period_number,
    periods,
)
from jaxrate.records.history import History, history
from jaxrate.records.leaderboard import aged, ratings
from jaxrate.system import RatingSystem, State
from jaxrate.text import near, number


class Rated(NamedTuple):
    """A rated history, with what it takes to carry on."""

    system: RatingSystem  # with the parameters of the run
    state: State  # leaves [num_players, ...]
    players: Values  # [num_players] names in order of id
    games: Values  # [num_players] matches or contests played
    period: float | None  # the length of the rating periods; None: event by event
    last: float | None  # the time of the last event; None if there are no times
    clock: str | None  # of the times, as in `Dataset`
    predictions: Any  # an Arrow table, one row per match or participation, see `rate`
    options: dict[str, Any]  # for the caller's own use; what JSON can hold
    categories: Values | None = None  # [C] names in order of id, of a system that knows them

    @property
    def contests(self) -> int | None:
        """How many contests were rated; None if these are matches."""
        if "participants" not in self.predictions.column_names:
            return None
        return round((1.0 / self.predictions["participants"].to_numpy()).sum())


def rate(
    system: RatingSystem,
    data: Dataset,
    *,
    period: float | None = None,
    onto: Rated | None = None,
    key: Array | None = None,
) -> Rated:
    """Rate the matches or contests of a table: predict each, then learn from it.

    The predictions have one row per match: row in its file, time, a, b, score, prediction, and both ratings before with
    their deviations; or one per participation: row, contest, time, player, rank (from 1: so many are ahead, plus one),
    participants, prediction (the share of the others that he should leave behind), and his rating and deviation before.
    Where some play in teams, rank and prediction are among teams, and there is the number of teams beside that of
    participants. Deviations are left out if the system has none.

    Args:
      system: as from `elo()`, `glicko()`, ...
      data: events and names, as from `read`. To carry on, read them with `players=onto.players` and, where there are
        categories, `categories=onto.categories`.
      period: the length of rating periods; None: match by match, or contest by contest.
      onto: a history to carry on from: the result equals one run over both (on a CPU to the last bit; of BlatMMR,
        of TrueSkill and of contests to rounding; of Urnings by chance). Players who are new to it join as newcomers.
      key: a PRNG key for systems that draw random numbers. None: one that follows from how much was rated before.

    Raises:
      ValueError: if the data are not events that the system rates, if names are of several types, or if the events
        cannot follow `onto`: of another kind, another system, other parameters or periods, times of another kind,
        players without their ids, or events before its end (names the row).
    """
    events, n = data.events, len(data.players)
    names = _column(data.players)
    if names is None:
        raise ValueError("the names of players must be all text, or all numbers, to be written in a table")
    categories = data.categories if "categories" in system.settings else None
    if categories is not None and (_column(categories) is None or isinstance(categories[0], bytes)):
        raise ValueError("the names of categories must be all text, or all numbers, to be kept")
    if period is not None:
        if data.clock is None:
            raise ValueError("rating periods need times; name the column of time")
        events = periods(data.matches, period)
    if onto is not None:
        _check_follows(system, data, period, onto)
    of_matches = isinstance(data.events, Matches)
    check_times(system, data)
    with located("", lambda row: f"row {data.rows[row]} (counting from 0)"):
        system.check(data.events)
    if system.rules.draw is not None and key is None:
        key = jax.random.fold_in(jax.random.key(0), 0 if onto is None else len(onto.predictions))
    result = history(system, events, state=None if onto is None else onto.state, key=key, num_players=n)
    flat = data.matches if of_matches else data.rounds.events
    games = np.bincount(flat.player.ravel(), minlength=n)
    table = pyarrow().table(_matches(data, result, names) if of_matches else _contests(data, result, names, onto))
    last = float(flat.time[-1]) if data.clock and len(flat.time) else None if onto is None else onto.last
    if onto is not None:
        games[: len(onto.games)] += onto.games
        table = pyarrow().concat_tables(_alike(onto.predictions, table), promote_options="permissive")
    clock, options = (data.clock, {}) if onto is None else (data.clock or onto.clock, onto.options)
    return Rated(system, result.state, data.players, games, period, last, clock, table, options, categories)


def check_times(system: RatingSystem, data: Dataset) -> None:
    """ValueError if the times of contests decrease, and the system takes notice; names the row of the source."""
    if Rounds in system.events and not isinstance(data.events, Matches) and system.clocked(system.params):
        with located("", lambda row: f"row {data.rows[row]} (counting from 0)"):
            check_order(data.rounds, lambda time: _show(time, data.clock))


def _matches(data: Dataset, result: History, names: Any) -> dict[str, Any]:
    """The columns of the predictions."""
    matches = data.matches
    before = np.asarray(result.before.mean).reshape(-1, 2)
    columns = {"row": data.rows, "time": to_dates(matches.time) if data.clock == "dates" else matches.time}
    columns |= {side: names.take(pyarrow().array(matches.player[:, i])) for i, side in enumerate("ab")}
    columns |= {"score": matches.score, "prediction": np.asarray(result.prediction)}
    columns |= {"rating_a": before[:, 0], "rating_b": before[:, 1]}
    if result.before.deviation is not None:
        deviation = np.asarray(result.before.deviation).reshape(-1, 2)
        columns |= {"deviation_a": deviation[:, 0], "deviation_b": deviation[:, 1]}
    return columns


def _contests(data: Dataset, result: History, names: Any, onto: Rated | None) -> dict[str, Any]:
    """The columns of the predictions. A contest without a name, or with one that no table holds, has its number."""
    arrow = pyarrow()
    rounds: Any = data.rounds.events
    size = np.diff(data.rounds.player_start)
    which = np.repeat(np.arange(len(size)), size)
    teams = count_teams(data.rounds)
    in_teams = bool((teams < size).any())
    labels = None if data.contests is None else _column(data.contests)
    if labels is None:
        before = 0 if onto is None else onto.contests or 0
        labels = arrow.array(np.arange(before, before + len(size)))
    time = to_dates(rounds.time) if data.clock == "dates" else rounds.time
    columns = {
        "row": data.rows,
        "contest": labels.take(arrow.array(which)),
        "time": time[which] if data.clock else arrow.nulls(len(which)),
        "player": names.take(arrow.array(rounds.player)),
        "rank": (_rank_of_teams(data.rounds, which) if in_teams else rounds.rank) + 1,
        "participants": size[which].astype(np.int32),
    }
    if in_teams:
        columns["teams"] = teams[which]
    columns |= {"prediction": np.asarray(result.prediction), "rating": np.asarray(result.before.mean)}
    if result.before.deviation is not None:
        columns["deviation"] = np.asarray(result.before.deviation)
    return columns


def _rank_of_teams(rounds: Ragged, which: Values) -> Values:
    """[sum P] how many teams are strictly better than one's own; `which` [sum P] are the numbers of the contests."""
    flat: Any = rounds.events
    number = which * (flat.team.max() + np.int64(1)) + flat.team
    _, captain, team = np.unique(number, return_index=True, return_inverse=True)
    return count_better(which[captain], flat.rank[captain])[team]


def career(rated: Rated, player: Any) -> dict[str, Values]:
    """What a player went through, one row per match or contest.

    Of matches: time, opponent, his score, the probability (expected score) he had, rating before, its deviation (if the
    system has one), change. Of contests: time, contest, participants, his rank, the one that was expected, rating
    before, its deviation, change; and the number of teams, where there are any, among which his is ranked. The change
    is up to the next row: of a rating period, all of it stands at his last match there.

    Args:
      rated: a rated history.
      player: his name, as it stands in `rated.players` or as that reads in text.

    Raises:
      ValueError: if there is no such player.
    """
    which = find(rated.players, player)
    table, arrow, name = rated.predictions, pyarrow(), rated.players[which]
    final = np.asarray(ratings(rated.system, rated.state).mean)[which]
    if rated.contests is not None:
        table = table.filter(arrow.compute.equal(table["player"], name))
        got: dict[str, Values] = {key: table[key].to_numpy() for key in table.column_names}
        several = ["time", "contest", "participants", "teams", "rank"]
        columns = {key: got[key] for key in several if key in got}
        sides = got.get("teams", got["participants"])
        columns["expected_rank"] = 1.0 + (1.0 - got["prediction"].astype(float)) * (sides - 1)
        before = {key: got[key] for key in ("rating", "deviation") if key in got}
    else:
        mine = [arrow.compute.equal(table[side], name) for side in "ab"]
        table = table.append_column("first", mine[0]).filter(arrow.compute.or_(*mine))
        got = {key: table[key].to_numpy() for key in table.column_names}
        first = got["first"]
        before = {
            key: np.where(first, got[f"{key}_a"], got[f"{key}_b"])
            for key in ("rating", "deviation")
            if f"{key}_a" in got
        }
        columns = {
            "time": got["time"],
            "opponent": np.where(first, got["b"], got["a"]),
            "score": np.where(first, got["score"], 1.0 - got["score"]),
            "probability": np.where(first, got["prediction"], 1.0 - got["prediction"]),
        }
    return columns | before | {"change": np.append(before["rating"][1:], final) - before["rating"]}


def find(players: Values, player: Any) -> int:
    """The id of this name, or of the one that reads so in text; ValueError if there is none."""
    known = [str(x) for x in players]
    if str(player) not in known:
        raise ValueError(f"no player {player!r}{near(str(player), known)}")
    return known.index(str(player))


def rating_table(rated: Rated, time: float | None = None) -> dict[str, Values]:
    """Columns of the ratings, best first: the mean, the deviation if there is one, games, and what else the state says.

    `time` is as in `ratings`.
    """
    state = aged(rated.system, rated.state, time, rated.system.params)
    rating = ratings(rated.system, state)
    columns = {"id": np.arange(len(rated.players)), "player": rated.players, "rating": np.asarray(rating.mean)}
    if rating.deviation is not None:
        columns["deviation"] = np.asarray(rating.deviation)
    columns["games"] = rated.games
    known = {"variance", "time", *columns}
    more = {name: np.asarray(x) for name, x in leaves(state).items()}
    columns |= {name: x for name, x in more.items() if x.ndim == 1 and name not in known and "." not in name}
    if rated.categories is not None:
        for i, name in enumerate(rated.categories):
            columns[f"modifier {name}"] = more["modifiers"][:, i]
            columns[f"deviation {name}"] = np.sqrt(more["modifier_variance"][:, i])
    best = np.argsort(-columns["rating"], kind="stable")
    return {name: values[best] for name, values in columns.items()}


def to_dates(days: Values) -> Values:
    """Days since 1970-01-01 as dates, or as timestamps where some have a time of day."""
    if (np.floor(days) == days).all():
        return days.astype("datetime64[D]")
    return np.round(days * 86_400_000_000).astype("datetime64[us]")


def _show(time: float, clock: str | None) -> str:
    return str(to_dates(np.array([time]))[0]) if clock == "dates" else number(time)


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
    if onto.categories is not None and not (
        data.categories is not None and data.categories.tolist() == onto.categories.tolist()
    ):
        raise ValueError("the categories differ from the saved run's; read the matches with categories=...")
    of_matches = isinstance(data.events, Matches)
    if of_matches != (onto.contests is None):
        kinds = ("contests", "matches") if of_matches else ("matches", "contests")
        raise ValueError("the saved run is of {}, these are {}".format(*kinds))
    if data.clock != onto.clock and (of_matches or (data.clock and onto.clock)):
        clocks = {None: "no times", "dates": "dates", "numbers": "numbers for times"}
        new = "matches" if of_matches else "contests"
        raise ValueError(f"the saved run has {clocks[onto.clock]}, the new {new} have {clocks[data.clock]}")
    clocked = of_matches or system.clocked(system.params)
    if onto.last is None or data.clock is None or not len(data.rows) or not clocked:
        return
    time = data.matches.time if of_matches else data.rounds.events.time
    event, last = "match" if of_matches else "contest", _show(onto.last, onto.clock)
    first = f"row {data.rows[0]} (counting from 0): time {_show(time[0], onto.clock)}"
    if time[0] < onto.last:
        raise ValueError(f"{first} is earlier than the last {event} of the saved run, {last}")
    if period is not None and period_number(time[0], period) == period_number(onto.last, period):
        raise ValueError(
            f"{first} is in the same rating period as the last match of the saved run, {last}; a period is "
            "rated as a whole, so carry on only where one has ended"
        )


def _column(values: Values) -> Any:
    """An Arrow array of names; None if they are not of one plain type."""
    arrow = pyarrow()
    try:
        names = arrow.array(values)
    except arrow.ArrowException:
        return None
    kinds = ("is_string", "is_large_string", "is_binary", "is_integer", "is_floating", "is_boolean")
    return names if any(getattr(arrow.types, kind)(names.type) for kind in kinds) else None


def _alike(*several: Any) -> list[Any]:
    """Tables with days as timestamps, if not all have days, and names of contests as text, if not all are numbers.

    If some tell the numbers of teams, all do.
    """
    arrow, tables = pyarrow(), list(several)
    if any("teams" in table.column_names for table in tables):
        for i, table in enumerate(tables):
            if "teams" not in table.column_names:
                place = table.column_names.index("participants")
                tables[i] = table.add_column(place + 1, "teams", table["participants"])
    for name, kind, wanted in (
        ("time", arrow.types.is_date, arrow.timestamp("us")),
        ("contest", lambda x: not arrow.types.is_integer(x), arrow.large_string()),
    ):
        types = {table[name].type for table in tables if name in table.column_names} - {arrow.null()}
        if len(types) > 1 and any(map(kind, types)):
            place = tables[0].column_names.index(name)
            tables = [table.set_column(place, name, table[name].cast(wanted)) for table in tables]
    return tables


def leaves(state: State) -> dict[str, Any]:
    """The leaves of a state, or their shapes, by name."""
    found = jax.tree_util.tree_leaves_with_path(state)
    return {jax.tree_util.keystr(path, simple=True, separator="."): x for path, x in found}
