"""Which system predicts best: each rates the same events, and every prediction is made before its result is known."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.arguments import check_arguments, format_value
from jaxrate.data.dataset import Dataset
from jaxrate.data.inputs import as_dataset
from jaxrate.data.teams import in_teams
from jaxrate.events import Array, Matches, Periods, Rounds, periods
from jaxrate.executors import Executor, each
from jaxrate.records.blending import weighed
from jaxrate.records.comparison_notes import (
    describe_fits,
    describe_hyperparameters,
    describe_margin,
    describe_side,
    describe_unused,
    has_sides,
    unused_data_features,
    uses_side,
)
from jaxrate.records.comparison_table import Blended, Comparison, Result, label_of
from jaxrate.records.history import history
from jaxrate.records.margin_worth import adapt_margin_scale
from jaxrate.records.metrics import NumPy, paired, scores, standings
from jaxrate.records.outlooks import expected
from jaxrate.records.quality import Sides, check_last, scored, two_sides
from jaxrate.records.rating import check_times
from jaxrate.replay.run import run
from jaxrate.replay.schedule import levels
from jaxrate.system import RatingSystem
from jaxrate.systems import SYSTEMS
from jaxrate.systems.choosing import adapted, rates, those_with
from jaxrate.text import number

FIT_PROGRESS_SHARE = 0.8  # of the work, about, where systems are fitted


@check_arguments
def compare(
    data: Any,
    systems: Mapping[str, Any] | Iterable[Any] | None = None,
    *,
    lengths: Iterable[float | None] = (None,),
    last: float = 1.0,
    timed: bool = False,
    fit: bool = False,
    watch: Callable[[float], None] | None = None,
    executor: Executor | None = None,
) -> Comparison:
    """Rate the same events by several systems, and say which predicted best.

    Each predicts every match before it learns from it, and is judged by log loss, Brier score, accuracy and calibration
    error. Losses are compared match by match: the table says by how much each lies behind the best, and the standard
    error of that difference, as if matches were drawn independently. Two or more of them are blended in the last row:
    their log-odds, with weights that are fitted to what came before each match, as `blend` does. In contests of more
    than two sides, the ratings before each say who will be ahead of whom, and how far off the places are, as in
    `metrics.standings`. Beneath the table stand the hyperparameters, and what the data say and a system does not know.

        print(jr.compare(jr.datasets.nfl(), ["elo", "glicko"]))
        print(jr.compare(jr.datasets.nfl(), {"glicko": {"side_advantage": 60}, "mine": jr.glicko(c=20)}))

    Args:
      data: matches or contests, as from `read`, or a table or path as it takes it.
      systems: names of `SYSTEMS`, which are adapted to the data (to its categories, scores, sides and periods), or
        systems, which are taken as they are; or either by the name to show: then a name of `SYSTEMS` comes with the
        hyperparameters to change. None: all that rate the data, except those that demand what it does not have. To
        those by name the side is worth what it was before the share that is scored, and margins what predicted best
        there; both as usual if all is scored.
      lengths: rate in periods of each of these lengths, by the systems that do; None: one event after the other.
      last: score this last share of the matches or contests only.
      timed: replay twice, and say how fast the second one was, compilation and schedule apart; no two at once.
      fit: fit those by name to what comes before the share that is scored: to the last 100,000 matches or
        participations of it, in at most 50 steps, none of which begins after a minute. What is given stays.
      watch: called with the share of the work that is done.
      executor: whose workers each fit or rate a system in one form: anything with a `map`, as a
        `concurrent.futures.Executor`, Dask's `Client(...).get_executor()`, or Ray's `ray.util.multiprocessing.Pool`.
        None: one after the other, here.
        What workers in other processes are given is pickled, so functions of one's own stand in a module; such
        processes are spawned, not forked. The numbers are the same.

    Returns:
      A `Comparison`. Systems that draw random numbers draw the same every time.

    Raises:
      ValueError: if no system rates the data, if `last` is not above 0 and at most 1, or 1 for a `fit`; or as `rate`.
    """
    check_last(last)
    if fit and last == 1:
        raise ValueError("a fit needs events that are not scored; score the last ones only, as by last=0.2")
    data = as_dataset("compare", data)
    wanted = _by_name({name: {} for name in SYSTEMS} if systems is None else systems)
    wanted, left_out = candidates(data, wanted, named=systems is not None)
    lengths = tuple(lengths)
    systems_of = {name: made(name, given, None, data) for name, given in wanted.items()}
    forms = [(name, x) for name, system in systems_of.items() for x in lengths if _kind(data, x) in system.events]
    if not forms:
        raise ValueError(f"{' and '.join(wanted)} rates rating periods, which need times; name the column of time")
    of_matches = isinstance(data.events, Matches)
    count = len(data.rows) if of_matches else len(data.rounds.player_start) - 1
    judged = scored(data, last)
    sides = two_sides(data)
    past = int(np.count_nonzero(~judged))
    systems_by_form = [made(name, wanted[name], length, data, past) for name, length in forms]
    given = [Form(name, length, system) for (name, length), system in zip(forms, systems_by_form, strict=True)]
    reasons: dict[str, str] = {}
    if fit:
        begun = None if watch is None else (lambda share: watch(FIT_PROGRESS_SHARE * share))
        given, reasons = _fit_contenders(data, given, wanted, past, executor, begun)
    share = FIT_PROGRESS_SHARE if fit else 0.0
    rest = None if watch is None else (lambda done: watch(share + (1.0 - share) * done))
    found = each(None if timed else executor, partial(_rated, data, sides, judged, timed, {}), given, rest)
    results = [result for result, _ in found]
    guesses = {label_of(result): guess for result, guess in found if guess is not None}
    results.sort(key=lambda result: _order(result.quality))
    if sides is not None:
        best = guesses[label_of(results[0])]
        results = [
            result._replace(
                behind=paired(guesses[label_of(result)], best, sides.score, weight=sides.weight, mask=judged)
            )
            for result in results
        ]
    counts = {"matches": count} if of_matches else {"contests": count, "participations": len(data.rows)}
    scored_on = _describe_scored(counts, int(judged.sum()), lengths)
    notes = _notes(data, {form.name: form.system for form in given}, wanted, past, reasons if fit else None)
    blend = _blend(guesses, sides, judged) if sides is not None and len(guesses) > 1 else None
    return Comparison(results, counts, len(data.players), int(judged.sum()), scored_on, notes, left_out, blend)


class Form(NamedTuple):
    """What is to be rated in which form."""

    name: str
    length: float | None  # of rating periods
    system: RatingSystem


def _rated(
    data: Dataset, sides: Sides | None, judged: NumPy, timed: bool, arranged: dict[Any, Any], form: Form
) -> tuple[Result, NumPy | None]:
    """How a system did, and what it expected of the first sides [n]; `arranged` are events and plans by length."""
    name, length, system = form
    if length not in arranged:
        arranged[length] = data.events if length is None else periods(data.matches, length), {}
    events, plans = arranged[length]
    replay, judge = _judge(data, sides, judged)
    found, seconds = timed_replay(replay, system, events, levels(system, events, plans), 1 + timed)
    speed = len(data.rows) / seconds if timed else None
    guess = None if sides is None else np.asarray(expected(found.prediction, data)[sides.row])
    return Result(name, length, system, judge(found), speed, None), guess


def _blend(guesses: dict[str, Any], sides: Sides, judged: NumPy) -> Blended:
    weights, _, quality = weighed([*guesses.values()], sides, judged)
    return Blended(dict(zip(guesses, weights.tolist(), strict=True)), quality)


def _describe_scored(counts: Mapping[str, int], num_scored: int, lengths: tuple[float | None, ...]) -> str:
    """What was scored."""
    what, count = next(iter(counts.items()))
    some = f"all {count:,} {what}" if num_scored == count else f"the last {num_scored:,} of {count:,} {what}"
    form = "" if len(lengths) > 1 or lengths[0] is None else f" Rated in periods of {number(lengths[0])}."
    return f"Scored on {some}.{form}"


def _fit_contenders(
    data: Dataset,
    contenders: list[Form],
    system_choices: Mapping[str, Any],
    num_past: int,
    executor: Executor | None,
    watch: Callable[[float], None] | None,
) -> tuple[list[Form], dict[str, str]]:
    """The forms with systems that are fitted, and why those by name were not, "" if they were."""
    by_name = [form for form in contenders if not isinstance(system_choices[form.name], RatingSystem)]
    fit_tasks = [(form, tuple(system_choices[form.name])) for form in by_name]
    results = dict(zip(by_name, each(executor, partial(_fit_contender, data, num_past), fit_tasks, watch), strict=True))
    reasons = {form.name: reason for form, (_, reason) in results.items()}
    return [form._replace(system=results[form][0]) if form in results else form for form in contenders], reasons


def _fit_contender(data: Dataset, num_past: int, fit_task: tuple[Form, tuple[str, ...]]) -> tuple[RatingSystem, str]:
    """The system of a form, fitted, and why not; some hyperparameters stay."""
    from jaxrate.fitting.bounded_fit import fit_with_time_limit

    contender, fixed = fit_task
    return fit_with_time_limit(contender.system, data, num_past, contender.length, fixed)


def _notes(
    data: Dataset, systems: Mapping[str, RatingSystem], wanted: Mapping[str, Any], past: int,
    reasons: Mapping[str, str] | None,
) -> list[str]:  # fmt: skip
    """What to say beneath the table; `reasons` why those by name were not fitted, None if there was no fit."""
    changed = [name for name, given in wanted.items() if given]
    what = "matches" if isinstance(data.events, Matches) else "contests"
    told = [describe_hyperparameters(changed)] if reasons is None else describe_fits(reasons, changed, past, what)
    if past and data.margin:
        told += describe_margin(
            [
                name
                for name, system in systems.items()
                if not isinstance(wanted[name], RatingSystem) and "margin_scale" not in wanted[name]
                if system.settings.get("outcome") == "margin" and (reasons or {}).get(name, " ")
            ],
            past,
        )
    if has_sides(data):
        by_default = [
            name
            for name, system in systems.items()
            if not isinstance(wanted[name], RatingSystem) and "side_advantage" not in wanted[name]
            if uses_side(system) and (reasons or {}).get(name, " ")
        ]
        told += describe_side(data, by_default, past)
    return told + describe_unused({name: unused_data_features(system, data) for name, system in systems.items()})


def _by_name(systems: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Systems, or changes of hyperparameters of those that are named, by the name to show."""
    if isinstance(systems, Mapping):
        return dict(systems)
    given = [systems] if isinstance(systems, (str, RatingSystem)) else list(systems)
    found: dict[str, Any] = {}
    for system in given:
        name = system.name if isinstance(system, RatingSystem) else system
        if not isinstance(name, str):
            raise ValueError(f"compare takes systems, or their names, got {format_value(system)}")
        if name in found:
            raise ValueError(f"two systems have the name {name}; give each its own, as in {{'fast': {name}(...), ...}}")
        found[name] = system if isinstance(system, RatingSystem) else {}
    return found


