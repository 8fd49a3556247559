"""Every question to a rated history, by name: a function of a `Run` that returns columns.

This module alone knows how the library is called. Where functions or types change their names, so does what stands
here, and the columns stay as they are.
"""

from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from typing import Any, NamedTuple

import numpy as np

import jaxrate as jr
from jaxrate.history.leaderboards import lead_start, ranks_over_time
from tests.goldens.histories import FULL, Case, read_history

SAMPLES = 2_000


class Run(NamedTuple):
    """A history that is rated, and smoothed if it is asked with hindsight."""

    case: Case
    data: Any
    rated: Any
    smoothed: Any

    @property
    def is_of_contests(self):
        return self.rated.contests is not None

    @property
    def middle(self):
        """A time by which three fifths of the events were over."""
        return float(np.quantile(event_times(self.data), 0.6).round()) + 0.5

    @property
    def soon(self):
        """The date of coming events."""
        return str(np.datetime64(int(self.rated.last + (self.case.period or 0.0) + 7.0), "D"))

    @property
    def some(self):
        """Six players."""
        return self.rated.players[:6].tolist()


class Question(NamedTuple):
    """What is asked, of which runs, and how exact the answer is, relative to the largest number of a column."""

    ask: Callable[[Run], Any]
    applies: Callable[[Run], bool]
    is_short: bool  # asked of every run, in both precisions
    rtol: float


QUESTIONS: dict[str, Question] = {}


def question(applies=lambda run: True, short=False, rtol=1e-12):
    """Register a question under the name of its function, in the plain words of it."""

    def register(ask):
        QUESTIONS[ask.__name__.replace("_", " ")] = Question(ask, applies, short, rtol)
        return ask

    return register


def make_run(case: Case, short: bool) -> Run:
    """Rate a history, and smooth it if the case has hindsight and more is asked than ratings and predictions."""
    data = read_history(case.history)
    system = case.make(data)
    smoothed = jr.smooth(system, data, tolerance=1e-6) if case.hindsight and not short else None
    return Run(case, data, jr.rate(system, data, period=case.period), smoothed)


def questions_of(run: Run, short: bool) -> dict[str, Question]:
    """Those that are asked of a run."""
    return {
        name: one
        for name, one in QUESTIONS.items()
        if (one.is_short or (run.case.ask == FULL and not short)) and one.applies(run)
    }


def event_times(data):
    return np.asarray(getattr(data.events, "events", data.events).time)


def columns_of(**tables):
    """Columns of tables, tuples of arrays and arrays, by the name of each; what is None is left out."""
    columns = {}
    for name, table in tables.items():
        table = asdict(table) if is_dataclass(table) else table._asdict() if hasattr(table, "_asdict") else table
        if isinstance(table, dict):
            columns |= columns_of(**{f"{name}.{key}": value for key, value in table.items()})
        elif table is not None:
            columns[name] = np.asarray(table)
    return columns


def is_one_of(*labels):
    """Whether a run is of these cases; of questions that take long."""
    return lambda run: run.case.label in labels


def is_of_matches(run):
    return not run.is_of_contests


def is_smoothed(run):
    return run.smoothed is not None


def has_categories(run):
    return run.rated.categories is not None


def learns_goals(run):
    return run.case.name == "skills of goals"


def is_of_matches_without_categories(run):
    return is_of_matches(run) and not has_categories(run)


@question(short=True)
def predictions_of_all_events(run):
    table = run.rated.predictions
    return columns_of(predictions={name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names})


@question(short=True)
def ratings(run):
    later = jr.ratings(run.rated, time=run.rated.last + 100.0)
    return columns_of(end=jr.ratings(run.rated), later=later, games=run.rated.games, players=run.rated.players)


@question(is_smoothed, short=True, rtol=1e-9)
def ratings_with_hindsight(run):
    one, history = run.smoothed.hindsight, run.smoothed
    found = {"rating": one.rating, "components": one.components, "prediction": one.prediction}
    later = jr.ratings(history, time=run.middle)
    return columns_of(**found, evidence=one.evidence, end=jr.ratings(history), middle=later)


@question(lambda run: run.case.name in ("elo_mmr", "elo_mmx", "codeforces", "topcoder"), short=True)
def performances(run):
    return columns_of(performances=jr.history.performance_ratings(run.rated))


@question(lambda run: run.case.name == "blat_mmr", short=True, rtol=1e-9)
def beliefs(run):
    beliefs, system = jr.history.blat_mmr_beliefs, run.case.make(run.data)
    quantiles = beliefs.belief_quantile(system, run.rated.state, np.array([0.05, 0.5, 0.9]))
    return columns_of(quantiles=quantiles, mode=beliefs.belief_mode(system, run.rated.state))


