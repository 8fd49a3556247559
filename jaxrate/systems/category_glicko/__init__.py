"""Category Glicko, in pieces.

system.py               the system: its formulas, what it learns, and its factory
state_and_strengths.py  hyperparameters, state, and what is expected before an event
posterior.py            the strengths at which prior times likelihood is largest
"""
