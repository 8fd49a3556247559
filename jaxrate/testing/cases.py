"""Systems in all forms and precisions, and the histories that they rate."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise, product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.system import RatingSystem
from jaxrate.events import Context, Matches, Periods, Ragged, Rounds, matches, periods, rounds, slice_events
from jaxrate.replay.compiler_options import quick_compile_options
from jaxrate.replay.plan import Block, Plan
from jaxrate.replay.player_rows import as_device_arrays
from jaxrate.replay.scan_programs import make_replay_rules, predict_event_after_elapsed_time, prepare_replay, rate_event
from jaxrate.replay.schedule import arrange_blocks, schedule_by_level

FORMS = {"stream": Matches, "levels": Matches, "periods": Periods, "rounds": Rounds}  # the events of each form


class SystemFormPrecision(NamedTuple):
    """A system, replayed in one form and in one precision."""

    system: RatingSystem
    form: str  # a key of FORMS
    double: bool  # in float64

    def __str__(self) -> str:
        return f"{self.system.name}, {self.form}, {'float64' if self.double else 'float32'}"


@contextmanager
def strict_precision(double: bool) -> Iterator[None]:
    """A precision, with strict promotion of types and ranks."""
    with jax.enable_x64(double), jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def jit_quickly(function: Callable[..., Any]) -> Any:
    """The function under jit, compiled with options for quick compilation."""
    return jax.jit(function, compiler_options=quick_compile_options())


def as_float_arrays(params: Any) -> Any:
    """Hyperparameters as arrays of the default precision: new values then need no compilation."""
    return jax.tree.map(lambda x: jnp.asarray(x, float), params)


@contextmanager
def record_compilations() -> Iterator[list[float]]:
    """A list that collects the seconds of each compilation within the context."""
    durations: list[float] = []

    def record_duration(event: str, duration_secs: float, **_: Any) -> None:
        if event.endswith("backend_compile_duration"):
            durations.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(record_duration)
    try:
        yield durations
    finally:
        jax.monitoring.unregister_event_duration_listener(record_duration)


def make_key(system: RatingSystem) -> Any:
    """A key if the system draws random numbers."""
    return None if system.rules.draw is None else jax.random.key(0)


def gather_player_rows(state: Any, ids: Any) -> Any:
    """Some players' rows of a state."""
    return jax.tree.map(lambda x: x[ids], state)


def assert_claim(condition: Any, message: str) -> None:
    """AssertionError with this message unless the condition holds. (An assert statement may be switched off.)"""
    if not condition:
        raise AssertionError(message)


def assert_with_label(label: str, compare: Callable[..., None], *values: Any, **options: Any) -> None:
    """A comparison by NumPy, whose AssertionError begins with a label."""
    try:
        compare(*values, **options)
    except AssertionError as error:
        raise AssertionError(f"{label}: {str(error).strip()}") from None


def assert_equal_leaves(label: str, a: Any, b: Any) -> None:
    """AssertionError unless all leaves are equal to the last bit."""
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert_with_label(label, np.testing.assert_array_equal, x, y)


def assert_close_leaves(label: str, a: Any, b: Any, tolerance: float) -> None:
    """AssertionError unless leaves agree, relative to each number, or to 1 or the largest if that is more."""
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        largest = np.abs(y)[np.isfinite(y)].max(initial=0.0)
        scale = largest if np.ndim(y) > 1 else min(largest, 1.0)
        assert_with_label(label, np.testing.assert_allclose, x, y, rtol=tolerance, atol=tolerance * scale)


PERIOD_LENGTH, SEASON = 5.0, 50.0  # length of a rating period, and time between the starts of two seasons
TIME_AFTER_EVENTS = 130.0  # after all events
MATCHES, PLAYERS = 120, 23
# Sizes of the contests of a season. The small ones are rated two at a time.
SIZES = (68, 28, 2, 21, 9, 3, 13, 17, 25, 5), (66, 28, 2, 21, 9, 5, 13, 17, 25, 5)
STEPS = ((0,), (1, 2), (3, 4), (5,), (6, 7), (8, 9))
POOL, SLOTS = 130, 72  # players of contests, and padded size of contests
ALL_TIE = 13  # in contests of this size all participants tie
IDLE_PLAYERS = 9  # players who never play


def player_count(form: str) -> int:
    """The number of players in a form, with those who never play."""
    return IDLE_PLAYERS + (POOL if form == "rounds" else PLAYERS)


