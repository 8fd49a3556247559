"""Matches and contests to come: who wins, how often it is a draw, and the fair odds."""

import difflib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.argument_checks import check_arguments
from jaxrate.data.derived_covariates import upcoming_rest_and_form
from jaxrate.data.lookalike_names import fold_name
from jaxrate.data.table_reading import read
from jaxrate.data.table_sources import open_source
from jaxrate.events import Context, Matches, check_clock, count_teams
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts.pairwise_probabilities import fill_missing_margins
from jaxrate.league.column_table import ColumnTable
from jaxrate.league.prediction_columns import contest_prediction_columns, match_prediction_columns
from jaxrate.league.query_time import parse_time_after_end, written_date_format
from jaxrate.league.rated_history import Rated, extend_seasons, format_time, to_dates
from jaxrate.league.system_choice import drop_unknown_teams
from jaxrate.replay.event_prediction import predict
from jaxrate.replay.scan_programs import predict_event, prepare_replay
from jaxrate.system import RatingSystem, State
from jaxrate.systems.outcome_probabilities import add_outcomes, davidson_outlook, is_outlook
from jaxrate.text_format import format_cell
from jaxrate.types import HostArray

COMMON_OPTIONS = "time", "skip_incomplete", "normalise_names", "dates"  # what is read of each kind
# What is known of matches before they are played
PREMATCH_OPTIONS = "category", "mixtures", "margin", "covariates", "season", "league_season", "age", "columns"
MATCH_OPTIONS = "a", "b", "score", "na_values", "side", "neutral", *PREMATCH_OPTIONS, *COMMON_OPTIONS
CONTEST_OPTIONS = "contest", "participant", "team", "weight", "ceiling", "noise", *COMMON_OPTIONS
OPTIONAL_OPTIONS = "time", "score", "neutral", "season", "columns"  # saved columns that what is to come may lack
RESULT_OPTIONS = (
    "a",
    "b",
    "score",
    "winner",
    "loser",
    "margin",
    "skip_incomplete",
    "normalise_names",
)  # of what was played
DRAW_SAMPLE_LIMIT = 100_000  # matches, the last ones, by which draws are weighed
MIN_LOG_DRAW_ODDS, MAX_LOG_DRAW_ODDS = -10.0, 5.0  # of log(draw_odds)
MAX_SUGGESTIONS = 3  # names that are offered
MAX_PERMUTED_WORDS = 4  # words, whose orders are tried


@check_arguments
def predict_fixtures(
    rated: Rated, source: Any, *, newcomers: bool = False, time: Any = None, **columns: Any
) -> ColumnTable:
    """What is expected of matches or contests to come, as columns that print as a table.

        jr.forecasts.predict_fixtures(rated, [("Ada", "Bo"), ("Cy", "Di")], time="2026-07-01")
        jr.forecasts.predict_fixtures(rated, "july.csv", a="home", b="away", side="a")

    Matches have time, a, b, who has the side (where anybody has), the chances of a to win, to draw and to lose, and the
    fair odds of each, 1 / chance. Where the history has draws and its system does not tell them, Davidson's model
    divides what it expects, see `outlook`, with the `draw_odds` that the history's own predictions make likeliest.
    Without draws the chance to win is the expected score. Contests have time, contest, player, expected rank and the
    share of the others, or of other teams, to be left behind; of an `outlook` also the chances to win and to draw.

    Args:
      rated: as from `rate` or `load`.
      source: a list of pairs of names; or a table as `read` takes it, without score and rank, or with scores, of which
        the rows without one are predicted; or what `read` made of one: the `fixtures` of the data that were rated, or
        with `upcoming=True` and the players, categories and seasons of the history.
      newcomers: whether names that the history does not have are new players. If not, they are refused.
      time: of all, where the source has no times: a date if the history has dates, else a number. None: the end of the
        history.
      columns: as of `read`. Those that the command line saved with the history count where no other is named. What is
        to come needs players, sides and what else the system learns from; without its column no place is neutral.

    Raises:
      ValueError: for names that the history does not have (names the nearest), events of another kind or with times of
        another kind or before its end, and as `read` does.
    """
    days = {name: (rated.options.get("columns", {}) | columns).get(name) for name in ("rest", "form")}
    data = _read_upcoming(rated, source, {name: x for name, x in columns.items() if name not in days})
    if data.clock not in (None, rated.clock):
        raise ValueError(f"the times must be {rated.clock or 'left out'}, as in the run")
    unknown = data.players[len(rated.players) :]
    if len(unknown) and not newcomers:
        raise ValueError(_unknown_players_message(unknown.tolist(), rated.players))
    data = drop_unknown_teams(rated.system, data)
    if data.clock is None:
        if time is not None and rated.clock == "dates":
            check_clock(rated.clock, time)
        now = parse_time_after_end(rated, rated.state, time, rated.players)
        data = _set_all_times(data, (rated.last or 0.0) if now is None else now)
    elif time is not None:
        raise ValueError("time is for a source without times, and this one has them")
    else:
        _check_after_history(rated, data)
    if any(days.values()) and rated.contests is None:
        data = _add_rest_and_form(rated, data, days)
    system = extend_seasons(rated, (data.seasons or {}).values())
    shown = data._replace(clock=rated.clock)
    if not isinstance(data.events, Matches):
        return _forecast_contests(rated, system, shown)
    forecasts = _forecast_matches(rated, add_draw_model(rated, system), shown)
    return forecasts.drop_columns("row") if _is_pair_list(source) else forecasts


