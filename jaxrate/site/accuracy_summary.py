"""The accuracy of predictions in words, for people who do not know metrics."""

import math
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count
from jaxrate.evaluation.comparison_table import INTERVAL_ERRORS
from jaxrate.evaluation.scored_predictions import MIN_MATCHES_FOR_CONSTANT, WAYS_OUT, constant_log_loss
from jaxrate.history.dataset_rating import describe_calibration
from jaxrate.history.history import History
from jaxrate.metrics.prediction_metrics import calibration, match_metrics
from jaxrate.site.calibration_summary import (
    CHANCE_WORDS,
    MIN_BIAS,
    SCORE_WORDS,
    AccuracySummary,
    bin_predictions,
    find_miscalibration,
)
from jaxrate.site.contest_accuracy import NO_DATA_TEXT, summarise_fields
from jaxrate.site.contest_sides import count_sides, side_score_by_participant
from jaxrate.site.home_sides import HOME, SideWords, home_sides, side_words
from jaxrate.site.maker_advice import Advice
from jaxrate.site.wording import PLAYERS, PlayerOrTeamNoun

FIRST_LISTED_ERRORS = 3.0  # standard errors by which those listed first must do otherwise than predicted to be told
NEAR_CHANCES = 0.65, 0.75  # of favourites whose results are told as an example; edges of bins
CHANCE_BINS = 20  # of all chances; those of favourites are in the upper half
MIN_DRAW_SHARE = 0.02  # of matches, from which on the title tells draws
SIDE_ADVICE = Advice(
    "if the first of each match is at home (--neutral names a column that tells who played on neutral ground)",
    ("jaxrate rate FILE --side a",),
)
LOSING_ADVICE = Advice("chances lost to the same chance for all; to do better", WAYS_OUT)
FIT_ADVICE = {
    lean: Advice(
        f"chances were too {word}; to fit hyperparameters to the results",
        ("jaxrate fit FILE --save fitted.toml", "jaxrate rate FILE --params fitted.toml --out RUN"),
    )
    for lean, word in ((-1, "bold"), (1, "timid"))
}


class HomeScores(NamedTuple):
    """Of those who were at home; matches on neutral ground are not in it."""

    prediction: HostArray
    score: HostArray


def summarise_accuracy(rated: History, noun: PlayerOrTeamNoun = PLAYERS) -> AccuracySummary:
    """Compare all predictions of a history with the results, in words; `noun` is what the rated are called."""
    summary = _summarise_matches(rated) if rated.contests is None else _summarise_contests(rated, noun)
    calibrated = describe_calibration(rated.system, rated.options)
    return summary._replace(texts=[*summary.texts, calibrated]) if calibrated else summary


def _summarise_matches(rated: History) -> AccuracySummary:
    table = rated.events
    score, prediction = table["score"], table["prediction"]
    side = home_sides(rated)
    home = (
        None if side is None else HomeScores(*(np.where(side > 0, x, 1.0 - x)[side != 0] for x in (prediction, score)))
    )
    has_outcomes = {"win", "draw", "loss"} <= table.keys() and bool(np.isin(score, (0.0, 0.5, 1.0)).all())
    outcomes = np.stack([table[name] for name in ("loss", "draw", "win")]) if has_outcomes else None
    said = _summarise_two_sided(prediction, score, home, side_words(rated), outcomes)
    texts, advice = list(said.texts), [FIT_ADVICE[said.lean]] if said.lean else []
    if len(score) >= MIN_MATCHES_FOR_CONSTANT:
        constant = constant_log_loss(score.astype(float), side, np.ones(len(score)))
        if match_metrics(prediction.astype(float), score.astype(float))["log loss"] > constant:
            texts.append(f"The same chance for all would have been better: the best one has log loss {constant:.4f}.")
            advice = [LOSING_ADVICE]
    if outcomes is not None and _has_draws(score):
        text, advised = _describe_draws(outcomes[1], score, rated)
        texts.append(text)
        advice += advised
    if side is None and (text := _describe_first_listed(prediction, score)):
        texts.append(text)
        advice.append(SIDE_ADVICE)
    return said._replace(texts=texts, advice=tuple(advice))


