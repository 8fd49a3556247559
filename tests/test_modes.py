"""One history of modes: singles and doubles of the same players, from the table to forecasts."""

import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import refused

pytest.importorskip("pyarrow")
PLAYERS = [f"player {i:02}" for i in range(12)]
COLUMNS = {"team": "team", "category": "mode", "statistics": "kills", "covariates": "party"}


@pytest.fixture(scope="module")
def table():
    """Matches of one and of two, whose players have a skill, and another in doubles, with draws and a statistic."""
    random, rows = np.random.default_rng(3), []
    skill = {"solo": random.normal(0, 1.5, 12)}
    skill["duo"] = skill["solo"] + random.normal(0, 0.7, 12)
    for contest in range(160):
        mode, size = [("solo", 1), ("duo", 2)][contest % 2]
        who = random.permutation(12)[: 2 * size].reshape(2, size)
        lead = skill[mode][who].sum(axis=1) @ (1, -1) + random.normal(0, 1)
        rank = (1, 1) if abs(lead) < 0.3 else (1, 2) if lead > 0 else (2, 1)
        for team, members in enumerate(who):
            for i in members:
                kills, party = skill[mode][i] + random.normal(), float(random.normal())
                rows.append((contest, PLAYERS[i], team, rank[team], mode, kills, party, 2.0 * contest))
    names = "contest", "player", "team", "rank", "mode", "kills", "party", "t"
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


@pytest.fixture(scope="module")
def rated(table):
    data = jr.read(table, **COLUMNS)
    system = jr.skills(
        categories=2,
        statistics="kills",
        covariates="party",
        party=4.0,
        experience=10.0,
        draw_margin=60.0,
        team_noise=90.0,
    )
    return jr.rate(system, data)


def test_ratings_by_mode(rated):
    solo, duo = (jr.history.category_ratings(rated, name) for name in ("solo", "duo"))
    own, rating = jr.history.modifiers(rated), jr.ratings(rated)
    assert rated.categories.tolist() == ["solo", "duo"]
    np.testing.assert_allclose(solo.mean, rating.mean + own.mean[:, 0], rtol=1e-6)
    np.testing.assert_allclose(duo.mean - solo.mean, own.mean[:, 1] - own.mean[:, 0], atol=1e-3)
    covariance = np.asarray(rated.state.covariance)
    np.testing.assert_allclose(own.deviation[:, 1] ** 2, covariance[:, 2, 2], rtol=1e-5)
    variance = covariance[:, 0, 0] + 2 * covariance[:, 0, 2] + covariance[:, 2, 2]
    np.testing.assert_allclose(duo.deviation**2, variance, rtol=1e-5)
    table = jr.history.rating_table(rated)
    order = table["id"]
    np.testing.assert_allclose(table["modifier duo"], own.mean[order, 1])
    np.testing.assert_allclose(table["deviation solo"], own.deviation[order, 0])
    with refused("no category 'trio' (there are solo, duo)"):
        jr.history.category_ratings(rated, "trio")
    with refused("elo has no modifiers; take category_glicko, or skills with categories"):
        jr.history.modifiers(jr.elo(), jr.elo().init(jr.elo().params, 2))


def test_careers_leaderboards_and_forecasts(rated, table):
    board, career = jr.leaderboard(rated, top=3), jr.career(rated, PLAYERS[0])
    assert len(board.player) == 3 and {*career["teams"]} == {2} and {*career["participants"]} == {2, 4}
    line_ups = [(PLAYERS[:2], PLAYERS[2:4]), (PLAYERS[4], PLAYERS[5])]
    found = jr.forecasts.predict_fixtures(rated, line_ups, category="duo")
    assert found["share"][[0, 2]].sum() == pytest.approx(1.0, abs=1e-5) and len(found["share"]) == 6
    drawn = rated._replace(system=jr.forecasts.add_outcomes(rated.system))
    outlook = jr.forecasts.predict_fixtures(drawn, line_ups, category="duo")
    np.testing.assert_allclose(outlook["win"][[0, 2]].sum() + outlook["draw"][0], 1.0, atol=1e-5)
    np.testing.assert_allclose(outlook["share"], found["share"], atol=1e-5)
    assert (outlook["draw"] > 0.02).all()
    (one, _) = jr.forecasts.explain_fixtures(drawn, line_ups, category="duo")
    assert one.sides["expected"][0] == pytest.approx(found["share"][0], abs=1e-5)


