"""A ceiling for ratings: scikit-learn's gradient boosting on what ratings say and on all else that is known before.

Trees of the past are boosted (Friedman 2001, "Greedy function approximation: a gradient boosting machine", Annals of
Statistics 29; scikit-learn's histograms) and predict what follows. They see of each match

    ratings          the log-odds that each system gave one step ahead, of a win, and of a draw where it is predicted
    rest             the days since each player's last match
    form             each player's results against expectation, which fade within weeks
    matches played   how many matches each has played in the season, or so far
    side             who has the side, where there are sides
    columns          those of the file that are known before a match

No result reaches the prediction of its own match or of an earlier one. What the trees predict better than the best
system is evidence that the ratings leave on the table; how much worse they are without one of these says where it is.
"""

import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import format_value_or_type
from jaxrate.core.array_types import HostArray
from jaxrate.evaluation.external_forecasts import numbers_of_matches
from jaxrate.events import Matches
from jaxrate.events.dataset import Dataset
from jaxrate.metrics.outcome_metrics import losses_by_match

MAX_REST = 60.0  # days
PLAYED = "matches played"  # in the season, or so far
FORM_DAYS = 45.0  # in which form fades to 1 / e
TRAINED_SHARE = 0.8  # of the past, its last part: before it everybody is new
VALIDATED_SHARE = 0.2  # of what is trained on, its last part: by which the number of trees is chosen
MIN_TRAINED = 200  # matches
MAX_TREES = 200
TREE_OPTIONS: dict[str, Any] = {
    "learning_rate": 0.06,
    "max_leaf_nodes": 5,
    "min_samples_leaf": 100,
    "l2_regularization": 5.0,
    "early_stopping": False,
    "random_state": 0,
}


class MatchFeatures(NamedTuple):
    """What trees see of each match, by group. `mirror` has the same as the second player would see it."""

    groups: dict[str, HostArray]  # [n, number of features of the group]
    mirror: dict[str, HostArray]


class BoostedForecast(NamedTuple):
    """What trees predict of the scored matches."""

    probabilities: HostArray  # [m, K] of each result
    by_ratings: HostArray  # the same by the ratings alone
    without: dict[str, HostArray]  # the same without each group
    num_trees: int  # with all groups
    num_trained: int  # matches


def check_trees_can_be_grown(data: Dataset, num_past: int) -> None:
    """ImportError without scikit-learn; ValueError for contests, and for too few matches before the scored ones."""
    import_ensembles()
    if not isinstance(data.events, Matches):
        raise ValueError("boosted trees are of matches of two players")
    if num_past - first_trained_match(num_past) < MIN_TRAINED:
        raise ValueError(
            f"boosted trees need {math.ceil(MIN_TRAINED / TRAINED_SHARE)} matches before the scored ones, "
            f"got {num_past}"
        )


def first_trained_match(num_past: int) -> int:
    """The first match that trees are trained on, of so many before the scored ones."""
    return round(num_past * (1.0 - TRAINED_SHARE))


def import_ensembles() -> Any:
    """Scikit-learn's ensembles; ImportError if it is not installed."""
    try:
        return import_module("sklearn.ensemble")
    except ImportError as error:
        raise ImportError("boosted trees need scikit-learn: pip install scikit-learn") from error


def resolve_stack_columns(stack: Any, data: Dataset) -> dict[str, HostArray]:
    """Further columns by name, [n], or [n, 2] of each player, from the argument of `benchmark_systems`."""
    if isinstance(stack, bool):
        return {}
    is_listed = isinstance(stack, (str, Mapping, list, tuple)) and all(isinstance(name, str) for name in stack)
    if not is_listed:
        value = format_value_or_type(stack)
        raise ValueError(f"stack must be True, or names of columns, or a mapping of them, got {value}")
    names = [stack] if isinstance(stack, str) else stack
    named = dict(stack) if isinstance(stack, Mapping) else {name: name for name in names}
    columns = {}
    for name, source in named.items():
        if name in (*data.margin, *data.statistics):
            raise ValueError(f"stack: {name!r} is known only after the match; trees see what is known before")
        try:
            values = numbers_of_matches(source, data)
        except ValueError as error:
            raise ValueError(f"stack: {error}") from None
        if values.ndim == 2 and values.shape[1] != 2:
            raise ValueError(f"stack: {name!r} must be one column, or two of each player, got {values.shape[1]}")
        columns[name] = values
    return columns


