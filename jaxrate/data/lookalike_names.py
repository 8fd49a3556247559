"""Names that look alike: those that differ only by blanks, letter case or Unicode form."""

import difflib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import permutations
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.table_sources import Column, import_pyarrow

# characters, first to last, that have one form (NFKC), and that `lower` changes as `casefold` does
PLAIN_RANGES = (
    *((0x21, 0x7E), (0xC0, 0xD6), (0xD8, 0xDE), (0xE0, 0xF6), (0xF8, 0x12F), (0x134, 0x13E), (0x141, 0x148)),
    *((0x14A, 0x17E), (0x400, 0x45F), (0x490, 0x4FF)),  # the rest of Latin, and Cyrillic
    *((0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FEF), (0xAC00, 0xD7A3)),  # kana, ideographs, Hangul
)
PLAIN_LETTERS = "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in PLAIN_RANGES)
SIMPLE_NAME_PATTERN = f"^[{PLAIN_LETTERS}]+( [{PLAIN_LETTERS}]+)*$"  # names without superfluous blanks
INVISIBLE_CHARACTERS = dict.fromkeys((0x200B, 0x2060, 0xFEFF))  # blanks of no width
LETTERS_WITHOUT_ACCENTS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)  # letters that Unicode does not take apart
NO_OPPONENT_PATTERN = r"(?i)^\W*(((half|full)\W*)?bye|walk\W?over|w/o|forfeit|freilos|no opponent|tb[ad])\W*$"
JOINED_NAMES_PATTERN = r"\s*[/&+;]\s*"  # what stands between the names of partners
NAME_NOTES = {  # what a name of a player may be instead, by the kinds of `_find_doubtful_names`
    "no opponent": "rated as any other; leave the rows without an opponent out; on_faulty='skip' does where their "
    "cell is empty",
    "joined": "rated as one, apart from the members; if they are teams, write the names in a cell with semicolons "
    "between, and say a=['a'], b=['b'] of their columns",
}
LONGEST_NAME = 10_000  # characters
SHOWN_GROUPS = 3  # examples in a note
MAX_SUGGESTIONS = 3  # most names suggested
MAX_PERMUTED_WORDS = 4  # most words whose orders are tried


def unstorable_reason(name: Any) -> str | None:
    """Why tables cannot hold this name, as the end of a message; None if they can."""
    if isinstance(name, (int, np.integer)) and not -(1 << 63) <= name < 1 << 63:
        return "does not fit into 64 bits with a sign; give it as text"
    return _unstorable_text_reason(name) if isinstance(name, (str, bytes)) else None


def _unstorable_text_reason(name: str | bytes) -> str | None:
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME:,} characters"
    if isinstance(name, str) and not name.isascii() and has_lone_surrogates(name):
        return "is no Unicode text"
    return None


def unstorable_reasons_by_position(names: HostArray) -> dict[int, str]:
    """Why tables cannot hold some of the names [n] that are text, by their position."""
    if names.dtype != object:
        return {}
    values = names.tolist()
    try:
        if max(map(len, values), default=0) <= LONGEST_NAME and "".join(values).encode() is not None:
            return {}  # the common case
    except (TypeError, UnicodeEncodeError):  # not all are text, or one is broken
        pass
    texts = [(place, name) for place, name in enumerate(values) if isinstance(name, (str, bytes))]
    return {place: reason for place, name in texts if (reason := _unstorable_text_reason(name))}


