"""What hindsight finds, and how it reads."""

from typing import NamedTuple

from jaxrate.events import Array
from jaxrate.system import Rating, State


class Smoothed(NamedTuple):
    """A history with hindsight: what is believed of both players of each match, given all that came before and after.

    Means and deviations are in points, and as each match left its players: where it is a player's last, they are those
    of the state.
    """

    rating: Rating  # leaves [n, 2]
    parts: Rating | None  # leaves [n, 2, D] of common skill, modifiers, own side advantage; None if D = 1
    prediction: Array  # [n] expected score of player 0, given all matches but this one
    evidence: float  # log likelihood of all results, by expectation propagation
    state: State  # leaves [num_players, ...] after the last match of each, to filter on from
    sweeps: int
    change: float  # the greatest in the last sweep, of a mean in its deviations, or a tenth of that of a variance
    converged: bool

    def __repr__(self) -> str:
        n, players = len(self.prediction), len(self.state.time)
        how = "converged" if self.converged else "not converged"
        return (
            f"Smoothed of {n:,} matches of {players:,} players\n"
            f"  log likelihood  {self.evidence:,.2f}\n"
            f"  sweeps          {self.sweeps}, {how}: means moved by up to {self.change:.2g} deviations in the last"
        )