def match_features(
    data: Dataset,
    score: HostArray,
    predictions: Mapping[str, HostArray],
    columns: Mapping[str, HostArray],
    num_past: int,
) -> MatchFeatures:
    """What trees see of each match, from what is known before it.

    Args:
      data: of matches.
      score: [n] of the first players, which counts for later matches only.
      predictions: [n, K] probabilities of each result by the systems, one step ahead.
      columns: further ones by name, [n], or [n, 2] of each player.
      num_past: the first matches, by which the system is chosen whose expectations form is measured by.
    """
    matches = data.matches
    groups, mirror = dict[str, HostArray](), dict[str, HostArray]()
    groups["ratings"] = np.concatenate([_outcome_log_odds(p) for p in predictions.values()], axis=1)
    mirror["ratings"] = np.concatenate([_outcome_log_odds(p[:, ::-1]) for p in predictions.values()], axis=1)
    best = min(predictions.values(), key=lambda p: _mean_log_loss(p[:num_past], score[:num_past]))
    expected = best @ np.linspace(0.0, 1.0, best.shape[1])
    starts = np.array([*(data.seasons or {}).values()])
    histories = player_histories(matches, score, expected, starts)
    for name, values in histories.items():
        if name == PLAYED or data.clock is not None:
            groups[name], mirror[name] = _view_from_each_side(values)
    if matches.context.side is not None and np.ptp(np.asarray(matches.context.side)) > 0:
        side = np.asarray(matches.context.side, np.float64)[:, None]
        groups["side"], mirror["side"] = side, -side
    for name in data.covariates:
        lead = np.asarray((matches.context.columns or {})[name], np.float64)[:, None]
        groups[name], mirror[name] = lead, -lead
    for name, values in columns.items():
        if name in groups:
            raise ValueError(f"stack: trees see {name!r} anyway; give the column another name")
        groups[name], mirror[name] = (values[:, None],) * 2 if values.ndim == 1 else _view_from_each_side(values)
    return MatchFeatures(groups, mirror)


def _view_from_each_side(values: HostArray) -> tuple[HostArray, HostArray]:
    """Values [n, 2] of both players with their difference, as the first and as the second player sees them."""
    first, second = values.T
    return np.stack([first, second, first - second], axis=1), np.stack([second, first, second - first], axis=1)


def _mean_log_loss(probability: HostArray, score: HostArray) -> float:
    """Mean log loss of probabilities [n, K] of each result; less is better."""
    return float(losses_by_match(probability if probability.shape[1] > 2 else probability[:, 1], score).log_loss.mean())


def _outcome_log_odds(probability: HostArray) -> HostArray:
    """[n, K - 1] the log-odds of a win to a loss, and of a draw if it is predicted."""
    p = np.clip(probability, 1e-7, 1.0)
    columns = [np.log(p[:, -1] / p[:, 0])]
    if p.shape[1] == 3:
        columns.append(np.log(p[:, 1] / (p[:, 0] + p[:, 2])))
    return np.stack(columns, axis=1)


def player_histories(
    matches: Matches, score: HostArray, expected: HostArray, season_starts: HostArray
) -> dict[str, HostArray]:
    """[n, 2] of both players before each match: rest in days, form, and the matches played in the season.

    Args:
      matches: in order of time.
      score: [n] of the first players.
      expected: [n] what was expected of them.
      season_starts: [S] the times at which seasons begin, increasing; without any the matches of all time are counted.
    """
    time = np.asarray(matches.time, np.float64)
    season = np.searchsorted(season_starts, time, side="right")
    last: dict[int, float] = {}
    form: dict[int, float] = {}
    games: dict[int, tuple[int, int]] = {}  # the season of the last match, and the number of matches in it
    result = {name: np.empty((len(time), 2)) for name in ("rest", "form", PLAYED)}
    rest_of, form_of, played_of = result.values()
    surprise = (score - expected).tolist()
    rows = zip(np.asarray(matches.player).tolist(), time.tolist(), season.tolist(), surprise, strict=True)
    for i, (pair, now, this_season, lead) in enumerate(rows):
        for k, player in enumerate(pair):
            days = now - last.get(player, -math.inf)
            rest_of[i, k] = min(days, MAX_REST)
            form_of[i, k] = form[player] = form.get(player, 0.0) * math.exp(-days / FORM_DAYS)
            season_so_far, count = games.get(player, (this_season, 0))
            count = count if season_so_far == this_season else 0
            played_of[i, k] = count
            games[player], last[player] = (this_season, count + 1), now
        form[pair[0]] += lead
        form[pair[1]] -= lead
    return result


