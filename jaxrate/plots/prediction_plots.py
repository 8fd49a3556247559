"""Predictions against results: calibration, scorelines, losses by the chance of the favourite."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from jaxrate.core.argument_checks import check_count, check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_decimals, format_number, format_percentage, format_percentages, join_names
from jaxrate.evaluation.comparison import Comparison, system_result_title
from jaxrate.events import Matches, Ragged, fail_where
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts.scorelines import Scorelines, check_scorelines, goal_difference_probabilities
from jaxrate.history.history import History
from jaxrate.metrics import prediction_metrics
from jaxrate.plots import plot_style as style
from jaxrate.plots.matplotlib_charts import show
from jaxrate.plots.plot_style import COLOURS, GREY, LINE_STYLES, MARKERS, Canvas, format_plot_name, player_label
from jaxrate.views import findings
from jaxrate.views.charts import (
    Z_95,
    Curve,
    Layer,
    LayerView,
    MatrixView,
    PictureText,
    RowView,
    Scale,
    round_scale,
    tight_scale,
)
from jaxrate.views.wording import spell_dates


@enforce_argument_annotations
def calibration(
    prediction: Any, score: Any, *, bins: int = 10, weight: Any = None, mask: Any = None, **canvas: Unpack[Canvas]
) -> Any:
    """Plot mean scores against mean predictions, in percent and in bins of equal width; the diagonal is perfect.

        jr.plots.calibration({"Glicko": jr.run(jr.glicko(), data).prediction}, data)

    The 95% intervals are Wilson's for a binomial share (draws, and shares of many opponents, vary less). The legend has
    the calibration error. If no first player lost, as in tables of winners and losers, each match counts half from
    either side.

    Args:
      prediction: [n] predictions for player 0, or those of several systems by name; for rounds, [sum P] of each
        participant.
      score: [n] scores of player 0; or the `Dataset`, its matches or its rounds. The score in a round is the share of
        the others whom the participant beat.
      bins: number of bins of equal width.
      weight: [n] of the matches, as for `jr.metrics.calibration`.
      mask: [n] which matches count, as for `jr.metrics.calibration`.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: as for `jr.metrics.calibration`.
    """
    source, quantity = "", "score (%)"
    if isinstance(score, (Dataset, Matches, Ragged)):
        data = style.to_dataset(score)
        source = style.describe_source(data)
        quantity = "score (%)" if data.of_matches else "share of the others beaten (%)"
        score, mask = _scores_and_mask_of_events(data, mask)
    predictions = style.values_by_system(prediction)
    samples = [_select_samples(p, score, weight, mask) for p in predictions.values()]
    names = [format_plot_name(name) for name in predictions]
    found = [prediction_metrics.calibration(p, s, bins=bins, weight=w) for p, s, w in samples]
    errors = {name: one.error for name, one in zip(names, found, strict=True)}
    has_legend = names != [""]
    error = f"; calibration error {100.0 * found[0].error:.1f}%" * (not has_legend)
    text = PictureText(
        findings.judge_predictions(*samples[0]) if len(names) == 1 else findings.find_best_calibrated(errors),
        f"Bars are 95% intervals, and right predictions lie on the diagonal{error}",
        f"predicted {quantity}", f"observed {quantity}", source,
    )  # fmt: skip
    curves, ends = [*map(_calibration_curve, names, found)], np.array([0.0, 100.0])
    diagonal = Layer("line", ends, ends, colour=GREY, width=0.8, dash="--")
    layers, percents = [diagonal, *_curve_layers(curves, canvas)], Scale(-2.0, 102.0, range(0, 101, 20))
    legend = "calibration error (%)" * has_legend
    view = LayerView(text, layers, percents, percents, (5.6, 6.2), legend, is_square=True)
    return show(view, **canvas)


def _curve_layers(curves: Sequence[Curve], canvas: Canvas) -> list[Layer]:
    """The points of curves with their intervals, and dotted what is expected; colours go on from those of the axes."""
    layers = []
    for i, curve in enumerate(curves, style.count_lines(canvas.get("ax"), "layer")):
        colour, dash, marker = (x[i % len(x)] for x in (COLOURS, LINE_STYLES, MARKERS))
        if curve.expected is not None:
            layers.append(Layer("line", curve.x, curve.expected, colour=colour, width=1.2, dash=":"))
        about = ("from", curve.low), ("to", curve.high), ("number", np.asarray(curve.weight, float))
        layers += [
            Layer("bars", curve.x, curve.low, y2=curve.high, colour=colour),
            Layer("line", *curve[1:3], colour=colour, dash=dash, marker=marker, label=curve.label, tooltips=about),
        ]
    return layers


def _calibration_curve(name: str, one: prediction_metrics.Calibration) -> Curve:
    """Mean scores by mean predictions in bins that are not empty, with Wilson's intervals, all in percent."""
    filled = one.weight > 0
    predicted, observed, count = (np.asarray(x)[filled] for x in (one.predicted, one.observed, one.weight))
    low, high = prediction_metrics.wilson_interval(observed, count)
    label = f"{name}, {100.0 * one.error:.1f}" * bool(name)
    return Curve(label, 100.0 * predicted, 100.0 * observed, 100.0 * low, 100.0 * high, count)


