"""Text for people: tables are aligned as terminals show them."""

import unicodedata

import pytest

from jaxrate.core.text_format import display_width, format_decimals, format_range, format_table, format_whole_percent


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("Ada", 3),
        ("大坂なおみ", 10),
        ("José", 4),
        (unicodedata.normalize("NFD", "José"), 4),  # the accent is a character of its own
        ("김연아", 6),
        (unicodedata.normalize("NFD", "김연아"), 6),  # nine letters in three blocks
        ("🏓 Ma Long", 10),
        ("🇯🇵", 2),
        ("ﾏﾂﾔﾏ", 4),  # half-width katakana
        ("\uff21\uff22", 4),
        ("a\u200db", 2),
        ("", 0),
    ],
)
def test_display_width_counts_cells(text, width):
    assert display_width(text) == width


def test_tables_are_aligned_by_cells():
    """They were aligned by characters, so that every row with a Japanese name was out of place."""
    names = "Ada", "大坂なおみ", unicodedata.normalize("NFD", "José"), "🏓 Ma"
    lines = format_table(["player", "rating"], [(name, 1500 + i) for i, name in enumerate(names)]).splitlines()
    assert lines[0] == "player      rating" and {display_width(line) for line in lines} == {18}


@pytest.mark.parametrize(
    ("number", "digits", "signed", "said"),
    [(1829.24, 1, False, "1,829.2"), (-0.04, 1, False, "0.0"), (-0.04, 1, True, "0.0"), (12.0, 1, True, "+12.0"),
     (-1200.0, 0, False, "-1,200"), (-0.4, 0, True, "0")],
)  # fmt: skip
def test_numbers_have_groups_of_thousands_and_zero_has_no_sign(number, digits, signed, said):
    assert format_decimals(number, digits, signed=signed) == said


def test_a_range_of_one_is_a_number():
    assert [format_range(1, 1), format_range(1, 1200)] == ["1", "1 to 1,200"]


@pytest.mark.parametrize(("percent", "said"), [(0.0, "0"), (0.4, "<1"), (50.2, "50"), (99.7, ">99"), (100.0, "100")])
def test_what_is_all_but_certain_is_not(percent, said):
    assert format_whole_percent(percent) == said