def _check_after_history(rated: Rated, data: Dataset) -> None:
    """ValueError where an event is before the end of the history, whose ratings know more than was known then."""
    if isinstance(data.events, Matches):
        time = np.asarray(data.events.time)
    else:
        time = np.repeat(np.asarray(data.rounds.events.time), np.diff(data.rounds.player_start))
    last = -np.inf if rated.last is None else rated.last
    early = np.flatnonzero(time < last)
    if len(early):
        row, then, end = (data.rows[early[0]], *(format_time(x, rated.clock) for x in (time[early[0]], last)))
        more = f" and {len(early) - 1:,} more" if len(early) > 1 else ""
        raise ValueError(
            f"row {row} (counting from 0){more}: time {then} is before the end of the run, {end}, whose ratings know "
            "more than was known then; leave it out, or look at the predictions of the run"
        )


def _add_rest_and_form(rated: Rated, data: Dataset, windows: dict[str, float | None]) -> Dataset:
    """Matches to come, with the rest and the form that follow from what was rated, where they have none."""
    context = data.matches.context
    history_columns = upcoming_rest_and_form(
        rated.predictions, windows["rest"], windows["form"], data.players, data.matches
    )
    columns: Any = history_columns | (context.columns or {})
    return data._replace(events=data.matches._replace(context=context._replace(columns=columns)))


def _is_pair_list(source: Any) -> bool:
    """Whether it is a list of pairs of names, and not one of dicts."""
    is_list = isinstance(source, (list, tuple)) and not hasattr(source, "_fields")
    return is_list and not (source and isinstance(source[0], Mapping))


def _read_upcoming(rated: Rated, source: Any, columns: dict[str, Any]) -> Dataset:
    of_matches = rated.contests is None
    if isinstance(source, Dataset):
        data = source
        if not np.array_equal(data.players[: len(rated.players)], rated.players):
            raise ValueError("the players have other ids than in the run; read what is to come with players=...")
    else:
        pairs = _is_pair_list(source)
        if pairs:
            if not all(isinstance(x, (tuple, list)) and len(x) == 2 for x in source):
                one = f"; of one match it is [{tuple(source)!r}]" if len(source) == 2 else ""
                raise ValueError(f"fixtures must be pairs of names, as [('Ada', 'Bo')], or a table{one}")
            table = {name: np.array([x[i] for x in source], object) for i, name in enumerate("ab")}
            source = open_source(table)._replace(noted=False)  # of names that look alike the history was told
        saved_options: dict[str, Any] = {"side": "a"} if rated.options.get("sided") else {}
        saved_options |= {"dates": written_date_format(rated)}
        saved_options |= {} if pairs else rated.options.get("columns", {})
        kept = {
            key: saved_options[key]
            for key in (MATCH_OPTIONS if of_matches else CONTEST_OPTIONS)
            if key in saved_options
        }
        source = open_source(source)
        needed = {"columns"} if of_matches and _requires_columns(rated) else set()
        spared = {*OPTIONAL_OPTIONS} - needed
        kept = {
            key: x
            for key, x in kept.items()
            if x is False or key not in spared or {*np.atleast_1d(x)} <= {*source.names}
        }
        category_options: dict[str, Any] = {} if rated.categories is None else {"categories": rated.categories}
        if rated.seasons is not None and (kept | columns).get("season") is not None:
            category_options["seasons"] = rated.seasons
        data = read(source, **kept | columns, **category_options, players=rated.players, upcoming=True)
    if isinstance(data.events, Matches) != of_matches:
        kinds = ("matches", "contests") if of_matches else ("contests", "matches")
        raise ValueError("the run is of {}, these are {}".format(*kinds))
    return data


