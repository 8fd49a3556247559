"""What every system must satisfy, on the device: a short form of the contract, and ratings that are known.

The references are the ratings of the CPU in float64, which the tests compare with twins and papers, and those of other
programs for Elo, Glicko, Glicko-2, TrueSkill and Weng-Lin. Decides: whether anything else here may be believed.
"""

import json
from pathlib import Path

import jax
import numpy as np

import jaxrate as jr
from gpu_parts.histories import keep_history
from jaxrate.core.system import random_draw_rule
from jaxrate.data.simulate import contests
from jaxrate.replay.execution import CompilePolicy
from jaxrate.testing import properties as match_properties
from jaxrate.testing import properties as replay_properties
from jaxrate.testing import properties as round_properties
from jaxrate.testing.cases import FORMS, SystemFormPrecision, split_seasons, strict_precision

GOLDEN = Path(__file__).parents[2] / "tests" / "reference"
DETERMINISTIC = (
    replay_properties.a_better_result_gives_a_better_rating,
    replay_properties.the_order_of_players_in_an_event_does_not_matter,
    replay_properties.renaming_the_players_renames_the_rows,
)
OF_ALL = (
    replay_properties.states_are_finite_and_predictions_are_probabilities,
    replay_properties.untouched_rows_are_inert,
    replay_properties.predictions_know_neither_their_result_nor_the_future,
)
OF_FORM = {
    "stream": match_properties.streams_equal_levels,
    "rounds": round_properties.contests_one_by_one_equal_batches,
}
STREAMS = "elo", "glicko2", "blat_mmr"  # a state of few numbers, with a loop of its own, and of vectors
GRID = {"blat_mmr": {"size": 101, "half_width": 5.0, "kernel_width": 0.2}}
QUICK = {("elo", "levels"): "float64", ("topcoder", "rounds"): "float32"}
TOLERANCE = {"float64": 1e-8, "float32": 2e-4}  # of ratings and deviations, relative; of predictions
OTHERS = "elo", "glicko", "glicko2", "trueskill", "weng_lin"  # rated by other programs too
LARGE = 1_986, 3_000  # participants: padded to 2,048, the most that are compared in pairs; and more than that
LARGE_TOLERANCE = {"trueskill": 5e-3}  # of its sweeps over so many players a CPU's float32 leaves 1.7e-3


def cases(options):
    for name in ("topcoder",) if options.quick else jr.extend.SYSTEMS:
        if jr.Rounds in jr.extend.SYSTEMS[name]().events:
            for players in (200,) if options.quick else LARGE:
                about = {"system": name, "precision": "float32", "rounds": 2, "players": players}
                yield {"table": "large rounds"} | about
    for name, make in jr.extend.SYSTEMS.items():
        for form, kind in FORMS.items():
            if kind not in make().events or (form == "stream" and name not in STREAMS):
                continue
            if options.quick and (name, form) not in QUICK:
                continue
            for precision in [QUICK[name, form]] if options.quick else ("float64", "float32"):
                about = {"system": name, "form": form, "precision": precision}
                yield {"table": "contract"} | about
                if form != "stream":
                    yield {"table": "ratings of the CPU"} | about
    for name in OTHERS[: 1 if options.quick else None]:
        for precision in ("float64", "float32"):
            yield {"table": "ratings of other programs", "system": name, "precision": precision}


def run(case, options):
    double = case["precision"] == "float64"
    if case["table"] == "contract":
        return check_contract(system_of(case["system"]), case["form"], double)
    if case["table"] == "ratings of other programs":
        return compare_with_others(case["system"], double)
    system = system_of(case["system"])
    if case["table"] == "large rounds":
        return compare_large_rounds(system, case["players"], case["rounds"])
    here = SystemFormPrecision(system, case["form"], double)
    found = final_numbers(system, replay_properties.replay_first_season(here), double)
    is_random = random_draw_rule(system.rules) is not None  # what is drawn hangs on the precision
    there = here._replace(double=double or not is_random)
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        done = replay_properties.replay_case_events(there, split_seasons(there)[0])
        wanted = final_numbers(system, done, there.double)
    return compare(found, wanted, TOLERANCE[case["precision"]])


