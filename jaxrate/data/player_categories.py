"""Categories of players in matches: races, surfaces, roles; and mixtures of them."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import did_you_mean_suffix
from jaxrate.data.column_conversion import to_ids
from jaxrate.data.table_sources import Column
from jaxrate.events import fail_where

CategoryShares = Mapping[Any, float] | Sequence[Any] | None


def category_ids_or_shares(
    names: Sequence[str], columns: dict[str, Column], existing_names: Any, mixtures: Mapping[Any, CategoryShares]
) -> tuple[HostArray, HostArray]:
    """The categories in a pair of columns: ids [n, 2], or shares [n, 2, C] if a mixture is among them; and names [C].

    Args:
      names: the two columns.
      columns: values by name.
      existing_names: all categories in order of id; None: those of the columns, in order of first appearance.
      mixtures: by name, see `read`.

    Raises:
      ValueError: for a category that is not known (names the row); for a mixture of other names than categories, of
        shares that do not sum to one, or, without `existing_names`, that nobody plays.
    """
    if not isinstance(mixtures, Mapping):
        raise ValueError(f"mixtures must be a dict of shares by name, as {{'Random': None}}, got {mixtures!r}")
    if existing_names is not None and not len(existing_names):
        raise ValueError("categories is empty; leave it out to take those of the columns")
    codes, values = to_ids(names, columns, existing_names, "categories")
    labels = [str(value) for value in values.tolist()]
    is_mixture = np.array([name in map(str, mixtures) for name in labels])
    num_existing = 0 if existing_names is None else len(existing_names)
    if is_mixture[:num_existing].any():
        raise ValueError(f"{labels[int(np.argmax(is_mixture))]!r} is in categories and in mixtures")
    unknown = ~is_mixture & (np.arange(len(labels)) >= num_existing) & (existing_names is not None)

    def say(row: int) -> str:
        name = next(labels[code] for code in codes[row] if unknown[code])
        known = labels[:num_existing]
        return f"unknown category {name!r}{did_you_mean_suffix(name, known)} (there are {', '.join(known)})"

    fail_where(unknown[codes].any(axis=1), say)
    pure = np.flatnonzero(~is_mixture)
    if not len(pure):
        raise ValueError(f"all categories are mixtures: {', '.join(labels)}")
    categories = {labels[i]: position for position, i in enumerate(pure)}
    share = np.zeros((len(labels), len(pure)))
    share[pure, np.arange(len(pure))] = 1.0
    for name, shares in mixtures.items():
        if str(name) in labels:
            share[labels.index(str(name))] = _mixture_shares(str(name), shares, categories)
        elif existing_names is None:
            raise ValueError(f"the mixture {str(name)!r} is in no row{did_you_mean_suffix(str(name), labels)}")
    position = np.cumsum(~is_mixture) - 1
    return share[codes] if is_mixture[codes].any() else position[codes].astype(np.int32), values[pure]


def _mixture_shares(name: str, shares: CategoryShares, categories: dict[str, int]) -> HostArray:
    """[C] the shares of a mixture."""
    if shares is None:
        return np.full(len(categories), 1.0 / len(categories))
    message = f"the mixture {name!r} must be None, a list of names, or a dict of shares by name, got {shares!r}"
    if isinstance(shares, (str, bytes)) or not isinstance(shares, (Mapping, Sequence)) or not len(shares):
        raise ValueError(message)
    parts = shares if isinstance(shares, Mapping) else dict.fromkeys(shares, 1.0 / len(shares))
    if len({str(part) for part in parts}) < len(shares):
        raise ValueError(f"the mixture {name!r} has a part twice")
    result = np.zeros(len(categories))
    for part, share in parts.items():
        if isinstance(share, bool) or not isinstance(share, Real):
            raise ValueError(message)
        if str(part) not in categories:
            hint = did_you_mean_suffix(str(part), categories)
            reason = f"which is no category{hint} (there are {', '.join(categories)})"
            raise ValueError(f"the mixture {name!r} has {str(part)!r}, {reason}")
        result[categories[str(part)]] = share
    if not (result >= 0).all() or abs(result.sum() - 1.0) > 1e-6:
        raise ValueError(f"the shares of the mixture {name!r} must be from 0 and sum to 1, not to {result.sum():g}")
    return result
