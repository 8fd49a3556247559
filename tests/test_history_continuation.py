"""What is doubtful about matches that follow a rated history."""

import warnings

import pytest

import jaxrate as jr
from jaxrate.history.event_columns import no_events

pytest.importorskip("pyarrow")

PLAYED = {
    "date": ["2026-05-01", "2026-05-02", "2026-05-02"],
    "home": ["Zoë", "Bo", "Ada"],
    "away": ["Ada", "Zoë", "Bo"],
    "score": [1.0, 0.5, 0.0],
}


def rate(table=PLAYED, **options):
    return jr.rate(jr.elo(side_advantage=50), jr.read(table, **options))


def test_new_matches_without_sides_are_told():
    with pytest.warns(UserWarning, match="took home and away"):
        before = rate()
    new = {"date": ["2026-06-01"], "a": ["Bo"], "b": ["Ada"], "score": [1.0]}
    with pytest.warns(UserWarning, match="elo counts the side, and the new matches do not say who has it") as notes:
        jr.rate(before.system, new, onto=before)
    assert notes[0].filename == __file__
    with pytest.warns(UserWarning, match="took home and away") as notes:
        after = jr.rate(
            before.system, {"date": new["date"], "home": ["Bo"], "away": ["Ada"], "score": [1]}, onto=before
        )
    assert len(notes) == 1 and after.predictions["prediction"][3].as_py() > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jr.rate(before.system, jr.read(new, side="a", players=before.players), onto=before)


@pytest.mark.filterwarnings("ignore:took ")
def test_matches_of_the_last_time_that_were_rated_already_are_told():
    before = rate()
    last = {name: values[1:] for name, values in PLAYED.items()}
    other = last | {"score": [1.0, 1.0]}
    with pytest.warns(UserWarning) as notes:
        jr.rate(before.system, last, onto=before)
    assert [str(note.message) for note in notes if "took" not in str(note.message)] == [
        "2 of 2 new matches repeat matches that the history has at its end, 2026-05-02: 0, 1 (counting from 0); they "
        "count again, so remove them if they were played once"
    ]
    jr.rate(before.system, other, onto=before)  # two further matches
    jr.rate(before.system, {name: values[:1] for name, values in other.items()}, onto=before)
    elsewhere = before._replace(events=no_events(of_contests=False))  # as `rate_files` leaves them
    with pytest.warns(
        UserWarning, match="2 of 2 new matches are at the end of the history, 2026-05-02, whose .* further"
    ):
        jr.rate(before.system, other, onto=elsewhere)
