"""Skills, in pieces.

system.py        the system: its formulas, its factory, and what it needs of events
checks.py        whether matches have what it learns from
adapting.py      for given data
rules.py         what is expected before an event, and learnt after it
model.py         settings, hyperparameters, state
passing.py       what time does: growth, reversion, seasons
strengths.py     what players bring to a match
observations.py  what a result says of them, and how likely it was
statistics.py    what was counted beside the result says of them
posterior.py     what they are believed to be after it
"""