def compare_large_rounds(system, players, rounds):
    """Rounds in which everybody takes part, in float32 as users compile them, with float64 on the CPU.

    The first has equals only; what it says is learned before the second.
    """
    events = contests(players, rounds, size=players, seed=0).rounds
    found = final_numbers(system, jr.run(system, events), False)
    with jax.default_device(jax.local_devices(backend="cpu")[0]), jax.enable_x64(True):
        done = jr.run(system, events, policy=CompilePolicy(quick=True))
        wanted = final_numbers(system, done, True)
    pairs = [(x, y) for x, y in zip(found, wanted, strict=True) if not np.isnan(y).all()]  # some have no deviations
    assert all(np.isfinite(x).all() for x, _ in pairs), "a rating, a deviation or a prediction is not finite"
    return compare(*zip(*pairs, strict=True), LARGE_TOLERANCE.get(system.name, TOLERANCE["float32"]))


@keep_history(None)
def system_of(name):
    return jr.extend.SYSTEMS[name](**GRID.get(name, {}))


def check_contract(system, form, double):
    """The properties, which raise AssertionErrors; of systems that draw random numbers not those of numbers."""
    case = SystemFormPrecision(system, form, double)
    is_random = random_draw_rule(system.rules) is not None
    properties = OF_ALL if double else OF_ALL[:1]
    properties += DETERMINISTIC if double and not is_random else ()
    properties += (OF_FORM[form],) if double and form in OF_FORM else ()
    for assert_holds in properties:
        assert_holds(case)
    return {"properties": len(properties)}


def final_numbers(system, done, double):
    """Ratings, deviations and predictions of a run, in float64."""
    with strict_precision(double):
        return [np.asarray(x, np.float64) for x in (*jr.ratings(system, done.state), done.prediction)]


def compare(found, wanted, tolerance):
    """The largest relative difference of numbers; AssertionError if it is above the tolerance."""
    largest = max(float(np.max(np.abs(x - y) / np.maximum(np.abs(y), 1.0))) for x, y in zip(found, wanted, strict=True))
    assert largest <= tolerance, f"numbers differ by {largest:.3g}, more than {tolerance:g}"
    return {"difference": largest}


def compare_with_others(name, double):
    """The games of `elo_glicko.json`, rated one by one by other programs."""
    golden = json.loads((GOLDEN / "elo_glicko.json").read_text())
    games = np.array(golden["games"]["rows"])
    system, wanted = {
        "elo": lambda: (jr.elo(), [golden["elo_per_match"]["rating"]]),
        "glicko": lambda: (jr.glicko(c=0), [golden["glicko_per_match"][x] for x in ("rating", "rd")]),
        "glicko2": lambda: (jr.glicko2(match_periods=1), [golden["glicko2_per_match"][x] for x in ("rating", "rd")]),
        "trueskill": lambda: (
            jr.trueskill(draw_probability=0.1),
            [json.loads((GOLDEN / "trueskill.json").read_text())["sequence"]["0.1"][x] for x in ("mu", "sigma")],
        ),
        "weng_lin": lambda: (
            jr.weng_lin("plackett_luce"),
            [
                json.loads((GOLDEN / "weng_lin.json").read_text())["sequence"]["plackett_luce"][x]
                for x in ("mean", "deviation")
            ],
        ),
    }[name]()
    with jax.enable_x64(double):
        done = jr.run(system, jr.matches(games[:, 2:4].astype(int), games[:, 4]), policy=CompilePolicy(quick=True))
        rating = [np.asarray(x, np.float64) for x in jr.ratings(system, done.state)]
    return compare(rating[: len(wanted)], map(np.array, wanted), TOLERANCE["float64" if double else "float32"])
