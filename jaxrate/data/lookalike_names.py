"""Names that look alike: those that differ only by blanks, letter case or Unicode form."""

import difflib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from itertools import chain
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.table_sources import import_pyarrow

INVISIBLE_CHARACTERS = dict.fromkeys((0x200B, 0x2060, 0xFEFF))  # blanks of no width
LETTERS_WITHOUT_ACCENTS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)  # letters that Unicode does not take apart
NO_OPPONENT_PATTERN = r"(?i)^\W*(((half|full)\W*)?bye|walk\W?over|w/o|forfeit|freilos|no opponent|tb[ad])\W*$"
JOINED_NAMES_PATTERN = r"\s*[/&+;]\s*"  # what stands between the names of partners
BYES_NOTE = (
    "rated as any other; leave the rows without an opponent out; on_faulty='skip' does where their cell is empty"
)
PARTNERS_NOTE = "rated as one, apart from the members; if they are teams, say a=['a'], b=['b'] of their columns, in "
PARTNERS_NOTE += "which ';' or ' / ' stands between the names"
UNIFIED_ADVICE = dict.fromkeys(("players", "categories"), "jr.data.unify_names(data) joins them")
LONGEST_NAME = 10_000  # characters
SHOWN_GROUPS = 3  # examples in a note
MAX_SUGGESTIONS = 3  # most names suggested


def unstorable_reason(name: Any) -> str | None:
    """Why tables cannot hold this name, as the end of a message; None if they can."""
    if isinstance(name, (int, np.integer)) and not -(1 << 63) <= name < 1 << 63:
        return "does not fit into 64 bits with a sign; give it as text"
    if isinstance(name, (str, bytes)) and len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME:,} characters"
    if isinstance(name, str) and not name.isascii() and has_lone_surrogates(name):
        return "is no Unicode text"
    return None


def unstorable_reasons_by_position(names: HostArray) -> dict[int, str]:
    """Why tables cannot hold some of the names [n] that are text, by their position."""
    texts = names.tolist() if names.dtype == object else []
    return {i: reason for i, text in enumerate(texts) if (reason := unstorable_reason(text))}


