"""Live contests of teams with modes, statistics, covariates and quits: the numbers of one run."""

import jax
import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import refused

pytest.importorskip("pyarrow")
GAMES = [  # teams, ranks, mode, kills, party, quit
    ([["Ada", "Bo"], ["Cy", "Di"]], [1, 2], "duo", [3.0, 0.0, -1.0, -2.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]),
    ([["Ada"], ["Cy"]], [1, 2], "solo", [1.0, -1.0], 0.0, 0.0),
    ([["Ada", "Di"], ["Bo", "Cy"]], [1, 1], "duo", [0.0, np.nan, 0.5, -0.5], [0.0, 0.0, 1.0, 1.0], np.nan),
    ([["Bo"], ["Di"], ["Eve"]], [2, 1, 3], "solo", [0.0, 1.0, -1.0], 0.0, 0.0),
]
SYSTEM = jr.skills(categories=2, statistics="kills", covariates="party", quit="left", party=15.0, experience=20.0)


def as_data(games):
    rows = []
    for number, (teams, ranks, mode, *columns) in enumerate(games):
        sizes = [*map(len, teams)]
        kills, party, left = (np.broadcast_to(x, sum(sizes)).tolist() for x in columns)
        names = [name for team in teams for name in team]
        for i, (name, team) in enumerate(zip(names, np.repeat(range(len(teams)), sizes).tolist(), strict=True)):
            rows.append((number, name, team, ranks[team], mode, kills[i], party[i], left[i], 10.0 * number))
    names = "contest", "player", "team", "rank", "mode", "kills", "party", "left", "t"
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    left = np.array(table.pop("left"))
    data = jr.read(
        table, team="team", category="mode", statistics="kills", covariates="party", categories=["duo", "solo"]
    )
    flat = data.rounds.events
    return data._replace(events=data.rounds._replace(events=flat._replace(columns=flat.columns | {"left": left})))


def feed(live, games, first=0):
    predictions = []
    for number, (teams, ranks, mode, kills, party, left) in enumerate(games, first):
        columns = {"kills": kills, "party": party, "left": left}
        predictions.append(live.update_round(teams, ranks, time=10.0 * number, category=mode, columns=columns))
    return np.concatenate(predictions)


def test_contests_with_columns_are_those_of_one_run():
    whole = jr.rate(SYSTEM, as_data(GAMES))
    live = jr.live.start_history(jr.rate(SYSTEM, as_data(GAMES[:1])))
    coming = live.predict_round(GAMES[1][0], time=10.0, category="solo", columns={"party": 0.0})
    found = feed(live, GAMES[1:], 1)
    np.testing.assert_allclose(found, whole.predictions["prediction"].to_numpy()[4:], atol=1e-5)
    np.testing.assert_allclose(coming, found[:2], atol=1e-6)
    rated = live.to_rated()
    assert rated.categories.tolist() == ["duo", "solo"] and rated.players.tolist() == whole.players.tolist()
    for one, two in zip(jax.tree.leaves(rated.state), jax.tree.leaves(whole.state), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(
        rated.predictions["rating"].to_numpy(), whole.predictions["rating"].to_numpy(), atol=1e-2
    )


def test_corrections_and_errors():
    live = jr.live.start_history(jr.rate(SYSTEM, as_data(GAMES[:1])))
    feed(live, GAMES[1:3], 1)
    live.correct(-1, rank=[2, 1], columns={"kills": [1.0, 2.0, 3.0, 4.0], "party": 0.0, "left": 0.0})
    changed = [*GAMES[:2], (GAMES[2][0], [2, 1], "duo", [1.0, 2.0, 3.0, 4.0], 0.0, 0.0)]
    mean = jr.rate(SYSTEM, as_data(changed)).state.mean
    np.testing.assert_allclose(live.to_rated().state.mean, mean, atol=1e-2)
    live.correct(-1, category="solo")
    mean = jr.rate(SYSTEM, as_data([*GAMES[:2], (*changed[2][:2], "solo", *changed[2][3:])])).state.mean
    np.testing.assert_allclose(live.to_rated().state.mean, mean, atol=1e-2)
    teams, known = GAMES[0][0], {"kills": 0.0, "party": 0.0, "left": 0.0}
    for given, message in (
        ({"category": "trio", "columns": known}, "no category 'trio'; there are duo, solo"),
        ({"columns": known}, "skills with categories needs those of the contests"),
        (
            {"category": "duo", "columns": {"party": 0.0, "left": 0.0}},
            "skills needs the column 'kills' of the particip",
        ),
        (
            {"category": "duo", "kills": 3},
            "a contest has no 'kills'; it has weight, ceiling, noise, category and columns",
        ),
        ({"category": ["duo", "solo"], "columns": known}, "category"),
    ):
        with refused(message):
            live.update_round(teams, time=99.0, **given)


def test_a_list_of_lists_has_a_value_for_each_member():
    flat, nested = jr.live.start_history(jr.trueskill()), jr.live.start_history(jr.trueskill())
    teams = [["Ada", "Bo", "Cy"], ["Di", "Eve"]]
    flat.update_round(teams, weight=[0.5, 0.5, 1.0, 1.0, 0.75])
    nested.update_round(teams, weight=[[0.5, 0.5, 1.0], [1.0, 0.75]])
    assert flat.to_json() == nested.to_json()
    with refused("weight"):
        nested.update_round(teams, weight=[[0.5, 0.5], [1.0, 0.75]])
