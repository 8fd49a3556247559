"""Write what users see now; `python -m tests.goldens NAME ...` only of the cases whose name has one of these words."""

import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import conftest  # noqa: F401  compiles as tests do
from tests.goldens.commands import answer_commands
from tests.goldens.histories import CASES
from tests.goldens.storage import answer_questions, write


def is_asked_for(label):
    return not sys.argv[1:] or any(word in label for word in sys.argv[1:])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for case in filter(lambda case: is_asked_for(case.label), CASES):
        write(case.label, answer_questions(case))
        print(case.label, flush=True)
    if is_asked_for("commands"):
        with TemporaryDirectory() as folder:
            write("commands", answer_commands(Path(folder)))
