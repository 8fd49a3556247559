"""What is found in ratings and predictions, and the one table of phrases that tells it on every surface.

Rules decide who leads and how surely, who is favoured, whether predictions are right, what is new, and how systems
compare. Titles of plots, headlines and sentences of pages, of benchmarks and of commands are findings, so that no two
of them contradict each other. The phrases have no verb that tells one player from a team.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, format_percentage, join_names
from jaxrate.history.leaderboards import EVEN_PERCENT, classify_first_place, classify_lead
from jaxrate.metrics.prediction_metrics import LogLossDifference
from jaxrate.metrics.ranking_metrics import PairOrderDifference
from jaxrate.views.charts import Z_95, Curve, Line, duration_of_lines, format_peak_time
from jaxrate.views.wording import MAX_LISTED_NAMES, PLAYERS, PlayerOrTeamNoun, format_with_unit, list_names

if TYPE_CHECKING:
    from jaxrate.arena.rank_inference import RankSets
    from jaxrate.arena.strength_fit import Strengths

PHRASES = {  # of each relation by its certainty, or what else tells findings of it apart
    "on top": {
        "alone": "{subject} on top",
        "level": "{subject} and {other} almost level on top",
        "narrow": "{subject} narrowly on top, {amount} ahead of {other}",
        "probably ahead": "{subject} on top by {amount}, probably ahead of {other}",
        "probably best": "{subject} probably the best, {amount} ahead of {other}",
        "ahead": "{subject} on top, {amount} ahead of {other}",
        "best": "{subject} on top, {amount} ahead of {other}",
    },
    "new on top": {
        "ahead": "{subject} new on top",
        "best": "{subject} new on top",
    },
    "still on top": {"best": "{subject} still the {noun} to beat"},
    "held": {
        "taken": "{subject} took the lead on {since}",
        "kept": "{subject} in the lead since {since}",
        "by": "{amount} ahead of {other}",
    },
    "form": {  # of a player in the ranking, or in their career
        "first alone": "{subject} first{group}",
        "first level": "{subject} first{group}, almost level with {other}",
        "first": "{subject} first{group}, {amount} ahead",
        "ranked": "{subject} number {rank:,}{group}",
        "unchanged": "{subject} number {rank:,}{group}, unchanged since {since}",
        "up": "{subject} number {rank:,}{group}, up {amount} since {since}",
        "down": "{subject} number {rank:,}{group}, down {amount} since {since}",
        "at the peak": "{subject}, at the highest {noun} so far",
        "over": "{subject} peaked at {amount}{since}",
    },
    "gained": {"": "The greatest gain {since} is that of {subject}: {amount} above the rating over all."},
    "ended": {
        "alone": "{subject} ended at {amount}",
        "highest": "{subject} ended highest at {amount}",
        "level": "{subject} and {other} ended almost level",
        "narrow": "{subject} narrowly ahead of {other} at the end, by {amount}",
        "probable": "{subject} probably ahead of {other} at the end, by {amount}",
        "clear": "{subject} ended {amount} ahead of {other}",
    },
    "peaked": {
        "alone": "{subject} peaked at {amount} {since}",
        "highest": "{subject} peaked highest, at {amount} {since}",
        "highest of these": "{subject} peaked highest of these {other}, at {amount} {since}",
    },
    "ranked first": {
        "alone": "{subject} ranked first {since}",
        "most": "{subject} ranked first most often, {since}",
        "most of these": "{subject} ranked first most often of these {other}, {since}",
    },
    "reached rank": {
        "at best": "{subject} reached rank {amount} at best",
        "best of these": "{subject} reached rank {amount}, the best of these {other}",
        "late": "{subject} ranked only of late",
    },
    "favoured": {
        "all": "{subject} favoured against {other}, at {noun}{amount}% or more",
        "one": "{subject} favoured against {other}, at {noun}{amount}%",
        "even": "{subject} about even",
        "even ahead": "{subject} about even, favoured against {other}",
        "nobody": "Nobody favoured against {other} others",
        "unknown": "Expected scores of {subject}",
    },
    "first in the end": {
        "sure": "{subject} first, whatever is still to come",
        "likely": "{subject} first in {amount} of simulations",
    },
    "predictions": {
        "right": "Predictions neither too bold nor too cautious",
        "too bold": "Predictions too bold: favourites scored less than predicted",
        "too cautious": "Predictions too cautious: favourites scored more than predicted",
        "too low": "Scores higher than predicted",
        "too high": "Scores lower than predicted",
    },
    "best calibrated": {"": "Chances off by {amount} percentage points on average by {subject}, {since} by {other}"},
    "losses": {
        "right": "Predictions right for close and for uneven matches, within chance",
        "too bold": "Predictions too bold, most clearly of favourites with {amount}%",
        "too cautious": "Predictions too cautious, most clearly of favourites with {amount}%",
    },
    "predicted best": {
        "alone": "Log loss of {subject}",
        "level": "{subject} predicted about equally well{since}",
        "of two": "{subject} predicted better than {other}, beyond chance",
        "of all": "{subject} predicted best, beyond chance",
        "of systems": "{subject} predicted best of {amount} systems, {since}",
    },
    "ceilings": {
        "none": "Ratings of {other} data sets, without other forecasts to compare with",
        "some": "Beside the best other forecast, ratings are {amount}",
    },
    "surprise": {
        "more": "{subject} scored more than expected, by {amount} a match",
        "less": "{subject} scored less than expected, by {amount} a match",
        "alone": "{subject} scored as expected, within chance",
        "none": "None of {other} stands out",
        "together more": "None of {other} stands out alone, but together they scored more than expected",
        "together less": "None of {other} stands out alone, but together they scored less than expected",
    },
    "first place": {
        "nobody": "Nobody can be ranked yet",
        "sure": "The best {noun} is {subject}, with {amount}% confidence",
        "open": "The leading {noun} is {subject}, but {other} may be better",
        "wide open": "The leading {noun} is {subject}, but any of {other} others may be the best",
        "within the margin": "The leading {noun} is {subject}, but {other} is within the margin of error",
        "alone": "The leading {noun} is {subject}",
    },
    "lead": {
        "clear": "{subject} ahead of {other} by {amount}; the margin of error is {since}.",
        "open": "{subject} ahead of {other} by {amount}, within the margin of error of {since}.",
        "one of many": "{subject} ahead of {other} by {amount}, with a margin of error of {since}, but with all "
        "{noun} compared at once that is not enough to be sure.",
    },
    "best": {"": "The best is one of {subject}."},
    "among the first": {"": "{subject} surely among the first {other}, at {amount}% confidence."},
    "ordered": {"": "The votes tell who is better in {subject} pairs."},
    "worth": {"": "{subject} would win {amount} of 100 votes against {other}{since}."},
    "favourites": {  # how often they won, as a title, and in sentences
        "won": "The favourite won {wins:.0%} of matches",
        "won and drew": "The favourite won {wins:.0%}, drew {draws:.0%} and lost {losses:.0%} of matches",
        "won beside home": "The favourite won {wins:.0%} of matches, {holder} {home:.0%}",
        "counted": "The favourite won {wins:.1%} of {count}; chance alone gives 50%.",
        "counted with draws": "With a draw as half a win, favourites scored {scored:.1%} in {count}; chance alone "
        "gives 50%.",
    },
    "home": {
        "won": "{subject} won {won:.1%} of the {count} {known}; {predicted:.1%} were predicted.",
        "scored": "{subject} won {won:.1%} and drew {drew:.1%} of the {count} {known}: a score of {scored:.1%}, where "
        "{predicted:.1%} was expected.",
    },
    "first listed": {
        "won": "Those listed first won {scored:.1%}, where {predicted:.1%} was predicted: the ratings know no home "
        "side.",
        "scored": "Those listed first scored {scored:.1%}, where an expected score of {predicted:.1%} was predicted: "
        "the ratings know no home side.",
    },
    "log loss": {
        "": "Log loss{of}: {loss:.4f}; even chances have {even:.4f}, and less is better. Brier score: {brier:.4f}.",
        "behind a constant": "The same chance for all would have been better: the best one has log loss {loss:.4f}.",
    },
    "draws": {
        "right": "Draws had a chance of {predicted:.1%}, on average, and {drawn:.1%} of the matches were drawn.",
        "too high": "Draws had a chance of {predicted:.1%}, on average, and {drawn:.1%} of the matches were drawn: the "
        "chances of draws are too high, by more than luck explains.",
        "too low": "Draws had a chance of {predicted:.1%}, on average, and {drawn:.1%} of the matches were drawn: the "
        "chances of draws are too low, by more than luck explains.",
    },
    "errors": {"": "{subject} were off by {off:.1f} percentage points, on average."},
    "order": {  # of contests of many
        "none": "No predictions can be judged yet.",
        "title": "The {noun} expected to finish ahead did so {right:.0%} of the time",
        "pairs": "Of the pairs of {noun} who had been in a contest before, {amount} were in the predicted order; ties "
        "are in order: chance gives {chance:.1%}. Places were off by {off:.1%} of the field, on average.",
    },
    "best rating": {
        "": "The best rating is {subject}, with log loss {loss:.4f}; past frequencies alone have {floor:.4f}."
    },
    "ceiling": {  # a forecast of others, beside the best rating
        "few": "{subject} has too few matches to compare with.",
        "equal": "{other} and {subject} predict about equally well{since}: they differ by {amount}.",
        "behind": "{other} is ahead of {subject} by {amount}{since}.",
        "ahead": "{subject} is ahead of {other} by {amount}{since}.",
        "way": "{subject} is ahead of {other} by {amount}; {other} goes {share:.0f}% of the way to it from the "
        "frequencies.",
    },
    "trees": {
        "equal": "{subject} differ from {other} by {amount}: no evidence is clearly left on the table.",
        "behind": "{subject} are behind {other} by {amount}: they find no evidence that it leaves.",
        "ahead": "{subject} are ahead of {other} by {amount}: so much is still on the table.",
        "ratings ahead": "On the ratings alone they are ahead by {amount}, since they blend and stretch them.",
    },
    "evidence": {
        "clear": "Beyond the ratings, evidence is in {subject}.",
        "unclear": "They gain nothing clear from {subject}.",
        "doubtful": "Mind that {subject} adds more than half of what the ratings say. Is it really known before the "
        "match? If not, the trees are no ceiling.",
    },
    "verdict": {  # of the best system and the best other forecast, the one that is ahead first
        "apart": "{subject} called {amount} of 1,000 matches right, {other} {since}",
        "same": "{subject} and {other} both called {amount} of 1,000 matches right",
    },
}


class Finding(NamedTuple):
    """A finding about a subject, compared with another one; `str` puts it into words."""

    relation: str  # a key of `PHRASES`
    certainty: str = ""  # a key of the phrases of the relation
    subject: str = ""
    other: str = ""  # a name, or how many others
    amount: float | str = ""  # a number in the unit, or a text
    unit: str = ""
    since: str = ""  # when, or where
    noun: str = ""  # what one of them is called, or all
    details: Mapping[str, Any] = {}  # further numbers and words that phrases have

    def __str__(self) -> str:
        amount = self.amount if isinstance(self.amount, str) else format_with_unit(self.amount, self.unit)
        return PHRASES[self.relation][self.certainty].format(**self._asdict() | {"amount": amount, **self.details})


def add_place(finding: Finding, place: str) -> str:
    """A finding that holds in a place, as "On clay, Ada on top"."""
    text = str(finding) if finding.subject else f"{str(finding)[:1].lower()}{str(finding)[1:]}"
    return f"{place[:1].upper()}{place[1:]}, {text}" if place else str(finding)


# Who is on top, and for how long.

RECENT_DAYS = 60.0  # a lead that is younger is news
LONG_DAYS = 330.0  # a lead that is older lasts "still"
SHARED_END = 0.05  # share of the time of all lines in which they end, if their ends are compared


def find_lead(names: Sequence[str], ratings: HostArray, deviations: HostArray, unit: str) -> Finding:
    """The lead on top of a list, the best first: who leads, by how much and how surely."""
    if len(names) < 2 or ratings[0] < ratings[1]:  # one row, or an order by another value
        return Finding("on top", "alone", names[0])
    place = classify_first_place(ratings.tolist(), deviations.tolist())
    return Finding("on top", place, names[0], names[1], float(ratings[0] - ratings[1]), unit)


def is_new_lead(held: float) -> bool:
    """Whether a lead that has been held for so many days is news; NaN is not known."""
    return held < RECENT_DAYS


def date_lead_finding(lead: Finding, held: float, is_taken: bool, noun: PlayerOrTeamNoun) -> Finding:
    """The lead as news if it was taken lately, or as an old one, if it is sure enough; `held` are days, or NaN."""
    age = "new on top" if is_taken else "still on top" if held >= LONG_DAYS else "on top"
    return lead._replace(relation=age, noun=noun.one) if lead.certainty in PHRASES[age] else lead


def find_end_or_peak(
    lines: Sequence[Line],
    clock: str,
    unit: str,
    num_early: int = 0,
    *,
    others_peak: float = -math.inf,
    prefers_peaks: bool = False,
) -> Finding:
    """The lead at the end of lines of ratings; of one, of others or if `prefers_peaks`, the highest rating."""
    settled = [line.select(slice(num_early, None)) for line in lines if len(line.y) > num_early]
    if len(lines) > 1 and _do_lines_end_together(lines, clock) and not (prefers_peaks and settled):
        return _find_lead_at_end(lines, unit)
    kind = "highest" if len(lines) > 1 else "alone"
    if not settled:
        last = max(lines, key=lambda line: float(line.y[-1]))
        return Finding("ended", kind, last.name, amount=format_with_unit(float(last.y[-1]), unit, 0))
    line = max(settled, key=lambda line: float(np.nanmax(line.y)))
    peak = int(np.nanargmax(line.y))
    among = " of these" * (len(lines) > 1 and bool(line.y[peak] < others_peak))
    when = _describe_peak_time(line.x[peak], clock, duration_of_lines(lines))
    return Finding("peaked", kind + among, line.name, str(len(lines)), float(line.y[peak]), unit, when)


def _do_lines_end_together(lines: Sequence[Line], clock: str) -> bool:
    """Whether lines end at about one time, or go by numbers of events."""
    ends = [float(line.x_numbers()[-1]) for line in lines]
    return clock not in ("date", "time") or max(ends) - min(ends) <= SHARED_END * duration_of_lines(lines)


def _describe_peak_time(at: Any, clock: str, span: float) -> str:
    """When a rating was the highest, in a plot of such a span."""
    if clock in ("date", "time"):
        return f"{'in' if clock == 'date' else 'at time'} {format_peak_time(at, span)}"
    return f"after {format_count(int(at), 'contest' if clock == 'contests' else 'match')}"


def _find_lead_at_end(lines: Sequence[Line], unit: str) -> Finding:
    """The lead at the end of several lines."""
    first, second = sorted(lines, key=lambda line: -float(line.y[-1]))[:2]
    gap = float(first.y[-1] - second.y[-1])
    deviations = [float(line.half_width[-1]) / Z_95 for line in (first, second)]
    return Finding("ended", classify_lead(gap, deviations), first.name, second.name, gap, unit)


def find_most_firsts(ranks: HostArray, labels: Mapping[int, str], is_yearly: bool = False) -> Finding:
    """The player who was first most often, from ranks [m, N] of all, NaN where they are not listed, and names by id."""
    firsts = (ranks == 1).sum(axis=0)
    most = int(firsts[[*labels]].max())
    if not most:
        return _find_best_rank({name: ranks[:, i] for i, name in labels.items()})
    names = [name for i, name in labels.items() if firsts[i] == most]
    is_limited = bool(np.delete(firsts, [*labels]).max(initial=0) >= most)
    kind = f"most{' of these' * is_limited}" if len(labels) > 1 else "alone"
    when = f"{most:,} of {len(ranks):,} {'years' if is_yearly else 'dates'}"
    when = f"{'each ' * (len(names) > 1)}{'at the end of' if is_yearly else 'on'} {when}"
    return Finding("ranked first", kind, list_names(names), str(len(labels)), since=when)


def _find_best_rank(ranks: Mapping[str, HostArray]) -> Finding:
    """The player with the best rank, if nobody was first."""
    best = {name: int(np.nanmin(rank)) for name, rank in ranks.items() if not np.isnan(rank).all()}
    if not best:
        return Finding("reached rank", "late", list_names([*ranks]))
    names = [name for name, x in best.items() if x == min(best.values())]
    kind = "best of these" if len(names) < len(ranks) else "at best"
    return Finding("reached rank", kind, list_names(names), str(len(ranks)), float(min(best.values())))


class Standing(NamedTuple):
    """Where a player stands in the ranking."""

    rank: int  # from 1, in the group
    group: int  # from 1
    change: float  # of the rating since a time, as it is shown; NaN of who has none
    since: str  # that time


def find_player_standing(name: str, standing: Standing, lead: Finding, unit: str) -> Finding:
    """The lead of who is first in the group, as `find_lead` has it, or else the rank and the change."""
    group = f" of group {standing.group}" * (standing.group > 1)
    found = Finding("form", "ranked", name, unit=unit, details={"rank": standing.rank, "group": group})
    if standing.rank == 1:
        kind = {"alone": "first alone", "level": "first level"}.get(lead.certainty, "first")
        return found._replace(certainty=kind, other=lead.other, amount=lead.amount)
    change = standing.change
    kind = {1.0: "up", 0.0: "unchanged", -1.0: "down"}.get(float(np.sign(change)), "ranked")  # NaN is not known
    return found._replace(certainty=kind, amount=abs(np.nan_to_num(change)), since=standing.since)


def find_past_peak(name: str, rating: float, days: HostArray | None, peak: int, unit: str) -> Finding:
    """The highest rating of who plays no more, with its year or its month."""
    since = ""
    if days is not None:
        since = f" in {format_peak_time(np.datetime64(int(days[peak]), 'D'), float(days[-1] - days[0]))}"
    return Finding("form", "over", name, amount=rating, unit=unit, since=since)


# Who is favoured.


def find_favourite(names: Sequence[str], percent: HostArray, is_cut: bool = False) -> Finding:
    """The favourite against the others, from expected scores [n, n] in percent; NaN where there is none."""
    compared = np.where(np.eye(len(names), dtype=bool), np.inf, percent)
    least = compared.min(axis=1)  # NaN of who cannot be compared with somebody
    if np.isnan(least).all():
        return Finding("favoured", "unknown", list_names(names))
    best = int(np.nanargmax(least))
    rival = int(np.argmin(compared[best]))
    if least[best] > EVEN_PERCENT:
        kind = "one" if len(names) == 2 else "all"
        return Finding("favoured", kind, names[best], _name_others(names, [best], is_cut), float(least[best]))
    if abs(least[best] - 50.0) > EVEN_PERCENT - 50.0:
        return Finding("favoured", "nobody", other="both" if len(names) == 3 else f"all of the {len(names) - 1:,}")
    pair = sorted([best, rival])
    further = np.delete(compared[pair], pair, axis=1)
    kind = "even ahead" if further.size and (further > EVEN_PERCENT).all() else "even"
    return Finding("favoured", kind, " and ".join(names[i] for i in pair), _name_others(names, pair, is_cut))


def _name_others(names: Sequence[str], chosen: Sequence[int], is_cut: bool) -> str:
    """All but those chosen, by name if it is one."""
    others = [name for i, name in enumerate(names) if i not in chosen]
    return others[0] if len(others) == 1 else f"the {'next' if is_cut else 'other'} {len(others):,}"


def find_first_in_the_end(players: Sequence[object], chances: HostArray, *, is_decided: bool = False) -> Finding:
    """The player who is first in most simulations [n], or whom nobody can overtake."""
    best = int(np.argmax(chances))
    kind, amount = ("sure", "") if is_decided else ("likely", format_percentage(float(chances[best])))
    return Finding("first in the end", kind, str(players[best]), amount=amount)


# Whether predictions are right.

CLEAR_DISTANCE = 0.05  # of a prediction from even chances, from which on there is a favourite
MIN_BIAS = 0.01  # by which scores differ from predictions at least, to be said to
SURPRISE_LEVEL = 0.05  # probability of naming somebody if nobody's scores are more than chance
LEANS = {-1: "too bold", 0: "right", 1: "too cautious"}
BIASES = {-1: "too high", 1: "too low"}


def find_overconfidence(predicted: Any, observed: Any, weight: Any = 1.0, contest: HostArray | None = None) -> int:
    """-1 if predictions [n] are too bold, beyond chance and by more than a little, 1 if too cautious, 0 if neither.

    The test is that of the slope: the misses, weighted by how far the predictions are from one half, add up to nothing
    if the predictions are right. Favourites must also score less or more than predicted on average; toss-ups do not
    count. Events, or the `contest` [n] of each, count as drawn independently; one of weight w counts as w events.
    """
    p = np.asarray(predicted, float)
    distance = p - 0.5
    weight = weight * (np.abs(distance) >= CLEAR_DISTANCE)
    misses = weight * (observed - p)
    terms = misses * distance
    variance = float((weight * distance**2 * p * (1.0 - p)).sum())
    if contest is not None:
        variance = max(variance, float((np.bincount(contest, terms) ** 2).sum()))
    total, error = float(terms.sum()), math.sqrt(variance)
    excess = float((misses * np.sign(distance)).sum())
    is_clear = abs(total) > Z_95 * error and np.sign(total) * excess > MIN_BIAS * float(weight.sum())
    return int(np.sign(total)) if is_clear else 0


def result_bias_sign(predicted: Any, observed: Any, weight: Any = 1.0, errors: float = Z_95) -> int:
    """1 if results [n] are more on average than their chances, by so many standard errors, -1 if less, 0 if neither."""
    p, w = np.asarray(predicted, float), np.broadcast_to(weight, np.shape(predicted))
    bias = float((w * (observed - p)).sum() / w.sum())
    error = math.sqrt(float((w**2 * p * (1.0 - p)).sum())) / float(w.sum())
    return int(np.sign(bias)) if abs(bias) > max(errors * error, MIN_BIAS) else 0


def judge_predictions(predicted: Any, observed: Any, weight: Any = 1.0) -> Finding:
    """Whether scores are higher or lower than predicted, or else predictions too bold or too cautious, or right."""
    bias = result_bias_sign(predicted, observed, weight)
    return Finding("predictions", BIASES[bias] if bias else LEANS[find_overconfidence(predicted, observed, weight)])


def find_best_calibrated(errors: Mapping[str, float]) -> Finding:
    """How far predictions are off, from the calibration errors of systems: of that with the least and the greatest."""
    best, *_, worst = sorted(errors, key=errors.__getitem__)
    least, greatest = (f"{100.0 * errors[name]:.1f}" for name in (best, worst))
    return Finding("best calibrated", subject=best, other=worst, amount=least, since=greatest)


def judge_losses(curve: Curve) -> Finding:
    """At which chance of the favourite losses differ most from expected ones, if surprisingly: too bold or cautious."""
    error, excess = (curve.high - curve.y) / Z_95, curve.y - curve.expected
    z = np.divide(excess, error, out=np.zeros(len(error)), where=error > 0)
    worst = int(np.argmax(np.abs(z)))
    if abs(z[worst]) < surprise_limit(len(z)):
        return Finding("losses", "right")
    return Finding("losses", LEANS[-int(np.sign(z[worst]))], amount=float(curve.x[worst]))


def find_best_system(names: Sequence[str], gaps: Sequence[Any], others: Mapping[str, Any] = {}) -> Finding:
    """Which system predicts best, the first being the best, and whether that is more than chance among all pairs.

    `gaps` are the differences of each from the best with their errors. The best was chosen by the same data, so all
    pairs are allowed for (Bonferroni). `others` are those of forecasts by no system, by name: the best one is not said
    to be better than what is level with it or ahead.
    """
    if len(names) < 2:
        return Finding("predicted best", "alone", names[0])
    place, pairs = _list_level_and_better_forecasts(others), count_pairs(len(names))
    level = [name for name, gap in zip(names, gaps, strict=True) if judge_gap_to_best(gap, pairs) != "behind"]
    if len(level) > 1:
        subject = f"All {len(names)} systems" if len(level) == len(names) > 2 else list_names(level)
        return Finding("predicted best", "level", subject, since=place and f", {place}")
    if place:
        return Finding("predicted best", "of systems", names[0], amount=f"{len(names)}", since=place)
    return Finding("predicted best", "of two" if len(names) == 2 else "of all", names[0], names[1])


def _list_level_and_better_forecasts(others: Mapping[str, Any]) -> str:
    """Which other forecasts the best system is level with or behind, by their gaps to it; nothing if it is ahead."""
    relations = {name: judge_gap_to_best(gap) for name, gap in others.items() if gap is not None}
    ways = {"level with": "equal", "behind": "ahead"}
    those = {way: [x for x in relations if relations[x] == wanted] for way, wanted in ways.items()}
    return ", ".join(f"{way} {join_names(names)}" for way, names in those.items() if names)


def judge_gap_to_best(gap: LogLossDifference | PairOrderDifference | None, num_comparisons: int = 1) -> str:
    """Whether a gap to the best system is "ahead", "behind" or "equal", beyond chance by Bonferroni's bound."""
    if gap is None or gap.error is None or abs(gap.difference) <= surprise_limit(num_comparisons) * gap.error:
        return "equal"
    return "behind" if gap.difference > 0 else "ahead"


