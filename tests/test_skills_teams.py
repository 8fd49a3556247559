"""Skills of teams against the slow twin: beliefs, predictions, losses and slopes; and what contests must have."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm, spearmanr

import jaxrate as jr
from jaxrate import parts
from jaxrate.events import build_rounds, slice_events
from jaxrate.fitting.losses import ahead
from jaxrate.fitting.prediction_task import make_prediction_task, replay_predictions
from jaxrate.systems.skills.system import skills_by_name
from jaxrate.systems.system_construction_by_name import make_system_for_data
from tests.conftest import MOSTLY_DOUBLE, mark_full, quick, refused
from tests.reference.teams_twin import TeamSkills, participant

PLAYERS, CONTESTS, SEASONS = 14, 60, (31.0, 62.5, 63.0, 100.0)
PARTS = {"growth": 12.0, "initial_rating": 1480.0, "initial_deviation": 140.0, "noise": 280.0}
MODIFIERS = {"modifier_growth": 4.0, "initial_modifier_deviation": 55.0}
OWN_SIDE = {"own_side_growth": 2.0, "initial_own_side_deviation": 33.0}
MORE = {"experience": 15.0, "match_growth": 7.0, "season_keep": 0.7, "season_growth": 25.0, "reversion": 300.0}
KINDS = {"second_kind_growth": 3.0, "second_kind_initial_deviation": 210.0}
FORM = {"form_deviation": 60.0, "form_reversion": 9.0}
STATISTICS = {"kills_scale": 90.0, "kills_noise": 310.0, "laps_scale": 20.0, "laps_noise": 400.0}
CASES = {  # settings and hyperparameters
    "win": ({"categories": 3}, PARTS | MODIFIERS | {"team_noise": 90.0}),
    "draws": (
        {"seasons": SEASONS, "covariates": ("car",), "kinds": "kind"},
        PARTS | MORE | FORM | KINDS
        | {"second_kind_match_growth": 2.0, "second_kind_experience": -6.0, "draw_margin": 60.0, "car": 9.0},
    ),
    "mean": (
        {"team_performance": "mean", "statistics": ("kills", "laps")},
        PARTS | STATISTICS | {"draw_margin": 40.0, "size_advantage": 120.0, "match_growth": 7.0},
    ),
    "quits": (
        {"categories": 3, "own_side": True, "statistics": ("kills",), "quit": "quit", "kinds": "kind"},
        PARTS | KINDS | MODIFIERS | OWN_SIDE | {"kills_scale": 90.0, "kills_noise": 310.0, "quit_threshold": 1300.0},
    ),
    "margin": (
        {"outcome": "margin", "categories": 3, "margin": "points"},
        PARTS | MODIFIERS | {"margin_scale": 9.0, "compression": 8.0, "experience": 15.0, "team_noise": 50.0},
    ),
    "form": ({}, PARTS | FORM | {"experience": 15.0}),
}  # fmt: skip


def history(mixed=False, seed=0, n=CONTESTS, teams=(1, 2, 2, 2, 3, 4, 8), largest=3):
    """Contests of teams of several sizes, with ties and partial play; in every ninth a player is in two teams."""
    random, rows = np.random.default_rng(seed), []
    for contest in range(n):
        who, place = random.permutation(PLAYERS).tolist(), 0
        number = int(random.choice(teams))
        for team in range(number):
            size = int(random.integers(1, min(largest, (PLAYERS - place) // (number - team)) + 1))
            members = who[place : place + size]
            if contest % 9 == 4 and team == 1 and number > 2:
                members.append(who[0])
            rank, points = int(random.integers(0, number)), float(random.integers(0, 30))
            rows += [(contest, x, team, rank, points, random.choice([0.5, 1.0])) for x in members]
            place += size
    contest, player, team, rank, points, weight = np.array(rows).T
    count, time = len(rows), np.sort(random.uniform(0, 120, n))
    category = random.dirichlet(np.ones(3), count) if mixed else random.integers(0, 3, count)
    columns = {
        "points": points, "car": random.normal(size=count),
        "quit": random.choice([0.0, 1.0, np.nan], count, p=[0.8, 0.1, 0.1]),
        "kills": np.where(random.random(count) < 0.2, np.nan, random.normal(0, 2, count)),
        "laps": np.where(random.random(count) < 0.2, np.nan, random.normal(0, 9, count)),
        "side": team % 3 - 1.0, "kind": player % 2,
    }  # fmt: skip
    contest = contest.astype(int)
    return build_rounds(
        contest, player.astype(int), rank, team=team.astype(int), weight=weight, time=time[contest], category=category,
        columns=columns,
    )  # fmt: skip


def twin_of(case):
    settings, params = CASES[case]
    own = {x: settings[x] for x in ("categories", "seasons", "team_performance", "own_side") if x in settings}
    covariates = {name: params[name] for name in settings.get("covariates", ())}
    statistics = {x: (params[f"{x}_scale"], params[f"{x}_noise"]) for x in settings.get("statistics", ())}
    params = {x: y for x, y in params.items() if x not in STATISTICS and x not in covariates}
    outcome = settings.get("outcome", "win")
    return TeamSkills(outcome, **own, **params, statistics=statistics, covariates=covariates)


def contests_of(rounds):
    """The twin's form of contests: (time, participants) of each."""
    flat, contests = rounds.events, []
    for number, (low, high) in enumerate(itertools.pairwise(rounds.player_start)):
        contest = [
            participant(
                *(int(x[i]) for x in (flat.player, flat.team, flat.rank)), flat.weight[i],
                0 if flat.category is None else flat.category[i],
                **{name: x[i] for name, x in (flat.columns or {}).items()},
            )
            for i in range(low, high)
        ]  # fmt: skip
        contests.append((flat.time[number], contest))
    return contests


