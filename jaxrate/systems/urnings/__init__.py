"""Urnings, in pieces.

system.py  the system: its formulas, what it learns, and its factory
model.py   hyperparameters, urns, and what they expect of a match
"""