def _summarise_two_sided(
    prediction: HostArray,
    score: HostArray,
    home: HomeScores | None = None,
    words: SideWords = HOME,
    outcomes: HostArray | None = None,
) -> AccuracySummary:
    """Summarise events of two sides, from the prediction and the score of one of them.

    `outcomes` [3, n] are the probabilities of its loss, of a draw and of its win, where they were predicted.
    """
    predictions, score = prediction.astype(float), score.astype(float)
    metrics = match_metrics(predictions, score)
    has_draws, drew = _has_draws(score), (score == 0.5).mean()
    events = format_count(len(score), "match")
    favourite_wins = np.where(predictions < 0.5, score == 0.0, score == 1.0)
    wins = np.where(predictions == 0.5, 0.5 * np.isin(score, (0.0, 1.0)), favourite_wins).mean()
    title = f"The favourite won {wins:.0%} of matches"
    if has_draws:
        finding = (
            f"The favourite won {wins:.1%} of {events} and drew {drew:.1%}: "
            f"with a draw as half a win, favourites scored {metrics['accuracy']:.1%}."
        )
    else:
        finding = f"The favourite won {wins:.1%} of {events}."
    if drew > MIN_DRAW_SHARE:
        title += f" and drew {drew:.0%}"
    elif home is not None and len(home.score) and home.score.mean() > 0.5:
        title += f", {words.holder} {(home.score == 1.0).mean():.0%}"
    if home is not None and len(home.score) and home.score.mean() > 0.5:
        finding += f" {_describe_home_scores(home, has_draws, words)}"
    chance, result = _favourite_chances_and_scores(predictions, score)
    bins = bin_predictions(chance, result, CHANCE_BINS)
    lean = find_miscalibration(bins, chance, result)
    texts = [
        f"{finding} Chance alone gives {'a score of ' if has_draws else ''}50%.",
        _describe_loss(metrics, score, outcomes),
        _describe_calibration(lean, chance, result, has_draws),
    ]
    return AccuracySummary(title, texts, bins, SCORE_WORDS if has_draws else CHANCE_WORDS, lean=lean)


def _has_draws(score: HostArray) -> bool:
    return bool(((score > 0) & (score < 1)).any())


def _describe_loss(metrics: dict[str, float], score: HostArray, outcomes: HostArray | None) -> str:
    """The predicted chance of the actual results; with draws only where all three outcomes were predicted.

    The log loss of expected scores, in which a draw counts as half, is that of no chance.
    """
    loss, brier = f"{metrics['log loss']:.4f}", f"The Brier score is {metrics['Brier score']:.4f}."
    if outcomes is not None:
        actual = outcomes[np.rint(2 * score).astype(int), np.arange(len(score))].astype(float)
        chance = np.exp(np.log(np.maximum(actual, np.finfo(np.float32).tiny)).mean())
        return (
            f"What then happened, a win, a draw or a loss, had a predicted chance of {chance:.1%}, on average; "
            "even chances of the three give 33.3%, and more is better. (This is the geometric mean. "
            f"The log loss of the expected scores is {loss}. {brier})"
        )
    if _has_draws(score):
        return (
            f"The log loss of the expected scores is {loss}, with a draw as half a win; "
            f"an expected score of 50% for everybody has {math.log(2.0):.4f}, and less is better. {brier}"
        )
    return (
        f"What then happened had a predicted chance of {math.exp(-metrics['log loss']):.1%}, on average; "
        "even chances give 50%, and more is better. "
        f"(This is the geometric mean, and follows from the log loss, {loss}. {brier})"
    )


def _describe_draws(chance: HostArray, score: HostArray, rated: History) -> tuple[str, list[Advice]]:
    """How many matches were drawn, and what had been predicted; how to fit it, where these differ by more than luck."""
    predicted, drawn = float(chance.mean()), float((score == 0.5).mean())
    text = f"Draws had a chance of {predicted:.1%}, on average, and {drawn:.1%} of the matches were drawn"
    is_small = 100 * abs(predicted - drawn) < MIN_BIAS
    if is_small or not _is_beyond_chance(chance, (score == 0.5).astype(float), INTERVAL_ERRORS):
        return f"{text}.", []
    text = f"{text}: the chances of draws are too {'high' if predicted > drawn else 'low'}, by more than luck explains."
    if getattr(rated.system.params, "draw_margin", None) is None:
        return text, []
    commands = (
        "jaxrate fit FILE --outlook --free draw_margin --save fitted.toml",
        "jaxrate rate FILE --params fitted.toml",
    )
    return text, [Advice("chances of draws were wrong by more than luck; to fit them", commands)]


