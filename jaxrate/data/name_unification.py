"""Players and categories whose names look alike, joined into one."""

from collections import Counter
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.category_mixtures import event_categories, has_mixtures, replace_event_categories
from jaxrate.data.dataset_from_table import names_of_earlier_data
from jaxrate.data.lookalike_names import lookalike_key, normalise_name
from jaxrate.events import RowError, seats
from jaxrate.events.dataset import Dataset


@enforce_argument_annotations
def unify_names(data: Dataset, history: Any = None) -> Dataset:
    """The events with one player for names that differ only by letter case, blanks or Unicode form; categories, too.

        data = jr.data.unify_names(jr.read("games.csv"))

    Blanks count where there are none around a name, or one in it; the Unicode form is NFKC. The name is spelt as most
    often, without superfluous blanks.

    Args:
      data: events, as from `read`, and their `fixtures`.
      history: whose players and categories stay as they are, and are joined by new ones that look alike: an earlier
        `Dataset`, or a `History`, by whose ids the data were read. None: there is none.

    Raises:
      ValueError: where players who become one meet each other (names the row); if categories are mixed.
    """
    if data.categories is not None and has_mixtures(data):
        raise ValueError("the categories are mixed already; unify names before mixing categories")
    earlier = names_of_earlier_data(history)
    datasets: list[Any] = [data] if data.fixtures is None else [data, data.fixtures]
    used = [np.ravel(x.events.flat.player) for x in datasets]
    names, ids = _unite_lookalikes(datasets[-1].players, np.concatenate(used), earlier.players)
    datasets = [_replace_players(x, names, ids) for x in datasets]
    if data.categories is not None:
        used = [np.ravel(event_categories(x)) for x in datasets]
        names, ids = _unite_lookalikes(datasets[-1].categories, np.concatenate(used), earlier.categories)
        datasets = [_replace_categories(x, names, ids) for x in datasets]
    united, *fixtures = datasets
    return united._replace(fixtures=fixtures[0]) if fixtures else united


def _replace_players(data: Dataset, names: HostArray, ids: HostArray) -> Dataset:
    _check_nobody_meets_themselves(data, names, ids)
    flat: Any = data.events.flat
    events = data.events.with_flat(flat._replace(player=ids[np.asarray(flat.player)]))
    return data._replace(events=events, players=_used_names(names, ids, data.players))


def _check_nobody_meets_themselves(data: Dataset, names: HostArray, ids: HostArray) -> None:
    """RowError where players of one event become one."""
    player, event = seats(data.events)
    united = ids[player]
    _, first, place = np.unique(event * np.int64(len(names)) + united, return_index=True, return_inverse=True)
    met = np.flatnonzero(player != player[first[place]])
    if len(met):
        where = "on both sides" if data.of_matches else "in a contest twice"
        name = format_value_for_error(names[united[met[0]]])
        row = data.rows[event[met[0]] if data.of_matches else met[0]]
        raise RowError(int(row), f"{name} is {where}, in two spellings; correct the name, or remove the row")


def _replace_categories(data: Dataset, names: HostArray, ids: HostArray) -> Dataset:
    categories = _used_names(names, ids, data.categories)
    return replace_event_categories(data, ids[event_categories(data)])._replace(categories=categories)


def _used_names(names: HostArray, ids: HostArray, old_names: Any) -> HostArray:
    """The names that stand in place of the old ones of a dataset, which may be fewer than those of its fixtures."""
    return names[: int(ids[: len(old_names)].max(initial=-1)) + 1]


def _unite_lookalikes(names: HostArray, used: HostArray, earlier_names: Any) -> tuple[HostArray, HostArray]:
    """Names without those that look like an earlier one, and the number of each of the names among them [n].

    The spelling is the commonest of those that look alike, by the numbers of the names that are `used`; the first,
    earlier ones stay.
    """
    if names.dtype != object:
        return names, np.arange(len(names), dtype=np.int32)
    num_earlier = 0 if earlier_names is None else len(earlier_names)
    keys = [*map(_lookalike_key, names.tolist())]
    number = {key: i for i, key in reversed([*enumerate(keys[:num_earlier])])}
    ids = np.arange(len(names), dtype=np.int32)
    spellings = [Counter({name: 1}) for name in names[:num_earlier].tolist()]
    counts = np.bincount(used, minlength=len(names)).tolist()
    for i in range(num_earlier, len(names)):
        ids[i] = number.setdefault(keys[i], len(spellings))
        if ids[i] == len(spellings):
            spellings.append(Counter())
        if ids[i] >= num_earlier:
            spellings[ids[i]][_spelling(names[i])] += counts[i]
    united = [spelling.most_common(1)[0][0] for spelling in spellings]
    return np.fromiter(united, object, len(united)), ids


def _lookalike_key(name: Any) -> Any:
    """The key that texts that look alike share; other names are their own."""
    return lookalike_key(name) if isinstance(name, str) else name


def _spelling(name: Any) -> Any:
    """The name without superfluous blanks, unless there is nothing else."""
    return (normalise_name(name) or name) if isinstance(name, str) else name
