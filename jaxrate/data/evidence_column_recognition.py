"""Columns that improve predictions, by the names that people give them: points, the season, the surface."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxrate.data.column_recognition import pairs_of_points, player_columns
from jaxrate.data.column_role_definitions import CONTEST_ROLES, select_role_arguments
from jaxrate.data.column_spellings import (
    CONTEST_NAMES,
    GOAL_TEMPLATES,
    PARTICIPANT_NAMES,
    POINT_TEMPLATES,
    RANK_NAMES,
    SIDE_PAIRS,
    normalise_column_name,
)
from jaxrate.data.line_up_tables import find_line_up_columns
from jaxrate.data.role_resolution import default_column
from jaxrate.data.table_sources import find_column_ignoring_case

MARGIN_NAME, SEASON_NAME, SURFACE_NAME = "margin", "season", "surface"
WINNER_TEMPLATES = *GOAL_TEMPLATES[1:-1], "{}points", "points{}"  # "WPts" are points of a ranking
FORMAT_EVIDENCE: dict[str, dict[str, Any]] = {"football": {"margin": ["home_score", "away_score"]}}


def recognise_evidence_columns(names: Sequence[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `read` for the points of both sides, the season and the surface, as far as names tell.

        recognise_evidence_columns(["date", "home", "away", "home_goals", "away_goals", "season"], {})
        # {"margin": ["home_goals", "away_goals"], "season": "season"}

    Args:
      names: the columns of a table.
      arguments: those of `read` that are given, which are not sought; nothing is sought in contests, but
        for line-ups of two teams points and surface.
    """
    if not arguments.keys().isdisjoint(CONTEST_ROLES[:3]):
        return {}
    columns_by_spelling = {normalise_column_name(name): name for name in reversed(names)}
    has_players = all(
        arguments.get(role) or find_column_ignoring_case(names, default_column(role)) for role in ("a", "b")
    )
    has_winner = all(
        arguments.get(role) or find_column_ignoring_case(names, default_column(role)) for role in ("winner", "loser")
    )
    has_line_ups = find_line_up_columns(names, select_role_arguments(arguments)) is not None
    has_contests = all(columns_by_spelling.keys() & {*x} for x in (CONTEST_NAMES, PARTICIPANT_NAMES, RANK_NAMES))
    sides = None if has_line_ups or has_players or has_winner else player_columns(columns_by_spelling, has_contests)
    if not (has_line_ups or has_players or has_winner or sides):
        return {}
    is_own = has_players or (sides is not None and sides[0].own)
    evidence: dict[str, Any] = {}
    for spelling in (x for x in SIDE_PAIRS if is_own or not x.own):
        templates = WINNER_TEMPLATES if spelling.won else POINT_TEMPLATES
        points = pairs_of_points(columns_by_spelling, templates, [spelling])
        if "margin" not in evidence and points:
            evidence["margin"] = list(points[0])
    for role, name in (("margin", MARGIN_NAME), ("season", SEASON_NAME), ("category", SURFACE_NAME)):
        if name in columns_by_spelling and role not in evidence:
            evidence[role] = columns_by_spelling[name]
    given = {*arguments, *(["season"] if "league_season" in arguments or has_line_ups else [])}
    return {role: x for role, x in evidence.items() if role not in given}
