"""Elo-MMR, in pieces.

system.py                  the system: its formulas, state and rules, and the factories of Elo-MMR and Elo-MMX
settings_and_constants.py  its hyperparameters, and what is static
belief.py                  the belief about a player: how it spreads, learns and where its mode lies
drift_and_noise.py         how far skills drift and performances scatter
density_dispatch.py        which route a density of performances takes
team_inference.py          Elo-MMX of teams (Ebtekar and Liu 2021, section 7)
"""
