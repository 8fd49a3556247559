"""Wrong arguments that once gave a wrong answer or a traceback, and tables that pandas takes."""

import copy
import csv
import inspect
import json
import pickle
import re

import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.cli.rate import league_folders
from jaxrate.core.hashable_values import bind, hashable_array
from jaxrate.core.system import replace_params, set_period_if_default
from tests.conftest import refused

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def rated():
    table = {"a": list("pqrpqr"), "b": list("qrpqrp"), "score": [1, 0.5, 0, 1, 1, 0], "time": [1, 2, 3, 4, 5, 6]}
    return jr.rate(jr.glicko(), jr.read(table))


def test_numbers_of_numpy_are_whole_numbers(rated):
    matches = jr.matches([[0, 1]] * 3, [1, 0, 1])
    two, five = np.int64(2), np.int64(5)
    assert jr.run(jr.elo(), matches, num_players=two).state.rating.shape == (2,)
    assert jr.run(jr.elo(), jr.periods(matches, 7.0), num_players=five).state.rating.shape == (5,)
    assert len(jr.leaderboard(rated, top=two).player) == 2
    assert jr.forecasts.simulate_season(rated, {"a": ["p"], "b": ["q"]}, samples=np.int64(10)).samples == 10
    assert jr.elo_mmr(history=np.int64(8)) == jr.elo_mmr(history=8)


GOALS = {"date": ["2024-01-01", "2024-01-02", "2024-01-03"], "home": list("ABC"), "away": list("BCA")}
LEAGUE = {"home": ["Ada", "Bo"], "away": ["Bo", "Cy"], "score": [1, 0]}


VOTES = {"one": list("pqrpqr"), "two": list("qrpqrp"), "won": [1, 0.5, 0, 1, 1, 0], "on": [1, 2, 3, 4, 5, 6]}
VOTES_ROLES = {"a": "one", "b": "two", "score": "won", "time": "on"}


@pytest.mark.parametrize(
    "call",
    [
        lambda *data, **roles: jr.rate(jr.elo(), *data, **roles).predictions["prediction"].to_pylist(),
        lambda *data, **roles: [x.quality for x in jr.compare(*data, ["elo", "glicko"], **roles).results],
        lambda *data, **roles: jr.fit(jr.elo(), *data, free=["k"], steps=1, **roles).loss,
    ],
    ids=["rate", "compare", "fit"],
)
def test_tables_are_taken_with_columns_wherever_data_are(call, tmp_path):
    with (tmp_path / "votes.csv").open("w") as file:
        csv.writer(file).writerows([VOTES, *zip(*VOTES.values(), strict=True)])
    table = VOTES | {"times": [1, 2, 1, 2, 1, 3]}
    data = jr.read(table, **VOTES_ROLES, weight="times")
    assert call(table, **VOTES_ROLES, weight="times") == call(data) != call(VOTES, **VOTES_ROLES)
    assert call(tmp_path / "votes.csv", **VOTES_ROLES) == call(VOTES, **VOTES_ROLES)
    with refused("the data were read already; name a, weight where they are read"):
        call(data, a="one", weight="times")
    with pytest.raises(TypeError, match="'home'; it is a, as in a='one'"):
        call(table, home="one")


@pytest.mark.filterwarnings("ignore:took home and away")
def test_margins_that_are_named_may_be_negative():
    table = GOALS | {"home_goals": [1, -2, 1], "away_goals": [0, 0, 1]}
    assert jr.read(table, margin=["home_goals", "away_goals"]).matches.score.tolist() == [1.0, 0.0, 0.5]


def test_unknown_roles_name_the_right_one():
    for wrong, said in ("date", "it is time, as in time='x'"), ("catgory", "did you mean 'category'?"):
        with pytest.raises(TypeError, match=re.escape(f"read() got an unexpected keyword argument '{wrong}'; {said}")):
            jr.read(LEAGUE, **{wrong: "x"})


def test_messages_about_folders_say_what_to_give(rated, tmp_path):
    with refused('py is a file; name a folder for the run, as in jr.save("season", rated)'):
        jr.save(__file__, rated)
    jr.save(tmp_path / "run", rated)
    with refused("the run is of glicko: give its factory as make, or leave make out"):
        jr.load(tmp_path / "run", make=jr.elo)


def test_quiet_leaves_out_hints_and_not_warnings_about_the_data(jaxrate, tmp_path):
    results, coming, run = (tmp_path / name for name in ("results.csv", "coming.csv", "run"))
    rows = "2024-01-01,Ada,Bo,1\n2024-02-02,Bo,Cy,0\n2024-03-03,Cy,Ada,1\n2024-03-04,Cy,Ada,\n"
    results.write_text("date,home,away,score\n" + rows)
    coming.write_text("date,home,away\n2024-04-01,Ada,Bo\n")
    code, _, errors = jaxrate("rate", results, "-q", "--out", run)
    assert code == 0 and errors.startswith("jaxrate: 1 of 4 rows has no result") and errors.count("\n") == 1
    assert "took home and away for a and b, the first of whom has the side" in jaxrate("predict", run, coming)[2]
    assert jaxrate("predict", run, coming, "-q")[2] == ""


