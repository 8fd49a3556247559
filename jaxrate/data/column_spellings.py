"""Names that people give to columns, in lower-case letters and digits; {} is a side. Earlier ones come first."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple


class SidesSpelling(NamedTuple):
    """How both sides of a match are called."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    side: bool = False  # whether the first has an advantage
    kind: Literal["sides", "winner", "own"] = (
        "sides"  # the first is a winner, or a row is its own, as in a log of matches
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


OPPONENT = "opponent", "opp", "opponents", "rival", "versus", "vs"
SIDE_PAIRS = (
    SidesSpelling(
        ("home", "h"), ("away", "visitor", "visiting", "visitors", "vis", "v", "road", "guest", "a"), side=True
    ),
    SidesSpelling(("white", "w"), ("black", "b"), side=True),
    SidesSpelling(("radiant",), ("dire",), side=True),
    SidesSpelling(("blue", "b"), ("red", "r", "orange", "o")),
    SidesSpelling(("white",), ("blue",)),
    SidesSpelling(("red",), ("white",)),
    SidesSpelling(("host",), ("guest",), side=True),
    SidesSpelling(("playerx",), ("playero",)),
    SidesSpelling(("p1",), ("p2",)),
    SidesSpelling(("1", "one"), ("2", "two")),
    SidesSpelling(("a",), ("b",)),
    SidesSpelling(("left",), ("right",)),
    SidesSpelling(
        ("winner", "winning", "w", "chosen", "preferred"), ("loser", "losing", "l", "rejected"), kind="winner"
    ),
    SidesSpelling(("team", "club", "squad", "country", "nation", ""), OPPONENT, kind="own"),
    SidesSpelling(
        ("player", "name", "fighter", "athlete", "competitor", "user", "model", "me", ""), OPPONENT, kind="own"
    ),
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
NAME_TEMPLATES = _words("""
    {}teamname {}team team{} {}teamtag team{}name {}name {}playername {}player player{} player{}name {}club club{}
    {}fighter fighter{} {}username {}user {}bot {}tie model{} {}model model{}name generator{} system{} engine{}
    agent{} item{} opponent{} competitor{} name{} {}nation {}country {} {}teamid team{}id teamid{} {}teamapiid
    {}playerid player{}id {}id
""")  # names before ids
GOAL_NOUNS = "score", "goals", "goal", "runs"  # of a match, while points may be those of a ranking
POINT_NOUNS = *GOAL_NOUNS, "points", "pts"  # the first are sought first
POINT_PATTERNS = _words("""
    {{}}{0} {0}{{}} {{}}team{0} team{{}}{0} {{}}player{0} player{{}}{0} {0}{{}}team {0}team{{}} {0}player{{}}
    {{}}final{0} final{0}{{}} {{}}fulltime{0} fulltime{{}}{0} ft{{}}{0} {0}ft{{}} {{}}{0}ft {{}}{0}scored
    {0}fulltime{{}} {0}fulltime{{}}team
""")  # of a side and a noun, as in "{}score" and "score{}"
OWN_POINTS = tuple(  # of a row of one side
    (noun + first, noun + second)
    for nouns, words in (
        (POINT_NOUNS, (("for", "against"), ("scored", "conceded"), ("scored", "allowed"))),
        (("g", "p", "r"), (("f", "a"),)),
    )
    for noun in nouns
    for first, second in words
)
COUNT_NOUNS = "sets", "gameswon", "frames", "legs", "maps", "wins"  # whose difference says little
COUNT_PATTERNS = _words("""
    {{}}{0} {0}{{}} {{}}team{0} team{{}}{0} player{{}}{0} {{}}{0}won {0}won{{}} {0}wins{{}} team{{}}{0}won
    player{{}}{0}won
""")
GOAL_TEMPLATES, POINT_TEMPLATES = (
    ("ft{}g", *(pattern.format(noun) for noun in nouns for pattern in POINT_PATTERNS), "{}g")
    for nouns in (GOAL_NOUNS, POINT_NOUNS)
)
COUNT_TEMPLATES = (  # of results whose size says little, such as the sets that each side won
    "result{}",
    "{}result",
    *(pattern.format(noun) for noun in COUNT_NOUNS for pattern in COUNT_PATTERNS),
    "{}framescore",
    "winnermodel{}",
)
RESULT_NAMES = _words("""
    ftr fulltimeresult result matchresult gameresult res outcome score ft fulltime ftscore finalscore winner
    matchwinner winnername winningteam winnerid winnerteam mapwinner wdl whitescore victor whowon winnerindex
    winneridx winningside winningplayer preference preferred humanpreference preferredmodel chosenmodel
    chosenmodelname bettermodel winnermodel modelwinner g1winner vote votetype verdict judgment judgement choice
    chosen label
""")  # the last are of votes
RESULT_TEMPLATES = _words("""
    {}teamwins {}teamwin {}teamwon {}win {}wins {}won {}result {}teamresult team{}win team{}wins team{}won
    team{}result player{}win player{}wins player{}won player{}result result{} {}outcome outcome{}
""")  # of the first side alone
# the pattern of columns that say who won, and not how well a player did
WINNER_NAME = "winner|winning|victor|whowon|^prefer|preference$|^choice|^chosen|^better|^vote"
DRAW_NAMES = tuple(
    f"{start}{word}{end}"
    for start in ("", "is", "was", "game", "match")
    for word in ("draw", "drawn", "drew", "tie", "tied", "remis", "stalemate")
    for end in ("", "flag")
)
TIME_WORDS = "date", "datetime", "timestamp", "time", "at", "day", "on"
TIME_SUBJECTS = _words("""
    match game tourney tournament schedule scheduled event race round play played kickoff start started begin create
    created end ended finish finished complete completed record recorded submit submitted vote voted report reported
    contest fight bout fixture session series map
""")
TIME_NAMES = (
    "time", "date", "t", "datetime", "utcdate", "dateutc", "datetimeutc", "gamedateest", "day", "kickoff", "timestamp",
    "tstamp", "ts", "unixtime", "epoch", "datum", "fecha",
    *(f"{subject}{word}" for subject in TIME_SUBJECTS for word in TIME_WORDS),
    *(f"{word}{subject}" for word in TIME_WORDS[:3] for subject in TIME_SUBJECTS),
)  # fmt: skip
ROW_NUMBER_NAMES = "", "unnamed0", "index", "row", "rownumber", "rownames", "rowid"  # of programs that write tables
NEUTRAL_NAMES = ("neutral", "neutralsite", "neutralvenue", "neutralground", "isneutral", "stadiumneutral")
TEAM_NAMES = ("team", "teamid", "teamname", "side", "squad")  # of contests
SIDE_COLUMN_NAMES = ("wloc", "winnerlocation", "winnerloc")  # of the winner
CONTEST_NAMES = _words("""
    contest race raceid event eventid contestid tournamentid gameid matchid heat
""")
PARTICIPANT_NAMES = _words("""
    player participant driver driverid drivername driverref athlete competitor rider horse swimmer skater playername
    name team teamname playerid teamid
""")
RANK_NAMES = _words("""
    positionorder position finishposition finishingposition finalposition finish place pos placing placement
    standing teamplacement rank
""")


def normalise_column_name(name: Any) -> str:
    """A name in lower case, without anything but letters and digits."""
    return "".join(x for x in str(name).casefold() if x.isalnum())


@cache
def spell_pairs(templates: tuple[str, ...], sides: SidesSpelling) -> list[tuple[str, str]]:
    """How these templates spell the columns of both sides; a letter alone is no name of a column."""
    return [
        (template.format(first), template.format(second))
        for template in templates
        for first in sides.first
        for second in sides.second
        if template != "{}" or len(first) > 1 < len(second)
    ]


class Header(NamedTuple):
    """The names of the columns of a table, by how they are spelt."""

    names: Sequence[Any]
    by_spelling: Mapping[str, Any]  # the first column of each spelling

    @classmethod
    def of_columns(cls, names: Sequence[Any]) -> "Header":
        return cls(names, {normalise_column_name(name): name for name in reversed(names)})

    def columns(self, spellings: Iterable[str]) -> list[Any]:
        """The columns that are spelt so, in the order of the spellings."""
        return [self.by_spelling[x] for x in spellings if x in self.by_spelling]

    def pairs(self, templates: tuple[str, ...], sides: SidesSpelling) -> list[tuple[Any, Any]]:
        """The pairs of columns that are called as these templates say of both sides."""
        pairs = [self.columns(pair) for pair in spell_pairs(templates, sides)]
        return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]

    def points(self, templates: tuple[str, ...], spellings: Sequence[SidesSpelling]) -> list[tuple[Any, Any]]:
        """The pairs of columns of both sides' points, also as points for and against in a row of one side."""
        own = [self.columns(pair) for pair in OWN_POINTS if any(sides.kind == "own" for sides in spellings)]
        pairs = [pair for sides in spellings for pair in self.pairs(templates, sides)]
        return pairs + [(pair[0], pair[1]) for pair in own if len(pair) == 2]
