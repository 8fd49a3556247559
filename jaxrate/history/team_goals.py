"""Attack and defence of teams, of skills that learn from goals or points."""

from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.history import History
from jaxrate.history.leaderboards import leaderboard
from jaxrate.history.ratings_at_times import advance_state_to_time
from jaxrate.systems.prediction_wrapping import unwrap_predictions
from jaxrate.systems.skills.rules import find_smoothing_model

POINTS_FOR_TENFOLD = 400.0  # of an attack above a defence, for ten times as many goals


@enforce_argument_annotations
def attack_and_defence(rated: History, *, active: Any = None, min_games: int | None = None) -> ColumnTable:
    """A table of teams by rating: their attack and defence, and the goals or points for and against in the mean.

        print(jr.history.attack_and_defence(rated))

    Attack and defence are in points: half of strength plus pace, and half of strength less pace, above those of a
    newcomer. 400 points of an attack above the other's defence are ten times as many goals; of points of the
    score they are 400 / `margin_scale` more. Experience and form count
    half in both, sides and categories do not. `scored` and `conceded` are the mean of goals against a team that has the
    mean attack and defence of all listed, on neutral ground.

    Args:
      rated: as from `rate`, of `jr.skills("goals", ...)` or `jr.skills("points", ...)`.
      active, min_games: who is listed, as in `jr.leaderboard`.

    Raises:
      ValueError: for a system that does not learn from goals or points, or as `jr.leaderboard`.
    """
    system = unwrap_predictions(rated.system)
    model = find_smoothing_model(system)
    if model is None or not model.pace:
        raise ValueError(f"{system.name} knows no attack and no defence; take jr.skills('goals', margin=...)")
    listed = leaderboard(rated, top=len(rated.players), active=active, min_games=min_games)
    number = {name: i for i, name in enumerate(rated.players.tolist())}
    ids = np.array([number[name] for name in listed.player.tolist()], int)
    params: Any = system.params
    state: Any = advance_state_to_time(system, rated.state, None, params)
    rating = system.summary(params, state)
    strength, spread = (np.asarray(x, np.float64)[ids] for x in (rating.mean, rating.deviation))
    strength = strength - params.initial_rating
    pace = np.asarray(state.mean, np.float64)[ids, model.pace_index]
    covariance = np.asarray(state.covariance, np.float64)[ids]
    pace_variance, common = covariance[:, model.pace_index, model.pace_index], covariance[:, 0, model.pace_index]
    if model.form:
        common = common + covariance[:, -1, model.pace_index]
    attack, defence = 0.5 * (strength + pace), 0.5 * (strength - pace)
    attack_deviation, defence_deviation = (
        0.5 * np.sqrt(np.maximum(spread**2 + pace_variance + sign * 2.0 * common, 0.0)) for sign in (1.0, -1.0)
    )
    leads = attack - defence.mean(), attack.mean() - defence
    if model.outcome == "points":
        scored, conceded = (params.point_rate + lead / params.margin_scale for lead in leads)
    else:
        scored, conceded = (params.goal_rate * 10.0 ** (lead / POINTS_FOR_TENFOLD) for lead in leads)
    return ColumnTable(
        {
            "player": listed.player,
            "attack": np.round(attack, 1),
            "attack_deviation": np.round(attack_deviation, 1),
            "defence": np.round(defence, 1),
            "defence_deviation": np.round(defence_deviation, 1),
            "scored": np.round(scored, 3),
            "conceded": np.round(conceded, 3),
        }
    )
