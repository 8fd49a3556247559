"""Whether singles help to forecast doubles: a player's rating in singles as a covariate of ATP doubles.

    python experiments/doubles_and_singles.py          # minutes; writes results/doubles_and_singles.json
    python experiments/doubles_and_singles.py --quick  # a minute, on a small league; writes nothing without --out

Doubles without walkovers, as in `team_skills.py`: all is fitted to the first four fifths, and the last fifth is scored.
Singles are those of the tours, the challengers and the futures from ten years before the first doubles on. Skills with
surfaces and experience are fitted to singles before the doubles that are scored, and rate all of them. A player then
has, on the day of a doubles match, what they were after their last singles on a day before: their rating, with
experience, and their modifier of the surface, each in hundreds of points and above `USUAL`, and 0 before any singles.
Skills of doubles, with experience, reversion, surfaces and margins, have these as covariates, so that the skill that
they learn is what a player brings beyond them. Ages are those that the table of singles knows.
"""

import time

import jax.numpy as jnp
import numpy as np
from common import add_only, declare, find, keep, parse
from team_histories import CATEGORIES, SURFACES, TEN_YEARS, make_rounds, read_columns, surface_numbers, tennis_tables
from team_skills import EXPERIENCE, FREE, MARGINS, MODIFIERS, OF_MARGINS, REVERSION, SKILLS, mean_and_error

import jaxrate as jr
from jaxrate.systems.skills.system import skills_by_name

USUAL, UNIT = 1900.0, 100.0  # points
USUAL_AGE, YEAR = 28.0, 365.25
SINGLES = {
    "growth": 11.0, "initial_deviation": 130.0, "match_growth": 1.0, "experience": 80.0, "reversion": 10_000.0,
    "modifier_growth": 3.0, "initial_modifier_deviation": 60.0,
}  # fmt: skip
DOUBLES = EXPERIENCE | REVERSION | MODIFIERS | MARGINS
WAYS = {  # covariates
    "doubles alone": (),
    "rating in singles": ("rating",),
    "modifier of the surface in singles": ("modifier",),
    "both": ("rating", "modifier"),
    "age": ("age", "age_square"),
    "both, and age": ("rating", "modifier", "age", "age_square"),
}


def read_singles(options, first, last):
    """Singles [n, 2] of the days from ten years before the first doubles on, with surfaces and ages."""
    if options.quick:
        singles = tennis_tables(options)[1]
        return singles | {"age": np.full(singles["player"].shape, np.nan)}
    import pyarrow.parquet as pq

    path, games = (find(options, name) for name in ("atp.parquet", "atp_games.parquet"))
    singles = read_columns(path, ["t", "a", "b", "score", "surface", "source"])
    played = ~pq.read_table(path, columns=["walkover"])["walkover"].to_numpy(zero_copy_only=False)
    ages = pq.read_table(games, columns=["age_a", "age_b"])
    singles["age"] = np.stack([ages[x].to_numpy()[played] for x in ("age_a", "age_b")], axis=1)
    singles["player"] = np.stack([singles["a"], singles["b"]], axis=1)
    day = singles["t"]
    recent = (day >= first - TEN_YEARS) & (day <= last) & (singles["source"] != "amateur")
    return {name: x[recent] for name, x in singles.items()}


def skills_after(rated):
    """Of both players after a match: the common skill, with experience, and the modifiers."""
    skill = rated.after.mean
    common = skill[:, :1] + rated.params.experience * jnp.log1p(rated.after.games)[:, None]
    return jnp.concatenate([common, skill[:, 1:]], axis=1)


def rate_singles(singles, cut_day, steps):
    """A row of the fit to singles before that day, and both players after each match, [m, 2, 1 + surfaces]."""
    player, day = singles["player"], singles["t"].astype(float)
    number = np.unique(player, return_inverse=True)[1].reshape(player.shape)
    matches = jr.matches(number, singles["score"], day, category=surface_numbers(singles["surface"]))
    system, begin = skills_by_name(categories=len(SURFACES), **SINGLES), time.perf_counter()
    objective = jr.fitting.ahead(weight=(day < cut_day) * 1.0, errors="products")
    fit = jr.fit(system, matches, free=list(SINGLES), objective=objective, steps=steps)
    row = {"matches": len(day), "log_loss_of_fit": fit.loss, "seconds": time.perf_counter() - begin}
    row |= {name: float(getattr(fit.params, name)) for name in SINGLES}
    return row, np.asarray(jr.run(fit.system, matches, record=skills_after).prediction)


