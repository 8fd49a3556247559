"""`fit_strengths`: maximum likelihood strengths from matches, counts or rounds."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxrate.arena.comparison_graph import Comparability, find_comparable_players
from jaxrate.arena.newton import (
    DIVERGENCE_DISTANCE,
    SearchState,
    StrengthProblem,
    maximise_log_posterior,
)
from jaxrate.arena.paired_comparison_likelihood import initial_kappa
from jaxrate.arena.plackett_luce_fit import fit_plackett_luce, rankings_and_comparability
from jaxrate.arena.standard_errors import CONVERGED_STEP, FittedModel, StrengthUncertainty, estimate_uncertainty
from jaxrate.arena.strength_estimates import MEAN_RATING, POINTS_PER_LOG_STRENGTH, Strengths, drop_standard_errors
from jaxrate.arena.strength_options import (
    check_covariates_identifiable,
    check_kappa_bounded,
    check_options,
    choose_tie_model,
    resolve_anchors,
)
from jaxrate.arena.vote_sources import read_votes_if_source
from jaxrate.arena.votes import VoteCells, count_votes_in_cells, votes_from_data
from jaxrate.core.argument_checks import check_concrete, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_unquoted_name
from jaxrate.events import Ragged, Rounds
from jaxrate.events.dataset import Dataset

MAX_DENSE_PLAYERS = 3000  # number of players up to which the Hessian is dense
PADDING_MULTIPLE = 8  # players are padded to multiples of this, so that data of similar size share programs
MAX_NAMED_PLAYERS = 4  # names in a note


@enforce_argument_annotations
def fit_strengths(
    data: Any,
    *,
    ties: str | None = None,
    covariates: Sequence[str] = (),
    anchors: Mapping[Any, float] | None = None,
    prior: float | None = None,
    cluster: Any = None,
    errors: str | None = None,
    samples: int = 1000,
    seed: int = 0,
    last_place_unranked: bool | None = None,
) -> Strengths:
    """Maximum likelihood strengths of players who do not change, with their uncertainty.

    The order of the results does not count. As in Elo, a difference of d points means odds of 10^(d / 400).

        a, b = ["Ada", "Ada", "Bo"], ["Bo", "Cy", "Cy"]
        votes = jr.arena.count_votes(a, b, wins=[7, 6, 5], losses=[3, 3, 4], ties=[1, 2, 0])
        print(jr.arena.fit_strengths(votes))

    Args:
      data: matches, `VoteCounts`, rounds, a `Dataset`, or a table or path as for `read`, whose columns may then be
        clusters of any kind, and whose rows may be in any order; weights count. Rounds are
        rankings, by Plackett-Luce (1975): players who tie came in an unknown order (Efron 1977). So the best of N that
        somebody chose has rank 1, and all others share rank 2.
      ties: the model of ties in matches. "davidson" (1970), the default: P(tie) is in proportion to nu sqrt(p_a p_b);
        "rao_kupper" (1967): to win takes more than theta times the other's strength; "half": half a win and half a
        loss, and any score counts as a fraction of a win; "none": ties are left out.
      covariates: names of columns of the matches or counts, in favour of player 0: home or white ("side" is that of the
        matches), or the difference of two answers in length. Each has a coefficient. The coefficient of a constant
        covariate is the advantage of being named first.
      anchors: known ratings in points, by player. Without them, and without a prior, ratings have mean 1500.
      prior: deviation (points) of a normal prior of every rating about 1500. None: no prior; players who only won or
        only lost, or never met the others, directly or through others, then have no finite rating.
      cluster: clusters of votes that are not independent, as those of one voter or on one prompt: the name of a column,
        or an array [n], or two of them.
      errors: "curvature", which trusts the model; "sandwich", which does not; "bootstrap", by replicates of the data.
        None: the clustered sandwich if there are clusters, else the curvature. Contests are clusters. For more than
        3,000 players, errors are by curvature with all others fixed, and a little too small.
      samples, seed: the number of bootstrap replicates, and their seed.
      last_place_unranked: whether the order of players who share the last place of a contest, but not all of it, is
        unknown. False: they tied, and are about equal. None: it is unknown.

    Returns:
      `Strengths`. Its `notes` name players who cannot be compared.

    Raises:
      ValueError: if there is no vote; if all votes are ties under a model of ties, or so many that there is no maximum;
        if an anchor does not play; if a covariate follows from players and other covariates; if a column is missing; or
        for a score that is no result (names the row).
    """
    check_options(ties, prior, errors, samples)
    names = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    data, cluster = read_votes_if_source(data, names, cluster)
    check_concrete("strengths are estimated", data, "; jr.scan rates what is traced")
    events = data.events if isinstance(data, Dataset) else data
    if isinstance(events, Ragged) and isinstance(events.events, Rounds):
        if ties is not None or names or cluster is not None:
            raise ValueError("rounds have no covariates, no clusters other than contests, and one model of ties")
        players = (
            data.players if isinstance(data, Dataset) else np.arange(int(events.events.player.max(initial=-1)) + 1)
        )
        is_anchor, rating = resolve_anchors(
            anchors, players, np.bincount(events.events.player, minlength=len(players)) > 0
        )
        rankings, comparability = rankings_and_comparability(
            events, last_place_unranked is not False, len(players), is_anchor
        )
        notes = tuple(_comparability_notes(players, comparability, prior))
        return fit_plackett_luce(
            rankings, comparability, is_anchor, rating, prior, errors, samples, seed, players, notes
        )
    if last_place_unranked is not None:
        raise ValueError("last_place_unranked is for rounds; matches have no last place")
    ties = ties or "davidson"
    votes = votes_from_data(data, ties, names, cluster)
    cells = count_votes_in_cells(
        votes.player, votes.outcome, votes.covariates, votes.num_players, keep_vote_cells=bool(votes.clusters)
    )
    players = np.arange(votes.num_players) if votes.players is None else np.asarray(votes.players)
    is_anchor, rating = resolve_anchors(anchors, players, _votes_per_player(cells, votes.num_players) > 0)
    choose_tie_model(ties, cells)  # which refuses what no players could be compared by
    win, tie, loss = cells.counts
    comparability = find_comparable_players(
        cells.first, cells.second, win + tie > 0, loss + tie > 0, votes.num_players, np.flatnonzero(is_anchor)
    )
    main = comparability.is_main if prior is None else np.ones(votes.num_players, bool)
    inner_cells = _select_player_cells(cells, main)
    if not inner_cells.counts.sum():
        raise ValueError("no two players beat each other, directly or through others; give a prior, as prior=350")
    model = choose_tie_model(ties, inner_cells)
    with jax.enable_x64(True):
        problem, counts, x, unit = _build_problem(model, inner_cells, is_anchor[main], rating[main], prior)
        check_covariates_identifiable(names, problem, counts)
        is_dense = len(problem.is_fixed) <= MAX_DENSE_PLAYERS
        maximum = jax.tree.map(np.asarray, maximise_log_posterior(is_dense, model, problem, counts, x))
        check_kappa_bounded(
            ties,
            float(maximum.x[-1] - x[-1]) if model != "bradley_terry" and not maximum.size <= CONVERGED_STEP else 0.0,
        )
        fitted = FittedModel(model, problem, inner_cells, counts, maximum.x)
        uncertainty = estimate_uncertainty(fitted, votes, errors, is_dense, samples, seed)
    notes = (*_comparability_notes(players, comparability, prior), *uncertainty.notes)
    return _build_strengths(
        fitted,
        x,
        maximum,
        players,
        cells,
        comparability,
        main,
        is_anchor,
        dict(zip(names, unit, strict=True)),
        uncertainty,
        notes,
    )


def _votes_per_player(cells: VoteCells, num_players: int) -> HostArray:
    """[N] votes on each player."""
    ends, total = np.concatenate([cells.first, cells.second]), cells.counts.sum(axis=0)
    return np.bincount(ends, np.concatenate([total, total]), num_players)


def _select_player_cells(cells: VoteCells, mask: HostArray) -> VoteCells:
    """The cells of two players under the mask, with new numbers of players."""
    is_inner = mask[cells.first] & mask[cells.second]
    if is_inner.all() and mask.all():
        return cells
    new_id = (np.cumsum(mask) - 1).astype(np.int32)
    ends = new_id[cells.first[is_inner]], new_id[cells.second[is_inner]]
    cell_of_vote = (
        None if cells.cell_of_vote is None else np.where(is_inner, np.cumsum(is_inner) - 1, -1)[cells.cell_of_vote]
    )
    return VoteCells(*ends, cells.counts[:, is_inner], cells.covariates[is_inner], cell_of_vote, cells.is_swapped)


def _build_problem(
    model: str, cells: VoteCells, is_anchor: HostArray, strength: HostArray, prior: float | None
) -> tuple[StrengthProblem, HostArray, HostArray, HostArray]:
    """The padded problem, counts [3, M], the start [N + E] of the search, and the unit of each covariate."""
    n, m, p = len(is_anchor), len(cells.first), cells.covariates.shape[1]
    players, num_cells = n, m
    if n <= MAX_DENSE_PLAYERS:
        players = -(-n // PADDING_MULTIPLE) * PADDING_MULTIPLE
        num_cells = 1 << max(m - 1, 1).bit_length()
        num_cells = 3 * num_cells // 4 if 3 * num_cells // 4 >= m else num_cells
    total = cells.counts.sum(axis=0)
    unit = np.sqrt(total @ cells.covariates**2 / total.sum())
    padding = (0, num_cells - m)
    second = np.pad(cells.second, padding, constant_values=1)  # padding has no votes, between players 0 and 1
    z = np.pad(cells.covariates / np.where(unit > 0, unit, 1.0), [padding, (0, 0)])
    free = prior is None and not is_anchor.any()
    ground = np.pad(np.full(n, n**-0.5 if free else 0.0), (0, players - n))
    precision = np.float64(0.0 if prior is None else (POINTS_PER_LOG_STRENGTH / prior) ** 2)
    is_fixed = np.pad(is_anchor, (0, players - n), constant_values=True)
    x = np.concatenate([strength, np.zeros(players - n + p)])
    if model != "bradley_terry":
        x = np.append(x, initial_kappa(model, float(cells.counts[1].sum()), float(total.sum())))
    center = np.zeros(players)
    problem = StrengthProblem(np.pad(cells.first, padding), second, z, is_fixed, ground, precision, center)
    return problem, np.pad(cells.counts, [(0, 0), padding]), x, unit


def _comparability_notes(players: HostArray, comparability: Comparability, prior: float | None) -> list[str]:
    """Warnings that name players who cannot be compared."""

    def format_players(mask: HostArray) -> str:
        ids = np.flatnonzero(mask)
        names = [format_unquoted_name(players[i]) for i in ids[:MAX_NAMED_PLAYERS].tolist()]
        return ", ".join(names) + (
            f" and {len(ids) - MAX_NAMED_PLAYERS:,} others" if len(ids) > MAX_NAMED_PLAYERS else ""
        )

    notes, finite = (
        [],
        " and have no finite rating without a prior" if prior is None else "; their ratings rest on the prior",
    )
    groups = int(comparability.component.max(initial=-1)) + 1
    if groups > 1:
        advice = (
            "only the prior compares them" if prior is not None else "players outside the largest group have no rating"
        )
        notes.append(
            f"{groups:,} groups of players never met: {advice} ({format_players(comparability.component > 0)})"
        )
    if (comparability.component < 0).any():
        notes.append(f"without a match: {format_players(comparability.component < 0)}")
    for mask, result in ((comparability.only_won, "won"), (comparability.only_lost, "lost")):
        if mask.any():
            notes.append(f"only {result} against the others{finite}: {format_players(mask)}")
    indirectly_met = (comparability.component == 0) & ~(
        comparability.is_main | comparability.only_won | comparability.only_lost
    )
    if indirectly_met.any():
        notes.append(
            f"met others only through players who only won or only lost{finite}: {format_players(indirectly_met)}"
        )
    return notes


def _build_strengths(
    fitted: FittedModel,
    start: HostArray,
    maximum: SearchState,
    players: HostArray,
    cells: VoteCells,
    comparability: Comparability,
    mask: HostArray,
    is_anchor: HostArray,
    covariate_unit: Mapping[str, float],
    uncertainty: StrengthUncertainty,
    notes: tuple[str, ...],
) -> Strengths:
    """The result, in points and for all players."""
    n, count, (win, tie, loss) = len(fitted.problem.is_fixed), int(mask.sum()), cells.counts

    def expand_to_all_players(values: HostArray, fill_value: Any = np.nan) -> HostArray:
        expanded = np.full((*values.shape[:-1], len(players)), fill_value)
        expanded[..., mask] = values[..., :count]
        return expanded

    unbounded_rating = np.where(comparability.only_won, np.inf, np.where(comparability.only_lost, -np.inf, np.nan))
    covariance = None
    if uncertainty.covariance is not None:
        covariance = np.full((len(players), len(players)), np.nan)
        covariance[np.ix_(mask, mask)] = uncertainty.covariance[:count, :count] * POINTS_PER_LOG_STRENGTH**2
    ends, games = np.concatenate([cells.first, cells.second]), _votes_per_player(cells, len(players))
    score = np.bincount(ends, np.concatenate([win + 0.5 * tie, loss + 0.5 * tie]), len(players))
    factor = {name: POINTS_PER_LOG_STRENGTH / one for name, one in covariate_unit.items()}
    kappa = None if fitted.model == "bradley_terry" else float(np.exp(maximum.x[-1]))
    diverged = bool(np.abs(maximum.x - start)[: n + len(covariate_unit)].max() > DIVERGENCE_DISTANCE)
    converged = bool(maximum.size <= CONVERGED_STEP) and not diverged
    reason = "no maximum" if diverged else "maximum" if converged else "no further gain" if maximum.stuck else "steps"
    problem = fitted.problem
    prior_penalty = 0.5 * problem.precision * (np.where(problem.is_fixed, 0.0, maximum.x[:n]) ** 2).sum()
    result = Strengths(
        players,
        np.where(mask, MEAN_RATING + POINTS_PER_LOG_STRENGTH * expand_to_all_players(maximum.x[:n]), unbounded_rating),
        expand_to_all_players(uncertainty.error) * POINTS_PER_LOG_STRENGTH,
        covariance,
        uncertainty.source,
        games,
        np.divide(score, games, out=np.full(len(players), np.nan), where=games > 0),
        comparability.component,
        is_anchor,
        fitted.model,
        kappa,
        None if kappa is None else kappa * float(uncertainty.error[-1]),
        {name: float(maximum.x[n + i] * scale) for i, (name, scale) in enumerate(factor.items())},
        {name: float(uncertainty.error[n + i] * scale) for i, (name, scale) in enumerate(factor.items())},
        float(maximum.value + prior_penalty),
        float(fitted.counts.sum()),
        converged,
        reason,
        int(maximum.steps),
        notes,
        None
        if uncertainty.samples is None
        else MEAN_RATING + POINTS_PER_LOG_STRENGTH * expand_to_all_players(uncertainty.samples[:, :n]),
        np.unique(np.stack([cells.first, cells.second], axis=1)[cells.counts.sum(axis=0) > 0], axis=0),
        uncertainty.degrees_of_freedom,
    )
    return result if converged else drop_standard_errors(result)