def _scores_and_mask_of_events(data: Dataset, mask: Any) -> tuple[HostArray, Any]:
    """Scores [n] of matches, or of contests the shares of others beaten [sum P]; and the mask, where there are any."""
    if data.of_matches:
        return np.asarray(data.matches.score), mask
    check_that(data.events.nouns != "periods", "for rating periods, give the matches")
    share = prediction_metrics.observed_share_of_sides_beaten(data.rounds)
    has_share = ~np.isnan(share)
    return np.where(has_share, share, 0.5), has_share if mask is None else has_share & np.asarray(mask)


def _select_samples(prediction: Any, score: Any, weight: Any, mask: Any) -> prediction_metrics.Samples:
    """The predictions, scores and weights that count, from either side if no first player lost."""
    samples = prediction_metrics.check_and_select_samples(prediction, score, weight, mask)
    p, s, w = prediction_metrics.mirror_winner_first(*samples)
    return p, s, w * (len(samples[0]) / len(p))


MIN_SHOWN_GOALS, MAX_SHOWN_GOALS = 4, 20
LEFT_OUT = 0.01  # of all scorelines, at most, by default


@enforce_argument_annotations
def scorelines(forecast: Scorelines, match: int = 0, *, most_goals: int | None = None, **canvas: Unpack[Canvas]) -> Any:
    """Plot how likely each scoreline of a match to come is, in percent; draws have a frame.

        forecast = jr.forecasts.predict_scorelines(rated, [("Ada", "Bo")])
        jr.plots.scorelines(forecast)

    Rows are goals of the first side, columns those of the second. The line below the title has the chances of the
    results, and what is left out.

    Args:
      forecast: as from `jr.forecasts.predict_scorelines`.
      match: which of its matches, from 0.
      most_goals: of a side, from 1 to 20. None: so many that 1% is left out at most, from 4 on.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: if there is no such match, if the forecast has fewer goals, or for chances that are none.
    """
    count = len(forecast.a)
    if not 0 <= match < count:
        raise ValueError(f"match must be from 0 to {count - 1}, got {match}")
    probability = check_scorelines(forecast.probability)[match]
    lead = goal_difference_probabilities(probability, 0.0)
    largest = min(len(probability) - 1, MAX_SHOWN_GOALS)
    if most_goals is None:
        most_goals = _goals_to_show(probability, largest)
    elif check_count("scorelines: most_goals", most_goals, 1, MAX_SHOWN_GOALS) > largest:
        hint = "predict_scorelines(most_goals=...) has more"
        raise ValueError(f"the forecast has up to {largest} goals of a side; {hint}")
    shown = probability[: most_goals + 1, : most_goals + 1]
    first, second = (format_plot_name(names[match]) for names in (forecast.a, forecast.b))
    goals = np.unravel_index(int(np.argmax(probability)), probability.shape)
    title = f"{goals[0]}:{goals[1]} is likeliest, with {format_percentage(probability.max())}"
    win, draw, loss = format_percentages([*map(float, lead)])
    rest = f"; more goals {format_percentage(1.0 - shown.sum())}" * bool(1.0 - shown.sum() >= 5e-4)
    subtitle = f"{first} {win}, draw {draw}, {second} {loss}{rest}. Framed: draws"
    text = PictureText(title, subtitle, f"goals of {second}", f"goals of {first}", _forecast_caption(forecast, match))
    goals_of_side = [str(number) for number in range(len(shown))]
    view = MatrixView(text, goals_of_side, goals_of_side, 100.0 * shown, "probability (%)", has_frames=True)
    return show(view, **canvas)


