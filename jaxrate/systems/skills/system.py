"""Skills: a Gaussian filter for results, margins, surfaces, covariates, seasons and experience.

A player is a vector theta: a common skill, a modifier for each category, and a side advantage of their own, where these
are asked for. It is believed to be normal, of mean m and covariance P. In a match of a against b they bring x^T theta,
where x picks the common skill, the modifier of the category that they meet (shares, if the opponent mixes categories),
and their own side by +1 or -1, and a should perform better by

    d = x_a^T theta_a - x_b^T theta_b + side_advantage side + sum_k w_k z_k
        + experience (log(1 + games_a) - log(1 + games_b))

with the covariates z_k of the match. The variances of x^T theta are s_a and s_b; `match_growth`^2 is added to that of a
common skill in every match, before it counts.

Time. Between events variances grow by growth^2 a period, each kind of part by its own. With `reversion` tau it is the
Ornstein-Uhlenbeck process about a newcomer's mean: after t the share k = exp(-t / tau) of a lead is left, and

    P <- k^2 P + growth^2 tau / 2 (1 - k^2)      (Uhlenbeck and Ornstein 1930), tau in periods

With `kinds` players are of two kinds, as learners and exercises, and those of the second have a growth, a first
deviation, a growth by a match and an experience of their own. With `league_season` matches say by number in which
season they are, and a season begins for a player with their first match in it, so that leagues have their own. With
`side_since` t_0 the common side advantage at t is side_advantage + side_trend (t - t_0) / 365.25: a system whose rules
see two players only has nowhere to learn what all share, and a line can be fitted.

With `form_deviation` s players have a form beside their skill, which counts in every match: an Ornstein-Uhlenbeck
process about 0 of time constant `form_reversion`, of variance s^2 while nothing is known of it.

When a season begins, after the time that passed, m <- newcomer's + season_keep (m - newcomer's), P <- season_keep^2 P,
and the common skill gains `season_growth`^2, once for each season. Neither makes a variance larger than a newcomer's,
or than `deviation_max`^2 of a common skill.

What a match says of x^T theta of a player is a message of precision I and a surprise V, linear in x:

    P' = P - P x x^T P I / (1 + s I),   m' = m + P' x V

To the diagonal of P' come 2 D eps of that of P, with eps of the precision: more than rounding errs by, so that P' stays
positive definite.

win: the better performance wins, with noise of variance noise^2, so P(a wins) = Phi(d / c), c^2 = noise^2 + s_a + s_b;
I and V match mean and variance of the belief after it (TrueSkill, Herbrich, Minka and Graepel 2006, of two players). A
draw is half a win and half a loss, in log likelihood; with `draw_margin` it is a difference within it.
logistic: Glicko's, where only the opponent's variance attenuates (Glickman 1999).
margin: y = d + noise, so I = 1 / (noise^2 + s_b) and V = I (y - d) of a, the Kalman filter (Kalman 1960). y has the
sign of the result and the size of the margin in units of `margin_scale` rating points, compressed by `compression` k as
k log(1 + |margin| / k). What is predicted is the result, as after win.
statistics: each of value z says c z = d + noise of its own, with c its scale, whatever the result was; they and then
the result tell of d one after the other, see outcome_likelihoods.py.

points: the margin as above, and the points of both sides together, which say of paces: see match_strengths.py.

goals: both sides score Poisson's goals, with Dixon and Coles' correction of low scores. Teams have a pace beside their
strength, so an attack (strength + pace) / 2 and a defence (strength - pace) / 2, and where nothing else counts they
score goal_rate 10^((attack - the other's defence) / 400) goals. The belief after a match is the normal law with the
same mean and covariance, see goal_likelihoods.py. All three outcomes are predicted.

A match of weight w counts as w matches. The games of a rating period all count at the beliefs before it: their
precisions x x^T I and their surprises x V add up. Beliefs of two players stay independent after a match, as in Glicko
and in TrueSkill. (After Szczecinski and Tihon 2023, "Simplified Kalman filter for online rating: one-fits-all
approach", with a covariance for each player.) Contests of teams: see rules.py.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from jaxrate.core import mean_reversion as fading
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import (
    DEVIATION,
    MAYBE_ANY,
    MAYBE_NOT_NEGATIVE,
    MAYBE_POSITIVE,
    NOT_NEGATIVE,
    PERIOD,
    RATING,
    SIDE_ADVANTAGE,
    Parameter,
    collect_params,
    factory_hyperparameter_space,
)
from jaxrate.core.system import RatingSystem, check_param_names, system_factory
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.systems.skills.rules import make_rules
from jaxrate.systems.skills.settings import (
    COVARIATE_PARAMETER,
    DEFAULT_NOISE,
    EXPECTED_GOALS_NOISE,
    EXPECTED_GOALS_SCALE,
    GOAL_DISPERSION,
    GOAL_RATE,
    GROWTH_UNIT,
    LOW_SCORE_DEPENDENCE,
    PACE_DEVIATION,
    PACE_GROWTH,
    POINT_RATE,
    QUIT_THRESHOLD,
    SIZE_ADVANTAGE,
    STATISTIC_NOISE,
    STATISTIC_SCALE,
    TOTAL_NOISE,
    ModelSettings,
    check_events_fit,
    fill_param_defaults,
    init,
    parse_settings,
    statistic_noise_name,
    statistic_scale_name,
    summary,
)


@system_factory
def skills(
    outcome: Literal["win", "logistic", "margin", "points", "goals"] = "win",
    categories: int = 1,
    covariates: str | Sequence[str] = (),
    own_side: bool = False,
    seasons: Sequence[Any] | Mapping[str, Any] | None = (),
    margin: str | Sequence[str] = "margin",
    kinds: str | Sequence[str] = (),
    league_season: str | None = None,
    side_since: Any = None,
    statistics: str | Sequence[str] = (),
    team_performance: Literal["sum", "mean"] = "sum",
    quit: str | None = None,
    expected_goals: str | Sequence[str] = (),
    *,
    growth: Annotated[float, Parameter(NOT_NEGATIVE, GROWTH_UNIT, "growth of the deviation of a common skill")] = 10.0,
    initial_rating: Annotated[float, RATING] = 1500.0,
    initial_deviation: Annotated[float, DEVIATION._replace(bounds=(None, "deviation_max"))] = 150.0,
    deviation_max: Annotated[
        float | None,
        Parameter(
            MAYBE_POSITIVE, "points", "largest deviation to which time leads, without form", if_none="the newcomer's"
        ),
    ] = None,
    modifier_growth: Annotated[
        float | None,
        Parameter(
            MAYBE_NOT_NEGATIVE, GROWTH_UNIT, "growth of the deviations of modifiers", if_none="3, with categories"
        ),
    ] = None,
    initial_modifier_deviation: Annotated[
        float | None,
        Parameter(MAYBE_POSITIVE, "points", "deviation of a newcomer's modifiers", if_none="50, with categories"),
    ] = None,
    own_side_growth: Annotated[
        float | None,
        Parameter(
            MAYBE_NOT_NEGATIVE,
            GROWTH_UNIT,
            "growth of the deviation of an own side advantage",
            if_none="3, with own_side",
        ),
    ] = None,
    initial_own_side_deviation: Annotated[
        float | None,
        Parameter(
            MAYBE_POSITIVE, "points", "deviation of a newcomer's own side advantage", if_none="30, with own_side"
        ),
    ] = None,
    match_growth: Annotated[
        float | None, Parameter(MAYBE_NOT_NEGATIVE, "points", "growth of the deviation of a common skill by a match")
    ] = None,
    reversion: Annotated[float | None, fading.REVERSION] = None,
    season_keep: Annotated[float | None, fading.SEASON_KEEP] = None,
    season_growth: Annotated[
        float | None,
        fading.SEASON_GROWTH._replace(meaning="growth of the deviation of a common skill by a season"),
    ] = None,
    experience: Annotated[
        float | None, Parameter(MAYBE_ANY, "points", "worth of experience, per unit of log(1 + matches played)")
    ] = None,
    side_advantage: Annotated[float, SIDE_ADVANTAGE] = 0.0,
    noise: Annotated[
        float | None,
        Parameter(
            MAYBE_POSITIVE,
            "points",
            "deviation of the difference of two performances",
            if_none='300, but for "logistic"',
            fitted=False,
        ),
    ] = None,
    draw_margin: Annotated[
        float | None,
        Parameter(
            MAYBE_POSITIVE,
            "points",
            "difference of performances below which they draw",
            concerns_draws=True,
            if_none="a draw is half a win, of margins one of 0, and `outlook` takes Davidson's draws",
        ),
    ] = None,
    margin_scale: Annotated[
        float | None,
        Parameter(
            MAYBE_POSITIVE,
            "points per unit",
            "rating points that a unit of the margin is worth",
            if_none='25, with "margin" or "points"',
        ),
    ] = None,
    compression: Annotated[
        float | None, Parameter(MAYBE_POSITIVE, "units of the margin", "margin above which margins are compressed")
    ] = None,
    period: Annotated[float, PERIOD] = 7.0,
    side_trend: Annotated[
        float | None,
        Parameter(MAYBE_ANY, "points per 365.25 days", "change of the side advantage", if_none="0, with side_since"),
    ] = None,
    second_kind_growth: Annotated[
        float | None,
        Parameter(
            MAYBE_NOT_NEGATIVE,
            GROWTH_UNIT,
            "growth, of players of the second kind",
            if_none="as of the first, with kinds; so for the next three",
        ),
    ] = None,
    second_kind_initial_deviation: Annotated[
        float | None,
        Parameter(
            MAYBE_POSITIVE, "points", "deviation of a newcomer of the second kind", bounds=(None, "deviation_max")
        ),
    ] = None,
    second_kind_match_growth: Annotated[
        float | None, Parameter(MAYBE_NOT_NEGATIVE, "points", "growth by a match, of players of the second kind")
    ] = None,
    second_kind_experience: Annotated[
        float | None, Parameter(MAYBE_ANY, "points", "worth of experience, of players of the second kind")
    ] = None,
    form_deviation: Annotated[
        float | None, Parameter(MAYBE_POSITIVE, "points", "deviation of the form of players", if_none="they have none")
    ] = None,
    form_reversion: Annotated[
        float | None,
        Parameter(
            MAYBE_POSITIVE,
            "days, or the unit of time",
            "time in which 63% of the form is lost",
            if_none="30, with form_deviation",
        ),
    ] = None,
    team_noise: Annotated[
        float | None, Parameter(MAYBE_POSITIVE, "points", "deviation of what a team adds to its members, in contests")
    ] = None,
    size_advantage: Annotated[float | None, SIZE_ADVANTAGE] = None,
    quit_threshold: Annotated[float | None, QUIT_THRESHOLD] = None,
    pace_growth: Annotated[float | None, PACE_GROWTH] = None,
    initial_pace_deviation: Annotated[float | None, PACE_DEVIATION] = None,
    point_rate: Annotated[float | None, POINT_RATE] = None,
    total_noise: Annotated[float | None, TOTAL_NOISE] = None,
    goal_rate: Annotated[float | None, GOAL_RATE] = None,
    goal_dispersion: Annotated[float | None, GOAL_DISPERSION] = None,
    low_score_dependence: Annotated[float | None, LOW_SCORE_DEPENDENCE] = None,
    expected_goals_noise: Annotated[float | None, EXPECTED_GOALS_NOISE] = None,
    expected_goals_scale: Annotated[float | None, EXPECTED_GOALS_SCALE] = None,
    **weights: float,
) -> RatingSystem:
    """One filter of matches, rating periods and contests of teams that takes margins, surfaces, covariates, sides,
    seasons and experience.

    What the data do not have is off. A part that is on has usual values where none are given: `fit` finds better ones.

        data = jr.data.datasets.nfl()
        system = jr.skills("margin", margin=data.margin, seasons=data.seasons, compression=10.0, side_advantage=50.0)
        rated = jr.rate(system, data)

    The rating that is shown is what a player would bring to a neutral match: the common skill, and their experience.
    The parts apart are the columns of `state.mean`.

    Args:
      outcome: what is learnt from: "win", "logistic" (the result, as in Glicko), "margin", "points" or "goals".
      categories: how many there are, such as surfaces; with one there are no modifiers.
      covariates: the names of columns of the matches: what speaks for the first player (komi, rest, ...). The weight of
        each is a hyperparameter of its name (points per unit, any number), at first 0.
      own_side: whether players have a side advantage of their own, beside the common one. Contests then need a column
        "side" of participants, 1 at home, -1 away and 0 elsewhere; as a covariate it has the common one.
      seasons: the time at which each begins, increasing; numbers, or dates. Or the `seasons` of a dataset.
      margin: the name of the column that holds the margin, or of two that hold the points of each side. Its size
        counts; its sign is the score's, and a draw has no margin. With "points" or "goals" both
        columns of what the sides scored.
      kinds: of players, if there are two, as learners and exercises: "sides" if all who are a are of the first and all
        who are b of the second; or the columns of a's and of b's kind, 0 or 1. That of their first match stays.
      league_season: the column of the number of the season of each match, in place of `seasons`, where those of several
        leagues overlap. A season begins for a player with their first match in it.
      side_since: a time, a number or a date, when the better side is worth `side_advantage`; what it is worth at others
        follows a straight line. None: it is worth the same at all times.
      statistics: the names of columns of what was counted beside the result, as expected goals or the share of games:
        by how much the first player was ahead, NaN where it is missing. Each has two hyperparameters, NAME_scale, what
        a unit is worth (points, > 0; at first 25), and NAME_noise, its deviation about the difference of strengths
        (points, > 0; at first 300). In contests: of each participant, about 0 for equals.
      team_performance: of a team in contests: the "sum" of its members' performances, or their "mean".
      quit: the column that says which participants of contests quit: 1, and 0 for those who stayed; NaN: unknown.
      expected_goals: with "goals", the names of the columns of both sides' expected goals, or of shots at goal; NaN
        where they are missing.
      **weights: hyperparameters of covariates, by their names, and of statistics.

    Raises:
      ValueError: for an unknown name, a value out of range, bounds that cross, a hyperparameter of a part that is off,
        a covariate that cannot be the name of a hyperparameter, or seasons that do not increase.
    """
    setting_values = parse_settings(locals())
    model = ModelSettings(**setting_values, form=form_deviation is not None)
    covariates, statistics = model.covariates, model.statistics
    of_statistics = tuple(of(name) for name in statistics for of in (statistic_scale_name, statistic_noise_name))
    further = covariates + of_statistics
    argument_names = [*setting_values, *factory_hyperparameter_space(skills)._fields]
    for name in further:
        if not name.isidentifier() or name.startswith("_") or name in argument_names or further.count(name) > 1:
            what = "covariate" if name in covariates else "statistic"
            raise ValueError(f"skills: a {what} must be one plain word that is no hyperparameter; rename {name!r}")
    check_param_names("skills", weights, [*argument_names, *further])
    abouts = (COVARIATE_PARAMETER,) * len(covariates) + (STATISTIC_SCALE, STATISTIC_NOISE) * len(statistics)
    first = (0.0,) * len(covariates) + (25.0, DEFAULT_NOISE) * len(statistics)
    extra = {name: (weights.get(name, x), about) for name, x, about in zip(further, first, abouts, strict=True)}
    params, space = collect_params(skills, locals(), extra)
    events = (Matches, Periods) if outcome in ("logistic", "points", "goals") or kinds else (Matches, Periods, Rounds)
    params = fill_param_defaults(model, params)
    return RatingSystem(
        bind(init, model),
        make_rules(model, params),
        events,
        bind(summary, model),
        bind(check_events_fit, model),
        ("categories", "teams", "seats", "noise"),
        params=params,
        space=space,
        settings=setting_values,
    )
