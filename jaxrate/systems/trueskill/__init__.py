"""TrueSkill, in pieces.

system.py       the system: its formulas, what it learns, and its factory
model.py        hyperparameters, state, and what is expected before an event
propagation.py  what the standing of a round says about its teams
outlook.py      predictions in full: who wins, draws, ranks, match quality
"""
