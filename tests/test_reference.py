"""The API reference: every public name is there, with what its fields and hyperparameters mean."""

import subprocess
import sys

import jaxrate as jr


def test_the_reference_says_what_everything_means(tmp_path):
    command = [sys.executable, "-m", "jaxrate.reference", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    pages = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")}
    main = pages["jaxrate"]
    assert not [name for name in jr.__all__ if f'id="{name}"' not in main and name not in pages]
    assert {make.__module__.split(".")[-1] for make in jr.SYSTEMS.values()} <= {*pages}
    assert not [name for name, page in pages.items() if "Alias for field" in page]
    assert "Growth of the deviation of an idle player (points per sqrt(period)); &gt;= 0; fitted." in pages["glicko"]
    assert "mean over the matches (pairs, participants) scored for training" in main
