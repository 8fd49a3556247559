"""The names of the package: each loaded when it is first used, and never hidden by a module."""

import subprocess
import sys

import pytest

import jaxrate as jr


def test_all_names_are_there():
    assert {"run", "read", "glicko", "metrics", "leaderboard"} <= set(jr.__all__)
    assert all(getattr(jr, name) is not None for name in jr.__all__)
    assert set(jr.__all__) <= set(dir(jr))
    assert set(jr.extend.SYSTEMS) <= set(jr.__all__)
    with pytest.raises(AttributeError, match="No jaxrate attribute gliko"):
        jr.gliko  # noqa: B018


@pytest.mark.parametrize(
    "code",
    [
        "import jaxrate, sys; assert 'jax' not in sys.modules and 'numpy' not in sys.modules",
        "import jaxrate.live.live_ratings, jaxrate as jr; assert callable(jr.run) and callable(jr.live.start_history)",
        "import jaxrate as jr; jr.predict; assert callable(jr.run) and jr.run.__name__ == 'run'",
        "from jaxrate.league.ratings_at_times import ratings; import jaxrate as jr; assert callable(jr.leaderboard)",
        "from jaxrate import *; import jax; assert callable(run) and callable(leaderboard) and metrics.log_loss",
    ],
)
def test_names_in_a_fresh_process(code):
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
