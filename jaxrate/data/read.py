"""Tables of matches or contests, in files or in memory: names become ids, dates days, and bad rows are named."""

import os
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxrate.data import tables
from jaxrate.data.categories import Shares, to_categories
from jaxrate.data.tables import Column, Source, Values
from jaxrate.events import Matches, Ragged, Rounds, build_rounds, fail_where, in_contest, matches, warn_alone
from jaxrate.text import number


class Dataset(NamedTuple):
    """What `read` makes of a table."""

    events: Matches | Ragged
    players: Values  # [num_players] names in order of id
    rows: Values  # [n] where each match, or participant of a round, stands in the source, from 0
    categories: Values | None = None  # [num_categories] names in order of id
    clock: str | None = "numbers"  # what time came from: "dates" (in days since 1970-01-01), "numbers"; None: no time
    contests: Values | None = None  # [E] what the source calls each contest

    @property
    def matches(self) -> Matches:
        """The events. ValueError if they are rounds."""
        if not isinstance(self.events, Matches):
            raise ValueError("these are rounds, contests of many players, and not matches of two")
        return self.events

    @property
    def rounds(self) -> Ragged:
        """The events. ValueError if they are matches."""
        if not (isinstance(self.events, Ragged) and isinstance(self.events.events, Rounds)):
            raise ValueError("these are matches of two players, and not rounds, contests of many")
        return self.events