def has_lone_surrogates(text: str) -> bool:
    """Whether a text cannot be written, since it has half of a pair of surrogates."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def normalise_name(name: str) -> str:
    """The name in the Unicode form NFKC, without blanks around it, and with one where there are several."""
    name = unicodedata.normalize("NFKC", name)
    return " ".join((name if name.isprintable() else name.translate(INVISIBLE_CHARACTERS)).split())


def lookalike_key(name: str) -> str:
    """The key that names that look alike share: normalised and without letter case."""
    return unicodedata.normalize("NFKC", normalise_name(name).casefold())


def accentless_key(name: str) -> str:
    """The key that names share if they look alike but for accents."""
    letters = unicodedata.normalize("NFD", lookalike_key(name))
    return "".join(x for x in letters if not unicodedata.combining(x)).translate(LETTERS_WITHOUT_ACCENTS)


def doubts_about_names(subject: str, names: HostArray, num_known: int, num_noted: int) -> Iterator[str]:
    """What is doubtful about names [n] of players, categories, contests or seasons, which `subject` says.

    The first `num_known` are those of earlier data. Names that look alike, the first `num_noted` of which were noted
    before, are told of all, as far as one of them is new.
    """
    if subject == "players":
        yield from _doubts_about_single_players(names, num_known)
    yield from _doubts_about_lookalikes(subject, names, num_noted)
    yield from _doubts_about_accents(subject, names[num_known:])


def _doubts_about_lookalikes(subject: str, names: HostArray, num_known: int) -> Iterator[str]:
    """That some of the names [n] look alike. The first `num_known` were noted: they are named beside later ones."""
    if not _has_lookalikes(names):
        return
    groups = [
        spelt for spelt in _group_lookalikes(name for name in names if isinstance(name, str)).values() if len(spelt) > 1
    ]
    new = {*names[num_known:].tolist()}
    groups = [spelt for spelt in groups if not num_known or not new.isdisjoint(spelt)]
    if groups:
        text = _describe_groups(subject, groups, "blanks, letter case or Unicode form")
        is_joined = subject in ("players", "categories")
        advice = "jr.data.unify_names(data) joins them" if is_joined else "where they are the same, correct the names"
        yield f"{text}; {advice}"


def _describe_groups(subject: str, groups: Sequence[Sequence[str]], difference: str) -> str:
    """A sentence about groups of names that differ by no more than that."""
    examples = "; ".join(
        " and ".join(map(format_value_for_error, spelt[:SHOWN_GROUPS])) for spelt in groups[:SHOWN_GROUPS]
    )
    others = f"; {len(groups) - SHOWN_GROUPS:,} more" if len(groups) > SHOWN_GROUPS else ""
    return (
        f"{sum(map(len, groups)):,} names of {subject} differ from others only by {difference}, and count as different "
        f"{subject}: {examples}{others}"
    )


def _doubts_about_single_players(names: HostArray, num_known: int) -> Iterator[str]:
    """That players after the first, known ones are called as a bye is, or as several players together."""
    if names.dtype != object:
        return
    for kind, doubtful in _find_doubtful_names(names, num_known).items():
        if doubtful:
            others = f" and {len(doubtful) - SHOWN_GROUPS:,} more" if len(doubtful) > SHOWN_GROUPS else ""
            quoted = ", ".join(map(format_value_for_error, doubtful[:SHOWN_GROUPS]))
            noun = "players are" if len(doubtful) > 1 else "a player is"
            yield f"{noun} called {quoted}{others}, {NAME_NOTES[kind]}"


def _find_doubtful_names(names: HostArray, num_known: int) -> dict[str, list[str]]:
    """The names after the known ones by what they may be instead, a key of `NAME_NOTES`."""
    arrow, texts = import_pyarrow(), [x for x in names.tolist() if isinstance(x, str)]
    with suppress(arrow.ArrowException, UnicodeEncodeError):
        column = arrow.array(texts, arrow.large_string())
        byes, joined = (
            column.filter(arrow.compute.match_substring_regex(column, pattern)).to_pylist()
            for pattern in (NO_OPPONENT_PATTERN, JOINED_NAMES_PATTERN)
        )
        new = {*names[num_known:].tolist()} if byes or joined else {*()}
        kinds = {"no opponent": byes, "joined": _names_of_partners(joined, texts)}
        return {kind: [name for name in found if name in new] for kind, found in kinds.items()}
    return {}


def _names_of_partners(joined: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Of names with a separator those of which a part is a player as well, or all parts are in other such names."""
    parts = {name: re.split(JOINED_NAMES_PATTERN, name.strip()) for name in joined}
    parts = {name: split for name, split in parts.items() if all(split)}
    counts = Counter(part for split in parts.values() for part in {*split})
    singles = {*texts} if parts else {*()}
    return [
        name
        for name, split in parts.items()
        if len({*split}) > 1 and (not singles.isdisjoint(split) or all(counts[part] > 1 for part in split))
    ]


def _doubts_about_accents(subject: str, names: HostArray) -> Iterator[str]:
    """That some of the names [n] differ only by accents; `subject` is what they name, as "players"."""
    if groups := _groups_but_for_accents(names):
        yield f"{_describe_groups(subject, groups, 'accents')}; where they are the same, correct the file"


