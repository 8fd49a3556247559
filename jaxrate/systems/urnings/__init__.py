"""Urnings, in pieces.

system.py       the system: its formulas, what it learns, and its factory
model.py        hyperparameters, urns, and what they expect of a match
matchmakers.py  who meets whom, and how probable a pair was
world.py        games of known proportions, and histories of a known matchmaker
tries.py        many tries at once, as exact as one by one
law.py          the exact law of a few urns together, and of each of many
inference.py    what urns tell of skills: bands, sides, whether two urns hold one skill, who has changed
"""
