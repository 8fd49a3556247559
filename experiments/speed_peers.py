"""What speed.py races against: the same formulas in compiled loops, and Python packages.

The loops are numba's, in float32 with fastmath, and change the state in place. Every call of a package starts from
fresh ratings and returns these by player, NaN where it has none. riix is under a non-commercial licence: it is called
here, nothing of it is copied.
"""

import importlib
import math

import numpy as np

import jaxrate as jr

try:
    import numba
except ImportError:
    numba = None

F = np.float32
ZERO, HALF, ONE, TWO, THREE, PI_SQUARED, CLOSE = (F(x) for x in (0.0, 0.5, 1.0, 2.0, 3.0, math.pi**2, 1e-6))
FAR, ROOT_HALF, DENSITY = F(8.0), F(0.5**0.5), F((0.5 / math.pi) ** 0.5)
NEVER = np.finfo(F).max  # when a newcomer last played: no time has passed since
SURFACES = 5
SIZE = 1 + SURFACES
SLACK = F(2 * SIZE * np.finfo(F).eps)
compiled = numba.njit(fastmath=True) if numba else lambda function: function


@compiled
def normal_cdf(z):
    return HALF * math.erfc(-z * ROOT_HALF)


@compiled
def normal_density(z):
    return DENSITY * math.exp(-HALF * z * z)


@compiled
def sigmoid(x):
    return ONE / (ONE + math.exp(-x))


@compiled
def elo_loop(player, score, time, prediction, rating, k, slope):
    for i in range(len(score)):
        a, b = player[i, 0], player[i, 1]
        prediction[i] = sigmoid(slope * (rating[a] - rating[b]))
        change = k * (score[i] - prediction[i])
        rating[a] += change
        rating[b] -= change


@compiled
def glicko_loop(player, score, time, prediction, rating, variance, last, growth, variance_max, q):
    decay = THREE * q * q / PI_SQUARED
    for i in range(len(score)):
        a, b, now = player[i, 0], player[i, 1], time[i]
        variance_a = min(variance[a] + growth * max(now - last[a], ZERO), variance_max)
        variance_b = min(variance[b] + growth * max(now - last[b], ZERO), variance_max)
        lead = q * (rating[a] - rating[b])
        prediction[i] = sigmoid(lead / math.sqrt(ONE + decay * (variance_a + variance_b)))
        g_a, g_b = ONE / math.sqrt(ONE + decay * variance_a), ONE / math.sqrt(ONE + decay * variance_b)
        e_a, e_b = sigmoid(g_b * lead), sigmoid(-g_a * lead)
        variance_a /= ONE + variance_a * (q * q * g_b * g_b * e_a * (ONE - e_a))
        variance_b /= ONE + variance_b * (q * q * g_a * g_a * e_b * (ONE - e_b))
        rating[a] += q * variance_a * g_b * (score[i] - e_a)
        rating[b] += q * variance_b * g_a * (ONE - score[i] - e_b)
        variance[a], variance[b], last[a], last[b] = variance_a, variance_b, now, now


@compiled
def glicko2_function(x, a, square, spread, tau):
    y = math.exp(x)
    return y * (square - spread - y) / (TWO * (spread + y) * (spread + y)) - (x - a) / (tau * tau)


@compiled
def glicko2_side(variance, opponent, volatility, lead, score, tau):
    """Steps 3 to 7 of Glickman (2012) for one player: phi^2, volatility and the change of mu."""
    g = ONE / math.sqrt(ONE + THREE / PI_SQUARED * opponent)
    e = sigmoid(g * lead)
    information, surprise = g * g * e * (ONE - e), g * (score - e)
    a, square, spread = TWO * math.log(volatility), (surprise / information) ** 2, variance + ONE / information
    low, high = a, a - tau
    if square > spread:
        high = math.log(square - spread)
    else:
        while glicko2_function(high, a, square, spread, tau) < ZERO:
            high -= tau
    f_low, f_high = (glicko2_function(low, a, square, spread, tau), glicko2_function(high, a, square, spread, tau))
    for _ in range(100):
        if abs(high - low) <= CLOSE:
            break
        x = low + (low - high) * f_low / (f_high - f_low)
        f_x = glicko2_function(x, a, square, spread, tau)
        if f_x * f_high <= ZERO:
            low, f_low = high, f_high
        else:
            f_low *= HALF
        high, f_high = x, f_x
    variance /= ONE + variance * information
    return variance, math.exp(HALF * low), variance * surprise


