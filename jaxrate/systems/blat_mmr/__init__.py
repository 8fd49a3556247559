"""BlatMMR, in pieces that compose.

luck.py                     luck functions: how likely strength x beats y
kernels.py                  kernels, by which strengths drift on the grid
settings.py                 the settings, the constants and the state of BlatMMR
system.py                   blat_mmr: Bayes on a grid of strengths, for games of luck, and its rules
opponent_sum_algorithms.py  algorithms: what a result says about either player's strength
"""

from jaxrate.systems.blat_mmr import kernels, luck
from jaxrate.systems.blat_mmr.system import blat_mmr

__all__ = ["blat_mmr", "kernels", "luck"]
