"""Categories of players in matches: races, surfaces, roles; and mixtures of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxrate.events import fail_where
from jaxrate.tables import Column, Values, to_ids
from jaxrate.text import near

Shares = Mapping[Any, float] | Sequence[Any] | None


def to_categories(
    names: Sequence[str], columns: dict[str, Column], known: Any, mixtures: Mapping[Any, Shares]
) -> tuple[Values, Values]:
    """The categories in a pair of columns: ids [n, 2], or shares [n, 2, C] if a mixture is among them; and names [C].

    Args:
      names: of the two columns.
      columns: by name.
      known: names that have ids, and are all there are; None: those of the columns, in order of first appearance.
      mixtures: by name, see `read`.

    Raises:
      ValueError: for a category that is not known (names the row), or a mixture of something else than categories, of
        shares that are not of one whole.
    """
    labels = {str(name): shares for name, shares in mixtures.items()}
    codes, values = to_ids(names, columns, known, "categories")
    found = [str(value) for value in values.tolist()]
    mixed = np.array([name in labels for name in found])
    if known is not None:
        known_names = found[: len(known)]
        strange = ~mixed & (np.arange(len(found)) >= len(known))
        fail_where(
            strange[codes].any(axis=1),
            lambda row: "unknown category {!r} (there are {})".format(
                next(found[code] for code in codes[row] if strange[code]), ", ".join(known_names)
            ),
        )
    pure = np.flatnonzero(~mixed)
    if not len(pure):
        raise ValueError(f"all categories are mixtures: {', '.join(found)}")
    categories = {found[i]: position for position, i in enumerate(pure)}
    share = np.zeros((len(found), len(pure)))
    share[pure, np.arange(len(pure))] = 1.0
    for i in np.flatnonzero(mixed):
        share[i] = _shares(found[i], labels[found[i]], categories)
    position = np.cumsum(~mixed) - 1
    there = mixed[codes].any()
    return share[codes] if there else position[codes].astype(np.int32), values[pure]


def _shares(name: str, shares: Shares, categories: dict[str, int]) -> Values:
    """[C] the shares of a mixture."""
    if shares is None:
        return np.full(len(categories), 1.0 / len(categories))
    parts = shares if isinstance(shares, Mapping) else dict.fromkeys(shares, 1.0 / max(len(shares), 1))
    result = np.zeros(len(categories))
    for part, share in parts.items():
        if str(part) not in categories:
            hint = near(str(part), categories)
            there = f"which is no category{hint} (there are {', '.join(categories)})"
            raise ValueError(f"the mixture {name!r} has {str(part)!r}, {there}")
        result[categories[str(part)]] = share
    if not (result >= 0).all() or abs(result.sum() - 1.0) > 1e-6:
        raise ValueError(f"the shares of the mixture {name!r} must be from 0 and sum to 1, not to {result.sum():g}")
    return result
