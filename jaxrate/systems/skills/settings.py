"""What parts say of the model, and whether the model and events fit."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import check_that
from jaxrate.core.hashable_values import display_name
from jaxrate.events import Context, Matches, Periods, Ragged, Rounds, fail_where

SIDES = "sides"  # as `kinds`: those who are a, and those who are b
SIDE_COLUMN = "side"  # of participants of contests, whose side advantages are their own: 1 at home, -1 away
YEAR = 365.25  # units of time in which the side advantage changes by its trend


class OwnPart(NamedTuple):
    """A part of a user's own, see `jr.parts.own`."""

    name: str
    loadings: Callable[[Any], Any]  # of `Participants`, [..., size]
    columns: tuple[str, ...]  # that the loadings see
    size: int  # how many numbers of a player it is

    def __repr__(self) -> str:
        """The same in every process, where the function has another address."""
        return f"OwnPart({self.name!r}, {display_name(self.loadings)}, {self.columns}, {self.size})"


SHARED_BY_OBSERVATIONS = {"noise", "draw_margin"}  # hyperparameters that have one name in all observations


class OwnObservation(NamedTuple):
    """An observation of a user's own, see `jr.parts.own_observation`."""

    name: str
    log_likelihood: Callable[..., Any]  # of lead, variance, `ObservedMatch` and hyperparameters, [...]
    message: Callable[..., Any] | None  # of the same, precision and surprise; None: those of the log likelihood
    outcomes: Callable[..., Any] | None  # of lead, variance and hyperparameters, the chances of win and draw
    columns: tuple[str, ...]  # that the functions see

    def __repr__(self) -> str:
        """The same in every process, where the functions have other addresses."""
        functions = (display_name(x) for x in (self.log_likelihood, self.message, self.outcomes))
        return f"OwnObservation({self.name!r}, {', '.join(functions)}, {self.columns})"

    def name_in_system(self, argument: str) -> str:
        """The name in the system of the hyperparameter that functions take as this argument."""
        return argument if argument in SHARED_BY_OBSERVATIONS else f"{self.name}_{argument}"


def observed_columns(outcome: Any) -> tuple[str, ...]:
    """The columns that an observation of a user's own sees; none where another is learnt from."""
    return outcome.columns if isinstance(outcome, OwnObservation) else ()


class ModelSettings(NamedTuple):
    """What the parts say of the model, fixed before hyperparameters have values."""

    outcome: str | OwnObservation = "win"  # | "logistic" | "margin" | "points" | "goals"
    categories: int = 1  # 1: there are no modifiers
    covariates: tuple[str, ...] = ()  # the names of columns
    own_side: bool = False
    own_parts: tuple[OwnPart, ...] = ()
    seasons: tuple[float, ...] = ()  # when each begins
    margin: tuple[str, ...] = ()  # the name of its column, or of the points of both sides
    kinds: tuple[str, ...] = ()  # of players: SIDES, or one column of their kind, or that of each side; (): one kind
    league_season: str | None = None  # the column of the number of the season of a match
    side_since: float | None = None  # when the side advantage has its value; None: at all times
    statistics: tuple[str, ...] = ()  # the names of columns
    team_performance: str = "sum"  # of a team: the "sum" of its members' performances, or their "mean"
    quit: str | None = None  # the column that says who quit a contest; None: nobody does
    expected_goals: tuple[str, ...] = ()  # the columns of both sides; (): there are none
    form: bool = False  # whether players have a form, beside their skill

    @property
    def modifiers(self) -> int:
        return self.categories if self.categories > 1 else 0

    @property
    def size(self) -> int:
        """D: of the vector that is believed of a player."""
        own = sum(part.size for part in self.own_parts)
        return 1 + self.modifiers + self.own_side + own + self.pace + self.form

    @property
    def pace(self) -> bool:
        """Whether players have a pace beside their skill: by how much more is scored in their matches."""
        return self.outcome in ("points", "goals")


SETTING_DEFAULTS = {name: value for name, value in ModelSettings()._asdict().items() if name != "form"}


def statistic_scale_name(statistic: str) -> str:
    """The hyperparameter that says what a statistic is worth."""
    return f"{statistic}_scale"


def statistic_noise_name(statistic: str) -> str:
    """The hyperparameter that says how noisy a statistic is."""
    return f"{statistic}_noise"


MAX_GOALS = 100_000  # of a side, or expected of it: beyond it rates are cut


