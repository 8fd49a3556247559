"""Findings: who leads, who is favoured and whether predictions are right, and the phrases that tell it once for all."""

import math
from string import Formatter

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import jaxrate as jr
from jaxrate.metrics.prediction_metrics import LogLossDifference
from jaxrate.views import findings
from jaxrate.views.charts import Curve, Line
from jaxrate.views.findings import PHRASES, Finding
from jaxrate.views.wording import PLAYERS, TEAMS, format_with_unit

YEARS = np.array(["1990-05-01", "1991-05-01", "1992-05-01"], "datetime64[D]")
NAN = np.nan


@pytest.mark.parametrize("relation", PHRASES)
def test_phrases_name_all_that_differs_and_no_number_of_the_subject(relation):
    for certainty, phrase in PHRASES[relation].items():
        details = {name: 0.25 if form else "WORDS" for _, name, form, _ in Formatter().parse(phrase) if name}
        told = {"subject": "SUBJECT", "other": "OTHER", "since": "SINCE", "noun": "NOUN"}
        details = {name: x for name, x in details.items() if name not in {*told, "amount"}}
        said = str(Finding(relation, certainty, amount=93.2, unit="points", details=details, **told))
        values = {"amount": "93 points"} | told | details
        assert said == phrase.format(**values) and not {"leads", "takes", "gains"} & {*phrase.split()}
    assert str(Finding("on top", "alone", "{x}")) == "{x} on top"


@pytest.mark.parametrize(
    ("ratings", "deviations", "wanted"),
    [
        ([1543.2, 1450.0], None, ("best", 93.2)),
        ([1543.2, 1450.0], [96.4, 85.2], ("probably best", 93.2)),  # at 77%
        ([1543.2, 1450.0, 1445.0], [96.4, 85.2, 90.0], ("probably best", 93.2)),  # 64% against both
        ([1543.2, 1450.0, *[1449.0] * 4], [96.4, 85.2, *[90.0] * 4], ("probably ahead", 93.2)),
        ([1543.2, 1450.0], [40.0, 38.0], ("best", 93.2)),  # at 95.5%
        ([1450.0, 1543.2], [40.0, 38.0], ("alone", "")),  # in a cautious order
        ([1500.0], None, ("alone", "")),
    ],
)
def test_a_leader_is_ahead_or_level(ratings, deviations, wanted):
    names = [*"ABCDEF"][: len(ratings)]
    found = findings.find_lead(names, np.array(ratings), np.array(deviations or [0.0] * len(names)), "points")
    assert (found.certainty, found.subject, found.other) == (wanted[0], "A", "" if wanted[0] == "alone" else "B")
    assert found.amount == (wanted[1] and pytest.approx(wanted[1]))


@pytest.mark.parametrize(
    ("held", "place", "relation"),
    [
        (59.0, "best", "new on top"),
        (60.0, "best", "on top"),
        (330.0, "best", "still on top"),
        (NAN, "best", "on top"),
        (59.0, "ahead", "new on top"),
        (330.0, "probably best", "on top"),
    ],
)
def test_a_lead_is_new_for_sixty_days_and_old_from_eleven_months_on_if_it_is_sure(held, place, relation):
    lead = Finding("on top", place, "Ada", "Bo", 9.0, "points")
    found = findings.date_lead_finding(lead, held, findings.is_new_lead(held), TEAMS)
    assert found.relation == relation and (relation == "on top" or found.noun == "team")


def line(name, mean, deviation=None, times=YEARS):
    return Line(name, times, np.array(mean), 0.0 if deviation is None else np.full(len(mean), deviation))


ADA, BO = line("Ada", [1500.0, 1700.0, 1601.0]), line("Bo", [1500.0, 1550.0, 1600.0])
RETIRED = line("Cy", [1400.0, 1450.0, 1400.0], times=YEARS - np.timedelta64(4000, "D"))
AWAY = line("Di", [1400.0, 1450.0, 1400.0], times=YEARS - np.timedelta64(150, "D"))  # since a fifth of the time
UNSURE, NARROW, SURER = ([x._replace(deviation=np.full(3, y)) for x in (ADA, BO)] for y in (90.0, 3.0, 1.0))
COUNTED = line("Ada", [1.0, 3.0, 2.0], times=np.arange(1, 4))