def _requires_columns(rated: Rated) -> bool:
    """Whether the rules cannot predict without columns that are no covariates."""
    rules, params, number = rated.system.rules, rated.system.params, jnp.zeros(())
    known = dict.fromkeys(rated.system.settings.get("covariates", ()), number)
    context = Context(side=number, category=jnp.zeros(2, jnp.int32), columns=known)
    match = Matches(jnp.zeros(2, jnp.int32), number, number, context)

    def tell(state: State) -> Any:
        rows = jax.tree.map(lambda x: jnp.stack([x[0], x[0]]), state)
        return predict_event(rules, prepare_replay(rules, params), rows, match)

    try:
        jax.eval_shape(tell, rated.state)
    except KeyError:
        return True
    return False


def read_results(rated: Rated, source: Any, newcomers: bool, columns: dict[str, Any]) -> tuple[HostArray, HostArray]:
    """Names [n, 2] and scores [n] of matches with results, of players of the history."""
    options = rated.options.get("columns", {}) | columns
    kept = {name: x for name, x in options.items() if name in RESULT_OPTIONS}
    data = source if isinstance(source, Dataset) else read(source, **kept, players=rated.players)
    unknown = data.players[len(rated.players) :]
    if len(unknown) and not newcomers:
        raise ValueError(_unknown_players_message(unknown.tolist(), rated.players))
    score = np.asarray(data.matches.score)
    if not np.isin(score, (0.0, 0.5, 1.0)).all():
        raise ValueError("the results of a season must be wins, draws and losses")
    return data.players[data.matches.player], score


def _unknown_players_message(names: list[Any], players: HostArray) -> str:
    said = [f"{format_cell(name)}{suggest_names(name, players)}" for name in names[:MAX_SUGGESTIONS]]
    more = f" and {len(names) - MAX_SUGGESTIONS:,} more" if len(names) > MAX_SUGGESTIONS else ""
    return f"no player {'; none '.join(said)}{more}; newcomers=True takes them as new players"


def suggest_names(name: Any, players: HostArray) -> str:
    """The names that look most like this one, to end a message with: " (near: 'Ada', 'Adam')", or nothing.

    Case and accents do not count. First stand those of the same words in another order, as in "Sinner Jannik", then
    those of the same words but for initials, as in "J. Sinner", then those spelt nearly so, and those with a word.
    """

    def plain(text: Any) -> str:
        letters = unicodedata.normalize("NFD", fold_name(str(text)))
        return "".join(x for x in letters if not unicodedata.combining(x))

    def words(text: str) -> list[str]:
        return sorted(re.findall(r"\w+", text))

    def may_be(one: Sequence[str], other: Sequence[str]) -> bool:
        return all(x in (y, y[0]) for x, y in zip(one, other, strict=True))

    known: dict[str, Any] = {plain(x): x for x in reversed(players.tolist())}
    wanted = plain(name)
    parts = {x: words(x) for x in known}
    mine = words(wanted)
    orders = [*permutations(mine)] if 1 < len(mine) <= MAX_PERMUTED_WORDS else []
    turned = [x for x, its in parts.items() if its == mine]
    same = [x for x, its in parts.items() if len(its) == len(mine)]
    short = [x for x in same if any(may_be(o, parts[x]) or may_be(parts[x], o) for o in orders)]
    close = difflib.get_close_matches(wanted, known, n=MAX_SUGGESTIONS)
    within = [x for x, its in parts.items() if wanted in its or x in mine]
    rest = [*close, *within] if len(mine) > 1 else [*within, *close]
    suggestions = [known[x] for x in dict.fromkeys([*turned, *short, *rest])][:MAX_SUGGESTIONS]
    return f" (near: {', '.join(map(format_cell, suggestions))})" if suggestions else ""


