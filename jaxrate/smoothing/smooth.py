"""The door: a history with hindsight."""

import warnings
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.arguments import OWN, check_arguments, is_whole
from jaxrate.data.dataset import Dataset, open_data
from jaxrate.events import Array, Matches
from jaxrate.memory import check_room, of_device
from jaxrate.replay.rows import check_concrete
from jaxrate.replay.schedule import check
from jaxrate.replay.sizes import first
from jaxrate.replay.state import check_events, check_ids, check_rows, chosen
from jaxrate.smoothing.found import Smoothed
from jaxrate.smoothing.sweeps import KEPT, conclude, sweep
from jaxrate.smoothing.timelines import Timelines, timelines
from jaxrate.system import Params, Rating, RatingSystem, check_system
from jaxrate.systems.skills.model import Model


@check_arguments
def smooth(
    system: RatingSystem,
    events: Annotated[Matches | Dataset, OWN],
    *,
    params: Params = None,
    num_players: int | None = None,
    tolerance: float = 1e-3,
    sweeps: Annotated[int, OWN] = 200,
) -> Smoothed:
    """Rate a whole history with hindsight: every player at every match of theirs, given all matches.

    A filter knows of each match only what came before it. This is expectation propagation (Minka 2001) in the model of
    `skills`, as in TrueSkill through time (Dangauthier, Herbrich, Minka and Graepel 2007): what a match says of its two
    players is made anew from what all other matches say of them, before and after, until nothing changes. Where
    opponents' beliefs are as if independent, as in the filter, deviations come out somewhat small; with margins, means
    are those of the exact posterior.

        data = jr.datasets.nfl()
        system = jr.skills("margin", margin=data.margin, seasons=data.seasons, compression=10.0, side_advantage=50.0)
        found = jr.smooth(system, data)
        best = found.rating.mean.max()  # of all teams in all games

    Args:
      system: `skills`, in any of its forms. Glicko's model is `skills("logistic")`, and TrueSkill's of two players
        `skills(draw_margin=...)`.
      events: `Matches` in order of time, or a `Dataset` of them. A match of weight w counts as w matches.
      params: hyperparameters, by default `system.params`.
      num_players: rows of the state, by default the largest id plus one, or all whom a `Dataset` names.
      tolerance: it has converged when in a sweep no mean moves by more than so many of its deviations (> 0), and no
        variance by more than ten times this share of itself.
      sweeps: after so many it stops, with a warning (from 1).

    Returns:
      `Smoothed`. Its `state` is what `run(..., state=...)` filters on from. Its `prediction` leaves out the match
      itself, and tells how well the past is explained; it is no forecast.

    Raises:
      ValueError: for another system, rating periods or rounds, a history without matches, bad rows (see `matches`),
        columns that the system lacks, hyperparameters out of their range, or more matches than memory holds.
    """
    if not tolerance > 0:
        raise ValueError(f"tolerance must be above 0, got {tolerance!r}")
    if not (is_whole(sweeps) and sweeps >= 1):
        raise ValueError(f"sweeps must be a whole number from 1, got {sweeps!r}")
    model, params, matches, lines = opened("smooth", system, events, params, num_players)
    n = len(matches.score)
    swept = sweep(model, params, lines, tolerance, sweeps)
    change, converged = float(swept.change), bool(swept.change <= tolerance)
    if not converged:
        text = f"means still moved by up to {change:.2g} deviations after {sweeps} sweeps: allow more by sweeps=..."
        warnings.warn(text, stacklevel=3)  # past the check of arguments
    found = conclude(model, params, lines, swept.site)
    evidence = float(np.sum(np.asarray(found.evidence), dtype=np.float64))
    rating, parts = (Rating(*(_rows(x, n) for x in one)) for one in (found.rating, found.parts))
    names, clock = (events.players, events.clock) if isinstance(events, Dataset) else (None, "numbers")
    return Smoothed(
        rating,
        None if model.size == 1 else parts,
        first(found.prediction, n),
        evidence,
        found.state,
        int(swept.sweeps),
        change,
        converged,
        system._replace(params=params),
        matches,
        names,
        clock,
        swept.site,
    )


class Opened(NamedTuple):
    """What is to be smoothed."""

    model: Model
    params: Any
    matches: Matches
    lines: Timelines


def opened(
    what: str, system: RatingSystem, events: Matches | Dataset, params: Params, num_players: int | None
) -> Opened:
    """Checked; ValueError as in `smooth`. `what` is how errors call the function."""
    check_system(system)
    model = model_of(system)
    history, num_players = open_data(events, num_players)
    if not isinstance(history, Matches):
        kind = type(getattr(history, "events", history)).__name__
        raise ValueError(f"{what} takes matches, each at its own time, and not {kind}")
    check_events(system, history, None)
    params = chosen(system, params)
    check_concrete("hindsight is calculated until it converges", params, "; give numbers")
    matches = check(history)
    n = len(matches.score)
    if n == 0:
        raise ValueError("there are no matches, of which hindsight could know more")
    known = int(matches.player.max()) + 1
    check_ids(system, matches.player, known, num_players, 0)
    _check_room(model, n)
    rows = check_rows(system, None, num_players, known)
    return Opened(model, params, matches, timelines(matches, rows, model.seasons, model.size))


def model_of(system: RatingSystem) -> Model:
    """The model behind skills; ValueError for another system."""
    if system.traits.smoothed is None:
        advice = {"glicko": 'skills("logistic")', "trueskill": "skills(draw_margin=...)"}.get(system.name, "skills()")
        raise ValueError(f"{system.name} has no hindsight; take jr.{advice}, fitted to the same history")
    return system.traits.smoothed


def _check_room(model: Model, n: int) -> None:
    """ValueError if the passes do not fit into memory."""
    numbers = 2 * n * (model.size**2 + 8 * model.size + 3 * KEPT + 20)
    need = numbers * jnp.result_type(float).itemsize
    check_room(f"hindsight of {n:,} matches", need, of_device(jax.devices()[0]))


def _rows(x: Array, n: int) -> Array:
    """[n, 2, ...] of [2, size, ...]."""
    return jnp.asarray(np.moveaxis(np.asarray(x)[:, :n], 0, 1))