def _groups_but_for_accents(names: HostArray) -> list[list[str]]:
    """The names that differ only by accents, those that are alike in one list; none of names that are no text."""
    if names.dtype != object:
        return []
    arrow = import_pyarrow()
    with suppress(arrow.ArrowException, TypeError, UnicodeEncodeError, OverflowError):
        column = arrow.array(names, arrow.large_string())
        is_ascii = arrow.compute.string_is_ascii(column)
        if arrow.compute.all(is_ascii).as_py():
            return []
        keys = _accentless_keys(column, is_ascii)
        counts = arrow.compute.value_counts(keys)
        repeated_keys = counts.field("values").filter(arrow.compute.greater(counts.field("counts"), 1))
        is_repeated = arrow.compute.is_in(keys, repeated_keys)
        groups: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for key, name in zip(*(part.filter(is_repeated).to_pylist() for part in (keys, column)), strict=True):
            groups[key].setdefault(lookalike_key(name), name)
        return [[*spelt.values()] for spelt in groups.values() if len(spelt) > 1]
    return []


def _has_lookalikes(names: HostArray) -> bool:
    """Whether some of the texts among the names look alike; quick for simple names."""
    arrow = import_pyarrow()
    text = names if names.dtype == object else np.zeros(0, object)
    try:
        column = arrow.array(text)
    except (arrow.ArrowException, TypeError, UnicodeEncodeError, OverflowError):
        column = arrow.nulls(0)
    if not arrow.types.is_string(column.type):  # other types, too
        folded = [lookalike_key(name) for name in text if isinstance(name, str)]
        return len(set(folded)) < len(folded)
    simple = arrow.compute.match_substring_regex(column, SIMPLE_NAME_PATTERN)
    if arrow.compute.all(simple).as_py():
        return len(set(map(str.lower, text.tolist()))) < len(text)
    odd = np.flatnonzero(~simple.to_numpy(zero_copy_only=False))
    keys = set(map(str.lower, np.delete(text, odd))) | set(map(lookalike_key, text[odd]))
    return len(keys) < len(text)


def doubts_about_new_names(names: HostArray, num_known: int) -> Iterator[str]:
    """That some of the names [n] of players after the first, known ones differ from one of these by accents."""
    if not num_known or names.dtype != object:
        return
    arrow = import_pyarrow()
    with suppress(arrow.ArrowException, TypeError, UnicodeEncodeError, OverflowError):
        known, new = (arrow.array(part, arrow.large_string()) for part in (names[:num_known], names[num_known:]))
        ascii_flags = [arrow.compute.string_is_ascii(part) for part in (known, new)]
        if all(arrow.compute.all(flags).as_py() for flags in ascii_flags):
            return
        known_keys, new_keys = map(_accentless_keys, (known, new), ascii_flags)
        places = arrow.compute.index_in(new_keys, known_keys).to_pylist()
        pairs = [(names[num_known + i], names[place]) for i, place in enumerate(places) if place is not None]
        pairs = [(name, other) for name, other in pairs if lookalike_key(name) != lookalike_key(other)]
        if pairs:
            yield describe_new_names(pairs, "accents")


def _accentless_keys(names: Any, is_ascii: Any) -> Any:
    """The keys of an Arrow array of names; those of ASCII are in lower case."""
    others = names.filter(is_other := import_pyarrow().compute.invert(is_ascii)).to_pylist()
    keys = import_pyarrow().array(map(accentless_key, others), names.type)
    return import_pyarrow().compute.replace_with_mask(import_pyarrow().compute.utf8_lower(names), is_other, keys)


def describe_new_names(pairs: Sequence[tuple[str, str]], difference: str) -> str:
    """A sentence about names of new players, each with that of a known one, which differ by no more than that."""
    quoted = [f"{format_value_for_error(x)} (near: {format_value_for_error(y)})" for x, y in pairs[:SHOWN_GROUPS]]
    others = f"; {len(pairs) - SHOWN_GROUPS:,} more" if len(pairs) > SHOWN_GROUPS else ""
    return f"taken as new players, though they differ from known ones only by {difference}: {', '.join(quoted)}{others}"


def _group_lookalikes(names: Iterable[str]) -> dict[str, list[str]]:
    """Names by their key: those that look alike are in one list."""
    groups = defaultdict(list)
    for name in names:
        groups[lookalike_key(name)].append(name)
    return groups


