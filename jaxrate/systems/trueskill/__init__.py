"""TrueSkill, in pieces.

system.py  trueSkill (Herbrich, Minka and Graepel 2006, "TrueSkill: a Bayesian skill rating system")
"""
