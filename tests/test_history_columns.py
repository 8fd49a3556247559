"""Rest, form, lay-offs, the ground, categories, relative margins and age: made of the matches above."""

import datetime
import warnings

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.data.derived_covariates import add_derived_column
from jaxrate.history.event_columns import empty_event_columns
from tests.conftest import draw_pairs

N, PLAYERS = 60, 6
SPANS = {"rest": 5.0, "layoff": 4.0, "activity": 10.0, "form": 20.0, "ground": 50.0, "category_lead": 30.0}
SPANS |= {"relative_margin": 9.0}
COVARIATES = {"rest": 30.0, "layoff": 40.0, "activity": 20.0, "form": 50.0, "ground": 60.0, "category_lead": 0.9}
ROLES = {"margin": ["made", "let"], "venue": "town", "category": "topic"}
SYSTEM = jr.skills(
    *(parts.covariate(name, weight) for name, weight in COVARIATES.items()), observe=parts.margin("relative_margin")
)


def league(seed=2):
    random = np.random.default_rng(seed)
    one, other = draw_pairs(random, PLAYERS, N).T
    names = np.array([f"p{i}" for i in range(PLAYERS)], object)
    time = np.sort(random.integers(0, 180, N)) / 2 - 40.0  # dates before 1970 are below 0
    points = random.integers(0, 4, (2, N))
    points[:, :2] = 0  # nobody has scored yet
    town = np.array(["Rome", "Oslo", None], object)[random.integers(0, 3, N)]
    return {
        "a": names[one], "b": names[other], "score": (1 + np.sign(points[0] - points[1])) / 2, "time": time,
        "made": points[0], "let": points[1], "town": town, "topic": np.array(["sums", "sets"])[points[1] % 2],
    }  # fmt: skip


def twin(table):
    """By the formulas, each match anew from those above it."""
    found = {name: np.zeros(N) for name in SPANS}
    rating, surprises, total = {}, [], table["made"] + table["let"]
    for a, b, score in zip(table["a"], table["b"], table["score"], strict=True):
        surprise = score - 1 / (1 + 10 ** ((rating.get(b, 0.0) - rating.get(a, 0.0)) / 400))
        rating[a], rating[b] = rating.get(a, 0.0) + 24 * surprise, rating.get(b, 0.0) - 24 * surprise
        surprises.append(surprise)
    found["category_lead"] = twin_of_category_leads(table)
    for i in range(N):
        for name, sign in ((table["a"][i], 1), (table["b"][i], -1)):
            mine = [j for j in range(i) if name in (table["a"][j], table["b"][j])]
            gone = {j: table["time"][i] - table["time"][j] for j in mine}
            found["rest"][i] += sign * min([SPANS["rest"], *gone.values()])
            found["layoff"][i] += sign * (np.log(max(min(gone.values()) / SPANS["layoff"], 1)) if mine else 0.0)
            found["activity"][i] += sign * np.log(1 + sum(np.exp(-gone[j] / SPANS["activity"]) for j in mine))
            own = {j: surprises[j] if table["a"][j] == name else -surprises[j] for j in mine}
            found["form"][i] += sign * sum(np.exp(-gone[j] / SPANS["form"]) * own[j] for j in mine)
            here = [j for j in mine if table["town"][j] == table["town"][i] is not None]
            found["ground"][i] += sign * np.log(1 + sum(np.exp(-gone[j] / SPANS["ground"]) for j in here))
        weight = np.exp(-np.arange(i, -1, -1) / SPANS["relative_margin"])
        mean = weight @ total[: i + 1] / weight.sum()
        found["relative_margin"][i] = (table["made"] - table["let"])[i] / mean if mean else 0.0
    return found


def twin_of_category_leads(table):
    """Of each match, by Newton's steps from no lead, beside Elo ratings that know the category."""
    rating, lead, leads = {}, {}, []
    for a, b, score, topic in zip(table["a"], table["b"], table["score"], table["topic"], strict=True):
        leads.append(lead.get(topic, 0.0))
        unit = np.log(10.0) / 400.0
        surprise = score - 1.0 / (1.0 + np.exp(-unit * (rating.get(a, 0.0) - rating.get(b, 0.0) + leads[-1])))
        lead[topic] = leads[-1] + unit * surprise / (SPANS["category_lead"] * unit**2 / 4)
        for name, sign in ((a, 1.0), (b, -1.0)):
            rating[name] = rating.get(name, 0.0) + 24.0 * sign * surprise
    return np.array(leads)


def with_all(data, history=None):
    for name, span in SPANS.items():
        data = add_derived_column(data, name, span, history)
    return data


def columns_of(table, **more):
    columns = with_all(jr.read(table, **ROLES, **more)).matches.context.columns
    return {name: columns[name] for name in SPANS}