def two_season_events(case: SystemFormPrecision) -> Any:
    """The events of both seasons: contests, or matches, which may be replayed in periods."""
    random, names = np.random.default_rng(8), column_names_read_by_rules(case.system, case.form)
    if case.form == "rounds":
        contests: Any = make_noisy_contests() if "noise" in case.system.features else make_contests()
        numbers = {name: random.uniform(0.5, 5.0, len(contests.flat.player)) for name in names}
        return contests.with_flat(contests.flat._replace(columns=numbers or None))
    columns = {name: random.uniform(0.5, 5.0, 2 * MATCHES) for name in names}
    league = make_two_season_matches()
    columns = _swap_goals_to_match_winners(case.system, columns, np.asarray(league.score))
    league = league._replace(context=league.context._replace(columns=columns or None))
    unweighted = league._replace(context=league.context._replace(weight=None))  # some take matches that count as one
    decided = unweighted._replace(score=np.ceil(np.asarray(league.score)))  # and some no draws
    return next(x for x in (league, unweighted, decided) if _does_system_accept_matches(case, x))


def _swap_goals_to_match_winners(system: RatingSystem, columns: dict[str, Any], score: Any) -> dict[str, Any]:
    """The columns, where goals are such that who wins has more of them; those of the margin are whole numbers."""
    pairs = opposite_side_columns(system) if system.settings.get("outcome") == "goals" else {}
    for one, other in pairs.items():
        if one in columns and one < other:
            more, less = np.maximum(columns[one], columns[other]), np.minimum(columns[one], columns[other])
            if one in system.settings["margin"]:
                more, less = np.rint(more) + 1.0, np.rint(0.5 * less)
            columns |= {one: np.where(score == 0.0, less, more), other: np.where(score == 1.0, less, more)}
    return columns


def _does_system_accept_matches(case: SystemFormPrecision, league: Matches) -> bool:
    try:
        case.system.check(events_in_form(case.form, league))
    except ValueError:
        return False
    return True


def opposite_side_columns(system: RatingSystem) -> dict[str, str]:
    """The column of the other side, for each column of what one side scored or was expected to score."""
    names = ("margin", "expected_goals") if system.settings.get("outcome") in ("points", "goals") else ()
    pairs = [system.settings[name] for name in names if system.settings[name]]
    return {one: other for a, b in pairs for one, other in ((a, b), (b, a))}


@lru_cache
def column_names_read_only_to_update(system: RatingSystem, form: str) -> tuple[str, ...]:
    """The names of columns of matches that rules learn from and do not need to predict, such as margins."""
    predictor_names = column_names_read_by_rules(system, form, predicted=True)
    return tuple(name for name in column_names_read_by_rules(system, form) if name not in predictor_names)


@lru_cache
def column_names_read_by_rules(system: RatingSystem, form: str, predicted: bool = False) -> tuple[str, ...]:
    """The names of further columns of events that the rules read, or, if `predicted`, that they read to predict."""
    event: Any
    if form == "rounds":
        number, ones = jnp.arange(2, dtype=jnp.int32), jnp.ones(2)
        recorded_columns: Any = defaultdict(lambda: ones)
        event = Rounds(number, number, number, ones, jnp.zeros(()), columns=recorded_columns)
    else:
        event = first_device_event(
            form, make_two_season_matches()._replace(context=make_two_season_matches().context._replace(columns=None))
        )
        recorded_columns = defaultdict(lambda: jnp.ones(event.score.shape))
        event = event._replace(context=event.context._replace(columns=recorded_columns))

    _ = recorded_columns[""]  # so that rules see some columns

    def rate_first_event() -> Any:
        draw = system.rules.draw
        random_numbers = None if draw is None else draw(jax.random.key(0))
        state = system.init(system.params, len(event.player))
        rules = make_replay_rules(system.rules, system.params)
        prepared = prepare_replay(rules, system.params)
        if predicted:
            return predict_event_after_elapsed_time(rules, prepared, state, event)
        return rate_event(rules, prepared, state, event, random_numbers)

    jax.eval_shape(rate_first_event)
    return tuple(filter(None, recorded_columns))


def first_device_event(form: str, league: Matches) -> Any:
    """The first match, or a rating period of the first three, on the device."""
    if form != "periods":
        return jax.tree.map(lambda x: x[0], as_device_arrays(league))
    period = periods(slice_events(league, 0, 3), period=np.zeros(3)).events
    return as_device_arrays(period._replace(time=league.time[0]))


def split_seasons(case: SystemFormPrecision) -> tuple[Any, Any]:
    """The events of the first and those of the second season."""
    events = two_season_events(case)
    half = len(SIZES[0]) if case.form == "rounds" else MATCHES
    return slice_events(events, 0, half), slice_events(events, half, 2 * half)