@pytest.mark.parametrize(
    ("lines", "options", "said"),
    [
        ([BO, ADA], {}, "Ada ended 1 point ahead of Bo"),
        (UNSURE, {}, "Ada and Bo ended almost level"),
        (NARROW, {}, "Ada narrowly ahead of Bo at the end, by 1 point"),
        (SURER, {}, "Ada probably ahead of Bo at the end, by 1 point"),
        ([ADA], {}, "Ada peaked at 1,700 points in May 1991"),
        ([ADA], {"num_early": 2}, "Ada peaked at 1,601 points in May 1992"),
        ([ADA], {"num_early": 3}, "Ada ended at 1,601 points"),
        ([ADA, RETIRED], {}, "Ada peaked highest, at 1,700 points in 1991"),
        ([ADA, AWAY], {}, "Ada peaked highest, at 1,700 points in May 1991"),
        ([ADA, BO, RETIRED], {"prefers_peaks": True}, "Ada peaked highest, at 1,700 points in 1991"),
        ([COUNTED], {"clock": "matches played"}, "Ada peaked at 3 points after 2 matches"),
    ],
)
def test_lines_end_or_peak(lines, options, said):
    assert str(findings.find_end_or_peak(lines, **{"clock": "date", "unit": "points"} | options)) == said


@pytest.mark.parametrize(
    ("ranks", "others", "said"),
    [
        ({"Ada": [NAN, 1, 1], "Bo": [1, 2, 2]}, [], "Ada ranked first most often, on 2 of 3 dates"),
        ({"Ada": [NAN, 1, 1], "Bo": [1, 2, 2], "Cy": [9, 9, 9]}, [[1, 1, 1]],
         "Ada ranked first most often of these 3, on 2 of 3 dates"),
        ({"Ada": [NAN, 1, 3], "Bo": [1, 2, 2]}, [], "Ada and Bo ranked first most often, each on 1 of 3 dates"),
        ({"Ada": [5, 4], "Bo": [6, 7], "Cy": [6, 7]}, [], "Ada reached rank 4, the best of these 3"),
        ({"Ada": [NAN, NAN]}, [], "Ada ranked only of late"),
    ],
)  # fmt: skip
def test_ranks_count_the_firsts(ranks, others, said):
    columns = np.array([*ranks.values(), *others], float).T
    assert str(findings.find_most_firsts(columns, dict(enumerate(ranks)))) == said
    yearly = str(findings.find_most_firsts(columns, dict(enumerate(ranks)), is_yearly=True))
    assert yearly == said.replace(" on ", " at the end of ").replace("dates", "years")


AHEAD = [1560.0, 1500.0, 1490.0]


@pytest.mark.parametrize(
    ("ratings", "deviations", "standing", "said"),
    [
        (AHEAD, None, (1, 1, 9.0), "Ada first, 60 points ahead"),
        (AHEAD, [400.0] * 3, (1, 1, 9.0), "Ada first, almost level with Bo"),
        (AHEAD, None, (1200, 1, 25.0), "Ada number 1,200, up 25 points since May 2024"),
        (AHEAD, None, (3, 2, -1.0), "Ada number 3 of group 2, down 1 point since May 2024"),
        (AHEAD, None, (3, 1, NAN), "Ada number 3"),
    ],
)
def test_the_first_has_the_lead_and_others_their_rank(ratings, deviations, standing, said):
    names = ["Ada", "Bo", "Cy"][: len(ratings)]
    lead = findings.find_lead(names, np.array(ratings), np.array(deviations or [0.0] * len(names)), "points")
    found = findings.find_player_standing("Ada", findings.Standing(*standing, "May 2024"), lead, "points")
    assert str(found) == said


@pytest.mark.parametrize(("step", "said"), [(None, ""), (10, " in Aug 1990"), (1000, " in 1998")])
def test_who_plays_no_more_has_had_a_peak(step, said):
    days = None if step is None else np.datetime64("1990-06-01").astype(float) + step * np.arange(10.0)
    found = findings.find_past_peak("Ada", 1590.0, days, 3 if step == 1000 else 7, "points")
    assert str(found) == f"Ada peaked at 1,590 points{said}"


ORDERED = [[NAN, 60, 80], [40, NAN, 70], [20, 30, NAN]]
EVEN = [[NAN, 50.2, 70], [49.8, NAN, 70], [30, 30, NAN]]


