"""Write what users see now; `python -m tests.goldens NAME ...` only of the cases whose name has one of these words."""

import sys
import warnings

from tests import conftest  # noqa: F401  compiles as tests do
from tests.goldens.histories import CASES
from tests.goldens.storage import answer_questions, write

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for case in CASES:
        if not sys.argv[1:] or any(word in case.label for word in sys.argv[1:]):
            write(case.label, answer_questions(case))
            print(case.label, flush=True)
