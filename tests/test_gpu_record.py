"""What `experiments/gpu_record.py` does with cases that fail, crash or hang, and with the numbers of the others.

Its quick form, which `.ci/run` runs, measures; here nothing is measured.
"""

import json
import sys
import time
from argparse import Namespace
from importlib import import_module
from pathlib import Path

import pytest

import jaxrate as jr

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
GPU = Namespace(quick=False, device="gpu", turns=1)
CASE = {"table": "replays", "system": "elo", "events": "matches", "engine": "scan", "history": "tennis"}


@pytest.fixture(scope="module")
def parts():
    """Import a module of the parts."""
    sys.path.insert(0, str(EXPERIMENTS))
    yield lambda name: import_module(f"gpu_parts.{name}")
    sys.path.remove(str(EXPERIMENTS))


def test_the_smallest_case_that_fails(parts):
    case = {"matches": 100_000, "players": 5_000, "system": "elo", "settings_of_system": {"k": 20.0, "scale": 400.0}}

    def fails(case):
        return case["matches"] >= 300 and case["players"] >= 40 and "k" in case["settings_of_system"]

    found, tried = parts("smallest_case").smallest_failing_case(case, fails, 60.0)
    assert fails(found) and found["settings_of_system"] == {"k": 20.0} and tried < 40
    assert found["matches"] < 400 and found["players"] < 60
    start = time.monotonic()
    same, tried = parts("smallest_case").smallest_failing_case(case, fails, 0.0)
    assert same == case and tried == 0 and time.monotonic() - start < 1.0


def test_a_case_that_always_fails_becomes_the_least(parts):
    found, _ = parts("smallest_case").smallest_failing_case({"matches": 1000, "players": 9}, lambda case: True, 60.0)
    assert found == {"matches": 1, "players": 4}


def test_a_record_goes_on_where_it_ended(parts, tmp_path):
    path = tmp_path / "replays.json"
    record = parts("case_record").CaseRecord(path)
    record.begin(CASE)
    assert json.loads(path.read_text())["running"]["case"] == CASE
    record.end(CASE, {"seconds": 0.1234567})
    record.end(CASE | {"system": "glicko"}, {"error": "AssertionError: wrong"})
    again = parts("case_record").CaseRecord(path)
    assert again.has(CASE) and again.has(CASE | {"system": "glicko"}) and again.rows[0]["seconds"] == 0.123457
    again.forget_failures()
    assert again.has(CASE) and not again.has(CASE | {"system": "glicko"})


CHILD = """
import json, sys, time
from pathlib import Path
path, how = Path(sys.argv[1]), sys.argv[2]
content = json.loads(path.read_text()) if path.exists() else {"rows": [], "running": None, "ended": False, "seconds": 0}

def write():
    path.with_suffix(".new").write_text(json.dumps(content))
    path.with_suffix(".new").replace(path)

for number in (1, 2, 3):
    case = {"table": "numbers", "number": number, "matches": 8 * number}
    if any(row["case"] == case for row in content["rows"]):
        continue
    content["running"] = {"case": case, "since": time.time()}
    write()
    if number == 2:
        if how == "lost":
            content["rows"].append({"case": case, "error": "Gone: it is lost", "device_lost": True})
            content["running"] = None
            write()
        time.sleep(60) if how == "hang" else sys.exit(75)
    content["rows"].append({"case": case, "seconds": 1.0})
content["running"] = None
write()
"""


@pytest.mark.parametrize(
    ("how", "error"),
    [("crash", "the device answers no more"), ("lost", "Gone: it is lost"), ("hang", "no end after 0.5 s")],
)
def test_a_case_that_crashes_or_hangs_is_written_and_the_rest_goes_on(parts, tmp_path, monkeypatch, how, error):
    child, options = parts("child_process"), Namespace(out=tmp_path, quick=True, device="cpu")
    path = child.record_path("fit", options)
    monkeypatch.setitem(child.PARTS, "fit", child.Part("fit_starts", 60.0, 0.5))
    monkeypatch.setattr(child, "command", lambda part, options, *more: [sys.executable, "-c", CHILD, str(path), how])
    monkeypatch.setattr(child, "case_fails", lambda part, case, options, seconds: case["matches"] >= 3)
    record = child.run_part("fit", options, time.monotonic() + 60.0)
    assert [row["case"]["number"] for row in record.rows] == [1, 2, 3]
    assert record.rows[1]["error"] == error and record.rows[1]["smallest"]["matches"] == 3
    assert [("error" in row) for row in record.rows] == [False, True, False]


def test_a_part_ends_when_its_time_is_up(parts, tmp_path, monkeypatch):
    child, options = parts("child_process"), Namespace(out=tmp_path, quick=True, device="cpu")
    path = child.record_path("fit", options)
    monkeypatch.setattr(child, "command", lambda part, options, *more: [sys.executable, "-c", CHILD, str(path), "hang"])
    record = child.run_part("fit", options, time.monotonic() + 0.5)
    assert record.content["stopped"].startswith("its time was up") and record.content["running"] is None


def test_a_part_that_does_not_begin_says_why(parts, tmp_path, monkeypatch):
    child, options = parts("child_process"), Namespace(out=tmp_path, quick=True, device="cpu")
    code = "import sys; sys.exit('there is no GPU')"
    monkeypatch.setattr(child, "command", lambda part, options, *more: [sys.executable, "-c", code])
    record = child.run_part("fit", options, time.monotonic() + 60.0)
    assert record.content["stopped"] == "exit status 1: there is no GPU, after 0 cases" and record.rows == []