def read(
    source: Any, *, a: str | None = None, b: str | None = None, winner: str | None = None, loser: str | None = None,
    contest: str | None = None, player: str | None = None, rank: str | None = None, last: str | None = None,
    team: str | None = None, ceiling: str | None = None,
    score: str | None = None, time: str | None = None, side: str | None = None, neutral: str | None = None,
    weight: str | None = None, category: str | Sequence[str] | None = None,
    mixtures: Mapping[Any, Shares] | None = None, columns: str | Sequence[str] = (), drop: str | Sequence[str] = (),
    players: Any = None, categories: Any = None, upcoming: bool = False, sort: bool = False,
) -> Dataset:  # fmt: skip
    """Checked matches from a table with one row per match, or rounds from one with one row per participant.

    A file with columns a, b, score or winner, loser or contest, player, rank (and perhaps time, date or t) needs no
    arguments; these names are found in any case. All other columns are used only if named. Names of players and
    categories become ids in order of first appearance, reading the rows of the source from the top and a before b; in
    CSV they are text ("007" stays that), and an empty field is missing. CSV may be separated by commas, or by
    semicolons or tabs if the header has no comma.

    Args:
      source: a path to .parquet, .csv or .tsv (these two also .gz, .bz2 or .zst), a pandas, polars or Arrow table, or
        a dict of arrays or lists.
      a: the column of player 0, of any hashable type. None: "a", and so for the next six.
      b: the column of player 1, of the same type.
      winner: instead of `a`: the winner becomes player 0 and the score is 1.
      loser: instead of `b`.
      contest: the column that says which rows are one contest, of any hashable type. Its rows stand together, unless
        `sort` brings them together, and the contests count in the order in which they stand.
      player: the column of the participant.
      rank: the column of his rank; lower is better, equal is a tie. If there is none, `score` ranks, higher is better.
      last: a column of the last place of his tie, in the same count as `rank`. Checked, and used for nothing else: who
        ties has the same range of places, in which there is room for them all, and other ranges do not overlap it.
      team: a column of any hashable type: who has the same in a contest plays together and shares the rank.
        Who plays alone has one of his own.
      ceiling: a column, the same within a contest: performances above it count as it. A missing one, or inf: none.
      score: the column of player 0's score, in [0, 1]; of contests, see `rank`. None: "score".
      time: a column of numbers, which stay as they are (20240131 is no date), or of dates, timestamps or ISO text,
        which become days since 1970-01-01 (UTC). None: the first there is of "time", "date" and "t", or else no time.
        A column without any value is no time either.
      side: a column in [-1, 1]: 1 where player 0 has the side advantage (home, white), -1 where player 1 has, 0 if
        neither; true is 1 and false 0. "a" or "b", unless another column has that name: that player in every match.
      neutral: a column, true (or 1) where nobody has the side after all.
      weight: a column above 0; a match of weight w counts as w matches. Of contests, or of partial play in them.
      category: a column, of both players (of the match), or the pair of a's and b's.
      mixtures: names in these columns that stand for several categories, as a random race does: by name their shares
        (by name, or names of equal parts; None: all categories in equal parts). Each player draws on his own.
      columns: further columns of numbers, for systems of one's own: by these names they go with the matches, as
        `context.columns`.
      drop: columns, true (or 1) where the row is left out before anything else of it is looked at.
      players: names that have ids already, as in `players` of an earlier dataset: they keep them, others come after.
      categories: names that have ids already, as in `categories` of an earlier dataset; there are no others.
      upcoming: the events are to come: no score is read, 0.5 stands in for it, in contests a tie of all (of teams as
        well), and they are put in order of time.
      sort: put the rows in order of time (stable, contests as wholes). Otherwise time that decreases is an error, of
        contests only when a system rates them in which time passes.

    Raises:
      ValueError: names the file, the first bad row of the source (counting from 0; in CSV also its line), its contest
        or the column, and what is wrong with it; also if no rows are left.
      TypeError: if the source is of none of these kinds.
      ImportError: if pyarrow is not installed.

    Warns:
      UserWarning: if contests have a single participant; systems of ranks learn nothing from them.
    """
    tables.pyarrow()
    table = tables.open_source(source)
    rows: Values | None = None  # where each row stands in the source, once rows were dropped or sorted
    fields: dict[str, Any] = {}
    labels, clock, contests = None, None, None

    def where(row: int) -> str:
        return table.where(row if rows is None else int(rows[row]))

    def label(row: int) -> str:
        return "" if contests is None else f"contest {contests.tolist()[fields['contest'][row]]!r}"

    with tables.located(table.title, where), in_contest(label):
        names = table.names
        given = {"a": a, "b": b, "winner": winner, "loser": loser, "contest": contest, "player": player, "rank": rank}
        form = _form(names, given | {"last": last, "team": team, "ceiling": ceiling, "score": score}, upcoming)
        everywhere = None
        if form.contest is None:
            everywhere = _everywhere(names, form, side)
        elif not side is neutral is category is None or columns:
            raise ValueError("side, neutral, category and columns are for matches of two, not for contests")
        if time is None:
            time = next(filter(None, (tables.find_name(names, key) for key in ("time", "date", "t"))), None)
        if sort and time is None:
            raise ValueError("the option sort needs a column of time")
        if neutral is not None and side is None:
            raise ValueError("neutral needs side: without it nobody has the side in any match")
        pair = [category] * 2 if isinstance(category, str) else [] if category is None else category
        if not isinstance(pair, (list, tuple)) or len(pair) not in (0, 2):
            raise ValueError(f"category must be one column or the pair of a's and b's, got {category}")
        if (mixtures or categories is not None) and not pair:
            raise ValueError("mixtures and categories need category, the columns that they are in")
        drops, further = ([given] if isinstance(given, str) else list(given) for given in (drop, columns))
        text = [*form.who, *pair, *filter(None, (form.contest, team))]
        other = filter(None, (form.result, last, ceiling, time, None if everywhere else side, neutral, weight))
        wanted = list(dict.fromkeys([*text, *other, *further, *drops]))
        tables.check_names(names, wanted)

        loaded, rows = _load(table, wanted, text, drops)
        n = len(loaded[wanted[0]])
        if form.contest is not None:
            fields["contest"], contests = _codes(form.contest, loaded)
        fields["player"], players = tables.to_ids(form.who, loaded, players)
        if weight is not None:
            fields["weight"] = tables.to_numbers(weight, loaded[weight])
        value = None if form.result is None else tables.to_numbers(form.result, loaded[form.result])
        if form.contest is None:
            first, second = fields["player"].T
            fail_where(first == second, lambda row: f"{players[first[row]]} meets himself; remove the row")
            fields["score"] = np.full(n, 0.5 if upcoming else 1.0) if value is None else value
            if side is not None:
                fields["side"] = np.full(n, everywhere) if everywhere else tables.to_numbers(side, loaded[side])
            if neutral is not None:
                fields["side"] = np.where(tables.to_flags(neutral, loaded[neutral]), 0.0, fields["side"])
            if pair:
                fields["category"], labels = to_categories(pair, loaded, categories, mixtures or {})
            fields["columns"] = {name: tables.to_numbers(name, loaded[name]) for name in further}
        else:
            fields["player"] = fields["player"][:, 0]
            fields["rank"] = np.zeros(n) if value is None else value if form.ranked else -value
            if last is not None:
                _check_places(fields["contest"], fields["rank"], tables.to_numbers(last, loaded[last]))
            if team is not None:
                alone = tables.missing(loaded[team], nan=True)
                fail_where(alone, lambda row: f"column {team!r} has no value; who plays alone has a team of his own")
                fields["team"], _ = _codes(team, loaded)
            if ceiling is not None:
                fields["ceiling"] = tables.to_numbers(ceiling, loaded[ceiling], default=np.inf)
        if time is not None and tables.missing(loaded[time], nan=True).all():
            if sort:
                raise ValueError(f"the option sort needs times, but column {time!r} has no value")
            time = None
        if time is not None:
            fields["time"], dated = tables.to_days(time, loaded[time])
            clock = "dates" if dated else "numbers"
            if sort or upcoming:
                keys = [fields["time"]]
                if contests is not None:
                    keys.insert(0, fields["contest"])
                    _check_one_time(fields["contest"], fields["time"], contests)
                order = np.lexsort(keys)
                rows = order if rows is None else rows[order]
                fields = _in_order(fields, order)
            elif form.contest is None:
                tables.check_order(loaded[time], fields["time"])
        rows = np.arange(n) if rows is None else rows
        if contests is None:
            return Dataset(matches(**fields), players, rows, labels, clock)
        events = _rounds(fields, contests, players, rows)
        contests = contests[fields["contest"][events.player_start[:-1]]]
    warn_alone(events, lambda row: repr(contests.tolist()[np.searchsorted(events.player_start, row)]), stacklevel=3)
    return Dataset(events, players, rows, None, clock, contests)