def last_before(singles, values, doubles):
    """[n, 4, k] of the members of doubles: the values [m, 2, k] of their last singles on a day before; else NaN."""
    who, when = singles["player"].ravel().astype(np.int64), np.repeat(singles["t"], 2).astype(np.int64)
    player, day = doubles["player"].astype(np.int64), doubles["t"].astype(np.int64)
    order = np.lexsort([when, who])
    key = 100_000 * who + when
    place = np.searchsorted(key[order], 100_000 * player + day[:, None], side="left") - 1
    row = order[np.maximum(place, 0)]
    known = (place >= 0) & (who[row] == player)
    return np.where(known[..., None], values.reshape(len(who), -1)[row], np.nan)


def make_covariates(doubles, singles, skills):
    """By name, [n, 4] of the members of doubles."""
    day = np.repeat(singles["t"], 2).reshape(-1, 2, 1)
    known = last_before(singles, np.concatenate([skills, singles["age"][..., None], day], axis=2), doubles)
    rating, modifiers, age, day = known[..., 0], known[..., 1:-2], known[..., -2], known[..., -1]
    surface = np.broadcast_to(surface_numbers(doubles["surface"])[:, None, None], (*rating.shape, 1))
    age = np.nan_to_num((age + (doubles["t"][:, None] - day) / YEAR - USUAL_AGE) / 10.0)
    return {
        "rating": np.nan_to_num((rating - USUAL) / UNIT),
        "modifier": np.nan_to_num(np.take_along_axis(modifiers, surface, axis=2)[..., 0] / UNIT),
        "age": age,
        "age_square": age**2,
    }


def forecast(options):
    """A row for each way, beside doubles alone."""
    tables = tennis_tables(options)
    if tables is None:
        return None
    doubles, steps = tables[0], 1 if options.quick else 40
    count = len(doubles["score"])
    cut = round(0.8 * count)
    singles = read_singles(options, doubles["t"][0], doubles["t"][-1])
    row, skills = rate_singles(singles, doubles["t"][cut], steps)
    print(row, flush=True)
    covariates = make_covariates(doubles, singles, skills)
    rounds, number = make_rounds(doubles, None, "surfaces")
    seat = np.arange(len(number)) % 4
    columns = {name: x[number, seat] for name, x in covariates.items()}
    rounds = rounds._replace(events=rounds.events._replace(columns=rounds.events.columns | columns))
    rows, before = [], None
    for way in ("both",) if options.quick else WAYS:
        names, begin = WAYS[way], time.perf_counter()
        system = skills_by_name(categories=CATEGORIES["surfaces"], covariates=names, **OF_MARGINS, **SKILLS, **DOUBLES)
        free = (*FREE, *DOUBLES, *names)
        objective = jr.fitting.ahead(weight=(number < cut) * 1.0, errors="products")
        fit = jr.fit(system, rounds, free=list(free), objective=objective, steps=steps)
        prediction = np.asarray(jr.run(fit.system, rounds).prediction, float)
        p = np.where(rounds.events.rank == 0, prediction, 1.0 - prediction)[seat == 0]
        loss = -np.log(p)
        before = loss if before is None else before
        gain, error = mean_and_error((loss - before)[cut:])
        rows.append(
            {"way": way, "log_loss": float(loss[cut:].mean()), "beside_doubles_alone": gain, "standard_error": error}
            | {"log_loss_of_fit": float(loss[:cut].mean()), "fit_seconds": time.perf_counter() - begin}
            | {name: float(getattr(fit.params, name)) for name in free}
        )
        print(rows[-1], flush=True)
    return {"singles": [row], "log loss of the last fifth of doubles": rows}


PARTS = {"forecast": forecast}


if __name__ == "__main__":
    parser = declare(__doc__, "on a small league", "atp_doubles.parquet, atp.parquet and atp_games.parquet")
    add_only(parser, PARTS, "PART")
    keep(PARTS, parse(parser, __file__))