def system_of(case):
    settings, params = CASES[case]
    return skills_by_name(**settings, **params)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("case", mark_full(CASES, "draws", "quits"))
def test_against_the_twin(x64, case):
    rounds = history(mixed=case == "quits")
    result = jr.run(system_of(case), rounds)
    twin = twin_of(case)
    guess = np.concatenate([twin.play(time, [contest]) for time, contest in contests_of(rounds)])
    rows = [twin.players[i] for i in range(PLAYERS)]
    digits = 1e-8 if x64 else 2e-4
    np.testing.assert_allclose(result.prediction, guess, atol=digits)
    for got, wanted, scale in (
        (result.state.mean, [x.m for x in rows], 150.0),
        (result.state.covariance, [x.P for x in rows], 150.0**2),
    ):
        np.testing.assert_allclose(got, np.reshape(wanted, np.shape(got)), atol=scale * digits)
    if result.state.games is not None:
        assert result.state.games.tolist() == [x.games for x in rows]


def test_the_joint_loss_is_of_statistics_and_the_result(double):
    """One contest of two newcomers, by hand; a fit to results alone left the worth of statistics open."""
    counted, worth, off = np.array([2.0, -1.0]), 40.0, 200.0
    rounds = jr.rounds([0, 0], [0, 1], [1, 2], columns={"kills": counted})
    system = jr.skills(observe=parts.statistic("kills", scale=worth, noise=off))
    losses = make_prediction_task(system, rounds, ahead(loss="joint"))
    own = 150.0**2
    density = norm.logpdf(worth * counted, 0.0, (2.0 * own + off**2) ** 0.5) + np.log(worth)
    precision = 1.0 / (off**2 + own)
    variance = own / (1.0 + own * precision)
    mean = variance * worth * counted * precision
    won = norm.logcdf((mean[0] - mean[1]) / (300.0**2 + 2.0 * variance) ** 0.5)
    total = np.sum(replay_predictions(losses, system.params))
    np.testing.assert_allclose(total, -density.sum() - won, rtol=1e-12)


def test_the_joint_loss_is_of_contests_of_skills():
    rounds = jr.rounds([0, 0], [0, 1], [1, 2])
    with refused("trueskill knows no statistics and quits, as jr.skills does; take log_loss"):
        make_prediction_task(jr.trueskill(), rounds, ahead(loss="joint"))
    with refused("the joint loss is of rounds; take log_loss"):
        make_prediction_task(jr.skills(), jr.matches([[0, 1]], [1]), ahead(loss="joint"))


def test_only_winners_are_known_and_rows_are_in_order_of_the_alphabet():
    """The first loser took the loss, and the others tied with them: correlation .5. Six meet once, five of whom tie."""
    random, players = np.random.default_rng(1), 24
    skill = 150.0 * np.random.default_rng(0).normal(size=players)
    rows = [np.sort(random.permutation(players)[:6]) for _ in range(400)]
    won = [np.argmax(skill[x] + 212.0 * random.normal(size=6)) for x in rows]
    player = np.concatenate([*rows, np.arange(players, players + 6)])
    rank = 1 - np.eye(6)[[*won, 3]].ravel()
    rating = jr.ratings(jr.skills(), jr.run(jr.skills(), jr.rounds(np.repeat(np.arange(401), 6), player, rank)).state)
    assert spearmanr(rating.mean[:players], skill)[0] > 0.93
    for x in rating:
        np.testing.assert_allclose(np.delete(x[players:], 3), x[players], rtol=1e-6)
    assert rating.mean[players + 3] > 1540 > 1490 > rating.mean[players]


