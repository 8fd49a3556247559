"""The NFL's results 1920 to 2021: ratings through time as one picture, and predictions beside FiveThirtyEight's.

    python experiments/nfl.py           # two minutes; writes four PNG and JSON to experiments/results
    python experiments/nfl.py --quick   # seconds, of Elo alone; writes nothing unless --out is given

The data ship with the package. The hyperparameters are fitted to the first four fifths of the matches, and all systems
are scored on the last fifth. FiveThirtyEight's probabilities are those that it published before each match; its Elo
knows by how much matches were won, and pulls ratings to the mean between seasons. `margin_elo` is the same Elo, as the
guide "A system of your own" writes it. The picture of all teams, by `jr.glicko(side_advantage=60)`, is there for light
and for dark pages. The other one has four careers by skills that learn from margins, at the time and in hindsight.
"""

import io
import re
from pathlib import Path

import numpy as np
from common import log_losses, mean_and_error, measure
from figures import legend_above, plt
from PIL import Image

import jaxrate as jr
from jaxrate import parts, plots
from jaxrate.plots import plot_style as style

DATA = jr.data.datasets.nfl()
GUIDE: dict = {}
exec(
    re.search(r"```python\n(.*?)```", (Path(jr.__file__).parent / "guides/own_system.md").read_text(), re.DOTALL)[1],
    GUIDE,
)
MAKE = jr.extend.SYSTEMS | {"margin_elo": GUIDE["margin_elo"]}
SYSTEMS = {
    "elo": (jr.elo(side_advantage=60.0), ("k", "side_advantage")),
    "glicko": (jr.glicko(side_advantage=60.0), ("c", "initial_deviation", "side_advantage")),
    "glicko2": (jr.glicko2(side_advantage=60.0), ("tau", "initial_volatility", "initial_deviation", "side_advantage")),
    "margin_elo": (GUIDE["margin_elo"](), ("k", "revert", "initial_rating", "side_advantage")),
}
TEAMS = ["Chicago Bears", "Green Bay Packers", "New England Patriots", "Kansas City Chiefs"]
CAREERS = {  # and the years that are shown
    "Green Bay Packers": (1958, 1970),
    "Pittsburgh Steelers": (1969, 1984),
    "San Francisco 49ers": (1978, 2000),
    "New England Patriots": (1998, 2021),
}


def part_losses(options):
    """A row for each system, scored on the last fifth."""
    systems = {"elo": SYSTEMS["elo"]} if options.quick else SYSTEMS
    matches = DATA.matches
    score = np.asarray(matches.score, np.float64)
    n = len(score)
    early, late = np.arange(n) < n * 4 // 5, np.arange(n) >= n * 4 // 5
    forecast = jr.data.datasets.nfl_forecast()
    theirs = log_losses(forecast, score)
    rows = [{"system": "FiveThirtyEight", "fitted_loss": float(theirs[late].mean())}]
    for name, (system, free) in systems.items():
        fitted = jr.fit(system, matches, free=free, objective=jr.fitting.ahead(weight=early))
        default, best = (log_losses(jr.run(x, matches).prediction, score) for x in (MAKE[name](), fitted.system))
        row = {"system": name, "default_loss": default[late].mean(), "fitted_loss": best[late].mean()}
        values = {parameter: float(getattr(fitted.params, parameter)) for parameter in free}
        rows.append(row | mean_and_error((best - theirs)[late]) | values)
    return {"log loss on the last fifth": rows}


def picture():
    """All careers by the system of the first page of the documentation, whose table stands above the picture."""
    return plots.careers(jr.rate(jr.glicko(side_advantage=60.0), DATA), TEAMS, others=DATA.players, step=365.25).figure


def phone_picture():
    """All careers with two names, as wide as a phone."""
    ax = plots.make_axes(
        size=(3.4, 3.4), title="A hundred years of the NFL", subtitle="Ratings by season; in grey 50% and 90% of others"
    )
    rated = jr.rate(jr.glicko(side_advantage=60.0), DATA)
    table = plots.careers(rated, TEAMS[::2], others=DATA.players, step=365.25).figure.axes[0]
    for path in [path for band in table.collections for path in band.get_paths()]:
        ax.fill(*path.vertices.T, color=style.PALE, alpha=0.45, linewidth=0.0, zorder=1)
    for line in table.lines:
        if len(line.get_xdata()) > 1:
            look = {name: getattr(line, f"get_{name}")() for name in ("color", "linewidth", "linestyle", "zorder")}
            ax.plot(*line.get_data(), **look)
    for name, colour, x, side in zip(TEAMS[::2], plots.COLOURS, (0.02, 0.98), ("left", "right"), strict=False):
        ax.text(x, 1.0, name.split()[-1], color=style.TEXT_COLOURS[colour], transform=ax.transAxes, ha=side)
    style.format_ticks_with_thousands(ax, "y")
    style.label_time_axis(ax, "date")
    return ax.figure


def hindsight():
    """Four careers, before each game and in the light of all."""
    system = jr.skills(
        parts.seasons(DATA.seasons), parts.side(50.0), observe=parts.margin(*DATA.margin, compression=10.0)
    )
    system = jr.fit(system, DATA).system
    then, now = jr.rate(system, DATA), jr.smooth(system, DATA)
    figure, panels = plt.subplots(2, 2, figsize=(9.0, 5.4), sharey=True, facecolor=plots.PAPER)
    for panel, (team, (begin, end)) in zip(panels.flat, CAREERS.items(), strict=True):
        filtered, known = jr.career(then, team), jr.career(now, team)
        at, mean, wide = known["time"], known["rating"], 1.96 * known["deviation"]
        panel.plot(filtered["time"], filtered["rating"], "--", color=style.GREY, linewidth=1.0, label="at the time")
        panel.plot(at, mean, color=plots.COLOURS[0], linewidth=1.8, label="in hindsight, with its 95% interval")
        panel.fill_between(at, mean - wide, mean + wide, color=plots.COLOURS[0], alpha=0.2, linewidth=0)
        panel.set_xlim(np.datetime64(f"{begin}-07-01"), np.datetime64(f"{end}-03-01"))
        panel.set_title(team, loc="left", fontsize=11, fontweight="bold", color=style.INK)
        plots.make_axes(panel)
        style.format_ticks_with_thousands(panel, "y")
        style.label_time_axis(panel, "date")
    for panel in panels[:, 0]:
        panel.set_ylabel("rating (points)", color=style.GREY)
    legend_above(figure, panels[0, 0], 2)
    return figure


def save(figure, path, dpi=110):
    """With few colours, since README shows it."""
    memory = io.BytesIO()
    figure.savefig(memory, format="png", dpi=dpi)
    Image.open(memory).convert("RGB").quantize(160).save(path, optimize=True)


def part_pictures(options):
    """All careers, for light and for dark pages and for phones, and four in hindsight."""
    if options.out and not options.quick:
        figure = picture()
        save(figure, options.out.with_suffix(".png"))
        save(plots.darken(figure), options.out.with_name("nfl_dark.png"))
        save(phone_picture(), options.out.with_name("nfl_phone.png"), dpi=200)
        save(hindsight(), options.out.with_name("nfl_hindsight.png"))


if __name__ == "__main__":
    measure({"losses": part_losses, "pictures": part_pictures}, "Elo alone, and no picture")
