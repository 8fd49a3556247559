"""What is frozen of each case, in files of compressed JSON."""

import gzip
import json
from pathlib import Path

import jax

from tests.goldens.digests import digest
from tests.goldens.histories import FULL
from tests.goldens.questions import make_run, questions_of

FOLDER = Path(__file__).parent / "frozen"


def answer_questions(case):
    """The digests of a case, by precision, question and column."""
    found = {}
    for precision in ("float64", "float32"):
        with jax.enable_x64(precision == "float64"):
            is_short = precision == "float32"
            run = make_run(case, is_short and case.ask == FULL)
            asked = questions_of(run, is_short)
            found[precision] = {name: one.ask(run) for name, one in asked.items()}
    return digest_columns(found)


def digest_columns(found):
    """Digests in place of columns, which are two levels down."""
    return {x: {y: {z: digest(v) for z, v in d.items()} for y, d in e.items()} for x, e in found.items()}


def file_of(label):
    return FOLDER / f"{label.replace(' ', '_')}.json.gz"


def write(label, answers):
    """Write what is frozen of a case; the same answers give the same bytes."""
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(answers, sort_keys=True, separators=(",", ":"))
    file_of(label).write_bytes(gzip.compress(text.encode(), mtime=0))


def read(label):
    return json.loads(gzip.decompress(file_of(label).read_bytes()))
