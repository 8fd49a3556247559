"""Options of `fit_strengths`: their checks, the model of ties, and the players of known strength."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrate.arena.newton import (
    StrengthProblem,
    residual_covariate_information,
)
from jaxrate.arena.strength_estimates import MEAN_RATING, POINTS_PER_LOG_STRENGTH
from jaxrate.arena.votes import VoteCells
from jaxrate.core.argument_checks import MAX_SAMPLES, check_count
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import did_you_mean_suffix, format_number, format_unquoted_name
from jaxrate.history.history import find_player_id

TIE_MODELS = "davidson", "rao_kupper", "half", "none"
ERROR_SOURCES = "curvature", "sandwich", "bootstrap"
COLLINEAR_SHARE = 1e-9  # residual share of a covariate that follows from others


MAX_KAPPA_GROWTH = 5.0  # of kappa: ties about a hundred times as likely


def check_options(ties: str | None, prior: float | None, errors: str | None, samples: int) -> None:
    """ValueError for an unknown choice."""
    for name, value, allowed in (("ties", ties, (None, *TIE_MODELS)), ("errors", errors, (None, *ERROR_SOURCES))):
        if value not in allowed:
            choices = ", ".join(repr(x) for x in allowed)
            raise ValueError(
                f"{name} must be one of {choices}, got {value!r}{did_you_mean_suffix(value, [x for x in allowed if x])}"
            )
    if prior is not None and not (isinstance(prior, (int, float, np.number)) and 0 < prior < np.inf):
        raise ValueError(f"prior must be a deviation in points, above 0, or None, got {prior!r}")
    check_count("samples", samples, 2, MAX_SAMPLES)


def resolve_anchors(
    anchors: Mapping[Any, float] | None, players: HostArray, has_played: HostArray
) -> tuple[HostArray, HostArray]:
    """[N] which players are anchors, and their log strengths."""
    is_anchor, strength = np.zeros(len(players), bool), np.zeros(len(players))
    for player, rating in (anchors or {}).items():
        player_id = find_player_id(players, player)
        if not isinstance(rating, (int, float, np.number)) or not np.isfinite(rating):
            raise ValueError(f"anchor {format_unquoted_name(player)} must have a finite rating, got {rating!r}")
        if not has_played[player_id]:
            raise ValueError(f"anchor {format_unquoted_name(player)} plays in no match; leave it out")
        is_anchor[player_id], strength[player_id] = True, (float(rating) - MEAN_RATING) / POINTS_PER_LOG_STRENGTH
    return is_anchor, strength


def choose_tie_model(ties: str, cells: VoteCells) -> str:
    """The model for these ties. ValueError if there is no vote, or only ties."""
    total, tie_count = float(cells.counts.sum()), float(cells.counts[1].sum())
    if not total:
        raise ValueError("there is no vote" + (" that is not a tie; ties='half' counts ties" * (ties == "none")))
    if ties in ("half", "none") or not tie_count:
        return "bradley_terry"
    if tie_count == total:
        raise ValueError(
            f"all {format_number(total)} comparable votes are ties, which ties={ties!r} cannot fit; take ties='half'"
        )
    return ties


def check_kappa_bounded(ties: str, kappa_growth: float) -> None:
    """ValueError if kappa has grown without bound."""
    if kappa_growth > MAX_KAPPA_GROWTH:
        raise ValueError(
            f"with ties={ties!r} the likelihood has no maximum here: it grows with more ties and greater differences; "
            "give a prior, as prior=350, or take ties='half'"
        )


def check_covariates_identifiable(names: tuple[str, ...], problem: StrengthProblem, counts: HostArray) -> None:
    """ValueError if a covariate follows from players and other covariates."""
    if not names:
        return
    total = counts.sum(axis=0)
    for name, square in zip(names, total @ problem.covariates**2, strict=True):
        if not square:
            raise ValueError(f"covariate {name!r} is 0 in every vote; leave it out")
    value, vector = np.linalg.eigh(np.asarray(residual_covariate_information(problem, total)) / total.sum())
    if value[0] < COLLINEAR_SHARE:
        name = names[int(np.argmax(np.abs(vector[:, 0])))]
        raise ValueError(f"covariate {name!r} follows from players and other covariates; leave it out")