def check_goals(model: ModelSettings, matches: Any) -> None:
    """ValueError unless goals are whole numbers that make the results, and expected goals not negative."""
    columns = matches.context.columns
    for name in model.margin:
        values = np.asarray(columns[name])
        is_count = (values >= 0) & (values <= MAX_GOALS) & (values == np.rint(values))
        check_column(name, values, is_count, f"goals are whole numbers, from 0 to {MAX_GOALS:,}")
    for name in model.expected_goals:
        values = np.asarray(columns[name])
        is_expected = np.isnan(values) | ((values >= 0) & (values <= MAX_GOALS))
        check_column(name, values, is_expected, f"expected goals are numbers from 0 to {MAX_GOALS:,}, or NaN")
    first, second = (np.asarray(columns[name]) for name in model.margin)
    lead, score = first - second, np.asarray(matches.score)
    is_contradiction = (lead * (score - 0.5) < 0.0) | ((score == 0.5) & (lead != 0.0))

    def describe_contradiction(row: int) -> str:
        result = "drew" if score[row] == 0.5 else "won" if score[row] > 0.5 else "lost"
        goals = f"{first[row]:g} goals to {second[row]:g}"
        return (
            f"the first player {result} with {goals}; margin is {model.margin[0]}, their goals, and {model.margin[1]}"
        )

    fail_where(is_contradiction, describe_contradiction)


def check_column(name: str, values: Any, is_valid: Any, requirement: str) -> None:
    """ValueError with the first value of a column that is wrong, and what it must be."""
    fail_where(~is_valid, lambda row: f"column {name!r} is {values[row]:g}; {requirement}")