def test_kernels_are_compiled_beside_others_once_they_agreed(parts, tmp_path):
    main = import_module("gpu_parts.__main__")
    assert not main.has_kernel_passed(tmp_path)
    record = parts("case_record").CaseRecord(tmp_path / "kernel.json")
    record.end(CASE, {"runs": 5})
    record.finish(1.0)
    assert main.has_kernel_passed(tmp_path)
    record.end(CASE, {"error": "no end after 25 s"})
    assert not main.has_kernel_passed(tmp_path)


def test_every_part_lists_cases_that_can_be_written_and_are_different(parts):
    for part in parts("child_process").PARTS.values():
        module = parts(part.module)
        for options in (GPU, Namespace(quick=True, device="cpu", turns=1)):
            cases = [json.dumps(case, sort_keys=True) for case in module.cases(options)]
            assert cases and len(cases) == len({*cases})
    listed = {(x["system"], x["events"]) for x in parts("replays").cases(GPU)}
    counted = {(x["system"], x["events"]) for x in import_module("gpu_estimates").steps_by_counts()}
    assert listed <= counted and {name for name, _ in listed} == set(jr.extend.SYSTEMS)


def records(*rows, part="replays"):
    return {part: {"rows": [{"case": case} | numbers for case, numbers in rows]}}


def test_numbers_stand_beside_their_estimates(parts):
    conclusions = parts("conclusions")
    tennis = {"seconds": 0.6, "steps": 20_000, "units": 1_280_000, "rated": 936_248}
    uniform = {"seconds": 0.01, "steps": 157, "units": 157 * 65_536, "rated": 10_000_000}
    wide = CASE | {"history": "uniform"}
    found = conclusions.compare_with_estimates(records((CASE, tennis), (wide, uniform)))
    assert [row["ratio"] for row in found] == pytest.approx([0.6 / (20_000 * 15e-6), 0.01 / (157 * 15e-6)])
    assert found[0]["says"] == "a launch takes 5 us, estimated 2.5"
    assert conclusions.failures(records((CASE, {"error": "wrong", "smallest": CASE})))[0]["error"] == "wrong"


def test_the_kernel_and_the_host_stand_beside_the_loop(parts):
    conclusions = parts("conclusions")
    both = records(
        (CASE | {"matches": 9}, {"seconds": 2.0, "million_per_second": 1.0, "log_loss": 0.6}),
        (CASE | {"matches": 9, "engine": "kernel"}, {"seconds": 0.5, "million_per_second": 4.0, "log_loss": 0.6}),
    )
    host = CASE | {"matches": 9, "table": "host: replays", "part": "replays"}
    both |= records((host, {"seconds": 1.0, "million_per_second": 2.0, "log_loss": 0.6}), part="host")
    assert [row["times_the_loop"] for row in conclusions.compare_kernel_with_loop(both)] == [4.0]
    ahead = {row["engine"]: row for row in conclusions.compare_with_host(both)}
    assert {name: row["times_the_host"] for name, row in ahead.items()} == {"scan": 0.5, "kernel": 2.0}
    answers = {row["part"]: row["answer"] for row in parts("answers").answer_questions(both)}
    assert answers["replays"] == "ahead of the host for elo tennis by the kernel"
    fit = {"table": "fits", "system": "glicko", "starts": 64, "history": "tennis"}
    both = records((fit, {"seconds": 2.0}), part="fit")
    both |= records((fit | {"table": "host: fits", "part": "fit"}, {"seconds": 6.0}), part="host")
    answers = {row["part"]: row["answer"] for row in parts("answers").answer_questions(both)}
    assert answers["fit"] == "glicko from 64: 3 times the host"


def test_preferences_of_blat_mmr_are_measured_as_a_whole(parts):
    rates = {"band": (5.0, 3.0, 1.0), "fft": (2.0, 2.0, 2.0), "naive": (1.0, 4.0, 3.0)}
    rows = [
        (
            {"table": "kernels", "system": "blat_mmr", "sums": "low_rank", "kernel": kernel, "taps": taps},
            {"million_per_second": x},
        )
        for kernel, each in rates.items()
        for taps, x in zip((12, 50, 250), each, strict=True)
    ]
    rows += [
        ({"table": "sums", "system": "blat_mmr", "sums": sums, "kernel": "band", "taps": 12}, {"million_per_second": x})
        for sums, x in (("fft", 1.0), ("naive", 9.0))
    ]
    found = parts("conclusions").measured_preferences(records(*rows, part="blat_mmr"))
    assert found == {"sums": ["naive", "low_rank", "fft"], "band_taps": 12, "wide_kernel": "naive", "measured": True}
    assert parts("conclusions").measured_preferences(records(*rows[:-1], part="blat_mmr")) is None
    assert [row["winner"] for row in parts("conclusions").winners(records(*rows, part="blat_mmr"))] == [
        *("naive", "band", "naive", "naive"),
    ]


def test_a_case_that_fails_is_made_smaller_once_for_each_place(parts):
    def run(case, options):
        if case["matches"] >= 10:
            raise AssertionError("too many")
        return {"rated": case["matches"]}

    main, module = import_module("gpu_parts.__main__"), Namespace(run=run)
    found = main.run_case(module, {"matches": 100}, GPU)
    assert found["error"] == "AssertionError: too many" and found["smallest"] == {"matches": 10}
    again = main.run_case(module, {"matches": 200}, GPU, [found["place"]])
    assert again == {"error": found["error"], "place": found["place"]}
    assert main.run_case(module, {"matches": 9}, GPU)["rated"] == 9
