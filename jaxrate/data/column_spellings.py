"""Names that people give to columns, in lower-case letters and digits; {} is a side. Earlier ones come first."""

from typing import Any, NamedTuple


class SidesSpelling(NamedTuple):
    """How both sides of a match are called."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    side: bool = False  # whether the first has an advantage
    won: bool = False  # whether the first is the winner


SIDE_PAIRS = (
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
HOME_AND_AWAY = (  # of which the first has the side, if a and b are named: the last are not sought
    SIDE_PAIRS[0],
    SidesSpelling(("heim", "local", "domicile"), ("gast", "visitante", "exterieur", "extérieur"), side=True),
)
LINE_UP_SPELLINGS = (  # the roles of both sides, and how the players of each are numbered
    (("a", "b"), "a{}", "b{}"),
    (("a", "b"), "team1player{}", "team2player{}"),
    (("a", "b"), "teamaplayer{}", "teambplayer{}"),
    (("a", "b"), "homeplayer{}", "awayplayer{}"),
    (("winner", "loser"), "winner{}", "loser{}"),
    (("winner", "loser"), "winner{}name", "loser{}name"),
)
NAME_TEMPLATES: tuple[str, ...] = (
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
NAME_TEMPLATES += (
    "player{}name",
    "{}club",
    "club{}",
    "{}fighter",
    "fighter{}",
    "{}username",
    "{}user",
    "{}bot",
    "{}tie",
)
NAME_TEMPLATES += (
    "model{}",
    "opponent{}",
    "competitor{}",
    "name{}",
    "{}nation",
    "{}country",
    "{}",
    "{}teamid",
    "team{}id",
)
NAME_TEMPLATES += ("teamid{}", "{}teamapiid", "{}playerid", "player{}id", "{}id")  # names before ids
POINT_TEMPLATES: tuple[str, ...] = (
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
POINT_TEMPLATES += (
    "team{}score",
    "player{}score",
    "{}runs",
    "runs{}",
    "{}points",
    "{}pts",
    "pts{}",
    "{}g",
    "{}finalscore",
)
POINT_TEMPLATES += (
    "{}fulltimegoals",
    "result{}",
    "{}result",
    "{}runsscored",
    "{}sets",
    "{}framescore",
    "{}scoreft",
    "scoreft{}",
)
POINT_TEMPLATES += ("scorefulltime{}", "scorefulltime{}team")
RESULT_NAMES: tuple[str, ...] = (
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
RESULT_NAMES += (
    "ftscore",
    "finalscore",
    "winner",
    "matchwinner",
    "winnername",
    "winningteam",
    "winnerid",
    "winnerteam",
)
RESULT_NAMES += ("mapwinner", "hometeamwins", "homewin", "homewins", "homewon", "radiantwin", "bluewin", "whitescore")
RESULT_NAMES += ("whiteresult", "team1win", "awin", "bresult", "wdl")
TIME_NAMES: tuple[str, ...] = (
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
TIME_NAMES += (
    "tourneydate",
    "scheduledate",
    "eventdate",
    "racedate",
    "rounddate",
    "dateplayed",
    "playeddate",
    "dategame",
)
TIME_NAMES += (
    "gameday",
    "matchday",
    "day",
    "kickoff",
    "kickofftime",
    "startdate",
    "starttime",
    "startedat",
    "playedat",
)
TIME_NAMES += ("createdat", "timestamp", "tstamp", "datum", "fecha")
NEUTRAL_NAMES = ("neutral", "neutralsite", "neutralvenue", "neutralground", "isneutral", "stadiumneutral")
TEAM_NAMES = ("team", "teamid", "teamname", "side", "squad")  # of contests
SIDE_COLUMN_NAMES = ("wloc", "winnerlocation", "winnerloc")  # of the winner
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
RANK_NAMES: tuple[str, ...] = (
    "positionorder",
    "position",
    "finishposition",
    "finishingposition",
    "finalposition",
    "finish",
    "place",
    "pos",
)
RANK_NAMES += ("placing", "placement", "standing", "teamplacement", "rank")


def normalise_column_name(name: Any) -> str:
    """A name in lower case, without anything but letters and digits."""
    return "".join(x for x in str(name).casefold() if x.isalnum())