def test_leaderboards_of_a_mode(rated):
    board, duo = jr.leaderboard(rated, category="duo", top=5), jr.history.category_ratings(rated, "duo")
    order = np.argsort(-np.asarray(duo.mean))[:5]
    assert board.player.tolist() == rated.players[order].tolist() and [*board] == [
        "rank", "player", "rating", "deviation", "games", "last"
    ]  # fmt: skip
    assert board.scope == "rating: where they meet duo" and board.num_listed == len(rated.players)
    np.testing.assert_allclose(board.deviation, np.asarray(duo.deviation)[order], rtol=1e-6)
    later = jr.leaderboard(rated, category="duo", as_of=400.0, cautious=2.0, among=rated.players[:4])
    one = jr.history.category_ratings(rated, "duo", time=400.0)
    np.testing.assert_allclose(later.rating, np.sort((one.mean - 2 * one.deviation)[:4])[::-1], rtol=1e-5)
    of_state = jr.leaderboard(rated.system, rated.state, rated.players, category=1, top=5)
    np.testing.assert_allclose(of_state.rating, board.rating, rtol=1e-6)
    assert of_state.num_listed == len(rated.players)
    for options, message in (
        ({"category": "trio"}, "no category 'trio' (there are solo, duo)"),
        ({"category": "duo", "since": 10.0}, "the history keeps ratings by category at its end only: leave out since"),
        ({"category": "duo", "as_of": 10.0}, "the history keeps ratings by category at its end only: leave out since"),
    ):
        with refused(message):
            jr.leaderboard(rated, **options)


def test_pairs_of_a_mode(rated):
    found = jr.forecasts.predict_pairs(rated, players=np.arange(12), category="duo")
    line_up = [tuple(rated.players[:2])]
    share = jr.forecasts.predict_fixtures(rated, line_up, category="duo", time=rated.last)["share"]
    assert found.probability(0, 1) == pytest.approx(share[0], abs=3e-4)
    solo, (a, b) = jr.forecasts.predict_pairs(rated, players=np.arange(12), category="solo"), np.triu_indices(12, 1)
    assert np.abs(solo.probability(a, b) - found.probability(a, b)).max() > 0.02
    with refused("no category 'trio' (there are solo, duo)"):
        jr.forecasts.predict_pairs(rated, category="trio")


def test_balanced_teams_of_a_mode(rated):
    found = jr.forecasts.balance_teams(rated, PLAYERS[:6], category="duo", time_limit=20)
    mean = dict(zip(rated.players, np.asarray(jr.history.category_ratings(rated, "duo").mean, float), strict=True))
    np.testing.assert_allclose(found.strength, [sum(mean[x] for x in team) for team in found.teams], rtol=1e-6)
    line_up = [tuple(found.teams)]
    share = jr.forecasts.predict_fixtures(rated, line_up, category="duo")["share"]
    np.testing.assert_allclose(found.share, share[[0, 3]], atol=1e-5)
    plain = jr.forecasts.balance_teams(rated, PLAYERS[:6], time_limit=20)
    assert plain.share is None and len(plain.teams) == 2
    with refused("no category 'trio'"):
        jr.forecasts.balance_teams(rated, PLAYERS[:6], category="trio")


def test_saved_runs_go_on(rated, table, tmp_path):
    """The first half, saved, loaded and carried on, is the whole."""
    half = {name: x[:240] for name, x in table.items()}
    rest = {name: x[240:] for name, x in table.items()}
    first = jr.rate(rated.system, jr.read(half, **COLUMNS))
    jr.save(tmp_path / "run", first)
    loaded = jr.load(tmp_path / "run")
    whole = jr.rate(
        loaded.system, jr.read(rest, **COLUMNS, players=loaded.players, categories=loaded.categories), onto=loaded
    )
    np.testing.assert_allclose(whole.state.mean, rated.state.mean, atol=0.05)
    expected = rated.predictions["prediction"].to_numpy()
    np.testing.assert_allclose(whole.predictions["prediction"].to_numpy(), expected, atol=1e-4)
