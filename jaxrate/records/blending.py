"""Several systems as one forecaster: their log-odds, weighed by how well they predicted.

    log-odds of the blend = sum_k w_k log(p_k / (1 - p_k))

There is no intercept: who is named first does not matter. The weights minimise the log loss of what has been predicted
so far, one step ahead, plus sum_k K (w_k - 1 / K)^2 / 2 of K systems. That is a prior by which all count alike and the
sum of the weights is 1 with a deviation of 1; it decides between systems that say the same, and is outweighed by some
hundred matches. The problem is strictly convex, and is solved by Newton's method. (Satopaa and others 2014, "Combining
multiple probability predictions using a simple logit model", with a weight for each forecaster.)

No match is predicted with weights that have seen it: they are renewed whenever the history has doubled.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from jaxrate.arguments import ArgumentKind, check_arguments, is_iterable
from jaxrate.data.dataset import Dataset, check_dataset
from jaxrate.events import Matches
from jaxrate.records.metrics import scores
from jaxrate.records.quality import Sides, check_last, in_words, scored, two_sides
from jaxrate.replay.run import predict, run
from jaxrate.replay.schedule import levels
from jaxrate.system import RatingSystem, State
from jaxrate.systems.outlook import expected_score

NumPy = np.ndarray[Any, Any]
Systems = ArgumentKind("systems, as [jr.elo(), jr.glicko()], or a mapping of them", is_iterable)
FIRST = 64  # matches after which weights are fitted for the first time
STEPS = 100  # of Newton's method at most; some five are usual


class Blend(NamedTuple):
    """Several systems that have rated the same matches, and what each counts in a common forecast."""

    systems: dict[str, RatingSystem]  # by name
    weights: dict[str, float]  # of the log-odds, fitted to all of the matches: for what follows
    states: dict[str, State]  # after them
    prediction: NumPy  # [n] expected scores one step ahead, by weights that had seen nothing of it
    quality: dict[str, float]  # of these predictions, where they are scored, by the name of each measure

    def __repr__(self) -> str:
        weights = ", ".join(f"{weight:.2f} {name}" for name, weight in self.weights.items())
        quality = ", ".join(f"{name} {in_words(name, value)}" for name, value in self.quality.items())
        return f"Blend of {weights}\n  {quality}"

    def predict(self, data: Any) -> NumPy:
        """[m] the expected scores of player 0 in upcoming matches, with the errors of `jr.predict`."""
        guesses = [predict(system, self.states[name], data) for name, system in self.systems.items()]
        return _blended(log_odds([expected_score(guess) for guess in guesses]), [*self.weights.values()])


@check_arguments
def blend(
    systems: Annotated[Mapping[str, RatingSystem] | Iterable[RatingSystem], Systems],
    data: Dataset,
    *,
    last: float = 1.0,
) -> Blend:
    """Rate the same matches by several systems, and weigh their predictions.

    A blend is better than the best of them where they err in different ways, and about as good elsewhere:

        both = jr.blend([jr.elo(k=20), jr.glicko(c=20)], jr.datasets.nfl(), last=0.2)
        print(both.weights, both.quality["log loss"])

    Each system predicts every match before it learns from it. Weights for a match are fitted to what was predicted
    before it: they are renewed where the last share begins, and whenever the history has doubled since; before the
    64th match all systems count alike. Hyperparameters are taken as they are. Fit them to what comes before the last
    share, or `quality` flatters the blend.

    Args:
      systems: two or more, as from `elo()`, `glicko()`, ...; two of one name by names of their own.
      data: matches, as from `read`.
      last: score this last share of the matches only.

    Raises:
      ValueError: for fewer than two systems, two of one name, systems that draw random numbers, contests, a `last` that
        is not above 0 and at most 1, or as `run` does.
    """
    named = _named(systems)
    check_dataset("blend", data)
    check_last(last)
    matches = data.matches
    plans: dict[int, Any] = {}
    done = {name: run(x, matches, schedule=levels(x, matches, plans)) for name, x in named.items()}
    sides: Any = two_sides(data)
    guesses = [expected_score(result.prediction) for result in done.values()]
    weights, prediction, quality = weighed(guesses, sides, scored(data, last))
    states = {name: result.state for name, result in done.items()}
    return Blend(named, dict(zip(named, weights.tolist(), strict=True)), states, prediction, quality)


def weighed(guesses: list[Any], sides: Sides, mask: NumPy) -> tuple[NumPy, NumPy, dict[str, float]]:
    """The weights [K], the predictions [n] one step ahead, and how good these are where `mask` [n] is true.

    Args:
      guesses: [K][n] expected scores of the first side by each system.
      sides: scores [n] of the first side, and weights.
      mask: false, then true.
    """
    x, score = log_odds(guesses), np.asarray(sides.score, np.float64)
    count = np.ones(len(score)) if sides.weight is None else np.asarray(sides.weight, np.float64)
    weights, begin, prediction = np.full(x.shape[1], 1.0 / x.shape[1]), 0, np.empty(len(score))
    end = max(int(np.argmax(mask)), FIRST)
    while begin < len(score):
        prediction[begin:end] = _blended(x[begin:end], weights)
        weights = fitted(x[:end], score[:end], count[:end], weights)
        begin, end = end, 2 * end
    return weights, prediction, scores(prediction, score, weight=sides.weight, mask=mask)


def log_odds(guesses: list[Any]) -> NumPy:
    """[n, K] of expected scores [K][n], which are kept from 0 and 1 by what rounding may be."""
    columns = []
    for guess in guesses:
        p, least = np.asarray(guess, np.float64), float(np.finfo(np.asarray(guess).dtype).eps)
        p = np.clip(p, least, 1.0 - least)
        columns.append(np.log(p) - np.log1p(-p))
    return np.stack(columns, axis=1)


def fitted(x: NumPy, score: NumPy, count: NumPy, start: NumPy) -> NumPy:
    """The weights [K] by which log-odds [n, K] predict scores [n] best, each match counting `count` [n]."""
    number = x.shape[1]
    prior, w = 1.0 / number, start

    def loss(w: NumPy) -> float:
        z = x @ w
        return float(count @ (np.logaddexp(0.0, z) - score * z) + 0.5 * number * np.sum((w - prior) ** 2))

    value = loss(w)
    for _ in range(STEPS):
        p = _blended(x, w)
        slope = x.T @ (count * (p - score)) + number * (w - prior)
        curvature = (x * (count * p * (1.0 - p))[:, None]).T @ x + number * np.eye(number)
        step = np.linalg.solve(curvature, slope)
        decrease, size = float(slope @ step), 1.0
        if decrease <= 1e-9 * (1.0 + abs(value)):
            return w - step  # as near as its square
        while (new := loss(w - size * step)) > value - 0.25 * size * decrease and size > 1e-6:
            size *= 0.5
        w, value = w - size * step, new
    return w


def _blended(x: NumPy, weights: Any) -> NumPy:
    """[n] expected scores from log-odds [n, K]."""
    return 1.0 / (1.0 + np.exp(-np.clip(x @ np.asarray(weights), -700.0, 700.0)))


def _named(systems: Mapping[str, RatingSystem] | Iterable[RatingSystem]) -> dict[str, RatingSystem]:
    """Systems by name."""
    given = systems.items() if isinstance(systems, Mapping) else [(getattr(x, "name", None), x) for x in systems]
    found: dict[str, RatingSystem] = {}
    for name, system in given:
        if not isinstance(system, RatingSystem):
            raise ValueError(f"blend takes systems, as jr.glicko(), and not {type(system).__name__}")
        if system.rules.draw is not None:
            raise ValueError(f"{name} draws random numbers, and would not predict the same twice; leave it out")
        if Matches not in system.events:
            raise ValueError(f"{name} rates no single matches; leave it out")
        if name in found:
            raise ValueError(f"two systems have the name {name}; give each its own, as in {{'fast': {name}(...), ...}}")
        found[str(name)] = system
    if len(found) < 2:
        raise ValueError(f"a blend takes two systems or more, got {len(found)}")
    return found