def _set_all_times(data: Dataset, time: float) -> Dataset:
    """Events without times, all at this one."""
    events: Any = data.events
    if isinstance(events, Matches):
        return data._replace(events=events._replace(time=np.full_like(events.time, time)))
    flat = events.events._replace(time=np.full_like(events.events.time, time))
    return data._replace(events=events._replace(events=flat))


def add_draw_model(rated: Rated, system: RatingSystem) -> RatingSystem:
    """The system, telling draws if the history has some and it does not."""
    table = rated.predictions
    if is_outlook(system) or {"draw", "probability_1"} & {*table.column_names}:
        return system
    score, guess = (table[name].to_numpy()[-DRAW_SAMPLE_LIMIT:].astype(np.float64) for name in ("score", "prediction"))
    plain = np.isin(score, (0.0, 0.5, 1.0))
    if not plain.all() or not (score == 0.5).any():
        return system
    if system.traits.outlook is not None:
        return add_outcomes(system)
    return add_outcomes(system, draw_odds=fit_draw_odds(guess, score))


def fit_draw_odds(expected_scores: HostArray, score: HostArray) -> float:
    """The odds of a draw between equals that make scores [n] of 0, 1/2 and 1 likeliest, given the expected ones [n]."""
    result, expected = jnp.asarray(np.rint(2 * score).astype(np.int32)), jnp.asarray(expected_scores, float)

    @jax.jit
    def loss(log_odds: Any) -> Any:
        found = davidson_outlook(expected, jnp.exp(log_odds))
        chance = jnp.stack([found.win[:, 1], found.draw[:, 0], found.win[:, 0]])
        return -jnp.mean(jnp.log(jnp.maximum(jnp.take_along_axis(chance, result[None], axis=0), 1e-12)))

    low, high, golden = MIN_LOG_DRAW_ODDS, MAX_LOG_DRAW_ODDS, (5**0.5 - 1) / 2
    for _ in range(30):
        one, two = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, two) if loss(one) < loss(two) else (one, high)
    return float(np.exp((low + high) / 2))


def _time_column(data: Dataset, time: HostArray) -> dict[str, HostArray]:
    if data.clock is None:
        return {}
    return {"time": to_dates(time) if data.clock == "dates" else time}


def _forecast_matches(rated: Rated, system: RatingSystem, data: Dataset) -> ColumnTable:
    matches = data.matches
    coming = fill_missing_margins(system, matches)
    prediction_columns = match_prediction_columns(predict(system, rated.state, coming, num_players=len(data.players)))
    a, b = data.players[matches.player].T
    side = matches.context.side
    columns = {"row": data.rows, **_time_column(data, matches.time), "a": a, "b": b}
    if side is not None and np.any(side):
        columns["side"] = np.where(np.asarray(side) > 0, a, np.where(np.asarray(side) < 0, b, ""))
    if "win" in prediction_columns and "loss" in prediction_columns:
        chance = {
            x: np.asarray(prediction_columns[x], np.float64) for x in ("win", "draw", "loss") if x in prediction_columns
        }
    else:
        win = np.asarray(prediction_columns["prediction"], np.float64)
        chance = {"win": win, "loss": 1.0 - win}
    with np.errstate(divide="ignore"):
        odds = {f"odds_{name}": 1.0 / x for name, x in chance.items()}
    more = {name: x for name, x in prediction_columns.items() if name not in {*chance, "prediction"}}
    return ColumnTable(columns | chance | {"expected": prediction_columns["prediction"]} | odds | more)


def _forecast_contests(rated: Rated, system: RatingSystem, data: Dataset) -> ColumnTable:
    rounds, flat = data.rounds, data.rounds.events
    size = np.diff(rounds.player_start)
    prediction_columns = contest_prediction_columns(
        predict(system, rated.state, data.events, num_players=len(data.players)), rounds
    )
    guess = prediction_columns.pop("prediction")
    labels = np.arange(len(size)) if data.contests is None else np.asarray(data.contests)
    columns = {"row": data.rows, **_time_column(data, np.repeat(flat.time, size)), "contest": np.repeat(labels, size)}
    columns |= {"player": data.players[flat.player]}
    columns["expected_rank"] = 1 + (1 - guess.astype(float)) * np.repeat(count_teams(rounds) - 1, size)
    return ColumnTable(columns | {"share": guess} | prediction_columns)