def has_lone_surrogates(text: str) -> bool:
    """Whether a text cannot be written, since it has half of a pair of surrogates."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def normalise_name(name: str) -> str:
    """The name in the Unicode form NFKC, without blanks around it, and with one where there are several."""
    name = unicodedata.normalize("NFKC", name)
    return " ".join((name if name.isprintable() else name.translate(INVISIBLE_CHARACTERS)).split())


def lookalike_key(name: str) -> str:
    """The key that names that look alike share: normalised and without letter case."""
    if name.isascii():
        return " ".join(name.lower().split())
    return unicodedata.normalize("NFKC", normalise_name(name).casefold())


def accentless_key(name: str) -> str:
    """The key that names share if they look alike but for accents."""
    key = lookalike_key(name)
    if key.isascii():
        return key
    letters = unicodedata.normalize("NFD", key)
    return "".join(x for x in letters if not unicodedata.combining(x)).translate(LETTERS_WITHOUT_ACCENTS)


def doubts_about_names(subject: str, names: HostArray, num_known: int) -> Iterator[str]:
    """Doubts about new names of players, categories, contests or seasons; the first `num_known` are not new."""
    texts = [name for name in names.tolist() if isinstance(name, str)]  # all, or none
    new = {*texts[num_known:]}
    if subject == "players":
        yield from _doubts_about_single_players(texts, new)
    groups = [group for group in _group_same_without_accents(texts) if not new.isdisjoint(chain(*group))]
    advice = UNIFIED_ADVICE.get(subject, "where they are the same, correct the names")
    yield from _doubts_about_groups(subject, [*chain(*groups)], "blanks, letter case or Unicode form", advice)
    accented = [[spelt[0] for spelt in group] for group in groups]
    yield from _doubts_about_groups(subject, accented, "accents", "where they are the same, correct the file")


def _doubts_about_groups(subject: str, groups: Sequence[Sequence[str]], difference: str, advice: str) -> Iterator[str]:
    """A doubt about the groups with several names, which differ by no more than the difference that is named."""
    groups = [group for group in groups if len(group) > 1]
    if groups:
        examples = [" and ".join(map(format_value_for_error, group[:SHOWN_GROUPS])) for group in groups]
        yield (
            f"{sum(map(len, groups)):,} names of {subject} differ from others only by {difference}, and count as "
            f"different {subject}: {_join_examples(examples, '; ', '; ')}; {advice}"
        )


def _group_same_without_accents(texts: Sequence[str]) -> list[list[list[str]]]:
    """The texts that are the same but for accents, in groups: those that have the same accents, too, in one list."""
    keys = [*map(accentless_key, texts)]
    if len({*keys}) == len(keys):
        return []  # the common case
    counts = Counter(keys)
    groups: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key, name in zip(keys, texts, strict=True):
        if counts[key] > 1:
            groups[key][lookalike_key(name)].append(name)
    return [[*group.values()] for group in groups.values()]


def _join_examples(examples: Sequence[str], separator: str, last_separator: str) -> str:
    """The first of some examples, and how many more of them there are."""
    more = len(examples) - SHOWN_GROUPS
    return separator.join(examples[:SHOWN_GROUPS]) + (f"{last_separator}{more:,} more" if more > 0 else "")


def _doubts_about_single_players(texts: Sequence[str], new: Set[Any]) -> Iterator[str]:
    """The doubts about new players who are called as a bye is, or as several players together."""
    compute, names = import_pyarrow().compute, import_pyarrow().array(texts, import_pyarrow().large_string())
    byes, joined = (
        names.filter(compute.match_substring_regex(names, pattern)).to_pylist()
        for pattern in (NO_OPPONENT_PATTERN, JOINED_NAMES_PATTERN)
    )
    for doubtful, note in ((byes, BYES_NOTE), (_names_of_several_players(joined, texts), PARTNERS_NOTE)):
        quoted = [format_value_for_error(name) for name in doubtful if name in new]
        if quoted:
            noun = "players are" if len(quoted) > 1 else "a player is"
            yield f"{noun} called {_join_examples(quoted, ', ', ' and ')}, {note}"


def _names_of_several_players(joined: Sequence[str], texts: Sequence[str]) -> list[str]:
    """The names with a separator of which a part is a player as well, or all parts are in other such names."""
    parts_of_name = {name: re.split(JOINED_NAMES_PATTERN, name.strip()) for name in joined}
    parts_of_name = {name: parts for name, parts in parts_of_name.items() if all(parts) and len({*parts}) > 1}
    counts, singles = Counter(chain(*map(set, parts_of_name.values()))), {*texts} if parts_of_name else set[str]()
    return [
        name
        for name, parts in parts_of_name.items()
        if not singles.isdisjoint(parts) or min(counts[part] for part in parts) > 1
    ]


def describe_new_names(pairs: Sequence[tuple[str, str]], difference: str) -> str:
    """A sentence about names of new players, each with that of a known one, which differ by no more than that."""
    quoted = [f"{format_value_for_error(x)} (near: {format_value_for_error(y)})" for x, y in pairs]
    examples = _join_examples(quoted, ", ", "; ")
    return f"taken as new players, though they differ from known ones only by {difference}: {examples}"


def similar_names_hint(name: Any, players: Sequence[Any] | HostArray) -> str:
    """The names most like this one, to end a message with: " (near: 'Ada', 'Adam')"; nothing if there is none."""
    own, words_of = _words_in_order(str(name)), {x: _words_in_order(str(x)) for x in players}
    close = difflib.get_close_matches(own, {*words_of.values()}, n=MAX_SUGGESTIONS)
    similar = [x for x, words in words_of.items() if words in close or not {*own.split()}.isdisjoint(words.split())]

    def likeness(player: Any) -> tuple[int, float]:
        words = words_of[player]
        return len({*own.split()} & {*words.split()}), difflib.SequenceMatcher(None, own, words).ratio()

    suggestions = sorted(similar, key=likeness, reverse=True)[:MAX_SUGGESTIONS]
    return f" (near: {', '.join(map(format_value_for_error, suggestions))})" if suggestions else ""


def _words_in_order(name: str) -> str:
    """The words of a name without case and accents, in alphabetic order."""
    return " ".join(sorted(re.findall(r"\w+", accentless_key(name))))
