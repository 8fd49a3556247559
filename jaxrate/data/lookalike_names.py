"""Names that look alike: those that differ only by blanks, letter case or Unicode form."""

import difflib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, permutations
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.table_sources import import_pyarrow

PLAIN_NAME_PATTERN = "^[!-~]+( [!-~]+)*$"  # names without accents and superfluous blanks
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
UNIFIED_ADVICE = dict.fromkeys(("players", "categories"), "jr.data.unify_names(data) joins them")
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


def doubts_about_names(subject: str, names: HostArray, num_known: int) -> Iterator[str]:
    """What is doubtful about names [n] of players, categories, contests or seasons, which `subject` says.

    The first `num_known` are those of earlier data, which were noted before: only what is new is told.
    """
    if subject == "players":
        yield from _doubts_about_single_players(names, num_known)
    new = {*names[num_known:].tolist()}
    groups = [group for group in _group_same_without_accents(names) if not new.isdisjoint(chain(*group.values()))]
    if alike := [spelt for group in groups for spelt in group.values() if len(spelt) > 1]:
        advice = UNIFIED_ADVICE.get(subject, "where they are the same, correct the names")
        yield f"{_describe_groups(subject, alike, 'blanks, letter case or Unicode form')}; {advice}"
    if accented := [[spelt[0] for spelt in group.values()] for group in groups if len(group) > 1]:
        yield f"{_describe_groups(subject, accented, 'accents')}; where they are the same, correct the file"


def _group_same_without_accents(names: HostArray) -> list[dict[str, list[str]]]:
    """Texts among the names that are the same but for accents, in groups: those with the same accents by their key."""
    arrow = import_pyarrow()
    texts = [name for name in names.tolist() if isinstance(name, str)] if names.dtype == object else []
    column = arrow.array(texts, arrow.large_string())
    is_plain = arrow.compute.match_substring_regex(column, PLAIN_NAME_PATTERN)
    others = map(accentless_key, column.filter(arrow.compute.invert(is_plain)).to_pylist())
    keys = arrow.compute.replace_with_mask(
        arrow.compute.utf8_lower(column), arrow.compute.invert(is_plain), arrow.array(others, column.type)
    )
    counts = arrow.compute.value_counts(keys)
    repeated = counts.field("values").filter(arrow.compute.greater(counts.field("counts"), 1))
    is_repeated = arrow.compute.is_in(keys, repeated)
    groups: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key, name in zip(*(part.filter(is_repeated).to_pylist() for part in (keys, column)), strict=True):
        groups[key][lookalike_key(name)].append(name)
    return [*groups.values()]


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


def describe_new_names(pairs: Sequence[tuple[str, str]], difference: str) -> str:
    """A sentence about names of new players, each with that of a known one, which differ by no more than that."""
    quoted = [f"{format_value_for_error(x)} (near: {format_value_for_error(y)})" for x, y in pairs[:SHOWN_GROUPS]]
    others = f"; {len(pairs) - SHOWN_GROUPS:,} more" if len(pairs) > SHOWN_GROUPS else ""
    return f"taken as new players, though they differ from known ones only by {difference}: {', '.join(quoted)}{others}"


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