def write(columns: Any, path: str | os.PathLike[str]) -> None:
    """Write columns to a file, whole or not at all.

    Args:
      columns: arrays of equal length by name, or a NamedTuple of them, such as a leaderboard (None is left out), or a
        pandas, polars or Arrow table.
      path: the file, ending in .parquet or .csv. It is replaced if it exists.

    Raises:
      ValueError: if the path has another ending, or if the columns are not of equal length.
      ImportError: if pyarrow is not installed.
    """
    arrow = tables.pyarrow()
    path = Path(path)
    writers = {".parquet": arrow.parquet.write_table, ".csv": arrow.csv.write_csv}
    if path.suffix.lower() not in writers:
        raise ValueError(f"{path.name}: the name must end in {' or '.join(writers)}")
    columns = columns if hasattr(columns, "__arrow_c_stream__") else _plain(columns, "s")
    with tables.replacing(path) as (temporary,):
        writers[path.suffix.lower()](arrow.table(columns), temporary)


def frame(columns: Any, kind: str | None = None) -> Any:
    """Columns as a data frame.

    Args:
      columns: arrays of equal length by name, or a NamedTuple of them, such as a leaderboard (None is left out), or a
        pandas, polars or Arrow table.
      kind: "polars", "pandas" or "pyarrow". None: the first of them that is installed.

    Raises:
      ValueError: if the columns are not of equal length, or if the kind is none of these.
      ImportError: if no such package is installed.
    """
    makers = {"polars": "DataFrame", "pandas": "DataFrame", "pyarrow": "table"}
    if kind is not None and kind not in makers:
        raise ValueError(f"kind must be one of {', '.join(makers)}, got {kind!r}")
    plain = _plain(columns, "ms")  # polars knows no seconds
    for package in makers if kind is None else [kind]:
        try:
            return getattr(import_module(package), makers[package])(plain)
        except ImportError:
            continue
    needed = "polars, pandas or pyarrow" if kind is None else kind
    raise ImportError(f"a frame needs {needed}: pip install {kind or 'polars'}")


