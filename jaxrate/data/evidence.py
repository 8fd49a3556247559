"""What is known of matches beside their score: the margin, and the season."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxrate.data.columns import is_name, to_ids
from jaxrate.data.dataset import Dataset
from jaxrate.data.tables import Column, Values
from jaxrate.events import fail_where
from jaxrate.text import cell, number

SHOWN = 3  # rows that a note names


def check_known(seasons: Any) -> None:
    """ValueError unless these are seasons that are known already, as in `seasons` of a dataset."""
    if seasons is not None and not (
        isinstance(seasons, Mapping)
        and all(isinstance(name, str) for name in seasons)
        and all(isinstance(begin, (int, float)) and np.isfinite(begin) for begin in seasons.values())
    ):
        raise ValueError("seasons must say by name when each begins, as `seasons` of an earlier dataset does")


def season_starts(
    name: str, columns: dict[str, Column], time: Values, known: Mapping[str, float] | None
) -> dict[str, float]:
    """When each season begins, by its name and in order of time: those `known`, and the first time of each other one.

    A match that is played when a later season has begun counts as of that one.

    Raises:
      RowError: where a season has no name, begins before one that is known, or is not over, for the most part, when the
        next begins.
      ValueError: if names are neither text nor numbers.
    """
    code, labels = to_ids([name], columns)
    starts = dict(known or {})
    spelt = [_spelt(name, label) for label in labels.tolist()]
    ids = {text: i for i, text in enumerate(dict.fromkeys([*starts, *spelt]))}
    season = np.array([ids[text] for text in spelt])[code[:, 0]]
    texts, before = list(ids), len(starts)
    begin = np.full(len(ids), np.inf)
    np.minimum.at(begin, season, time)
    begin[:before] = list(starts.values())
    new = np.arange(len(ids)) >= before
    if before:
        last = max(starts, key=lambda text: starts[text])
        early = new & (begin <= starts[last])
        fail_where(
            early[season],
            lambda row: f"season {cell(texts[season[row]])} is new, but {cell(last)}, which is known, began later",
        )
    order = np.argsort(begin, kind="stable")
    following = np.full(len(ids), -1)
    following[order[:-1]] = order[1:]
    over = np.append(begin, np.inf)[following]
    late = time >= over[season]
    mixed = new & (2 * np.bincount(season, late, len(ids)) > np.bincount(season, minlength=len(ids)))

    def say(row: int) -> str:
        own, later = season[row], following[season[row]]
        return (
            f"season {cell(texts[own])}, when season {cell(texts[later])} has begun, as for most of its matches; "
            "seasons follow each other, so give both one name, or name another column"
        )

    fail_where(late & mixed[season], say)
    return {texts[i]: float(begin[i]) for i in order}


def _spelt(name: str, label: Any) -> str:
    """The name of a season as text, whole numbers without a point."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    if not isinstance(label, (str, int, float)) or isinstance(label, bool) or not is_name(label):
        raise ValueError(f"column {name!r} must hold names of seasons, text or numbers, got {cell(label)}")
    return str(label)


def ahead_by(margin: Sequence[Values]) -> Values:
    """[n] by how many points the first player is ahead, from the points of both; a single column as it stands."""
    return margin[0] if len(margin) == 1 else margin[0] - margin[1]


def note_margins(data: Dataset, stacklevel: int) -> None:
    """UserWarning if margins of matches have another sign than the score.

    Without any below 0 a column holds sizes, and only those of draws can be wrong.
    """
    matches, names, rows = data.matches, data.margin, data.rows
    if not names:
        return
    columns: Any = matches.context.columns
    ahead = ahead_by([columns[name] for name in names])
    sign = np.sign(np.asarray(matches.score) - 0.5)
    sizes = len(names) == 1 and not (ahead < 0).any()
    bad = rows[(ahead != 0) & ((sign == 0) | ((np.sign(ahead) != sign) & (not sizes)))]
    if len(bad):
        shown = ", ".join(map(number, bad[:SHOWN].tolist())) + ", ..." * (len(bad) > SHOWN)
        said = f"{len(bad):,} of {len(rows):,} margins ({' and '.join(names)}) have another sign than the score"
        warnings.warn(
            f"{said}: row {shown} (counting from 0); the score says who won, the margin by how much, if at all",
            UserWarning,
            stacklevel=stacklevel,
        )