def list_players(history, **options):
    """The columns of a leaderboard."""
    board = jr.leaderboard(history, **options)
    names = "rank", "group", "player", "rating", "deviation", "change", "rank_then", "games", "last", "peak"
    more = "peak_median", "peak_time", "num_listed", "group_sizes"
    return {name: getattr(board, name) for name in (*names, *more)}


@question()
def leaderboards(run):
    every = {"now": {}, "everybody": {"active": "all", "top": 100}, "then": {"as_of": run.middle, "min_games": 3}}
    every |= {"since": {"since": run.middle, "active": 400.0}, "some": {"among": run.some, "min_games": 0}}
    if "elo" not in run.case.name or run.is_of_contests:
        every["cautious"] = {"cautious": 2.0, "as_of": run.middle}
    return columns_of(**{name: list_players(run.rated, **options) for name, options in every.items()})


@question(is_smoothed, rtol=1e-9)
def leaderboards_with_hindsight(run):
    every = {"now": {}, "then": {"as_of": run.middle, "min_games": 3, "cautious": 1.0}}
    return columns_of(**{name: list_players(run.smoothed, **options) for name, options in every.items()})


def join_careers(history, players):
    """The careers of these players, one after the other."""
    careers = [jr.career(history, name) for name in players]
    return {name: np.concatenate([one[name] for one in careers]) for name in careers[0]}


@question()
def careers(run):
    return columns_of(career=join_careers(run.rated, run.rated.players))


@question(is_smoothed, rtol=1e-9)
def careers_with_hindsight(run):
    return columns_of(career=join_careers(run.smoothed, run.rated.players))


@question(is_one_of("nfl elo", "nfl glicko in periods", "contests elo_mmr", "doubles skills"))
def ratings_before_and_after_events(run):
    events = run.data if run.case.period is None else jr.periods(run.data.matches, run.case.period)
    history = jr.history.rating_history(run.rated.system, events, after=True)
    return columns_of(prediction=history.prediction, before=history.before, after=history.after)


@question()
def ratings_of_players_at_times(run):
    times = run.middle - 200.0, run.middle, run.rated.last + 30.0
    found = [jr.history.rating_at(run.rated, name, time) for name in run.some for time in times]
    deviation = None if found[0].deviation is None else [one.deviation for one in found]
    return columns_of(mean=[one.mean for one in found], deviation=deviation)


@question()
def table_of_ratings(run):
    return columns_of(table=jr.history.rating_table(run.rated, time=run.soon))


@question()
def peaks(run):
    found = jr.history.peak_ratings(run.rated, top=100), jr.history.peak_ratings(run.rated, top=5, min_games=30)
    return columns_of(all=found[0], few=found[1])


@question(is_smoothed, rtol=1e-9)
def peaks_with_hindsight(run):
    return columns_of(peaks=jr.history.peak_ratings(run.smoothed, top=100, cautious=1.0))


@question()
def ranks_through_time(run):
    times = np.linspace(run.middle - 100.0, run.rated.last, 8)  # later than equals by symmetry, whom rounding ranks
    ranks = {"usual": ranks_over_time(run.rated, times), "start": lead_start(run.rated)}
    ranks["active"] = ranks_over_time(run.rated, times, active=200.0, min_games=2)
    if run.smoothed is not None:
        ranks["hindsight"] = ranks_over_time(run.smoothed, times)
    return columns_of(**ranks)


@question(is_of_matches)
def heads_to_heads(run):
    found = [jr.history.head_to_head(run.rated, run.some[0], name) for name in run.some[1:]]
    counts = {name: [getattr(one, name) for one in found] for name in ("won", "drawn", "lost", "expected")}
    return columns_of(**counts, last=max(found, key=lambda one: len(one.matches["time"])).matches)


@question(is_of_matches)
def upsets_wins_and_form(run):
    rated, name = run.rated, run.some[0]
    wins = {"upsets": jr.history.upsets(rated, top=30), "own": jr.history.upsets(rated, player=name)}
    form = jr.history.recent_form(rated, last=6), jr.history.recent_form(rated, run.some, last=40)
    return columns_of(**wins, best=jr.history.best_wins(rated, name, top=10), form=form[0], longer=form[1])


@question(has_categories)
def ratings_by_category(run):
    found = {str(name): jr.history.category_ratings(run.rated, str(name)) for name in run.rated.categories}
    lists = {f"list {name}": list_players(run.rated, category=name, min_games=0) for name in found}
    return columns_of(modifiers=jr.history.modifiers(run.rated), **found, **lists)


@question(learns_goals)
def attack_and_defence(run):
    return columns_of(table=jr.history.attack_and_defence(run.rated, active="all"))


