"""Programs compiled for an H100 on a machine that has none, and what is counted in their text."""

import importlib.util
import math
import os
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

TARGET = Path(__file__).with_name("h100.txt")  # what XLA must know of the device
TURNS = 4  # turns that a loop within a step takes, where their number is not known


def can_compile():
    """Whether programs for a GPU can be compiled here, which is made ready; if not, this is said."""
    os.environ |= {
        "JAX_PLATFORMS": "cpu",
        "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
        "JAX_ENABLE_COMPILATION_CACHE": "false",
    }
    os.environ.pop("JAXRATE_COMPILE", None)  # programs are those that users have
    found = any(importlib.util.find_spec(f"jax_cuda{version}_plugin") for version in (12, 13))
    if not found:
        print("JAX's CUDA packages are not installed (pip install 'jax[cuda12]'): skipped")
    return found


def on_one_device():
    """The sharding of an array that lies on the H100."""
    import jax
    from jax.experimental import topologies

    device = topologies.get_topology_desc(platform="cuda", target_config=TARGET.read_text(), topology="1x1x1")
    mesh = topologies.make_mesh(device, (1,), ("device",))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())


def compiled_text(found, static, rest):
    """The optimised program for an H100, and its launches, as text."""
    import jax

    there = on_one_device()

    def shape(x):
        kind = x if isinstance(x, jax.ShapeDtypeStruct) else jax.typeof(x)
        return jax.ShapeDtypeStruct(kind.shape, kind.dtype, sharding=there, weak_type=kind.weak_type)

    with tempfile.TemporaryDirectory() as folder:
        options = {"xla_dump_to": folder, "xla_dump_hlo_as_text": True, "xla_gpu_autotune_level": 0}
        text = found.lower(*static, *jax.tree.map(shape, rest)).compile(compiler_options=options).as_text()
        (launches,) = Path(folder).glob("*thunk_sequence_after_thunk_passes.txt")
        return text, launches.read_text()


# --- What is counted. ---


class Thunk(NamedTuple):
    indent: int
    kind: str
    name: str
    inside: list[Any]

    def all(self):
        yield self
        for one in self.inside:
            yield from one.all()


def launched(text):
    """The tree of what XLA's runtime launches."""
    stack = [Thunk(-4, "", "", [])]
    for line in text.splitlines():
        if line.strip() == "body:":  # what the condition of its loop launches came before
            while stack[-1].indent != len(line) - len(line.lstrip()) - 2:
                stack.pop()
        elif found := re.match(r"( *)\d+: (k\w+) +\[.*?\] *(\S*)", line):
            one = Thunk(len(found[1]), found[2], found[3], [])
            while stack[-1].indent >= one.indent:
                stack.pop()
            stack[-1].inside.append(one)
            stack.append(one)
    return stack[0]


class Computation(NamedTuple):
    """A computation of an optimised program."""

    lines: dict[str, tuple[str, str, str]]  # type, operation and the rest, by name
    root: str


def computations(text):
    found, lines, root = {}, {}, ""
    for line in text.splitlines():
        if begin := re.match(r"(?:ENTRY )?%(\S+) \(.*\{$", line):
            lines, root = {}, ""
            name = begin[1]
        elif line == "}":
            found[name] = Computation(lines, root)
        elif one := re.match(r"  (ROOT )?%(\S+) = (\(.*?\)|\S+) ([\w-]+)\((.*)", line):
            lines[one[2]] = one[3], one[4], one[5]
            root = one[2] if one[1] else root
    return found


def size_of(shape):
    """Bytes of a type, such as (f32[8,2]{1,0}, pred[])."""
    found = re.findall(r"([a-z]+)(\d*)\[([\d,]*)\]", shape)
    return sum(int(bits or 8) // 8 * math.prod(map(int, filter(None, sizes.split(",")))) for _, bits, sizes in found)


def loops_of(found, name):
    """(the line, the name of its body) of each loop in a computation, not those within."""
    for _, operation, rest in found[name].lines.values():
        if operation == "while":
            yield rest, re.search(r"body=%([\w.-]+)", rest)[1]


def named(rest):
    """The operands of an instruction."""
    return re.findall(r"%([\w.-]+)", rest.split(")")[0])


def turns_of(rest):
    """How many turns a loop takes; None: that is not known."""
    known = re.search(r'known_trip_count":\{"n":"(\d+)"', rest)
    return int(known[1]) if known else None


def within(found, name):
    """The lines of the loops in a computation and in their bodies."""
    for rest, body in loops_of(found, name):
        yield rest
        yield from within(found, body)


def written(found, name):
    """Bytes that the kernels of a computation write: what is written in place counts only as far as it changes."""
    total = 0
    for shape, operation, rest in found[name].lines.values():
        if operation == "while":
            turns = turns_of(rest)
            total += (TURNS if turns is None else turns) * written(found, re.search(r"body=%([\w.-]+)", rest)[1])
        elif operation == "fusion":
            inner = found[re.search(r"calls=%([\w.-]+)", rest)[1]]
            kind, last, given = inner.lines[inner.root]
            ends = named(given) if last == "tuple" else [inner.root]
            for kind, last, given in (inner.lines[end] for end in ends):
                operands = named(given)
                if last == "scatter":
                    total += sum(size_of(inner.lines[x][0]) for x in operands[len(operands) // 2 + 1 :])
                elif last == "dynamic-update-slice":
                    total += size_of(inner.lines[operands[1]][0])
                else:
                    total += size_of(kind)
        elif operation in ("custom-call", "copy", "sort", "dot"):
            total += size_of(shape)
    return total


def turned(thunk, turns):
    """Kernels and copies that a thunk launches, if the loops in it take so many turns, in order of appearance."""
    if thunk.kind == "kWhile":
        times = next(turns)
        return times * sum([turned(one, turns) for one in thunk.inside])
    return (thunk.kind in LAUNCHED) + sum(turned(one, turns) for one in thunk.inside)


LAUNCHED = "kCustomKernel", "kKernel", "kCopy", "kGemm", "kMemset", "kMemzero", "kCuDnn", "kCustomCall", "kSort", "kCub"


def counts(text, launches):
    """The numbers of one step of the longest loop."""
    found, root = computations(text), launched(launches)
    (entry,) = re.findall(r"^ENTRY %(\S+)", text, re.M)
    _, body = max(loops_of(found, entry), key=lambda x: len(found[x[1]].lines))
    whole = max((x for x in root.all() if x.kind == "kWhile"), key=lambda x: sum(1 for _ in x.all()))
    inner = [*within(found, body)]
    turns = [turns_of(rest) for rest in inner]
    outer = next(rest for rest, name in loops_of(found, entry) if name == body)
    alone = not any(x is whole for top in root.inside if top.kind == "kCommandBuffer" for x in top.all())
    everything = list(whole.all())[1:]
    kinds = [x.kind for x in everything]
    waits = (turns_of(outer) is None) + sum(TURNS for x in turns if x is None)
    turns = iter([TURNS if x is None else x for x in turns])
    return {
        "kernels": sum(x in LAUNCHED and x != "kCopy" for x in kinds),
        "copies": kinds.count("kCopy"),
        "scatters": sum(x.name.startswith(("input_scatter", "wrapped_scatter", "loop_scatter")) for x in everything),
        "loops": kinds.count("kWhile"),
        "waits": waits if alone else 0,
        "graphs": kinds.count("kCommandBuffer"),
        "launches": sum(turned(x, turns) for x in whole.inside),
        "bytes": 2 * written(found, body),
    }
