"""The door: strengths from matches, counts or rounds."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxrate.arena.comparison_graph import Comparability, find_comparable
from jaxrate.arena.newton import (
    DIVERGENCE_DISTANCE,
    SearchState,
    StrengthProblem,
    find_maximum,
    residual_covariate_information,
)
from jaxrate.arena.paired_comparison import initial_kappa
from jaxrate.arena.plackett_luce_fit import fit_plackett_luce, read_rankings
from jaxrate.arena.standard_errors import CONVERGED_STEP, FittedModel, StrengthUncertainty, estimate_uncertainty
from jaxrate.arena.strength_estimates import MEAN_RATING, POINTS_PER_LOG_STRENGTH, Strengths, without_errors
from jaxrate.arena.votes import VoteCells, group_votes, read_votes
from jaxrate.argument_checks import MAX_SAMPLES, check_arguments, check_concrete, check_count
from jaxrate.data.data_inputs import read_if_source
from jaxrate.events import Ragged, Rounds
from jaxrate.events.dataset import Dataset
from jaxrate.league.rated_history import find_player
from jaxrate.text_format import format_name, format_number, suggest_name
from jaxrate.types import HostArray

TIE_MODELS = "davidson", "rao_kupper", "half", "none"
ERROR_SOURCES = "curvature", "sandwich", "bootstrap"
DENSE = 3000  # players up to whom the Hessian is a matrix
PADDING_MULTIPLE = 8  # players are padded to multiples of this, so that data of like size share what is compiled
COLLINEAR_SHARE = 1e-9  # the share of a covariate that is left where it follows from others
RUNAWAY = 5.0  # of kappa: ties a hundred times as likely as they were
MAX_NAMED_PLAYERS = 4  # players whom a note names


@check_arguments
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
    in_part: bool = False,
) -> Strengths:
    """The likeliest strengths of players who do not change, and how sure they are.

    The order of the results does not count. As in Elo, a difference of d points means odds of 10^(d / 400).

        a, b = ["Ada", "Ada", "Bo"], ["Bo", "Cy", "Cy"]
        votes = jr.arena.count_votes(a, b, wins=[7, 6, 5], losses=[3, 3, 4], ties=[1, 2, 0])
        print(jr.arena.fit_strengths(votes))

    Args:
      data: matches, or `counts`, or rounds, a `Dataset`, or a table or path as `read` takes it; their weights count.
        Rounds are rankings, by Plackett-Luce (1975): those who tie came in an order that nobody saw (Efron 1977).
      ties: how results of one half are taken, of matches. "davidson" (1970), as without a choice: P(tie) is in
        proportion to nu sqrt(p_a p_b); "rao_kupper" (1967): to win takes more than theta times the other's strength;
        "half": half a win and half a loss, and any score is taken as a share; "none": they are left out.
      covariates: names of columns of the matches or counts, in favour of player 0: home or white ("side" is that of the
        matches), the difference of two answers in length. Each has a coefficient. That of a constant one is what it is
        worth to be named first.
      anchors: ratings that are known, in points, by player. Without them, and without a prior, ratings have mean 1500.
      prior: deviation (points) of a normal prior of every rating about 1500. None: none, and then players who only won
        or only lost have no finite rating, nor have those who never met the others, directly or through others.
      cluster: votes of a cluster go together, as those of one voter or on one prompt: the name of a column, or an array
        [n], or two of them.
      errors: "curvature", which trusts the model; "sandwich", which does not; "bootstrap", by replicates of the data.
        None: the sandwich of clusters if there are any, and else the curvature. Contests are clusters. Of more than
        3,000 players it is the curvature with everybody else held, which is a little too small.
      samples, seed: how many replicates a bootstrap has, and of which random numbers.
      in_part: whether those who share the last place of a contest were not ranked: they did not tie.

    Returns:
      `Strengths`. Its `notes` say who cannot be compared.

    Raises:
      ValueError: if there is no vote, if all are ties under a model of ties or so many that no ratings are likeliest,
        if an anchor does not play, if a covariate says nothing that players and other covariates do not, or if a column
        is missing; names the row of a score that is no result.
    """
    data = read_if_source(data)
    check_concrete("strengths are estimated", data, "; jr.scan rates what is traced")
    _check_options(ties, prior, errors, samples)
    names = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    events = data.events if isinstance(data, Dataset) else data
    if isinstance(events, Ragged) and isinstance(events.events, Rounds):
        if ties is not None or names or cluster is not None:
            raise ValueError(
                "rounds have neither covariates nor clusters other than contests, and one way to take ties"
            )
        players = (
            data.players if isinstance(data, Dataset) else np.arange(int(events.events.player.max(initial=-1)) + 1)
        )
        held, rating = _resolve_anchors(anchors, players, np.bincount(events.events.player, minlength=len(players)) > 0)
        rows, ranks = read_rankings(events, in_part, len(players), held)
        notes = tuple(_comparability_notes(players, ranks, prior))
        return fit_plackett_luce(rows, ranks, held, rating, prior, errors, samples, seed, players, notes)
    if in_part:
        raise ValueError("in_part is of rounds; matches have no last place")
    ties = ties or "davidson"
    votes = read_votes(data, ties, names, cluster)
    cells = group_votes(
        votes.player, votes.outcome, votes.covariates, votes.num_players, keep_places=bool(votes.clusters)
    )
    players = np.arange(votes.num_players) if votes.players is None else np.asarray(votes.players)
    held, rating = _resolve_anchors(anchors, players, _votes_per_player(cells, votes.num_players) > 0)
    model = _choose_model(ties, cells)
    win, tie, loss = cells.counts
    ranks = find_comparable(
        cells.first, cells.second, win + tie > 0, loss + tie > 0, votes.num_players, np.flatnonzero(held)
    )
    main = ranks.main if prior is None else np.ones(votes.num_players, bool)
    inner = _select_cells(cells, main)
    if not inner.counts.sum():
        raise ValueError("no two players beat each other, directly or through others; give a prior, as prior=350")
    with jax.enable_x64(True):
        problem, counts, x, unit = _build_problem(model, inner, held[main], rating[main], prior)
        _check_covariates(names, problem, counts)
        dense = len(problem.held) <= DENSE
        end = jax.tree.map(np.asarray, find_maximum(dense, model, problem, counts, x))
        _check_ties(
            ties, float(end.x[-1] - x[-1]) if model != "bradley_terry" and not end.size <= CONVERGED_STEP else 0.0
        )
        fitted = FittedModel(model, problem, inner, counts, end.x)
        spread = estimate_uncertainty(fitted, votes, errors, dense, samples, seed)
    notes = (*_comparability_notes(players, ranks, prior), *spread.notes)
    return _build_strengths(
        fitted, x, end, players, cells, ranks, main, held, dict(zip(names, unit, strict=True)), spread, notes
    )


def _check_options(ties: str | None, prior: float | None, errors: str | None, samples: int) -> None:
    """ValueError for a choice that there is not."""
    for name, given, known in (("ties", ties, (None, *TIE_MODELS)), ("errors", errors, (None, *ERROR_SOURCES))):
        if given not in known:
            shown = ", ".join(repr(x) for x in known)
            raise ValueError(
                f"{name} must be one of {shown}, got {given!r}{suggest_name(given, [x for x in known if x])}"
            )
    if prior is not None and not (isinstance(prior, (int, float, np.number)) and 0 < prior < np.inf):
        raise ValueError(f"prior must be a deviation in points, above 0, or None, got {prior!r}")
    check_count("samples", samples, 2, MAX_SAMPLES)


def _resolve_anchors(
    anchors: Mapping[Any, float] | None, players: HostArray, plays: HostArray
) -> tuple[HostArray, HostArray]:
    """[N] who is held, and at which log strength."""
    held, strength = np.zeros(len(players), bool), np.zeros(len(players))
    for player, rating in (anchors or {}).items():
        one = find_player(players, player)
        if not isinstance(rating, (int, float, np.number)) or not np.isfinite(rating):
            raise ValueError(f"anchor {format_name(player)} must have a finite rating, got {rating!r}")
        if not plays[one]:
            raise ValueError(f"anchor {format_name(player)} plays in no match; leave it out")
        held[one], strength[one] = True, (float(rating) - MEAN_RATING) / POINTS_PER_LOG_STRENGTH
    return held, strength


def _votes_per_player(cells: VoteCells, num_players: int) -> HostArray:
    """[N] votes on each."""
    ends, total = np.concatenate([cells.first, cells.second]), cells.counts.sum(axis=0)
    return np.bincount(ends, np.concatenate([total, total]), num_players)


def _choose_model(ties: str, cells: VoteCells) -> str:
    """The model of these ties. ValueError if there is no vote, or nothing but ties."""
    total, tied = float(cells.counts.sum()), float(cells.counts[1].sum())
    if not total:
        raise ValueError("there is no vote" + (" that is not a tie; ties='half' takes them" * (ties == "none")))
    if ties in ("half", "none") or not tied:
        return "bradley_terry"
    if tied == total:
        raise ValueError(f"all {format_number(total)} votes are ties, of which {ties} makes nothing; take ties='half'")
    return ties


def _check_ties(ties: str, grown: float) -> None:
    """ValueError if kappa ran away: a search that did not end where it has grown by so much."""
    if grown > RUNAWAY:
        raise ValueError(
            f"by ties={ties!r} no ratings are likeliest here: with ever more ties and ever greater differences the "
            "results only become likelier; give a prior, as prior=350, or take ties='half'"
        )


def _select_cells(cells: VoteCells, mask: HostArray) -> VoteCells:
    """The cells of two players of some, who are numbered anew."""
    inner = mask[cells.first] & mask[cells.second]
    if inner.all() and mask.all():
        return cells
    new = (np.cumsum(mask) - 1).astype(np.int32)
    ends = new[cells.first[inner]], new[cells.second[inner]]
    place = None if cells.of_vote is None else np.where(inner, np.cumsum(inner) - 1, -1)[cells.of_vote]
    return VoteCells(*ends, cells.counts[:, inner], cells.covariates[inner], place, cells.turned)


def _build_problem(
    model: str, cells: VoteCells, is_anchor: HostArray, strength: HostArray, prior: float | None
) -> tuple[StrengthProblem, HostArray, HostArray, HostArray]:
    """What is searched, padded: the problem, counts [3, M], where to begin [N + E], and the unit of each covariate."""
    n, m, p = len(is_anchor), len(cells.first), cells.covariates.shape[1]
    players, room = n, m
    if n <= DENSE:
        players = -(-n // PADDING_MULTIPLE) * PADDING_MULTIPLE
        room = 1 << max(m - 1, 1).bit_length()
        room = 3 * room // 4 if 3 * room // 4 >= m else room
    total = cells.counts.sum(axis=0)
    unit = np.sqrt(total @ cells.covariates**2 / total.sum())
    more = (0, room - m)
    last = np.pad(cells.second, more, constant_values=1)  # a cell without votes is of the players 0 and 1
    z = np.pad(cells.covariates / np.where(unit > 0, unit, 1.0), [more, (0, 0)])
    free = prior is None and not is_anchor.any()
    ground = np.pad(np.full(n, n**-0.5 if free else 0.0), (0, players - n))
    precision = np.float64(0.0 if prior is None else (POINTS_PER_LOG_STRENGTH / prior) ** 2)
    still = np.pad(is_anchor, (0, players - n), constant_values=True)
    x = np.concatenate([strength, np.zeros(players - n + p)])
    if model != "bradley_terry":
        x = np.append(x, initial_kappa(model, float(cells.counts[1].sum()), float(total.sum())))
    problem = StrengthProblem(np.pad(cells.first, more), last, z, still, ground, precision)
    return problem, np.pad(cells.counts, [(0, 0), more]), x, unit


def _check_covariates(names: tuple[str, ...], problem: StrengthProblem, counts: HostArray) -> None:
    """ValueError if a covariate says nothing that players and others do not."""
    if not names:
        return
    total = counts.sum(axis=0)
    for name, square in zip(names, total @ problem.covariates**2, strict=True):
        if not square:
            raise ValueError(f"covariate {name!r} is 0 in every vote; leave it out")
    value, vector = np.linalg.eigh(np.asarray(residual_covariate_information(problem, total)) / total.sum())
    if value[0] < COLLINEAR_SHARE:
        name = names[int(np.argmax(np.abs(vector[:, 0])))]
        raise ValueError(f"covariate {name!r} says nothing that players and other covariates do not; leave it out")


def _comparability_notes(players: HostArray, comparability: Comparability, prior: float | None) -> list[str]:
    """What a reader must know of who cannot be compared."""

    def named(who: HostArray) -> str:
        ids = np.flatnonzero(who)
        shown = [format_name(players[i]) for i in ids[:MAX_NAMED_PLAYERS].tolist()]
        return ", ".join(shown) + (
            f" and {len(ids) - MAX_NAMED_PLAYERS:,} others" if len(ids) > MAX_NAMED_PLAYERS else ""
        )

    notes, finite = [], " and have no finite rating without a prior" if prior is None else "; their prior keeps them"
    groups = int(comparability.component.max(initial=-1)) + 1
    if groups > 1:
        rest = "the prior alone compares them" if prior is not None else "those outside of the largest have no rating"
        notes.append(f"{groups:,} groups of players never met: {rest} ({named(comparability.component > 0)})")
    if (comparability.component < 0).any():
        notes.append(f"without a match: {named(comparability.component < 0)}")
    for who, what in ((comparability.above, "won"), (comparability.below, "lost")):
        if who.any():
            notes.append(f"only {what} against the others{finite}: {named(who)}")
    apart = (comparability.component == 0) & ~(comparability.main | comparability.above | comparability.below)
    if apart.any():
        notes.append(f"met others only through who only won or only lost{finite}: {named(apart)}")
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
    """The answer, in points and for everybody."""
    n, count, (win, tie, loss) = len(fitted.problem.held), int(mask.sum()), cells.counts

    def everybody(values: HostArray, rest: Any = np.nan) -> HostArray:
        out = np.full((*values.shape[:-1], len(players)), rest)
        out[..., mask] = values[..., :count]
        return out

    beyond = np.where(comparability.above, np.inf, np.where(comparability.below, -np.inf, np.nan))
    covariance = None
    if uncertainty.covariance is not None:
        covariance = np.full((len(players), len(players)), np.nan)
        covariance[np.ix_(mask, mask)] = uncertainty.covariance[:count, :count] * POINTS_PER_LOG_STRENGTH**2
    ends, games = np.concatenate([cells.first, cells.second]), _votes_per_player(cells, len(players))
    score = np.bincount(ends, np.concatenate([win + 0.5 * tie, loss + 0.5 * tie]), len(players))
    factor = {name: POINTS_PER_LOG_STRENGTH / one for name, one in covariate_unit.items()}
    kappa = None if fitted.model == "bradley_terry" else float(np.exp(maximum.x[-1]))
    far = bool(np.abs(maximum.x - start)[: n + len(covariate_unit)].max() > DIVERGENCE_DISTANCE)
    converged = bool(maximum.size <= CONVERGED_STEP) and not far
    reason = "no maximum" if far else "maximum" if converged else "no further gain" if maximum.stuck else "steps"
    problem = fitted.problem
    lost = 0.5 * problem.precision * (np.where(problem.held, 0.0, maximum.x[:n]) ** 2).sum()
    result = Strengths(
        players,
        np.where(mask, MEAN_RATING + POINTS_PER_LOG_STRENGTH * everybody(maximum.x[:n]), beyond),
        everybody(uncertainty.error) * POINTS_PER_LOG_STRENGTH,
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
        float(maximum.value + lost),
        float(fitted.counts.sum()),
        converged,
        reason,
        int(maximum.steps),
        notes,
        None
        if uncertainty.samples is None
        else MEAN_RATING + POINTS_PER_LOG_STRENGTH * everybody(uncertainty.samples[:, :n]),
    )
    return result if converged else without_errors(result)
