"""The driver of the fuzzers."""

from tests.fuzz.driver import run_in_turn


def test_every_fuzzer_has_its_turn_and_findings_say_what_repeats_them(capsys):
    def well(random):
        return 3

    def ill(random):
        assert random.integers(2) == 2, "never"

    assert run_in_turn({"python good": well, "python bad": ill}, 0.0, 7) == 1
    said = capsys.readouterr().out
    assert "python bad --seed 7 --case 0: AssertionError: never" in said
    assert "python good seed 7: 1 cases, 3 tried" in said and said.count(" 1 findings") == 1
