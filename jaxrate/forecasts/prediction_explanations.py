"""Explanations of predictions: what players, sides, experience and covariates contribute, in rating points."""

import html
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, Unpack, cast

import jax
import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_decimals, format_html_table, format_number, format_table
from jaxrate.events import seats
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts.upcoming_events import FixtureOptions, read_upcoming_events
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.event_columns import event_prediction_columns
from jaxrate.history.history import History, format_time
from jaxrate.history.ratings_at_times import ratings
from jaxrate.replay.checked_replay import predict
from jaxrate.replay.padded_arrays import extend_state_if_needed
from jaxrate.systems.skills.rules import PredictionParts, find_prediction_parts_rule

SINGLE_RATING_SYSTEMS = "elo", "glicko", "glicko2", "trueskill", "weng_lin"
PART_ORDER = "rating", "skill", "modifier", "own_side", "current_form", "experience", "side_advantage", "numbers"
TEXT_COLUMNS = "side", "player", "category"


class Explanation(NamedTuple):
    """The contributions of players to a prediction, in rating points. `print` shows the tables.

    Points count from those of a newcomer, and from the numbers of the smallest team.
    """

    event: str  # the two of a match, or the contest, and its time
    parts: ColumnTable  # a row for each player: side, player, the parts, and points, their sum
    sides: ColumnTable  # a row for each side: side, player (names), points, and what is expected of it

    @property
    def difference(self) -> float:
        """The points of the first side less those of the second, as the prediction uses them, of two sides.

        Raises:
          ValueError: if there are more, or one.
        """
        points = self.sides["points"]
        if len(points) != 2:
            raise ValueError(f"a difference is of two sides, and there are {len(points)}")
        return float(points[0] - points[1])

    def columns(self) -> ColumnTable:
        """A row for each player."""
        return self.parts

    def __str__(self) -> str:
        tables = [format_table(*heads_and_cells(x), left_aligned=TEXT_COLUMNS) for x in (self.parts, self.sides)]
        return "\n".join([self.event, *(f"\n{table}" for table in tables)])

    def _repr_html_(self) -> str:
        tables = [format_html_table(*heads_and_cells(x), left_aligned=TEXT_COLUMNS) for x in (self.parts, self.sides)]
        return f"<p>{html.escape(self.event)}</p>{''.join(tables)}"


@enforce_argument_annotations
def explain_fixtures(rated: History, source: Any, **options: Unpack[FixtureOptions]) -> list[Explanation]:
    """Explanations of predictions: what each player brings to a match or a contest, part by part, in rating points.

        print(jr.forecasts.explain_fixtures(rated, [("Ada", "Bo")], side="a")[0])

    The parts of `jr.skills` are a player's skill, what is added where they meet this category (modifier) and on this
    side, current form, experience, each part of your own (own_NAME) and covariate, and the side advantage; in contests
    all times the share that they play, and what numbers are worth in teams of several sizes. Elo, Glicko, Glicko-2,
    TrueSkill and Weng-Lin have a rating and the side advantage. The points of two sides differ by the difference from
    which the system predicts. A calibrated prediction, or one of `add_outcomes`, is made from it.

    Args:
      rated: a history from `rate` or `load`.
      source: the matches or contests to come, as in `predict_fixtures`.
      options: as in `predict_fixtures`.

    Returns:
      An `Explanation` for each match or contest.

    Raises:
      ValueError: as `predict_fixtures`, or for a system whose prediction is no function of a difference of points.
    """
    inner, _ = find_prediction_parts_rule(rated.system)
    if not is_explained(rated.system):
        known = ", ".join(SINGLE_RATING_SYSTEMS)
        raise ValueError(f"{inner.name} has no parts that can be told apart; skills has, and {known} have a rating")
    system, data = read_upcoming_events(rated, source, options)
    inner, rule = find_prediction_parts_rule(system)  # with seasons that have begun since
    count = len(data.players)
    if rule is None:
        parts = rating_parts(inner, rated, data)
    else:
        explaining = inner._replace(rules=inner.rules._replace(predict=rule))
        parts = PredictionParts(*predict(explaining, rated.state, data.events, num_players=count))
    prediction = predict(system, rated.state, data.events, num_players=count)
    expected = event_prediction_columns(prediction, data)["prediction"]
    return explain_events(rated, data, parts, np.asarray(expected, np.float64))