def _describe_first_listed(prediction: HostArray, score: HostArray) -> str:
    """What those who are listed first scored, if that is not what was predicted; nothing where winners are first."""
    if not (score < 0.5).any() or not _is_beyond_chance(prediction, score, FIRST_LISTED_ERRORS):
        return ""
    predicted, scored = float(prediction.mean()), float(score.mean())
    if 100 * abs(scored - predicted) < MIN_BIAS:
        return ""
    kind = "an expected score of " if _has_draws(score) else ""
    return (
        f"Those listed first {'scored' if kind else 'won'} {scored:.1%}, where {kind}{predicted:.1%} was predicted: "
        "the ratings know no home side."
    )


def _is_beyond_chance(predicted: HostArray, observed: HostArray, errors: float) -> bool:
    """Whether the means of probabilities [n] and of what came true [n] differ by so many standard errors."""
    p = predicted.astype(float)
    error = math.sqrt(float((p * (1.0 - p)).sum())) / len(p)
    return abs(float(observed.mean()) - float(p.mean())) > errors * error


def _favourite_chances_and_scores(prediction: HostArray, score: HostArray) -> tuple[HostArray, HostArray]:
    """[n] of the favourites, whichever side they are listed on; of equals, each counts half."""
    favours_second = prediction < 0.5
    favourite_score = np.where(favours_second, 1.0 - score, np.where(prediction > 0.5, score, 0.5))
    return np.where(favours_second, 1.0 - prediction, prediction), favourite_score


def _describe_home_scores(home: HomeScores, has_draws: bool, words: SideWords) -> str:
    """How often those at home won, of the matches in which somebody was, and what had been predicted."""
    score = home.score
    where = f"of the {format_count(len(score), 'match')} {words.known}"
    holder, predicted = words.holder[0].upper() + words.holder[1:], f"{home.prediction.mean():.1%}"
    if not has_draws:
        return f"{holder} won {score.mean():.1%} {where}; {predicted} were predicted."
    won, drew = (score == 1.0).mean(), (score == 0.5).mean()
    return (
        f"{holder} won {won:.1%} and drew {drew:.1%} {where}: a score of {score.mean():.1%}, "
        f"where {predicted} was expected."
    )


def _describe_calibration(lean: int, chance: HostArray, score: HostArray, has_draws: bool) -> str:
    """How far favourites' chances [n] were off in percentage points, to which side, and what those near 70% did.

    Where there are draws, each counts as half a win.
    """
    fine = calibration(chance, score, bins=CHANCE_BINS)
    chances = "expected scores" if has_draws else "chances"
    text = f"Favourites' {chances} were off by {100 * fine.error:.1f} percentage points, on average"
    if lean:
        more, did = ("more" if lean > 0 else "less"), ("scored" if has_draws else "won")
        bold = "timid" if lean > 0 else "bold"
        text += f", and favourites {did} {more}{'' if has_draws else ' often'} than predicted: "
        text += f"the {chances} are too {bold}"
    near = slice(*(round(share * CHANCE_BINS) for share in NEAR_CHANCES))
    weight = fine.weight
    count = weight[near].sum()
    if count == 0:
        return f"{text}."
    predicted, observed = (float(np.average(np.nan_to_num(x[near]), weights=weight[near])) for x in fine[:2])
    low, high = NEAR_CHANCES
    favourites = f"the {count:,.0f} favourites" if count > 1 else "the one favourite"
    given = f"{low:.0%} to {high:.0%}, {predicted:.1%} on average"
    opening, of = (". ", "Of ") if lean else (": ", "of ")
    if has_draws:
        favourites = favourites.capitalize() if lean else favourites
        return f"{text}{opening}{favourites} with {given}, scored {observed:.1%}, with a draw as half a win."
    return f"{text}{opening}{of}{favourites} with {given}, {observed:.1%} won."


def _summarise_contests(rated: History, noun: PlayerOrTeamNoun) -> AccuracySummary:
    """Summarise contests of two sides as matches, and others by their fields."""
    is_contested = count_sides(rated.events) > 1
    if not is_contested.any():
        return AccuracySummary("", [NO_DATA_TEXT], [])
    table = {name: x[is_contested] for name, x in rated.events.items()}
    if (count_sides(table) > 2).any():
        return summarise_fields(table, noun)
    first = np.flatnonzero(np.diff(table["event"], prepend=-1))
    return _summarise_two_sided(table["prediction"][first], side_score_by_participant(table)[first])
