"""Names of live histories: those that no table holds are refused, and those like others are told."""

import pytest

import jaxrate as jr
from tests.conftest import refused

pytest.importorskip("pyarrow")
BROKEN = {  # names that no table holds, and what is said of them
    "a\ud800": "is no Unicode text",
    2**70: "does not fit into 64 bits with a sign; give it as text",
    2**63: "does not fit into 64 bits with a sign; give it as text",
    "x" * 10_000_000: "is longer than 10,000 characters",
    b"x" * 10_001: "is longer than 10,000 characters",
}


@pytest.mark.parametrize("name", BROKEN, ids=lambda name: str(name)[:1] + type(name).__name__)
def test_live_refuses_the_names_that_read_refuses(name):
    others = [type(name)(1), type(name)(2)] if isinstance(name, (int, str)) else [b"1", b"2"]
    live = jr.live.start_history(jr.elo())
    live.update(*others, 1.0)
    before = live.to_json() if not isinstance(name, bytes) else live.players
    calls = [
        lambda: live.update(others[0], name, 1.0),
        lambda: live.predict(name, others[0]),
        lambda: jr.live.start_history(jr.elo(), [name]),
        lambda: jr.live.start_history(jr.elo_mmr()).update_round([others[0], name]),
        lambda: jr.rate(jr.elo(), jr.read({"a": others, "b": [others[1], name], "score": [1, 1]})),
        lambda: jr.rate(jr.elo(), jr.read({"a": others[:1], "b": others[1:], "score": [1]}, players=[*others, name])),
    ]
    for call in calls:
        with refused(BROKEN[name]):
            call()
    assert before == (live.to_json() if not isinstance(name, bytes) else live.players)
    live.to_rated()


def test_newcomers_whose_names_look_like_those_of_players_are_told():
    live = jr.live.start_history(jr.elo(), players=["Zoë"])
    live.update("Bo", "Ada", 1.0)
    for name in ("Zoe", "zoë", "Bo "):
        with pytest.warns(
            UserWarning, match="taken as new players, though they differ .* accents: .* \\(near: '"
        ) as told:
            live.update(name, "Ada", 1.0)
        assert told[0].filename == __file__
        live.update(name, "Cy", 1.0)  # who is known by now
        live.undo(2)
    with pytest.raises(UserWarning, match="'Zoe' .near: 'Zoë'"):  # which warnings are here
        live.update("Zoe", "Ada", 1.0)
    assert "Zoe" not in live.players
    live.undo()
    live.update("ada", "bo", 1.0)  # the others are gone
    contests = jr.live.start_history(jr.weng_lin())
    contests.update_round(["Ada", "Bo", "Zoë"])
    with pytest.warns(UserWarning, match="'Zoe' .near: 'Zoë'"):
        contests.update_round(["Ada", "Bo", "Zoe"])
