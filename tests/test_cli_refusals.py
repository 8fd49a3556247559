"""The command line used wrongly, or without what it needs: one line says so before any work, and nothing is lost."""

import pytest

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.usefixtures("in_a_hurry")


@pytest.fixture
def days(tmp_path):
    path = tmp_path / "days.csv"
    path.write_text("a,b,score,date\nx,y,1,2024-01-01\ny,x,0,2024-01-05\nx,y,0,2024-01-06\n")
    return path


def test_as_of_a_day_within_a_rating_period_is_the_end_of_it(jaxrate, days, tmp_path):
    """2023-12-28 to 2024-01-03 is one of them, and 2024-01-04 to 2024-01-10."""
    several = "--system", "glicko", "--period", "7"
    ends = jaxrate("rate", days, *several, "--out", tmp_path / "run")[1].split("\n\n")[1]
    for day in ("2024-01-06", "2024-01-09"):
        code, text, errors = jaxrate("rate", days, *several, "--as-of", day)
        assert code == 0 and not errors and text.split("\n\n")[1].strip() == ends.strip()
        assert jaxrate("rate", "--state", tmp_path / "run", "--as-of", day)[1].split("\n\n")[1].strip() == ends.strip()
    code, text, errors = jaxrate("rate", days, *several, "--as-of", "2024-03-01", "--param", "c=60")
    assert code == 0 and text.split("\n\n")[1] != ends
