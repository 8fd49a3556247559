"""Results of queries are read, of SQLite, SQLAlchemy and a Postgres server, which takes histories."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

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


@pytest.fixture(scope="module")
def server():
    """The folder of the socket of a Postgres server; its own user starts it, as a server of root's does not run."""
    programs = [*Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), *filter(None, [shutil.which("pg_ctl")])]
    if not programs:
        pytest.skip("Postgres is not installed")
    if os.getuid() == 0 and shutil.which("runuser") is None:
        pytest.skip("Postgres does not run as root")
    folder, program, run_as = Path(tempfile.mkdtemp()), max(map(str, programs)), []
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
        run_as = ["runuser", "-u", "postgres", "--"]
    data, options = folder / "data", f"-k {folder} -c listen_addresses=''"
    run = {"check": True, "capture_output": True, "cwd": folder}
    subprocess.run([*run_as, program, "-D", data, "initdb", "-o", "-A trust -U postgres"], **run)
    subprocess.run([*run_as, program, "-D", data, "-l", folder / "log", "-w", "-o", options, "start"], **run)
    yield folder
    subprocess.run([*run_as, program, "-D", data, "-m", "immediate", "stop"], **run)
    shutil.rmtree(folder)


def test_arrow_goes_into_and_out_of_postgres(server):
    driver = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with driver.connect(f"postgresql:///postgres?host={server}&user=postgres") as base, base.cursor() as cursor:
        cursor.adbc_ingest("arrow_history", jr.rate(jr.elo(), DATA).table("pyarrow"))
        cursor.execute("SELECT a, b, score, time AS date FROM arrow_history")
        check_games(jr.read(cursor))
