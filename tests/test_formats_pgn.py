"""Games of chess in PGN."""

import bz2
import gzip

import numpy as np
import pytest

from jaxrate.data.formats import pgn, pgn_games
from tests.test_formats import days, names

pa = pytest.importorskip("pyarrow")


# PGN


def game(white="Ann", black="Bob", result="1-0", moves="1. e4 {[%clk 0:01:00]} e5 1-0", **tags):
    tags = {"Event": "x", "White": white, "WhiteElo": "1500", "Black": black, "Result": result} | tags
    return "".join(f'[{name} "{value}"]\n' for name, value in tags.items() if value is not None) + f"\n{moves}\n\n"


def load(folder, text, **arguments):
    return pgn(folder(games__pgn=text) / "games.pgn", **arguments)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("chunk", [1, 7, 64, 10_000])
def test_pgn(folder, monkeypatch, chunk, end):
    monkeypatch.setattr(pgn_games, "CHUNK", chunk)
    odd = 'Doe, \\"J\\" \\\\o'
    wrapped = '1. e4 {a comment\n[%clk 0:01:00] with\n[brackets] and\n[White has won} e5\n% [White "no"]\n1/2-1/2'
    text = (
        "\ufeff"
        + game().partition("\n")[2]
        + game(odd, "Zoë", "1/2-1/2", wrapped)
        + game("Ann", "Cy", "*")
        + game("Ann", "?", "*")
        + game("Bob", "Cy", "0-1", moves="")
        + '[Result "1-0"]\n%escape\n[Black   "Ann"] \n[White "Zoë"]\n\n1-0'
    )
    data = load(folder, text.replace("\n", end), sort=True)  # by no time
    assert names(data) == [["Ann", "Bob"], ['Doe, "J" \\o', "Zoë"], ["Bob", "Cy"], ["Zoë", "Ann"]]
    assert data.events.score.tolist() == [1, 0.5, 0, 1]
    assert data.events.context.side.tolist() == [1] * 4
    assert data.events.time.tolist() == [0] * 4
    assert data.rows.tolist() == [0, 1, 4, 5]
    assert data.clock is None


def test_pgn_times(folder):
    dates = [
        {"Date": "2024.??.??"},
        {"Date": "2024.02.??", "UTCDate": "????.??.??"},
        {"Date": "2023.02.07", "UTCDate": "2024.02.07", "UTCTime": "18:30:15"},
        {"UTCDate": "2024.02.08", "UTCTime": "??:??:??"},
        {"Date": "2024.02.09", "UTCTime": "18:30:15"},
        {"Date": "2024.??.31"},
    ]
    data = load(folder, "".join(game(**tags) for tags in dates), sort=True, players=["Bob"])
    expected = days("2024-01-01", "2024-01-01", "2024-02-01", "2024-02-07T18:30:15", "2024-02-08", "2024-02-09")
    assert np.allclose(data.events.time, expected, atol=1e-9)
    assert data.rows.tolist() == [0, 5, 1, 2, 3, 4]
    assert data.clock == "dates" and data.players.tolist() == ["Bob", "Ann"]


def test_pgn_ratings_and_further_tags(folder):
    games = game(WhiteElo="1800", BlackElo="1650", TimeControl="60+0") + game(BlackElo="?", TimeControl='a\\"b')
    data = load(folder, games, category="TimeControl")
    assert data.covariates == () and data.categories.tolist() == ["60+0", 'a"b']
    assert data.events.context.columns["rating_difference"].tolist() == [150, 0]
    assert load(folder, game()).events.context.columns is None  # as White alone has a rating
    assert load(folder, games, covariates="rating_difference").covariates == ("rating_difference",)
    assert load(folder, games, covariates=["WhiteElo"]).events.context.columns["WhiteElo"].tolist() == [1800, 1500]
    with pytest.raises(ValueError, match="^games.pgn: line 10: column 'Round' has no value"):
        load(folder, game(Round="1") + game(), columns="Round")
    with pytest.raises(ValueError, match="'a b' is no tag of PGN"):
        load(folder, games, columns="a b")


def test_pgn_latin(folder):
    text = game("Zoë", "Ann").encode() + game("Zoë", "Þór").encode("latin-1")
    data = pgn(folder(games__pgn=text) / "games.pgn")
    assert names(data) == [["Zoë", "Ann"], ["Zoë", "Þór"]] and data.players.tolist() == ["Zoë", "Ann", "Þór"]


@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
def test_compressed_pgn(tmp_path, ending):
    squeeze = {"gz": gzip.compress, "bz2": bz2.compress, "zst": lambda text: pa.compress(text, "zstd", asbytes=True)}
    path = tmp_path / f"games.pgn.{ending}"
    path.write_bytes(squeeze[ending]((game() + game("Cy", "Ann")).encode() * 999))
    assert names(pgn(path)) == [["Ann", "Bob"], ["Cy", "Ann"]] * 999
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ValueError, match=f"^games.pgn.{ending}: "):
        pgn(path)


@pytest.mark.parametrize("chunk", [7, 10_000])
@pytest.mark.parametrize(
    "tags, message",
    [
        ({"white": "?"}, "White is unknown"),
        ({"black": ""}, "Black is unknown"),
        ({"White": None}, "White is unknown"),
        ({"black": "Ann"}, "Ann is on both sides"),
        ({"result": "1-1"}, "Result is '1-1', expected 1-0, 0-1, 1/2-1/2 or *"),
        ({"Result": None}, "Result is '', expected"),
        ({"Date": "2024.02.30"}, "'2024.02.30' is not a date of PGN"),
        ({"Date": "yesterday"}, "'yesterday' is not a date of PGN"),
        ({"UTCDate": "2024.02.03", "UTCTime": "25:00:00"}, "'25:00:00' is not a time of PGN"),
        ({"Date": "????.??.??"}, "no date, but other games have one"),
        ({"Date": None}, "no date, but other games have one"),
        ({"Date": "2023.12.31"}, "time 2023-12-31.* is earlier than 2024-01-01.* in the row before; .*sort=True"),
    ],
)
def test_bad_pgn(folder, monkeypatch, chunk, tags, message):
    monkeypatch.setattr(pgn_games, "CHUNK", chunk)
    good = game("Ann", "Cy", "*") + game(Date="2024.01.01", moves="1. e4\ne5\n1-0")
    line = good.count("\n") + 1
    with pytest.raises(ValueError, match=f"^games.pgn: line {line}: {message}"):
        load(folder, good + game(**{"Date": "2024.01.01"} | tags) + game(Date="2024.01.02"))


def test_more_bad_pgn(folder):
    with pytest.raises(ValueError, match="^games.pgn: no game has a result$"):
        load(folder, game(result="*"))
    with pytest.raises(ValueError, match="^games.pgn: line 9: two games without a line between them"):
        load(folder, game() + game().partition("\n\n")[0] + "\n" + game())
    with pytest.raises(ValueError, match="^games.pgn: line 1: Result is ''"):
        load(folder, '[Event "x"]\n\n' + game())
