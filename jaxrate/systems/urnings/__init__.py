"""Urnings, in pieces.

system.py  urnings (Bolsinova, Maris, Hofman, van der Maas and Brinkhuis 2022)
"""
