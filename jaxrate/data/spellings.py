"""How people call columns: lower-case letters and digits, {} for a side; those that come first are taken first."""

from typing import NamedTuple


class SidesSpelling(NamedTuple):
    """How both sides of a match are called."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    side: bool = False  # whether the first has an advantage
    won: bool = False  # whether the first is the winner


KINDS = (
    SidesSpelling(
        ("home", "h"), ("away", "visitor", "visiting", "visitors", "vis", "v", "road", "guest", "a"), side=True
    ),
    SidesSpelling(("white", "w"), ("black", "b"), side=True),
    SidesSpelling(("radiant",), ("dire",), side=True),
    SidesSpelling(("blue", "b"), ("red", "r")),
    SidesSpelling(("1", "one"), ("2", "two")),
    SidesSpelling(("a",), ("b",)),
    SidesSpelling(("winner", "winning", "w"), ("loser", "losing", "l"), won=True),
)
NAMES: tuple[str, ...] = (
    "{}teamname",
    "{}team",
    "team{}",
    "{}teamtag",
    "team{}name",
    "{}name",
    "{}playername",
    "{}player",
    "player{}",
)
NAMES += ("player{}name", "{}club", "club{}", "{}fighter", "fighter{}", "{}username", "{}user", "{}bot", "{}tie")
NAMES += ("model{}", "opponent{}", "competitor{}", "name{}", "{}nation", "{}country", "{}", "{}teamid", "team{}id")
NAMES += ("teamid{}", "{}teamapiid", "{}playerid", "player{}id", "{}id")  # names before ids
POINTS: tuple[str, ...] = (
    "ft{}g",
    "{}score",
    "score{}",
    "{}goals",
    "{}goal",
    "goals{}",
    "{}teamgoals",
    "{}teamgoal",
    "{}teamscore",
)
POINTS += ("team{}score", "player{}score", "{}runs", "runs{}", "{}points", "{}pts", "pts{}", "{}g", "{}finalscore")
POINTS += ("{}fulltimegoals", "result{}", "{}result", "{}runsscored", "{}sets", "{}framescore", "{}scoreft")
RESULTS: tuple[str, ...] = (
    "ftr",
    "fulltimeresult",
    "result",
    "matchresult",
    "gameresult",
    "res",
    "outcome",
    "score",
    "ft",
    "fulltime",
)
RESULTS += ("ftscore", "finalscore", "winner", "matchwinner", "winnername", "winningteam", "winnerid", "winnerteam")
RESULTS += ("mapwinner", "hometeamwins", "homewin", "homewins", "homewon", "radiantwin", "bluewin", "whitescore")
RESULTS += ("whiteresult", "team1win", "awin", "bresult", "wdl")
TIMES: tuple[str, ...] = (
    "time",
    "date",
    "t",
    "datetime",
    "matchdate",
    "gamedate",
    "utcdate",
    "dateutc",
    "datetimeutc",
    "gamedateest",
)
TIMES += ("tourneydate", "scheduledate", "eventdate", "racedate", "rounddate", "dateplayed", "playeddate", "dategame")
TIMES += ("gameday", "matchday", "day", "kickoff", "kickofftime", "startdate", "starttime", "startedat", "playedat")
TIMES += ("createdat", "timestamp", "tstamp", "datum", "fecha")
NEUTRAL_NAMES = ("neutral", "neutralsite", "neutralvenue", "neutralground", "isneutral", "stadiumneutral")
SIDE = ("wloc", "winnerlocation", "winnerloc")  # of the winner
CONTEST_NAMES = (
    "contest",
    "race",
    "raceid",
    "event",
    "eventid",
    "contestid",
    "tournamentid",
    "gameid",
    "matchid",
    "heat",
)
PARTICIPANT_NAMES: tuple[str, ...] = (
    "player",
    "participant",
    "driver",
    "driverid",
    "drivername",
    "driverref",
    "athlete",
    "competitor",
)
PARTICIPANT_NAMES += (
    "rider",
    "horse",
    "swimmer",
    "skater",
    "playername",
    "name",
    "team",
    "teamname",
    "playerid",
    "teamid",
)
RANK: tuple[str, ...] = (
    "positionorder",
    "position",
    "finishposition",
    "finishingposition",
    "finalposition",
    "finish",
    "place",
    "pos",
)
RANK += ("placing", "placement", "standing", "teamplacement", "rank")
