"""The columns of matches that settings of official rules name, and games as each of their players sees them."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import ArgumentRequirement
from jaxrate.core.array_types import Array
from jaxrate.events import fail_where

ADULT = 99.0  # years, of everybody where no columns have ages
SIGNED_SETTINGS = "handicap", "margin"  # whose columns may have numbers below 0
ColumnNames = tuple[tuple[str, tuple[str, ...]], ...]  # by setting: none, that of the match, or those of a and of b


def are_columns(value: Any, counts: tuple[int, ...]) -> bool:
    """Whether a value is the name of a column, or names of columns, and so many."""
    names = (value,) if isinstance(value, str) else value
    return isinstance(names, (list, tuple)) and len(names) in counts and all(isinstance(x, str) for x in names)


AgeColumns: TypeAlias = Annotated[
    Sequence[str],
    ArgumentRequirement("two columns, of the ages of a and of b", partial(are_columns, counts=(0, 2))),
]
MarginColumns: TypeAlias = Annotated[
    str | Sequence[str],
    ArgumentRequirement("a column of margins, or two, of points", partial(are_columns, counts=(0, 1, 2))),
]


def check_columns(names: ColumnNames, events: Any) -> None:
    """ValueError unless matches have the columns that settings name, with numbers that rules can take in all rows."""
    columns = events.flat.context.columns or {}
    for setting, name in ((setting, name) for setting, named in names for name in named):
        if name not in columns:
            fault = f"the matches need the column {name!r}, which {setting}= of the system names"
            raise ValueError(f"{fault}; read it by columns=[{name!r}]")
        values, needs = np.asarray(columns[name]), f"and {setting}= of the system needs one"
        refuse_rows(np.isnan(values), f"column {name!r} has no number, {needs}")
        if setting not in SIGNED_SETTINGS:
            refuse_rows(values < 0, f"column {name!r} has a number below 0, {needs} of at least 0")


def refuse_rows(is_bad: Any, fault: str) -> None:
    """ValueError for the first row that is bad, of this fault."""
    fail_where(is_bad, lambda _row: fault)


class Game(NamedTuple):
    """A game as one of its players sees it; leaves [] of a match, [M] of a period."""

    score: Array  # of the player
    side: Array | float  # 1 on the player's own side, -1 on the opponent's
    columns: dict[str, tuple[Array, ...]]  # by setting; of two, the player's own comes first

    def column(self, setting: str, default: float | Array = 0.0) -> Array:
        """The number that a setting means, of the player if both have one; the default where it names no column."""
        named = self.columns.get(setting)
        return named[0] if named else jnp.full_like(self.score, default)

    @property
    def margin(self) -> Array:
        """The margin of the game, from its own column or from those of both sides' points; 0 without."""
        points = self.columns["margin"]
        return jnp.abs(points[0] - points[1] if len(points) == 2 else self.column("margin"))


def view_games(names: ColumnNames, event: Any) -> tuple[Game, Game]:
    """The games of an event as the first player sees them, and as the second."""
    context = event.context
    side = 0.0 if context.side is None else context.side
    first = {setting: tuple(context.columns[name] for name in named) for setting, named in names}
    second = {setting: values[::-1] for setting, values in first.items()}
    second["handicap"] = tuple(-stones for stones in first.get("handicap", ()))
    return Game(event.score, side, first), Game(1.0 - event.score, -side, second)
