"""TrueSkill, in pieces.

system.py                  the system: its formulas, what it learns, and its factory
state_and_prediction.py    hyperparameters, state, and what is expected before an event
propagation.py             what the standing of a round says about its teams
win_draw_probabilities.py  what TrueSkill expects in full: who wins, whether nobody does, the ranks, and match quality
"""
