"""The options of leaderboards: who is on them, and how they are printed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from jaxrate.cli.shared_options import check_finite
from jaxrate.cli.terminal_tables import TextTable, first_rows_caption, name_teams, to_text_table

if TYPE_CHECKING:
    from jaxrate.history.leaderboards import Leaderboard


def _parse_active(context: Any, parameter: Any, text: str | None) -> Any:
    """A length of time, a share of the history, or "all"."""
    if text is None or text == "all":
        return text
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not (isfinite(value) and value > 0):
        raise ValueError(f"--active {text}: write a number of days above 0, a share below 1, or all")
    return value


LEADERBOARD_OPTIONS = (
    click.option("--active", metavar="DAYS|all", callback=_parse_active, help="List players who played in the "
                 "last DAYS, or below 1, in this share of the history.  [default: 365 if there are dates, else all]"),
    click.option("--min-games", type=click.IntRange(min=0), metavar="NUMBER", help="Minimum games to be "
                 "listed.  [default: 10 if 20 recent players have that many, else 0]"),
    click.option("--cautious", type=click.FloatRange(min=0.0), default=0.0, callback=check_finite, metavar="NUMBER",
                 help="Rank by the rating minus NUMBER deviations, as 3.  [default: 0]"),
)  # fmt: skip


def leaderboard_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options of leaderboards; the command gets arguments of `jr.leaderboard` as `leaderboard_arguments`."""

    @wraps(command)
    def run_command(*args: Any, active: Any, min_games: int | None, cautious: float, **arguments: Any) -> None:
        command(
            *args, leaderboard_arguments={"active": active, "min_games": min_games, "cautious": cautious}, **arguments
        )

    decorated: Any = run_command
    for option in reversed(LEADERBOARD_OPTIONS):
        decorated = option(decorated)
    return decorated


def leaderboard_table(board: Leaderboard, *, are_teams: bool = False) -> TextTable:
    """The board to print, of players or of teams; its caption names options where Python names arguments."""
    from jaxrate.history.leaderboards import ALL_PLAYERS_HINT, FEWER_GAMES_HINT

    caption = board.scope.replace(ALL_PLAYERS_HINT, "--active all for everybody")
    caption = caption.replace(FEWER_GAMES_HINT, FEWER_GAMES_HINT.replace("min_games", "--min-games"))
    lines = caption, first_rows_caption(len(board.rank), board.num_listed, "players")
    table = to_text_table(board, "\n".join(filter(None, lines)))
    return name_teams(table) if are_teams else table
