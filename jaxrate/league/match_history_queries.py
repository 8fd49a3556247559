"""Records of matches in a rated history: head to head, upsets, best wins and recent form."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jaxrate.argument_checks import enforce_argument_annotations
from jaxrate.array_types import HostArray
from jaxrate.data.table_sources import import_pyarrow
from jaxrate.league.column_table import ColumnTable, table_to_json, table_to_pandas
from jaxrate.league.leaderboards import leaderboard
from jaxrate.league.player_careers_and_ratings import career
from jaxrate.league.rated_history import Rated, find_player_id, loaded_predictions

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
def head_to_head(rated: Rated, player: Any, opponent: Any) -> HeadToHead:
    """All matches of two players, from the predictions of a rated history.

        print(jr.league.head_to_head(rated, "Green Bay Packers", "Chicago Bears"))

    What is neither a win nor a loss counts as drawn.

    Raises:
      ValueError: if there is no such player, if both are the same, or for contests.
    """
    _check_history_is_of_matches(rated)
    player_name, opponent_name = (rated.players[find_player_id(rated.players, x)] for x in (player, opponent))
    if player_name == opponent_name:
        raise ValueError("head to head takes two different players")
    compute, table = import_pyarrow().compute, loaded_predictions(rated)
    player_first, opponent_first = (
        compute.and_(compute.equal(table["a"], a), compute.equal(table["b"], b))
        for a, b in ((player_name, opponent_name), (opponent_name, player_name))
    )
    is_player_first = player_first.to_numpy()
    match_rows = np.flatnonzero(is_player_first | opponent_first.to_numpy())[::-1]
    table, is_player_first = table.take(match_rows), is_player_first[match_rows]
    score, probability = (table[name].to_numpy() for name in ("score", "prediction"))
    score, probability = (np.where(is_player_first, x, 1.0 - x) for x in (score, probability))
    ratings = [table[f"rating_{side}"].to_numpy() for side in "ab"]
    columns = {} if rated.clock is None else {"time": table["time"].to_numpy()}
    columns |= {"score": score, "probability": probability}
    columns |= {
        "rating": np.where(is_player_first, *ratings),
        "opponents_rating": np.where(is_player_first, *ratings[::-1]),
    }
    won, lost = int((score == 1).sum()), int((score == 0).sum())
    return HeadToHead(
        player_name, opponent_name, won, len(score) - won - lost, lost, float(probability.sum()), ColumnTable(columns)
    )


@enforce_argument_annotations
def upsets(rated: Rated, *, player: Any = None, top: int = 20) -> ColumnTable:
    """The least expected wins: time, winner, loser, the probability of the win, both ratings.

        print(jr.league.upsets(rated, top=5))
        print(jr.league.upsets(rated, player="Green Bay Packers"))  # of theirs

    Raises:
      ValueError: if there is no such player, `top` is below 1, or for contests.
    """
    wins = _check_top_and_tabulate_decisive_matches(rated, player, top)
    return _take_rows(wins, np.argsort(wins["probability"], kind="stable")[:top])


@enforce_argument_annotations
def best_wins(rated: Rated, player: Any, *, top: int = 20) -> ColumnTable:
    """A player's wins against the highest rated opponents, in columns like those of `upsets`.

        print(jr.league.best_wins(rated, "Ada", top=5))

    Raises:
      ValueError: as `upsets`.
    """
    wins = _check_top_and_tabulate_decisive_matches(rated, player, top)
    return _take_rows(wins, np.argsort(-wins["losers_rating"], kind="stable")[:top])


def _check_top_and_tabulate_decisive_matches(rated: Rated, winner: Any, top: int) -> ColumnTable:
    """All matches that were won outright; with `winner`, by that player."""
    _check_history_is_of_matches(rated)
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    table = loaded_predictions(rated)
    score, chance = (table[name].to_numpy() for name in ("score", "prediction"))
    is_first_winner, is_decisive = score == 1, (score == 1) | (score == 0)
    if winner is not None:
        name, equal = rated.players[find_player_id(rated.players, winner)], import_pyarrow().compute.equal
        is_decisive &= np.where(is_first_winner, *(equal(table[side], name).to_numpy() for side in "ab"))
    match_rows = np.flatnonzero(is_decisive)
    table, is_first_winner = table.take(match_rows), is_first_winner[match_rows]
    names_and_ratings = [[table[f"{name}{side}"].to_numpy() for side in "ab"] for name in ("", "rating_")]
    columns = {} if rated.clock is None else {"time": table["time"].to_numpy()}
    for names, sides in (
        (("winner", "loser"), names_and_ratings[0]),
        (("winners_rating", "losers_rating"), names_and_ratings[1]),
    ):
        columns |= {names[0]: np.where(is_first_winner, *sides), names[1]: np.where(is_first_winner, *sides[::-1])}
    probability = np.where(is_first_winner, chance[match_rows], 1.0 - chance[match_rows])
    return ColumnTable(columns | {"probability": probability})


def _take_rows(columns: ColumnTable, rows: HostArray) -> ColumnTable:
    return ColumnTable({name: values[rows] for name, values in columns.items()})


@enforce_argument_annotations
def recent_form(rated: Rated, players: Iterable[Any] | None = None, *, last: int = 10) -> ColumnTable:
    """How players did in their last matches: results from the latest to the earliest, score, expected score, change.

        print(jr.league.recent_form(rated, ["Green Bay Packers", "Chicago Bears"], last=5))

    A result is W, D or L, or of other scores a number. `change` is of the rating, over these matches.

    Args:
      rated: as from `rate` or `load`, of matches.
      players: names or ids. None: the first 20 of the leaderboard.
      last: the number of matches of each player.

    Raises:
      ValueError: if there is no such player, `last` is below 1, or for contests.
    """
    _check_history_is_of_matches(rated)
    if last < 1:
        raise ValueError(f"last must be at least 1, got {last}")
    names = (
        leaderboard(rated).player
        if players is None
        else [
            rated.players[find_player_id(rated.players, x)]
            for x in ([players] if isinstance(players, str) else players)
        ]
    )
    rows = []
    for name in names:
        recent: dict[str, Any] = {key: x[-last:][::-1] for key, x in career(rated, name).items()}
        score, probability = recent["score"], recent["probability"]
        letters = [RESULT_LETTERS.get(float(x), f"{x:g}") for x in score]
        results = ("" if all(len(x) == 1 for x in letters) else " ").join(letters)
        rows.append((name, len(score), results, score.sum(), probability.sum(), recent["change"].sum()))
    heads = "player", "games", "result", "score", "expected_score", "change"
    return ColumnTable({head: np.array(x) for head, x in zip(heads, zip(*rows, strict=True), strict=True)})


def _check_history_is_of_matches(rated: Rated) -> None:
    if rated.contests is not None:
        raise ValueError("this is of matches of two, and the history is of contests")
