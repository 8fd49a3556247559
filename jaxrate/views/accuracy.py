"""How well the predictions of a history were: findings, bins of calibration, and what its maker may do."""

import math
from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count
from jaxrate.events import rounds
from jaxrate.history.event_columns import EventColumns
from jaxrate.history.history import History
from jaxrate.history.recorded_runs import describe_calibration
from jaxrate.metrics import prediction_metrics
from jaxrate.metrics.ranking_metrics import ratio_error
from jaxrate.views.charts import Z_95, Curve
from jaxrate.views.findings import LEANS, Finding, find_overconfidence, result_bias_sign
from jaxrate.views.line_ups import HOME, SideWords, count_sides, home_sides, side_score_by_participant, side_words
from jaxrate.views.wording import PLAYERS, PlayerOrTeamNoun

MIN_BIN_EVENTS = 30  # in a bin; fewer say little
MAX_MISSED_SHARE = 0.2  # of the bins, up to which predictions are said to be right
MIN_MATCHES_FOR_CONSTANT = 30  # matches from which a constant forecast says something
WAYS_OUT = (  # of predictions that lose to a constant
    "jaxrate fit FILE --save fitted.toml",
    "jaxrate rate FILE --param fitted.toml",
    "or jaxrate compare FILE",
)
# What a maker may do; the commands that write pages print it, and pages, whose readers cannot, do not show it.
SIDE_ADVICE = (
    "if the first of each match is at home (--column neutral=NAME names a column of neutral ground): jaxrate rate FILE "
    "--side a"
)
LOSING_ADVICE = f"chances lost to the same chance for all; to do better: {'; '.join(WAYS_OUT)}"
FIT_ADVICE = {
    lean: f"chances were {LEANS[lean]}; to fit hyperparameters to the results: jaxrate fit FILE --save fitted.toml; "
    "jaxrate rate FILE --param fitted.toml --out RUN"
    for lean in (-1, 1)
}
DRAW_ADVICE = (
    "chances of draws were wrong by more than luck; to fit them: jaxrate fit FILE --outlook --free draw_margin --save "
    "fitted.toml; jaxrate rate FILE --param fitted.toml"
)


class CalibrationWords(NamedTuple):
    """What the diagram and its table say of predictions and of what came true."""

    rule: str  # what should be, of 70%
    across: str  # axes of the diagram
    up: str
    expected: str  # heads of columns
    observed: str
    events: str = "matches"
    way: str = "won"  # what favourites did, in findings
    counted: str = "counted"  # how many did so, as a key of phrases
    chances: str = "chances"


CHANCE_WORDS = CalibrationWords(
    "Of all favourites who were given 70%, seven in ten should win", "predicted chance", "share won", "predicted", "won"
)
SCORE_WORDS = CalibrationWords(
    "Favourites with an expected score of 70% should score 70%, where a draw counts as half",
    "expected score",
    "mean score",
    "expected",
    "score",
    way="scored",
    counted="counted with draws",
    chances="expected scores",
)
FIELD_WORDS = CalibrationWords(
    "Those expected to finish ahead of 70% of the others should do so, where a tie counts as half",
    "expected share",
    "share behind",
    "expected",
    "behind",
    "results",
)


class AccuracySummary(NamedTuple):
    """How well the predictions of a history were."""

    headline: Finding
    findings: Sequence[Finding]  # sentences
    bins: Curve | None = None  # in percent
    words: CalibrationWords = CHANCE_WORDS
    advice: tuple[str, ...] = ()  # to the maker, who replaces FILE and RUN
    lean: int = 0  # of predictions, as `find_overconfidence` has it
    calibrated: str = ""  # whether the predictions are calibrated, as a sentence

    @property
    def title(self) -> str:
        """The headline; empty without events."""
        return str(self.headline) * (self.headline != NO_DATA)

    @property
    def text(self) -> str:
        """How often those who were favoured won, and what is wrong."""
        return " ".join(f"{str(x).rstrip('.')}." for x in self.findings if (x.relation, x.certainty) not in METRICS)

    @property
    def metrics(self) -> list[str]:
        """Losses and errors, and whether the predictions are calibrated, as sentences for those who ask for more."""
        told = [str(x) for x in self.findings if (x.relation, x.certainty) in METRICS]
        return [*told, *[self.calibrated] * bool(self.calibrated)]

    @property
    def caveat(self) -> str:
        """What to say beside chances of the same kind, if they have been too bold or too cautious."""
        return f"{_judge_lean(self.lean)} so far." * bool(self.lean)

    @property
    def calibration_title(self) -> str:
        """Whether favourites did as predicted, as a finding; where bins do not bear it out, how far off they were."""
        if self.bins is None:
            return str(_judge_lean(self.lean))
        missed = ~self.bins.agrees
        leans = np.sign((self.bins.y - self.bins.x) * (self.bins.x - 50.0))[missed]
        is_told = (leans == self.lean).all() if self.lean else missed.mean() <= MAX_MISSED_SHARE
        found = _judge_lean(self.lean) if is_told else next(x for x in self.findings if x.relation == "errors")
        return str(found).rstrip(".")