def _forecast_caption(forecast: Scorelines, match: int) -> str:
    """The line below the picture: what its numbers are a forecast of, and for when."""
    goals = f"Forecast of scorelines up to {forecast.probability.shape[-1] - 1} goals of a side"
    if forecast.time is None:
        return goals
    at = np.asarray(forecast.time)[match]
    is_dated = isinstance(at, np.datetime64)
    when = spell_dates(str(at)[:10]) if is_dated else f"time {format_number(float(at))}"
    return f"{goals}, for {when}"


def _goals_to_show(probability: HostArray, largest: int) -> int:
    """The goals of a side up to which all scorelines but a few are."""
    inside = np.array([probability[: i + 1, : i + 1].sum() for i in range(largest + 1)])
    enough = np.flatnonzero(inside >= (1.0 - LEFT_OUT) * probability.sum())
    return max(int(enough[0]) if len(enough) else largest, min(MIN_SHOWN_GOALS, largest))


@enforce_argument_annotations
def loss_by_difference(rated: History | Mapping[Any, History], *, bins: int = 15, **canvas: Unpack[Canvas]) -> Any:
    """Plot mean log loss by the predicted chance of the favourite, and dotted the loss if predictions were right.

        jr.plots.loss_by_difference({"Elo": jr.rate(jr.elo(), data), "Glicko": jr.rate(jr.glicko(), data)})

    Bins hold about equally many matches, from those that are close to those with a clear favourite; a draw is half a
    win. Those of several systems are the same matches, by the chance that the systems give the favourite on average, so
    that lines can be compared. Bars are 95% intervals. Above the dotted line of the same colour predictions are
    overconfident, below it underconfident. The legend of several systems has their mean losses.

    Args:
      rated: a history of matches from `jr.rate`, or those of several systems by name, of the same matches.
      bins: greatest number of bins; equal chances are in one bin.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for a history of contests or with hindsight, predictions that are not finite, or different matches.
    """
    check_that(bins >= 1, f"bins must be at least 1, got {bins}")
    systems = style.values_by_system(rated)
    names = [*map(format_plot_name, systems)]
    losses = [*map(_losses_by_match, systems.values())]
    counts = {one.shape[1] for one in losses}
    if len(counts) > 1:
        raise ValueError(f"systems must have rated the same matches; they have {join_names(sorted(counts), 'or')}")
    predictions, loss, expected = np.stack(losses, axis=1)
    favourite = predictions.mean(axis=0)
    chance = 100.0 * np.maximum(favourite, 1.0 - favourite)
    labels = [f"{name}, {x:.3f}" if name else "observed" for name, x in zip(names, loss.mean(axis=1), strict=True)]
    curves = [_bin_by_chance(*x, chance, bins) for x in zip(labels, loss, expected, strict=True)]
    text = PictureText(
        _judge_losses(names, curves, loss),
        "Mean log loss by chance of the favourite, with 95% intervals; dotted: if predictions were right",
        "predicted chance of the favourite (%)", "log loss (nats)",
        style.describe_counted_data(f"{len(chance):,} matches"),
    )  # fmt: skip
    drawn = np.concatenate([np.concatenate([curve.low, curve.high, curve.expected]) for curve in curves])
    layers, legend = _curve_layers(curves, canvas), "mean over all matches" * all(names)
    chances = tight_scale(np.append(50.0, [curve.x.max() for curve in curves]))
    return show(LayerView(text, layers, chances, round_scale(drawn), (6.8, 5.2), legend), **canvas)