@compiled
def glicko2_loop(player, score, time, prediction, mu, variance, volatility, last, rate, tau):
    for i in range(len(score)):
        a, b, now = player[i, 0], player[i, 1], time[i]
        variance_a = variance[a] + max(now - last[a], ZERO) * rate * volatility[a] * volatility[a]
        variance_b = variance[b] + max(now - last[b], ZERO) * rate * volatility[b] * volatility[b]
        lead = mu[a] - mu[b]
        prediction[i] = sigmoid(lead / math.sqrt(ONE + THREE / PI_SQUARED * (variance_a + variance_b)))
        new_a = glicko2_side(variance_a, variance_b, volatility[a], lead, score[i], tau)
        new_b = glicko2_side(variance_b, variance_a, volatility[b], -lead, ONE - score[i], tau)
        variance[a], volatility[a], last[a], mu[a] = new_a[0], new_a[1], now, mu[a] + new_a[2]
        variance[b], volatility[b], last[b], mu[b] = new_b[0], new_b[1], now, mu[b] + new_b[2]


@compiled
def trueskill_loop(player, score, time, prediction, rating, variance, beta, tau, margin):
    for i in range(len(score)):
        a, b = player[i, 0], player[i, 1]
        variance_a, variance_b = variance[a] + tau * tau, variance[b] + tau * tau
        c = math.sqrt(variance_a + variance_b + TWO * beta * beta)
        sign = -ONE if score[i] < HALF else ONE
        t, e = (rating[a] - rating[b]) / c, margin / c
        prediction[i] = HALF * (normal_cdf(t - e) + normal_cdf(t + e))
        t *= sign
        if score[i] == HALF:
            mass = normal_cdf(e - t) - normal_cdf(-e - t)
            v = (normal_density(-e - t) - normal_density(e - t)) / mass
            w = v * v + ((e - t) * normal_density(e - t) + (e + t) * normal_density(e + t)) / mass
        elif t - e < -FAR:
            v = e - t + ONE / (e - t)
            w = ONE - ONE / ((e - t) * (e - t))
        else:
            v = normal_density(t - e) / normal_cdf(t - e)
            w = v * (v + t - e)
        rating[a] += sign * variance_a / c * v
        rating[b] -= sign * variance_b / c * v
        variance[a] = variance_a * (ONE - variance_a / (c * c) * w)
        variance[b] = variance_b * (ONE - variance_b / (c * c) * w)


@compiled
def pass_time(covariance, passed, growth, highest):
    """Growth of the variances, never beyond the highest."""
    for j in range(SIZE):
        room = max(highest[j] - covariance[j, j], ZERO)
        covariance[j, j] += min(growth[j] * passed, room)


@compiled
def tell(mean, covariance, toward, push, lost):
    """The moments matched: m + P x push, P - P x x^T P lost, and to the diagonal what keeps P positive definite."""
    for j in range(SIZE):
        mean[j] += toward[j] * push
        scaled = toward[j] * lost
        for k in range(SIZE):
            covariance[j, k] -= scaled * toward[k]
        covariance[j, j] += SLACK * (covariance[j, j] + scaled * toward[j])


