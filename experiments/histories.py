"""The histories that experiments rate: where each file is, and what its columns are."""

import numpy as np
from common import find
from pyarrow import compute, parquet

import jaxrate as jr
from jaxrate.data.simulate import league

HISTORIES = {  # the file of each, and what its columns are
    "tennis": ("atp.parquet", {"time": "t", "drop": "walkover"}),
    "doubles": ("atp_doubles.parquet", {"a": ["a1", "a2"], "b": ["b1", "b2"], "time": "t", "drop": "walkover"}),
    "football": ("intl_football.parquet", {"time": "t", "side": "a", "neutral": "neutral"}),
    "leagues": ("spi_football.parquet", {"time": "t", "side": "a", "margin": ["points_a", "points_b"]}),
    "basketball": ("ncaa_basketball.parquet", {"time": "t", "side": "a", "neutral": "neutral"}),
    "nba": ("nba.parquet", {"time": "t", "side": "a", "neutral": "neutral", "margin": ["points_a", "points_b"]}),
    "computer chess": ("chess_tcec.parquet", {"time": "t", "side": "a"}),
    "lichess": ("chess_lichess20k.parquet", {"time": "t", "side": "a"}),
    "go": ("go_tygem.parquet", {"time": "t", "side": "a"}),
    "starcraft": ("sc2_tlpd_korean.parquet", {}),
    "learners": ("edu_assist2017_pid.parquet", {"time": "step", "category": "skill"}),
    "films": ("movielens_small.parquet", {"time": "t"}),
    "codeforces": ("codeforces2020.parquet", {"rank": "rank_lo"}),
    "football with grounds": (  # of github.com/martj42/international_results
        "results.csv",
        {"time": "date", "side": "a", "neutral": "neutral", "venue": "city", "margin": ["home_score", "away_score"]},
    ),
    "australian football": (  # of github.com/akareen/AFL-Data-Analysis, the points of goals and behinds added up
        "afl.csv",
        {"side": "a", "season": "season", "venue": "venue", "margin": ["home_points", "away_points"]},
    ),
    "rugby league": (  # of github.com/uselessnrlstats/uselessnrlstats
        "nrl.csv",
        {"side": "a", "season": "season", "venue": "venue", "margin": ["home_points", "away_points"]},
    ),
}
KDD = "Maystre and others, KDD 2019"
KDD_CUT = "2011-08-28"  # from when on they score
KDD_LOSSES = {"constant skills": 0.581, "Elo": 0.563, "TrueSkill": 0.563, "TrueSkill through time": 0.554}
KDD_LOSSES |= {"kickscore": 0.552}
RIIX_TENNIS, RIIX_FOOTBALL = 0.5936, 0.5580  # its Glicko-2, on results alone, as `fit_data.py` searched its settings


def read_history(options, name, **roles):
    """The dataset of a history, with further columns that it has; None, with a line, if its file is not there."""
    file, usual = HISTORIES[name]
    path = find(options, file)
    return path and jr.read(path, **usual | {"sort": False} | roles)


def tennis(options, surfaces=False):
    """ATP tennis without walkovers, maybe with five surfaces, or None; in quick mode a small league on whole days."""
    if not options.quick:
        data = read_history(options, "tennis", **{"category": "surface"} if surfaces else {})
        return data and data.matches
    small = league(1_000, 10_000, activity=0.8).matches
    surface = np.random.default_rng(0).integers(0, 5, (10_000, 1)).repeat(2, axis=1) if surfaces else None
    return small._replace(time=np.floor(small.time), context=small.context._replace(category=surface))


def read_tennis_with_games(options, **roles):
    """The dataset of tennis whose share of games is known once a match is played, and the table of games."""
    path, games = find(options, "atp.parquet"), find(options, "atp_games.parquet")
    if not path or not games:
        return None, None
    table, games = parquet.read_table(path), parquet.read_table(games)
    for name in ("games_a", "games_b"):
        table = table.append_column(name, games[name])
    shares = {"games": ("games_a", "games_b")}
    roles = HISTORIES["tennis"][1] | {"category": "surface", "shares": shares, "sort": False} | roles
    return jr.read(table, **roles), games


def days(*dates):
    """Days since 1970."""
    return [int((np.datetime64(date) - np.datetime64("1970-01-01")).astype(int)) for date in dates]


def read_tennis_of_kdd(options, **roles):
    """The dataset of tennis from 1991 to 2017, without amateurs."""
    if not (path := find(options, "atp.parquet")):
        return None
    table, (first, last) = parquet.read_table(path), days("1991-01-01", "2017-12-31")
    t, source = compute.cast(table["t"], "int32"), compute.cast(table["source"], "string")
    inside = compute.and_(compute.greater_equal(t, first), compute.less_equal(t, last))
    table = table.filter(compute.and_(inside, compute.not_equal(source, "amateur")))
    return jr.read(table, **HISTORIES["tennis"][1] | {"category": "surface", "sort": False} | roles)


def five_a_side(path):
    """Columns with a row for each player of each game of League of Legends."""
    table = parquet.read_table(path)
    got = {name: table[name].to_numpy() for name in table.column_names if name != "league"}
    rows = {name: [] for name in ("game", "player", "side", "score", "period")}
    for side, score in (("a", got["score"]), ("b", 1.0 - got["score"])):
        for seat in range(5):
            columns = np.arange(len(score)), got[f"p{side}{seat}"], np.full(len(score), side), score, got["period"]
            for values, column in zip(rows.values(), columns, strict=True):
                values.append(column)
    rows = {name: np.concatenate(values) for name, values in rows.items()}
    order = np.lexsort((rows["side"], rows["game"]))
    return {name: values[order] for name, values in rows.items()}
