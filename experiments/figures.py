"""How the figures of the experiments look, and where they are saved."""

import matplotlib

from jaxrate.plots import COLOURS

matplotlib.use("Agg")
from matplotlib import pyplot as plt

BLUE, RED, GREEN, PURPLE, _, ORANGE, _ = COLOURS
plt.rcParams |= {
    "axes.prop_cycle": plt.cycler(color=COLOURS),
    "figure.constrained_layout.use": True,
    "legend.frameon": False,
    "savefig.dpi": 130,
}


def legend_above(figure, axes, columns):
    """Of all panels, by the labels of one."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=columns)


def save(figures, out, prefix):
    """Beside the JSON file `out`, if there is to be one, each by its name."""
    for name, figure in figures.items() if out else ():
        figure.savefig(out.parent / f"{prefix}_{name}.png")
