"""Urnings, in pieces.

system.py                the system: its formulas, what it learns, and its factory
state_and_prediction.py  hyperparameters, urns, and what they expect of a match
"""
