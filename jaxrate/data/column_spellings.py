"""Names that people give to columns, in lower-case letters and digits; {} is a side. Earlier ones come first."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from jaxrate.data.column_role_definitions import COLUMN_ROLES


class SidesSpelling(NamedTuple):
    """How both sides of a match are called."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    side: bool = False  # whether the first has an advantage
    # winner: it is the first; own: a row is of the first; debate: unless a row is of another
    kind: Literal["sides", "winner", "own", "debate", "unknown"] = "sides"


UNKNOWN_SIDES = SidesSpelling((), (), kind="unknown")


def _split_at_blanks(text: str) -> tuple[str, ...]:
    return tuple(text.split())


THIRD_SIDES = {"1": "3", "one": "three", "first": "third", "a": "c", "p1": "p3"}  # by the word for the first
OPPONENT = "opponent", "opp", "opponents", "opposition", "rival", "versus", "vs"
HOME_AND_AWAY = (
    SidesSpelling(
        ("home", "h"), ("away", "visitor", "visiting", "visitors", "vis", "v", "road", "guest", "a"), side=True
    ),
    SidesSpelling(
        _split_at_blanks("heim local domicile casa mandante thuis"),
        _split_at_blanks("gast auswarts auswärts visitante exterieur ospite trasferta visitatore fora uit"),
        side=True,
    ),
    SidesSpelling(
        _split_at_blanks("hemma hjemme gospodarz gospodarze domaci koti evsahibi hazai gazde хозяева ホーム 主队"),
        _split_at_blanks("borta borte ude gosc goscie hoste vieras deplasman vendeg oaspeti гости アウェイ 客队"),
        side=True,
    ),
)
SIDE_PAIRS = (
    *HOME_AND_AWAY,
    SidesSpelling(("white", "w"), ("black", "b"), side=True),
    SidesSpelling(("weiss", "blancs", "blancas", "bianco"), ("schwarz", "noirs", "negras", "nero"), side=True),
    SidesSpelling(("sente", "east", "affirmative", "aff"), ("gote", "west", "negative", "neg")),
    SidesSpelling(("radiant",), ("dire",), side=True),
    SidesSpelling(("blue", "b"), ("red", "r", "orange", "o")),
    SidesSpelling(("white",), ("blue",)),
    SidesSpelling(("red",), ("white",)),
    SidesSpelling(("host",), ("guest",), side=True),
    SidesSpelling(("playerx",), ("playero",)),
    SidesSpelling(("p1",), ("p2",)),
    SidesSpelling(("1", "one", "first"), ("2", "two", "second")),
    SidesSpelling(("a",), ("b",)),
    SidesSpelling(("left",), ("right",)),
    SidesSpelling(
        ("winner", "winners", "winning", "w", "chosen", "preferred"),
        ("loser", "losers", "losing", "l", "rejected"),
        kind="winner",
    ),
    SidesSpelling(
        ("ganador", "vencedor", "vainqueur", "vincitore", "sieger"),
        ("perdedor", "vencido", "perdant", "perdente", "verlierer"),
        kind="winner",
    ),
    SidesSpelling(("team", "tm", "club", "school", "squad", "country", "nation", ""), OPPONENT, kind="own"),
    SidesSpelling(
        ("student", "learner", "pupil", "examinee", "user"), ("item", "problem", "question", "exercise"), kind="own"
    ),
    SidesSpelling(
        ("player", "name", "fighter", "boxer", "athlete", "competitor", "user", "model", "me", ""), OPPONENT, kind="own"
    ),
    SidesSpelling(("gov", "government", "proposition"), ("opp", "opposition"), kind="debate"),
)
LINE_UP_SIDES = _split_at_blanks(
    "team1-team2 side1-side2 t1-t2 teama-teamb home-away heim-gast white-black blue-red left-right"
)
LINE_UP_PATTERNS = _split_at_blanks(
    "{}{number} {}player{number} {}p{number} player{}{number} {}{number}name {}player{number}name {}{letter}"
)
LINE_UP_SPELLINGS = (  # how the players of both sides of a match are numbered or lettered
    ("a{number}", "b{number}"),
    ("w{number}", "l{number}"),
    ("wplayer{number}", "lplayer{number}"),
    ("player1{letter}", "player2{letter}"),
    *(
        (pattern.replace("{}", first), pattern.replace("{}", second))
        for first, _, second in (pair.partition("-") for pair in (*LINE_UP_SIDES, "winner-loser"))
        for pattern in LINE_UP_PATTERNS
        if "{}{number}" not in pattern or not first[-1].isdigit()
    ),
)
NAME_TEMPLATES = _split_at_blanks("""
    {}teamname {}team team{} {}teamtag team{}name teams{}name teams{}teamname teams{} {}teamfullname {}teamshortname
    {}teamabbrev {}teamabbreviation {}teamcode {}name {}playername {}player player{} player{}name {}club
    club{} {}fighter fighter{} {}username {}user players{}username players{}name players{} {}bot {}tie
    model{} models{} {}model response{}model model{}name generator{} system{} engine{}
    agent{} item{} option{} candidate{} opponent{} competitor{} name{} {}nation {}country {}mannschaft {}
    equipe{} equipo{} {}pair {}duo squadra{} {}lag {}hold spieler{} joueur{} jugador{} giocatore{}
    {}shikona rikishi{}shikona rikishi{} participants{}name competitors{}name {}joukkue pareja{} team{}players
    team{}teamname competitors{}teamname competitors{}teamdisplayname {}clubname fencer{} wrestler{} boxer{}
    opponents{}opponentname {}clubid {}teamid team{}id teamid{} {}teamapiid {}playerid player{}id {}id {}neutral
""")  # names before ids
GOAL_NOUNS = _split_at_blanks(
    "score goals goal runs tore goles buts gol gols reti doelpunten mal maalit placar imps touches"
)  # of a match, while points may be those of a ranking
POINT_NOUNS = *GOAL_NOUNS, "points", "pts"  # the first are sought first
REPEATED_POINTS = {
    (noun + first, noun + second) for noun in (*POINT_NOUNS, "g") for first, second in (("1", "2"), ("", "1"))
}
POINT_PATTERNS = _split_at_blanks("""
    {{}}{0} {0}{{}} {{}}team{0} team{{}}{0} teams{{}}{0} {{}}club{0} {{}}player{0} player{{}}{0} {0}{{}}team {0}team{{}}
    {0}player{{}}
    {{}}final{0} final{0}{{}} {{}}fulltime{0} fulltime{{}}{0} ft{{}}{0} {0}ft{{}} {{}}{0}ft {{}}{0}scored
    {0}fulltime{{}} {0}fulltime{{}}team participants{{}}{0} competitors{{}}{0} results{{}}{0}
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
PARTNER_TEMPLATES = _split_at_blanks("{}partner partner{} {}playerpartner {}partnername partner{}name {}namepartner")
SET_NOUNS = "sets", "frames", "legs"  # which win a match, whoever has more points
COUNT_NOUNS = *SET_NOUNS, "gameswon", "maps", "rounds", "wins"  # whose difference says little
COUNT_PATTERNS = _split_at_blanks("""
    {{}}{0} {0}{{}} {{}}team{0} team{{}}{0} player{{}}{0} {{}}{0}won {0}won{{}} {0}wins{{}} team{{}}{0}won
    player{{}}{0}won
""")
GOAL_TEMPLATES, POINT_TEMPLATES = (
    ("ft{}g", *(pattern.format(noun) for pattern in POINT_PATTERNS for noun in nouns), "{}g")
    for nouns in (GOAL_NOUNS, POINT_NOUNS)
)
SET_TEMPLATES = *(pattern.format(noun) for noun in SET_NOUNS for pattern in COUNT_PATTERNS), "{}set", "set{}"
WINNER_TEMPLATES = *GOAL_TEMPLATES[1:-1], "{}points", "points{}", "pts{}"  # "WPts" are points of a ranking
COUNT_TEMPLATES = (  # of results whose size says little, such as the sets that each side won
    "result{}",
    "{}result",
    *(pattern.format(noun) for noun in COUNT_NOUNS for pattern in COUNT_PATTERNS),
    "{}framescore",
    "winnermodel{}",
    "rikishi{}win",
)
RESULT_TEMPLATES = _split_at_blanks("""
    {}teamwins {}teamwin {}teamwon {}win is{}win {}wins {}won {}result {}teamresult team{}win team{}wins team{}won
    team{}result player{}win player{}wins player{}won player{}result result{} {}outcome outcome{} {}score score{}
    rikishi{}win fighter{}win fighter{}won fighter{}result
""")  # of the first side alone
# the pattern of columns that say who won, and not how well a player did
WINNER_NAME = (
    "winner|winning|victor|whowon|^winteam|^(vencedor|ganador|sieger|vainqueur|vincitore)$|"
    "^prefer|preference$|^choice|^chosen|^better|^vote"
)
DRAW_NAMES = tuple(
    f"{start}{word}{end}"
    for start in ("", "is", "isa", "was", "game", "match", "result", "endedin")
    for word in _split_at_blanks(
        "draw draws drawn drew tie ties tied remis unentschieden empate pareggio nul stalemate"
    )
    for end in ("", "flag")
)
# the pattern of columns that say how a match was decided, perhaps that it was not
MANNER_NAME = "method|decision|decided|verdict|outcome|type$|status|ending|wonby|^how|comment|notes?$|^score$|^result"
TIME_WORDS = "date", "datetime", "timestamp", "time", "at", "day", "on", "utc", "unix"
TIME_SUBJECTS = _split_at_blanks("""
    match game tourney tournament schedule scheduled event race round play played kickoff start started begin create
    created end ended finish finished complete completed record recorded submit submitted vote voted report reported
    contest fight bout fixture session series map creation commence submission kick unix
""")
ROW_NUMBER_NAMES = "", "unnamed0", "index", "row", "rownumber", "rownames", "rowid"  # of programs that write tables
SPELLINGS = {  # of the roles that one column has
    "score": _split_at_blanks("""
        ftr fulltimeresult result matchresult gameresult res outcome score ft fulltime ftscore finalscore ergebnis
        resultat resultado risultato esito winner matchwinner winnername winningteam winnerid winnerteam mapwinner
        uitslag placar punteggio wynik vysledek tulos skor scor eredmeny счет スコア 比分 wdl wl winloss whitescore
        victor whowon winnerindex winneridx winningside winningplayer winteam sieger ganador vencedor vainqueur
        vincitore preference preferred humanpreference preferredmodel chosenmodel chosenmodelname bettermodel selected
        selection winnermodel modelwinner winningfighter fightwinner g1winner humanlabel vote votetype verdict judgment
        judgement choice chosen label correct iscorrect answeredcorrectly sets
    """),  # the last are of votes
    "time": (
        *_split_at_blanks("""
            time date t datetime utcdate dateutc datetimeutc gamedateest day kickoff timestamp tstamp ts unixtime
            epoch datum fecha data paiva дата 日付 日期 giorno jour dato dt played created started start ended
            gamecreation datumuhrzeit datumzeit tarih
        """),
        *(f"{subject}{word}" for subject in TIME_SUBJECTS for word in TIME_WORDS),
        *(
            f"{word}{of}{subject}"
            for word in (*TIME_WORDS[:3], "unix")
            for subject in TIME_SUBJECTS
            for of in ("", "of")
        ),
    ),
    "neutral": _split_at_blanks("neutral neutralsite neutralvenue neutralground isneutral stadiumneutral"),
    "side": _split_at_blanks("wloc winnerlocation winnerloc"),  # of the winner
    "contest": _split_at_blanks("""
        contest race raceid event eventid contestid tournamentid gameid matchid heat racename eventname contestname
        tournament tournamentname tourney tourneyname competition wettkampf rennen meet match game round play playid
        prompt promptid question questionid sessionkey epreuve gara prova prueba
    """),
    "participant": _split_at_blanks("""
        player participant driver driverid drivername driverref athlete competitor rider horse swimmer skater runner
        golfer cyclist skier rower sailor boat crew dog pilot fahrer handle username playername summoner
        summonername name team teamname drivernumber ciclista corredor coureur cycliste nageur atleta pilota pilote
        piloto playerid teamid model modelname school club country nation
    """),
    "contest score": _split_at_blanks("score points pts goals win won wins iswinner victory result outcome teamscore"),
    "rank": _split_at_blanks("""
        positionorder position finishposition finishingposition finalposition finish place pos placing placement
        standing teamplacement rank platz rang posizione posicion puesto classement finishtime finishingtime
        racetime resulttime chiptime guntime nettime
    """),
    "team": _split_at_blanks("team teamid teamname side squad"),  # of contests
    "margin": _split_at_blanks("""
        margin homemargin pointmargin scoremargin plusminus pointdiff pointsdiff pointdifference pointdifferential
        goaldiff goaldifference scorediff scoredifference
    """),
    "season": ("season",),
    "category": ("surface",),
}


def normalise_column_name(name: Any) -> str:
    """A name in lower case without accents, and without anything but letters and digits."""
    return "".join(x for x in unicodedata.normalize("NFKD", str(name).casefold()) if x.isalnum())


TEAM_NAME = re.compile(
    "(home|away|visitors?|visiting|winning|losing|winner|loser|[abh12])(team|club|franchise|goals?)(name|id|tag)?"
    "|(team|club|goals?)([ab12]|one|two|home|away)(name|id)?|ft[ha]g"
)
PLAYER_NAME = re.compile("driver|rider|runner|athlete|swimmer|skier|golfer|fighter|horse|engine")
GROUP_NAME = re.compile("(home)?(team|club|country|nation|franchise)(name|id|[a1])?")  # of the first column of players


def find_noun(names: Iterable[Any], player_column: Any, *, has_members: bool) -> str:
    """What columns with these names say that each player is, or each member of a team, as "driver"; else empty."""
    spelt = {*map(normalise_column_name, names)}
    if not has_members:
        if group := GROUP_NAME.fullmatch(normalise_column_name(player_column)):
            return group[2]
        if {"home", "away"} <= spelt or any(map(TEAM_NAME.fullmatch, spelt)):
            return "team"
    return min(filter(PLAYER_NAME.fullmatch, spelt), default="")


@cache
def spell_pairs(templates: tuple[str, ...], sides: SidesSpelling) -> list[tuple[str, str]]:
    """How these templates spell the columns of both sides; a letter alone is no name of a column."""
    return [
        (template.format(first), template.format(second))
        for template in templates
        for first in sides.first
        for second in sides.second
        if template != "{}" or len(first) > 1 < len(second)
        if template not in ("{}set", "set{}") or "1" not in sides.first  # which are the first and the second set
    ]


class Header(NamedTuple):
    """The names of the columns of a table, by how they are spelt."""

    names: Sequence[Any]
    by_spelling: Mapping[str, Any]  # the column that is written so, or else the first that is spelt so

    @classmethod
    def of_columns(cls, names: Sequence[Any]) -> "Header":
        exact = {name: name for name in names if normalise_column_name(name) == name}
        return cls(names, {normalise_column_name(name): name for name in reversed(names)} | exact)

    def find_first(self, spellings: Iterable[str]) -> Any:
        """The first column that is spelt so; None if there is none."""
        return next(iter(self.find_columns(spellings)), None)

    def find_own(self, role: str) -> Any:
        """The first column that has one of the library's own names for a role; None if there is none."""
        return self.find_first(COLUMN_ROLES[role].default)

    def find_columns(self, spellings: Iterable[str]) -> list[Any]:
        """The columns that are spelt so, in the order of the spellings."""
        return [self.by_spelling[x] for x in spellings if x in self.by_spelling]

    def find_all(self, names: Sequence[str]) -> list[Any]:
        """The columns that are spelt as these names are; none unless there is one for each."""
        columns = self.find_columns(map(normalise_column_name, names))
        return columns if len(columns) == len(names) else []

    def find_pairs(self, spellings: Iterable[tuple[str, str]]) -> list[tuple[Any, Any]]:
        """The pairs of columns that are spelt so, in the order of the spellings."""
        by_spelling = self.by_spelling
        return [(by_spelling[x], by_spelling[y]) for x, y in spellings if x in by_spelling and y in by_spelling]

    def find_pairs_by_words(self, words: Iterable[tuple[str, str]]) -> list[tuple[Any, Any]]:
        """The pairs of columns that differ in one of these pairs of words: home_x and away_x in home and away."""
        spelt = []
        for x, y in words:
            for name in self.by_spelling if x else ():
                spelt += [(name, name.replace(x, y, 1)), (name, y.join(name.rsplit(x, 1)))]
        return [pair for pair in self.find_pairs(dict.fromkeys(spelt)) if pair[0] != pair[1]]

    def find_points_beside(self, players: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Columns after those of both players that share a name of points, as PTS and PTS.1, or PTS (1) and PTS (2)."""
        if not {*players} <= {*self.names}:
            return []
        places = sorted([*self.names].index(player) for player in players)
        first, second = (normalise_column_name("".join(map(str, self.names[i + 1 : i + 2]))) for i in places)
        pairs = self.find_pairs({(first, second)} & REPEATED_POINTS)
        return pairs if self.names[places[0]] == players[0] else [pair[::-1] for pair in pairs]

    def find_side_pairs(self, templates: tuple[str, ...], sides: Iterable[SidesSpelling]) -> list[tuple[Any, Any]]:
        """The pairs of columns of both sides that templates spell."""
        return self.find_pairs(pair for one in sides for pair in spell_pairs(templates, one))

    def find_points(self, templates: tuple[str, ...], sides: Sequence[SidesSpelling]) -> list[tuple[Any, Any]]:
        """The pairs of columns of both sides' points, also as points for and against in a row of one side."""
        own = OWN_POINTS if any(one.kind == "own" for one in sides) else ()
        return [*self.find_side_pairs(templates, sides), *self.find_pairs(own)]
