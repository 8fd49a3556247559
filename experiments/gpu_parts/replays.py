"""Matches a second of each system on histories like those that people have, by the loop and by the kernel.

Decides: whether `rate --dry-run` and the guide advise a GPU for one history, by the seconds of a step and of a match.
"""

from gpu_parts.histories import CATEGORIES, CONTESTS, PERIODS, ROUNDS, TENNIS, UNIFORM, resize_history
from gpu_parts.replay_clock import time_replay

MATCHES = "elo", "glicko", "glicko2", "trueskill", "weng_lin", "skills", "blat_mmr", "urnings"
KERNEL = "elo", "glicko", "glicko2", "trueskill", "weng_lin", "skills"  # the systems that the kernel takes
PERIOD_SYSTEMS = "elo", "glicko", "glicko2", "skills"
ROUND_SYSTEMS = "elo_mmr", "elo_mmx", "codeforces", "topcoder", "trueskill", "weng_lin"
KERNEL_WIDTH = 256


def cases(options):
    tennis, uniform = resize_history(TENNIS, options), resize_history(UNIFORM, options)
    groups = [(("elo",) if options.quick else MATCHES, "matches", tennis)]
    groups += [] if options.quick else [(MATCHES, "matches", uniform)]
    groups += [(() if options.quick else PERIOD_SYSTEMS, "periods", PERIODS)]
    groups += [(() if options.quick else ("category_glicko",), "periods", CATEGORIES)]
    groups += [(("topcoder",) if options.quick else ROUND_SYSTEMS, "rounds", resize_history(ROUNDS, options))]
    groups += [(() if options.quick else ("elo_mmr", "elo_mmx"), "rounds", CONTESTS)]
    for systems, events, history in groups:
        for system in systems:
            yield {"table": "replays", "system": system, "events": events, "engine": "scan", **history}
    if options.device == "gpu":
        for history in (tennis, uniform):
            for system in KERNEL:
                width = {"width": KERNEL_WIDTH} if history is tennis else {}
                yield {"table": "replays", "system": system, "events": "matches", "engine": "kernel", **history} | width


def run(case, options):
    return time_replay(case, options)
