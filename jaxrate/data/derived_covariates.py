"""Columns that are computed from a history: rest, breaks, activity, form, ground, category, and relative margins.

Each is the first player's less the second's. What it is at a match follows from the matches above it:

    rest       min(days since the player's last match, cap); newcomers are rested
    lay-off    log(max(days since the player's last match / threshold, 1)), of newcomers 0
    activity   log(1 + the player's matches, each counted as exp(-days since / fade))
    form       the sum of surprises, score - expected, in the player's matches, each times exp(-days since / fade)
    ground     log(1 + the player's matches on this ground, each counted as exp(-days since / fade))

    expected = 1 / (1 + 10^((R_b - R_a) / 400)),   R_a <- R_a + K (score - expected)   (Elo 1978), R of newcomers 0

The lead of first players in a category is rated beside them: it is L of the category of the match, 0 at first, and

    expected = 1 / (1 + 10^((R_b - R_a - L) / 400)),   L <- L + 1600 / (memory log 10) (score - expected)

which is a step of Newton's where it is known from so many matches.

A relative margin is the margin divided by the mean total of both sides' points in the matches until then, of which
that of k matches ago counts as exp(-k / memory).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.events.dataset import Dataset

ELO_K = 24.0  # points
GROUND_FADE = 730.0  # days
MAX_SPAN = 1e9  # days, or matches


class PlayedAndUpcomingMatches(NamedTuple):
    """What is known of matches that were played, and of those to come."""

    player: HostArray  # [n, 2] names
    time: HostArray  # [n] days
    score: HostArray  # [n] of the first player; NaN: to come
    points: HostArray  # [n, 2] of each side; NaN: to come, or not known
    venue: HostArray  # [n] names of the grounds; None: not known
    category: HostArray  # [n, 2] names of the categories of both players; None: not known


def records_of_history(history: Any) -> PlayedAndUpcomingMatches:
    """The matches of a dataset or of a rated history."""
    if isinstance(history, Dataset):
        matches, margin = history.matches, history.margin
        columns: Any = matches.context.columns
        events = {"player": matches.player, "time": matches.time, "score": matches.score, "venue": history.venues}
        events |= {"points": np.stack([columns[name] for name in margin], axis=1)} if len(margin) == 2 else {}
        if has_one_category(history):
            events["category"] = np.asarray(history.categories, object)[matches.context.category]
    else:
        events = getattr(history, "events", {})
        if not {"time", "player", "score"} <= events.keys():
            raise ValueError("history must be an earlier Dataset or a History, of matches with times")
    n, is_coming = len(events["score"]), getattr(history, "upcoming", False)
    points = np.asarray(events.get("points", np.full((n, 2), np.nan)), np.float64)
    venue, category = events.get("venue"), events.get("category")
    return PlayedAndUpcomingMatches(
        np.asarray(history.players, object)[np.asarray(events["player"])],
        np.asarray(events["time"], np.float64),
        np.where(is_coming, np.nan, np.asarray(events["score"], np.float64)),
        np.where(is_coming, np.nan, points),
        np.full(n, None) if venue is None else np.asarray(venue, object),
        np.full((n, 2), None) if category is None else np.asarray(category, object),
    )


def has_one_category(data: Dataset) -> bool:
    """Whether each player of a match meets one category of a known name."""
    category = data.matches.context.category
    return data.categories is not None and category is not None and category.ndim == 2


def days_since_last_match(records: PlayedAndUpcomingMatches) -> HostArray:
    """[n, 2] the days since the last match of each player; infinite for newcomers."""
    last_time = defaultdict[Any, float](lambda: -math.inf)
    days = np.empty(records.player.shape)
    for i, (players, time) in enumerate(zip(records.player.tolist(), records.time.tolist(), strict=True)):
        days[i] = [time - last_time[player] for player in players]
        last_time.update(dict.fromkeys(players, time))
    return days


def fading_sums(groups: Iterable[Sequence[Any]], time: HostArray, amounts: HostArray, fade: float) -> HostArray:
    """[n, k] what k groups [n][k] have received before, amounts [n, k] faded by exp(-time since / fade)."""
    nothing = 0.0, -math.inf  # the sum after the last match, and its time
    after = defaultdict[Any, tuple[float, float]](lambda: nothing)
    sums = np.empty(amounts.shape)
    for i, (receivers, now, received) in enumerate(zip(groups, time.tolist(), amounts.tolist(), strict=True)):
        before = [total * math.exp((then - now) / fade) for total, then in map(after.__getitem__, receivers)]
        sums[i] = before
        after.update({x: (total + more, now) for x, total, more in zip(receivers, before, received, strict=True)})
    return sums


def elo_surprises(records: PlayedAndUpcomingMatches, memory: float = math.inf) -> tuple[HostArray, HostArray]:
    """[n] scores of first players less what Elo expected (0 of matches to come), and their leads by category."""
    rating, lead = defaultdict[Any, float](float), defaultdict[Any, float](float)
    surprises, leads = np.zeros((2, len(records.score)))
    step = 1600.0 / (memory * math.log(10.0))
    categories = map(tuple, records.category.tolist())
    for i, ((a, b), score, category) in enumerate(
        zip(records.player.tolist(), records.score.tolist(), categories, strict=True)
    ):
        leads[i] = lead[category]
        if not math.isnan(score):
            surprises[i] = surprise = score - 1.0 / (1.0 + 10.0 ** ((rating[b] - rating[a] - leads[i]) / 400.0))
            rating[a] += ELO_K * surprise
            rating[b] -= ELO_K * surprise
            if None not in category:
                lead[category] += step * surprise
    return surprises, leads


def rest_days(records: PlayedAndUpcomingMatches, cap: float) -> HostArray:
    """[n, 2] the days since the last match of each player, as far as they count."""
    return np.minimum(days_since_last_match(records), cap)


def log_layoffs(records: PlayedAndUpcomingMatches, threshold: float) -> HostArray:
    """[n, 2] the logarithm of the days since the last match of each player, as a multiple of a threshold."""
    days = days_since_last_match(records)
    return np.log(np.where(np.isfinite(days), np.maximum(days / threshold, 1.0), 1.0))


def forms(records: PlayedAndUpcomingMatches, fade: float) -> HostArray:
    """[n, 2] the fading sum of the surprises of each player."""
    surprises, _ = elo_surprises(records)
    return fading_sums(records.player.tolist(), records.time, np.stack([surprises, -surprises], axis=1), fade)


def recent_activity(records: PlayedAndUpcomingMatches, fade: float) -> HostArray:
    """[n, 2] the logarithm of 1 and the fading count of matches that each player has had."""
    return np.log1p(fading_sums(records.player.tolist(), records.time, np.ones(records.player.shape), fade))


def ground_knowledge(records: PlayedAndUpcomingMatches, fade: float) -> HostArray:
    """[n, 2] the logarithm of 1 and the fading count of matches that each player has had on the ground."""
    pairs = zip(records.player.tolist(), records.venue.tolist(), strict=True)
    groups = [[(player, venue) for player in players] for players, venue in pairs]
    counts = fading_sums(groups, records.time, np.ones(records.player.shape), fade)
    is_known = np.array([venue is not None for venue in records.venue], bool)
    return np.log1p(np.where(is_known[:, None], counts, 0.0))


def category_leads(records: PlayedAndUpcomingMatches, memory: float) -> HostArray:
    """[n, 2] by how many points first players are ahead in the category of the match, and 0 of second players."""
    _, leads = elo_surprises(records, memory)
    return np.stack([leads, np.zeros(len(leads))], axis=1)


def relative_points(records: PlayedAndUpcomingMatches, memory: float) -> HostArray:
    """[n, 2] the points of each side divided by the mean total of both until then; 0 of matches to come."""
    total = records.points.sum(axis=1)
    is_known = np.isfinite(total)
    amounts = np.stack([np.where(is_known, total, 0.0), is_known], axis=1)
    sums = amounts + fading_sums([("points", "matches")] * len(total), np.arange(len(total)), amounts, memory)
    mean = np.divide(sums[:, 0], sums[:, 1], where=sums[:, 1] > 0, out=np.zeros(len(total)))
    has_mean = is_known & (mean > 0)
    return np.divide(records.points, mean[:, None], where=has_mean[:, None], out=np.zeros(records.points.shape))


class DerivedColumn(NamedTuple):
    """A column that follows from the matches above."""

    compute: Callable[[PlayedAndUpcomingMatches, float], HostArray]  # [n, 2] of both players, by matches and a span
    unit: str = "days"  # of the span
    is_covariate: bool = True  # known before the match
    needed: str = ""  # beside times, of what it is made
    is_there: Callable[[Dataset], bool] = lambda data: True  # whether events have that


DERIVED_COLUMNS = {
    "rest": DerivedColumn(rest_days),
    "layoff": DerivedColumn(log_layoffs),
    "activity": DerivedColumn(recent_activity),
    "form": DerivedColumn(forms),
    "ground": DerivedColumn(
        ground_knowledge, needed="venue, the column of the ground", is_there=lambda data: data.venues is not None
    ),
    "category_lead": DerivedColumn(
        category_leads, "matches", needed="category, one of each match or of each player", is_there=has_one_category
    ),
    "relative_margin": DerivedColumn(
        relative_points,
        "matches",
        is_covariate=False,
        needed="margin, two columns with the points of each side",
        is_there=lambda data: len(data.margin) == 2,
    ),
}


@enforce_argument_annotations
def add_rest(data: Dataset, cap: float = 14.0, history: Any = None) -> Dataset:
    """The matches with a covariate `rest`: the days since each player's last match, those of a less those of b.

        data = jr.data.add_rest(jr.read("games.csv"), cap=10)
        rated = jr.rate(jr.skills(jr.parts.covariate("rest", 3)), data)

    Args:
      data: matches with times, as from `read`; their `fixtures` follow them.
      cap: days that longer rests count as; newcomers have had the longest.
      history: the matches before these: an earlier `Dataset`, or a `History`. None: there were none.

    Raises:
      ValueError: for contests, for matches without times, or with a column that is called so.
    """
    return add_derived_column(data, "rest", cap, history)


@enforce_argument_annotations
def add_layoff(data: Dataset, threshold: float = 30.0, history: Any = None) -> Dataset:
    """The matches with a covariate `layoff`: how long each player has been away, that of a less that of b.

    It is the logarithm of the days since the last match as a multiple of the threshold. Shorter breaks count as none,
    and so does that of a newcomer.

        data = jr.data.add_layoff(jr.read("fights.csv"), threshold=180)
        rated = jr.rate(jr.skills(jr.parts.covariate("layoff", -40)), data)

    Args:
      data: matches with times, as from `read`; their `fixtures` follow them.
      threshold: days after which a break is a lay-off.
      history: the matches before these: an earlier `Dataset`, or a `History`. None: there were none.

    Raises:
      ValueError: for contests, for matches without times, or with a column that is called so.
    """
    return add_derived_column(data, "layoff", threshold, history)


@enforce_argument_annotations
def add_activity(data: Dataset, fade: float = 30.0, history: Any = None) -> Dataset:
    """The matches with a covariate `activity`: how much each player has played of late, that of a less that of b.

    It is the logarithm of 1 and the number of matches that the player has had, which fade. In tennis who plays more
    plays better; in leagues, where all play as much, it says nothing.

        data = jr.data.add_activity(jr.read("games.csv"), fade=30)
        rated = jr.rate(jr.skills(jr.parts.covariate("activity", 25)), data)

    Args:
      data: matches with times, as from `read`; their `fixtures` follow them.
      fade: days in which a match fades to 1 / e.
      history: the matches before these: an earlier `Dataset`, or a `History`. None: there were none.

    Raises:
      ValueError: for contests, for matches without times, or with a column that is called so.
    """
    return add_derived_column(data, "activity", fade, history)


@enforce_argument_annotations
def add_form(data: Dataset, fade: float = 30.0, history: Any = None) -> Dataset:
    """The matches with a covariate `form`: the results of late against those that Elo expected, a's less b's.

        data = jr.data.add_form(jr.read("games.csv"), fade=20)
        rated = jr.rate(jr.skills(jr.parts.covariate("form", 40)), data)

    Args:
      data: matches with times, as from `read`; their `fixtures` follow them.
      fade: days in which form fades to 1 / e.
      history: the matches before these: an earlier `Dataset`, or a `History`. None: there were none.

    Raises:
      ValueError: for contests, for matches without times, or with a column that is called so.
    """
    return add_derived_column(data, "form", fade, history)


@enforce_argument_annotations
def add_ground(data: Dataset, fade: float = GROUND_FADE, history: Any = None) -> Dataset:
    """The matches with a covariate `ground`: how well each player knows the ground, a's knowledge less b's.

    It is the logarithm of 1 and the number of matches that the player has had on this ground, which fade.

        data = jr.data.add_ground(jr.read("football.csv", venue="stadium"))
        rated = jr.rate(jr.skills(jr.parts.covariate("ground", 10)), data)

    Args:
      data: matches with times and a `venue`, as from `read`; their `fixtures` follow them. Who plays on a ground of no
        name knows it as little as the other.
      fade: days in which matches fade to 1 / e.
      history: the matches before these: an earlier `Dataset`, or a `History`. None: there were none.

    Raises:
      ValueError: for contests, for matches without times or grounds, or with a column that is called so.
    """
    return add_derived_column(data, "ground", fade, history)


@enforce_argument_annotations
def add_category_lead(data: Dataset, memory: float = 200.0, history: Any = None) -> Dataset:
    """The matches with a covariate `category_lead`: how far first players are ahead in the category of the match.

    It is a rating of each category, learnt beside Elo ratings of the players, and counts for newcomers at once: who
    answers a new exercise knows how hard others of the topic were, and who plays at home how much a home is worth in
    this league. A pair of categories, one of each player, is one.

        data = jr.data.add_category_lead(jr.read("answers.csv", category="topic"))
        rated = jr.rate(jr.skills(jr.parts.kinds("sides"), jr.parts.covariate("category_lead", 1)), data)

    Args:
      data: matches with times and a `category`, as from `read`; their `fixtures` follow them.
      memory: matches in which a category forgets: earlier ones fade about to 1 / e.
      history: the matches before these: an earlier `Dataset`, or a `History`. None: there were none.

    Raises:
      ValueError: for contests, for matches without times or categories, or with a column that is called so.
    """
    return add_derived_column(data, "category_lead", memory, history)


@enforce_argument_annotations
def add_relative_margin(data: Dataset, memory: float = 400.0, history: Any = None) -> Dataset:
    """The matches with a column `relative_margin`: the margin as a share of the points that matches have at the time.

    Where scoring changes over decades, equal margins are not worth the same. `jr.compare` and the command line learn
    from this column in place of the points if the data have it.

        data = jr.data.add_relative_margin(jr.read("football.csv", margin=["points_a", "points_b"]))
        rated = jr.rate(jr.skills(observe=jr.parts.margin("relative_margin", scale=1000)), data)

    Args:
      data: matches with times and the points of both sides, as from `read`; their `fixtures` follow them.
      memory: matches in which earlier ones fade to 1 / e in the mean of the points of both sides.
      history: the matches before these: an earlier `Dataset`, or a `History`. None: there were none.

    Raises:
      ValueError: for contests, for matches without times or points, or with a column that is called so.
    """
    return add_derived_column(data, "relative_margin", memory, history)


def add_derived_column(data: Dataset, name: str, span: float, *earlier: Any) -> Dataset:
    """The matches with one of the `DERIVED_COLUMNS`, which follows from earlier histories; None is no history."""
    derived = DERIVED_COLUMNS[name]
    check_that(data.of_matches, f"{name} is of matches of two players, and these are contests")
    if not 0 < span < MAX_SPAN:
        raise ValueError(f"{name} must be a number of {derived.unit} above 0, got {format_value_for_error(span)}")
    if lacking := find_lacking_role(data, name):
        raise ValueError(f"{name} needs {lacking}")
    matches, fixtures = data.matches, data.fixtures
    columns: Any = matches.context.columns or {}
    check_that(name not in columns, f"{name} is computed, and there is a column {name!r} among the others: rename it")
    columns = columns | derive_columns(data, {name: span}, earlier)
    return data._replace(
        events=matches._replace(context=matches.context._replace(columns=columns)),
        covariates=(*data.covariates, *[name] * derived.is_covariate),
        derived=(data.derived or {}) | {name: span},
        fixtures=fixtures and add_derived_column(fixtures, name, span, *earlier, data),
    )


def find_lacking_role(data: Dataset, name: str) -> str:
    """What the data lack of which a derived column is made; "" if nothing."""
    if data.clock is None:
        return "a column of time"
    return "" if DERIVED_COLUMNS[name].is_there(data) else DERIVED_COLUMNS[name].needed


def derive_columns(data: Dataset, spans: Mapping[str, float], earlier: Iterable[Any]) -> dict[str, HostArray]:
    """[n] the derived columns with these spans by name, of matches after these histories; None is no history."""
    parts = [records_of_history(history) for history in (*earlier, data) if history is not None]
    records = PlayedAndUpcomingMatches(*map(np.concatenate, zip(*parts, strict=True)))
    first = len(records.score) - len(data.rows)
    both = {name: DERIVED_COLUMNS[name].compute(records, span)[first:] for name, span in spans.items()}
    return {name: values[:, 0] - values[:, 1] for name, values in both.items()}