def boosted_forecast(features: MatchFeatures, score: HostArray, num_past: int, num_outcomes: int) -> BoostedForecast:
    """Predictions of the scored matches, by trees that were trained on the matches before.

    Args:
      features: of all matches.
      score: [n] of the first players; of them the first `num_past` are looked at.
      num_past: matches before those that are scored.
      num_outcomes: 2, with scores from 0 to 1, or 3.

    Raises:
      ValueError: if a result is never seen in the past.
    """
    thread_limits = import_module("threadpoolctl").threadpool_limits  # which scikit-learn depends on
    first = first_trained_match(num_past)
    validated = num_past - round((num_past - first) * VALIDATED_SHARE)
    groups = [*features.groups]
    is_mirrored = bool((score[:num_past] >= 0.5).all())  # winners come first: the order would be all that trees learn
    past = _select_rows(features, score, slice(first, num_past), is_mirrored)
    is_early = np.tile(np.arange(first, num_past) < validated, 1 + is_mirrored)
    ahead = _select_rows(features, score, slice(num_past, None), is_mirrored)

    def predict_with(names: list[str], num_trees: int | None = None) -> HostArray:
        num_trees = num_trees or _best_number_of_trees(past, names, is_early, num_outcomes)
        model = _fit_trees(_stack_groups(past.groups, names), _outcome_weights(past.score, num_outcomes), num_trees)
        p = np.asarray(model.predict_proba(_stack_groups(ahead.groups, names)))
        if not is_mirrored:
            return p
        p, seen_from_other_side = np.split(p, 2)
        return np.asarray(0.5 * (p + seen_from_other_side[:, ::-1]))

    with thread_limits(1, user_api="openmp"):  # small trees: on a busy machine threads wait for each other
        num_trees = _best_number_of_trees(past, groups, is_early, num_outcomes)
        without = {name: predict_with([x for x in groups if x != name]) for name in groups if name != "ratings"}
        probabilities, by_ratings = predict_with(groups, num_trees), predict_with(["ratings"])
        return BoostedForecast(probabilities, by_ratings, without, num_trees, num_past - first)


class _SelectedMatches(NamedTuple):
    groups: dict[str, HostArray]  # [m, number of features]
    score: HostArray  # [m]


def _select_rows(features: MatchFeatures, score: HostArray, rows: slice, is_mirrored: bool) -> _SelectedMatches:
    """The features and scores of these rows, and below them those from the second player's side if `is_mirrored`."""
    groups = {name: values[rows] for name, values in features.groups.items()}
    if not is_mirrored:
        return _SelectedMatches(groups, score[rows])
    both = {name: np.concatenate([values, features.mirror[name][rows]]) for name, values in groups.items()}
    return _SelectedMatches(both, np.concatenate([score[rows], 1.0 - score[rows]]))


def _stack_groups(groups: Mapping[str, HostArray], names: list[str]) -> HostArray:
    return np.concatenate([groups[name] for name in names], axis=1)


def _outcome_weights(score: HostArray, num_outcomes: int) -> HostArray:
    """[m, K] how much each result counts: one of three, or of two in parts."""
    if num_outcomes == 2:
        return np.stack([1.0 - score, score], axis=1)
    return (np.rint(2.0 * score)[:, None] == np.arange(3)).astype(np.float64)


def _fit_trees(x: HostArray, outcome_shares: HostArray, num_trees: int) -> Any:
    """Boosted trees of features [m, F]; a match with several results counts once for each, in parts."""
    row, outcome = np.nonzero(outcome_shares)
    missing = np.setdiff1d(np.arange(outcome_shares.shape[1]), outcome)
    if missing.size:
        raise ValueError("boosted trees need matches of every result before the scored ones")
    model = import_ensembles().HistGradientBoostingClassifier(max_iter=num_trees, **TREE_OPTIONS)
    weight = outcome_shares[row, outcome]
    return model.fit(x[row], outcome, sample_weight=None if (weight == 1).all() else weight)  # they take time


def _best_number_of_trees(past: _SelectedMatches, names: list[str], is_early: HostArray, num_outcomes: int) -> int:
    """With how many trees on these groups the later rows are predicted best, by trees of the earlier ones."""
    x, shares = _stack_groups(past.groups, names), _outcome_weights(past.score, num_outcomes)
    model = _fit_trees(x[is_early], shares[is_early], MAX_TREES)
    losses = [
        -np.sum(shares[~is_early] * np.log(np.clip(p, 1e-9, 1.0))) for p in model.staged_predict_proba(x[~is_early])
    ]
    return int(np.argmin(losses)) + 1
