"""A script of a user's, which type checkers read and nobody runs: what calls return, and calls that are refused."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import jaxrate as jr
from jaxrate.data import Dataset
from jaxrate.extend import Rating, RatingSystem
from jaxrate.replay.checked_replay import Run

Column = np.ndarray[Any, Any]
TABLE = {"a": ["Ada", "Bo"], "b": ["Bo", "Cy"], "score": [1.0, 0.0]}

# Data and events.
data = assert_type(jr.data.datasets.nfl(), Dataset)
assert_type(jr.read("games.csv", a="white", b="black"), Dataset)
assert_type(jr.read(TABLE), Dataset)
assert_type(data.players, Column)
matches = assert_type(jr.matches([[0, 1], [1, 2]], [1.0, 0.0], time=[0.0, 1.0]), jr.Matches)
assert_type(data.matches, jr.Matches)
assert_type(jr.periods(matches, 7.0), jr.extend.Ragged)
contests = assert_type(jr.rounds([0, 0, 1, 1], [0, 1, 1, 2], [1, 2, 1, 2]), jr.extend.Ragged)
assert_type(jr.data.simulate.league(50, 2000, seed=2).matches, jr.Matches)

# Systems and replays.
system = assert_type(jr.glicko(side_advantage=60), RatingSystem)
assert_type(jr.skills(jr.parts.modifier(3, growth=4), observe=jr.parts.logistic()), RatingSystem)
assert_type(jr.skills_for_data(data, observe="goals"), RatingSystem)
assert_type(jr.federations.uscf(), RatingSystem)
assert_type(jr.extend.SYSTEMS["elo"], Callable[..., RatingSystem])
result = assert_type(jr.run(system, matches), Run)
assert_type(jr.run(jr.elo_mmr(), contests, num_players=3), Run)
assert_type(jr.scan(system, system.params, result.state, matches), Run)
assert_type(jr.metrics.log_loss(result.prediction, matches.score), float)

# Histories, and questions to them.
rated = assert_type(jr.rate(system, data), jr.History)
assert_type(jr.smooth(jr.skills(), data), jr.History)
assert_type(jr.load("season"), jr.History)
assert_type(rated.players, Column)
assert_type(jr.leaderboard(rated, top=3)["rating"], Column)
assert_type(jr.leaderboard(rated, top=3).drop_columns("rank")["rating"], Column)
assert_type(jr.career(rated, "Ada"), dict[str, Column])
assert_type(jr.ratings(rated, time="2020-01-01"), Rating)

# Fits and comparisons.
fit = jr.fit(system, data, free=("c", "side_advantage"), objective=jr.fitting.ahead())
assert_type(fit.system, RatingSystem)
assert_type(fit.loss, float)
assert_type(fit.standard_error, dict[str, float])
assert_type(jr.compare(data, ["elo", "glicko"]).left_out, dict[str, str])

# Forecasts, live ratings, pages.
assert_type(jr.forecasts.predict_fixtures(rated, [("Ada", "Bo")], side="a")["expected"], Column)
assert_type(jr.forecasts.simulate_season(rated, TABLE, samples=100).player, Column)
assert_type(jr.forecasts.RatingClassifier().fit([["Ada", "Bo"]], [1]).predict_proba([["Ada", "Bo"]]), Column)
live = assert_type(jr.live.start_history(system), jr.live.Live)
assert_type(live.rating("Ada"), Rating)
assert_type(live.to_rated(), jr.History)
assert_type(jr.arena.fit_strengths(matches), jr.arena.Strengths)
assert_type(jr.site.report_html(rated), str)
assert_type(jr.__version__, str)

# Mistakes: a checker that does not see one complains of its `type: ignore`.
jr.elo(nonsense=3)  # type: ignore[call-arg]
jr.glicko(c="thirty")  # type: ignore[arg-type]
jr.run(system)  # type: ignore[call-arg]
jr.rate("glicko", data)  # type: ignore[arg-type]
jr.leaderboard(rated, top="three")  # type: ignore[arg-type]
jr.read("games.csv", hime="home")  # type: ignore[call-arg]
jr.load()  # type: ignore[call-arg]