@pytest.mark.parametrize("case", mark_full(CASES, "quits"))
def test_slopes_are_differences(double, case):
    rounds, system = history(n=8, teams=(3,)), system_of(case)
    schedule = jr.extend.schedule_by_level(rounds)
    on = {name: float(x) for name, x in system.params._asdict().items() if x is not None and name != "initial_rating"}

    def total(values):
        params = system.params._replace(**dict(zip(on, values, strict=True)))
        state = system.init(params, PLAYERS)
        result = jr.scan(system, params, state, rounds, schedule)
        return jnp.sum(result.prediction**2) + 1e-4 * jnp.sum(result.state.mean)

    values = np.array([*on.values()])
    call = quick(lambda values, change: jax.jvp(total, (values,), (change,)))  # the loss, and its slope in a direction
    for name, h in zip(on, np.diag(1e-5 * np.maximum(np.abs(values), 1.0)), strict=True):
        low, high = (call(values + sign * h, h)[0] for sign in (-1.0, 1.0))
        slope = call(values, h)[1]
        np.testing.assert_allclose(slope, 0.5 * (high - low), rtol=2e-5, atol=1e-9 * h.max(), err_msg=name)


def test_fields_of_participants_are_cut_and_checked():
    rounds = history()
    part = slice_events(rounds, 3, 7)
    low, high = rounds.player_start[[3, 7]]
    np.testing.assert_array_equal(part.events.category, rounds.events.category[low:high])
    np.testing.assert_array_equal(part.events.columns["laps"], rounds.events.columns["laps"][low:high])
    plain = [0, 0], [0, 1], [1, 2]
    for wrong, message in (
        ({"category": [0, -1]}, "row 1 (counting from 0): category is -1; ids run from 0"),
        ({"category": [[0.5, 0.6], [0, 1]]}, "row 0 (counting from 0): the shares of categories are [0.5, 0.6]"),
        (
            {"category": [[1.0], [1.0], [1.0]]},
            "category has shape (3, 1) and type float64, expected (2,) ids or (2, nu",
        ),
        ({"columns": {"rank": [1.0, 2.0]}}, "a column must not be called 'rank', as a part of contests is; rename it"),
    ):
        with refused(message):
            jr.rounds(*plain, **wrong)


def rounds_of_seats():
    return jr.rounds([0] * 4, [0, 1, 0, 2], [1, 1, 2, 2], team=[0, 0, 1, 1], columns={"lead": [0, 0, 1, 0]})


def test_contests_without_what_the_model_needs_are_refused():
    rounds, plain = history(), jr.rounds([0, 0, 0], [0, 1, 2], [1, 2, 2], team=[0, 1, 1], columns={"points": [3, 1, 2]})
    for settings, events, message in (
        ({"categories": 2}, plain, "parts.modifier needs the category of the contests: category=... of `rounds`"),
        ({"covariates": "kills"}, rounds, "column 'kills' has no number, which only statistics may lack"),
        (
            {"outcome": "margin", "margin": "points"},
            plain,
            "row 1 (counting from 0): column 'points' is 1, and 2 of a team-",
        ),
        ({"outcome": "margin", "margin": ("points", "laps")}, rounds, "skills of contests takes one column as margin"),
        ({"quit": "points"}, plain, "row 0 (counting from 0): column 'points' is 3; it must be 1 for participants"),
        ({"own_side": True}, plain, "skills needs the column 'side' of the participants of contests"),
        ({"kinds": "sides"}, plain, "parts.kinds('sides') is of matches; of contests give one column, as parts.k"),
        ({"kinds": "points"}, plain, "row 0 (counting from 0): column 'points' is 3; it must be 1 for players of the"),
        ({"kinds": "lead"}, rounds_of_seats(), "row 2 (counting from 0): player 0 is of another kind, as column"),
    ):
        with refused(message):
            jr.run(skills_by_name(**settings), events)


def test_contests_say_what_skills_begin_with():
    """What is on, and scales by the first fifth: neighbours are 6 points apart, and kills have a deviation of 2."""
    contest, points, kills = np.repeat(np.arange(10), 4), np.tile([12, 12, 6, 0], 10), np.tile([2, -2, 2, -2], 10)
    table = {"contest": contest, "player": np.tile([*"ABCD"], 10), "team": np.tile([0, 0, 1, 2], 10)}
    table |= {
        "kills": kills * 1.0,
        "points": np.where(contest < 2, points, 9 * points),
        "rank": -points,
        "mode": contest % 3,
    }
    table["kills"][1] = np.nan
    data = jr.read(table, team="team", category="mode", margin="points", statistics="kills")
    system = make_system_for_data("skills", {}, None, data)
    known = {"outcome": "margin", "margin": ("points",), "categories": 3, "statistics": ("kills",)}
    assert {name: system.settings[name] for name in known} == known
    assert system.params.compression == 6.0 and system.params.margin_scale == 100.0
    assert 140.0 < system.params.kills_scale < 160.0 and system.params.kills_noise == 300.0
    system.check(data.rounds)