def unify_spellings(
    columns: dict[str, Column], groups: Sequence[Sequence[str]], existing_names: Sequence[Any]
) -> dict[str, Column]:
    """The columns, with one spelling for names that look alike: the commonest of a group of columns, normalised.

    Args:
      columns: values by name.
      groups: columns whose names are of the same kind, as those of both players.
      existing_names: for each group the names that have ids already, or None. They stay as they are, and so do names
        that are equal to one of them.
    """
    for group, names in zip(groups, existing_names, strict=True):
        counts: Counter[str] = Counter()
        for name in dict.fromkeys(group):
            counts += _count_texts(columns[name])
        existing_texts = [name for name in (() if names is None else list(names)) if isinstance(name, str)]
        spelling = {lookalike_key(name): name for name in reversed(existing_texts)}  # of those alike, the first
        counts_by_key: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for name, n in counts.items():
            counts_by_key[lookalike_key(name)][normalise_name(name)] += n
        spelling = {key: found.most_common(1)[0][0] for key, found in counts_by_key.items()} | spelling
        change = {name: spelling[lookalike_key(name)] for name in counts} | {name: name for name in existing_texts}
        columns = columns | {name: _replace_names(columns[name], change) for name in group}
    return columns


def _count_texts(column: Column) -> Counter[str]:
    """The number of rows of each text in a column, in order of first appearance."""
    if isinstance(column, np.ndarray):
        return Counter(value for value in column if isinstance(value, str))
    if not import_pyarrow().types.is_large_string(column.type):
        return Counter()
    value_counts = import_pyarrow().compute.value_counts(column).to_pylist()
    return Counter({each["values"]: each["counts"] for each in value_counts if each["values"] is not None})


def _replace_names(column: Column, change: dict[str, str]) -> Column:
    """The column with names changed; text of blanks alone becomes missing."""
    arrow = import_pyarrow()
    if isinstance(column, np.ndarray):
        new = [(change[value] or None) if isinstance(value, str) else value for value in column]
        return np.fromiter(new, dtype=object, count=len(new))
    if not arrow.types.is_large_string(column.type):
        return column
    encoded = column.combine_chunks().dictionary_encode()
    new_names = arrow.array([change[name] or None for name in encoded.dictionary.to_pylist()], arrow.large_string())
    return arrow.chunked_array([new_names.take(encoded.indices)])


def similar_names_hint(name: Any, players: Sequence[Any] | HostArray) -> str:
    """The names that look most like this one, to end a message with: " (near: 'Ada', 'Adam')", or nothing.

    Case and accents do not count. First stand those of the same words in another order, as in "Sinner Jannik", then
    those of the same words but for initials, as in "J. Sinner", then those spelt nearly so, and those with a word.
    """
    by_plain: dict[str, Any] = {accentless_key(str(x)): x for x in reversed([*players])}
    similar = dict.fromkeys(_similar_names(accentless_key(str(name)), [*by_plain]))
    suggestions = [by_plain[x] for x in similar][:MAX_SUGGESTIONS]
    return f" (near: {', '.join(map(format_value_for_error, suggestions))})" if suggestions else ""


def _similar_names(name: str, names: Sequence[str]) -> list[str]:
    """The names that look like this one, those most alike first; all without case and accents."""
    own_words, words = sorted(re.findall(r"\w+", name)), {x: sorted(re.findall(r"\w+", x)) for x in names}
    same_words = [x for x in names if words[x] == own_words]
    initials = [x for x in names if _are_words_but_for_initials(own_words, words[x])]
    close = difflib.get_close_matches(name, names, n=MAX_SUGGESTIONS)
    sharing_word = [x for x in names if name in words[x] or x in own_words]
    remaining = [*close, *sharing_word] if len(own_words) > 1 else [*sharing_word, *close]
    return [*same_words, *initials, *remaining]


def _are_words_but_for_initials(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether some order of the words is the others, where one side may have initials in place of words."""
    if len(words) != len(others) or not 1 < len(words) <= MAX_PERMUTED_WORDS:
        return False

    def match(one: Sequence[str], other: Sequence[str]) -> bool:
        return all(x in (y, y[0]) for x, y in zip(one, other, strict=True))

    return any(match(order, others) or match(others, order) for order in permutations(words))