def split_at(table, position):
    return ({name: x[rows] for name, x in table.items()} for rows in (slice(0, position), slice(position, None)))


def test_columns_are_those_of_the_twin():
    table = league()
    found, slow = columns_of(table), twin(table)
    for name in SPANS:
        np.testing.assert_allclose(found[name], slow[name], rtol=1e-12, atol=1e-14, err_msg=name)
        assert np.count_nonzero(slow[name]) > 9, name
    data = with_all(jr.read(table, **ROLES))
    assert data.covariates == (*COVARIATES,) and data.derived == SPANS


def test_each_function_adds_its_column():
    data = jr.read(league(), **ROLES)
    for name, span in SPANS.items():
        found = getattr(jr.data, f"add_{name}")(data, span).matches.context.columns
        np.testing.assert_array_equal(found[name], add_derived_column(data, name, span).matches.context.columns[name])


def test_what_is_to_come_follows_from_what_was():
    table = league()
    past, late = split_at(table, 50)
    rated = jr.rate(SYSTEM, with_all(jr.read(past, **ROLES)))
    more = with_all(jr.read(late, history=rated, **ROLES), rated)
    whole = columns_of(table)
    for name in SPANS:
        np.testing.assert_allclose(more.matches.context.columns[name], whole[name][50:], rtol=1e-6, atol=1e-6)
    guess = np.asarray(jr.run(SYSTEM, with_all(jr.read(table, **ROLES))).prediction)[50]
    first = {name: x[:1] for name, x in late.items() if name not in ("score", "made", "let")}
    coming = jr.forecasts.predict_fixtures(rated, first, venue="town", category="topic")
    np.testing.assert_allclose(coming["expected"], guess, rtol=1e-5)
    nowhere = {name: x for name, x in first.items() if name != "town"}
    elsewhere = jr.forecasts.predict_fixtures(rated, nowhere)["expected"]
    pair = jr.forecasts.predict_fixtures(rated, [(first["a"][0], first["b"][0])], time=float(first["time"][0]))
    np.testing.assert_allclose(pair["expected"], elsewhere, rtol=1e-5)
    assert abs(elsewhere[0] - guess) > 0.05


@pytest.mark.filterwarnings("ignore:.*no chain of earlier ones")
def test_a_coming_match_counts_for_the_rest_of_the_next():
    past = {"a": ["a", "c"], "b": ["b", "d"], "score": [1, 1], "time": [0.0, 0.0]}
    rated = jr.rate(jr.skills(parts.covariate("rest", -40.0)), jr.data.add_rest(jr.read(past), 9.0))
    coming = {"a": ["a", "a"], "b": ["b", "c"], "time": [20.0, 21.0]}
    found = jr.forecasts.predict_fixtures(rated, coming)["expected"]
    alone = jr.forecasts.predict_fixtures(rated, {name: x[1:] for name, x in coming.items()})["expected"]
    assert found[1] > alone[0] + 0.1


def test_ages_are_years_at_the_match():
    table = {"a": ["x", "y"], "b": ["y", "z"], "score": [1, 0], "date": ["2020-01-01", "2021-01-01"]}
    born = {"x": datetime.date(1990, 1, 1), "y": datetime.date(2000, 1, 1), "z": None}
    births = {f"born_{side}": [born[name] for name in table[side]] for side in "ab"}
    found = jr.read(table | births, age=["born_a", "born_b"], on_faulty="skip").matches.context.columns["age"]
    np.testing.assert_allclose(found, [3652 / 365.25, 0.0])


@pytest.mark.parametrize("impossible", [200, -1, 999])
def test_ages_that_cannot_be_are_missing_with_a_count(impossible):
    table = {"a": ["x", "y"], "b": ["y", "z"], "score": [1, 0], "date": ["2020-01-01", "2021-01-01"]}
    with pytest.warns(UserWarning, match=f"1 age of column 'age_b' cannot be, as {impossible} years"):
        data = jr.read(table | {"age_a": [30.5, 21], "age_b": [20, impossible]}, age=["age_a", "age_b"])
    np.testing.assert_array_equal(data.matches.context.columns["age"], [10.5, 0.0])
    ages = {"age_a": [30.5, 21], "age_b": [20, None]}
    np.testing.assert_array_equal(jr.read(table | ages, age=[*ages]).matches.context.columns["age"], [10.5, 0.0])
    with pytest.warns(UserWarning, match="2 ages of column 'born' cannot be"):  # a date that stands for none
        jr.read(table | {"born": ["1880-01-01"] * 2}, age=["born", "born"])
    for ages, fault in ((["", "x"], "'x', not an ISO date"), (["30", "x"], "'x', not a number")):  # it named row 0
        with pytest.raises(ValueError, match=f"row 1 .*column 'age_b' is {fault}"):
            jr.read(table | {"age_a": [30.5, 21], "age_b": ages}, age=["age_a", "age_b"])