def _plain(columns: Any, seconds: str) -> dict[str, Values]:
    """Columns as numpy arrays by name; days as such, and the units from hours to seconds as the one for `seconds`."""
    table = tables.open_source(columns._asdict() if hasattr(columns, "_asdict") else columns)
    loaded = table.load(table.names, [])
    plain = {name: np.asarray(loaded[name]) for name in table.names if loaded[name] is not None}
    units = dict.fromkeys("YMWD", "D") | dict.fromkeys("hms", seconds)
    for name, values in plain.items():
        if values.shape != (shape := (next(iter(plain.values())).size,)):
            raise ValueError(f"column {name!r} has shape {values.shape}, expected {shape}")
        if values.dtype.kind == "M":
            unit = np.datetime_data(values.dtype)[0]
            plain[name] = values.astype(f"datetime64[{units.get(unit, unit)}]")
    return plain


def _load(
    table: Source, wanted: Sequence[str], text: Sequence[str], drops: Sequence[str]
) -> tuple[dict[str, Column], Values | None]:
    """The columns, without the rows to drop; and which rows are left, None if nothing was to be dropped."""
    loaded = table.load(wanted, text)
    columns = {name: tables.to_column(name, loaded[name]) for name in wanted}
    n = len(columns[wanted[0]])
    for name, column in columns.items():
        if len(column) != n:
            raise ValueError(f"column {name!r} has {len(column)} rows, {wanted[0]!r} has {n}")
    if not n:
        raise ValueError("no rows")
    if not drops:
        return columns, None
    keep = ~np.any([tables.to_flags(name, columns[name]) for name in drops], axis=0)
    if not keep.any():
        raise ValueError(f"no rows are left: {', '.join(map(repr, drops))} drops them all")
    return {name: tables.keep_rows(name, column, keep) for name, column in columns.items()}, np.flatnonzero(keep)


class _Form(NamedTuple):
    """Which columns make a table one of matches or of contests."""

    who: list[str]  # of both players, or of the participant
    result: str | None = None  # of scores or ranks; None: player 0 has won, or nobody yet
    contest: str | None = None  # None: matches
    ranked: bool = False  # the result is a rank, not a score
    won: bool = False  # player 0 is the winner


_WON, _PLAYED = ("winner", "loser"), ("a", "b")
_CONTESTS = ("contest", "player", "rank", "last", "team", "ceiling")


def _form(names: Sequence[str], given: dict[str, str | None], upcoming: bool) -> _Form:
    """The form of a table with these columns, some of them given by their part in it."""
    forms: list[tuple[str, ...]] = [_WON, _PLAYED, _CONTESTS]
    named = [form for form in forms if any(given[part] is not None for part in form)]
    if len(named) > 1:
        raise ValueError("give the columns a and b, or winner and loser, or those of contests, and not the others")
    if upcoming and (_WON in named or any(given[part] for part in ("rank", "last"))):
        raise ValueError(
            "matches to come have columns a and b, contests contest, player and perhaps team; nobody has won them yet"
        )
    if not named:
        forms = forms[1:] if upcoming else forms
        named = [form for form in forms if all(part in names for part in form[:2])]
        named += [form for form in forms if all(tables.find_name(names, part) for part in form[:2])]
    form = named[0] if named else _PLAYED

    def column(part: str) -> str:
        return given[part] or tables.find_name(names, part) or part

    if form == _WON:
        if given["score"] is not None:
            raise ValueError(
                "the score of a winner is 1; give a and b, not winner and loser, to use a column of scores"
            )
        return _Form([column(part) for part in form], won=True)
    if form == _PLAYED:
        return _Form([column(part) for part in form], None if upcoming else column("score"))
    if upcoming:
        return _Form([column("player")], None, column("contest"))
    if given["rank"] is not None and given["score"] is not None:
        raise ValueError("give rank, lower is better, or score, higher is better, and not both")
    there = [given[part] or tables.find_name(names, part) for part in ("rank", "score")]
    scored = given["score"] is not None or (there[0] is None and there[1] is not None)
    if given["last"] is not None and (scored or given["team"] is not None):
        raise ValueError("last, the last place of a tie, goes with rank, and not with score or team")
    return _Form([column("player")], column("score" if scored else "rank"), column("contest"), ranked=not scored)


