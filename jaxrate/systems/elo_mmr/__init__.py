"""Elo-MMR, in pieces.

system.py            elo_mmr and elo_mmx: ratings of massive rounds
belief.py            beliefs of Elo-MMR: performances of the past, drift and noise
density_dispatch.py  performances by density: of single players, and of teams
"""
