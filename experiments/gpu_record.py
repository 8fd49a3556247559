"""All that is to be measured when a GPU is at hand, by one command: agreement, speed, memory, and what it decides.

    python experiments/gpu_record.py --out FOLDER            # within nine minutes of one H100
    python experiments/gpu_record.py --out FOLDER --resume   # goes on; what failed is tried once more
    python experiments/gpu_record.py --quick                 # small forms on this CPU; writes nothing without --out

Every part has a process of its own and a file in FOLDER/parts, which is written after each case. A case that fails,
crashes or hangs is written with the smallest case that does so too, and the rest goes on. After each part
`gpu_record.json` has all of it, with the name of the hardware, each number beside its estimate, and what is decided.
Its preferences are the row of `PREFERENCES` in `jaxrate/systems/blat_mmr/settings.py` for this device.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from common import add_only, compile_quickly, declare, rounded, show
from gpu_parts import conclusions
from gpu_parts.answers import answer_questions
from gpu_parts.case_record import CaseRecord, tables
from gpu_parts.child_process import PARTS, record_path, run_part


def parse_options():
    parser = declare(__doc__, "small forms, seconds each", out="the folder of results")
    add_only(parser, PARTS, "PART")
    parser.add_argument("--resume", action="store_true", help="keep what the folder has, and go on")
    parser.add_argument("--device", choices=("cpu", "gpu"), help="the CPU with --quick, else the GPU")
    parser.add_argument("--seconds", type=float, default=540.0, help="in which all parts must end (540)")
    options = parser.parse_args()
    options.device = options.device or ("cpu" if options.quick else "gpu")
    if options.out is None and not options.quick:
        parser.error("give --out FOLDER")
    if options.quick:
        compile_quickly()
    return options


def run_parts(options):
    """The record of each part, which is run if it is asked for; all that is known is written after each."""
    end, found = time.monotonic() + options.seconds, {}
    for part in PARTS:
        path = record_path(part, options)
        if part in options.only:
            if not options.resume:
                path.unlink(missing_ok=True)
            CaseRecord(path).forget_failures()
            start = time.monotonic()
            record = run_part(part, options, end)
            failed = sum("error" in row for row in record.rows)
            said = record.content.get("stopped", f"{failed} of them failed" if failed else "all of them well")
            show({f"{part}: {title}": rows for title, rows in tables(record.rows).items()})
            print(f"({part}: {len(record.rows)} cases, {said}, {time.monotonic() - start:.0f} s)", flush=True)
        if path.exists():
            found[part] = CaseRecord(path).content
            write_record_and_tables(found, options)
    return found


def describe_hardware(records, options):
    """Where and when the parts ran: the device and the host."""
    every = {part: record["circumstances"] for part, record in records.items() if "circumstances" in record}
    own = next((x for part, x in every.items() if not PARTS[part].on_host), next(iter(every.values()), {}))
    return own | {"device": own.get("backend"), "quick": options.quick}


def tabulate_conclusions(records):
    """Tables of what follows from the parts."""
    every = {
        "beside the estimates": conclusions.compare_with_estimates(records),
        "beside the host": conclusions.compare_with_host(records),
        "the kernel beside the loop": conclusions.compare_kernel_with_loop(records),
        "BlatMMR: what wins where": conclusions.winners(records),
        "what went wrong": conclusions.failures(records),
        "what is decided": answer_questions(records),
    }
    return {title: rows for title, rows in every.items() if rows}


def write_record_and_tables(records, options):
    """Write the parts with what follows from them, as the row of BlatMMR's preferences for this kind of device."""
    about = describe_hardware(records, options)
    content = about | {"parts": {part: tables(record["rows"]) for part, record in records.items()}}
    content |= {"conclusions": rounded(tabulate_conclusions(records))}
    content |= {"preferences": conclusions.measured_preferences(records)}
    (options.out / "gpu_record.json").write_text(json.dumps(content, indent=1) + "\n")


def main():
    options = parse_options()
    with tempfile.TemporaryDirectory() as folder:
        options.out = options.out or Path(folder)
        options.out.mkdir(parents=True, exist_ok=True)
        records = run_parts(options)
        show(
            {
                f"{title}, {describe_hardware(records, options)['device']}": x
                for title, x in tabulate_conclusions(records).items()
            }
        )
    # What a busy machine had no time for has no place in the code, and is no failure of it.
    has_crashed = any(x.get("stopped", "").startswith("exit status") for x in records.values())
    if options.quick and (has_crashed or any(x["place"] for x in conclusions.failures(records))):
        sys.exit("the quick form has failures")


if __name__ == "__main__":
    main()
