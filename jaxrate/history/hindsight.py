"""smooth: histories with hindsight."""

from typing import Annotated, Any

import numpy as np

from jaxrate.core.argument_checks import CHECKED_BY_FUNCTION, enforce_argument_annotations
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Ragged, count_games
from jaxrate.events.dataset import Dataset
from jaxrate.history.event_columns import make_event_columns
from jaxrate.history.history import History
from jaxrate.replay.padded_states_and_columns import count_players
from jaxrate.smoothing.smoother import smooth_events


@enforce_argument_annotations
def smooth(
    system: RatingSystem,
    events: Annotated[Matches | Ragged | Dataset, CHECKED_BY_FUNCTION],
    *,
    params: Params = None,
    num_players: int | None = None,
    tolerance: float = 1e-3,
    sweeps: Annotated[int, CHECKED_BY_FUNCTION] = 200,
) -> History:
    """Rate a whole history with hindsight: every player at each of their matches or contests, given all of them.

    A filter knows of each match only what came before it. This is expectation propagation (Minka 2001) in the model of
    `skills`, as in TrueSkill through time (Dangauthier, Herbrich, Minka and Graepel 2007): the site of a match is
    computed from the sites of all other matches of its players, before and after, until nothing changes. If beliefs of
    opponents are kept as independent, as in the filter, deviations come out somewhat small; with margins, means are
    those of the exact posterior. A contest of teams has a site for each member. A match with goals has two sites for
    each team: one for its goals and one for those of the other team. Dixon and Coles' correction of low scores counts
    in predictions alone.

        data = jr.data.datasets.nfl()
        system = jr.skills("margin", margin=data.margin, seasons=data.seasons, compression=10.0, side_advantage=50.0)
        history = jr.smooth(system, data)
        best = history.rows.after.mean.max()  # of all teams in all games

    Args:
      system: `skills`, in any of its forms but `kinds`. Glicko's model is `skills("logistic")`, and TrueSkill's of two
        players `skills(draw_margin=...)`.
      events: `Matches` or contests (as from `rounds`) in order of time, or a `Dataset` of them. A match of weight w
        counts as w matches.
      params: hyperparameters, by default `system.params`.
      num_players: rows of the state, by default the largest id plus one, or all whom a `Dataset` names.
      tolerance: above 0. The result has converged when in a sweep no mean moves by more than this share of its
        deviation, and no variance by more than ten times this share of itself.
      sweeps: the largest number of sweeps, from 1. After so many it stops, with a warning.

    Returns:
      A history whose ratings are those after each event, given all others. Its `state` is what `run(..., state=...)`
      filters on from. Its predictions leave out the match or contest itself and say how well the past is explained;
      they are no forecasts. `hindsight` has the evidence, the beliefs by part of the model, and whether the sweeps
      converged.

    Raises:
      ValueError: for another system, rating periods, a history without events, bad rows (see `matches`), contests
        whose times decrease, or in which a player meets a category in one of their teams and another in the next,
        columns that the system lacks, hyperparameters out of their range, or more matches than memory holds.
    """
    found = smooth_events(system, events, params=params, num_players=num_players, tolerance=tolerance, sweeps=sweeps)
    count = count_players(found.state)
    data = (
        events if isinstance(events, Dataset) else Dataset(events, np.arange(count), np.arange(len(events.flat.player)))
    )
    data = data._replace(events=found.events)
    time: Any = data.events.flat.time
    ratings = {"rating_after": found.rating.mean, "deviation_after": found.rating.deviation}
    return History(
        found.system,
        found.state,
        data.players,
        count_games(data.events, count),
        None,
        float(time[-1]) if data.clock else None,
        data.clock,
        make_event_columns(data, found.prediction, ratings),
        {} if data.source is None else {"source": data.source},
        hindsight=found,
    )
