"""The door of tables: names become ids, dates days, and bad rows are named."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from jaxrate.argument_checks import check_argument
from jaxrate.data import table_sources
from jaxrate.data.column_conversion import keep_rows, to_column, to_flags, to_ids
from jaxrate.data.column_recognition import recognise_columns
from jaxrate.data.column_roles import Roles, resolve_roles
from jaxrate.data.contest_tables import build_contest_dataset, contest_fields, contest_row_order
from jaxrate.data.date_parsing import STYLE_DESCRIPTIONS, check_date_style, is_date_style, parse_time_column
from jaxrate.data.faulty_rows import (
    collect_row_errors,
    find_incomplete_rows,
    warn_incomplete_rows,
    warn_repeated_matches,
)
from jaxrate.data.lookalike_names import unify_spellings, warn_lookalike_names
from jaxrate.data.match_tables import build_match_dataset, match_fields, match_row_order
from jaxrate.data.player_categories import CategoryShares
from jaxrate.data.result_parsing import check_na_values
from jaxrate.data.seasons_and_margins import check_seasons, warn_margin_signs
from jaxrate.data.table_sources import Column, TableSource
from jaxrate.data.unplayed_matches import ResultSplit, parse_result_columns, split_by_result, warn_unplayed_rows
from jaxrate.events import Ragged, RowError, warn_single_participant
from jaxrate.events.dataset import Dataset
from jaxrate.types import HostArray


def read(
    source: Any, *, a: str | None = None, b: str | None = None, winner: str | None = None, loser: str | None = None,
    contest: str | None = None, participant: str | None = None, rank: str | None = None,
    last_rank: str | None = None,
    team: str | None = None, ceiling: str | None = None, noise: str | None = None,
    score: str | Literal[False] | None = None, time: str | None = None, side: str | None = None,
    neutral: str | None = None, weight: str | None = None, category: str | Sequence[str] | None = None,
    mixtures: Mapping[Any, CategoryShares] | None = None, margin: str | Sequence[str] = (),
    statistics: str | Sequence[str] | Mapping[str, str | Sequence[str]] = (),
    shares: Mapping[str, Sequence[str]] = MappingProxyType({}),
    covariates: str | Sequence[str] = (), rest: float | None = None, form: float | None = None,
    age: str | Sequence[str] = (), season: str | None = None, league_season: str | None = None,
    columns: str | Sequence[str] = (), drop: str | Sequence[str] = (), players: Any = None, categories: Any = None,
    seasons: Mapping[str, float] | None = None, history: Any = None, upcoming: bool = False, sort: bool = False,
    skip_incomplete: bool = False, normalise_names: bool = False, dates: str | None = None,
    na_values: Sequence[str] = (),
) -> Dataset:  # fmt: skip
    """Checked matches from a table with one row per match, or rounds from one with one row per participant.

        data = jr.read("games.csv")
        data = jr.read([{"winner": "Ada", "loser": "Bo"}, {"winner": "Bo", "loser": "Cy"}])

    A file with columns a, b, score or winner, loser or contest, player, rank (and perhaps time, date or t) needs no
    arguments; these names are found in any case. So are those that people use: home and away, white and black, team1
    and team2, winner_name and loser_name in their spellings, goals or points of both sides, results and dates. A note
    says what was taken for what, and arguments overrule it. All other columns are used only if named. Names of players
    and categories become ids in order of first appearance, reading the rows of the source from the top and a before b;
    in CSV they are text ("007" stays that), and an empty field is missing. CSV may be separated by commas, or by
    semicolons or tabs if the header has no comma.

    Args:
      source: a path to .parquet, .csv or .tsv (these two also .gz, .bz2 or .zst), or to a folder of Parquet files that
        are one table, as `rate_files` takes it; a pandas, polars or Arrow table, a
        lazy frame of polars, a relation or result of DuckDB, anything else that Arrow can take (`__arrow_c_stream__`),
        a dict of arrays or lists, or a list of dicts, one per row. Of lazy frames and relations only the columns that
        are used are made.
      a: the column of player 0, of any hashable type. None: "a", and so for the next six.
      b: the column of player 1, of the same type.
      winner: instead of `a`: the winner becomes player 0 and the score is 1.
      loser: instead of `b`.
      contest: the column that says which rows are one contest, of any hashable type. Its rows stand together, unless
        `sort` brings them together, and the contests count in the order in which they stand.
      participant: the column of the player who takes part. None: "player".
      rank: the column of their rank; lower is better, equal is a tie. If there is none, `score` ranks, higher is
        better.
      last_rank: a column of the last place of their tie, in the same count as `rank`. Checked, and not used otherwise:
        those who tie have the same range of places, in which there is room for them all, and other ranges do not
        overlap it.
      team: a column of any hashable type: those with the same value in a contest play together and share the rank.
        A player without a team has a value of their own. One who is in several has a row for each, see `rounds`.
      ceiling: a column, the same within a contest: performances above it count as it. A missing one, or inf: none.
      noise: a column, the same within a contest, above 0: by how much performances scatter more than usual there.
      score: the column of player 0's score, in [0, 1]; or of results as W, D and L, as H, D and A, as 1, X and 2, as
        2-1 or 1/2-1/2 in one cell, or of the name of who won. For contests, see `rank`. None: "score", unless
        that holds no results and the two columns of `margin` tell who won. False: no column, whatever it is called.
        Rows without a result are left out of the matches; those to come are `fixtures` of the dataset.
      time: a column of numbers, which stay as they are unless all are dates of eight digits, as 20240131; or of dates,
        timestamps or text, which become days since 1970-01-01 (UTC). None: the first there is of "time", "date" and
        "t", or another that is called so, or else no time. A column without any value is no time either.
      side: a column in [-1, 1]: 1 where player 0 has the side advantage (home, white), -1 where player 1 has, 0 if
        neither; true is 1 and false 0. "a" or "b", unless another column has that name: that player in every match.
      neutral: a column, true (or 1) where nobody has the side after all.
      weight: a column above 0; a match of weight w counts as w matches. In contests, their weight or partial play.
      category: a column, of both players (of the match), or the pair of a's and b's.
      mixtures: names in these columns that stand for several categories, as a random race does: by name their shares
        (by name, or names of equal parts; None: all categories in equal parts). Each player draws on their own.
      margin: a column of by how much a match was won, or the two of the points of a (or the winner) and of b: then no
        score is needed. Its size is what a system learns from; who won is as the score says, and a draw has no margin.
        It goes with the matches, and so do statistics and covariates, as `context.columns`, and the dataset says which
        they are.
      statistics: columns of by how much player 0 was ahead in what was counted beside the result, as expected goals;
        or by name the two columns of a (or the winner) and of b whose difference it is, {"xg": ("xg_a", "xg_b")}. They
        need not have the sign of the result, and a value may be missing: the statistic is then NaN.
      shares: further statistics, by name the two columns of what each won, as games or points: the statistic is
        (a - b) / (a + b), and 0 where nobody won any.
      covariates: columns of numbers that are known before a match and speak for player 0, as komi or days of rest.
      rest: makes a covariate "rest" of the days since a player's last match, those of a less those of b. Longer rests
        than this number of days, and those of newcomers, count as so many.
      form: makes a covariate "form" of recent results against what Elo expected. It fades in this number of days, to
        1 / e. Both are of the matches above alone.
      age: makes a covariate "age" of the columns of a's and of b's age, in years, or their dates of birth. Where either
        has none it is 0.
      season: a column of the names of seasons, as years or 2020-21. Each begins with its first match, and the dataset
        says when. What is left of it when the next has begun counts as of that.
      league_season: in place of season, where leagues have seasons of their own, which overlap: a column of names with
        a year, as 2021 or 2020-21, and a season begins for a player with their first match in it.
      columns: further columns of numbers, for a system of one's own: they go with the matches, as `context.columns`.
      drop: columns, true (or 1) where the row is left out before anything else of it is looked at.
      players: names that have ids already, as in `players` of an earlier dataset: they keep them, others come after.
      categories: names that have ids already, as in `categories` of an earlier dataset; there are no others.
      seasons: seasons that are known already, as in `seasons` of an earlier dataset; others begin after them.
      history: the matches so far, for rest and form: `predictions` of a rated history.
      upcoming: the events are to come. They are put in order of time, and no score or margin is read: 0.5 and 0 stand
        in for them, or in contests a tie of all players and teams. Where some rows have a result, those are left out.
      sort: put the rows in order of time (stable, contests as wholes). Otherwise a time that decreases is an error; in
        contests it is one only to systems in which time passes.
      skip_incomplete: leave out rows in which a column that is used has no value, or nothing but blanks. A missing
        ceiling is none, and a time that is missing everywhere is no time.
      dates: how dates in text are written that are not ISO: "day-first", "month-first" or a format of `strptime`. None:
        as they are clear, by the name of the month, the year in front, or a day above 12.
      na_values: texts that say that there is no result, or no margin, beside "P", "P-P", "postp.", "NA", "-" and others
        that are usual; case does not matter.
      normalise_names: names (of players, categories, contests and teams) that differ only by letter case, by blanks
        around them or doubled, or by Unicode form (NFKC) are the same: spelt as most often, without those blanks.
        Those of `players` and `categories` stay as they are, and new ones join them.

    Raises:
      ValueError: names the file, the bad rows of the source, up to ten (counting from 0; in CSV also their lines),
        their contests or the column, and what is wrong with them; also if no rows are left.
      TypeError: if the source is of none of these kinds.
      ImportError: if pyarrow is not installed.

    Warns:
      UserWarning: about columns that were recognised, and rows that have no result; if contests have a single
        participant, since systems of ranks learn nothing from them; if names of players, categories or contests differ
        only in what `normalise_names` joins; if matches with times repeat an earlier one exactly; if a margin has
        another sign than the score; if rows were skipped.
    """
    table_sources.import_pyarrow()
    table = table_sources.open_source(source)
    named: dict[str, Any] = {
        "a": a,
        "b": b,
        "winner": winner,
        "loser": loser,
        "contest": contest,
        "participant": participant,
    }
    named |= {"rank": rank, "last_rank": last_rank, "team": team, "ceiling": ceiling, "noise": noise, "score": score}
    named |= {"time": time, "side": side, "neutral": neutral, "weight": weight, "category": category}
    named |= {"columns": columns, "drop": drop, "margin": margin, "covariates": covariates, "season": season}
    named |= {"rest": rest, "form": form, "age": age, "league_season": league_season}
    named |= {"statistics": statistics, "shares": shares}
    names = KnownNames(players, categories, mixtures or {}, seasons, history)
    with table_sources.locate_data_errors(table.title, table.where):
        check_argument("read", "upcoming", bool, upcoming)
        check_argument("read", "age", str | Sequence[str] | None, age)
        check_argument("read", "statistics", str | Sequence[str] | Mapping[str, Any], statistics)
        check_date_style(dates)
        check_na_values(na_values)
        found = recognise_columns(table, named, upcoming, dates, na_values)
        roles = resolve_roles(table.names, found.named, upcoming, found.points)
        roles = roles._replace(time=None) if found.timeless else roles
        if sort and roles.time is None:
            raise ValueError("the option sort needs a column of time")
        if (mixtures or categories is not None) and not roles.category:
            raise ValueError("mixtures and categories need category, the columns that they are in")
        if seasons and not roles.season:
            raise ValueError("seasons needs season, the column that they are in")
        check_seasons(seasons)
        loaded, rows = _load_role_columns(found.table, roles)
        with _map_to_source_rows(rows):
            loaded = parse_result_columns(roles, loaded, na_values)
            loaded, written = parse_time_column(roles.time, loaded, dates, found.unix)
        if normalise_names:
            loaded = unify_spellings(loaded, _name_column_groups(roles), [players, categories, None, None, seasons])
        with _map_to_source_rows(rows):
            split = split_by_result(roles, loaded)
        kept, used = (loaded, rows) if split.played.all() else _select_rows(loaded, rows, split, upcoming)
        warn_recognised_columns(found.taken, roles.time, written if dates is None else None, stacklevel=3)
        warn_unplayed_rows(split, upcoming, stacklevel=3)
        if skip_incomplete:
            bad = find_incomplete_rows(roles, kept)
            warn_incomplete_rows(used[bad], len(bad), stacklevel=3)
            if bad.all():
                raise ValueError("no rows are left: all of them lack a value")
            kept, used = _filter_columns(kept, ~bad), used[~bad]
        dataset = _build_checked_dataset(roles, kept, used, names, sort, sort or upcoming)
        if split.coming.any() and not upcoming:
            known = names._replace(players=dataset.players, categories=dataset.categories, seasons=dataset.seasons)
            known = known._replace(history=(history, dataset))
            some = _filter_columns(loaded, split.coming)
            coming = _build_checked_dataset(roles._replace(upcoming=True), some, rows[split.coming], known, False, True)
            dataset = dataset._replace(fixtures=coming)
        dataset = dataset._replace(dates=written if is_date_style(written) else None)
    if isinstance(dataset.events, Ragged):
        warn_single_participant(dataset.events, dataset.contests, stacklevel=3)
    elif table.noted:
        warn_margin_signs(dataset, stacklevel=3)
        if dataset.clock is not None:
            warn_repeated_matches(dataset.events, dataset.rows, stacklevel=3)
    for what in ("players", "categories", "contests", "seasons") if table.noted else ():
        values = getattr(dataset, what)
        warn_lookalike_names(what, np.array([*values], object) if isinstance(values, dict) else values, stacklevel=3)
    return dataset


def warn_recognised_columns(
    recognised: Sequence[str], time: str | None, date_style: str | None, stacklevel: int
) -> None:
    """UserWarning about what columns were taken for what, and how their dates are written."""
    said = [*recognised]
    if date_style is not None:
        said.append(f"{time} as dates, {STYLE_DESCRIPTIONS[date_style]}")
    if said:
        warnings.warn(f"took {'; '.join(said)}; name columns to have it otherwise", UserWarning, stacklevel=stacklevel)


def _name_column_groups(roles: Roles) -> list[list[str]]:
    """The columns of names: of players, categories, contests, teams and seasons."""
    form = roles.form
    return [form.who, roles.category, *([name] if name else [] for name in (form.contest, roles.team, roles.season))]


@contextmanager
def _map_to_source_rows(rows: HostArray) -> Iterator[None]:
    """Errors about rows of the columns become those about rows of the source."""
    try:
        yield
    except RowError as error:
        raise error.but(lambda row, message: (int(rows[row]), message)) from None


def _select_rows(
    loaded: dict[str, Column], rows: HostArray, split: ResultSplit, upcoming: bool
) -> tuple[dict[str, Column], HostArray]:
    """The rows that are rated, or that are to come; ValueError if there are none."""
    keep = split.coming if upcoming else split.played
    if upcoming and not split.played.any():
        return loaded, rows
    if not keep.any():
        hint = "" if upcoming else "; matches to come are read with upcoming=True, and predicted by `jaxrate predict`"
        raise ValueError(f"no row {'without a result is to come' if upcoming else 'has a result'}{hint}")
    return _filter_columns(loaded, keep), rows[keep]


def _build_checked_dataset(
    roles: Roles, loaded: dict[str, Column], rows: HostArray, names: "KnownNames", sort: bool, in_order: bool
) -> Dataset:
    """`_dataset`, whose errors name up to ten rows of the source."""
    try:
        return _build_dataset(roles, loaded, rows, names, sort, in_order)
    except RowError as error:
        wrong = collect_row_errors(
            error, partial(_recheck_rows, roles, loaded, rows, names), _independent_groups(roles, loaded, len(rows))
        )
        raise wrong.but(lambda row, message: (int(rows[row]), message)) from None


class KnownNames(NamedTuple):
    """Names that have ids already, and mixtures, as in `read`."""

    players: Any
    categories: Any
    mixtures: Mapping[Any, CategoryShares]
    seasons: Mapping[str, float] | None
    history: Any


def _build_dataset(
    roles: Roles, columns: dict[str, Column], rows: HostArray, names: KnownNames, sort: bool, in_order: bool
) -> Dataset:
    """The events of columns, which are these rows of the source; `in_order` of time, and `sort` says it was asked for.

    Raises:
      RowError: about rows of the columns.
    """
    of_matches = roles.form.contest is None
    fields = match_fields(roles, columns, *names) if of_matches else contest_fields(roles, columns, names.players)
    if sort and fields.clock is None:
        raise ValueError(f"the option sort needs times, but column {roles.time!r} has no value")
    order = match_row_order(roles, columns, fields, in_order) if of_matches else contest_row_order(fields, in_order)
    fields = fields._replace(values=_reorder_values(fields.values, order))
    try:
        return (build_match_dataset if of_matches else build_contest_dataset)(roles, fields, rows[order])
    except RowError as error:
        place = np.arange(len(rows))[order]
        raise error.but(lambda row, message: (int(place[row]), message)) from None


def _recheck_rows(
    roles: Roles, columns: dict[str, Column], rows: HostArray, names: KnownNames, keep: HostArray
) -> None:
    """RowError about rows of the columns, if those to keep are wrong too; their order is not looked at."""
    place = np.flatnonzero(keep)
    try:
        _build_dataset(roles, _filter_columns(columns, keep), rows[keep], names, False, True)
    except RowError as error:
        raise error.but(lambda row, message: (int(place[row]), message)) from None


def _independent_groups(roles: Roles, columns: dict[str, Column], n: int) -> HostArray:
    """[n] numbers of the contests, or of the matches; of rows where contests have no name."""
    if roles.form.contest is not None:
        with suppress(ValueError):
            return to_ids([roles.form.contest], columns)[0][:, 0]
    return np.arange(n)


def _load_role_columns(table: TableSource, roles: Roles) -> tuple[dict[str, Column], HostArray]:
    """The columns, without the rows to drop; and which rows are left."""
    wanted = roles.wanted
    loaded = table.load(wanted, roles.text, roles.numbers)
    columns = {name: to_column(name, loaded[name]) for name in wanted}
    n = len(columns[wanted[0]])
    for name, column in columns.items():
        if len(column) != n:
            raise ValueError(f"column {name!r} has {len(column)} rows, {wanted[0]!r} has {n}")
    if not n:
        raise ValueError("no rows")
    if not roles.drop:
        return columns, np.arange(n)
    keep = ~np.any([to_flags(name, columns[name]) for name in roles.drop], axis=0)
    if not keep.any():
        raise ValueError(f"no rows are left: {', '.join(map(repr, roles.drop))} drops them all")
    return _filter_columns(columns, keep), np.flatnonzero(keep)


def _filter_columns(columns: dict[str, Column], keep: HostArray) -> dict[str, Column]:
    """The rows of the columns to keep."""
    return {name: keep_rows(name, column, keep) for name, column in columns.items()}


def _reorder_values(values: dict[str, Any], order: HostArray | slice) -> dict[str, Any]:
    """The rows of the columns, also of further ones, in this order."""
    return {name: _reorder_values(x, order) if isinstance(x, dict) else x[order] for name, x in values.items()}
