"""The result of smoothing, and how it prints."""

from typing import NamedTuple

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import Array
from jaxrate.core.rules import Rating, State
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Ragged
from jaxrate.smoothing.forward_backward import GaussianSite
from jaxrate.smoothing.smoothed_ratings import ratings_at_query_time
from jaxrate.smoothing.timelines import build_timelines_with_query_nodes
from jaxrate.systems.skills.rules import find_smoothing_model


class Smoothed(NamedTuple):
    """What smoothing finds: the beliefs about both players of each match, or all participants of each contest [n],
    given all events before and after.

    Means and deviations are in points, and as each event left its players: where it is a player's last, they are those
    of the state.
    """

    rating: Rating  # leaves [n, 2] of matches, [n] of participants of contests
    components: Rating | None  # leaves [..., D] of common skill, modifiers, own side, pace, form; None: D = 1
    prediction: Array  # [n] of player 0 of a match the expected score, or as `run`, given all events but this one
    evidence: float  # log likelihood of all results; no joint one of contests with statistics or quits
    state: State  # leaves [num_players, ...] after the last event of each, to filter on from
    sweeps: int
    change: float  # the greatest in the last sweep, of a mean in its deviations, or a tenth of that of a variance
    converged: bool
    system: RatingSystem  # with the hyperparameters of the history
    events: Matches | Ragged
    site: GaussianSite  # [2, n or more] of first and second players of matches; else in an order of their own

    @enforce_argument_annotations
    def at(self, time: float) -> Rating:
        """[num_players] the ratings as of a number on the clock of the events, given the whole history.

        Events of that very time have taken place. NaN for players who have not played by then.
        """
        model, params, num_players = find_smoothing_model(self.system), self.system.params, len(self.state.time)
        assert model is not None
        timelines, query = build_timelines_with_query_nodes(self.events, num_players, model, time)
        rating = np.full((2, num_players), np.nan)
        if len(query.player):
            rating[:, np.asarray(query.player)] = ratings_at_query_time(model, params, timelines, query, self.site)
        return Rating(*rating)

    def __repr__(self) -> str:
        status = "converged" if self.converged else "not converged"
        return (
            f"  log likelihood  {self.evidence:,.2f}\n"
            f"  sweeps          {self.sweeps}, {status}: means moved by up to {self.change:.2g} deviations in the last"
        )