def test_seasons_of_leagues_are_the_years_in_their_names():
    table = league() | {"season": np.array(["2019-20", "2020-21", "Liga 2021/22"], object)[np.arange(N) // 20]}
    data = jr.read(table, league_season="season")
    np.testing.assert_array_equal(data.matches.context.columns["season"], 2019 + np.arange(N) // 20)
    assert data.league_season == "season" and data.seasons is None
    with pytest.raises(ValueError, match=r"row 0 .*'Winter', which has no year"):
        jr.read(table | {"season": ["Winter"] * N}, league_season="season")


@pytest.mark.parametrize(
    ("add", "why"),
    [
        (lambda data: jr.data.add_rest(data, 0), "rest must be a number of days above 0, got 0"),
        (lambda data: jr.data.add_form(data, "long"), "add_form: fade must be a number, got 'long'"),
        (lambda data: jr.data.add_rest(jr.data.add_rest(data)), "there is a column 'rest' among the others: rename it"),
        (lambda data: jr.data.add_rest(data, history={"a": []}), "history must be an earlier Dataset or a History"),
        (lambda data: jr.data.add_form(data._replace(clock=None)), "form needs a column of time"),
        (lambda data: jr.data.add_ground(data), "ground needs venue, the column of the ground"),
        (lambda _: jr.read(league() | {"age": np.full(N, 200.0)}, age="score"), "age must be two columns, of a and of"),
    ],
)  # fmt: skip
def test_what_is_refused(add, why):
    with pytest.raises(ValueError, match=why):
        add(jr.read(league()))


def test_rows_without_a_result_go_on_from_those_with_one():
    table = league()
    scores = [None if i >= 55 else float(x) for i, x in enumerate(table["score"])]
    with pytest.warns(UserWarning, match="5 of 60 rows have no result"):
        data = with_all(jr.read(table | {"score": scores}, **ROLES))
    slow, coming = twin(table), data.fixtures.matches.context.columns
    for name in ("rest", "layoff", "activity", "ground"):  # which no result changes
        np.testing.assert_allclose(coming[name], slow[name][55:], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(coming["form"][0], slow["form"][55], rtol=1e-12)
    assert np.isfinite(coming["form"]).all() and not coming["relative_margin"].any()


# What is doubtful about matches that follow a rated history.

pytest.importorskip("pyarrow")

PLAYED = {
    "date": ["2026-05-01", "2026-05-02", "2026-05-02"],
    "home": ["Zoë", "Bo", "Ada"],
    "away": ["Ada", "Zoë", "Bo"],
    "score": [1.0, 0.5, 0.0],
}


def rate(table=PLAYED, **options):
    return jr.rate(jr.elo(side_advantage=50), jr.read(table, **options))


def test_new_matches_without_sides_are_told():
    with pytest.warns(UserWarning, match="took home and away"):
        before = rate()
    new = {"date": ["2026-06-01"], "a": ["Bo"], "b": ["Ada"], "score": [1.0]}
    with pytest.warns(UserWarning, match="elo counts the side, and the new matches do not say who has it") as notes:
        jr.rate(before.system, new, onto=before)
    assert notes[0].filename == __file__
    sided = {"date": new["date"], "home": ["Bo"], "away": ["Ada"], "score": [1]}
    with pytest.warns(UserWarning, match="took home and away") as notes:
        after = jr.rate(before.system, sided, onto=before)
    assert len(notes) == 1 and after.predictions["prediction"][3].as_py() > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jr.rate(before.system, jr.read(new, side="a", history=before), onto=before)


@pytest.mark.filterwarnings("ignore:took ")
def test_matches_of_the_last_time_that_were_rated_already_are_told():
    before = rate()
    last = {name: values[1:] for name, values in PLAYED.items()}
    other = last | {"score": [1.0, 1.0]}
    with pytest.warns(UserWarning) as notes:
        jr.rate(before.system, last, onto=before)
    (told,) = [str(note.message) for note in notes if "took" not in str(note.message)]
    assert told.startswith("2 of 2 new matches repeat matches that the history has at its end, 2026-05-02: 0, 1 (")
    jr.rate(before.system, other, onto=before)  # two further matches
    jr.rate(before.system, {name: values[:1] for name, values in other.items()}, onto=before)
    elsewhere = before._replace(events=empty_event_columns(of_contests=False))  # as `rate` leaves them by chunks
    with pytest.warns(UserWarning, match="2 of 2 new matches are at the end of the history, 2026-05-02, whose"):
        jr.rate(before.system, other, onto=elsewhere)
