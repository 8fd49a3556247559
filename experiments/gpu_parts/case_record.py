"""The file of a part: rows of cases, each written as it ends, and the case that is running."""

import json
import time
from pathlib import Path

from common import circumstances, rounded

TABLE = "table"  # the name of the table in which the row of a case stands


class CaseRecord:
    """What is known of a part, in a file that is whole at any time."""

    def __init__(self, path):
        self.path = Path(path)
        self.content = {"part": self.path.stem, "running": None, "rows": [], "ended": False, "seconds": 0.0}
        if self.path.exists():
            self.content = json.loads(self.path.read_text())

    @property
    def rows(self):
        return self.content["rows"]

    def has(self, case):
        """Whether there is a row of the case, right or wrong."""
        return any(row["case"] == case for row in self.rows)

    def forget_failures(self):
        """Cases that failed are run once more, as if the part had never been stopped."""
        self.content |= {"rows": [row for row in self.rows if "error" not in row], "ended": False}
        self.content.pop("stopped", None)
        self.stop_running()

    def begin(self, case):
        self.content["running"] = {"case": case, "since": time.time()}
        self.write()

    def end(self, case, numbers):
        """Write what a case gave: its numbers, or the error with the smallest case that shows it."""
        self.rows.append({"case": case} | rounded(numbers, 6))
        self.stop_running()

    def stop_running(self):
        """No case is running any more."""
        self.content["running"] = None
        self.write()

    def finish(self, seconds):
        self.content |= {"ended": True, "running": None, "seconds": round(self.content["seconds"] + seconds, 2)}
        self.write()

    def note_circumstances(self):
        self.content["circumstances"] = circumstances()
        self.write()

    def write(self):
        other = self.path.with_suffix(".new")
        other.write_text(json.dumps(self.content, indent=1) + "\n")
        other.replace(self.path)


def tables(rows):
    """Rows of a record as tables by name: what identifies a case, and its numbers or its error."""
    found = {}
    for row in rows:
        case = {key: value for key, value in row["case"].items() if key != TABLE}
        found.setdefault(row["case"][TABLE], []).append(case | {k: v for k, v in row.items() if k != "case"})
    return found