NO_DATA = Finding("order", "none")
METRICS = ("log loss", ""), ("errors", "")  # relations and certainties of findings in terms that few know


def _judge_lean(lean: int) -> Finding:
    """Whether predictions of such a lean are right."""
    return Finding("predictions", LEANS[lean])


def merge_small_bins(count: HostArray) -> HostArray:
    """[B] numbers from 0 of larger bins, of enough events [B] each or one in all: small ones join a neighbour."""
    totals, sizes = np.asarray(count, float).tolist(), [1] * len(count)
    while len(totals) > 1:
        i = min(range(len(totals)), key=lambda k: totals[k])
        if totals[i] >= MIN_BIN_EVENTS:
            break
        k = min((k for k in (i - 1, i + 1) if 0 <= k < len(totals)), key=lambda k: totals[k])
        for values in (totals, sizes):
            values[min(i, k) : max(i, k) + 1] = [values[i] + values[k]]
    return np.repeat(np.arange(len(sizes)), sizes)


def bin_predictions(
    predicted: HostArray, observed: HostArray, num_bins: int, contest: HostArray | None = None
) -> Curve:
    """Bins of equal width in percent, where small ones are merged, from predictions [n] and what came true [n].

    Intervals are Wilson's; with the `contest` [n] of each, whose results depend on each other, they are those of
    contests that are drawn independently.
    """
    number = prediction_metrics.bin_numbers(predicted, num_bins)
    number = merge_small_bins(np.bincount(number, minlength=num_bins))[number]
    count = np.bincount(number)
    mean, share = (np.bincount(number, x) / count for x in (predicted, observed))
    low, high = prediction_metrics.wilson_interval(share, count)
    if contest is not None:
        in_bin = [(observed[number == k], contest[number == k]) for k in range(len(count))]
        errors = [ratio_error(np.bincount(of, came_true), np.bincount(of)) for came_true, of in in_bin]
        half = Z_95 * np.array(errors, float)  # NaN where it is not known
        low, high = np.fmax(share - half, 0.0), np.fmin(share + half, 1.0)
    return Curve("", 100 * mean, 100 * share, 100 * low, 100 * high, count)


FIELD_BINS = 10  # of all shares of a field
MIN_CONTESTS = 10  # from which on intervals, which are by contest, mean something


def summarise_large_contests(table: EventColumns, noun: PlayerOrTeamNoun) -> AccuracySummary:
    """Summarise contests, some of more than two sides: who was ahead of whom, by how much; a team counts once."""
    contest, rank, share = table["event"], table["rank"], table["prediction"].astype(float)
    team = table["team"] if "teams" in table else None
    _, player = np.unique(table["player"][:, 0], return_inverse=True)
    contests = rounds(contest, player, rank, team=team, time=np.zeros(len(rank)))
    order = prediction_metrics.numbers_that_predict_order(contests, share, table["rating"][:, 0].astype(float))
    metrics = prediction_metrics.ranking_metrics(contests, order)
    in_order, off = metrics["pair inversion"], metrics["rank deviation"]
    if in_order is None or off is None:
        return AccuracySummary(NO_DATA, [NO_DATA])
    orders = np.arange(len(rank)), -np.arange(len(rank))  # of each pair that does not tie, one of them is right
    chance = np.mean(
        [prediction_metrics.ranking_metrics(contests, x.astype(float))["pair inversion"] or 0.0 for x in orders]
    )
    title = Finding("order", "title", noun=noun.one, details={"right": in_order})
    pairs = title._replace(certainty="pairs", noun=noun.many, amount=_format_pairs(contests, order))
    findings = [pairs._replace(details={"chance": chance, "off": off})]
    if team is not None:
        first = np.sort(np.unique(np.stack([contest, team]), axis=1, return_index=True)[1])
        rank, share, player, contest = (x[first] for x in (rank, share, player, contest))
        contests = rounds(contest, player, rank, time=np.zeros(len(rank)))
    _, number = np.unique(contest, return_inverse=True)
    if number[-1] + 1 < MIN_CONTESTS:
        return AccuracySummary(title, findings, None, FIELD_WORDS)
    behind = prediction_metrics.observed_share_of_sides_beaten(contests)
    bins = bin_predictions(share, behind, FIELD_BINS, number)
    lean = find_overconfidence(share, behind, contest=number)
    error = float(np.average(np.abs(bins.y - bins.x), weights=bins.weight))
    findings.append(Finding("errors", "", "Expected shares of the field", details={"off": error}))
    return AccuracySummary(title, findings, bins, FIELD_WORDS, lean=lean)


