"""The cases of the reference numbers of BlatMMR in `blat_mmr.npz`, of which each belief has about 40 cells.

single_cells [case, player, 41], single_ref [case, result, player, kind, 41], single_statistics [case, result, player,
statistic]: in the order of CASES, RESULTS, A and B, KINDS, STATISTICS. league_*: the 20 matches; history columns
evidence, evidence inside, then mean and variance of A and of B. figure_*: [beta, sigma, ...]. laplace_i_*: the whole of
random case i. laplace_grid, edge, centre [row, 41] at their `_cells`.
"""

from tests.reference.blat_twin import GRID, normal

CASES = {  # blat_single: the priors of A and B
    "default_vs_default": (normal(GRID), normal(GRID)),
    "strong_vs_weak": (normal(GRID, 3.0, 0.4), normal(GRID, -2.0, 1.0)),
    "edge_hi_vs_edge_lo": (normal(GRID, 6.5, 0.5), normal(GRID, -6.5, 0.5)),
    "bimodal_vs_narrow": (
        0.5 * normal(GRID, -2.0, 0.3) + 0.5 * normal(GRID, 2.5, 0.5),
        normal(GRID, 0.5, 0.05),
    ),
    "near_vs_near": (normal(GRID, 0.4, 0.25), normal(GRID, 0.1, 0.21)),
}
RESULTS = {"win": 1.0, "loss": 0.0, "draw": 0.5}
KINDS = ("ref_inside", "ref_marg", "ref_nokernel_inside", "ref_nokernel_marg", "author_fft")
STATISTICS = (
    *("ref_inside_mean", "ref_inside_var", "evidence_inside"),
    *("ref_marg_mean", "ref_marg_var", "evidence_marg"),
    *("author_mean", "author_sd"),
)