def made(name: str, given: Any, length: float | None, data: Dataset, past: int = 0) -> RatingSystem:
    """A system that was given, or the one of this name with these changes for these data.

    Of the matches the first are the `past`, so many, of which none is scored.
    """
    if isinstance(given, RatingSystem):
        return given
    return adapt_margin_scale(adapted(name, given, length, data, unscored=past), given, data, length, past)


def candidates(data: Dataset, systems: Mapping[str, Any], *, named: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """Which of these systems, or of those so named with these changes, rate the data, and why others are left out.

    Unless the user `named` them, systems are left out whose demands the data does not meet.

    Raises:
      ValueError: if none is left, or if contests are not in order of time and a system takes notice.
    """
    of_matches = isinstance(data.events, Matches)
    chosen = {name: made(name, given, None, data) for name, given in systems.items()}
    fitting = [name for name, system in chosen.items() if rates(system, data)]
    if not named and of_matches:
        fitting = [name for name in fitting if not chosen[name].traits.contests]
    if not named and of_matches and (data.categories is None or data.clock is None):
        fitting = [name for name in fitting if Matches in chosen[name].events]
    if not fitting:
        kind = "matches" if of_matches else "rounds"
        raise ValueError(f"none of these systems rates {kind}: {', '.join(chosen)}")
    left_out: dict[str, str] = {}
    if in_teams(data):
        left_out = {name: "team-mates would be opponents" for name in fitting if not chosen[name].traits.teams}
        if len(left_out) == len(fitting):
            know = " or ".join(those_with("teams"))
            raise ValueError(f"none of these systems rates teams: {', '.join(left_out)}; try {know}")
    flat: Any = None if of_matches else data.rounds.events
    if flat is not None and flat.seat is not None:
        left_out |= {name: "it rates nobody in several teams" for name in fitting if not chosen[name].traits.seats}
        if len(left_out) == len(fitting):
            know = " or ".join(those_with("seats"))
            raise ValueError(f"none of these rates players in several teams: {', '.join(left_out)}; try {know}")
    if flat is not None and flat.noise is not None:
        left_out |= {name: "it knows no noise of contests" for name in fitting if not chosen[name].traits.noise}
        if len(left_out) == len(fitting):
            know = " or ".join(those_with("noise"))
            raise ValueError(f"none of these systems knows the noise of contests: {', '.join(left_out)}; try {know}")
    for name in fitting:
        if of_matches and not named:
            try:
                made(name, systems[name], None, data).check(data.events)
            except ValueError as error:
                left_out[name] = str(error)
        elif not of_matches and name not in left_out:
            check_times(chosen[name], data)
    return {name: systems[name] for name in fitting if name not in left_out}, left_out


def _kind(data: Dataset, length: float | None) -> type:
    """What a system is to rate."""
    whole = Matches if isinstance(data.events, Matches) else Rounds
    return whole if length is None else Periods


def _judge(
    data: Dataset, sides: Sides | None, scored: NumPy
) -> tuple[Callable[..., Any], Callable[[Any], dict[str, float]]]:
    """How to replay, and what to say of what it gave; `scored` [n] or [E] is a mask."""
    if sides is None:
        mask = np.repeat(scored, np.diff(data.rounds.player_start))
        return history, lambda found: standings(data.rounds, found.before.mean, mask=mask)

    def of_sides(found: Any) -> dict[str, float]:
        prediction = expected(found.prediction, data)[sides.row]
        return scores(prediction, sides.score, weight=sides.weight, mask=scored)

    return run, of_sides


def _order(quality: Mapping[str, float]) -> float:
    """The best first."""
    return quality["log loss"] if "log loss" in quality else -np.nan_to_num(quality["pair inversion"])


def timed_replay(
    replay: Callable[..., Any], system: RatingSystem, events: Any, plan: Any, times: int = 2
) -> tuple[Any, float]:
    """What `replay` gives, and the seconds of its last time: of a second one, compilation and schedule apart."""
    for _ in range(times):
        start = time.perf_counter()
        result = jax.block_until_ready(replay(system, events, schedule=plan, key=fixed_key(system)))
        seconds = time.perf_counter() - start
    return result, seconds


def fixed_key(system: RatingSystem) -> Array | None:
    """A PRNG key, the same every time, if the system draws random numbers."""
    return None if system.rules.draw is None else jax.random.key(0)
