"""BlatMMR by each algorithm: sums by low rank, Fourier transforms or whole matrices, kernels by these two or a band.

Decides: what `algorithm="auto"` takes on a device, by `PREFERENCES` of BlatMMR.
"""

from threading import Lock
from unittest.mock import patch

import jaxrate as jr
from gpu_parts.histories import resize_history
from gpu_parts.replay_clock import time_replay
from jaxrate.systems.blat_mmr import settings
from jaxrate.systems.blat_mmr.settings import AlgorithmPreferences

HISTORY = {"history": "uniform", "matches": 100_000, "players": 20_000, "width": 1_024}
SUMS = "low_rank", "fft", "naive"
KERNELS = {"band": 10_000, "fft": 0, "naive": 0}  # taps up to which a band is taken
TAPS = 12, 50, 100, 250  # to either side, of kernels of other widths
SIZE, HALF_WIDTH = 1001, 7.0  # the grid of the factory
STEP = 2.0 * HALF_WIDTH / (SIZE - 1)
WIDTHS_COVERED = 5.3  # of a Gaussian kernel, in float32
LOCK = Lock()  # one system is made at a time
SLOW = 0.02  # share of the matches that whole matrices rate: they are made anew for each match


def cases(options):
    history = resize_history(HISTORY, options) | ({"width": 64} if options.quick else {})
    for summing in SUMS[1 : 1 if options.quick else None]:  # low rank is in the other table
        few = {"matches": max(int(history["matches"] * SLOW), 100), "width": 64} if summing == "naive" else {}
        yield {"table": "sums", "system": "blat_mmr", "sums": summing, "kernel": "band", "taps": 12} | history | few
    for taps in TAPS[: 1 if options.quick else None]:
        for kernel in KERNELS:
            yield {
                "table": "kernels",
                "system": "blat_mmr",
                "sums": "low_rank",
                "kernel": kernel,
                "taps": taps,
            } | history


def run(case, options):
    return time_replay(case, options, system_by(case, options))


def system_by(case, options):
    """A system with the algorithms of a case, as if they were the fastest."""
    order = case["sums"], *(x for x in SUMS if x != case["sums"])
    wide = "fft" if case["kernel"] == "band" else case["kernel"]
    preferences = AlgorithmPreferences(order, KERNELS[case["kernel"]], wide)
    width = case["taps"] * STEP / WIDTHS_COVERED * 0.999
    grid = {"size": 101, "half_width": 3.0, "kernel_width": 0.2} if options.quick else {"kernel_width": width}
    with LOCK, patch.object(settings, "device_preferences", lambda: preferences):
        return jr.blat_mmr(**grid)
