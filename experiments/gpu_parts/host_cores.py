"""The cases of the other parts on the cores of the host, beside the device.

Decides: from how many matches a step, settings or starts the device is ahead of the machine that it stands in.
"""

from argparse import Namespace

from gpu_parts import chunks, fit_starts, replays, settings_at_once
from gpu_parts.histories import UNIFORM

PARTS = {"settings": settings_at_once, "fit": fit_starts, "chunks": chunks, "replays": replays}
SLOW = {"blat_mmr": 200_000}  # matches that the host rates of a system that takes it minutes
MOST_SETTINGS = 16
TURNS = 1


def cases(options):
    for name, module in PARTS.items():
        for case in module.cases(Namespace(**vars(options) | {"device": "cpu"})):
            if is_fit_for_host(case, options):
                yield shorten_case(case) | {"part": name, "table": f"host: {case['table']}"}


def is_fit_for_host(case, options):
    """Whether it ends in time; the quick form has one of each."""
    if options.quick:
        return case["system"] == "elo"
    too_many = case.get("settings", 1) > MOST_SETTINGS or case.get("histories", 1) > MOST_SETTINGS
    return not too_many and (case["system"] != "blat_mmr" or case.get("settings", 1) == 1)


def shorten_case(case):
    """The same, with fewer matches for systems that would take minutes."""
    most = SLOW.get(case["system"])
    if most is None or "matches" not in case:
        return case
    share = min(1.0, most / case["matches"])
    players = int(case["players"] * share) if case.get("history") == UNIFORM["history"] else case["players"]
    return case | {"matches": min(case["matches"], most), "players": players}


def run(case, options):
    table = case["table"].removeprefix("host: ")
    plain = {key: value for key, value in case.items() if key != "part"} | {"table": table}
    return PARTS[case["part"]].run(plain, Namespace(**vars(options) | {"turns": min(options.turns, TURNS)}))
