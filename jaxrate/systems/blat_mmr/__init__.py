"""BlatMMR, in pieces that compose.

luck.py     luck functions: how likely strength x beats y
kernels.py  kernels: how beliefs spread between matches
priors.py   priors: what is believed of newcomers
functions.py, hyperparameters.py, checks.py  functions of one's own: what they take, what of it is fitted, what they are
sums.py     algorithms: what a result says, averaged over the opponent's strengths
laplace.py  linear-time sums over Laplace distributions
model.py    the static choices, checked, with hyperparameters and state
averages.py what a match says of one player, averaged over the other one
system.py   the system: its formulas, its rules and its factory
beliefs.py  what a belief says: quantiles, who is stronger, chances of results, evidence
"""

from jaxrate.systems.blat_mmr import kernels, luck
from jaxrate.systems.blat_mmr.system import blat_mmr

__all__ = ["blat_mmr", "kernels", "luck"]
