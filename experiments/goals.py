"""Skills of goals and points: how well they predict, beside published figures and penaltyblog.

    python experiments/goals.py           # ten minutes; writes experiments/results/goals.json, part by part
    python experiments/goals.py --quick   # half a minute, on a simulated league; writes nothing unless --out is given

A loss is the mean log loss of win, draw and loss one step ahead. Hyperparameters are fitted to what came before the
scored matches: to the first four fifths of 37 leagues, and to the first half of international football. "Goals" fits
the probabilities of scorelines, and "results" those of win, draw and loss. `RPS` is the ranked probability score.

The NBA has points of both sides, of which the last fifth is scored by the log loss of the winner. "Rest" is the days
since the last game of both teams, up to two, and "trend" lets the worth of the home side follow a straight line. Points
say of strengths what margins do; "total" is the mean absolute error of the points of both sides together, beside that
of a constant, the mean of the past, and of the mean of the last thousand games.

penaltyblog's Dixon-Coles model is fitted anew every week to all matches of the league until then, with the weights of
Dixon and Coles (1997, xi = 0.0018 a day), and predicts the matches of that week whose teams it knows. Both times are of
predicting these matches: its fits and forecasts, and the replay of the whole history, once compiled.
"""

import time
from contextlib import suppress
from functools import partial

import numpy as np
from common import find, fit_options, log_losses, mean_and_error, measure, race
from histories import read_history

import jaxrate as jr
from jaxrate.events import slice_events
from jaxrate.forecasts.scorelines import make_point_system
from jaxrate.systems.skills.system import skills_by_name
from jaxrate.systems.system_construction_by_name import make_system_for_data

FIRST = {"growth": 6.0, "initial_deviation": 70.0, "side_advantage": 45.0, "low_score_dependence": -0.05}
INTERNATIONAL = FIRST | {"experience": 20.0, "goal_dispersion": 20.0}
GOALS, EXPECTED = ("goals_a", "goals_b"), ("expected_a", "expected_b")
WEEK, DECAY = 7.0, 0.0018  # days, and per day
SIDE_SINCE, LATEST = 3652.0, 1000  # January 1980 in days since 1970; games
NEW, NEW_AFTER = 5, 200.0  # matches, and days
LEAST = 0.005  # to which published probabilities are cut


# --- Histories. ---


def simulated():
    """A league of twenty teams, whose strengths wander."""
    random, count, n = np.random.default_rng(0), 20, 500
    strength, day = random.normal(0.0, 0.3, count), np.sort(random.integers(0, 130, n)).astype(float)
    first = random.integers(0, count, n)
    second = (first + random.integers(1, count, n)) % count
    lead = 0.15 + strength[first] - strength[second]
    goals = random.poisson(np.exp(0.2 + 0.5 * np.stack([lead, -lead])))
    expected = random.gamma(4.0, np.exp(0.2 + 0.5 * np.stack([lead, -lead])) / 4.0)
    return events(np.stack([first, second], axis=1), day, np.ones(n), goals, expected), n * 4 // 5, {}


def events(player, day, side, goals, expected=None):
    columns = dict(zip(GOALS, np.asarray(goals, float), strict=True))
    columns |= {} if expected is None else dict(zip(EXPECTED, np.asarray(expected, float), strict=True))
    return jr.matches(player, 0.5 + 0.5 * np.sign(goals[0] - goals[1]), day, side=side, columns=columns)


def leagues(options):
    """37 leagues: the matches, how many are fitted, and what else is known of them."""
    from pyarrow import parquet

    if options.quick:
        return simulated()
    path = find(options, "spi_football.parquet")
    if not path:
        return None
    table = {name: np.array(column) for name, column in parquet.read_table(path).to_pydict().items()}
    _, player = np.unique(np.stack([table["a"], table["b"]], axis=1), return_inverse=True)
    n = len(table["t"])
    expected = [table[name].astype(float) for name in ("xg1", "xg2")]
    goals = [table[name].astype(float) for name in ("points_a", "points_b")]
    return events(player.reshape(n, 2), table["t"].astype(float), np.ones(n), goals, expected), n * 4 // 5, table


