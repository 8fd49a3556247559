"""Ceilings for ratings: forecasts of others, and gradient boosting on all that is known before.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from jaxrate.core.argument_checks import check_that, format_value_or_type, to_floats
from jaxrate.core.array_types import HostArray
from jaxrate.core.optional_imports import import_optional
from jaxrate.core.text_format import did_you_mean_suffix, format_count, join_names
from jaxrate.data.derived_covariates import fading_sums, records_of_history, rest_days
from jaxrate.data.faulty_rows import renumber_row_errors
from jaxrate.evaluation.scored_predictions import ForecasterKind, ScoringTarget, count_events
from jaxrate.events import RowError, fail_where
from jaxrate.events.dataset import Dataset
from jaxrate.metrics.bookmaker_odds import check_decimal_odds, check_odds_method, probabilities_from_odds
from jaxrate.metrics.prediction_metrics import is_winner_first, losses_by_match

MIN_PERCENT = 10.0  # the median probability of a win from which all are in percent
MIN_BOOKSUM = 0.9  # of the median match; less is no margin: the odds of an outcome are missing
MAX_SUM_ERROR = 0.02  # by which published probabilities may miss 1, as rounded ones do


class ExternalForecast(NamedTuple):
    """Probabilities of the results of matches that somebody else has published."""

    name: str
    kind: ForecasterKind  # "forecast" or "odds"
    probabilities: HostArray  # [n, 2] of loss and win, or [n, 3] of loss, draw and win; NaN where there are none
    is_percent: bool = False  # whether they came in percent

    @property
    def has_draws(self) -> bool:
        """Whether draws have probabilities of their own."""
        return self.probabilities.shape[1] == 3

    def as_outcomes(self, num_outcomes: int) -> HostArray:
        """[n, K] probabilities of so many results; of two, with a draw as half a win."""
        p = self.probabilities
        return p[:, ::2] + 0.5 * p[:, 1:2] if self.has_draws and num_outcomes == 2 else p


def resolve_external_forecasts(
    data: Dataset, forecasts: Mapping[str, Any], odds: Mapping[str, Any], odds_method: str
) -> list[ExternalForecast]:
    """The forecasts of others by their arguments in `benchmark_systems`; ValueError for what is none."""
    check_odds_method(odds_method)
    if repeated := [name for name in odds if name in forecasts]:
        raise ValueError(f"a forecast and odds are both called {repeated[0]!r}; give each its own name")
    source_rows = data.rows if data.of_matches else np.arange(count_events(data))
    external = []
    for name, source in {**forecasts, **odds}.items():
        kind = "odds" if name in odds else "forecast"
        with _prefix_errors(f"{kind} {name!r}"), renumber_row_errors(source_rows):
            values = numbers_of_matches(source, data)
            is_odds = kind == "odds"
            external.append(_odds_forecast(name, values, odds_method) if is_odds else _published_forecast(name, values))
    return external


@contextmanager
def _prefix_errors(subject: str) -> Iterator[None]:
    """A context in which messages of RowError and ValueError begin with the subject."""
    try:
        yield
    except RowError as error:
        raise error.map_rows(lambda row, message: (row, f"{subject}: {message}")) from None
    except ValueError as error:
        raise ValueError(f"{subject}: {error}") from None


def _published_forecast(name: str, values: HostArray) -> ExternalForecast:
    """The forecast of published probabilities [n] or [n, K]."""
    is_percent = are_probabilities_in_percent(values)
    values = values / 100.0 if is_percent else values
    if values.ndim == 1:
        values = np.stack([values, 1.0 - values], axis=1)
    if values.shape[1] not in (2, 3):
        wanted = "the probability of the first player's win, or those of win and loss, or of win, draw and loss"
        raise ValueError(f"give {wanted}; got {values.shape[1]} columns")
    is_missing = np.asarray(np.isnan(values).any(axis=1))
    is_bad = ~((values >= 0.0) & (values <= 1.0)) & ~is_missing[:, None]
    message = "the probability is {:g}, which is not from 0 to 1"
    fail_where(is_bad.any(axis=1), lambda row: message.format(values[row, np.argmax(is_bad[row])]))
    total = values.sum(axis=1)
    is_off = (np.abs(total - 1.0) > MAX_SUM_ERROR) & ~is_missing
    fail_where(is_off, lambda row: f"probabilities sum to {total[row]:.4f}; if these are odds, say so by `odds`")
    return ExternalForecast(name, "forecast", (values / total[:, None])[:, ::-1], is_percent)


def are_probabilities_in_percent(values: HostArray) -> bool:
    """Whether probabilities [n] or [n, K] are in percent: they sum to 100, or alone are mostly above 10."""
    total = values if values.ndim == 1 else values.sum(axis=1)
    if np.isnan(total).all():
        return False
    middle = float(np.nanmedian(total))
    return middle > MIN_PERCENT if values.ndim == 1 else abs(middle - 100.0) <= 100.0 * MAX_SUM_ERROR


def _odds_forecast(name: str, values: HostArray, method: str) -> ExternalForecast:
    """The forecast of decimal odds [n, K]."""
    if values.ndim == 1 or values.shape[1] not in (2, 3):
        count = 1 if values.ndim == 1 else values.shape[1]
        raise ValueError(f"give the odds of win and loss, or of win, draw and loss; got {count} of them")
    values = np.where(np.isposinf(values), np.nan, values)  # as where there are none
    check_decimal_odds(values)
    booksum = np.sum(1.0 / values, axis=1)
    middle = float(np.median(booksum[~np.isnan(booksum)])) if np.isfinite(booksum).any() else 1.0
    if middle < MIN_BOOKSUM:
        hint = "name those of the draw, too" if values.shape[1] == 2 else "are these odds of one market?"
        raise ValueError(f"the inverse odds of most matches sum to about {middle:.2f}, far below 1; {hint}")
    probabilities = probabilities_from_odds(values, method=method)[:, ::-1]
    return ExternalForecast(name, "odds", probabilities)


def numbers_of_matches(source: Any, data: Dataset) -> HostArray:
    """[n] or [n, K] numbers of the matches: an array of them, or columns of the dataset by name."""
    if isinstance(source, str):
        return _named_column(source, data)
    if isinstance(source, (list, tuple)) and source and all(isinstance(name, str) for name in source):
        return np.stack([_named_column(name, data) for name in source], axis=1)
    values, count = to_floats("values", source), count_events(data)
    if values.ndim not in (1, 2) or len(values) != count:
        wanted = f"{count:,} values, one for each match, or names of columns"
        raise ValueError(f"give {wanted}; got the shape {values.shape}")
    return values


def _named_column(name: str, data: Dataset) -> HostArray:
    columns = data.events.columns if data.of_matches else {}
    if name not in columns:
        missing = f"{format_value_or_type(name)}{did_you_mean_suffix(name, columns)}"
        raise ValueError(f"the data have no column {missing}; read it as one of `columns`, or give an array")
    return np.asarray(columns[name], np.float64)


def external_forecast_notes(external: Iterable[ExternalForecast], target: ScoringTarget, odds_method: str) -> list[str]:
    """The sentences on what became of forecasts of others, and on scored results that they gave no chance."""
    notes = []
    for x in external:
        if count := _count_impossible_results(x.as_outcomes(target.num_outcomes), target):
            notes.append(f"{x.name} gave no chance to {format_count(count, 'result')} that came true.")
    if percents := [x.name for x in external if x.is_percent]:
        notes.append(f"Read as percent: {join_names(percents)}.")
    if any(x.kind == "odds" for x in external):
        notes.append(f"The margin of bookmakers is removed by the {odds_method} method.")
    return notes


def _count_impossible_results(probability: HostArray, target: ScoringTarget) -> int:
    """How many scored results came true that had no chance, by [n, K] probabilities: that costs a lot of log loss."""
    level = target.score * (probability.shape[1] - 1)
    is_scored_result = target.mask & (level == np.rint(level))
    of_result = probability[np.arange(len(level)), np.rint(level).astype(int)]
    return int(np.sum(is_scored_result & (of_result == 0.0)))


def past_frequencies(score: HostArray, side: HostArray, num_past: int, num_outcomes: int) -> HostArray:
    """[n, 2 or 3] probabilities of loss, (draw) and win: frequencies in the first `num_past` matches, by side."""
    if np.ptp(side) == 0 and is_winner_first(score):  # winners come first, and not who has the side
        side = np.zeros(len(score))
    sides = np.asarray(side, np.float64)
    shares, past_side = outcome_weights(score[:num_past], num_outcomes), sides[:num_past, None]
    own_shares = np.where(past_side < 0, shares[:, ::-1], shares)  # of who has the side
    is_sided = np.abs(past_side) > 0.5
    even = (shares + shares[:, ::-1]).sum(axis=0) + 1.0  # one of each is added, so that nothing is impossible
    sided = (own_shares * is_sided).sum(axis=0) + 1.0 if is_sided.any() else even
    counts = np.stack([sided[::-1], even, sided])
    return (counts / counts.sum(axis=1, keepdims=True))[np.rint(np.clip(sides, -1.0, 1.0)).astype(int) + 1]


def outcome_weights(score: HostArray, num_outcomes: int) -> HostArray:
    """[n, K] how much each result counts: one of three, or of two in parts."""
    if num_outcomes == 2:
        return np.stack([1.0 - score, score], axis=1)
    return (np.rint(2.0 * score)[:, None] == np.arange(3)).astype(np.float64)


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


Features: TypeAlias = dict[str, HostArray]  # by group: [2, n, features] as the first and the second player see them


def check_trees_can_be_grown(data: Dataset, num_past: int) -> None:
    """ImportError without scikit-learn; ValueError for contests, and for too few matches before the scored ones."""
    import_optional("sklearn.ensemble")
    check_that(data.of_matches, "boosted trees are of matches of two players")
    if num_past - first_trained_match(num_past) < MIN_TRAINED:
        least = math.ceil(MIN_TRAINED / TRAINED_SHARE)
        raise ValueError(f"boosted trees need {least} matches before the scored ones, got {num_past}")


def first_trained_match(num_past: int) -> int:
    """The first match that trees are trained on, of so many before the scored ones."""
    return round(num_past * (1.0 - TRAINED_SHARE))


def resolve_stack_columns(stack: Any, data: Dataset) -> dict[str, HostArray]:
    """Further columns by name, [n], or [n, 2] of each player, from the argument of `benchmark_systems`."""
    if isinstance(stack, bool):
        return {}
    names = [stack] if isinstance(stack, str) else stack
    if not (isinstance(names, (Mapping, list, tuple)) and all(isinstance(name, str) for name in names)):
        value = format_value_or_type(stack)
        raise ValueError(f"stack must be True, or names of columns, or a mapping of them, got {value}")
    sources = names if isinstance(names, Mapping) else {name: name for name in names}
    return {name: _stack_column(name, source, data) for name, source in sources.items()}


def _stack_column(name: str, source: Any, data: Dataset) -> HostArray:
    """A further column, [n] or [n, 2], that is known before the match."""
    if name in (*data.margin, *data.statistics):
        raise ValueError(f"stack: {name!r} is known only after the match; trees see what is known before")
    with _prefix_errors("stack"):
        values = numbers_of_matches(source, data)
    if values.ndim == 2 and values.shape[1] != 2:
        raise ValueError(f"stack: {name!r} must be one column, or two of each player, got {values.shape[1]}")
    return values


def match_features(
    data: Dataset,
    score: HostArray,
    predictions: Sequence[HostArray],
    columns: Mapping[str, HostArray],
    num_past: int,
) -> Features:
    """The features of each match for trees, from what is known before it: scores [n] count for later ones only."""
    odds_of_sides = [[_outcome_log_odds(p[:, ::step]) for p in predictions] for step in (1, -1)]
    features = {"ratings": np.stack([np.concatenate(odds, axis=1) for odds in odds_of_sides])}
    best = min(predictions, key=lambda p: _mean_log_loss(p[:num_past], score[:num_past]))
    expected = best @ np.linspace(0.0, 1.0, best.shape[1])
    histories = player_histories(data, score, expected)
    if data.clock is None:
        histories = {PLAYED: histories[PLAYED]}
    features |= {name: _view_from_both_sides(values) for name, values in histories.items()}
    features |= {name: np.stack([lead, -lead])[..., None] for name, lead in _first_player_leads(data).items()}
    if seen := [name for name in columns if name in features]:
        raise ValueError(f"stack: trees see {seen[0]!r} anyway; give the column another name")
    return features | {name: _view_from_both_sides(values) for name, values in columns.items()}


def _first_player_leads(data: Dataset) -> dict[str, HostArray]:
    """The leads [n] of the first player by name: the side, if it varies, and each covariate."""
    side = data.matches.context.side
    leads = {} if side is None or np.ptp(np.asarray(side)) == 0 else {"side": side}
    leads |= {name: data.matches.columns[name] for name in data.covariates}
    return {name: np.asarray(lead, np.float64) for name, lead in leads.items()}


def _view_from_both_sides(values: HostArray) -> HostArray:
    """[2, n, F] a value of each match [n]; or those of its two players [n, 2], one's own first, with the difference."""
    if values.ndim == 1:
        return np.stack([values, values])[..., None]
    own_and_other = np.stack([values, values[:, ::-1]])
    return np.concatenate([own_and_other, own_and_other[..., :1] - own_and_other[..., 1:]], axis=2)


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