def _format_pairs(contests: Any, order: Any) -> str:
    """The share of pairs in order of those with a contest before, as in tables, with its 95% interval."""
    right, count = prediction_metrics.right_order_shares(
        contests, order, mask=prediction_metrics.experience_mask(contests, 1)
    )
    share, error = right.sum() / count.sum(), ratio_error(right, count)
    if error is None:
        return f"{share:.1%}"
    low, high = np.clip([share - Z_95 * error, share + Z_95 * error], 0.0, 1.0)
    return f"{share:.1%} (95% interval {low:.1%} to {high:.1%})"


FIRST_LISTED_ERRORS = 3.0  # standard errors by which those listed first must do otherwise than predicted to be told
CHANCE_BINS = 20  # of all chances; those of favourites are in the upper half
MIN_DRAW_SHARE = 0.02  # of matches, from which on the title tells draws


def summarise_accuracy(rated: History, noun: PlayerOrTeamNoun = PLAYERS) -> AccuracySummary:
    """Compare all predictions of a history with the results; `noun` is what the rated are called."""
    summary = _summarise_matches(rated) if rated.contests is None else _summarise_contests(rated, noun)
    return summary._replace(calibrated=describe_calibration(rated.system, rated.options))


def _summarise_matches(rated: History) -> AccuracySummary:
    """Summarise matches, with what may be wrong with the chances of draws and of sides."""
    table = rated.events
    score, prediction, side, outcomes = table["score"], table["prediction"], home_sides(rated), _outcome_chances(table)
    said = summarise_two_sided(prediction, score, side, side_words(rated), outcomes)
    constant = prediction_metrics.constant_log_loss(score.astype(float), side, np.ones(len(score)))
    loss = prediction_metrics.match_metrics(prediction.astype(float), score.astype(float))["log loss"]
    drawn = None if outcomes is None or not has_draws(score) else _draws_finding(outcomes[1], score)
    is_losing = len(score) >= MIN_MATCHES_FOR_CONSTANT and loss > constant
    losing = [Finding("log loss", "behind a constant", details={"loss": constant})] * is_losing
    first_listed = _find_first_listed(prediction, score) if side is None else []
    fits_draws = getattr(rated.system.params, "draw_margin", None) is not None
    advice = {
        LOSING_ADVICE: is_losing,
        **{FIT_ADVICE[lean]: not is_losing and said.lean == lean for lean in FIT_ADVICE},
        DRAW_ADVICE: drawn is not None and drawn.certainty != "right" and fits_draws,
        SIDE_ADVICE: bool(first_listed),
    }
    findings = [*said.findings, *losing, *([] if drawn is None else [drawn]), *first_listed]
    return said._replace(findings=findings, advice=tuple(compress(advice, advice.values())))


def _outcome_chances(table: EventColumns) -> HostArray | None:
    """[3, n] the chances of a loss, a draw and a win of the first; None if they were not all predicted."""
    has_outcomes = {"win", "draw", "loss"} <= table.keys() and bool(np.isin(table["score"], (0.0, 0.5, 1.0)).all())
    return np.stack([table[name] for name in ("loss", "draw", "win")]) if has_outcomes else None


