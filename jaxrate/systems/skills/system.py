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
the result tell of d one after the other, see statistics.py.

A match of weight w counts as w matches. The games of a rating period all count at the beliefs before it: their
precisions x x^T I and their surprises x V add up. Beliefs of two players stay independent after a match, as in Glicko
and in TrueSkill. (After Szczecinski and Tihon 2023, "Simplified Kalman filter for online rating: one-fits-all
approach", with a covariance for each player.)
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxrate.events import Matches, Periods, as_event_time
from jaxrate.hashable import bind
from jaxrate.parameters import check_params, check_whole_number, make_params_class
from jaxrate.side_advantage import logistic_lead, normal_lead
from jaxrate.system import RatingSystem, SystemTraits, check_names, system_factory
from jaxrate.systems.mean_reversion import DEFAULT_SEASON_KEEP, season_starts
from jaxrate.systems.skills.adaptation import DEFAULT_FORM_REVERSION, DEFAULT_NOISE, adapt_to_data
from jaxrate.systems.skills.checks import check_events_fit
from jaxrate.systems.skills.model import (
    COVARIATE_PARAMETER,
    SIDES,
    SPACE,
    STATISTIC_NOISE,
    STATISTIC_SCALE,
    Model,
    Params,
    init,
    statistic_noise_name,
    statistic_scale_name,
    summary,
)
from jaxrate.systems.skills.outcome_likelihoods import OUTCOMES
from jaxrate.systems.skills.rules import make_rules, outlook, record_margin_loss

NOT_FOR_LOGISTIC = "does not go with outcome='logistic', which has Glicko's scale and no draws of its own"


def lead_for_score(params: Params, score: float) -> float:
    """Points by which one leads who is expected to score so much, of two whose skills are certain."""
    return logistic_lead(score) if params.noise is None else normal_lead(score, float(params.noise))


def fill_defaults(model: Model, params: Params) -> Params:
    """With a usual value for each hyperparameter of a part that the model has, unless it is given.

    Raises:
      ValueError: for a value of a part that the model lacks.
    """
    noisy = model.outcome != "logistic"
    seasons, in_seasons = (
        "needs seasons=..., their first times, or league_season",
        bool(model.seasons or model.league_season),
    )
    needs: dict[str, tuple[bool, float | None, str]] = {
        "modifier_growth": (model.modifiers > 0, 3.0, "needs categories=..., two or more"),
        "initial_modifier_deviation": (model.modifiers > 0, 50.0, "needs categories=..., two or more"),
        "own_side_growth": (model.own_side, 3.0, "needs own_side=True"),
        "initial_own_side_deviation": (model.own_side, 30.0, "needs own_side=True"),
        "season_keep": (in_seasons, DEFAULT_SEASON_KEEP, seasons),
        "season_growth": (in_seasons, 30.0, seasons),
        "side_trend": (model.side_since is not None, 0.0, "needs side_since=..., a time"),
        "form_reversion": (model.form, DEFAULT_FORM_REVERSION, "needs form_deviation"),
        "noise": (noisy, DEFAULT_NOISE, NOT_FOR_LOGISTIC),
        "draw_margin": (noisy, None, NOT_FOR_LOGISTIC),
        "margin_scale": (model.outcome == "margin", 25.0, "needs outcome='margin'"),
        "compression": (model.outcome == "margin", None, "needs outcome='margin'"),
    }
    kinds = 'needs kinds="sides", or the columns of kinds'
    for name in ("growth", "initial_deviation", "match_growth", "experience"):
        own, value = f"second_kind_{name}", getattr(params, name)
        needs[own] = bool(model.kinds) and value is not None, value, f"needs {name}" if model.kinds else kinds
    for name, (has, value, why) in needs.items():
        if getattr(params, name) is None and has:
            params = params._replace(**{name: value})
        elif getattr(params, name) is not None and not has:
            raise ValueError(f"skills: {name} {why}")
    return params


def check_column_names(setting: str, value: str | Sequence[str]) -> tuple[str, ...]:
    """The names of columns, from one or several."""
    names = (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if not isinstance(name, str) or not name:
            raise ValueError(f"skills: {setting} must be names of columns, got {value!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"skills: {setting} names a column twice: {', '.join(names)}")
    return names


@system_factory
def skills(
    outcome: str = "win",
    categories: int = 1,
    covariates: str | Sequence[str] = (),
    own_side: bool = False,
    seasons: Sequence[Any] | Mapping[str, Any] | None = (),
    margin: str | Sequence[str] = "margin",
    kinds: str | Sequence[str] = (),
    league_season: str | None = None,
    side_since: Any = None,
    statistics: str | Sequence[str] = (),
    *,
    growth: float = 10.0,
    initial_rating: float = 1500.0,
    initial_deviation: float = 150.0,
    deviation_max: float | None = None,
    modifier_growth: float | None = None,
    initial_modifier_deviation: float | None = None,
    own_side_growth: float | None = None,
    initial_own_side_deviation: float | None = None,
    match_growth: float | None = None,
    reversion: float | None = None,
    season_keep: float | None = None,
    season_growth: float | None = None,
    experience: float | None = None,
    side_advantage: float = 0.0,
    noise: float | None = None,
    draw_margin: float | None = None,
    margin_scale: float | None = None,
    compression: float | None = None,
    period: float = 7.0,
    side_trend: float | None = None,
    second_kind_growth: float | None = None,
    second_kind_initial_deviation: float | None = None,
    second_kind_match_growth: float | None = None,
    second_kind_experience: float | None = None,
    form_deviation: float | None = None,
    form_reversion: float | None = None,
    **weights: float,
) -> RatingSystem:
    """One filter of matches and rating periods that takes margins, surfaces, covariates, sides, seasons and experience.

    What the data do not have is off. A part that is on has usual values where none are given: `fit` finds better ones.

        data = jr.data.datasets.nfl()
        system = jr.skills("margin", margin=data.margin, seasons=data.seasons, compression=10.0, side_advantage=50.0)
        rated = jr.rate(system, data)

    The rating that is shown is what a player would bring to a neutral match: the common skill, and their experience.
    The parts apart are the columns of `state.mean`.

    Args:
      outcome: what is learnt from: "win", "logistic" (the result, as in Glicko) or "margin".
      categories: how many there are, such as surfaces; with one there are no modifiers.
      covariates: the names of columns of the matches: what speaks for the first player (komi, rest, ...). The weight of
        each is a hyperparameter of its name (points per unit, any number), at first 0.
      own_side: whether players have a side advantage of their own, beside the common one.
      seasons: the time at which each begins, increasing; numbers, or dates. Or the `seasons` of a dataset.
      margin: the name of the column that holds the margin, or of two that hold the points of each side. Its size
        counts; its sign is the score's, and a draw has no margin.
      kinds: of players, if there are two, as learners and exercises: "sides" if all who are a are of the first and all
        who are b of the second; or the columns of a's and of b's kind, 0 or 1. That of their first match stays.
      league_season: the column of the number of the season of each match, in place of `seasons`, where those of several
        leagues overlap. A season begins for a player with their first match in it.
      side_since: a time, a number or a date, when the better side is worth `side_advantage`; what it is worth at others
        follows a straight line. None: it is worth the same at all times.
      statistics: the names of columns of what was counted beside the result, as expected goals or the share of games:
        by how much the first player was ahead, NaN where it is missing. Each has two hyperparameters, NAME_scale, what
        a unit is worth (points, > 0; at first 25), and NAME_noise, its deviation about the difference of strengths
        (points, > 0; at first 300).
      growth: growth of the deviation of a common skill (points per sqrt(period), >= 0).
      initial_rating: rating of a newcomer (points, any number).
      initial_deviation: deviation of a newcomer (points, > 0).
      deviation_max: largest deviation to which time leads, without form (points, > 0 or None). None: the newcomer's.
      modifier_growth: growth of the deviations of modifiers (points per sqrt(period), >= 0 or None). None: 3, with
        categories.
      initial_modifier_deviation: deviation of a newcomer's modifiers (points, > 0 or None). None: 50, with categories.
      own_side_growth: growth of the deviation of an own side advantage (points per sqrt(period), >= 0 or None). None:
        3, with own_side.
      initial_own_side_deviation: deviation of a newcomer's own side advantage (points, > 0 or None). None: 30, with
        own_side.
      match_growth: growth of the deviation of a common skill by a match (points, >= 0 or None).
      reversion: time in which 63 % of a lead is lost (days, or the unit of time, > 0 or None).
      season_keep: share of a lead that is kept from season to season (above 0, below 1, or None). None: 0.8, with
        seasons.
      season_growth: growth of the deviation of a common skill by a season (points, >= 0 or None). None: 30, with
        seasons.
      experience: worth of experience, per unit of log(1 + matches played) (points, any number or None).
      side_advantage: rating points that the better side is worth (points, any number).
      noise: deviation of the difference of two performances (points, > 0 or None). None: 300, but for "logistic".
      draw_margin: difference of performances below which they draw (points, > 0 or None). None: a draw is half a win,
        of margins one of 0, and `outlook` takes Davidson's draws.
      margin_scale: rating points that a unit of the margin is worth (points per unit, > 0 or None). None: 25, with
        "margin".
      compression: margin above which margins are compressed (units of the margin, > 0 or None).
      period: length of a rating period (days, or the unit of time, > 0).
      side_trend: change of the side advantage (points per 365.25 days, any number or None). None: 0, with side_since.
      second_kind_growth: growth, of players of the second kind (points per sqrt(period), >= 0 or None). None: as of
        the first, with kinds; so for the next three.
      second_kind_initial_deviation: deviation of a newcomer of the second kind (points, > 0 or None).
      second_kind_match_growth: growth by a match, of players of the second kind (points, >= 0 or None).
      second_kind_experience: worth of experience, of players of the second kind (points, any number or None).
      form_deviation: deviation of the form of players (points, > 0 or None). It is lost with time. None: they have
        none.
      form_reversion: time in which 63 % of the form is lost (days, or the unit of time, > 0 or None). None: 30, with
        form_deviation.
      **weights: hyperparameters of covariates, by their names, and of statistics.

    Raises:
      ValueError: for an unknown name, a value out of range, bounds that cross, a hyperparameter of a part that is off,
        a covariate that cannot be the name of a hyperparameter, or seasons that do not increase.
    """
    if outcome not in OUTCOMES:
        raise ValueError(f"skills: outcome must be {', '.join(OUTCOMES[:-1])} or {OUTCOMES[-1]}, got {outcome!r}")
    check_whole_number("skills", "categories", categories, 1, 100)
    if not isinstance(own_side, bool):
        raise ValueError(f"skills: own_side must be True or False, got {own_side!r}")
    margin, covariates = check_column_names("margin", margin), check_column_names("covariates", covariates)
    statistics = check_column_names("statistics", statistics)
    if statistics and outcome == "logistic":
        raise ValueError(f"skills: statistics {NOT_FOR_LOGISTIC}")
    if len(margin) not in (1, 2):
        raise ValueError("skills: margin must be one column, or two: the points of each side")
    kinds = check_column_names("kinds", kinds)
    if kinds != (SIDES,) and len(kinds) not in (0, 2):
        raise ValueError(
            f"skills: kinds must be 'sides', or the columns of a's and of b's kind, got {', '.join(kinds)}"
        )
    if league_season is not None:
        (league_season,) = check_column_names("league_season", league_season)
    since = None if side_since is None else as_event_time("side_since", side_since)
    times = season_starts("skills", seasons)
    if times and league_season is not None:
        raise ValueError("skills: give seasons, their first times, or league_season, and not both")
    setting_values: dict[str, Any] = {
        "outcome": outcome,
        "categories": categories,
        "covariates": covariates,
        "own_side": own_side,
        "seasons": times,
        "margin": margin,
        "kinds": kinds,
        "league_season": league_season,
        "side_since": since,
        "statistics": statistics,
    }
    settings = tuple(setting_values)
    of_statistics = tuple(of(name) for name in statistics for of in (statistic_scale_name, statistic_noise_name))
    further = covariates + of_statistics
    for name in further:
        taken = (*Params._fields, *settings, *Params.__dict__)
        if not name.isidentifier() or name.startswith("_") or name in taken or further.count(name) > 1:
            what = "covariate" if name in covariates else "statistic"
            raise ValueError(f"skills: a {what} must be one plain word that is no hyperparameter; rename {name!r}")
    check_names("skills", weights, (*settings, *Params._fields, *further))
    model = Model(**setting_values, form=form_deviation is not None)
    side = own_side_growth, initial_own_side_deviation
    season = season_keep, season_growth
    newcomer = growth, initial_rating, initial_deviation, deviation_max, modifier_growth, initial_modifier_deviation
    rest = experience, side_advantage, noise, draw_margin, margin_scale, compression, period, side_trend
    second = second_kind_growth, second_kind_initial_deviation, second_kind_match_growth, second_kind_experience
    form = form_deviation, form_reversion
    raw_params = fill_defaults(model, Params(*newcomer, *side, match_growth, reversion, *season, *rest, *second, *form))
    params_class = make_params_class(Params._fields + further)
    space = (*SPACE, *(COVARIATE_PARAMETER for _ in covariates), *(STATISTIC_SCALE, STATISTIC_NOISE) * len(statistics))
    first = (0.0,) * len(covariates) + (25.0, DEFAULT_NOISE) * len(statistics)
    params = params_class(*raw_params, *(weights.get(name, x) for name, x in zip(further, first, strict=True)))
    return RatingSystem(
        "skills",
        check_params("skills", params, params_class(*space)),
        params_class(*space),
        (Matches, Periods),
        bind(init, model),
        make_rules(model),
        bind(summary, model),
        tuple(setting_values.items()),
        check=bind(check_events_fit, model),
        traits=SystemTraits(
            categories=True,
            adapt=adapt_to_data,
            lead_for_score=lead_for_score,
            outlook=None if params.draw_margin is None else bind(outlook, model),
            margin_loss=bind(record_margin_loss, model) if outcome == "margin" else None,
            smoothing_model=None if kinds or league_season or model.form else model,
        ),
    )
