"""How leaderboards show ratings: as they are, cautiously, or where players meet a category."""

from typing import Any, NamedTuple

from jaxrate.core.rules import Params, Rating, State
from jaxrate.core.system import RatingSystem
from jaxrate.history.ratings_at_times import category_rating
from jaxrate.systems.elo_mmr.drift_and_noise import contest_variances


class ShownRatings(NamedTuple):
    """How ratings are shown."""

    system: RatingSystem
    params: Params
    cautious: float
    category: int | None = None  # whose modifier is added

    def summary(self, rows: State) -> Rating:
        """[N] the ratings of these rows, without caution."""
        rating = self.system.summary(self.params, rows)
        if self.category is not None:
            rating = category_rating(self.system, self.params, rating, rows, self.category)
        return rating

    def apply_caution(self, rating: Rating) -> Rating:
        """The rating, or with `cautious` the mean less so many deviations."""
        system, params, cautious, _ = self
        if not cautious:
            return rating
        if rating.deviation is None:
            raise ValueError(f"{system.name} has no deviations to be cautious about")
        return Rating(rating.mean - cautious * (rating.deviation - _steady_state_deviation(system, params)), None)


def _steady_state_deviation(system: RatingSystem, params: Params) -> Any:
    """The deviation at which those who play on settle."""
    return contest_variances(params).limit ** 0.5 if system.name in ("elo_mmr", "elo_mmx") else 0.0