def summarise_two_sided(
    prediction: HostArray,
    score: HostArray,
    side: HostArray | None = None,
    words: SideWords = HOME,
    outcomes: HostArray | None = None,
) -> AccuracySummary:
    """Summarise events of two sides: prediction, score, home (1, -1, 0) [n], outcomes' probabilities [3, n]."""
    predictions, score = prediction.astype(float), score.astype(float)
    metrics = prediction_metrics.match_metrics(predictions, score)
    about, drew = SCORE_WORDS if has_draws(score) else CHANCE_WORDS, float((score == 0.5).mean())
    chance = np.maximum(predictions, 1.0 - predictions)  # of the favourite, and what they scored
    result = np.select([predictions < 0.5, predictions > 0.5], [1.0 - score, score], 0.5)
    wins = np.where(predictions == 0.5, 0.5 * np.isin(score, (0.0, 1.0)), result == 1.0).mean()
    side = np.zeros(len(score)) if side is None else side
    home = np.where(side > 0, [predictions, score], [1 - predictions, 1 - score])[:, side != 0]
    is_ahead = home.size > 0 and home[1].mean() > 0.5
    shares = {"wins": wins, "draws": drew, "losses": 1.0 - round(wins, 2) - round(drew, 2)}  # which add up
    details = shares | {"scored": metrics["accuracy"], "count": format_count(len(score), "match")}
    details |= {"holder": words.holder, "home": (home[1] == 1.0).mean() if is_ahead else 0.0}
    favourites = Finding("favourites", "won", details=details)
    kind = "won and drew" if drew > MIN_DRAW_SHARE else "won beside home" if is_ahead else "won"
    off = 100 * prediction_metrics.calibration(chance, result, bins=CHANCE_BINS).error
    findings = [
        favourites._replace(certainty=about.counted),
        _find_loss(metrics, score, outcomes),
        Finding("errors", "", f"Favourites' {about.chances}", details={"off": off}),
    ]
    if is_ahead:
        findings.insert(1, _find_home_scores(home[0], home[1], words, about.way))
    bins, lean = bin_predictions(chance, result, CHANCE_BINS), find_overconfidence(chance, result)
    return AccuracySummary(favourites._replace(certainty=kind), findings, bins, about, lean=lean)


def has_draws(score: HostArray) -> bool:
    """Whether some of the scores [n] are neither those of wins nor of losses."""
    return bool(((score > 0) & (score < 1)).any())


def _find_loss(metrics: dict[str, float], score: HostArray, outcomes: HostArray | None) -> Finding:
    """The log loss beside that of even chances; with draws of all three outcomes, where these were predicted."""
    kind, loss, even = " of the expected scores" * has_draws(score), metrics["log loss"], math.log(2.0)
    if outcomes is not None:
        actual = outcomes[np.rint(2 * score).astype(int), np.arange(len(score))].astype(float)
        loss = -float(np.log(np.maximum(actual, np.finfo(np.float32).tiny)).mean())
        kind, even = " of win, draw and loss", math.log(3.0)
    return Finding("log loss", details={"of": kind, "loss": loss, "even": even, "brier": metrics["Brier score"]})


def _draws_finding(chance: HostArray, score: HostArray) -> Finding:
    """How many matches were drawn, what had been predicted, and whether these differ by more than luck."""
    bias = result_bias_sign(chance, score == 0.5)
    kind = {0: "right", 1: "too low", -1: "too high"}[bias]
    return Finding("draws", kind, details={"predicted": float(chance.mean()), "drawn": float((score == 0.5).mean())})


def _find_first_listed(prediction: HostArray, score: HostArray) -> list[Finding]:
    """What those who are listed first scored, if that is not what was predicted; nothing where winners are first."""
    if not (score < 0.5).any() or not result_bias_sign(prediction, score, errors=FIRST_LISTED_ERRORS):
        return []
    details = {"predicted": float(prediction.mean()), "scored": float(score.mean())}
    return [Finding("first listed", "scored" if has_draws(score) else "won", details=details)]


def _find_home_scores(predicted: HostArray, score: HostArray, words: SideWords, way: str) -> Finding:
    """How often those at home won, of the matches in which somebody was, and what had been predicted."""
    details = {"count": format_count(len(score), "match"), "known": words.known, "predicted": predicted.mean()}
    details |= {"won": (score == 1.0).mean(), "drew": (score == 0.5).mean(), "scored": score.mean()}
    return Finding("home", way, words.holder[:1].upper() + words.holder[1:], details=details)


def _summarise_contests(rated: History, noun: PlayerOrTeamNoun) -> AccuracySummary:
    """Summarise contests of two sides as matches, and others by their fields."""
    is_contested = count_sides(rated.events) > 1
    if not is_contested.any():
        return AccuracySummary(NO_DATA, [NO_DATA])
    table = {name: x[is_contested] for name, x in rated.events.items()}
    if (count_sides(table) > 2).any():
        return summarise_large_contests(table, noun)
    first = np.flatnonzero(np.diff(table["event"], prepend=-1))
    return summarise_two_sided(table["prediction"][first], side_score_by_participant(table)[first])
