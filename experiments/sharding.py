"""States spread over the players' devices: memory of each device, and how often they wait for each other.

    python experiments/sharding.py                 # some minutes; writes experiments/results/sharding.json
    python experiments/sharding.py --quick         # small; writes nothing unless --out is given

The devices are eight virtual ones of one processor. What is counted holds for others: the bytes of the state on each
device, those of the compiled program on each (of its arguments, the events included, and beside them), and the
collectives of a step of its loop. Seconds are of two cores that play eight devices: only their ratio says something.
"""

import os
import re
import time
from functools import partial

import jax
from common import catch_replay, circumstances, declare, parse, show, write

import jaxrate as jr

DEVICES = (1, 2, 4, 8)
COLLECTIVE = re.compile(r"= [^=]*?\b(all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)(?:-start)?\(")


def spread_over(count):
    return jax.NamedSharding(jax.make_mesh((count,), ("players",), devices=jax.devices()[:count]), jax.P("players"))


def fresh(system, players, count):
    """A state with as many players on each of so many devices; it was never whole on one of them."""
    return jax.jit(partial(system.init, system.params, players), out_shardings=spread_over(count))()


def program(rated):
    """What `run` compiles: the program of the replay, of matches."""
    found, arguments = catch_replay(rated)
    return found.lower(*arguments).compile()


def in_loops(text):
    """The collectives of the bodies of loops, by kind."""
    bodies = re.findall(r"body=%([\w.-]+)", text)
    parts = {part.split(" ", 1)[0]: part for part in re.split(r"^%", text, flags=re.MULTILINE)[1:]}
    return [kind for body in bodies for kind in COLLECTIVE.findall(parts.get(body, ""))]


def memory(systems, players, matches, form, devices=DEVICES):
    """A row for each system and number of devices."""
    for name, system in systems.items():
        for count in devices:
            state = fresh(system, players, count)
            events = jr.data.simulate.league(players, matches, seed=0).matches
            found = program(lambda: jr.run(system, events, state=state, schedule=form))  # noqa: B023
            sizes = found.memory_analysis()
            shards = [x.addressable_shards[0].data.nbytes for x in jax.tree.leaves(state)]
            yield {
                "system": name,
                "devices": count,
                "players": players,
                "state, MB a device": sum(shards) / 1e6,
                "arguments, MB a device": sizes.argument_size_in_bytes / 1e6,
                "beside them, MB a device": (
                    sizes.temp_size_in_bytes + sizes.output_size_in_bytes - sizes.alias_size_in_bytes
                )
                / 1e6,
                "collectives a step": ", ".join(in_loops(found.as_text())) or "none",
            }


def ways(system, players, matches):
    """Levels and a stream of the same matches on eight devices, the second time."""
    events, state = jr.data.simulate.league(players, matches, seed=0).matches, fresh(system, players, 8)
    for form in ("levels", "stream"):
        for _ in range(2):
            begun = time.perf_counter()
            jax.block_until_ready(jr.run(system, events, state=state, schedule=form))
            seconds = time.perf_counter() - begun
        found = program(lambda: jr.run(system, events, state=state, schedule=form))  # noqa: B023
        plan = jr.extend.schedule_by_level(events)
        steps = plan.num_steps if form == "levels" else matches
        row = {"schedule": form, "steps": int(steps), "collectives a step": len(in_loops(found.as_text()))}
        yield row | {"seconds": seconds, "us a match": 1e6 * seconds / matches}


def main():
    options = parse(declare("20 thousand players"))
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    blat = jr.blat_mmr(size=31, half_width=3.0, kernel_width=0.6) if options.quick else jr.blat_mmr()
    systems = {"glicko": jr.glicko(), "blat_mmr": blat}
    systems |= {} if options.quick else {"elo": jr.elo(), "glicko2": jr.glicko2(), "trueskill": jr.trueskill()}
    devices = (1, 8) if options.quick else DEVICES
    players = 20_000 if options.quick else 100_000
    results = {
        "memory and collectives": [*memory(systems, players, players // 4, "levels", devices)],
        "levels and stream, Glicko on eight devices": [*ways(jr.glicko(), players, 2_000 if options.quick else 20_000)],
    }
    show(results)
    write(options.out, circumstances(), results)


if __name__ == "__main__":
    main()
