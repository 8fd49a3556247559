"""Urnings, in pieces.

system.py       the system: its parameters, state and rules
matchmakers.py  who meets whom, and how probable a pair was
world.py        games of known proportions, and histories of a known matchmaker
tries.py        many tries at once, as exact as one by one
inference.py    what urns tell of skills: bands, sides, whether two urns hold one skill
"""