def international(options):
    from pyarrow import parquet

    path = None if options.quick else find(options, "intl_football.parquet")
    if not path:
        return None
    table = {name: np.array(column) for name, column in parquet.read_table(path).to_pydict().items()}
    player, goals = np.stack([table["a"], table["b"]], axis=1), [table[name].astype(float) for name in GOALS]
    return events(player, table["t"].astype(float), 1.0 - table["neutral"], goals), len(player) // 2


# --- Rows. ---


def losses(chance, score):
    """[n] log losses and ranked probability scores of chances [n, 3] of loss, draw and win."""
    result = np.rint(2.0 * np.asarray(score)).astype(int)
    loss = -np.log(np.maximum(chance[np.arange(len(result)), result], 2.0**-24))
    below = np.cumsum(chance, axis=1)[:, :2] - (result[:, None] <= np.arange(2))
    return loss, 0.5 * (below**2).sum(axis=1)


def three_chances(system, matches):
    """[n, 3] of loss, draw and win, one step ahead."""
    guess = jr.run(jr.forecasts.add_outcomes(system), matches).prediction
    return np.stack([np.asarray(x, np.float64) for x in (guess.win[:, 1], guess.draw[:, 0], guess.win[:, 0])], axis=1)


def row(label, chance, score, cut, **more):
    loss, ranked = losses(chance, score)
    print(f"{label}: {loss[cut:].mean():.5f}", flush=True)
    past = {"fitted_log_loss": loss[:cut].mean()} if cut else {}
    return {"what": label, "log_loss": loss[cut:].mean(), "rps": ranked[cut:].mean()} | past | more


def fitted(label, system, matches, cut, loss, options):
    """A row of a fitted system, and the system."""
    began, past = time.process_time(), slice_events(matches, 0, cut)
    system = system if loss == "margin" else jr.forecasts.add_outcomes(system)
    free = ["growth"] if options.quick else None
    found = jr.fit(system, past, free=free, **fit_options(options.quick, loss=loss))
    inner = skills_by_name(**dict(found.system.settings), **found.params._asdict())
    values = {name: getattr(found.params, name) for name in found.free}
    more = {"fitted": values, "seconds": found.seconds, "cpu_seconds": time.process_time() - began}
    return row(label, three_chances(inner, matches), matches.score, cut, **more), inner


def goals_of(first, **settings):
    return skills_by_name(outcome="goals", margin=GOALS, own_side=True, **settings, **first)


def make_full_goal_system():
    return goals_of(FIRST | {"experience": 20.0}, expected_goals=EXPECTED)


def part_leagues(options):
    loaded = leagues(options)
    if loaded is None:
        return None
    matches, cut, table = loaded
    plain, expected, old = goals_of(FIRST), goals_of(FIRST, expected_goals=EXPECTED), make_full_goal_system()
    rows, surplus = [], []
    ways = (
        ("goals, fitted to goals", plain, "margin"),
        ("goals and expected goals, fitted to goals", expected, "margin"),
        ("goals, expected goals and experience, fitted to goals", old, "margin"),
        ("goals and expected goals, fitted to results", expected, "log_loss"),
    )
    if options.quick:
        ways = (("goals, expected goals and experience, fitted to results", old, "log_loss"),)
    for label, system, loss in ways:
        found, inner = fitted(label, system, matches, cut, loss, options)
        rows.append(found)
        if "league" in table:
            surplus.append({"what": label} | promoted_surplus(three_chances(inner, matches), matches, table["league"]))
    if "prob1" in table:
        chance = np.clip(np.stack([table[name] for name in ("prob2", "probtie", "prob1")], axis=1), LEAST, None)
        rows.append(
            row("FiveThirtyEight, as published", chance / chance.sum(axis=1, keepdims=True), matches.score, cut)
        )
    return {
        "37 leagues, last fifth": rows,
        "promoted": surplus,
        "37 leagues": [{"matches": len(matches.score), "fitted": cut}],
    }


