"""Elo-MMR, in pieces.

system.py             elo_mmr and elo_mmx: ratings of massive rounds
belief.py             beliefs of Elo-MMR: performances of the past, drift and noise
team_performances.py  Elo-MMX of teams
"""
