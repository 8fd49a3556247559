"""Category Glicko, in pieces.

system.py  glicko with categories of opponents
"""
