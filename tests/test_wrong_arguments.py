"""Every public function, with things that are no such thing in place of each of its arguments, says so by a ValueError.

The calls follow from the signatures. What an annotation leaves open, as names of players, may be right by chance.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from inspect import Parameter, getsource, isfunction, signature, unwrap
from operator import attrgetter
from types import UnionType
from typing import Any, Union, Unpack, get_args, get_origin, get_type_hints

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.argument_checks import FilePath
from tests.conftest import mark_full

pa = pytest.importorskip("pyarrow")


WRONG = {  # what it is: the value, and the annotations of which it is one
    "whole": (5, (int, float)),
    "huge": (10**400, (float,)),
    "negative": (-(10**18), (int, float)),
    "nan": (math.nan, ()),
    "none": (None, (None, type(None))),
    "flag": (True, (bool,)),
    "text": ("x", (str, os.PathLike, Sequence, Iterable)),
    "blank": ("", (str, Sequence, Iterable)),
    "bytes": (b"\xff", (Sequence, Iterable)),
    "object": (object(), ()),
    "list": ([], (Sequence, Iterable, tuple, list)),
    "dict": ({}, (Mapping, dict, Sequence, Iterable)),
    "nested": ([[object()]], (Sequence, Iterable, tuple, list)),
    "set": ({5}, (Sequence, Iterable)),
    "array": (np.zeros((2, 0, 3)), (np.ndarray, Sequence, Iterable)),
    "complex": (1j, ()),
    "module": (math, ()),
    "class": (dict, (Callable,)),
    "factory": (jr.elo, (Callable,)),
    "tuple": ((1, "x", None), (Sequence, Iterable, tuple)),
    "generator": ((x for x in "pq"), (Iterable,)),
    "long": ("x" * 5000, (str, Sequence, Iterable)),
    "large": (2**40, (int, float)),
    "no key": (np.array([True]), (np.ndarray, Sequence, Iterable)),
    "of none": (lambda *_, **__: None, (Callable,)),
}
MODULES = (
    *("arena", "data", "data.formats", "data.simulate", "extend.luck", "fitting", "forecasts", "evaluation", "history"),
    *("history.blat_mmr_beliefs", "live", "metrics", "parts", "plots", "site", "urns"),
)
INNER = ("extend.luck.check_luck",)  # parts of others
SEVERAL = Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL


def public_functions():
    """The functions of `jaxrate` and of its public modules, by name."""
    found = {name: getattr(jr, name) for name in jr.__all__}
    found |= {
        f"matchmakers.{name}": getattr(jr.urns.matchmakers, name)
        for name in ("similarity_matchmaker", "chooser_matchmaker")
    }
    for module in MODULES:
        namespace = attrgetter(module)(jr)
        members = vars(namespace)
        own = [name for name, x in members.items() if getattr(x, "__module__", None) == members["__name__"]]
        names = members.get("__all__") or [name for name in own if not name.startswith("_")]
        found |= {f"{module}.{name}": getattr(namespace, name) for name in names}
    return {name: x for name, x in found.items() if isfunction(x) and name not in INNER}


FUNCTIONS = public_functions()


USUAL = {"a": list("pqrpqr"), "b": list("qrpqrp"), "score": [1, 0.5, 0, 1, 1, 0], "time": [1, 2, 3, 4, 5, 6]}
HISTORIES = {  # of matches, and the ranks of contests beside them
    "one win": ({"a": ["p"], "b": ["q"], "score": [1], "time": [1]}, [1, 2, 2]),
    "one tie": ({"a": ["p"], "b": ["q"], "score": [0.5], "time": [1]}, [1, 1, 1]),
    "ties": (USUAL | {"score": [0.5] * 6}, [1] * 6),
    "wins": (USUAL | {"score": [1] * 6}, [1, 2, 2] * 2),
    "groups": (USUAL | {"a": list("pxpxpx"), "b": list("qyqyqy")}, [1, 1, 2, 2, 1, 1]),
    "one pair": (USUAL | {"a": ["p"] * 6, "b": ["q"] * 6}, [1, 2, 3] * 2),
    "newcomers": (USUAL | {"a": list("pruwyA"), "b": list("qtvxzB")}, [1, 2, 3] * 2),
    "weights of zero": (USUAL | {"weight": [0] * 6}, [1, 2, 3] * 2),
    "one time": (USUAL | {"time": [1] * 6}, [1, 2, 3] * 2),
    "far times": (USUAL | {"time": [1, 1e5, 2e5, 3e5, 4e5, 9e8]}, [1, 2, 3] * 2),
}


@cache
def right_values(history=None):
    """A right value for each argument that must be given, by its name, or by its function's and its own."""
    table, rank = HISTORIES[history] if history else (USUAL, [1, 2, 3, 2, 1, 3])
    usual, data, glicko, urnings = jr.read(USUAL), jr.read(table, time="time"), jr.glicko(), jr.urnings()
    n, count = len(data.matches.score), len(rank)
    rated, urns = jr.rate(glicko, data), jr.urns.make_urns(np.full(3, 100), 0.5)
    contests = jr.rounds(np.arange(count) // 3, np.arange(count) % 3, rank)
    objective = jr.fitting.ahead(errors="products")
    fitted = jr.fit(glicko, usual, free=["c", "initial_deviation"], steps=2, objective=objective)
    profile = jr.fitting.LossProfile(np.array([10.0, 20.0]), np.array([0.5, 0.6]), None, glicko, "c", 6.0)
    half, pair = np.full(n, 0.5), {"a": ["p"], "b": ["q"]}
    strengths = jr.arena.fit_strengths(data, ties="half", prior=1.0)
    scorelines = jr.forecasts.Scorelines(np.array(["p"]), np.array(["q"]), np.full((1, 3, 3), 0.1))
    tournament = jr.forecasts.simulate_tournament(rated, {"knockout": ["p", "q"]}, samples=10)
    named = dict(
        system=glicko, systems=[glicko, jr.elo()], events=data, data=data, matches=data.matches, rated=rated,
        players=["p", "q"], player="p", opponent="q", a="p", b="q", date=3.0, state=rated.state, params=glicko.params,
        columns={"x": np.arange(3)}, strengths=strengths,
        fitted_strengths=strengths, min_games=1, score=data.matches.score, prediction=half, other_prediction=half,
        win=np.array([[0.5, 0.6], [0.4, 0.5]]), key=jax.random.key(0), samples=10, games=3, num_players=3,
        num_matches=4, num_rounds=2, size=3, start=2.0, rounds=contests, rating=np.arange(float(n)),
        plan={"knockout": ["p", "q"]}, coming=pair, source=pair, name="c", values=[10.0, 20.0],
        league=np.array(list("xxxyyy"))[:n], before=urns, after=urns, first_urns=urns, second_urns=urns,
        line=2.5, scorelines=scorelines, forecast=scorelines, proportions=[0.3, 0.5, 0.6],
        proportion=0.5, matchmaker=jr.urns.matchmakers.uniform_matchmaker(), probability=0.6, text="fide",
        components=[(1.0, 1.0)], column="x", first="x", second="y", categories=2, starts=[1.0], since=1.0,
        chances=[[0.5, 0.4], [0.6, 0.5]], elo0=0.0, elo1=5.0, wins=[3], losses=[2],
        results=[1.0, 0.5, 0.0], ratings=[1500.0], total=2, path="table.csv", folder="folder", out="out",
        stream=jr.data.simulate.stream_league(3, 4), picture=jr.plots.leaderboard(rated),
    )  # fmt: skip
    return named | {
        "smooth.system": jr.skills(),
        "data.mix_categories.data": jr.read(USUAL, category="a"), "data.mix_categories.mixtures": {"p": ["q"]},
        "data.from_teams.rounds": [[["p"], ["q"]]], "matches.player": [[0, 1]], "matches.score": [1.0],
        "rounds.contest": [0, 0], "rounds.player": [0, 1], "rounds.rank": [1, 2],
        "metrics.probabilities_from_odds.odds": [[1.5, 2.8]],
        "evaluation.benchmark_systems.systems": ["elo"], "evaluation.benchmark_systems.fit_seconds": 0.0,
        "site.benchmark_page_html.benchmarks": {
            "x": jr.evaluation.benchmark_systems(usual, ["elo"], fit_seconds=0)
        },
        "metrics.ranked_probability_score.prediction": np.full((n, 3), 1 / 3),
        "arena.count_votes.a": ["p"], "arena.count_votes.b": ["q"], "urns.urn_law.size": [10, 10],
        "urns.urn_law.proportion": [0.5, 0.5],
        "plots.comparison.compared_systems": jr.compare(data, [jr.elo()]), "plots.odds.simulation": tournament,
        "plots.rank_sets.ranks": jr.arena.rank_sets(strengths), "urns.replay_history.system": urnings,
        "history.category_ratings.category": 0, "urns.simulate_world.system": urnings,
        "urns.confidence_band.state": urns, "parts.own.name": "night",
        "parts.own.loadings": lambda participants: participants.one[..., None], "parts.own_observation.name": "sets",
        "parts.own_observation.log_likelihood": lambda lead, variance, match: -lead * lead,
        "fitting.likelihood_interval.fit": fitted, "plots.loss_surface.fit": fitted,
        **{f"forecasts.{name}_probabilities.probability": scorelines.probability
           for name in ("total_goals", "goal_difference")},
        "forecasts.both_score_probability.probability": scorelines.probability,
        "plots.profile.result": profile, "extend.luck.matrix.strengths": [0.0, 1.0], "extend.luck.parse.luck": "fide",
    }  # fmt: skip


def parameters_of(name):
    """The parameters of a function by name, each of those that a TypedDict collects among them."""
    for part, about in signature(unwrap(FUNCTIONS[name])).parameters.items():
        if get_origin(about.annotation) is not Unpack:
            yield part, about
            continue
        for key, annotation in get_type_hints(get_args(about.annotation)[0], include_extras=True).items():
            yield key, Parameter(key, Parameter.KEYWORD_ONLY, annotation=annotation, default=None)


def right_arguments(name, history=None):
    """Those that must be given to a function, and those that keep it quick."""
    right, wanted = right_values(history), {}
    for part, about in parameters_of(name):
        own = f"{name}.{part}"
        if own in right or (about.default is Parameter.empty and about.kind not in SEVERAL):
            wanted[part] = right[own if own in right else part]
    return wanted


def names_kind(annotation, kinds):
    """Whether an annotation names one of these kinds."""
    annotation = str | os.PathLike if annotation == FilePath else annotation
    if get_origin(annotation) in (Union, UnionType):
        return any(names_kind(one, kinds) for one in get_args(annotation))
    return annotation in kinds or get_origin(annotation) in kinds


def is_open(annotation):
    """Whether an annotation leaves open what it is."""
    some = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else [annotation]
    return any(
        x in (Any, Parameter.empty) or isinstance(x, str) or hasattr(x, "__metadata__") for x in some if x != FilePath
    )


def what_comes(name, part, value, right):
    """What a function says to one wrong argument: "accepted", "refused", or the error that should not be."""
    try:
        FUNCTIONS[name](**right | {part: value})
    except ValueError:
        return "refused"
    except FileNotFoundError:  # of a path that is one
        return "refused" if isinstance(value, (str, bytes)) else "FileNotFoundError"
    except UserWarning:  # which tests raise
        return "accepted"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"


@pytest.mark.parametrize("third", mark_full(range(3), 0))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_such_thing_is_a_value_error(name, third, tmp_path, monkeypatch):
    """Each argument with a third of the wrong values, other ones than its neighbours have."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    right, wrong = right_arguments(name), []
    for place, (part, about) in enumerate(parameters_of(name)):
        if about.kind in SEVERAL:
            continue
        for what, (value, kinds) in [*WRONG.items()][(third + place) % 3 :: 3]:
            named = names_kind(about.annotation, kinds)
            if value is about.default or (named and what not in ("negative", "huge", "large", "of none")):
                continue
            begun = time.process_time()
            comes = what_comes(name, part, value, right)
            seconds = time.process_time() - begun
            pyplot.close("all")
            if comes != "refused" and not (comes == "accepted" and (named or is_open(about.annotation))):
                wrong.append(f"{part}, {what}: {comes}")
            if seconds > 5.0 and what != "large":  # of steps, which end when they converge
                wrong.append(f"{part}, {what}: takes {seconds:.0f} s")
    assert not wrong, "\n".join(wrong)


def arrays_of(result):
    """Numbers and arrays of numbers within a result, at any depth."""
    if isinstance(result, (list, tuple, Mapping)):
        return [x for y in (result.values() if isinstance(result, Mapping) else result) for x in arrays_of(y)]
    if isinstance(result, (float, np.ndarray, np.generic, jax.Array)):
        return [np.asarray(result)] if np.asarray(result).dtype.kind == "f" else []
    return []


@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
@pytest.mark.parametrize("history", mark_full(HISTORIES, "ties"))
def test_results_of_degenerate_histories_are_numbers(history, tmp_path, monkeypatch):
    """Or errors, or None; NaN only in arrays, where the function or the class of the result says what it means."""
    pyplot, bad = pytest.importorskip("matplotlib.pyplot"), []
    monkeypatch.chdir(tmp_path)
    calls = {name: partial(FUNCTIONS[name], **right_arguments(name, history)) for name in FUNCTIONS}
    contests = right_values(history)["rounds"]
    calls |= {
        f"{x.name} of contests": partial(jr.run, x, contests) for x in (jr.skills(), jr.trueskill(), jr.elo_mmx())
    }
    calls["smooth of contests"] = partial(jr.smooth, jr.skills(), contests)
    for name, call in calls.items():
        try:
            result = call()
        except ValueError:
            continue
        finally:
            pyplot.close("all")
        said = f"{call.func.__doc__} {getsource(type(result)) if hasattr(result, '_fields') else ''}"
        bad += {name for x in arrays_of(result) if np.isnan(x).any() and not (x.ndim and "NaN" in said)}
    assert not bad


def test_columns_of_events_are_arrays_and_a_state_is_of_the_system():
    lists, system = jr.Matches([[0, 1]], [1.0], [0.0]), jr.glicko()
    calls = [partial(call, system) for call in (jr.run, jr.fit)] + [partial(jr.smooth, jr.skills())]
    for call in (*calls, jr.arena.fit_strengths, partial(jr.periods, length=7.0)):
        with pytest.raises(ValueError, match=r"jr\.matches"):
            call(lists)
    for call in (jr.ratings, jr.forecasts.predict_pairs):
        with pytest.raises(ValueError, match="the state is not of glicko"):
            call(system, state=jr.elo().init(jr.elo().params, 2))


def test_booleans_are_scores_of_0_and_1_through_every_door():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    won, rest, system = [True, False, False, True, True, False], {x: USUAL[x] for x in ("a", "b", "time")}, jr.elo()
    kinds = [list, np.array, partial(np.array, dtype=object), lambda x: [*np.array(x)], pa.array, pl.Series, pd.Series]
    kinds += [partial(pd.Series, dtype=x) for x in (object, "boolean", "bool[pyarrow]")]
    ids = [[ord(x) - ord("p") for x in pair] for pair in zip(rest["a"], rest["b"], strict=True)]
    live = jr.live.start_history(system)
    for a, b, score, day in zip(rest["a"], rest["b"], won, rest["time"], strict=True):
        live.update(a, b, np.bool_(score), time=day)
    found = [live.to_rated().state.rating]
    tables = [rest | {"score": kind(won)} for kind in kinds]
    tables += [pd.DataFrame(table) for table in tables[-4:]]
    tables += [pl.DataFrame(rest | {"score": won}), pa.table(rest | {"score": won})]
    found += [jr.rate(system, table).state.rating for table in tables]
    found += [jr.run(system, jr.matches(ids, kind(won), rest["time"])).state.rating for kind in kinds]
    np.testing.assert_array_equal(
        found, [jr.rate(system, rest | {"score": np.array(won, float)}).state.rating] * len(found)
    )
