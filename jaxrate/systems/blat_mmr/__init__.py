"""BlatMMR, in pieces that compose.

luck.py                       luck functions: how likely strength x beats y
kernels.py                    kernels: how beliefs spread between matches
priors.py                     priors: what is believed of newcomers
settings_and_state.py         the static choices, checked, with hyperparameters and state
system.py                     the system: its formulas, its rules and its factory
function_hyperparameters.py   functions of one's own for kernels and priors
kernel_components.py          components of a kernel: their tables, and how a belief is spread by them
custom_kernel_matrices.py     kernels of one's own as numbers on the host
laplace_distribution_sums.py  sums over Laplace distributions in linear time, on any sorted support (section 4.3)
opponent_sum_algorithms.py    algorithms: what a result says about either player's strength
algorithm_preferences.py      which algorithms are fastest on a kind of device
opponent_averages.py          what a match says of one player, averaged over the strengths that the other one may have
rules.py                      the rules of BlatMMR: what time, a prediction and a match do to beliefs
"""

from jaxrate.systems.blat_mmr import kernels, luck
from jaxrate.systems.blat_mmr.system import blat_mmr

__all__ = ["blat_mmr", "kernels", "luck"]
