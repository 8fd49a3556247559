"""What the tests notice: mutations of formulas and bounds all over the library, each of which some test should catch.

    python tests/mutations.py                   # all of them, a quarter of an hour; one test process at a time
    python tests/mutations.py --only worth      # one, by name
    python tests/mutations.py --clean           # the same tests on the library as it is: all must pass
    python tests/mutations.py --list            # names, and whether each old text is found once; runs nothing

Git's files are copied as they stand now, with a link to ../shared beside the copy if it is there, and mutations are
made in the copy, one at a time. A mutation knows its text and no path, so that files may move: the text must stand
exactly once among the sources below jaxrate/. Tests that hang are stopped, which counts as caught. Exit code 1 says
that mutations survive (or, with --clean, that tests fail), 2 that a text or a test is not found.
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
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 300  # seconds that the tests of a mutation may take
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", "-x", "-q", "--tb=no"]
ABSENT = 5  # exit code of pytest if no test is selected


class Mutation(NamedTuple):
    """A text of the sources that becomes another one, and the arguments of pytest for who should notice."""

    name: str
    old: str
    new: str
    tests: str


M = Mutation
MUTATIONS = [
    # Systems
    M("elo new games", "rows.games < params.new_games", "rows.games <= params.new_games",
      "tests/test_systems.py -k 'twin and elo'"),
    M("glicko least deviation", "bounded(variance, constants.low, None), jnp.full_like",
      "bounded(variance, None, None), jnp.full_like", "tests/test_sharp_ends.py -k least"),
    M("glicko2 Newton slope", "share * (2.0 * h + 0.5 * share)", "share * (2.0 * h)",
      "tests/test_sharp_ends.py -k newton"),
    M("glicko2 bracket", "reach = surprise**2 / (8.0 * u", "reach = surprise**2 / (32.0 * u",
      "tests/test_systems.py -k 'volatility_solves'"),
    M("category_glicko reach", "logistic, logistic_density, 25.0)", "logistic, logistic_density, 2.5)",
      "tests/test_sharp_ends.py -k likeliest"),
    M("blat_mmr convolution", "circular(jnp.conj(rest), belief[0])", "circular(rest, belief[0])",
      "tests/test_blat_mmr.py -k 'by_name and fft'"),
    M("blat_mmr narrow kernel", "jnp.minimum(width, 2.0 * step)", "jnp.minimum(width, 0.5 * step)",
      "tests/test_blat_mmr.py -k kernels"),
    M("blat_mmr mass that stays", "jnp.flip(apply(algorithm, table, ones))", "apply(algorithm, table, ones)",
      "tests/test_blat_kernels.py -k 'every_route and skew'"),
    M("blat_mmr from and to", "density(kernel, points[None] - points[:, None]",
      "density(kernel, points[:, None] - points[None]", "tests/test_blat_kernels.py -k 'every_route and skew'"),
    M("blat_mmr laplace index", "nearest = jnp.maximum(place - 1, 0)", "nearest = jnp.maximum(place - 2, 0)",
      "tests/test_blat_golden.py -k 'laplace_sums'"),
    M("blat_mmr margin's ends", "jnp.where(difference > margin, 1.0, 0.0)", "jnp.where(difference >= margin, 1.0, 0.0)",
      "tests/test_sharp_ends.py -k margin"),
    M("elo_mmr drift in beta", "(square + drift) / params.weight", "square / params.weight",
      "tests/test_elo_mmr.py -k 'history_of_contests and elo_mm'"),
    M("performance interpolation", "(s - 4.0) / 20.0 * four", "(s - 4.0) / 24.0 * four",
      "tests/test_elo_mmr.py -k 'zeros_of_q and True'"),
    M("field.enough", "return int(np.clip(72 * 2", "return int(np.clip(36 * 2",
      "tests/test_sharp_ends.py -k points"),
    M("codeforces mean rank", "jnp.sqrt(rank * (above + 0.5))", "jnp.sqrt(rank * (above + 1.0))",
      "tests/test_elo_mmr.py -k 'history_of_contests and codeforces'"),
    M("topcoder cap", "1500.0 / (number + 1.0)", "1500.0 / (number + 2.0)",
      "tests/test_elo_mmr.py -k 'history_of_contests and topcoder'"),
    M("trueskill sweeps", "EXTRA = 8  #", "EXTRA = 4  #", "tests/test_trueskill.py -k 'package or twin or converged'"),
    M("teams order of ties", "(number[:, None] < number[None, :])", "(number[:, None] > number[None, :])",
      "tests/test_trueskill.py -k 'rounds'"),
    M("weng_lin kappa", "rows.variance * jnp.maximum(left, constants.params.kappa)", "rows.variance * left",
      "tests/test_weng_lin.py"),
    M("urnings swapped", "((one, score), (two, m - score))", "((one, m - score), (two, score))",
      "tests/test_urnings.py -k 'stored'"),
    M("davidson root", "lean = odds * (more - 0.5)", "lean = odds * (more - 0.4)",
      "tests/test_outcomes.py -k 'davidsons'"),
    M("draws by strength", "0.5 * (one + two) - constants.newcomer", "one + two - constants.newcomer",
      "tests/test_outcomes.py -k 'strength'"),
    M("calibration intercept", "odds + advantage(event, constants.params.calibration_intercept)", "odds",
      "tests/test_outcomes.py -k 'line'"),
    M("density of margins", "slope = slope - jnp.log1p(size / params.compression)", "slope = slope",
      "tests/test_outcomes.py -k 'margin_loss'"),
    M("outlook drift", "now = total(teams, event.weight**2 * (rows.variance + constants.noise))", "now = variance",
      "tests/test_trueskill_predictions.py -k 'outlook'"),
    # Numbers and events
    M("numerics slope of the tail", "lift / excess - 2.0", "lift / excess - 1.0", "tests/test_numerics.py"),
    M("periods drop the weight", "np.ones(n) if context.weight is None else context.weight", "np.ones(n)",
      "tests/test_events.py tests/test_systems.py -k 'period'"),
    M("rounds repeated players", "(player.max(initial=0) + np.int64(1)) + player", "player.max(initial=0) + player",
      "tests/test_events_rounds.py"),
    M("schedule step", "jnp.where(fits, at + 1, last_b)", "jnp.where(fits, at, last_b)",
      "tests/test_schedule.py -k 'steps'"),
    M("schedule found wide by a part", "_width(mean, most) == widest:", "True:", "tests/test_schedule.py -k 'look'"),
    M("schedule padding", "LAST_ID - 2 * np.arange(number", "LAST_ID - np.arange(number", "tests/test_schedule.py"),
    M("schedule price of a size", "better[-1] > best[-1] - price", "better[-1] > best[-1] + price",
      "tests/test_schedule_blocks.py -k 'blocks or sizes or window or batched'"),
    M("schedule padded weight", "get(ragged.weight, at, inside, 0.0)", "get(ragged.weight, at, inside, 1.0)",
      "tests/test_schedule_blocks.py -k 'padding'"),
    # Running and fitting
    M("stream's next rows", "read(events.player, index + 1)", "read(events.player, index)",
      "tests/test_systems.py -k 'per_match'"),
    M("worth", "if double or hashes or jax", "if hashes or jax",
      "tests/test_sharp_ends.py -k worth"),
    M("spread rows", "-(-rows // shards) * shards", "rows // shards * shards", "tests/test_spread.py -k 'players_on'"),
    M("executor precision", "partial(_told, double, function), items", "partial(_told, False, function), items",
      "tests/test_executors.py -k 'precision'"),
    M("leagues' rows", "rows=data.rows[rows]", "rows=data.rows[: rows.sum()]", "tests/test_leagues.py -k 'alone'"),
    M("time of coming rounds", "rules.predict(constants, rules.advance(constants, rows, event.time), event)",
      "rules.predict(constants, rows, event)", "tests/test_contract.py -k 'predicted_as'"),
    M("losses half a circle", "jnp.where(2 * step == count, 0.5, 1.0)", "jnp.where(2 * step == count, 1.0, 1.0)",
      "tests/test_fit.py -k 'pairwise'"),
    M("problem OPEN", "OPEN = 4.0", "OPEN = 400.0", "tests/test_fit_optimum.py -k 'factor_of_50'"),
    M("problem covariance", "slope @ covariance @ slope.T", "slope.T @ covariance @ slope",
      "tests/test_fit_optimum.py -k 'errors_of_a_bound'"),
    M("problem open bounds", "covariance[(slope != 0.0) @ unknown]", "covariance[unknown]",
      "tests/test_fit_parts.py -k 'goes_with'"),
    M("task rest", "what.weight * ~(later | rest)", "what.weight * ~later", "tests/test_fit_parts.py -k 'afterwards'"),
    M("search reach", "np.clip(axes[i] @ step[i], -REACH, REACH)", "np.clip(axes[i] @ step[i], -9.0 * REACH, REACH)",
      "tests/test_fit_sweeps.py -k 'far_parameter'"),
    M("fit folds", "part = what.event * (folds + 1) // (", "part = what.event * folds // (",
      "tests/test_fit_sweeps.py -k 'rolling'"),
    # What is made of ratings
    M("metrics end of a tie", "high = low + np.repeat(length, length) - 1", "high = low + np.repeat(length, length)",
      "tests/test_round_metrics.py"),
    M("predictions two byes", "jnp.where(first < 0, 0.5, 1.0)", "jnp.where(first < 0, 1.0, 1.0)",
      "tests/test_predictions.py -k 'bye or bracket'"),
    M("leaderboard limit", "cautious * (rating.deviation - system.settled(params))", "cautious * rating.deviation",
      "tests/test_run_ratings.py -k 'cautious'"),
    M("rated expected rank", ".astype(float)) * (sides - 1)", ".astype(float)) * sides",
      "tests/test_saved_contests.py -k 'career'"),
    M("pairs tolerance", "TOLERANCE = 2.5e-4", "TOLERANCE = 2.5e-3", "tests/test_pairs.py -k 'pairs'"),
    M("inference width", "/ size + z * z / 4)", "/ size + z * z / 2)", "tests/test_inference.py"),
    M("matchmakers himself", "table_of_others @ count + count - 1.0", "table_of_others @ count + count",
      "tests/test_urnings_matchmakers.py -k 'picked or matched'"),
    M("world own pairs", "+ 0.5 * jnp.sum(own", "- 0.5 * jnp.sum(own", "tests/test_world.py -k law"),
    M("simulate days", "unit = days / max(1, num_events - 1)", "unit = days / max(1, num_events)",
      "tests/test_simulate.py -k 'days or time'"),
    # Strengths at rest
    M("static clusters", "return total * count / (count - 1)", "return total", "tests/test_static.py -k sandwiches"),
    M("static rao_kupper slope", "2.0 * tie / tie_factor - win_slope", "tie / tie_factor - win_slope",
      "tests/test_static.py -k 'twin and rao'"),
    M("static ties of rankings", "later = sum_up_to_tie(inverse_square, (1.0 - tie_share)",
      "later = sum_up_to_tie(inverse_square, (1.0 - tie_share) ** 2",
      "tests/test_static_rounds.py -k twin"),
    M("static strong components", "if index[node] < 0:", "if at == heads[node]:", "tests/test_static.py -k who_can_be"),
    M("rank sets step down", "np.where(sure, 0.0, inverse)", "inverse", "tests/test_certain.py -k step_down"),
    M("sprt of pairs", "UNIT * math.sqrt(games_per_count)", "UNIT", "tests/test_certain.py -k tests_end"),
    # Tables
    M("tables nanoseconds", '"ns": 86_400_000_000_000}', '"ns": 86_400_000_000}', "tests/read/test_times.py -k 'unit'"),
    M("tables first appearance", "first[code[::-1]] = position[::-1]", "first[code] = position",
      "tests/read/ -k 'first_appearance or known_players'"),
]  # fmt: skip


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