def _everywhere(names: Sequence[str], form: _Form, side: str | None) -> float | None:
    """The side where it is the same in all matches, as side="a" and side="b" say; None if `side` is a column."""
    literal = side in ("a", "b") and (side not in names or side == form.who[0 if side == "a" else 1])
    if side in ("winner", "loser") or (form.won and (literal or side in form.who)):
        raise ValueError(
            f"side={side!r} would tell the result before the match; name a column that says who had the side, "
            "1 the winner, -1 the loser, 0 neither"
        )
    return (1.0 if side == "a" else -1.0) if literal else None


def _codes(name: str, columns: dict[str, Column]) -> tuple[Values, Values]:
    """Labels as integers [n] in order of first appearance, and the labels."""
    codes, labels = tables.to_ids([name], columns)
    return codes[:, 0], labels


def _in_order(fields: dict[str, Any], order: Values) -> dict[str, Any]:
    return {name: _in_order(x, order) if isinstance(x, dict) else x[order] for name, x in fields.items()}


def _check_one_time(contest: Values, time: Values, contests: Values) -> None:
    first = time[np.unique(contest, return_index=True)[1]][contest]
    fail_where(
        (time < first) | (time > first), lambda row: f"time differs within contest {contests.tolist()[contest[row]]!r}"
    )


def _check_places(contest: Values, first: Values, last: Values) -> None:
    """ValueError where the ranges of places that those who tie share do not make a standing."""

    def say(row: int) -> str:
        return f"the places {number(first[row])} to {number(last[row])}"

    fail_where(~(last >= first), lambda row: f"{say(row)} end before they begin")
    order = np.lexsort((last, first, contest))
    low, high, which = first[order], last[order], contest[order]
    same = np.append(False, which[1:] == which[:-1])
    equal = same & np.append(False, (low[1:] == low[:-1]) & (high[1:] == high[:-1]))
    before = np.arange(len(order)) - np.flatnonzero(~equal)[np.cumsum(~equal) - 1]  # of the same tie
    overlap, many = np.zeros((2, len(order)), bool)
    overlap[order] = same & ~equal & np.append(False, low[1:] <= high[:-1])
    many[order] = before > high - low
    fail_where(overlap, lambda row: f"{say(row)} overlap others of the same contest without being the same")
    fail_where(many, lambda row: f"{say(row)} are fewer than the players who share them")


def _rounds(fields: dict[str, Any], contests: Values, players: Values, rows: Values) -> Ragged:
    """The rounds; errors say names in place of ids, and rows of the source in place of ours."""
    try:
        return build_rounds(**fields)
    except ValueError as error:
        message = re.sub(r"\bcontest (\d+)", lambda found: f"contest {contests.tolist()[int(found[1])]!r}", str(error))
        message = re.sub(r": player (\d+)", lambda found: f": player {players.tolist()[int(found[1])]!r}", message)
        message = re.sub(r"team in row (\d+)", lambda found: f"team in row {rows[int(found[1])]}", message)
        raise ValueError(message) from None