def coming_events(run):
    """Who meets in the next events, and how that is said: pairs, or line-ups."""
    names = run.some
    if run.case.history in ("teams", "doubles", "quits"):
        return [((names[0], names[1]), (names[2], names[3])), ((names[4],), (names[5], names[0]))]
    return [tuple(names[:3])] if run.is_of_contests else [(names[0], names[1]), (names[2], names[3])]


def meeting(run):
    """The category in which everybody meets, if there are categories."""
    return {} if run.rated.categories is None else {"category": str(run.rated.categories[0])}


@question()
def forecasts(run):
    options = {"time": run.soon} | meeting(run)
    coming = [tuple(map(list, x)) if isinstance(x[0], tuple) else x for x in coming_events(run)]
    table = jr.forecasts.predict_fixtures(run.rated, coming, **options)
    return columns_of(table=table)


@question(lambda run: "skills" in run.case.name)
def explanations_of_forecasts(run):
    coming = [tuple(map(list, x)) if isinstance(x[0], tuple) else x for x in coming_events(run)]
    found = jr.forecasts.explain_fixtures(run.rated, coming, time=run.soon, **meeting(run))
    return columns_of(**{f"{part} {i}": getattr(x, part) for i, x in enumerate(found) for part in ("parts", "sides")})


@question(is_of_matches_without_categories)
def matrix_of_all_matchups(run):
    matrix = jr.forecasts.matchup_matrix(run.rated, time=run.soon)
    return columns_of(matrix=matrix, bracket=jr.forecasts.bracket_probabilities(np.asarray(matrix)[:4, :4]))


@question(is_one_of("nfl glicko", "nfl skills of margins"), rtol=1e-3)
def low_rank_matrix_of_matchups(run):
    pairs, count = jr.forecasts.predict_pairs(run.rated, **meeting(run)), len(run.rated.players)
    return columns_of(probability=[pairs.probability(*np.broadcast_arrays(i, np.arange(count))) for i in range(count)])


@question(is_one_of("nfl glicko", "football elo", "football skills of goals"), rtol=1e-9)
def simulated_seasons(run):
    names = run.some
    pairs = [(a, b) for a in names for b in names if a != b]
    found = jr.forecasts.simulate_season(run.rated, pairs, relegated=1, samples=SAMPLES)
    return columns_of(season=found)


@question(is_one_of("nfl glicko", "football skills of goals"), rtol=1e-9)
def simulated_tournaments(run):
    names = run.some
    plan = {"groups": {"A": names[:3], "B": names[3:]}, "knockout": ["A1", "B2", "B1", "A2"]}
    return columns_of(tournament=jr.forecasts.simulate_tournament(run.rated, plan, samples=SAMPLES))


@question(learns_goals)
def scorelines(run):
    lines = jr.forecasts.predict_scorelines(run.rated, coming_events(run), time=run.soon)
    both = jr.forecasts.both_score_probability(lines.probability)
    total = jr.forecasts.total_goals_probabilities(lines.probability, 2.5)
    lead = jr.forecasts.goal_difference_probabilities(lines.probability, -0.75)
    found = {"lines": lines, "table": jr.forecasts.summarise_scorelines(lines)}
    return columns_of(**found, both=both, total=total, lead=lead)


@question(lambda run: run.case.name == "skills of points", short=True)
def points(run):
    options = {"total": 44.5, "lead": 3.5, "time": run.soon}
    return columns_of(points=jr.forecasts.predict_points(run.rated, coming_events(run), **options))


@question(is_one_of("nfl glicko", "teams trueskill", "doubles skills", "contests elo_mmr"))
def balanced_teams(run):
    found = jr.forecasts.balance_teams(run.rated, run.some, **meeting(run))
    teams = ["+".join(map(str, team)) for team in found.teams]
    return columns_of(teams=teams, strength=found.strength, share=found.share)


@question(is_of_matches_without_categories)
def pairings(run):
    return columns_of(matches=jr.forecasts.pair_players(run.rated, run.some).matches)


@question(is_one_of("nfl elo", "nfl glicko", "nfl skills of margins", "contests elo_mmr"))
def history_that_is_carried_on(run):
    data = run.data
    live = jr.live.start_history(run.rated)
    a, b, c = run.some[:3]
    if run.is_of_contests:
        predicted = [live.update_round([a, b, c], time=run.soon), live.predict_round([a, c])]
    elif "skills" in run.case.name:
        columns = dict(zip((*data.margin, *data.expected_goals), (24.0, 17.0, 2.0, 1.0), strict=False))
        predicted = [live.update(a, b, 1.0, time=run.soon, columns=columns, side="a"), live.predict(a, c, side="b")]
    else:
        predicted = [live.update(a, b, 1.0, time=run.soon), live.predict(a, c)]
    return columns_of(predicted=np.concatenate([np.ravel(x) for x in predicted]), end=jr.ratings(live.to_rated()))