def _judge_losses(names: Sequence[str], curves: Sequence[Curve], loss: HostArray) -> findings.Finding:
    """Which system loses least, from losses [systems, n]; of one, at which chances its predictions are wrong."""
    if len(curves) == 1:
        return findings.judge_losses(*curves)
    best, *order = np.argsort(loss.mean(axis=1), kind="stable").tolist()
    equal = np.ones(loss.shape[1])
    gaps = [prediction_metrics.paired_difference(loss[i], loss[best], equal) for i in (best, *order)]
    differences = [prediction_metrics.LogLossDifference(*gap) for gap in gaps]
    return findings.find_best_system([names[i] for i in (best, *order)], differences)


def _losses_by_match(rated: History) -> HostArray:
    """[3, n] the prediction of each match, the log loss, and the one expected if predictions are right."""
    rated.check_has_events()
    columns = rated.events
    if "score" not in columns or "rating" not in columns:
        raise ValueError("the loss by difference needs matches, and predictions before them, as from jr.rate")
    p, score = np.asarray(columns["prediction"], float), np.asarray(columns["score"], float)
    fail_where(~np.isfinite(p), lambda row: "predictions are not finite")
    margin = prediction_metrics.probability_clip_margin(columns["prediction"])
    loss, expected = (prediction_metrics.losses_of_samples(p, x, margin).log_loss for x in (score, p))
    return np.stack([p, loss, expected])


def _bin_by_chance(label: str, loss: HostArray, expected: HostArray, chance: HostArray, bins: int) -> Curve:
    """Mean losses in bins with about equally many matches."""
    edges = np.unique(np.quantile(chance, np.linspace(0.0, 1.0, bins + 1), method="lower"))
    bin_index = np.clip(np.searchsorted(edges, chance, side="right") - 1, 0, max(len(edges) - 2, 0))
    count = np.bincount(bin_index)
    x, y, square, right = (np.bincount(bin_index, x) / count for x in (chance, loss, loss**2, expected))
    half = Z_95 * np.sqrt(np.maximum(square - y**2, 0.0) / np.maximum(count - 1, 1))
    return Curve(label, x, y, y - half, y + half, count, right)


@enforce_argument_annotations
def residuals(
    prediction: Any, data: Any, *, top: int = 20, min_games: int = 10, active: Any = None, **canvas: Unpack[Canvas]
) -> Any:
    """Plot the players with the most surprising scores, as mean observed less expected, with 95% intervals.

        jr.plots.residuals(jr.run(jr.glicko(), data).prediction, data, top=10)

    The surprise z is the sum over its standard error sqrt(sum p (1 - p)), which holds if predictions are right (draws
    vary less). Rows are in the order of z, which stands at the right; brackets have the number of matches. Every match
    counts once.

    Args:
      prediction: [n] predictions for player 0, as from `jr.run`.
      data: the `Dataset`, or its matches.
      top: number of players, at most 150.
      min_games: the least number of matches, as one surprise says little; if nobody has so many, those with the most
        matches are shown.
      active: only those who played in so many days, or in the unit of time, up to the last match. "all": everybody.
        None: 365 days if the data has dates, otherwise everybody.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for rounds, predictions outside [0, 1] or of another number of matches, or none; if `active` is no
        number above 0.
    """
    data = style.to_dataset(data)
    matches, names, clock = data.matches, data.players, data.clock
    is_current, days = style.recent_player_mask(matches, clock, active)
    style.check_drawable_count("players", top, 1, style.MAX_ROWS)
    p, score, _ = prediction_metrics.check_and_select_samples(prediction, matches.score, None, None)
    player = np.asarray(matches.player).T.ravel()
    games, total = np.bincount(player), np.bincount(player, np.concatenate([score - p, p - score]))
    enough = is_current & (games >= max(min(min_games, int(games[is_current].max())), 1))
    error = np.sqrt(np.bincount(player, np.tile(p * (1.0 - p), 2)))
    surprise = np.divide(total, error, out=np.zeros_like(total), where=error > 0)
    chosen = np.argsort(-np.where(enough, np.abs(surprise), -1.0), kind="stable")[: min(top, enough.sum())]
    chosen = chosen[np.argsort(-surprise[chosen], kind="stable")]
    labels = [player_label(int(i), names) for i in chosen]
    mean, half_width = (x[chosen] / games[chosen] for x in (total, Z_95 * error))
    most = int(np.argmax(np.abs(surprise[chosen])))
    largest = float(surprise[chosen][most])
    num_players, z_of_all = int(enough.sum()), _joint_surprise(matches.player, score - p, p, enough)
    title = findings.find_surprising_player(labels[most], float(mean[most]), largest, num_players, z_of_all)
    shown = "all" if len(chosen) == enough.sum() else f"the {len(chosen):,} most surprising of"
    current = f" who played in the last {days:g} {'days' if clock == 'dates' else 'units of time'}" if days else ""
    scope = f"{shown} {num_players:,}{current}"
    rule = f"z in standard errors, and beyond ±{findings.surprise_limit(num_players):.1f} it is more than chance"
    subtitle = f"Score above expected of {scope}, with 95% intervals; {rule}"
    values = [f"{surprise[i]:+.1f} ({games[i]:,})".replace("-", "\N{MINUS SIGN}") for i in chosen]
    text = PictureText(title, subtitle, "score above expected, a match", source=style.describe_source(data))
    ends = mean - half_width, mean + half_width
    return show(RowView(text, labels, mean, *ends, values, head="z (matches)", are_differences=True), **canvas)