def is_explained(system: RatingSystem) -> bool:
    """Whether `explain_fixtures` takes histories of the system."""
    inner, rule = find_prediction_parts_rule(system)
    return rule is not None or inner.name in SINGLE_RATING_SYSTEMS


def rating_parts(system: RatingSystem, rated: History, data: Dataset) -> PredictionParts:
    """The parts of a system with one rating a player: leaves [seats] of matches, [sum P] of participants."""
    player, event = seats(data.events)
    flat: Any = data.events.flat
    time = np.asarray(flat.time, np.float64)[event]
    params, (present, row) = system.params, np.unique(player, return_inverse=True)
    state = extend_state_if_needed(system, params, rated.state, len(data.players), 0)
    state = jax.tree.map(lambda x: np.asarray(x)[present], state)
    points = np.empty(len(player))
    for moment in np.unique(time):
        at = time == moment
        points[at] = np.asarray(ratings(system, state, time=float(moment)).mean, np.float64)[row[at]]
    points, weight = points - float(params.initial_rating), np.ones(len(player))
    if not data.of_matches:
        weight = np.asarray(flat.weight) if system.name == "trueskill" else weight
        numbers = float(params.initial_rating) * team_size_excess_shares(data, weight)
        return PredictionParts({"rating": weight * points, "numbers": numbers}, {}, weight)
    side = np.zeros(len(flat.time)) if flat.context.side is None else np.asarray(flat.context.side, np.float64)
    lead = float(params.side_advantage) * side
    advantage = np.stack([np.where(side > 0, lead, 0.0), np.where(side > 0, 0.0, -lead)], axis=1)
    return PredictionParts({"rating": points, "side_advantage": advantage.ravel()}, {}, weight)


def team_size_excess_shares(data: Dataset, weight: HostArray) -> HostArray:
    """[sum P] by how much the weights of teams exceed those of the smallest, divided among members by their weights."""
    rounds: Any = data.rounds
    number = np.repeat(np.arange(len(rounds.player_start) - 1), np.diff(rounds.player_start))
    teams, team = np.unique(np.stack([number, rounds.events.team]), axis=1, return_inverse=True)
    whole = np.bincount(team.ravel(), weight)
    least = np.full(len(rounds.player_start) - 1, np.inf)
    np.minimum.at(least, teams[0], whole)
    return weight * ((whole - least[teams[0]]) / whole)[team.ravel()]


class EventRows(NamedTuple):
    """Matches or contests as rows of players, one after the other."""

    title: list[str]  # [E] who meets, or which contest, and when
    start: HostArray  # [E + 1] where the players of each event begin
    columns: dict[str, HostArray]  # [rows] side ("a" and "b", or numbers of teams), player, and category if known
    expected: HostArray  # [rows] of the side


def list_event_rows(rated: History, data: Dataset, expected: HostArray) -> EventRows:
    """Two rows for each match, or one for each participant of each contest."""
    (player, _), flat = seats(data.events), cast(Any, data.events.flat)
    names, category, start = data.players[player], flat.context.category, (1 + data.of_matches) * data.events.start
    if data.of_matches:
        titles = [f"{x} against {y}" for x, y in names.reshape(-1, 2).tolist()]
        side = np.tile(np.array(["a", "b"], object), len(titles))
        category = None if category is None else np.asarray(category)[:, ::-1]
        expected = np.stack([expected, 1.0 - expected], axis=1).ravel()
    else:
        labels = np.arange(len(flat.time)) if data.contests is None else data.contests
        titles, side = [*map("contest {}".format, labels.tolist())], 1 + np.asarray(flat.team)
    if rated.clock is not None:
        times = [format_time(x, rated.clock) for x in np.asarray(flat.time)]
        titles = [*map("{}, {}".format, titles, times)]
    columns = {"side": side, "player": names}
    if category is not None and rated.categories is not None:
        columns["category"] = categories_met_by_players(np.asarray(category), rated.categories, len(names))
    return EventRows(titles, start, columns, expected)