@pytest.mark.parametrize(
    ("percent", "is_cut", "said"),
    [
        (ORDERED, False, "A favoured against the other 2, at 60% or more"),
        (ORDERED, True, "A favoured against the next 2, at 60% or more"),
        ([row[:2] for row in ORDERED[:2]], False, "A favoured against B, at 60%"),
        ([[NAN, 60, 40], [40, NAN, 60], [60, 40, NAN]], False, "Nobody favoured against both others"),
        (EVEN, False, "A and B about even, favoured against C"),
        ([[NAN, 55.0], [45.0, NAN]], False, "A favoured against B, at 55%"),
        (np.full((5, 5), NAN), False, "Expected scores of A and 4 others"),
    ],
)
def test_a_favourite_is_one_against_everybody(percent, is_cut, said):
    found = findings.find_favourite("ABCDE"[: len(percent)], np.array(percent, float), is_cut)
    assert str(found) == said
    assert findings.add_place(found, "on clay").startswith("On clay, nobody" if said[0] == "N" else "On clay, ")


def test_predictions_are_bold_or_cautious_or_true():
    random = np.random.default_rng(0)
    p = random.uniform(0.1, 0.9, 4000)
    score = (random.random(4000) < p) * 1.0
    for wanted, prediction in {
        "right": p,
        "too bold": 0.5 + 1.2 * (p - 0.5),
        "too cautious": 0.5 + 0.6 * (p - 0.5),
        "too low": np.where(p < 0.5, 0.5 * p, p),  # only underdogs scored more than predicted
    }.items():
        assert findings.judge_predictions(prediction, score).certainty == wanted
        mirrored = np.append(prediction, 1 - prediction), np.append(score, 1 - score)  # from either side, without bias
        wanted = findings.LEANS[findings.find_overconfidence(prediction, score)]
        assert findings.judge_predictions(*mirrored, np.full(8000, 0.5)).certainty == wanted
    calibrated = "Chances off by 2.1 percentage points on average by A, 10.0 by B"
    assert str(findings.find_best_calibrated({"B": 0.1, "A": 0.0214})) == calibrated


