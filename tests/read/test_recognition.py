"""Files as people find them: headers of well-known collections, with rows that were made up."""
# ruff: noqa: E501

import re

import numpy as np
import pytest

from jaxrate.data.dataset_from_table import read
from jaxrate.data.dataset_names import NamesOfEarlierData
from jaxrate.data.table_files import records_to_columns
from tests.read import tables

# header, rows; the pairs of names, the scores of the first, the first day, and whether the first has the side
FILES = {
    "football-data.co.uk, a league": (
        "Div,Date,Time,HomeTeam,AwayTeam,FTHG,FTAG,FTR,HTHG,HTAG,HTR,Referee,HS,AS,B365H,B365D,B365A",
        ["E0,16/08/2024,20:00,Man United,Fulham,1,0,H,0,0,D,R Jones,14,10,1.6,4.2,5.25",
         "E0,17/08/2024,12:30,Ipswich,Liverpool,0,2,A,0,0,D,T Robinson,7,18,8.5,5.5,1.33",
         "E0,17/08/2024,15:00,Fulham,Ipswich,1,1,D,0,1,A,S Hooper,9,9,1.6,4,6"],
        [("Man United", "Fulham"), ("Ipswich", "Liverpool"), ("Fulham", "Ipswich")], [1, 0, 0.5], "2024-08-16", True,
    ),
    "football-data.co.uk, extra leagues": (
        "Country,League,Season,Date,Time,Home,Away,HG,AG,Res,PSCH,PSCD,PSCA",
        ["Brazil,Serie A,2024,13/04/2024,22:30,Gremio,Vasco,2,1,H,1.9,3.4,4.5",
         "Brazil,Serie A,2024,14/04/2024,20:00,Vasco,Santos,0,0,D,2,3.1,4"],
        [("Gremio", "Vasco"), ("Vasco", "Santos")], [1, 0.5], "2024-04-13", True,
    ),
    "tennis-data.co.uk": (
        "ATP,Location,Tournament,Date,Series,Court,Surface,Round,Best of,Winner,Loser,WRank,LRank,WPts,LPts,W1,L1,Comment",
        ["1,Brisbane,Brisbane International,31/12/2023,ATP250,Outdoor,Hard,1st Round,3,Rune H.,Purcell M.,8,45,3,1,4,6,Completed"],
        [("Rune H.", "Purcell M.")], [1], "2023-12-31", False,
    ),
    "Kaggle's tennis": (
        "Tournament,Date,Series,Court,Surface,Round,Best of,Player_1,Player_2,Winner,Rank_1,Rank_2,Pts_1,Pts_2,Odd_1,Odd_2,Score",
        ["Australian Open,2000-01-17,Grand Slam,Outdoor,Hard,1st Round,5,Agassi A.,Puerta M.,Agassi A.,1,112,-1,-1,-1,-1,6-2 6-2 6-3",
         "Australian Open,2000-01-17,Grand Slam,Outdoor,Hard,1st Round,5,Manta L.,Alami K.,Alami K.,107,35,-1,-1,-1,-1,6-4 7-6 6-0"],
        [("Agassi A.", "Puerta M."), ("Manta L.", "Alami K.")], [1, 0], "2000-01-17", False,
    ),
    "Sackmann's ATP": (
        "tourney_id,tourney_name,surface,draw_size,tourney_level,tourney_date,match_num,winner_id,winner_seed,winner_entry,"
        "winner_name,winner_hand,winner_ht,loser_id,loser_seed,loser_entry,loser_name,loser_hand,loser_ht,score,best_of,round,"
        "minutes,w_ace,w_df,l_ace,l_df,winner_rank,winner_rank_points,loser_rank,loser_rank_points",
        ["2020-8888,Atp Cup,Hard,24,A,20200106,300,104925,,,Novak Djokovic,R,188,104745,,,Rafael Nadal,L,185,6-2 7-6(4),3,F,"
         "117,7,3,8,2,2,9055,1,9985"],
        [("Novak Djokovic", "Rafael Nadal")], [1], "2020-01-06", False,
    ),
    "Kaggle's chess of lichess": (
        "id,rated,created_at,last_move_at,turns,victory_status,winner,increment_code,white_id,white_rating,black_id,black_rating,moves",
        ["TZJHLljE,FALSE,1.50421E+12,1.50421E+12,13,outoftime,white,15+2,bourgris,1500,a-00,1191,d4 d5",
         "l1NXvwaE,TRUE,1.50423E+12,1.50424E+12,16,resign,black,5+10,a-00,1322,skinnerua,1261,d4 Nc6",
         "mIICvQHh,TRUE,1.50425E+12,1.50425E+12,61,draw,draw,5+10,ischia,1496,a-00,1500,e4 e5"],
        [("bourgris", "a-00"), ("a-00", "skinnerua"), ("ischia", "a-00")], [1, 0, 0.5], "2017-08-31", True,
    ),
    "games of lichess from PGN": (
        "Event,White,Black,Result,UTCDate,UTCTime,WhiteElo,BlackElo,WhiteRatingDiff,BlackRatingDiff,ECO,Opening,TimeControl",
        ["Classical,eisaaaa,HAMID449,1-0,2016.06.30,22:00:01,1901,1896,11,-11,D10,Slav,300+5",
         "Blitz,go4jas,Sergei1973,0-1,2016.06.30,22:00:01,1641,1627,-11,12,C20,King,300+0",
         "Blitz,Evangelistaizac,kafune,1/2-1/2,2016.06.30,22:00:02,1647,1688,1,1,B01,Scand,180+5"],
        [("eisaaaa", "HAMID449"), ("go4jas", "Sergei1973"), ("Evangelistaizac", "kafune")], [1, 0, 0.5], "2016-06-30", True,
    ),
    "Kaggle's NBA": (
        "GAME_DATE_EST,GAME_ID,GAME_STATUS_TEXT,HOME_TEAM_ID,VISITOR_TEAM_ID,SEASON,TEAM_ID_home,PTS_home,FG_PCT_home,"
        "TEAM_ID_away,PTS_away,FG_PCT_away,HOME_TEAM_WINS",
        ["2022-12-22,22200477,Final,1610612740,1610612759,2022,1610612740,126,0.484,1610612759,117,0.478,1",
         "2022-12-22,22200478,Final,1610612762,1610612764,2022,1610612762,112,0.488,1610612764,120,0.561,0"],
        [("1610612740", "1610612759"), ("1610612762", "1610612764")], [1, 0], "2022-12-22", True,
    ),
    "538's NBA": (
        "date,season,neutral,playoff,team1,team2,elo1_pre,elo2_pre,elo_prob1,elo_prob2,elo1_post,elo2_post,score1,score2",
        ["1946-11-01,1947,0,,TRH,NYK,1300,1300,0.64,0.36,1293,1306,66,68"],
        [("TRH", "NYK")], [0], "1946-11-01", False,
    ),
    "538's football": (
        "season,date,league_id,league,team1,team2,spi1,spi2,prob1,prob2,probtie,proj_score1,proj_score2,importance1,importance2,"
        "score1,score2,xg1,xg2,nsxg1,nsxg2,adj_score1,adj_score2",
        ["2016,2016-08-12,1843,French Ligue 1,Bastia,Paris,51.1,85.7,0.04,0.84,0.12,0.9,2.4,32,68,0,1,1,0.6,0.4,3,0,1.05"],
        [("Bastia", "Paris")], [0], "2016-08-12", False,
    ),
    "martj42's international results": (
        "date,home_team,away_team,home_score,away_score,tournament,city,country,neutral",
        ["1872-11-30,Scotland,England,0,0,Friendly,Glasgow,Scotland,FALSE",
         "1873-03-08,England,Scotland,4,2,Friendly,London,England,TRUE"],
        [("Scotland", "England"), ("England", "Scotland")], [0.5, 1], "1872-11-30", True,
    ),
    "openfootball": (
        "Round,Date,Team 1,FT,HT,Team 2",
        ["1,Fri Aug 9 2019,Liverpool FC,4-1,4-0,Norwich City FC", "1,Sat Aug 10 2019,West Ham United FC,0-5,0-1,Man City FC"],
        [("Liverpool FC", "Norwich City FC"), ("West Ham United FC", "Man City FC")], [1, 0], "2019-08-09", False,
    ),
    "spreadspoke's NFL": (
        "schedule_date,schedule_season,schedule_week,schedule_playoff,team_home,score_home,score_away,team_away,"
        "team_favorite_id,spread_favorite,over_under_line,stadium,stadium_neutral,weather_detail",
        ["9/2/1966,1966,1,FALSE,Miami Dolphins,14,23,Oakland Raiders,,,,Orange Bowl,FALSE,",
         "9/18/1966,1966,2,FALSE,Green Bay Packers,21,3,Baltimore Colts,,,,County,FALSE,"],
        [("Miami Dolphins", "Oakland Raiders"), ("Green Bay Packers", "Baltimore Colts")], [0, 1], "1966-09-02", True,
    ),
    "nflverse": (
        "game_id,season,game_type,week,gameday,weekday,gametime,away_team,away_score,home_team,home_score,location,result,total",
        ["1999_01_MIN_ATL,1999,REG,1,1999-09-12,Sunday,,MIN,17,ATL,14,Home,-3,31",
         "1999_01_KC_CHI,1999,REG,1,1999-09-12,Sunday,,KC,17,CHI,20,Home,3,37"],
        [("ATL", "MIN"), ("CHI", "KC")], [0, 1], "1999-09-12", True,
    ),
    "Kaggle's March Madness": (
        "Season,DayNum,WTeamID,WScore,LTeamID,LScore,WLoc,NumOT",
        ["1985,20,1228,81,1328,64,N,0", "1985,25,1106,77,1354,70,H,0", "1985,25,1112,63,1223,56,A,0"],
        [("1228", "1328"), ("1106", "1354"), ("1112", "1223")], [1, 1, 1], None, [0, 1, -1],
    ),
    "Kaggle's results of hltv": (
        "date,team_1,team_2,_map,result_1,result_2,map_winner,starting_ct,ct_1,t_2,t_1,ct_2,event_id,match_id,rank_1,rank_2,"
        "map_wins_1,map_wins_2,match_winner",
        ["2020-03-18,Recon 5,TeamOne,Dust2,0,16,2,2,0,1,0,15,5151,2340454,62,63,0,2,2",
         "2020-03-18,Recon 5,TeamOne,Inferno,13,16,2,2,8,6,5,10,5151,2340454,62,63,0,2,2"],
        [("Recon 5", "TeamOne")] * 2, [0, 0], "2020-03-18", False,
    ),
    "Kaggle's League of Legends": (
        "League,Year,Season,Type,blueTeamTag,bResult,rResult,redTeamTag,gamelength,golddiff",
        ["NALCS,2015,Spring,Season,TSM,1,0,C9,40,[]", "NALCS,2015,Spring,Season,CST,0,1,DIG,38,[]"],
        [("TSM", "C9"), ("CST", "DIG")], [1, 0], None, False,
    ),
    "OpenDota's matches": (
        "match_id,duration,start_time,radiant_team_id,radiant_name,dire_team_id,dire_name,leagueid,radiant_score,dire_score,radiant_win",
        ["7,2000,1568000000,1,OG,2,Liquid,9,40,20,True", "8,2100,1568003600,2,Liquid,1,OG,9,10,33,False"],
        [("OG", "Liquid"), ("Liquid", "OG")], [1, 0], "2019-09-09", True,
    ),
    "Retrosheet's games": (
        "gid,visteam,hometeam,site,date,number,starttime,daynight,innings,vruns,hruns,wteam,lteam,season",
        ["ANA202404050,BOS,ANA,ANA01,20240405,0,6:38PM,night,9,8,6,BOS,ANA,2024",
         "ANA202404060,BOS,ANA,ANA01,20240406,0,6:38PM,night,9,1,2,ANA,BOS,2024"],
        [("ANA", "BOS")] * 2, [0, 1], "2024-04-05", True,
    ),
    "Kaggle's European football": (
        "id,country_id,league_id,season,stage,date,match_api_id,home_team_api_id,away_team_api_id,home_team_goal,away_team_goal,"
        "home_player_X1,away_player_X1",
        ["1,1,1,2008/2009,1,2008-08-17 00:00:00,492473,9987,9993,1,1,,"],
        [("9987", "9993")], [0.5], "2008-08-17", True,
    ),
    "Kaggle's World Cup": (
        "Year,Datetime,Stage,Stadium,City,Home Team Name,Home Team Goals,Away Team Goals,Away Team Name,Win conditions",
        ["1930,13 Jul 1930 - 15:00 ,Group 1,Pocitos,Montevideo,France,4,1,Mexico,"],
        [("France", "Mexico")], [1], "1930-07-13", True,
    ),
    "UFC": (
        "R_fighter,B_fighter,Referee,date,location,Winner,title_bout,weight_class",
        ["Adrian Yanez,Gustavo Lopez,Chris,2021-03-20,Las Vegas,Red,False,Bantamweight",
         "Trevin Giles,Roman Dolidze,Herb,2021-03-20,Las Vegas,Draw,False,Middleweight"],
        [("Adrian Yanez", "Gustavo Lopez"), ("Trevin Giles", "Roman Dolidze")], [1, 0.5], "2021-03-20", False,
    ),
    "Chatbot Arena": (
        "question_id,model_a,model_b,winner,judge,turn,anony,language,tstamp",
        ["58,chatglm-6b,koala-13b,model_b,arena_user_973,1,True,English,1682351591.13",
         "59,oasst,koala-13b,tie (bothbad),arena_user_973,1,True,English,1682351654.67"],
        [("chatglm-6b", "koala-13b"), ("oasst", "koala-13b")], [0, 0.5], "2023-04-24", False,
    ),
    "Kaggle's cricket": (
        "id,season,city,date,match_type,player_of_match,venue,team1,team2,toss_winner,toss_decision,winner,result,result_margin",
        ["1,2007/08,Bangalore,2008-04-18,League,B McCullum,Chinnaswamy,RCB,KKR,RCB,field,KKR,runs,140",
         "2,2007/08,Delhi,2008-05-22,League,,Kotla,RCB,KKR,RCB,bat,RCB,wickets,5"],
        [("RCB", "KKR")] * 2, [0, 1], "2008-04-18", False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("header, rows, pairs, scores, day, side", FILES.values(), ids=FILES)
def test_well_known_headers(games, header, rows, pairs, scores, day, side):
    data, notes = tables.read_noting(games("\n".join([header, *rows, ""])))
    assert [tuple(data.players[list(pair)]) for pair in data.matches.player] == pairs
    assert data.matches.score.tolist() == scores
    if day is None:
        assert data.clock is None
    else:
        assert data.clock == "dates"
        assert np.datetime64(int(data.matches.time[0] // 1), "D") == np.datetime64(day)
    sides = data.matches.context.side
    if isinstance(side, list):
        assert sides.tolist() == side
    else:
        neutral = [row.endswith("TRUE") for row in rows]
        assert (sides is None) if not side else (sides.tolist() == [0.0 if x else 1.0 for x in neutral])
    said = [str(note.message) for note in notes if "took" in str(note.message)]
    if "Winner,Loser" not in header:  # which are the library's own names
        assert len(said) == 1 and "\n" not in said[0]
        assert said[0].endswith("; name columns to choose others")


def test_ergast_results(games):
    header = "resultId,raceId,driverId,constructorId,number,grid,position,positionText,positionOrder,points,laps,time,"
    header += "milliseconds,fastestLap,rank,fastestLapTime,fastestLapSpeed,statusId"
    rows = ["1,18,1,1,22,1,1,1,1,10,58,1:34:50.616,5690616,39,2,1:27.452,218.3,1"]
    rows += ["2,18,2,2,3,5,2,2,2,8,58,+5.478,5696094,41,3,1:27.739,217.586,1"]
    rows += [r"3,18,3,3,7,7,\N,R,3,0,47,\N,\N,41,1,1:28.090,216.719,5"]
    with pytest.warns(UserWarning, match="^took raceId for the contest; driverId for the participant; positionOrder"):
        data = read(games("\n".join([header, *rows, ""])))
    assert data.rounds.events.rank.tolist() == [0, 1, 2] and data.players.tolist() == ["1", "2", "3"]
    assert data.clock is None  # the time of a race is no date


def read_noting(source, **options):
    """The data, and all that is noted of them."""
    data, notes = tables.read_noting(source, **options)
    return data, " ".join(str(note.message) for note in notes)


def scores_of(data):
    """The scores of matches, or the ranks of contests."""
    return (data.matches.score if data.of_matches else data.rounds.events.rank).tolist()


LEAGUE = "Date,HomeTeam,AwayTeam,FTHG,FTAG,FTR\n03/07/2024,x,y,1,0,H\n13/07/2024,y,x,2,2,D\n"
COMING = LEAGUE + "20/07/2024,x,z,,,\n20/07/2024,z,y,,,\n"
UNSIDED = {"a": "AwayTeam", "b": "HomeTeam"}
X, Y, Z = ["x", "y", "z", "x"], ["y", "z", "x", "z"], ["x", "x", "y", "y"]
SCORED = {"home": X, "away": Y, "home_score": [9, 1, 9, 9], "away_score": [1, 9, 1, 1]}
SETTLED = {"home": X, "away": Y, "result": list("DDHD"), "hg": [2, 1, 1, 0], "ag": [1, 1, 0, 2]}
NAMED = {  # the table, options, scores or ranks, and the whole note as a pattern
    "the first has the side": (LEAGUE, {}, [1, 0.5], "took HomeTeam and AwayTeam for a and b, the first of whom has the "
     "side; FTR for the score; Date as dates, the day first; name columns to choose others"),
    "other sides": (LEAGUE, UNSIDED | {"score": "FTR"}, [0, 0.5], "took Date as dates, the day first; name columns .*"),
    "points of own players": ("a,b,FTHG,FTAG\nx,y,1,0\n", {}, [1], "took FTHG and FTAG for the points of both.*"),
    **{f"sides are lost: {a}": (f"{a},{b},score\nx,y,1\n", {"a": a, "b": b}, [1],
       f"{a} and {b} look like home and away, but nobody.*side='a'")
       for a, b in (("Home", "Away"), ("home_team", "away_team"), ("Heim", "Gast"))},
    "sides of what is to come": ("Home,Away,score\nx,y,\n", {"a": "Home", "b": "Away", "upcoming": True}, [0.5], ""),
    "opponents of contests": ("race,team,opponent,rank\n1,x,y,1\n1,y,x,2\n", {}, [0, 1], "took race for the contest.*"),
    "a day is no date": ("a,b,score,day\nx,y,1,3\ny,x,1,2\n", {}, [1, 1], ""),
    "players called NA": ("a,b,score\nNA,P,1\nP,-,0\n", {}, [1, 0], ""),
    "a winner named as the score": ({"a": X, "b": Y, "winner": [0, 0, 1, 0]}, {"score": "winner"}, [0, 0, 1, 0], ""),
    "named points beside results": (SETTLED, {"margin": ["hg", "ag"]}, [1, 0.5, 1, 0],
                                    ".*not result, which contradicts them in 2 of 4.*"),
    "numbers of several types": ({"a": X, "b": Y, "score": np.array([1, -1, True, 0], object)}, {"na_values": ["-1"]},
                                 [1, 1, 0], "1 of 4 rows has no result.*"),
    "Portuguese": ("data;mandante;visitante;gols_mandante;gols_visitante\n15/01/2023;x;y;2;1\n", {}, [1],
                   ".* the side; gols_mandante and gols_visitante .*; data for the time; data as dates, the day first.*"),
    "points after each player": (
        'Date,Start (ET),Visitor/Neutral,PTS,Home/Neutral,PTS,,,Notes\n"Tue, Oct 24, 2023",7:30p,x,107,y,119,Box,,\n', {},
        [1], "took Home/Neutral and Visitor/Neutral for a and b, the first of whom has the side; PTS .2. and PTS .1. for .*",
    ),
    "goals after each player": ("Visitor,G,Home,G,,Att.\nx,1,y,2,OT,\n", {}, [1], ".*Home and Visitor for.*; G .2. and G .1. for .*"),
    "ties of winners and losers": (
        {"Winner/tie": X, "": list(" @ @"), "Loser/tie": Y, "PtsW": [9, 3, 7, 2], "PtsL": [1, 3, 0, 2]}, {}, [1, 0.5, 1, 0.5],
        "took Winner/tie and Loser/tie for winner and loser; PtsW and PtsL for the draws .2 of 4 matches.;.*",
    ),
    "how either side ended": (
        {"white": X, "black": Y, "white result": ["win", "resigned", "agreed", "checkmated"],
         "black result": ["timeout", "win", "agreed", "win"]}, {}, [1, 0, 0.5, 0], ".*white result for the score.*",
    ),
    "a letter and points": ({"team": X, "opponent": Y, "result": ["W 3-1", "L, 1\u20133", "D 1-1", "L 4-2 (OT)"]}, {},
                            [1, 0, 0.5, 0], ".*result for the score.*"),
    "a letter and a margin": ({"black": X, "white": Y, "result": ["B+R", "W+2.5", "jigo", "B+Resign"]}, {"a": "black", "b": "white"},
                              [1, 0, 0.5, 1], ".*"),
    "signed margins": ({"home": X, "away": Y, "margin": [3, -1, 0, 5]}, {}, [1, 0, 0.5, 1],
                       ".* the side; margin for the lead of home, whose sign tells who won;.*"),
    "winners in Spanish": ("Ganador;Perdedor\nx;y\n", {}, [1], "took Ganador and Perdedor for winner and loser.*"),
    "decimal commas": ("a;b;score\nx;y;1,0\ny;x;0,5\n", {}, [1, 0.5], ""),
    "nested objects": (
        {"teams.home.name": ["x"], "teams.away.name": ["y"], "goals.home": [2], "goals.away": [1]}, {}, [1],
        "took teams.home.name and teams.away.name for a and b, the first of whom has the side; goals.home and goals.away .*",
    ),
    "line-ups of sides": (
        {"Home 1": ["x"], "Home 2": ["y"], "Away 1": ["z"], "Away 2": ["u"], "score": [1]}, {}, [0, 0, 2, 2],
        "took Home 1, Home 2 for the team of a, and Away 1, Away 2 for that of b;.*",
    ),
    "line-ups with letters": (
        {"Player 1A": ["x"], "Player 1B": ["y"], "Player 2A": ["z"], "Player 2B": ["u"], "result": ["L"]}, {}, [2, 2, 0, 0],
        "took Player 1A, Player 1B for the team of a, and Player 2A, Player 2B for that of b; result for the score;.*",
    ),
    "chosen and rejected": ("prompt,chosen_model,rejected_model\nx,ash,birch\ny,birch,cedar\n", {}, [1, 1], "took .*"),
    "contests that are called alike in every season": (
        {"year": [1, 1, 2, 2], "race": ["m"] * 4, "driver": ["x", "y"] * 2, "position": [1, 2, 2, 1]}, {}, [0, 1, 1, 0],
        "took year and race for the contest; driver for the participant; position for the rank; name .*",
    ),
    "golf": ({"tournament": [1, 1, 1], "golfer": X[:3], "pos": ["1", "T2", "T2"]}, {}, [0, 1, 1],
             "took tournament for the contest; golfer for the participant; pos for the rank; pos as places, as T2; .*"),
    **{f"a {race}": ({race: [1, 1], driver: ["x", "y"], place: places}, {}, [1, 0], f".*{place} for the rank.*")
       for race, driver, place, places in (("Rennen", "Fahrer", "Platz", ["2.", "1."]), ("Gara", "Atleta", "Posizione", [2, 1]),
                                           ("Épreuve", "Coureur", "Classement", ["2e", "1er"]))},
    "times of runners": ({"race": [1, 1], "runner": ["x", "y"], "finish_time": ["34:10", "33:59"]}, {}, [1, 0],
                         ".*finish_time for the rank; finish_time as times.*"),
    "the second player first": (
        {"away": ["x"], "home": ["y"], "score": ["21-9"]}, {}, [1],
        "took home and away for a and b, the first of whom has the side; score for the score, its first number that of home; .*",
    ),
    "a log of both sides": (
        {"t": [1, 1, 2, 2, 3, 3], "team": list("xyxzyx"), "opponent": list("yxzxxy"), "result": list("WLDDLW")}, {},
        [1, 0, 0.5, 0.5, 0, 1], ".*6 of 6 matches stand there twice.*; drop='mirrored' keeps one row of each match",
    ),
    "a log of one side": (
        {"t": [1, 1, 2, 2, 2, 3], "team": list("xyxzzx"), "opponent": list("yxzxxz"), "result": list("WLDDDW")},
        {"drop": "mirrored"}, [1, 0.5, 0.5, 1], "took .*",
    ),
}  # fmt: skip


READINGS = {  # the table, the scores, and a word of the note
    "an index of the winner": ({"team_a": X, "team_b": Y, "winner": [0, 0, 1, 0]}, [1, 1, 0, 1], "where 0 is a win"),
    "winners as scores": ({"home": X, "away": Y, "winner": [1, 0, 0.5, 1]}, [1, 0, 0.5, 1], "where 1 is a win of home"),
    "words in German": ({"a": X, "b": Y, "Ergebnis": ["Heimsieg", "Auswärtssieg", "Remis", "Gastsieg"]}, [1, 0, 0.5, 0], ""),
    "signs that agree with the goals": ({"home": X, "away": Y, "winner": [1, -1, 0, 1], "hg": [2, 0, 1, 3], "ag": [1, 1, 1, 0]},
                                        [1, 0, 0.5, 1], ""),
    "an index that agrees with the goals": (
        {"home": X, "away": Y, "winner": [0, 1, -1, 0], "hg": [2, 0, 1, 3], "ag": [1, 1, 1, 0]},
        [1, 0, 0.5, 1], "where 0 is a win of home, 1 is one of away and -1 is a draw",
    ),
    "a bracket is no flag": ({"winner": X, "loser": Y, "draw": [32, 32, 64, 64]}, [1, 1, 1, 1], ""),
    "winners that a flag overrules": (
        {"a": X, "b": Y, "winner": ["x", "y", "x", "x"], "drawn": ["no", "yes", "no", "no"]}, [1, 0.5, 0, 1], "drawn for",
    ),
    "no winner, drawn elsewhere": (
        {"team1": X, "team2": Y, "winner": ["x", None, None, "z"], "outcome_type": ["runs", "Match tied", "drawn", "wkts"]},
        [1, 0.5, 0.5, 0], "outcome_type for the draws .2 of 4 matches.",
    ),
    "goals that a third column confirms": (
        {"home": X, "away": Y, "result": list("DDHD"), "FT": ["2-1", "1-1", "1-0", "0-2"], "hg": [2, 1, 1, 0], "ag": [1, 1, 0, 2]},
        [1, 0.5, 1, 0], "hg and ag .* not result, which contradicts them in 2 of 4",
    ),
    "a winner by penalties": (
        {"home": X, "away": Y, "result": list("HAHA"), "hg": [1, 1, 1, 0], "ag": [1, 1, 0, 2]}, [1, 0, 1, 0], "",
    ),
    "colours": ({"Blue": X, "Orange": Y, "Winner": ["Blue", "Orange wins", "orange", "Draw"]}, [1, 0, 0, 0.5], ""),
    "sides that were exchanged": ({"white": Y, "black": X, "result": ["black", "white", "black", "draw"]}, [0, 1, 0, 0.5], ""),
    **{f"not played by {name}": (
        {"winner": X, "loser": Y, name: [played, word, "Retired", played]}, [1, 1, 1], f"{name} for matches that were not "
        "played, which are left out .1 of 4 matches.") for name, played, word in (
            ("Comment", "Completed", "Walkover"), ("status", "finished", "walk_over"), ("result_type", "normal", "No contest"),
            ("score", "6-1 6-0", "W/O"))},
    **{f"partners: {head}": ({**dict(zip(head.split(","), [X, ["p"] * 4, Y, ["q"] * 4], strict=True)), **rest}, [0, 0, 2, 2] * 4,
                             "partner") for head, rest in (
        ("player1,partner1,player2,partner2", {"score1": [2] * 4, "score2": [1] * 4}),
        ("winner,winner_partner,loser,loser_partner", {}), ("a,partner_a,b,partner_b", {"score": [1] * 4}))},
    "columns in the order of the table": ("home,away,result,start,kickoff,day\nx,y,H,soon,later,never\n", [1],
                                          "nothing for the time, as start, kickoff, day has no dates"),
    "a column of sets": ({"home": X, "away": Y, "Sets": ["3:2", "1-3", "0:3", "3:1"]}, [1, 0, 0, 1], "Sets for the score"),
    "only W of west": ({"east": X, "west": Y, "winner": ["W"] * 4}, [0] * 4, ""),
    "lists of both sides": (
        [{"opponents": [{"opponent": {"name": x}} for x in pair], "results": [{"score": 2}, {"score": 1}]} for pair in ("xy", "yx")],
        [1, 1], "opponents.1.opponent.name and opponents.2.opponent.name for a and b; results.1.score",
    ),
    "a flag of forfeits": ({"home": X, "away": Y, "winner": X, "forfeit": [False, True, False, False]}, [1] * 4,
                           "forfeit is true of 1 of 4 matches, which count; drop='forfeit' leaves them out"),
    "forfeits": ({"home": X, "away": Y, "home_goals": [3, 1, 0, 3], "away_goals": [0, 1, 3, 0],
                  "status": ["played", "played", "Forfeit", "awarded"]}, [1, 0.5], r"left out \(2 of 4 matches\)"),
    "only a as the winner": ({"model_a": X, "model_b": Y, "winner": ["a", "model_a", "a", "a"]}, [1, 1, 1, 1], ""),
    "sets": ({"player1": X, "player2": Y, "score": ["6-4 6-3", "3-6, 7-6(5), 2-6", "11-9 11-5 11-7", "6/4 6/1"]},
             [1, 0, 1, 1], "sets of the first player"),
    **{f"sets {home} to {away}": (SCORED | {"home_sets": home, "away_sets": away}, scores, f"home_{taken} and away_{taken} for the")
       for home, away, scores, taken in (
        ([0, 3, 2, 1], [3, 1, 3, 3], [0, 1, 0, 0], "sets"), ([0] * 4, [0] * 4, [1, 0, 1, 1], "score"),
        ([2] * 4, [2] * 4, [1, 0, 1, 1], "score"), ([3, 1, None, None], [1, 3, None, None], [1, 0, 1, 1], "score"))},
    "flags of decisions": ({"fighter1": X, "fighter2": Y, "fighter1_win": [1, 0, 1, 0], "decision": [0, 1, 1, 1]}, [1, 0, 1, 0], "win for"),
    "both in a list": ([{"teams": [{"name": "x"}, {"name": "y"}], "score": [2, 1]}], [1], "teams.1.name and teams.2.name for a"),
    "sets of a winner": ({"player1": X, "player2": Y, "score": ["6-4 6-3"] * 4, "winner": ["y", "y", "x", "x"]}, [0, 1, 0, 1], ""),
    "both names in a cell": (
        {"EVENT": list("1122"), "BOUT": ["x vs. y", "y vs. z", "x v z", "Z versus x"], "OUTCOME": ["W/L", "L/W", "D/D", "L/W"]},
        [1, 0, 0.5, 0], "the two names in BOUT for a and b",
    ),
    "a dash between names": ({"Match": ["x - y", "y \u2013 z"], "Result": ["2-1", "0-0"]}, [1, 0.5], "names in Match"),
    "marks after a score": (
        {"home": X, "away": Y, "score": ["3:2 OT", "0-3 [agg 3-4]", "1-1 (4-3 pens)", "3 : 3 (4-2 p)"]}, [1, 0, 0.5, 0.5], "",
    ),
    "tie-breaks in the first and last set": ({"p1": X, "p2": Y, "score": ["7-6(5) 3-6 6-7(4)"] * 4}, [0] * 4, "sets of the"),
    "percentages": ({"a": X, "b": Y, "score": ["55%", "100 %", "0%", "12,5%"]}, [0.55, 1, 0, 0.125], ""),
    **{head: (f"{head}\nx,y,2-1\ny,x,0-0\n", [1, 0.5], f"the side; {head.split(',')[2]} for the score") for head in (
        "Hemmalag,Bortalag,Resultat", "Hjemmehold,Udehold,Resultat", "Gospodarz,Gość,Wynik",
        "Equipo local,Equipo visitante,Resultado", "Équipe domicile,Équipe extérieur,Résultat", "Domácí,Hosté,Výsledek",
        "Heim,Gast,Ergebnis", "Kotijoukkue,Vierasjoukkue,Tulos", "Ev Sahibi,Deplasman,Skor", "Хозяева,Гости,Счёт", "ホーム,アウェイ,スコア", "主队,客队,比分",
        "Hazai,Vendég,Eredmény", "Gazde,Oaspeti,Scor", "Hjemmelag,Bortelag,Resultat", "home_club_name,away_club_name,result")},
    "players in German": ("Spieler A,Spieler B,Sieger\nx,y,y\n", [0], "Spieler A and Spieler B for a and b"),
    "moments in UTC": ("home,away,result,kickoff\nx,y,H,2026-01-01 18:30:00 UTC\n", [1], "kickoff for the time"),
    "moments of a named zone": ("home,away,result,kickoff\nx,y,H,2026-01-01 18:30 CET\n", [1], "nothing for the time, as kickoff"),
    "results of both": ({"p1": X, "p2": Y, "p1_result": list("WLDW"), "p2_result": list("LWDL")}, [1, 0, 0.5, 1], ""),
    "won by": ({"team1": X, "team2": Y, "winner": ["x won by 5 runs", "z won by 3 wickets", "Match drawn", "x won"]},
               [1, 0, 0.5, 1], ""),
    **{f"the log of a {x}": ({x: X, y: Y, **rest}, [1, 0.5, 0, 1], note) for x, y, rest, note in (
        ("Team", "Opponent", {"Venue": list("HAHA"), "Result": list("WDLW")}, "Team and Opponent for a and b"),
        ("Player", "Opp", {"Prop": Z, "Gov": Z, "Won": [1, 0.5, 0, 1]}, "Won for the score"),
        ("name", "opponent_name", {"score": [1, 0, 0, 1], "opponent_score": [0, 0, 1, 0]}, "score and opponent_score for"),
        ("player_id", "opponent_id", {"result": ["win", "draw", "loss", "win"]}, "result for the score"),
        ("Tm", "Opp", {"W/L": ["W", "T", "L-wo", "W-wo"]}, "W/L for the score"),
        ("School", "Opponent", {"Result": list("WDLW")}, "Result for the score"),
        ("club", "opponent", {"GF": [2, 1, 0, 3], "GA": [1, 1, 1, 2]}, "GF and GA for the points"),
        ("rikishi1_shikona", "rikishi2_shikona", {"rikishi1_win": [1, 1, 0, 1], "rikishi2_win": [0, 1, 1, 0]}, "rikishi1_win and"),
    )},
    **{f"{words[0]} and the like": ({a: X, b: Y, "result": words}, [1, 0.5, 0, 1], "result for the score") for a, b, words in (
        ("team", "opponent", ["W (OT)", "D", "OTL", "W/SO"]),
        ("player", "opposition", ["+", "=", "-", "+"]),
        ("local", "visitante", ["G", "E", "P", "G"]),
        ("home", "away", ["HW", "score draw", "AW", "home win"]),
        ("weiß", "schwarz", ["1-0", "0,5-0,5", "0:1", "1 : 0"]),
        ("east", "west", ["east", "draw", "west", "East wins"]),
        ("left", "right", ["L", "draw", "R", "L"]),
        ("model_a", "model_b", ["A", "About the same", "B", "A is better"]),
        ("player1", "player2", ["2-1-0", "1-1-1", "0-2-0", "2-0-1"]),
        ("gov", "opp", ["gov", "tie", "opp", "Gov"]),
        ("fighter_1", "fighter_2", ["fighter_1", "draw", "Fighter 2", "FIGHTER_1"]),
        ("red_fighter", "blue_fighter", ["Win", "Draw", "Loss", "Win"]),
        ("R_fighter", "B_fighter", ["Red", "Draw", "Blue", "red"]),
    )},
    "points that were awarded": ({"home": X, "away": Y, "result": ["2:0 Wertung", "1-1", "0-3 awd", "2-1"]}, [1, 0.5, 0, 1], ""),
    **{f"no game: {word}": ({"white": X, "black": Y, "result": ["1-0", "1/2-1/2", word, "0-1"]}, [1, 0.5, 0], "1 of 4 rows has no")
       for word in ("+ - -", "1-0F", "unknown")},
    **{f"{x} and {y}": ({"a": X, "b": Y, x: [3, 1, 0, 2], y: [1, 1, 2, 0]}, [1, 0.5, 0, 1], f"{x} and {y} for the points")
       for x, y in (("points_a", "points_b"), ("a_points", "b_points"), ("PtsA", "PtsB"), ("goal_a", "goal_b"),
                    ("team_a_runs", "team_b_runs"), ("touches_a", "touches_b"), ("a_club_goals", "b_club_goals"),
                    ("score_team_a", "score_team_b"), ("sets_won_a", "sets_won_b"),
                    ("rounds_a", "rounds_b"), ("Set A", "Set B"))},
    "goals and points": ({"home": X, "away": Y, "home_goals": [1, 1, 0, 2], "away_goals": [0, 1, 2, 0], "home_points": [9] * 4,
                          "away_points": [8] * 4}, [1, 0.5, 0, 1], "home_points and away_points contradict them in 2 of 4 rows"),
}  # fmt: skip
SIGNED = {"a": ["x", "y", "z", "x"], "b": ["y", "x", "x", "z"], "score": [1, -1, 0, 1]}
VOTES = {  # of four pairs of ash and birch: won, lost, and two that are ties
    "LMArena": ("model_a,model_b,winner", ["model_a", "model_b", "both_bad", "tie"]),
    "evalica": ("left,right,winner", ["left", "right", "tie", "tie"]),
    "MT-Bench": ("model_1,model_2,g1_winner", ["model_1", "model_2", "tie", "tie"]),
    "MT-Bench by pairs": ("model_a,model_b,winner", ["model_a", "model_b", "tie (inconsistent)", "tie"]),
    "AlpacaEval": ("generator_1,generator_2,preference", ["1", "2", "1.5", "1.5"]),
    "Kaggle": ("model_a,model_b,winner_model_a,winner_model_b,winner_tie", ["1,0,0", "0,1,0", "0,0,1", "0,0,1"]),
    "Arena-Hard": ("model_a,model_b,verdict", ["A>>B", "B>A", "A=B", "A=B"]),
    "judges": ("model_a,model_b,judgment", ["[[A]]", "[[B]]", "[[C]]", "[[C]]"]),
    "FastChat": ("left_model,right_model,vote_type", ["leftvote", "rightvote", "tievote", "bothbad_vote"]),
    "options": ("option_1,option_2,selected", ["ash", "birch", "both", "neither"]),
    "the score of one": ("model_a,model_b,score_a", ["1", "0", "0.5", "0.5"]),
    "names": ("model_a_name,model_b_name,preferred", ["ash", "birch", "both_bad", "neither"]),
    "words": ("model_a,model_b,preference", ["Response A is better", "B is slightly better", "same", "Both bad"]),
}
POINTS_OF_NAMED_SIDES = {  # header, a and b, the first row, and the score of a
    "home and away": ("away_team,home_team,away_score,home_score", "away_team", "home_team", "x,y,1,3", 0.0),
    "visitors": ("Visitor,VisitorPts,Home,HomePts", "Visitor", "Home", "x,90,y,100", 0.0),
    "numbers": ("player1,player2,score1,score2", "player2", "player1", "x,y,1,3", 1.0),
    "a winner by number": ("player1,player2,winner", "player2", "player1", "x,y,1", 0.0),
    "team-mates": ("red_one,blue_one,red_score,blue_score", "blue_one", "red_one", "x,y,1,3", 1.0),
    **{
        f"words beside {a}": (f"{b},{a},result", a, b, f"x,y,{word}", 0.0)
        for a, b, word in (
            ("away_team_name", "home_team_name", "H"),
            ("black_id", "white_id", "white"),
            ("model_b_name", "model_a_name", "model_a"),
        )
    },
}
RESULTS_BESIDE_OTHERS = {  # a file, and the scores of the first players
    "somebody won": ("team1,team2,winner,result\nx,y,y,won\ny,z,,draw\nx,z,x,won\n", [0.0, 0.5, 1.0]),
    "black won": ("white,black,winner,result\nx,y,black,win\ny,z,,draw\nx,z,black,win\n", [0.0, 0.5, 0.0]),
    "draws in German": ("winner,loser,Unentschieden\nx,y,nein\ny,z,ja\nx,z,nein\n", [1.0, 0.5, 1.0]),
    "a shoot-out": ("team1,team2,winner,result\nx,y,x,normal\ny,z,,tie\nz,x,x,tie\nx,y,y,normal\n", [1, 0.5, 0, 0]),
    "numbers of both sides": ("player1,player2,winner\nx,y,0\ny,x,1\nx,z,2\n", [0.5, 1.0, 0.0]),
    **{
        f"draws by {name}": (f"winner,loser,{name}\nx,y,{draw}\ny,z,{other}\nx,z,{other}\n", [0.5, 1.0, 1.0])
        for name, draw, other in (
            ("method", "Draw (majority)", "KO"),
            ("result_type", "tie", "normal"),
            ("score", "1-1", "2-1"),
            ("decision", "Majority Draw", "Unanimous"),
            ("ended_in_draw", "yes", "no"),
            ("empate", "sí", "no"),
        )
    },
    "numbers with a point": ("player1_id,player2_id,winner_id\n12,15,12.0\n15,16,16.0\n12,16,\n", [1.0, 0.0]),
    "answers": ("student_id,item_id,correct\nx,p,1\ny,p,0\n", [1.0, 0.0]),
    **{
        f"contests by {name}": (f"game_id,player,{name}\n1,x,{one}\n1,y,{other}\n", [0, 1])
        for name, one, other in (("win", 1, 0), ("result", "W", "L"), ("won", "True", "False"), ("points", 27, 20))
    },
    "truth": ("team_a,team_b,winner\nx,y,true\ny,x,false\n", [1.0, 0.0]),
    "extra time": ("home,away,goals_home,goals_away,score_fulltime_home,score_fulltime_away\nx,y,2,1,1,1\n", [1.0]),
    "blanks after commas": ("a, b, score\nx, y, 1\ny, x, 0\n", [1.0, 0.0]),
}
SIGNS = "took score as 1, 0 and -1 for win, draw and loss.*na_values.*"
READ = {  # the table, options, the scores or ranks, and the whole note as a pattern
    **NAMED,
    **{name: (table, {}, scores, f".*{note}.*") for name, (table, scores, note) in READINGS.items()},
    **{f"votes of {tool}": ("\n".join([head, *(f"ash,birch,{row}" for row in rows), ""]), {}, [1, 0, 0.5, 0.5], ".*")
       for tool, (head, rows) in VOTES.items()},
    **{f"points of named sides: {name}": (f"{header}\n{row}\n", {"a": a, "b": b}, [score], ".*")
       for name, (header, a, b, row, score) in POINTS_OF_NAMED_SIDES.items()},
    **{name: (file, {}, scores, ".*") for name, (file, scores) in RESULTS_BESIDE_OTHERS.items()},
    **{f"signs in {number.__name__}": (SIGNED | {"score": [*map(number, SIGNED["score"])]}, {}, [1, 0, 0.5, 1], SIGNS)
       for number in (int, float)},
    **{f"no result in {number.__name__}: {code}": (
        SIGNED | {"score": [number(float(code) if x == -1 else x) for x in SIGNED["score"]]},
        {"na_values": [code, "void", "inf"]}, [1, 0, 1], "1 of 4 rows has no result(?!.*took).*",
    ) for number in (int, float) for code in ("-1", " -1.0", "999")},
    "signs in a file": ("a,b,score\nx,y,1\ny,x,-1\nz,x,0\nx,z,1\n", {}, [1, 0, 0.5, 1], SIGNS),
    **{f"no result in a file: {code}": (f"a,b,score\nx,y,1\ny,x,{code.strip()}\nz,x,0\nx,z,1\n", {"na_values": [code]},
                                        [1, 0, 1], "1 of 4 rows has no result(?!.*took).*")
       for code in ("-1", " -1.0", "999")},
}  # fmt: skip


@pytest.mark.parametrize("table, options, scores, note", READ.values(), ids=READ)
def test_columns_are_recognised_by_their_names_and_contents(games, table, options, scores, note):
    data, said = read_noting(games(table) if isinstance(table, str) else table, **options)
    assert scores_of(data) == scores and re.fullmatch(note, said), said
    has_side = "side" in options or ("side;" in said and "a" not in options)
    assert data.of_matches is False or (data.matches.context.side is not None) == has_side
    assert not any(name != name.strip() for name in map(str, data.players))


COMING_DAYS = "Tag,Heim,Gast,ToreH,ToreG\n2026-05-01,x,y,1,1\n2026-05-02,y,x,0,1\n"
REFUSED = {  # the table, options, and what is said
    "two readings of 0 and 1": ({"a": X, "b": Y, "winner": [0, 1, -1, 0]}, {}, "0 is a win of a.*1 is a win of a"),
    "two readings of 1 and 2": ({"a": X, "b": Y, "winner": [0, 1, 2, 0]}, {}, "1 is a win of a.*0 is a win of a"),
    "contradictions": (SETTLED, {}, "'result' and 'hg' and 'ag' contradict each other in 2 of 4 rows.*; say "
                       "score='result' or margin=.'hg', 'ag'"),
    "several pairs": ("home_team,away_team,player1,player2,score\nA,B,x,y,1\n", {}, "the players could be home_team and "
                      "away_team, or player1 and player2; say which, as a='home_team'"),
    **{f"more than two: {head}": (f"{head},winner\n{row},A\n", {}, f"{said} are more than two players of a row; give each "
       "participant a row") for head, row, said in (
        ("p1,p2,p3", "A,B,C", "p1, p2 and p3"), ("player_a,player_b,player_c", "A,B,C", "player_a, player_b and player_c"),
        ("player1,player2,player3,player4", "A,B,C,D", "player1, player2 and player3"))},
    "players of teams": ("p1,p2,p3,p4,score\nx,y,z,u,1\n", {}, "of teams name the players of each, as a=.'p1', 'p2'."),
    "a title above the names of columns": ("League 2026\n\nhome,away,score\nx,y,2-1\n", {}, "line 3.: Expected 1 columns.*"
                                           "the first line names the columns: remove what stands above it"),
    "players called strangely": ("ground,one,an,end\nOslo,x,y,H\nOslo,y,z,A\n", {}, "both players, as a='one', b='an'; of"),
    "two rows of names": (",Home,,Away,\nDate,Team,Goals,Team,Goals\n2024-01-05,x,2,y,1\n", {}, "two rows name the columns; join"),
    "a column twice": ({"race": [1], "p": ["x"]}, {"contest": "race", "participant": "p", "rank": "p"},
                       "contest, participant and rank name a column twice: race, p, p; name a different column for each"),
    "several opponents": ("team,player,opponent,won\nA,x,B,1\n", {},
                          "could be team and opponent, or player and opponent; say which, as a='team'"),
    "no opponent": ("winner,loser\nx,y\ny,\n,x\n", {}, "row 2 .*'winner' has no value; on_faulty='skip'"),
    "items that are players": ("student,question,correct\n1,1,1\n2,1,0\n", {}, "names in common, as '1', which would be one"),
    "no loser": ("game,winner,other\n1,x,y\n", {}, "no column 'loser'; name it, as loser='game'"),
    "scores that a winner contradicts": (
        {"home": X, "away": Y, "score": ["2-0", "0-1", "3-1", "0-1"], "winner": ["x", "draw", "x", "x"]}, {},
        "columns 'score' and 'winner' contradict each other in 3 of 4 rows"),
    "a strange result": ("home,away,result\nx,y,H\ny,x,odd\nx,y,D\n", {}, r"^games.csv: row 1 \(counting from 0, line "
                         r"3\): column 'result' is 'odd', no result as the others are; if it"),
    "numbers from 0 to 2": ("model_a,model_b,label\nx,y,0\ny,x,1\nx,y,2\n", {}, "row 0 .*no result as the others are; write W, "
                            "D and L of the first player in place of the numbers; if it"),
    "nothing played": ({"winner": X, "loser": Y, "Comment": ["W/O"] * 4}, {}, "no rows are left: 'Comment' drops them all"),
    "ranks tell no winner": ("home,away,rank\nx,y,3\ny,x,4\n", {}, "no column 'score'"),
    "the result as margin": ("Heim,Gast,Ergebnis\nx,y,2:1\n", {"margin": "Ergebnis"}, "'Ergebnis' tells who won, so that"),
    **{f"a header alone: {head}": (f"{head}\n", {}, "no rows")
       for head in ("home,away,hg,ag,date", "Datum,Heim,Gast,Ergebnis", "contest,player,rank")},
    "very many marks after a score": ({"home": X[:2], "away": Y[:2], "score": ["1-0", "2-1 " + "ot " * 100 + "\nx"]}, {},
                                      "no result as the others are"),  # which took very long
    "strange points": (COMING_DAYS, {"a": "Heim", "b": "Gast"},
                       "no column 'score'; [^?]* score='...'; [^?]*margin=.'...', '...'"),  # and no "did you mean"
}  # fmt: skip


@pytest.mark.parametrize("table, options, message", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_told_is_refused(games, table, options, message):
    with pytest.raises(ValueError, match=message):
        read(games(table) if isinstance(table, str) else table, **options)


def test_wins_by_nothing_are_told():
    table = {"winner": ["x", "y"], "loser": ["y", "z"], "winner_score": [1, 3], "loser_score": [1, 2]}
    assert "1 of 2 matches won by nothing, as winner_score and loser_score say, count as won" in read_noting(table)[1]
    assert "won by nothing" not in read_noting(table | {"draw": ["yes", "no"]})[1]


def test_matches_to_come_are_no_mirrors(games):
    table = games("team1,team2,date\nx,y,2027-01-01\ny,x,2027-01-01\n")
    assert "stand there twice" not in read_noting(table, upcoming=True)[1]


def test_strange_rows_are_skipped_on_demand(games):
    data, said = read_noting(games("winner,loser\nx,y\ny,\n,x\n"), on_faulty="skip")
    assert "skipped 2 of 3 rows" in said and data.rows.tolist() == [0]
    data, said = read_noting(games("home,away,result\nx,y,H\ny,x,odd\nx,y,D\n"), na_values=["odd"])
    assert "1 of 3 rows has no result and is left out" in said and data.rows.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["bye", "BYE", "x"], "players are called 'bye', 'BYE', rated.*on_faulty='skip'"),
        (["Walk-over", "y", "x"], "a player is called 'Walk-over', rated"),
        (["x / y", "x", "y"], "called 'x / y', rated as one.*a=.'a'., b="),
        (["x & y", "x & z", "y & z"], "'x & y', 'x & z', 'y & z', rated as one"),
        (["Goodbye", "Brighton & Hove", "Hove"], "'Brighton & Hove'"),
        (["Byes", "Goodbye", "z"], ""),
        (["lab/model", "lab/model-2", "C++"], ""),
    ],
)
def test_players_who_may_be_no_single_player_are_told(names, said):
    table = {"a": names, "b": ["p", "q", "C"], "score": [1, 0, 1]}
    notes = read_noting(table)[1]
    assert re.search(said, notes) if said else not notes
    assert "rated as" not in read_noting(table, history=NamesOfEarlierData(names))[1]  # who were told before


WRITTEN = ["W D L", "H D A", "Home Draw Away", "1 X 2", "1-0 1/2-1/2 0-1", "1-0 ½-½ 0-1", "2-1 0:0 1-3", "1 0.5 0"]


@pytest.mark.parametrize("written", [*WRITTEN, "1 0 -1", "x draw x", "1-0 1/2 0-1", "1:0 remis 0:1"])
def test_ways_to_write_results(source, written):
    with pytest.warns(UserWarning, match="took white and black for a and b.*; Result for the score"):
        data = read(source({"white": ["x", "y", "z"], "black": ["y", "x", "x"], "Result": written.split()}))
    assert data.matches.score.tolist() == [1, 0.5, 0]


@pytest.mark.parametrize("text", ["", "P", "P-P", "postp.", "NA", "-", " p "])
def test_what_counts_as_missing(games, text):
    with pytest.warns(UserWarning) as notes:
        data = read(games(f"home,away,result,hg,ag\nx,y,H,1,0\ny,x,{text},,\nx,z,D,0,0\n"))
        goals = read(games(f"home,away,hg,ag\nx,y,1,0\ny,x,{text},{text}\nx,z,0,0\n"))
    assert data.rows.tolist() == goals.rows.tolist() == [0, 2]
    assert goals.matches.score.tolist() == [1, 0.5]
    assert any("1 of 3 rows has no result and is left out: 1 is to come" in str(x.message) for x in notes)


@pytest.mark.parametrize(
    "name",
    ["created_utc", "gameCreation", "unix_timestamp", "commence_time", "date_of_match", "Datum/Uhrzeit", "played"],
)
def test_names_of_times(name):
    for day in (1704067200, "2024-01-01"):
        assert read_noting({"a": ["x"], "b": ["y"], "score": [1], name: [day]})[0].matches.time.tolist() == [19723]


@pytest.mark.parametrize("blank", [None, "", "NA"])
def test_a_match_without_a_winner_is_drawn_where_the_points_are_equal(blank):
    table = {"date": ["2026-03-07", "2026-03-08", "2026-03-09", "2026-04-01"], "winner": ["Ash", blank, "Ash", blank]}
    table |= {"home_team": ["Ash", "Birch", "Cedar", "Ash"], "away_team": ["Birch", "Cedar", "Ash", "Cedar"]}
    table |= {"away_score": [1, 1, 3, None]}
    told = "home_score and away_score for the draws (1 of 4 matches)"
    for home_score in ([2, 1, 0, None], [2, 1, 3, None]):  # the last is level, and won all the same
        data, said = read_noting(table | {"home_score": home_score})
        assert data.matches.score.tolist() == [1.0, 0.5, 0.0] and len(data.fixtures.matches.score) == 1 and told in said
    contradicted, said = read_noting(table | {"home_score": [2, 1, 4, None]})
    assert contradicted.matches.score.tolist() == [1.0, 0.0] and told not in said


def test_an_object_that_a_record_lacks_is_no_column():
    records = [{"x": 1, "home": None}, {"x": 2, "home": {"team": {"name": "Ada"}}}]
    assert records_to_columns(records) == {"x": [1, 2], "home.team.name": [None, "Ada"]}
