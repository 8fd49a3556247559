"""The door: strengths from matches, counts or rounds."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxrate.arguments import MAX_SAMPLES, check_arguments, check_count
from jaxrate.data.dataset import Dataset
from jaxrate.data.inputs import read_if_source
from jaxrate.events import Ragged, Rounds
from jaxrate.records.rated import find
from jaxrate.replay.rows import check_concrete
from jaxrate.strengths.contests import meet, of_rounds
from jaxrate.strengths.errors import ENDED, Fitted, Spread, spread_of
from jaxrate.strengths.found import CENTRE, POINTS, Strengths, without_errors
from jaxrate.strengths.graph import Standing, standing
from jaxrate.strengths.models import begin
from jaxrate.strengths.newton import FAR, Problem, Search, own, search
from jaxrate.strengths.votes import Cells, cells_of, votes_of
from jaxrate.text import name_of, near, number

NumPy = np.ndarray[Any, Any]
TIES = "davidson", "rao_kupper", "half", "none"
ERRORS = "curvature", "sandwich", "bootstrap"
DENSE = 3000  # players up to whom the Hessian is a matrix
STEP = 8  # players are padded to multiples of this, so that data of like size share what is compiled
ALIKE = 1e-9  # the share of a covariate that is left where it follows from others
RUNAWAY = 5.0  # of kappa: ties a hundred times as likely as they were
NAMED = 4  # players whom a note names


@check_arguments
def static(
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

        votes = jr.counts(["Ada", "Ada", "Bo"], ["Bo", "Cy", "Cy"], wins=[7, 6, 5], losses=[3, 3, 4], ties=[1, 2, 0])
        print(jr.static(votes))

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
    _check(ties, prior, errors, samples)
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
        held, rating = _anchors(anchors, players, np.bincount(events.events.player, minlength=len(players)) > 0)
        rows, ranks = meet(events, in_part, len(players), held)
        notes = tuple(_notes(players, ranks, prior))
        return of_rounds(rows, ranks, held, rating, prior, errors, samples, seed, players, notes)
    if in_part:
        raise ValueError("in_part is of rounds; matches have no last place")
    ties = ties or "davidson"
    votes = votes_of(data, ties, names, cluster)
    cells = cells_of(votes.player, votes.outcome, votes.covariates, votes.num_players, keep=bool(votes.clusters))
    players = np.arange(votes.num_players) if votes.players is None else np.asarray(votes.players)
    held, rating = _anchors(anchors, players, _games(cells, votes.num_players) > 0)
    model = _model(ties, cells)
    win, tie, loss = cells.counts
    ranks = standing(cells.first, cells.second, win + tie > 0, loss + tie > 0, votes.num_players, np.flatnonzero(held))
    main = ranks.main if prior is None else np.ones(votes.num_players, bool)
    inner = _among(cells, main)
    if not inner.counts.sum():
        raise ValueError("no two players beat each other, directly or through others; give a prior, as prior=350")
    with jax.enable_x64(True):
        problem, counts, x, unit = _problem(model, inner, held[main], rating[main], prior)
        _check_covariates(names, problem, counts)
        dense = len(problem.held) <= DENSE
        end = jax.tree.map(np.asarray, search(dense, model, problem, counts, x))
        _check_ties(ties, float(end.x[-1] - x[-1]) if model != "bradley_terry" and not end.size <= ENDED else 0.0)
        fitted = Fitted(model, problem, inner, counts, end.x)
        spread = spread_of(fitted, votes, errors, dense, samples, seed)
    notes = (*_notes(players, ranks, prior), *spread.notes)
    return _found(fitted, x, end, players, cells, ranks, main, held, dict(zip(names, unit, strict=True)), spread, notes)


def _check(ties: str | None, prior: float | None, errors: str | None, samples: int) -> None:
    """ValueError for a choice that there is not."""
    for name, given, known in (("ties", ties, (None, *TIES)), ("errors", errors, (None, *ERRORS))):
        if given not in known:
            shown = ", ".join(repr(x) for x in known)
            raise ValueError(f"{name} must be one of {shown}, got {given!r}{near(given, [x for x in known if x])}")
    if prior is not None and not (isinstance(prior, (int, float, np.number)) and 0 < prior < np.inf):
        raise ValueError(f"prior must be a deviation in points, above 0, or None, got {prior!r}")
    check_count("samples", samples, 2, MAX_SAMPLES)


def _anchors(anchors: Mapping[Any, float] | None, players: NumPy, plays: NumPy) -> tuple[NumPy, NumPy]:
    """[N] who is held, and at which log strength."""
    held, strength = np.zeros(len(players), bool), np.zeros(len(players))
    for player, rating in (anchors or {}).items():
        one = find(players, player)
        if not isinstance(rating, (int, float, np.number)) or not np.isfinite(rating):
            raise ValueError(f"anchor {name_of(player)} must have a finite rating, got {rating!r}")
        if not plays[one]:
            raise ValueError(f"anchor {name_of(player)} plays in no match; leave it out")
        held[one], strength[one] = True, (float(rating) - CENTRE) / POINTS
    return held, strength


def _games(cells: Cells, num_players: int) -> NumPy:
    """[N] votes on each."""
    ends, total = np.concatenate([cells.first, cells.second]), cells.counts.sum(axis=0)
    return np.bincount(ends, np.concatenate([total, total]), num_players)


def _model(ties: str, cells: Cells) -> str:
    """The model of these ties. ValueError if there is no vote, or nothing but ties."""
    total, tied = float(cells.counts.sum()), float(cells.counts[1].sum())
    if not total:
        raise ValueError("there is no vote" + (" that is not a tie; ties='half' takes them" * (ties == "none")))
    if ties in ("half", "none") or not tied:
        return "bradley_terry"
    if tied == total:
        raise ValueError(f"all {number(total)} votes are ties, of which {ties} makes nothing; take ties='half'")
    return ties


def _check_ties(ties: str, grown: float) -> None:
    """ValueError if kappa ran away: a search that did not end where it has grown by so much."""
    if grown > RUNAWAY:
        raise ValueError(
            f"by ties={ties!r} no ratings are likeliest here: with ever more ties and ever greater differences the "
            "results only become likelier; give a prior, as prior=350, or take ties='half'"
        )


def _among(cells: Cells, main: NumPy) -> Cells:
    """The cells of two players of some, who are numbered anew."""
    inner = main[cells.first] & main[cells.second]
    if inner.all() and main.all():
        return cells
    new = (np.cumsum(main) - 1).astype(np.int32)
    ends = new[cells.first[inner]], new[cells.second[inner]]
    place = None if cells.of_vote is None else np.where(inner, np.cumsum(inner) - 1, -1)[cells.of_vote]
    return Cells(*ends, cells.counts[:, inner], cells.covariates[inner], place, cells.turned)


def _problem(
    model: str, cells: Cells, held: NumPy, strength: NumPy, prior: float | None
) -> tuple[Problem, NumPy, NumPy, NumPy]:
    """What is searched, padded: the problem, counts [3, M], where to begin [N + E], and the unit of each covariate."""
    n, m, p = len(held), len(cells.first), cells.covariates.shape[1]
    players, room = n, m
    if n <= DENSE:
        players = -(-n // STEP) * STEP
        room = 1 << max(m - 1, 1).bit_length()
        room = 3 * room // 4 if 3 * room // 4 >= m else room
    total = cells.counts.sum(axis=0)
    unit = np.sqrt(total @ cells.covariates**2 / total.sum())
    more = (0, room - m)
    last = np.pad(cells.second, more, constant_values=1)  # a cell without votes is of the players 0 and 1
    z = np.pad(cells.covariates / np.where(unit > 0, unit, 1.0), [more, (0, 0)])
    free = prior is None and not held.any()
    ground = np.pad(np.full(n, n**-0.5 if free else 0.0), (0, players - n))
    precision = np.float64(0.0 if prior is None else (POINTS / prior) ** 2)
    still = np.pad(held, (0, players - n), constant_values=True)
    x = np.concatenate([strength, np.zeros(players - n + p)])
    if model != "bradley_terry":
        x = np.append(x, begin(model, float(cells.counts[1].sum()), float(total.sum())))
    problem = Problem(np.pad(cells.first, more), last, z, still, ground, precision)
    return problem, np.pad(cells.counts, [(0, 0), more]), x, unit


def _check_covariates(names: tuple[str, ...], problem: Problem, counts: NumPy) -> None:
    """ValueError if a covariate says nothing that players and others do not."""
    if not names:
        return
    total = counts.sum(axis=0)
    for name, square in zip(names, total @ problem.covariates**2, strict=True):
        if not square:
            raise ValueError(f"covariate {name!r} is 0 in every vote; leave it out")
    value, vector = np.linalg.eigh(np.asarray(own(problem, total)) / total.sum())
    if value[0] < ALIKE:
        name = names[int(np.argmax(np.abs(vector[:, 0])))]
        raise ValueError(f"covariate {name!r} says nothing that players and other covariates do not; leave it out")


def _notes(players: NumPy, ranks: Standing, prior: float | None) -> list[str]:
    """What a reader must know of who cannot be compared."""

    def named(who: NumPy) -> str:
        ids = np.flatnonzero(who)
        shown = [name_of(players[i]) for i in ids[:NAMED].tolist()]
        return ", ".join(shown) + (f" and {len(ids) - NAMED:,} others" if len(ids) > NAMED else "")

    notes, finite = [], " and have no finite rating without a prior" if prior is None else "; their prior keeps them"
    groups = int(ranks.component.max(initial=-1)) + 1
    if groups > 1:
        rest = "the prior alone compares them" if prior is not None else "those outside of the largest have no rating"
        notes.append(f"{groups:,} groups of players never met: {rest} ({named(ranks.component > 0)})")
    if (ranks.component < 0).any():
        notes.append(f"without a match: {named(ranks.component < 0)}")
    for who, what in ((ranks.above, "won"), (ranks.below, "lost")):
        if who.any():
            notes.append(f"only {what} against the others{finite}: {named(who)}")
    apart = (ranks.component == 0) & ~(ranks.main | ranks.above | ranks.below)
    if apart.any():
        notes.append(f"met others only through who only won or only lost{finite}: {named(apart)}")
    return notes


def _found(
    fitted: Fitted,
    begun: NumPy,
    end: Search,
    players: NumPy,
    cells: Cells,
    ranks: Standing,
    main: NumPy,
    held: NumPy,
    unit: Mapping[str, float],
    spread: Spread,
    notes: tuple[str, ...],
) -> Strengths:
    """The answer, in points and for everybody."""
    n, count, (win, tie, loss) = len(fitted.problem.held), int(main.sum()), cells.counts

    def everybody(values: NumPy, rest: Any = np.nan) -> NumPy:
        out = np.full((*values.shape[:-1], len(players)), rest)
        out[..., main] = values[..., :count]
        return out

    beyond = np.where(ranks.above, np.inf, np.where(ranks.below, -np.inf, np.nan))
    covariance = None
    if spread.covariance is not None:
        covariance = np.full((len(players), len(players)), np.nan)
        covariance[np.ix_(main, main)] = spread.covariance[:count, :count] * POINTS**2
    ends, games = np.concatenate([cells.first, cells.second]), _games(cells, len(players))
    score = np.bincount(ends, np.concatenate([win + 0.5 * tie, loss + 0.5 * tie]), len(players))
    factor = {name: POINTS / one for name, one in unit.items()}
    kappa = None if fitted.model == "bradley_terry" else float(np.exp(end.x[-1]))
    far = bool(np.abs(end.x - begun)[: n + len(unit)].max() > FAR)
    converged = bool(end.size <= ENDED) and not far
    reason = "no maximum" if far else "maximum" if converged else "no further gain" if end.stuck else "steps"
    problem = fitted.problem
    lost = 0.5 * problem.precision * (np.where(problem.held, 0.0, end.x[:n]) ** 2).sum()
    result = Strengths(
        players,
        np.where(main, CENTRE + POINTS * everybody(end.x[:n]), beyond),
        everybody(spread.error) * POINTS,
        covariance,
        spread.source,
        games,
        np.divide(score, games, out=np.full(len(players), np.nan), where=games > 0),
        ranks.component,
        held,
        fitted.model,
        kappa,
        None if kappa is None else kappa * float(spread.error[-1]),
        {name: float(end.x[n + i] * scale) for i, (name, scale) in enumerate(factor.items())},
        {name: float(spread.error[n + i] * scale) for i, (name, scale) in enumerate(factor.items())},
        float(end.value + lost),
        float(fitted.counts.sum()),
        converged,
        reason,
        int(end.steps),
        notes,
        None if spread.samples is None else CENTRE + POINTS * everybody(spread.samples[:, :n]),
    )
    return result if converged else without_errors(result)
