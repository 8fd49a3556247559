"""Results of queries are read, of SQLite and SQLAlchemy."""

import sqlite3

import numpy as np
import pytest

import jaxrate as jr

GAMES = [("Ada", "Bo", 1.0, "2026-01-01"), ("Bo", "Cy", 0.5, "2026-01-03"), ("Cy", "Ada", 0.0, "2026-01-05")]
QUERY = "SELECT a, b, score, date FROM games ORDER BY date"
DATA = jr.read(dict(zip(("a", "b", "score", "date"), zip(*GAMES, strict=True), strict=True)))


def check_games(data):
    assert data.players.tolist() == ["Ada", "Bo", "Cy"] and data.clock == "dates"
    np.testing.assert_array_equal(data.matches.player, DATA.matches.player)
    np.testing.assert_array_equal(data.matches.score, DATA.matches.score)
    np.testing.assert_array_equal(data.matches.time, DATA.matches.time)


@pytest.fixture
def file(tmp_path):
    with sqlite3.connect(tmp_path / "club.sqlite") as club:
        club.execute("CREATE TABLE games (a TEXT, b TEXT, score REAL, date TEXT)")
        club.executemany("INSERT INTO games VALUES (?, ?, ?, ?)", GAMES)
    club.close()
    return tmp_path / "club.sqlite"


def test_a_cursor_is_read_once_it_has_rows(file):
    club = sqlite3.connect(file)
    check_games(jr.read(club.execute(QUERY)))
    club.execute("INSERT INTO games VALUES ('Ada', 'Cy', NULL, '2026-02-01')")
    with pytest.warns(UserWarning, match="1 of 4 rows has no result"):
        check_games(jr.read(club.execute(QUERY)))
    with pytest.raises(ValueError, match="no rows to read; execute a SELECT first"):
        jr.read(club.cursor())
    with pytest.raises(ValueError, match="b"):
        jr.read(club.execute("SELECT a, score FROM games"))
    club.close()


def test_results_of_sqlalchemy_are_read(file):
    alchemy = pytest.importorskip("sqlalchemy")
    engine = alchemy.create_engine(f"sqlite:///{file}")
    with engine.connect() as club:
        check_games(jr.read(club.execute(alchemy.text(QUERY))))
    engine.dispose()
