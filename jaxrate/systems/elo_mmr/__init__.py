"""Elo-MMR, in pieces.

system.py  the system: its formulas, state and rules, and the factories of Elo-MMR and Elo-MMX
model.py   its hyperparameters, and what is static
teams.py   Elo-MMX of teams
belief.py  the belief about a player: how it spreads, learns and where its mode lies
spread.py  how far skills drift and performances scatter
routes.py  which of the ways to infer and to expect performances a density takes
"""
