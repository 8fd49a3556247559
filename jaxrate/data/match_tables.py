"""A table with one row per match: its columns as those of `Matches`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_unquoted_name
from jaxrate.data.column_conversion import (
    check_row_time_order,
    time_column_to_days_and_clock,
    to_flags,
    to_ids,
    to_numbers,
)
from jaxrate.data.derived_covariates import derived_columns, parse_season_start_years
from jaxrate.data.player_categories import CategoryShares, category_ids_or_shares
from jaxrate.data.result_parsing import to_sides
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.seasons_and_margins import (
    NO_TIME_MESSAGE,
    find_season_starts,
    first_player_lead,
    match_seasons_from_column,
)
from jaxrate.data.statistic_leads import first_player_statistic_lead
from jaxrate.data.table_sources import Column
from jaxrate.events import fail_where, matches
from jaxrate.events.dataset import Dataset, EventBuilderInputs


def build_match_fields(
    roles: ColumnRoles,
    columns: dict[str, Column],
    players: Any,
    categories: Any,
    mixtures: Mapping[Any, CategoryShares],
    seasons: Mapping[str, float] | None,
    history: Any = None,
) -> EventBuilderInputs:
    """Ids and numbers of the matches. Names that have ids already are as in `read`.

    Raises:
      RowError: where a column does not hold what its role requires.
    """
    labels, starts = None, None
    player, players = to_ids(roles.layout.players, columns, players)
    first, second = player.T
    fail_where(
        first == second, lambda row: f"{format_unquoted_name(players[first[row]])} is on both sides; remove the row"
    )
    values = {"player": player} | match_arguments_from_columns(roles, columns, len(player))
    if roles.category:
        values["category"], labels = category_ids_or_shares(roles.category, columns, categories, mixtures)
    time, clock = time_column_to_days_and_clock(roles.time, columns)
    if roles.derived_covariates:
        match_values = players[player], values["score"], time.get("time"), clock == "dates", history
        values["columns"] |= derived_columns(roles, columns, *match_values)
    if roles.league_season is not None:
        values["columns"][roles.league_season] = parse_season_start_years(roles.league_season, columns)
    if roles.season is not None:
        if clock is None:
            raise ValueError(NO_TIME_MESSAGE)
        season_rows = match_seasons_from_column(roles.season, columns, time["time"])
        starts = find_season_starts(lambda: [season_rows], seasons)
    return EventBuilderInputs(values | time, players, clock, labels, seasons=starts)


def match_arguments_from_columns(roles: ColumnRoles, columns: dict[str, Column], n: int) -> dict[str, Any]:
    """Scores, weights, sides and further columns of n matches, as `matches` takes them.

    Raises:
      RowError: where a column does not hold what its role requires.
    """
    layout = roles.layout
    values: dict[str, Any] = {"score": np.full(n, 1.0 if layout.winner_first else 0.5)}
    margin = [np.zeros(n) if roles.upcoming else to_numbers(name, columns[name]) for name in roles.margin]
    if layout.result is not None and not roles.upcoming:
        values["score"] = to_numbers(layout.result, columns[layout.result])
    elif layout.points and not roles.upcoming:
        values["score"] = 0.5 + 0.5 * np.sign(
            first_player_lead([to_numbers(name, columns[name]) for name in layout.points])
        )
    if roles.weight is not None:
        values["weight"] = to_numbers(roles.weight, columns[roles.weight])
    if roles.constant_side is not None:
        values["side"] = np.full(n, roles.constant_side)
    elif roles.side is not None:
        values["side"] = to_sides(roles.side, columns[roles.side])
    if roles.neutral is not None:
        values["side"] = np.where(to_flags(roles.neutral, columns[roles.neutral]), 0.0, values["side"])
    values["columns"] = further_columns(roles, columns, n, margin)
    return values


def further_columns(
    roles: ColumnRoles, columns: dict[str, Column], n: int, margin: list[HostArray]
) -> dict[str, HostArray]:
    """The further columns [n] of matches or participants by name, with those of the margin. RowError for bad values."""
    values = {name: to_numbers(name, columns[name]) for name in roles.prematch_columns}
    values |= dict(zip(roles.margin, margin, strict=True))
    for name, x in values.items():
        fail_where(np.isnan(x), lambda row: f"column {name!r} is {x[row]}, not a finite number")  # noqa: B023
    for name in roles.expected_goals:
        values[name] = np.full(n, np.nan) if roles.upcoming else to_numbers(name, columns[name], np.nan)
        fail_where(np.isinf(values[name]), lambda row: f"column {name!r} is {values[name][row]}, not a finite number")  # noqa: B023
    for statistic in roles.statistics:
        values[statistic.name] = np.zeros(n) if roles.upcoming else first_player_statistic_lead(statistic, columns)
    return values


def match_row_order(
    roles: ColumnRoles, columns: dict[str, Column], fields: EventBuilderInputs, sort: bool
) -> HostArray | slice:
    """[n] the rows in order of time. RowError if they are not in order and are not to be sorted."""
    if fields.clock is None or roles.time is None:
        return slice(None)
    if sort:
        return np.argsort(fields.values["time"], kind="stable")
    check_row_time_order(columns[roles.time], fields.values["time"])
    return slice(None)


def build_match_dataset(roles: ColumnRoles, fields: EventBuilderInputs, rows: HostArray) -> Dataset:
    """The dataset of these matches, which stand in these rows of the source."""
    statistics = tuple(one.name for one in roles.statistics)
    evidence = tuple(roles.margin), (*roles.covariates, *roles.derived_covariates), fields.seasons
    fields_of_dataset = fields.players, rows, fields.categories, fields.clock, None, *evidence
    return Dataset(
        matches(**fields.values),
        *fields_of_dataset,
        league_season=roles.league_season,
        statistics=statistics,
        points=roles.layout.points,
        expected_goals=tuple(roles.expected_goals),
    )