def player_histories(data: Dataset, score: HostArray, expected: HostArray) -> dict[str, HostArray]:
    """[n, 2] rest in days, form, and matches played in the season (or ever), of both players before each match."""
    records, surprise = records_of_history(data), score - expected
    season = np.searchsorted(np.array([*(data.seasons or {}).values()]), records.time, side="right")
    in_season = [[(a, x), (b, x)] for (a, b), x in zip(records.player.tolist(), season.tolist(), strict=True)]
    return {
        "rest": rest_days(records, MAX_REST),
        "form": fading_sums(records.player.tolist(), records.time, np.stack([surprise, -surprise], axis=1), FORM_DAYS),
        PLAYED: fading_sums(in_season, 0.0 * records.time, np.ones(records.player.shape), 1.0),  # which do not fade
    }


def boosted_forecast(features: Features, score: HostArray, num_past: int, num_outcomes: int) -> HostArray:
    """[m, K] probabilities of each result of later matches, by trees that were trained on the first `num_past` ones."""
    first, num_sides = first_trained_match(num_past), 1
    if (score[:num_past] >= 0.5).all():  # winners come first: the order would be all that trees learn
        num_sides = 2
    both = np.concatenate([values[:num_sides] for values in features.values()], axis=2)
    past, ahead = np.concatenate(both[:, first:num_past]), np.concatenate(both[:, num_past:])
    shares = np.concatenate(
        [outcome_weights(x[first:num_past], num_outcomes) for x in (score, 1.0 - score)[:num_sides]]
    )
    num_trained = num_past - first
    is_early = np.arange(num_trained) < num_trained - round(num_trained * VALIDATED_SHARE)
    thread_limits = import_module("threadpoolctl").threadpool_limits  # which scikit-learn depends on
    with thread_limits(1, user_api="openmp"):  # small trees: on a busy machine threads wait for each other
        num_trees = _best_number_of_trees(past, shares, np.tile(is_early, num_sides))
        p = np.asarray(_fit_trees(past, shares, num_trees).predict_proba(ahead))
    first_view, *second_view = np.split(p, num_sides)
    return np.mean([first_view, *(x[:, ::-1] for x in second_view)], axis=0)


def _fit_trees(x: HostArray, shares: HostArray, num_trees: int) -> Any:
    """Boosted trees of features [m, F]; a match with several results counts once for each, in parts."""
    row, outcome = np.nonzero(shares)
    missing = np.setdiff1d(np.arange(shares.shape[1]), outcome)
    check_that(not missing.size, "boosted trees need matches of every result before the scored ones")
    model = import_optional("sklearn.ensemble").HistGradientBoostingClassifier(max_iter=num_trees, **TREE_OPTIONS)
    weight = shares[row, outcome]
    return model.fit(x[row], outcome, sample_weight=None if (weight == 1).all() else weight)  # they take time


def _best_number_of_trees(x: HostArray, shares: HostArray, is_early: HostArray) -> int:
    """The number of trees with which trees of the early rows predict the later rows best."""
    predictions = _fit_trees(x[is_early], shares[is_early], MAX_TREES).staged_predict_proba(x[~is_early])
    losses = [-np.sum(shares[~is_early] * np.log(np.clip(p, 1e-9, 1.0))) for p in predictions]
    return int(np.argmin(losses)) + 1
