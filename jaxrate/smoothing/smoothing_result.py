"""The result of smoothing, and how it prints."""

from typing import NamedTuple

import numpy as np

from jaxrate.array_types import Array, HostArray
from jaxrate.events import Matches
from jaxrate.rules import Rating, State
from jaxrate.smoothing.expectation_propagation import ratings_at_query_time
from jaxrate.smoothing.forward_backward import GaussianSite
from jaxrate.smoothing.timelines import build_timelines_with_query_nodes
from jaxrate.system import RatingSystem
from jaxrate.systems.skills.rules import find_smoothing_model


class Smoothed(NamedTuple):
    """A smoothed history: the beliefs about both players of each match, given all matches before and after.

    Means and deviations are in points, and as each match left its players: where it is a player's last, they are those
    of the state.
    """

    rating: Rating  # leaves [n, 2]
    components: Rating | None  # leaves [n, 2, D] of common skill, modifiers, own side advantage; None if D = 1
    prediction: Array  # [n] expected score of player 0, given all matches but this one
    evidence: float  # log likelihood of all results, by expectation propagation
    state: State  # leaves [num_players, ...] after the last match of each, to filter on from
    sweeps: int
    change: float  # the greatest in the last sweep, of a mean in its deviations, or a tenth of that of a variance
    converged: bool
    system: RatingSystem  # with the hyperparameters of the history
    matches: Matches
    players: HostArray | None  # [num_players] names in order of id; None if there are none
    clock: str | None  # of the times, as in `Dataset`
    site: GaussianSite  # the sites of the matches, [2, n or more] of their first and second players

    def at(self, time: float) -> Rating:
        """[num_players] the ratings as of a number on the clock of the matches, given the whole history.

        Matches of that very time have been played. NaN for players who have not played by then.
        """
        model, params, num_players = find_smoothing_model(self.system), self.system.params, len(self.state.time)
        assert model is not None
        timelines, query = build_timelines_with_query_nodes(self.matches, num_players, model.seasons, model.size, time)
        rating = np.full((2, num_players), np.nan)
        if len(query.player):
            rating[:, np.asarray(query.player)] = ratings_at_query_time(model, params, timelines, query, self.site)
        return Rating(*rating)

    def __repr__(self) -> str:
        n, players = len(self.prediction), len(self.state.time)
        status = "converged" if self.converged else "not converged"
        return (
            f"Smoothed of {n:,} matches of {players:,} players\n"
            f"  log likelihood  {self.evidence:,.2f}\n"
            f"  sweeps          {self.sweeps}, {status}: means moved by up to {self.change:.2g} deviations in the last"
        )