MIN_WORTH = 0.0003  # nats that a kind of evidence is worth at least to be named
MIN_SHARE_OF_WAY = 0.002  # nats between floor and ceiling from which a share of the way is told


def format_gap(gap: LogLossDifference | None) -> str:
    """The size of a difference with its 95% interval, as "0.0013 ± 0.0018"; of one match without, and none of none."""
    if gap is None:
        return ""
    return f"{abs(gap.difference):.4f}" + ("" if gap.error is None else f" ± {Z_95 * gap.error:.4f}")


def find_against_ceiling(name: str, best: str, gap: LogLossDifference | None, way: float, where: str = "") -> Finding:
    """How a forecast of others and the best system compare, which is so far from the frequencies."""
    if gap is None or gap.error is None:
        return Finding("ceiling", "few", name)
    kind, whole = judge_gap_to_best(gap), way - gap.difference
    found = Finding("ceiling", kind, name, best, format_gap(gap), since=where)
    if kind == "ahead" and not where and way > 0 and whole >= MIN_SHARE_OF_WAY:
        return found._replace(certainty="way", details={"share": 100.0 * way / whole})
    return found


def find_evidence_beside_ratings(worth: Mapping[str, LogLossDifference], suspect: float) -> list[Finding]:
    """What trees find beside the ratings, by the log loss that they add without it; above `suspect` it is doubted."""
    is_clear = {x: y.difference >= MIN_WORTH and judge_gap_to_best(y, len(worth)) == "behind" for x, y in worth.items()}
    clear = [f"{x} (without it they lose {format_gap(y)})" for x, y in worth.items() if is_clear[x]]
    unclear = [x for x in worth if not is_clear[x]]
    told = ("clear", clear, "and"), ("unclear", unclear, "or")
    return [
        *(Finding("evidence", kind, join_names(names, conjunction)) for kind, names, conjunction in told if names),
        *(Finding("evidence", "doubtful", x) for x, y in worth.items() if y.difference > suspect),
    ]