@compiled
def skills_loop(
    player, score, time, prediction, mean, covariance, games, last, met, growth, highest, square, experience
):
    toward_a, toward_b = np.empty(SIZE, F), np.empty(SIZE, F)
    for i in range(len(score)):
        a, b, now = player[i, 0], player[i, 1], time[i]
        u, v = met[i, 1], met[i, 0]  # where in theta the modifiers are that count
        pass_time(covariance[a], max(now - last[a], ZERO), growth, highest)
        pass_time(covariance[b], max(now - last[b], ZERO), growth, highest)
        for j in range(SIZE):
            toward_a[j] = covariance[a, j, 0] + covariance[a, j, u]
            toward_b[j] = covariance[b, j, 0] + covariance[b, j, v]
        ahead = mean[a, 0] + mean[a, u] - mean[b, 0] - mean[b, v]
        ahead += experience * (math.log1p(games[a]) - math.log1p(games[b]))
        inverse = ONE / math.sqrt(square + toward_a[0] + toward_a[u] + toward_b[0] + toward_b[v])
        prediction[i] = normal_cdf(ahead * inverse)
        sign = ONE if score[i] > HALF else -ONE
        z = sign * ahead * inverse
        if z < -FAR:
            push = -z - ONE / z
            lost = ONE - ONE / (z * z)
        else:
            push = normal_density(z) / normal_cdf(z)
            lost = push * (push + z)
        push *= sign * inverse
        lost *= inverse * inverse
        tell(mean[a], covariance[a], toward_a, push, lost)
        tell(mean[b], covariance[b], toward_b, -push, lost)
        games[a] += ONE
        games[b] += ONE
        last[a] = last[b] = now


def of_glicko2(p, matches):
    fresh = [0.0, (p.initial_deviation / 173.7178) ** 2, p.initial_volatility, NEVER]
    return glicko2_loop, fresh, [1 / p.period, p.tau]


def of_trueskill(p, matches):
    margin = math.sqrt(2.0) * float(jr.trueskill().rules.prepare(p).margin)
    return trueskill_loop, [p.initial_rating, p.initial_deviation**2], [p.beta, p.tau, margin]


def of_skills(p, matches):
    """With a modifier for each surface, and experience."""
    met = np.ascontiguousarray(1 + matches.context.category, np.uint32)  # where in theta the modifiers are that count
    highest = np.array([p.initial_deviation**2] + [p.initial_modifier_deviation**2] * SURFACES, F)
    growth = np.array([p.growth**2] + [p.modifier_growth**2] * SURFACES, F) / F(p.period)
    fresh = [np.array([p.initial_rating] + [0.0] * SURFACES), np.diag(highest), 0.0, NEVER]
    return skills_loop, fresh, [met, growth, highest, p.noise**2, p.experience]


LOOPS = {  # the loop, what it keeps of a newcomer, and its constants, by hyperparameters and matches
    "elo": lambda p, _: (elo_loop, [p.initial_rating], [p.k, math.log(10) / p.scale]),
    "glicko": lambda p, _: (
        glicko_loop,
        [p.initial_rating, p.initial_deviation**2, NEVER],
        [p.c**2 / p.period, p.deviation_max**2, math.log(10) / 400],
    ),
    "glicko2": of_glicko2,
    "trueskill": of_trueskill,
    "skills": of_skills,
}


def loop_replay(system, matches, num_players):
    """A call that replays the matches by a loop, with the system's hyperparameters, and returns the predictions."""
    loop, fresh, constants = LOOPS[system.name](system.params, matches)
    player = np.ascontiguousarray(matches.player, np.uint32)  # unsigned: no test for negative ids
    score, days = (np.ascontiguousarray(x, F) for x in (matches.score, matches.time))
    constants = [x if np.ndim(x) else F(x) for x in constants]

    def call():
        prediction = np.empty(len(score), F)
        state = [np.tile(np.asarray(x, F), (num_players,) + (1,) * np.ndim(x)) for x in fresh]
        loop(player, score, days, prediction, *state, *constants)
        return prediction

    return call


# --- Packages. ---


def by_player(ratings, num_players):
    """[num_players] of ratings by player; NaN where there are none."""
    found = np.full(num_players, np.nan)
    found[list(ratings)] = list(ratings.values())
    return found