def test_folders_of_leagues_have_names_that_every_system_takes():
    long = "é" * 300
    folders = league_folders([long, long + "x", "Cup", "cup", "a/b", "Premier League", "CON"])
    assert all(len(x.encode()) <= 110 for x in folders) and len({x.lower() for x in folders}) == 7
    assert folders[2:4] == ["Cup", "cup_4"] and folders[5:] == ["Premier_League", "CON-"]


def test_tables_are_frames_and_json(rated):
    pandas = pytest.importorskip("pandas")
    board = jr.leaderboard(rated)
    frame = pandas.DataFrame(board)
    assert frame.equals(board.to_pandas()) and [*frame] == [*board] and frame["peak"].isna().all()  # of four matches
    assert not frame.drop(columns=["peak", "peak_time"]).isna().to_numpy().any()
    assert json.loads(board.to_json())["player"] == board.player.tolist() == frame["player"].tolist()
    assert board.change is None and "change" not in board and pickle.loads(pickle.dumps(board)).scope == board.scope
    with pytest.raises(AttributeError, match="no column 'raitng'"):
        _ = board.raitng
    strengths = jr.arena.fit_strengths(jr.arena.count_votes(["p", "q"], ["q", "r"], [3, 2], [1, 2]))
    pair = {"a": ["p"], "b": ["q"]}
    tables = [strengths, jr.arena.rank_sets(strengths), jr.history.peak_ratings(rated, min_games=1)]
    tables += [jr.history.head_to_head(rated, "p", "q"), jr.forecasts.predict_fixtures(rated, pair)]
    tables += [jr.history.recent_form(rated), jr.history.upsets(rated), jr.forecasts.balance_teams(rated, ["p", "q"])]
    tables += [jr.forecasts.pair_players(rated, ["p", "q"]), jr.forecasts.simulate_season(rated, pair, samples=10)]
    tables += [jr.forecasts.simulate_tournament(rated, {"knockout": ["p", "q"]}, samples=10)]
    for table in tables:
        frame, told = table.to_pandas(), json.loads(table.to_json())
        assert len(frame) and [*frame] == [*told] and all(len(x) == len(frame) for x in told.values())


# Systems are plain values: equal if made alike, hashed, pickled, copied, printed in a line, and explained by help.


def narrower(x, y, slope=0.2):
    return jnp.exp(-0.5 * ((y - x) / (0.1 - 0.01 * slope * x)) ** 2)


def flat(x, level=1.0):
    return level + 0.0 * x


SUPPORT, HALF = np.linspace(-1.0, 1.0, 5), np.full((5, 5), 0.5)
MAKERS = {
    **jr.extend.SYSTEMS,
    "variant": lambda: jr.trueskill(sweeps=3, tau=0.1),
    "outlook": lambda: jr.forecasts.add_outcomes(jr.trueskill(sweeps=3)),
    "luck": lambda: jr.blat_mmr(luck=jr.extend.luck.trueskill(0.1), support=SUPPORT, algorithm="naive", kernel="none"),
    "matrix": lambda: jr.blat_mmr(luck=jr.extend.luck.matrix(SUPPORT, HALF), support=SUPPORT, kernel="none"),
    "functions": lambda: jr.blat_mmr(kernel=jr.extend.kernels.Kernel(narrower), prior=flat, slope=0.1),
    "table": lambda: jr.blat_mmr(support=SUPPORT, kernel=jr.extend.kernels.Kernel(np.eye(5)), prior=np.ones(5)),
    "evidence": lambda: jr.history.blat_mmr_beliefs.make_evidence_predicting_system(jr.blat_mmr()),
    "limits": lambda: jr.elo_mmr(beta=200, gamma=np.float32(20), newcomer=[0.5]),
}


@pytest.mark.parametrize("name", MAKERS)
def test_systems_made_alike_are_equal(name):
    one = MAKERS[name]()
    for _ in range(150):  # nothing hangs on what a cache still holds
        jr.trueskill(sweeps=2 + _)
    two = MAKERS[name]()
    assert one == two and hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == replace_params(one, one.params) == one
    call = f"add_outcomes({one.name}(" if name == "outlook" else f"{one.name}("
    assert repr(one).startswith(call) and "object at" not in repr(one)


def test_systems_made_otherwise_differ():
    systems = [make() for make in MAKERS.values()]
    assert len(set(systems)) == len(systems)
    assert jr.extend.luck.trueskill(0.1) != jr.extend.luck.trueskill(0.2)
    assert hashable_array(SUPPORT) != hashable_array(2.0 * SUPPORT)
    assert bind(min, 1, 2)() == 1 and bind(min, 1) != bind(max, 1)


@pytest.mark.parametrize("number", [20, 20.0, np.float32(20), np.int64(20), np.array(20.0), jnp.float32(20)])
def test_hyperparameters_are_any_real_number(number):
    assert jr.elo(k=number) == jr.elo(k=20.0)
    assert type(jr.elo(k=number).params.k) is float