def promoted_surplus(chance, matches, league):
    """Score less expected score of teams who are new to a league that had begun, in their first matches."""
    player, day, score = (np.asarray(x) for x in (matches.player, matches.time, matches.score))
    begin = {name: day[league == name].min() for name in np.unique(league)}
    _, first = np.unique(player.ravel(), return_index=True)
    is_new = np.array([day[i // 2] > begin[league[i // 2]] + NEW_AFTER for i in first])
    surplus, played = [], np.zeros(len(first), int)
    for i, pair in enumerate(player):
        ahead = score[i] - chance[i] @ [0.0, 0.5, 1.0]
        surplus += [sign * ahead for x, sign in zip(pair, (1.0, -1.0), strict=True) if is_new[x] and played[x] < NEW]
        played[pair] += 1
    error = np.std(surplus) / np.sqrt(len(surplus))
    return {"matches": len(surplus), "surplus": np.mean(surplus), "standard_error": error}


def part_international(options):
    loaded = international(options)
    if loaded is None:
        return None
    matches, cut = loaded
    system = goals_of(INTERNATIONAL)
    rows = [
        fitted("goals, fitted to goals", system, matches, cut, "margin", options)[0],
        fitted("goals, fitted to results", system, matches, cut, "log_loss", options)[0],
    ]
    return {"international, last half": rows, "international": [{"matches": len(matches.score), "fitted": cut}]}


def part_basketball(options):
    """The NBA by margins and by points, with rest, and with a side that changes."""
    if options.quick or not find(options, "nba.parquet"):
        return None
    rows, losses = [], {}
    for label, outcome, roles, settings in (
        ("margins", "margin", {}, {}),
        ("margins, rest", "margin", {"rest": 2}, {}),
        ("points, rest", "points", {"rest": 2}, {}),
        ("points, rest, trend", "points", {"rest": 2}, {"side_since": SIDE_SINCE}),
    ):
        data = read_history(options, "nba", season="season", columns=["p538_elo"], **roles)
        matches, cut = data.matches, len(data.matches.score) * 4 // 5
        system = make_system_for_data("skills", {"outcome": outcome} | settings, None, data)
        fit = jr.fit(system, slice_events(matches, 0, cut), steps=100)
        inner = skills_by_name(**dict(fit.system.settings), **fit.params._asdict())
        losses[label] = log_losses(jr.run(inner, matches).prediction, matches.score)
        found = {"fitted": {name: getattr(fit.params, name) for name in fit.free}, "seconds": fit.seconds}
        rows.append(basketball_row(label, losses, cut) | found)
    losses["FiveThirtyEight's Elo, as published"] = log_losses(matches.context.columns["p538_elo"], matches.score)
    rows.append(basketball_row("FiveThirtyEight's Elo, as published", losses, cut))
    totals = errors_of_totals(inner, matches, cut)
    return {"NBA, last fifth": rows, "NBA": [{"matches": len(matches.score), "fitted": cut}], "NBA, totals": [totals]}


def basketball_row(label, losses, cut):
    """A row, with the difference to margins without rest and its standard error."""
    print(f"{label}: {losses[label][cut:].mean():.5f}", flush=True)
    past = {"log_loss": losses[label][cut:].mean(), "fitted_log_loss": losses[label][:cut].mean()}
    return {"what": label} | past | mean_and_error(losses[label][cut:] - losses["margins"][cut:])


def errors_of_totals(system, matches, cut):
    """The mean absolute errors of totals, fitted to the densities of margin and total."""
    fit = jr.fit(system, slice_events(matches, 0, cut), objective=jr.fitting.ahead(loss="margin"))
    inner = make_point_system(skills_by_name(**dict(fit.system.settings), **fit.params._asdict()))
    guess = jr.run(inner, matches).prediction
    total = sum(np.asarray(matches.context.columns[name], float) for name in ("points_a", "points_b"))
    mean = np.cumsum(np.append(0.0, total))
    latest = (mean[cut:-1] - mean[cut - LATEST : -1 - LATEST]) / LATEST
    middle, spread = (np.asarray(x, np.float64) for x in (guess.total, guess.total_deviation))
    error = np.abs(middle - total)[cut:].mean()
    row = {"what": "total", "error": error, "of_mean": np.abs(total[:cut].mean() - total[cut:]).mean()}
    row |= {"of_latest": np.abs(latest - total[cut:]).mean(), "deviation": spread[cut:].mean()}
    return row | {"fitted": {name: getattr(fit.params, name) for name in fit.free}}


def part_peer(options):
    """penaltyblog's model, fitted every week in each league, beside one filter of all."""
    loaded = leagues(options)
    if loaded is None or not options.penaltyblog:
        return None
    matches, cut, table = loaded
    n, day = len(matches.score), np.asarray(matches.time)
    league = table.get("league", np.zeros(n, int))
    chance, began = np.full((n, 3), np.nan), time.perf_counter()
    for name in np.unique(league):
        inside = np.flatnonzero(league == name)
        for start in np.arange(day[cut], day[-1] + 1.0, WEEK):
            week = inside[(day[inside] >= start) & (day[inside] < start + WEEK) & (inside >= cut)]
            past = inside[day[inside] < start]
            if len(week) and len(past) > 50:
                chance[week] = forecasts_of_peer(matches, past, week, start)
    peer_seconds = time.perf_counter() - began
    known = ~np.isnan(chance[:, 0])
    own, system = fitted("goals, fitted to goals", goals_of(FIRST), matches, cut, "margin", options)
    plan = jr.extend.schedule_by_level(matches)
    call = partial(jr.run, jr.forecasts.add_outcomes(system), matches, schedule=plan)
    seconds = race({"run": call}, n, 3)["run"]["seconds"]
    score, ours = np.asarray(matches.score)[known], three_chances(system, matches)[known]
    rows = [
        row("penaltyblog, Dixon-Coles, weekly", chance[known], score, 0, predicting_seconds=peer_seconds),
        row("jaxrate, goals", ours, score, 0, predicting_seconds=seconds),
    ]
    rows[1] |= {"times_as_fast": peer_seconds / seconds, "fit_seconds": own["seconds"], "fit_cpu": own["cpu_seconds"]}
    return {"beside penaltyblog": [{"scored": int(known.sum())}, *rows]}


def forecasts_of_peer(matches, past, week, now):
    """[week, 3] chances of loss, draw and win; NaN where a team is unknown, or a chance negative."""
    import penaltyblog as pb

    home, away = (np.asarray(matches.player)[:, i].astype(str) for i in (0, 1))
    goals = [np.asarray(matches.context.columns[name], int) for name in GOALS]
    weights = np.exp(-DECAY * (now - np.asarray(matches.time)[past]))
    model = pb.models.DixonColesGoalModel(*(x[past] for x in (*goals, home, away)), weights)
    model.fit()
    known = set(home[past]) | set(away[past])
    found = np.full((len(week), 3), np.nan)
    for place, i in enumerate(week):
        if home[i] in known and away[i] in known:
            with suppress(ValueError):  # of a fitted rho that makes a chance negative
                guess = model.predict(home[i], away[i])
                found[place] = guess.away_win, guess.draw, guess.home_win
    return found


PARTS = {
    "leagues": part_leagues,
    "international": part_international,
    "basketball": part_basketball,
    "peer": part_peer,
}

if __name__ == "__main__":
    data = "spi_football.parquet, intl_football.parquet and nba.parquet"
    measure(PARTS, "a simulated league, half a minute", data, ["penaltyblog"])