def riix_replay(name, matches, num_players, weekly=False):
    """A call that fits riix's model, day by day or in weekly batches.

    Given a data frame, riix 0.0.6 with polars 2.1 pairs players and scores of different rows; arrays are safe.
    """
    from riix.utils.data_utils import MatchupDataset

    model = getattr(importlib.import_module(f"riix.models.{name}"), name.capitalize())
    step = np.floor(np.asarray(matches.time) / (7 if weekly else 1)).astype(np.int32)
    score, names = np.asarray(matches.score, np.float64), [str(i) for i in range(num_players)]
    dataset = MatchupDataset.init_from_arrays(step - step[0], matches.player, score, names)
    growth = {"c": 15.0 if weekly else 15.0 / math.sqrt(7.0)} if name == "glicko" else {}  # ours, per step

    def call():
        fitted = model(names, update_method="batched" if weekly else "iterative", **growth)
        fitted.fit_dataset(dataset)
        return np.asarray(fitted.ratings)

    return call


def elote_replay(name, matches, num_players):
    """A call that lets elote's competitors play the matches."""
    kind = getattr(importlib.import_module("elote"), name.capitalize() + "Competitor")
    games = list(zip(*matches.player.T.tolist(), matches.score.tolist(), strict=True))

    def call():
        competitors = {i: kind() for i in np.unique(matches.player).tolist()}
        for a, b, score in games:
            first, second = competitors[a], competitors[b]
            (first.beat if score == 1 else first.lost_to if score == 0 else first.tied)(second)
        return by_player({i: one.rating for i, one in competitors.items()}, num_players)

    return call


def standings(events):
    """Players of each team, and ranks of the teams, of every contest, or of matches as contests of two."""
    if isinstance(events, jr.Matches):
        return [
            ([[a], [b]], [1 - s, s]) for (a, b), s in zip(events.player.tolist(), events.score.tolist(), strict=True)
        ]
    flat, games = events.events, []
    for low, high in zip(events.player_start[:-1], events.player_start[1:], strict=True):
        player, rank = flat.player[low:high].tolist(), flat.rank[low:high].tolist()
        team = flat.team[low:high].tolist() if len(flat.team) else player
        numbers = list(dict.fromkeys(team))
        sides = [[p for p, t in zip(player, team, strict=True) if t == number] for number in numbers]
        games.append((sides, [rank[team.index(number)] for number in numbers]))
    return games


def rate_one_by_one(make_world, games, num_players):
    """A call that rates contests by trueskill or openskill."""

    def call():
        world, ratings = make_world(), {}
        make = getattr(world, "rating", None) or world.create_rating
        for teams, ranks in games:
            groups = [[ratings.get(i) or make() for i in team] for team in teams]
            for team, group in zip(teams, world.rate(groups, ranks=ranks), strict=True):
                ratings.update(zip(team, group, strict=True))
        return by_player({i: one.mu for i, one in ratings.items()}, num_players)

    return call


def trueskill_replay(name, events, num_players):
    return rate_one_by_one(importlib.import_module("trueskill").TrueSkill, standings(events), num_players)


def openskill_replay(name, events, num_players):
    model = getattr(importlib.import_module("openskill.models"), MODELS[name.removeprefix("weng_lin ")])
    return rate_one_by_one(model, standings(events), num_players)


def make_history_through_time(events, sigma=1.0, gamma=0.05):
    """The history of trueskillthroughtime, which makes a first pass."""
    import trueskillthroughtime as ttt

    teams, ranks = zip(*standings(events), strict=True)
    names = [[[str(x) for x in team] for team in contest] for contest in teams]
    flat = events if isinstance(events, jr.Matches) else events.events
    return ttt.History(
        names, [[-float(x) for x in rank] for rank in ranks], [int(t) for t in flat.time],
        sigma=sigma, gamma=gamma, beta=1.0, p_draw=0.0,
    )  # fmt: skip


MODELS = {
    "plackett_luce": "PlackettLuce",
    "bradley_terry_full": "BradleyTerryFull",
    "thurstone_mosteller_full": "ThurstoneMostellerFull",
}
PEERS = {  # the call of each package, the systems that it has, and how many matches it is given at most
    "riix": (riix_replay, ("elo", "glicko", "glicko2"), None),
    "elote": (elote_replay, ("elo", "glicko", "glicko2"), 20_000),
    "trueskill": (trueskill_replay, ("trueskill",), 2_000),
    "openskill": (openskill_replay, tuple(f"weng_lin {model}" for model in MODELS), 2_000),
}
