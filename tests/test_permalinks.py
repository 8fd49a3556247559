"""Addresses of players: in the letters of their names, and the same in every build."""

import json
import re

import numpy as np
import pytest

import jaxrate as jr
from tests.test_site import NAMES

pytestmark = pytest.mark.filterwarnings("ignore:.*differ from others only by accents")


def test_addresses_are_spelt_in_the_letters_of_the_name():
    from jaxrate.site.page_templates import assign_slugs
    from jaxrate.site.site_data import unique_display_names

    names = [*NAMES, "Novak Đoković", "羽生 善治", "藤井聡太", "★", "Любовь", "पी. वी. सिंधु", "A" * 300]
    found = assign_slugs(range(len(names)), names, {})
    assert found[:8] == ["script-b-x", "lukasz-kubot", "lukasz-kubot-2", "con-player", "محمد", "1-1", "o-brien-q-sons",
                         "novak-dokovic"]  # fmt: skip
    assert found[8:10] == ["羽生-善治", "藤井聡太"] and re.fullmatch("player-[0-9a-f]{8}", found[10])
    assert found[11:13] == ["любовь", "पी-वी-सिंधु"] and len(found[13]) < 200
    assert unique_display_names(np.array([1, 2, 3]), {1: "Ann", 2: "Ann"}) == ["Ann (1)", "Ann (2)", "3"]


def test_addresses_stay_when_others_join(tmp_path):
    def build(names):
        pairs = [(x, y) for x in names for y in names if x < y]
        a, b = zip(*pairs, strict=True)
        jr.site.write_site(jr.rate(jr.elo(), jr.read({"a": a, "b": b, "score": [1.0] * len(a)})), tmp_path)
        return json.loads((tmp_path / "permalinks.json").read_text(encoding="utf-8"))

    first = build(["藤井聡太", "渡辺明", "Lukasz", "Ann"])
    assert first["藤井聡太"] == "藤井聡太" and (tmp_path / "players" / "藤井聡太.html").exists()
    second = build(["Łukasz", "Lukasz", "★", "渡辺明"])
    assert {x: second[x] for x in first} == first and second["Łukasz"] == "lukasz-2"
    assert not (tmp_path / "players" / "ann.html").exists()
    (tmp_path / "permalinks.json").write_text('{"Ann": "../ann"}')
    with pytest.raises(ValueError, match=r"permalinks.json is damaged"):
        build(["Ann", "Bo"])
