"""Records of matches in a rated history: head to head, upsets, best wins and recent form."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.history.column_table import ColumnTable, table_to_json, table_to_pandas
from jaxrate.history.history import History, find_player_id
from jaxrate.history.leaderboards import leaderboard
from jaxrate.history.participations import Participations

PRINTED_MATCHES = 20  # matches of a head to head, the latest, that are printed
RESULT_LETTERS = {1.0: "W", 0.5: "D", 0.0: "L"}


class HeadToHead(NamedTuple):
    """Two players against each other. `print` says how it stands, and lists the latest matches, the last first."""

    player: Any
    opponent: Any
    won: int
    drawn: int
    lost: int
    expected: float  # score of the player, of so many matches
    matches: ColumnTable  # time, the player's score, its expectation, both ratings before

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """The table in JSON: a list for each column by its name."""
        return table_to_json(self)

    def columns(self) -> ColumnTable:
        """The matches, the last first."""
        return self.matches

    @property
    def summary(self) -> str:
        """How it stands between the two, in a line."""
        n = len(self.matches["score"])
        if not n:
            return f"{self.player} and {self.opponent} have not met"
        drawn = f"{self.drawn:,} drawn, " if self.drawn else ""
        record = f"{self.won:,} won, {drawn}{self.lost:,} lost; expected {self.expected:.1f} of {n:,}"
        return f"{self.player} against {self.opponent}: {record}"

    def __str__(self) -> str:
        n = len(self.matches["score"])
        shown = f"\n\n{self.matches.to_text(PRINTED_MATCHES)}" if n else ""
        rest = f"\nand {n - PRINTED_MATCHES:,} before" if n > PRINTED_MATCHES else ""
        return f"{self.summary}{shown}{rest}"


@enforce_argument_annotations
def head_to_head(rated: History, player: Any, opponent: Any) -> HeadToHead:
    """All matches of two players, from the predictions of a rated history.

        print(jr.history.head_to_head(rated, "Green Bay Packers", "Chicago Bears"))

    What is neither a win nor a loss counts as drawn.

    Raises:
      ValueError: if there is no such player, if both are the same, or for contests.
    """
    one, other = (find_player_id(rated.players, x) for x in (player, opponent))
    if one == other:
        raise ValueError("head to head takes two different players")
    rows = _participations_in_matches(rated, one)
    met = np.flatnonzero(rows.opponent == other)[::-1]
    columns = {} if rated.clock is None else {"time": rated.display_times(rows.column("time")[met])}
    score, probability = (rows.column(name)[met] for name in ("score", "prediction"))
    ratings = {"rating": rows.before.mean[met], "opponents_rating": rows.column("rating", of_opponent=True)[met]}
    matches = ColumnTable(columns | {"score": score, "probability": probability} | ratings)
    won, lost = int((score == 1).sum()), int((score == 0).sum())
    names, drawn = rated.players, len(score) - won - lost
    return HeadToHead(names[one], names[other], won, drawn, lost, float(probability.sum()), matches)


@enforce_argument_annotations
def upsets(rated: History, *, player: Any = None, top: int = 20) -> ColumnTable:
    """The least expected wins: time, winner, loser, the probability of the win, both ratings.

        print(jr.history.upsets(rated, top=5))
        print(jr.history.upsets(rated, player="Green Bay Packers"))  # of theirs

    Raises:
      ValueError: if there is no such player, `top` is below 1, or for contests.
    """
    wins = _wins(rated, player, top)
    return _tabulate_wins(rated, wins, np.lexsort((wins.row, wins.column("prediction")))[:top])


@enforce_argument_annotations
def best_wins(rated: History, player: Any, *, top: int = 20) -> ColumnTable:
    """A player's wins against the highest rated opponents, in columns like those of `upsets`.

        print(jr.history.best_wins(rated, "Ada", top=5))

    Raises:
      ValueError: as `upsets`.
    """
    wins = _wins(rated, player, top)
    return _tabulate_wins(rated, wins, np.lexsort((wins.row, -wins.column("rating", of_opponent=True)))[:top])


def _wins(rated: History, player: Any, top: int) -> Participations:
    """The participations of winners in matches that were won outright, or of this player."""
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    rows = _participations_in_matches(rated, None if player is None else find_player_id(rated.players, player))
    return rows.select(np.flatnonzero(rows.column("score") == 1))


def _tabulate_wins(rated: History, wins: Participations, order: HostArray) -> ColumnTable:
    columns = {} if rated.clock is None else {"time": rated.display_times(wins.column("time")[order])}
    sides = {"winner": wins.player, "loser": wins.opponent}
    columns |= {name: rated.players[np.asarray(ids)[order]] for name, ids in sides.items()}
    ratings = wins.before.mean, wins.column("rating", of_opponent=True), wins.column("prediction")
    names = "winners_rating", "losers_rating", "probability"
    return ColumnTable(columns | {name: x[order] for name, x in zip(names, ratings, strict=True)})


@enforce_argument_annotations
def recent_form(rated: History, players: Iterable[Any] | None = None, *, last: int = 10) -> ColumnTable:
    """How players did in their last matches: results from the latest to the earliest, score, expected score, change.

        print(jr.history.recent_form(rated, ["Green Bay Packers", "Chicago Bears"], last=5))

    A result is W, D or L, or of other scores a number. `change` is of the rating, over these matches.

    Args:
      rated: as from `rate` or `load`, of matches.
      players: names or ids. None: the first 20 of the leaderboard.
      last: the number of matches of each player.

    Raises:
      ValueError: if there is no such player, `last` is below 1, or for contests.
    """
    rows = _participations_in_matches(rated)
    if last < 1:
        raise ValueError(f"last must be at least 1, got {last}")
    chosen = leaderboard(rated).player if players is None else [players] if isinstance(players, str) else players
    form = []
    for player in (find_player_id(rated.players, x) for x in chosen):
        begin, end = rows.start[player : player + 2]
        recent = rows.select(np.arange(max(begin, end - last), end))
        score, change = recent.column("score")[::-1], recent.after.mean - recent.before.mean
        letters = [RESULT_LETTERS.get(float(x), f"{x:g}") for x in score]
        results = ("" if all(len(x) == 1 for x in letters) else " ").join(letters)
        form.append(
            (rated.players[player], len(score), results, score.sum(), recent.column("prediction").sum(), change.sum())
        )
    heads = "player", "games", "result", "score", "expected_score", "change"
    return ColumnTable({head: np.array(x) for head, x in zip(heads, zip(*form, strict=True), strict=True)})


def _participations_in_matches(rated: History, player: int | None = None) -> Participations:
    """The participations of all or of one; ValueError unless they are of matches of two."""
    rated.check_has_events()
    if rated.rows.opponent is None:
        raise ValueError("this is of matches of two, and the history is of contests")
    return rated.rows if player is None else rated.rows.of_player(player)