def count_pairs(count: int) -> int:
    """The number of pairs of so many."""
    return max(count * (count - 1) // 2, 1)


def surprise_limit(count: int) -> float:
    """The standard errors beyond which the largest of so many surprises is more than chance."""
    return NormalDist().inv_cdf(1.0 - 0.5 * SURPRISE_LEVEL / count)


def find_surprising_player(name: str, mean: float, z: float, count: int, z_of_all: float) -> Finding:
    """The player who scored otherwise than expected, if that is more than chance among so many players."""
    others = f"{count:,}"
    if abs(z) >= surprise_limit(count):
        return Finding("surprise", "more" if mean > 0 else "less", name, amount=f"{abs(mean):.2f}")
    if count == 1:
        return Finding("surprise", "alone", name)
    if abs(z_of_all) >= surprise_limit(1):
        return Finding("surprise", f"together {'more' if z_of_all > 0 else 'less'}", other=others)
    return Finding("surprise", "none", other=others)


# Who may be the best of an arena.

MAX_RIVALS = 2  # names of others who may be the best; of more, their number
TOP_SIZES = 2, 3, 5, 10, 20, 50  # numbers of first ranks


def find_first_place(
    names: Sequence[str], strengths: "Strengths", ranks: "RankSets | None", noun: PlayerOrTeamNoun = PLAYERS
) -> Finding:
    """The finding who is best, and who else may be."""
    rated = rated_ids(strengths)
    if not len(rated):
        return Finding("first place", "nobody")
    if len(rated) > 1 and ranks is not None:
        leaders = [rated[0], *(i for i in ranks.possible_leaders if i != rated[0])]
        return find_leader_among([names[i] for i in leaders], ranks.level, noun)
    gap, margin = _lead_and_margin(strengths, rated)
    kind, other = ("within the margin", names[rated[1]]) if gap < margin else ("alone", "")
    return Finding("first place", kind, names[rated[0]], other, noun=noun.one)


def find_leader_among(leaders: Sequence[str], level: float, noun: PlayerOrTeamNoun = PLAYERS) -> Finding:
    """The leader among all who may have rank 1, the best first, and how sure their lead is."""
    first, *others = leaders
    if not others:
        return Finding("first place", "sure", first, amount=f"{100 * level:g}", noun=noun.one)
    is_short = len(others) <= MAX_RIVALS
    other = join_names(others, "or") if is_short else f"{len(others):,}"
    return Finding("first place", "open" if is_short else "wide open", first, other, noun=noun.one)


def rated_ids(strengths: "Strengths") -> HostArray:
    """[R] the ids of those with a finite rating, the best first."""
    return strengths.order[np.isfinite(strengths.rating[strengths.order])]


def _lead_and_margin(strengths: "Strengths", rated: HostArray) -> tuple[float, float]:
    """The points by which the first is ahead of the second, and their margin of error; no numbers without a margin."""
    if len(rated) < 2 or strengths.covariance is None or not strengths.converged:
        return math.nan, math.nan
    points, error = strengths.difference(*strengths.players[rated[:2]])
    return float(points), float(strengths.errors_to_either_side * error)


def find_lead_in_votes(
    names: Sequence[str], strengths: "Strengths", ranks: "RankSets | None", noun: PlayerOrTeamNoun = PLAYERS
) -> Finding | None:
    """The first's lead over the second, and how sure it is, with ranks jointly with all orders; None without margin."""
    rated = rated_ids(strengths)
    gap, margin = _lead_and_margin(strengths, rated)
    if math.isnan(gap):
        return None
    is_sure = ranks is None or bool(ranks.surely_better[rated[0], rated[1]])
    kind = "open" if gap <= margin else "clear" if is_sure else "one of many"
    first, second = (names[i] for i in rated[:2])
    return Finding(
        "lead", kind, first, second, format_with_unit(gap, "points", 0), "", f"{margin:.0f}", noun.quantify(len(names))
    )


def find_certain_ranks(
    names: Sequence[str], strengths: "Strengths", ranks: "RankSets | None", noun: PlayerOrTeamNoun = PLAYERS
) -> list[Finding]:
    """The certain statements about the first place, the first ranks and the order of pairs."""
    rated = rated_ids(strengths)
    if ranks is None or len(rated) < 2:
        return []
    leaders = ranks.possible_leaders
    is_short = len(leaders) <= MAX_LISTED_NAMES
    best = join_names([names[i] for i in leaders], "or") if is_short else noun.quantify(len(leaders))
    pairs, ordered = count_pairs(len(rated)), int(ranks.surely_better[np.ix_(rated, rated)].sum())
    return [
        *[Finding("best", subject=best)][: len(leaders) - 1],
        *_find_who_is_on_top(names, strengths, ranks),
        Finding("ordered", subject=f"{ordered:,} of {pairs:,}" if ordered < pairs else f"all {pairs:,}"),
    ]


def _find_who_is_on_top(names: Sequence[str], strengths: "Strengths", ranks: "RankSets") -> list[Finding]:
    """The players who surely have one of the first ranks, of as few ranks as somebody surely keeps to."""
    least = 2 if len(ranks.possible_leaders) == 1 else 1
    for size in (x for x in TOP_SIZES if x < len(strengths.order)):
        inside = [names[i] for i in strengths.order.tolist() if ranks.greatest[i] <= size]
        if least <= len(inside) <= MAX_LISTED_NAMES:
            return [Finding("among the first", "", join_names(inside), str(size), f"{100 * ranks.level:g}")]
    return []


def find_worth_in_votes(names: Sequence[str], strengths: "Strengths") -> Finding | None:
    """The votes of 100 that the first would win against the second; None of fewer than two."""
    rated = rated_ids(strengths)
    if len(rated) < 2:
        return None
    score = float(strengths.expected_percentages(rated[:1], rated[1:2])[0, 0])
    half = "" if strengths.tie is None else ", a tie as half"
    return Finding("worth", "", names[rated[0]], names[rated[1]], f"{score:.0f}", since=half)