def explain_events(rated: History, data: Dataset, parts: PredictionParts, expected: HostArray) -> list[Explanation]:
    """The explanation of each event, from the parts of all players and what is expected of them."""
    rows, points = list_event_rows(rated, data, expected), points_by_part(parts)
    weight = np.asarray(parts.weight, np.float64).ravel()
    total = np.sum([*points.values()], axis=0)
    explanations = []
    for i, title in enumerate(rows.title):
        at = slice(rows.start[i], rows.start[i + 1])
        columns = {name: x[at] for name, x in rows.columns.items()}
        table = columns | ({"weight": weight[at]} if (weight[at] != 1.0).any() else {})
        table |= {name: x[at] for name, x in points.items() if x[at].any() or name in ("skill", "rating")}
        sides = side_table(columns["side"], columns["player"], total[at], rows.expected[at])
        explanations.append(Explanation(title, ColumnTable(table | {"points": total[at]}), sides))
    return explanations


def points_by_part(parts: PredictionParts) -> dict[str, HostArray]:
    """The points [rows] of each part by its name, those of a user's own and of covariates last."""
    names = [x for x in dict.fromkeys((*PART_ORDER, *parts.own)) if x in parts.own]
    points = {x: np.asarray(parts.own[x], np.float64).ravel() for x in names}
    for name, x in parts.covariates.items():
        points[f"{name} (covariate)" if name in points else name] = np.asarray(x, np.float64).ravel()
    return points


def side_table(side: HostArray, player: HostArray, points: HostArray, expected: HostArray) -> ColumnTable:
    """A row for each side, in the order of the sides: its players, their points, and what is expected of it."""
    labels, first, number = np.unique(side, return_index=True, return_inverse=True)
    players = np.array([", ".join(map(str, player[number == i].tolist())) for i in range(len(labels))], object)
    sums = np.bincount(number, points)
    return ColumnTable({"side": labels, "player": players, "points": sums, "expected": expected[first]})


def categories_met_by_players(category: HostArray, names: HostArray, count: int) -> HostArray:
    """[count] the categories that players meet, of ids or of shares; those who meet several meet a mixture."""
    shares = category.reshape(count, -1)
    if shares.shape[1] == 1:
        return np.asarray(names[shares[:, 0]])
    return np.where(shares.max(axis=1) == 1.0, names[shares.argmax(axis=1)].astype(object), "mixture")


def heads_and_cells(
    table: Mapping[str, HostArray], digits: int = 1, unsigned: Collection[str] = ()
) -> tuple[list[str], list[Any]]:
    """The heads and cells of a table of points, as text for people; nothing stands for no points.

    Points have so many digits, and a sign, but in the `unsigned` columns, which are ratings.
    """
    formats: dict[str, Callable[[Any], str]] = {
        **dict.fromkeys(table, lambda x: format_decimals(x, digits, signed=True) if x else ""),
        **dict.fromkeys(unsigned, lambda x: format_decimals(x, digits)),
        "expected": "{:.3f}".format,
        "weight": lambda x: format_number(round(x, 3)),
    }
    cells = [map(formats[name] if x.dtype.kind == "f" else str, x.tolist()) for name, x in table.items()]
    return [name.replace("_", " ") for name in table], [*zip(*cells, strict=True)]
