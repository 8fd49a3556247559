"""The reference numbers of BlatMMR, and the cases that they are of.

`python -m tests.reference.blat_reference GOLDEN_FOLDER` makes `blat_mmr.npz`, the small reference beside this file,
from the golden files; `reference` says what is in it.
"""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

from tests.reference.blat_twin import GRID, moments, normal

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


def cells(p, count=41):
    """Cells of GRID, evenly over 6 deviations around the mean: none is wasted where a narrow belief is all but zero."""
    mean, variance = moments(GRID, p)
    inside = np.flatnonzero(np.abs(GRID - mean) <= 6.0 * math.sqrt(variance))
    return np.linspace(inside[0], inside[-1], count).round().astype(np.int16)


def reference(folder):
    """The arrays of `blat_mmr.npz`, from the golden files in `folder`: every case, about 40 cells of each belief.

    single_cells [case, player, 41], single_ref [case, result, player, kind, 41], single_statistics [case, result,
    player, statistic]: in the order of CASES, RESULTS, A and B, KINDS, STATISTICS. league_*: the 20 matches; history
    columns evidence, evidence inside, then mean and variance of A and of B. figure_*: [beta, sigma, ...]. laplace_i_*:
    the whole of random case i. laplace_grid, edge, centre [row, 41] at their `_cells`.
    """
    arrays = {}

    golden = np.load(folder / "blat_single.npz")
    notes = json.loads((folder / "blat_single.json").read_text())["cases"]
    where = np.array([[cells(golden[f"{case}/{player}_prior"]) for player in "AB"] for case in CASES])
    arrays["single_cells"] = where
    arrays["single_ref"] = np.array(
        [
            [
                [
                    [golden[f"{case}/{r}/{player}_{kind}"][where[i, j]] for kind in KINDS]
                    for j, player in enumerate("AB")
                ]
                for r in RESULTS
            ]
            for i, case in enumerate(CASES)
        ]
    )
    arrays["single_statistics"] = np.array(
        [[[[notes[f"{c}/{r}/"][player][s] for s in STATISTICS] for player in "AB"] for r in RESULTS] for c in CASES]
    )

    golden = np.load(folder / "blat_league20.npz")
    arrays["league_matches"] = np.stack([golden["a"], golden["b"], golden["score"].astype(np.int32)], 1)
    arrays["league_cells"] = np.array([cells(p) for p in golden["final_ref_inside_draw"]])
    final = np.take_along_axis(golden["final_ref_inside_draw"], arrays["league_cells"].astype(int), 1)
    arrays["league_final_ref_inside_draw"] = final
    arrays["league_history"] = golden["ref_hist_ev_evInside_muA_varA_muB_varB"]
    arrays["league_moments"] = np.stack([golden["final_ref_mean"], golden["final_ref_var"]], 1)

    golden = np.load(folder / "blat_fig31.npz")
    arrays["figure_beta"], arrays["figure_sigma"], arrays["figure_m"] = golden["betas"], golden["sigmas"], golden["m"]
    arrays["figure_change"] = golden["diff"]

    golden = np.load(folder / "blat_laplace.npz")
    for i in range(4):
        for name in ("x", "rho", "y", "b", "Q_ref", "T_ref"):
            arrays[f"laplace_{i}_{name}"] = golden[f"{i}/{name}"]

    golden = np.load(folder / "blat_laplace_grid.npz")
    even = np.linspace(0, 1000, 41).astype(np.int16)
    arrays["laplace_grid_cells"] = even
    arrays["laplace_grid"] = np.stack(
        [golden[name][even] for name in ("L_ref", "L_author", "kernel_ref", "kernel_author_buggy")]
    )

    golden = np.load(folder / "blat_kernel_edges.npz")
    notes = json.loads((folder / "blat_extra.json").read_text())
    for name in ("edge", "centre"):
        where = cells(golden[f"{name}_in"])
        arrays[f"{name}_cells"] = where
        arrays[name] = np.stack([golden[f"{name}_{kind}"][where] for kind in ("in", "global", "markov", "author")])
        arrays[f"{name}_statistics"] = np.array(
            [
                notes[f"kernel_{name}"][s]
                for s in ("mean_in", "mean_global", "mean_markov", "mass_lost_fraction_global", "max_diff")
            ]
        )
    arrays["kernel_variance"] = np.array(
        [notes["kernel_variance_on_grid_untrimmed"], notes["kernel_variance_trimmed29"]]
    )

    def floats(fractions):
        return np.array([float(Fraction(f)) for f in fractions])

    paper = json.loads((folder / "blat_examples.json").read_text())
    for name in ("exact_A", "exact_B", "unnormalised_A"):
        arrays[f"example_4_1_{name}"] = floats(paper["example_4_1"][name].values())
    arrays["example_4_1_evidence"] = floats([paper["example_4_1"]["evidence"]])
    for name in ("correct", "author_naive_kernel"):
        arrays[f"example_4_2_{name}"] = np.array(paper["example_4_2"][name])
    mixtures = notes["example_2_15_nonDirac"]
    for name in ("muA", "muB"):
        arrays[f"example_2_15_{name}"] = np.array([floats(row) for row in mixtures[name]])
    for name in ("S", "alpha", "beta", "posterior_A_win", "posterior_B_loses", "draw_eq1_posterior_A"):
        arrays[f"example_2_15_{name}"] = floats(mixtures[name])
    arrays["example_2_15_evidence"] = floats([mixtures["evidence"]])
    arrays["example_2_14"] = np.array(
        [notes["example_2_14"][name] for name in ("wins", "losses", "mean_p", "beta_mean")]
    )
    arrays["example_2_10"] = np.array(notes["example_2_10"])
    return arrays


if __name__ == "__main__":
    np.savez_compressed(Path(__file__).with_name("blat_mmr.npz"), **reference(Path(sys.argv[1])))