def _joint_surprise(player: Any, excess: HostArray, p: HostArray, chosen: HostArray) -> float:
    """The surprise of the scores of all chosen players together, in standard errors; 0 if they only met each other."""
    is_chosen = chosen[np.asarray(player)].astype(float)
    sign = is_chosen[:, 0] - is_chosen[:, 1]  # what one of two chosen players scores more, the other scores less
    error = float(np.sqrt((sign**2 * p * (1.0 - p)).sum()))
    return float((sign * excess).sum()) / error if error > 0.0 else 0.0


@enforce_argument_annotations
def comparison(compared_systems: Comparison, **canvas: Unpack[Canvas]) -> Any:
    """Plot the log loss of each system above that of the best, with 95% intervals; the best first.

        plots.comparison(jr.compare(data, ["elo", "glicko", "trueskill"]))

    Intervals are for differences match by match: a difference whose interval includes 0 may be luck. The title
    calls a system the best if it is ahead of each other one by more than chance, all pairs allowed for (Bonferroni).

    Args:
      compared_systems: a comparison from `jr.compare`, of matches.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for a comparison on contests of many, which have no log loss.
    """
    results = [result for result in compared_systems.results if result.log_loss_difference is not None]
    check_that(results, "contests of many have no log loss to compare; print the comparison")
    style.check_drawable_count("systems", len(results), 1, style.MAX_ROWS)
    labels = [format_plot_name(system_result_title(result)) for result in results]
    subtitle = f"Log loss above that of {labels[0]}, match by match, with 95% intervals; less is better"
    gap, error = np.array([result.log_loss_difference for result in results], float).T
    half_width = np.nan_to_num(Z_95 * error)
    title = findings.find_best_system(labels, [result.log_loss_difference for result in results])
    if len(labels) > 2:
        limit = findings.surprise_limit(findings.count_pairs(len(labels)))
        subtitle += f"; beyond {limit:.1f} standard errors a lead is more than chance"
    text = PictureText(
        title, subtitle, f"log loss behind {labels[0]} ({results[0].quality['log loss']:.4f})",
        source=style.describe_counted_data(f"{compared_systems.scored:,} matches"),
    )  # fmt: skip
    values = [
        f"{format_decimals(float(x), 4, signed=True)} ± {y:.4f}" if y else ""
        for x, y in zip(gap, half_width, strict=True)
    ]
    ends = gap - half_width, gap + half_width
    return show(RowView(text, labels, gap, *ends, values, head="behind", are_differences=True), **canvas)
