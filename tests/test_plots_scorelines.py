"""The picture of scorelines by its data."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib import pyplot
from scipy.stats import poisson

from jaxrate import plots
from jaxrate.forecasts import Scorelines
from tests.conftest import refused


def forecast(first=1.6, second=0.9, most_goals=15):
    chances = [poisson.pmf(np.arange(most_goals + 1), rate) for rate in (first, second)]
    return Scorelines(np.array(["Ada", "Cy"]), np.array(["Bo", "Di"]), np.stack([np.outer(*chances)] * 2))


def test_scorelines_are_drawn_as_they_are_predicted(ax):
    table = forecast()
    assert plots.scorelines(table, 1, most_goals=3, ax=ax) is ax
    (image,) = ax.images
    np.testing.assert_allclose(image.get_array(), 100.0 * table.probability[1, :4, :4])
    figure = plots.scorelines(table).figure
    subtitle = " ".join(figure.artists[0].get_text().split())
    assert subtitle == "Ada 54%, draw 25%, Bo 21%; more goals 0.6%. Framed: draws"
    assert figure.get_supxlabel() == "Forecast of scorelines up to 15 goals of a side"
    pyplot.close(figure)
    dated = plots.scorelines(table._replace(time=np.array(["2021-02-07", "2021-02-08"], "datetime64[us]")), 1).figure
    assert dated.get_supxlabel().endswith("goals of a side, for Feb 8, 2021")
    pyplot.close(dated)
    assert ax.get_xlabel() == "goals of Di" and ax.get_ylabel() == "goals of Cy"
    assert sum(patch.get_gid() == "draw" for patch in ax.patches) == 4


@pytest.mark.parametrize(("rates", "goals"), [((1.6, 0.9), 5), ((0.1, 0.1), 4), ((9.0, 9.0), 18)])
def test_few_goals_are_left_out(rates, goals):
    """Up to one in a hundred."""
    figure = plots.scorelines(forecast(*rates, most_goals=25)).figure
    (image,) = figure.axes[0].images
    assert image.get_array().shape == (goals + 1, goals + 1)
    assert figure.artists[0].get_text().startswith("Ada ")
    pyplot.close(figure)


def test_what_is_no_forecast_is_refused():
    table = forecast()
    for call, message in (
        (lambda: plots.scorelines(table, 2), "match must be from 0 to 1, got 2"),
        (
            lambda: plots.scorelines(table, most_goals=16),
            "the forecast has up to 15 goals of a side; predict_scorelines",
        ),
        (lambda: plots.scorelines(table, most_goals=0), "most_goals must be a whole number from 1 to 20, got 0"),
        (lambda: plots.scorelines(5), "forecast must be a Scorelines"),
    ):
        with refused(message):
            call()