def match_result_columns(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of margins and statistics that skills of these settings learn from, known after a match only."""
    outcome = settings.get("outcome")
    margin = settings.get("margin", ()) if outcome else ()
    return (*margin, *observed_columns(outcome), *settings.get("expected_goals", ()), *settings.get("statistics", ()))


def contest_result_columns(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the columns that hold results of contests: those of matches and the column of quits."""
    return (*match_result_columns(settings), *filter(None, [settings.get("quit")]))


def match_prior_columns(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns that are known before an event: covariates, those that parts read, kinds, and the league's season."""
    own = (name for part in settings.get("own_parts", ()) for name in part.columns)
    kinds = (name for name in settings.get("kinds", ()) if name != SIDES)
    season = filter(None, [settings.get("league_season")])
    return tuple(dict.fromkeys((*settings.get("covariates", ()), *own, *kinds, *season)))


def contest_prior_columns(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of participants that are known before a contest: those of matches and, with own sides, theirs."""
    side = (SIDE_COLUMN,) if settings.get("own_side") else ()
    return tuple(dict.fromkeys((*match_prior_columns(settings), *side)))


def check_events_fit(model: ModelSettings, events: Matches | Ragged) -> None:
    """ValueError if the events lack what the model needs, or have other categories."""
    EVENT_CHECKS[type(events.flat)](model, events)


def check_matches_fit(model: ModelSettings, events: Any) -> None:
    """ValueError if matches lack what the model needs, or have other categories."""
    flat: Any = events.flat
    check_match_columns(model, flat.context)
    if model.outcome == "goals":
        check_goals(model, flat)
    check_player_kinds(model, events)
    if model.own_side and flat.context.side is None:
        raise ValueError("parts.own_side needs the sides of the matches: side=... of `matches` or `read`, as side='a'")
    check_categories_fit(model, flat.context.category, 2, "matches")


def check_match_columns(model: ModelSettings, context: Context) -> None:
    """ValueError if matches lack a column that the model needs, or a number of one that is no statistic."""
    further = match_prior_columns(model._replace(covariates=())._asdict())
    arguments = {
        "covariates": model.covariates,
        "margin": model.margin,
        "statistics": model.statistics,
        "columns": (*model.expected_goals, *observed_columns(model.outcome), *further),
    }
    for name, argument in {name: argument for argument, names in arguments.items() for name in names}.items():
        named = [*arguments[argument]] if len(arguments[argument]) > 1 else name
        where = f"{argument}={named!r} of `read`, or columns=... of `matches`"
        values = find_column(context.columns, name, f"matches: {where}")
        if name not in (*model.statistics, *model.expected_goals):
            check_column_is_complete(name, values)


def find_column(columns: Mapping[str, Any] | None, name: str, place: str) -> Any:
    """The column of this name; ValueError that says where it belongs if there is none."""
    check_that(name in (columns or {}), f"skills needs the column {name!r} of the {place}")
    return np.asarray((columns or {})[name])


def check_column_is_complete(name: str, values: Any) -> None:
    """ValueError for a number that is missing."""
    fail_where(np.isnan(values), lambda row: f"column {name!r} has no number, which only statistics may lack")


def check_contests_fit(model: ModelSettings, ragged: Any) -> None:
    """ValueError if contests lack what the model needs, or have other categories."""
    contests = ragged.flat
    if len(model.margin) > 1:
        raise ValueError("skills of contests takes one column as margin: the points of each participant's team")
    if model.kinds == (SIDES,) or len(model.kinds) > 1:
        given = ", ".join(map(repr, model.kinds))
        raise ValueError(f"parts.kinds({given}) is of matches; of contests give one column, as parts.kinds('kind')")
    names = {*contest_prior_columns(model._asdict()), *model.margin, *model.statistics, *filter(None, [model.quit])}
    for name in sorted(names):
        values = find_column(contests.columns, name, "participants of contests: columns=... of `rounds` or `read`")
        if name == model.quit:
            is_valid = np.isnan(values) | np.isin(values, (0, 1))
            check_column(name, values, is_valid, "it must be 1 for participants who quit, and 0 for those who stayed")
        elif name not in model.statistics:
            check_column_is_complete(name, values)
    check_player_kinds(model, ragged)
    if model.margin:
        check_team_mates_have_same_points(model, ragged, contests)
    check_categories_fit(model, contests.category, 1, "contests")


EVENT_CHECKS = {Matches: check_matches_fit, Periods: check_matches_fit, Rounds: check_contests_fit}


def check_team_mates_have_same_points(model: ModelSettings, ragged: Any, contests: Any) -> None:
    """ValueError unless all members of a team have the same points."""
    first = np.repeat(ragged.player_start[:-1], np.diff(ragged.player_start))
    points, team = (np.asarray(x)[: len(first)] for x in (contests.columns[model.margin[0]], contests.team))
    team = team + first
    highest = np.full(len(points), -np.inf)
    np.maximum.at(highest, team, points)

    def say(row: int) -> str:
        other = f"{highest[team[row]]:g} of a team-mate"
        return f"column {model.margin[0]!r} is {points[row]:g}, and {other}; it holds the points of the team"

    fail_where(points != highest[team], say)


def check_categories_fit(model: ModelSettings, category: Any, axes: int, events: str) -> None:
    """ValueError unless categories, ids of so many axes or shares of one more, are those of the model."""
    if not model.modifiers:
        return
    if category is None:
        maker = "rounds" if events == "contests" else "matches"
        of = f"category=... of `{maker}` or `read`, or of `predict_fixtures`"
        raise ValueError(f"parts.modifier needs the category of the {events}: {of}")
    have = f"parts.modifier has {model.categories} of them; give it data.categories, or how many they are"
    if category.ndim > axes:
        if category.shape[-1] != model.categories:
            raise ValueError(f"the {events} have shares of {category.shape[-1]} categories, but {have}")
        return
    highest = np.max(category, axis=-1, initial=0) if axes == 2 else np.asarray(category)
    fail_where(highest >= model.categories, lambda row: f"category {highest[row]}, counting from 0, but {have}")


def check_player_kinds(model: ModelSettings, events: Any) -> None:
    """ValueError where a player is on both sides that tell kinds, or their column is not 0 or 1, or differs by team."""
    if model.kinds == (SIDES,):
        pair = np.asarray(events.pairs)
        both = np.isin(pair[:, 1], pair[:, 0])
        fail_where(
            both, lambda row: f"player {pair[row, 1]} is of both kinds: kinds='sides' takes all who are a for one"
        )
        return
    for name in model.kinds:
        values = np.asarray(events.columns[name])
        rule = "it must be 1 for players of the second kind, 0 for those of the first"
        check_column(name, values, np.isin(values, (0, 1)), rule)
        check_alike_in_all_teams(events, values, f"is of another kind, as column {name!r} says,")


def check_alike_in_all_teams(events: Any, values: Any, difference: str) -> None:
    """ValueError that tells the difference where values [R, ...] of a player in several teams of a contest differ."""
    flat, values = events.flat, np.asarray(values)
    if getattr(flat, "seat", None) is None:
        return
    first_seat = np.repeat(events.start[:-1], np.diff(events.start)) + flat.seat
    differs = (values != values[first_seat]).reshape(len(first_seat), -1).any(axis=1)
    fail_where(differs, lambda row: f"player {flat.player[row]} {difference} in another of their teams")