@pytest.mark.parametrize("wrong", [True, np.bool_(True), "20", None, [20.0], np.ones(1), np.nan, np.inf, -1, 20j])
def test_other_values_are_refused(wrong):
    with pytest.raises(ValueError, match=r"^elo: k must be (>= 0|a number), got "):
        jr.elo(k=wrong)


def test_ranges_may_be_open_and_endless():
    with refused("urnings: size must be whole, from 1 to "):
        jr.urnings(size=10.5)
    assert [x for x in (-1.0, 0.0, 0.5, 1.0, np.inf) if jr.topcoder().space.weight_new.range.allows(x)] == [0.5]
    assert jr.elo_mmr().space.rho.range.allows(np.inf) and not jr.elo().space.k.range.allows(np.inf)


def test_bounds_are_declared_and_kept():
    for space in (make().space for make in jr.extend.SYSTEMS.values()):
        bounds = [x for about in space for x in about.bounds if x is not None]
        assert set(bounds) <= set(space._fields)
    message = "glicko2: volatility_min, initial_volatility and volatility_max must not decrease"
    with pytest.raises(ValueError, match=message):
        jr.glicko2(volatility_min=0.1, volatility_max=0.2)


@pytest.mark.parametrize("name", [name for name in jr.extend.SYSTEMS if name != "skills"])  # whose parts have them
def test_factories_say_what_their_parameters_are(name):
    make, system = jr.extend.SYSTEMS[name], jr.extend.SYSTEMS[name]()
    parameters = inspect.signature(make).parameters
    text = " ".join(inspect.getdoc(make).split())
    for key, parameter in parameters.items():
        assert parameter.kind is not parameter.VAR_KEYWORD or f"{key}: hyperparameters of " in text
    for field, value, about in zip(system.params._fields, system.params, system.space, strict=True):
        assert parameters[field].default in (value, None)
        said = f"{field}: {about.meaning} ({'' if about.unit == '1' else f'{about.unit}, '}{about.range})."
        said += f" None: {about.if_none}." if about.if_none else ""
        assert said + " Not fitted." * (not about.fitted) in text
        assert parameters[field].annotation in (float, float | None)
    with pytest.raises(ValueError, match=rf"^{name} has no parameter 'colour'"):
        make(colour=3)


def test_periods_of_a_system_with_other_predictions_are_those_of_the_data():
    made, given = (jr.forecasts.calibrate(jr.glicko(**x)) for x in ({}, {"period": 30.0}))
    assert set_period_if_default(made, 30.0) == given and set_period_if_default(given, 9.0) == given


TEAMS = {"a": ["Green Bay Packers", "Chicago Bears"], "b": ["Chicago Bears", "New York Jets"], "score": [1, 0]}
MATCH = jr.matches([[0, 1]], [1])


def read_goals(goals):
    return jr.read(GOALS | {"home_goals": goals, "away_goals": [0, 0, 1]})


def read_again(rated):
    return jr.read({"a": ["p"], "b": ["q"], "score": [1], "time": [1]}, history=rated)


REFUSALS = [  # of a rated history
    (lambda _: jr.history.performance_ratings(jr.elo_mmr(), MATCH), "performances are of contests"),
    (lambda _: jr.fitting.sweep_parameters(jr.elo(), MATCH, {"k": [1.0]}), "params._replace(k="),
    (lambda x: jr.forecasts.predict_fixtures(x, ("p", "q")), "as [('Ada', 'Bo')] for one match, or a table"),
    (lambda _: read_goals([1, "x", 1]), "if it means that there is none, say na_values=['x']"),
    (lambda _: read_goals([1, -2, 1]), "row 1 (counting from 0): column 'home_goals' is -2, and points are not"),
    (lambda _: jr.read(LEAGUE, side="home"), "where 'home' has the side in all matches, say side='a'"),
    (lambda _: jr.read(LEAGUE, side="away"), "where 'away' has the side in all matches, say side='b'"),
    (lambda _: jr.history.initial_state(jr.elo(), 3, rating={True: 1600.0}), "ids run from 0 to 2"),
    (lambda _: jr.blat_mmr(kernel=jr.extend.kernels.Kernel(3.0)), "a kernel's matrix is [n, n], got shape ()"),
    (lambda x: jr.rate(jr.elo(), read_again(x), onto=x), "as jr.rate(saved.system, data, onto=saved) does"),
    (lambda x: jr.metrics.match_metrics(x, read_again(x)), "as rated.predictions['prediction']"),
    (lambda x: jr.arena.freeze_strengths(read_again(x)), "fit_strengths(data), or [n] numbers, got one of type Data"),
    (lambda _: jr.career(jr.rate(jr.elo(), TEAMS), "Packers"), "no player 'Packers' (near: 'Green Bay Packers')"),
    *[
        (lambda _, make=make, value=value: make(value), f"{make.__name__}: seasons must be")
        for make in (jr.elo, jr.glicko, jr.glicko2)
        for value in (20, 30.0, np.float32(20))
    ],
]


@pytest.mark.parametrize(("call", "said"), REFUSALS)
def test_what_is_no_such_thing(rated, call, said):
    with refused(said):
        call(rated)
