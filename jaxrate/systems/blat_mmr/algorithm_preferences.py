"""Which algorithms are fastest on a kind of device, by `algorithm_preferences.json`.

The line of the CPU rests on `experiments/blatmmr_speed.py`. That of the GPU is replaced by what
`experiments/gpu_record.py` measures; until then it rests on the programs that `experiments/gpu_blat_mmr.py` counts: a
Fourier transform is in no CUDA graph, so the host would wait for it in every step.
"""

import json
from functools import cache
from importlib import resources
from typing import NamedTuple

from jaxrate.core.backend_dependent_operations import has_launch_overhead

TABLE_FILE = "algorithm_preferences.json"


class AlgorithmPreferences(NamedTuple):
    """What wins where several algorithms are exact."""

    sums: tuple[str, ...]  # over the opponent's strengths, the fastest first
    band_taps: int  # to either side of a kernel up to which a band is fastest
    wide_kernel: str  # of a kernel of the distance beyond them: "fft", or "naive", a product with its whole matrix


@cache
def read_preferences() -> dict[str, AlgorithmPreferences]:
    """The preferences by kind of device, "cpu" or "gpu"."""
    table = json.loads(resources.files(__package__).joinpath(TABLE_FILE).read_text(encoding="utf-8"))
    return {
        kind: AlgorithmPreferences(tuple(row["sums"]), row["band_taps"], row["wide_kernel"])
        for kind, row in table.items()
    }


def device_preferences() -> AlgorithmPreferences:
    """Those of the device in use."""
    return read_preferences()["gpu" if has_launch_overhead() else "cpu"]