@pytest.mark.parametrize(
    ("chances", "wins", "lean"),
    [
        ([0.6], [63], 0),
        ([0.6], [80], 1),
        ([0.75], [45], -1),
        ([0.6, 0.8], [80, 60], 0),  # one errs either way
        ([0.52, 0.7, 0.9], [52.5, 62.2, 80.0], -1),  # toss-ups are right
    ],
)
def test_a_lean_is_beyond_chance(chances, wins, lean):
    """Of a hundred matches or, for the last, of 900 at each chance."""
    n = 100 if len(chances) < 3 else 900
    predicted, observed = np.repeat(chances, n), np.concatenate([np.arange(n) < n * x / 100 for x in wins])
    assert (
        findings.find_overconfidence(predicted, observed)
        == findings.find_overconfidence(1.0 - predicted, 1 - observed)
        == lean
    )
    contests = np.repeat(np.arange(len(predicted) // 50), 50)  # whose results depend on each other
    assert findings.find_overconfidence(predicted, observed, contest=contests) in (0, lean)


def test_losses_are_right_or_most_wrong_somewhere():
    def judge(*loss):
        y, half = np.array(loss), np.full(2, 1.96 * 0.01)
        return findings.judge_losses(Curve("", np.array([52.0, 83.0]), y, y - half, y + half, y, np.full(2, 0.5)))

    assert judge(0.51, 0.49).certainty == "right"
    assert judge(0.53, 0.42)[:2] == ("losses", "too cautious") and judge(0.53, 0.42).amount == 83.0
    assert str(judge(0.56, 0.51)) == "Predictions too bold, most clearly of favourites with 52%"


@pytest.mark.parametrize(
    ("gaps", "said"),
    [
        ([(0, 0)], "Log loss of A"),
        ([(0, 0), (0.1, 0.01), (0.2, 0.01)], "A predicted best, beyond chance"),
        ([(0, 0), (0.022, 0.01), (0.1, 0.01)], "A and B predicted about equally well"),  # of three pairs
        ([(0, 0), (0.022, 0.01)], "A predicted better than B, beyond chance"),
        ([(0, 0), (0.01, None), (0, 0.01)], "All 3 systems predicted about equally well"),
    ],
)
def test_the_best_system_is_ahead_of_all_beyond_chance(gaps, said):
    names, gaps = [*"ABC"][: len(gaps)], [LogLossDifference(*x) for x in gaps]
    assert str(findings.find_best_system(names, gaps, {"Di": LogLossDifference(0.1, 0.01), "Ed": None})) == said


def test_the_best_system_is_not_said_to_beat_other_forecasts_that_are_level_or_ahead():
    """Skills "predicted best, beyond chance" stood above a table in which FiveThirtyEight was level."""
    others = {name: LogLossDifference(x, 0.01) for name, x in (("Di", 0.0), ("Ed", -0.1), ("Flo", 0.01), ("Gus", 0.1))}
    found = findings.find_best_system("AB", [LogLossDifference(x, 0.01) for x in (0.0, 0.1)], others)
    assert str(found) == "A predicted best of 2 systems, level with Di and Flo, behind Ed"


@pytest.mark.parametrize(
    ("mean", "z", "count", "z_of_all", "kind"),
    [
        (0.2, 2.5, 100, 1.9, "none"),  # the lean may be chance
        (0.2, 2.5, 100, 2.1, "together more"),
        (0.2, 2.5, 100, -2.1, "together less"),
        (-0.2, -4.2, 100, 0.0, "less"),
        (0.2, 1.95, 1, 1.95, "alone"),
        (0.2, 1.97, 1, 1.97, "more"),
    ],
)
def test_surprises_respect_chance(mean, z, count, z_of_all, kind):
    found = findings.find_surprising_player("Ada", mean, z, count, z_of_all)
    assert found.certainty == kind and found.amount == ("0.20" if kind in ("more", "less") else "")
    assert np.round(findings.surprise_limit(1), 2) == 1.96 and np.round(findings.surprise_limit(100), 2) == 3.48


@pytest.mark.parametrize(
    ("leaders", "said"),
    [
        ("A", "The best player is A, with 90% confidence"),
        ("ABCD", "The leading player is A, but any of 3 others may be the best"),
    ],
)
def test_who_may_be_the_first(leaders, said):
    assert str(findings.find_leader_among(leaders, 0.9)) == said


def test_a_lead_in_votes_is_certain_beyond_its_margin_and_among_all():
    wins = [3000, 2800, 2600]
    votes = jr.arena.count_votes([*"AAB"], [*"BCC"], wins, [2000, 1000, 1500])
    strengths = jr.arena.fit_strengths(votes)
    ranks, names = jr.arena.rank_sets(strengths), strengths.players.tolist()
    assert findings.find_lead_in_votes(names, strengths, ranks).certainty == "clear"
    unsure = ranks._replace(surely_better=np.zeros((3, 3), bool))
    found = findings.find_lead_in_votes(names, strengths, unsure)
    assert found.certainty == "one of many" and found.noun == "3 players"
    assert findings.find_lead_in_votes(names, strengths, None).certainty == "clear"
    first = findings.find_first_place(names, strengths, None, PLAYERS)
    assert first == Finding("first place", "alone", "A", noun="player")
    alone = strengths._replace(rating=np.array([1.0, math.nan, math.nan]))
    assert findings.find_lead_in_votes(names, alone, None) is findings.find_worth_in_votes(names, alone) is None
    nobody = strengths._replace(rating=np.full(3, math.nan))
    assert str(findings.find_first_place(names, nobody, None)) == "Nobody can be ranked yet"


@pytest.mark.parametrize("count", [3, 5, 10, 40])
def test_a_few_favourites_who_all_win_prove_nothing(count):
    chance = np.full(count, 0.9 if count < 40 else 0.97)
    assert findings.find_overconfidence(chance, np.ones(count)) == 0
    mirrored = np.append(chance, 1 - chance), np.append(np.ones(count), np.zeros(count)), np.full(2 * count, 0.5)
    assert findings.find_overconfidence(*mirrored) == 0


def test_seldom_a_lean_where_chances_are_right():
    random = np.random.default_rng(8)
    chance = random.uniform(0.85, 0.97, (2000, 20))
    won = random.random(chance.shape) < chance
    leans = [findings.find_overconfidence(one, other) for one, other in zip(chance, won, strict=True)]
    assert np.count_nonzero(leans) < 0.08 * len(leans)  # 0.15 by the misses alone


AMOUNTS = [(0.0, "less than 0.01"), (-0.001, "less than 0.01"), (0.996, "1"), (0.5, "0.50"), (9.96, "10")]


@pytest.mark.parametrize(("value", "text"), AMOUNTS)
def test_amounts_have_digits_that_say_something(value, text):
    assert format_with_unit(value, "points") == f"{text} point{'s' * (text != '1')}"
