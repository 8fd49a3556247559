"""Races: which variances grow in category Glicko, and the balance of StarCraft II over time.

    python experiments/category_races.py          # minutes; writes a picture and JSON
    python experiments/category_races.py --quick  # half a minute, on simulated histories; writes nothing without --out

The paper of category Glicko lets only those variances grow that were not played in a period; by default here all grow
with the time that passes. Both are fitted by slopes to the first half of StarCraft II, by periods of two lengths, and
scored on the last half. The balance is that of TrueSkill, in which the match-up is a team-mate of the race that it is
named after, with a rating that begins at 0.
"""

from pathlib import Path

import numpy as np
from category_glicko import SITE, fit, league, quality
from common import add_only, declare, find, fit_options, keep, parse
from figures import plt, save

import jaxrate as jr
from jaxrate.events import slice_events

LENGTHS = 7.0, 14.0
MATCHUPS = {("Protoss", "Terran"): "PvT", ("Terran", "Zerg"): "TvZ", ("Zerg", "Protoss"): "ZvP"}
RACES = "Protoss", "Terran", "Zerg"
FIRST_DAY = np.datetime64("2010-08-03")


def losses(prediction, score):
    p = np.asarray(prediction, np.float64)
    return -(score * np.log(p) + (1 - score) * np.log1p(-p))


def growth(options):
    """Log losses on the last half, as they come and fitted to the first, both from where a first fit has ended."""
    matches, _ = league_of(options)
    half, rows = len(matches.score) // 2, []
    learnt, score = slice_events(matches, 0, half), np.asarray(matches.score, np.float64)[half:]
    lengths, limit = ([SITE], 1) if options.quick else (LENGTHS, 15)
    for length in lengths:
        events, learning, found = jr.periods(matches, length), jr.periods(learnt, length), {}
        systems = {
            grows: jr.category_glicko(grows=grows, period=length, growth=65.0 * (length / SITE) ** 0.5)
            for grows in ("all", "unplayed")
        }
        begin, _ = fit(systems["all"], learning, learnt.score, limit)
        for grows, system in systems.items():
            defaults = quality(jr.run(system, events).prediction[half:], score)
            params, _ = fit(system._replace(params=begin), learning, learnt.score, limit)
            guess = jr.run(system, events, params=params).prediction[half:]
            found[grows] = losses(guess, score)
            fitted = {"fitted": quality(guess, score)["log_loss"], "growth": params.growth}
            rows.append({"days": length, "grows": grows, "defaults": defaults["log_loss"], **fitted})
        better = found["all"] - found["unplayed"]
        rows[-1] |= {"better_by": better.mean(), "standard_error": better.std() / len(better) ** 0.5}
    return {"fitted to the first half": rows}


def with_matchups(player, race, score, time):
    """Every match as a round of two teams: a player, and the match-up that is named after their race."""
    rounds = [[[f"player {k}"] for k in pair] for pair in player.tolist()]
    for teams, races in zip(rounds, race.tolist(), strict=True):
        for team, pair in zip(teams, (tuple(races), tuple(races[::-1])), strict=True):
            team += [MATCHUPS[pair]] if pair in MATCHUPS else []
    data = jr.data.from_teams(rounds, np.stack([1 - score, score], axis=1).tolist(), time=time.tolist())
    return data._replace(clock="dates")


def balance(options):
    """The ratings of the match-ups, and their picture."""
    races, names = league_of(options)
    time = np.asarray(races.time) + float(FIRST_DAY.astype(int))
    data = with_matchups(races.player, names[races.context.category], np.asarray(races.score), time)
    system = jr.trueskill(beta=100, tau=0, drift=1, draw_probability=0, initial_rating=0, initial_deviation=100)
    found = jr.fit(system, data, free=("initial_deviation", "drift"), **fit_options(options.quick, 40))
    rated, names = jr.rate(found.system, data), list(MATCHUPS.values())
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), sharey=True)
    rows = []
    for panel, name in zip(panels, names, strict=True):
        jr.plots.trajectory(rated, players=name, ax=panel)
        for text in list(panel.texts):  # the title names the line
            text.remove()
        panel.axhline(0.0, color="black", linewidth=0.8)
        panel.set(title=f"{name}: lead of the first race", ylabel="points (beta = 100)" if name == names[0] else "")
        rating, last = (jr.career(rated, name)[key] for key in ("rating", "deviation"))
        known = rating[len(rating) // 10 :]
        row = {"matches": len(rating), "mean_lead": rating.mean(), "least": known.min(), "most": known.max()}
        row |= {"lead_at_the_end": rating[-1], "deviation_at_the_end": last[-1]}
        rows.append({"match-up": name} | {key: float(x) for key, x in row.items()})
    save({"balance": figure}, options.out, "category")
    fitted = {name: float(getattr(found.params, name)) for name in ("initial_deviation", "drift")}
    return {"match-ups": rows, "fitted": [fitted]}


def league_of(options):
    """Matches of players with races, and the names of the races."""
    if options.quick:
        return league(300, players=30, periods=10), np.array(RACES)
    read = jr.read(Path(options.data) / "sc2_tlpd_korean.parquet", category=("race_a", "race_b"))
    return read.matches, np.array(RACES)[np.asarray(read.categories)]


def main():
    parts = {"balance": balance, "growth": growth}
    parser = declare(__doc__, "simulated histories", "the histories", "the JSON file; the picture goes beside it")
    add_only(parser, parts, "PART")
    options = parse(parser, __file__)
    if options.quick or find(options, "sc2_tlpd_korean.parquet", "nothing to do"):
        keep(parts, options)


if __name__ == "__main__":
    main()