def events_in_form(form: str, events: Any) -> Any:
    """Matches, in rating periods if the form is periods."""
    return periods(events, PERIOD_LENGTH)._replace(length=None) if form == "periods" else events  # for any system


def schedule_for_form(form: str, events: Any) -> Any:
    """The schedule for `run` in this form; contests two at a time, padded to `SLOTS`."""
    if form != "rounds":
        return "auto" if form == "periods" else form
    return arrange_blocks(events, [Block(contest_indices_by_step(0, len(events.player_start) - 1), (SLOTS, SLOTS))])


def contest_indices_by_step(low: int, high: int) -> Any:
    """[steps, 2] the contests of each step, for contests from `low` to below `high`, counted from `low`."""
    per_season, count = len(SIZES[0]), high - low
    seasons = [[i + per_season * k - low for i in step] for k in range(-(-high // per_season)) for step in STEPS]
    inside = [[i for i in step if 0 <= i < count] for step in seasons]
    return np.array([[*step, count][:2] for step in inside if step], np.int32)


def block_of_contest_pairs(pairs: Any, num_events: int) -> Block:
    """Contests two at a time, [at most 6, 2], in a block that the program of a season rates; `num_events` is none."""
    return _fill_block(np.asarray(pairs), num_events, len(STEPS), SLOTS)


def block_of_small_contests(contests: Any, num_events: int) -> Block:
    """Contests of at most 28, one by one, [at most 9], in a block of one shape, for one program to rate them."""
    return _fill_block(np.asarray(contests)[:, None], num_events, len(SIZES[0]) - 1, max(SIZES[0][1:]))


def _fill_block(steps: Any, num_events: int, num_steps: int, slots: int) -> Block:
    """Steps [at most num_steps, batch] of contests, and steps without one; all contests are padded to the slots."""
    number = np.full((num_steps, steps.shape[1]), num_events, np.int32)
    number[: len(steps)] = steps
    return Block(number, (slots, slots))


@lru_cache
def make_two_season_matches() -> Matches:
    """Matches of two seasons: with the same players in the same order on the same days; all else is random."""
    random = np.random.default_rng(0)
    first = random.integers(0, PLAYERS, MATCHES)
    player = np.stack([first, (first + random.integers(1, PLAYERS, MATCHES)) % PLAYERS], axis=1)
    time, n = np.sort(random.uniform(0.0, SEASON, MATCHES)), 2 * MATCHES
    score = random.integers(0, 3, n) / 2
    score[MATCHES - 1] = 1.0  # the first season ends with a win
    return matches(
        np.tile(player, (2, 1)),
        score,
        np.append(time, SEASON + time),
        side=random.integers(-1, 2, n),
        weight=random.choice([0.5, 1.0], n),
        category=random.integers(0, 3, (n, 2)),
    )


@lru_cache
def make_contests() -> Ragged:
    """Contests with ties and weights, every third with a ceiling."""
    random = np.random.default_rng(1)
    participants, columns = [], []
    for sizes, step in product(SIZES, STEPS):
        batch_sizes = [sizes[i] for i in step]
        participants += np.split(random.permutation(POOL)[: sum(batch_sizes)], np.cumsum(batch_sizes)[:-1])
    for i, player in enumerate(participants):
        n = len(player)
        rank = random.permutation(np.append(random.integers(0, max(2, n // 2), n - 2), [0, n]))
        rank = np.zeros(n) if n == ALL_TIE else rank
        constant_columns = random.choice([0.5, 1.0, 2.0]), 2.5 * (i // 3), math.inf if i % 3 else 1620.0
        columns.append([np.full(n, i), player, rank, *(np.full(n, x) for x in constant_columns)])
    contest, player, rank, weight, time, ceiling = (np.concatenate(x) for x in zip(*columns, strict=True))
    return rounds(contest, player, rank, weight=weight, time=time, ceiling=ceiling)


@lru_cache
def make_noisy_contests() -> Ragged:
    """The contests of `make_contests`, some noisier than others."""
    rounds: Any = make_contests().events
    noise = np.random.default_rng(2).uniform(0.8, 1.5, len(rounds.time))
    return make_contests()._replace(events=rounds._replace(noise=noise))


CHUNK_LEVELS = 8  # number of levels is a multiple of this
PADDED_PERIOD = 18, 16  # players and matches to which periods are padded
SECOND_CHUNK_START = {"stream": MATCHES // 2, "levels": MATCHES // 2, "periods": 5, "rounds": 4}


def split_in_chunks(case: SystemFormPrecision, events: Any) -> list[Any]:
    """A season in two chunks; in one if the system draws random numbers, which would differ."""
    history = periods(events, PERIOD_LENGTH)._replace(length=None) if case.form == "periods" else events
    count = len(history.flat.time)
    ends = [0, count] if case.system.rules.draw is not None else [0, SECOND_CHUNK_START[case.form], count]
    return [to_scan_events(case.form, slice_events(history, low, high), low) for low, high in pairwise(ends)]


def to_scan_events(form: str, events: Any, first_event: int) -> tuple[Any, Plan | None]:
    """Events of a season, which begin at index `first_event`, and their plan, as arguments of `scan`."""
    count = len(events.flat.time)
    if form == "stream":
        return as_device_arrays(events), None
    if form == "levels":
        plan = schedule_by_level(events, CHUNK_LEVELS)
    elif form == "periods":
        plan = arrange_blocks(events, [Block(np.arange(count, dtype=np.int32)[:, None], PADDED_PERIOD)])
    else:
        number = contest_indices_by_step(first_event, first_event + count)
        plan = arrange_blocks(events, [Block(number, (SLOTS, SLOTS))])
    return plan.place(events), plan


def stack_trees(trees: list[Any]) -> Any:
    """Trees of equal shapes as one with NumPy leaves [trees, ...]."""
    return jax.tree.map(lambda *x: np.stack([np.asarray(y) for y in x]), *trees)


def swap_sides(league: Matches, opposite: Mapping[str, str] | None = None) -> Matches:
    """The matches, each seen from the other side; `opposite` as in `reverse_results`."""
    side, weight, category, columns = league.context
    if opposite and columns:
        columns = {name: columns[opposite.get(name, name)] for name in columns}
    context = Context(None if side is None else -side, weight, None if category is None else category[:, ::-1], columns)
    return league._replace(player=league.player[:, ::-1], score=1.0 - league.score, context=context)


def shuffle_participants(contests: Ragged, renumber: bool = False) -> tuple[Ragged, Any]:
    """Contests with the rows of each in another order, and that order; `renumber` gives teams new numbers, too."""
    random = np.random.default_rng(4)
    order = np.concatenate([a + random.permutation(b - a) for a, b in pairwise(contests.player_start)])
    rounds: Any = contests.events
    fields = {name: getattr(rounds, name)[order] for name in ("player", "rank", "team", "weight")}
    if renumber:
        for a, b in pairwise(contests.player_start):
            _, team = np.unique(fields["team"][a:b], return_inverse=True)
            fields["team"][a:b] = random.permutation(b - a)[team]
    fields["category"] = None if rounds.category is None else rounds.category[order]
    fields["columns"] = rounds.columns and {name: x[order] for name, x in rounds.columns.items()}
    return contests._replace(events=rounds._replace(**fields)), order


def rename_players(events: Any, new_ids: Any) -> Any:
    """The events with the id `new_ids[i]` for player i."""
    return events.with_flat(events.flat._replace(player=new_ids[events.flat.player].astype(np.int32)))


def reverse_results(
    events: Any, first_event: int, evidence: tuple[str, ...] = (), opposite: Mapping[str, str] | None = None
) -> Any:
    """Events with reversed results from `first_event` on: `evidence` columns change sign, `opposite` ones swap."""
    opposite = opposite or {}

    if isinstance(events, Matches):
        is_reversed = np.arange(len(events.score)) >= first_event
        score = np.where(is_reversed, 1.0 - events.score, events.score)
        columns: Any = events.context.columns
        reversed_columns = {
            name: np.where(is_reversed, columns[opposite[name]] if name in opposite else -columns[name], columns[name])
            for name in evidence
        }
        context = events.context._replace(columns=columns | reversed_columns if reversed_columns else columns)
        return events._replace(score=score, context=context)
    rank, start = events.events.rank, events.player_start
    worse = [(x[:, None] < x[None, :]).sum(axis=1) for x in np.split(rank, start[1:-1])]
    is_reversed = np.arange(len(rank)) >= start[first_event]
    rank = np.where(is_reversed, np.concatenate(worse), rank).astype(np.int32)
    columns = events.events.columns
    reversed_columns = {name: np.where(is_reversed, -columns[name], columns[name]) for name in evidence}
    columns = columns | reversed_columns if reversed_columns else columns
    return events._replace(events=events.events._replace(rank=rank, columns=columns))
