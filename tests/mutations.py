"""What the tests notice: mutations of formulas and bounds all over the library, each of which some test should catch.

    python tests/mutations.py                   # all of them, ten to twenty minutes; one test process at a time
    python tests/mutations.py --only worth      # one, by name
    python tests/mutations.py --clean           # the same tests on the library as it is: all must pass
    python tests/mutations.py --list            # names, and whether each old text is found once; runs nothing

Git's files are copied as they stand now, with a link to ../shared beside the copy if it is there, and mutations are
made in the copy, one at a time. They are listed in `mutation_list.py`. A mutation knows its text and no path, so that
files may move: the text must stand exactly once among the sources below jaxrate/, as `test_layout.py` checks. Tests
that hang are stopped, which counts as caught. Exit code 1 says that mutations survive (or, with --clean, that tests
fail), 2 that a text or a test is not found.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mutation_list import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 300  # seconds that the tests of a mutation may take
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", "-x", "-q", "--tb=no"]
ABSENT = 5  # exit code of pytest if no test is selected


def copy(folder: Path) -> Path:
    """Git's files as they stand, below a folder that has the link to shared data."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / "tree" / name)
    if (shared := ROOT.parent / "shared").exists():
        (folder / "shared").symlink_to(shared.resolve())
    return folder / "tree"


def places(tree: Path, text: str) -> list[Path]:
    """The files of the library in which a text stands, as often as it does."""
    return [path for path in sorted(tree.glob("jaxrate/**/*.py")) for _ in range(path.read_text().count(text))]


def check(tree: Path) -> int:
    """How many old texts are not found exactly once, of which it tells."""
    wrong = [(one.name, len(places(tree, one.old))) for one in MUTATIONS if len(places(tree, one.old)) != 1]
    for name, count in wrong:
        print(f"{name}: its old text is found {count} times, and not once", file=sys.stderr)
    return len(wrong)


def run_tests(tree: Path, tests: str, limit: float) -> tuple[int, str, float]:
    """The exit code of pytest, what failed first, and seconds; tests that hang have failed."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "JAXRATE_"))}
    # Without byte code: a mutation may keep the size of a file and the second of its time.
    environment = keep | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    began, command = time.perf_counter(), [*PYTEST, *shlex.split(tests)]
    try:
        done = subprocess.run(command, cwd=tree, env=environment, stdout=-1, stderr=-2, text=True, timeout=limit)
        found = re.search(r"^(?:FAILED|ERROR) (tests.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
        code, failed = done.returncode, found[1] if found else done.stdout.strip()[-200:]
        if code == 4 and "not found: " in done.stdout:  # and not because a mutation cannot be imported
            code = ABSENT
    except subprocess.TimeoutExpired:
        code, failed = 1, f"more than {limit:g} s"
    return code, failed, time.perf_counter() - began


def measure(tree: Path, one: Mutation, clean: bool, limit: float) -> dict[str, object]:
    """Mutate, test, restore; a row of the table."""
    (path,) = places(tree, one.old)
    source = path.read_bytes()
    try:
        if not clean:
            path.write_text(source.decode().replace(one.old, one.new))
        code, failed, seconds = run_tests(tree, one.tests, limit)
    finally:
        path.write_bytes(source)
    by = "passed" if clean and code == 0 else "survived" if code == 0 else failed
    row = {"name": one.name, "file": str(path.relative_to(tree)), "old": one.old, "new": one.new, "tests": one.tests}
    return row | {"code": code, "caught": code not in (0, ABSENT), "by": by, "seconds": round(seconds, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these mutations")
    parser.add_argument("--tests", help="arguments of pytest in place of each mutation's own")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that the tests of one may take")
    parser.add_argument("--clean", action="store_true", help="mutate nothing: the tests must pass")
    parser.add_argument("--list", action="store_true", help="run nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the table")
    options = parser.parse_args()
    names = [one.name for one in MUTATIONS]
    assert len(set(names)) == len(names)
    if unknown := set(options.only or ()) - set(names):
        parser.error(f"no mutation {', '.join(map(repr, sorted(unknown)))}; see --list")
    chosen = [one for one in MUTATIONS if options.only is None or one.name in options.only]
    if options.list:
        for one in chosen:
            print(f"{one.name:28} {', '.join(str(x.relative_to(ROOT)) for x in places(ROOT, one.old)) or 'not found'}")
        return 2 if check(ROOT) else 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        tree, rows = copy(Path(folder)), []
        if check(tree):
            return 2
        for one in chosen:
            one = one._replace(tests=options.tests or one.tests)
            rows.append(measure(tree, one, options.clean, options.limit))
            print(f"{one.name:28} {rows[-1]['seconds']:6} s  {rows[-1]['by']}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1) + "\n")
    caught, absent = sum(bool(row["caught"]) for row in rows), sum(row["code"] == ABSENT for row in rows)
    print(f"{len(rows)} runs: {caught} failed, {len(rows) - caught - absent} passed, {absent} without such tests")
    return 2 if absent else int(caught > 0 if options.clean else caught < len(rows))


if __name__ == "__main__":
    sys.exit(main())