def exact_beliefs(mean, size, rank, deviation, draw_margin):
    """Means and deviations of a member of each of three teams of `size`, by integration on a grid of performances.

    Members have the mean of their team divided by its size, and noise of deviation 1. Neighbours in the standing count.
    """
    order, x = np.argsort(rank, kind="stable"), np.linspace(-12.0, 12.0, 81)
    variance, grid = size * (deviation**2 + 1.0), np.meshgrid(x, x, x, indexing="ij")
    density = np.exp(sum(-0.5 * (z - m) ** 2 / v for z, m, v in zip(grid, mean, variance, strict=True)))
    for first, second in itertools.pairwise(order):
        margin = draw_margin * np.sqrt((size[first] + size[second]) / 2.0)
        lead, step = grid[first] - grid[second], x[1] - x[0]
        beyond = [np.clip((sign * lead - margin) / step + 0.5, 0.0, 1.0) for sign in (1.0, -1.0)]
        density = density * (beyond[0] if rank[first] != rank[second] else 1.0 - sum(beyond))
    density /= density.sum()
    moments = [((density * z).sum(), (density * z * z).sum()) for z in grid]
    kept = deviation**2 / variance  # of what is learnt of a team's performance, by a member
    means = [m / n + k * (first - m) for m, n, k, (first, _) in zip(mean, size, kept, moments, strict=True)]
    squares = [second - first**2 for first, second in moments]
    return means, np.sqrt(deviation**2 - kept**2 * (variance - squares))


def test_standings_of_three_teams_are_those_of_an_integral(double):
    """All thirteen, with ties. (trueskillthroughtime 1.1.0 takes some for other teams, see experiments.)"""
    mean, size, deviation = np.array([0.5, -0.6, 0.2]), np.array([1, 2, 1]), 2.0
    standings = [x for x in itertools.product(range(3), repeat=3) if {*x} == {*range(len({*x}))}]
    system = jr.skills(
        parts.skill(initial_rating=0.0, initial_deviation=deviation, growth=0.0, deviation_max=1e4),
        observe=parts.result(noise=2.0**0.5, draw_margin=0.5),
    )
    team = np.array([0, 1, 1, 2])
    contest, member = np.repeat(np.arange(13), 4), np.tile(np.arange(4), 13)
    rank = np.array(standings)[contest, team[member]]
    state = system.init(system.params, 52)
    state = state._replace(mean=jnp.asarray((mean / size)[team[member]]))
    found = jr.ratings(
        system, jr.run(system, jr.rounds(contest, 4 * contest + member, rank, team=team[member]), state=state).state
    )
    wanted = np.array([exact_beliefs(mean, size, np.array(x), deviation, 0.5) for x in standings])  # [13, 2, 3]
    np.testing.assert_allclose(np.reshape(found.mean, (13, 4)), wanted[:, 0][:, team], atol=0.005)
    np.testing.assert_allclose(np.reshape(found.deviation, (13, 4)), wanted[:, 1][:, team], atol=0.005)


def test_margins_are_a_dense_kalman_filter(double):
    """Of one contest of four teams, whose points are a level of which nothing is known and their performances."""
    team, points = np.array([0, 0, 1, 1, 1, 2, 3]), np.array([7.0, 7, 2, 2, 2, 12, -3])
    rounds = jr.rounds(np.zeros(7, int), np.arange(7), -points, team=team, columns={"margin": points})
    noise, deviation, scale = 250.0, 180.0, 20.0
    got = jr.run(
        jr.skills(parts.skill(initial_deviation=deviation), observe=parts.margin(noise=noise, scale=scale)), rounds
    ).state
    members = (team[None, :] == np.arange(4)[:, None]) * 1.0
    noises = np.diag(members.sum(axis=1) * noise**2 / 2.0)
    differences = members[:-1] - members[1:]
    d = np.eye(4)[:-1] - np.eye(4)[1:]
    mean, P = np.full(7, 1500.0), np.eye(7) * deviation**2
    gain = P @ differences.T @ np.linalg.inv(differences @ P @ differences.T + d @ noises @ d.T)
    mean, P = mean + gain @ (scale * d @ points[[0, 2, 5, 6]] - differences @ mean), P - gain @ differences @ P
    np.testing.assert_allclose(got.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(got.covariance, np.diag(P), rtol=1e-10)
