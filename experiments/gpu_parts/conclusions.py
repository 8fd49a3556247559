"""Measured numbers beside estimates, what each decides, and the tables of the package that they replace."""

import json

from gpu_estimates import BANDWIDTH, KERNEL_SECONDS, RESULTS, step_seconds, steps_by_counts, unit_seconds

SHOWN = "system", "events", "history", "engine", "settings"


def rows_without_error(records, part):
    """The rows of a part that have numbers, each with what identifies its case."""
    return [row["case"] | row for row in records.get(part, {}).get("rows", []) if "error" not in row]


def failures(records):
    """What went wrong, with the smallest case that shows it."""
    return [
        {
            "part": part,
            "case": row["case"],
            "error": row["error"],
            "place": row.get("place"),
            "smallest": row.get("smallest"),
        }
        for part, record in records.items()
        for row in record["rows"]
        if "error" in row
    ]


# --- Beside the estimates. ---


def compare_with_estimates(records):
    """Rows: the seconds of a replay, those by the estimates, their ratio, and what it says of the constants."""
    rows = [
        *rows_without_error(records, "replays"),
        *(x for x in rows_without_error(records, "settings") if x["table"] == "settings"),
    ]
    found = []
    for row in rows:
        estimate, says = estimated_seconds(row)
        if estimate:
            about = {name: row[name] for name in SHOWN if name in row}
            ratio = row["seconds"] / estimate
            found.append(about | {"seconds": row["seconds"], "estimate": estimate, "ratio": ratio} | says(ratio))
    return found


def estimated_seconds(row):
    """Seconds by the counts of programs, and what the measured ones say; None if nothing was counted."""
    number = row.get("settings", 1)
    if row["engine"] == "kernel":
        level = level_seconds_by_counts(row["system"], number)
        return (level and row["steps"] * level), lambda ratio: {"says": f"a level takes {1e6 * level * ratio:.2g} us"}
    counted = counted_program_step(row["system"], row.get("events", "matches"), number)
    if counted is None:
        return None, None
    launches, work = row["steps"] * step_seconds(counted), row["units"] * unit_seconds(counted)

    def says(ratio):
        if launches > work:
            return {"says": f"a launch takes {1e6 * KERNEL_SECONDS * ratio:.2g} us, estimated {1e6 * KERNEL_SECONDS:g}"}
        return {"says": f"memory gives {BANDWIDTH / 1e12 / ratio:.2g} TB a second, estimated {BANDWIDTH / 1e12:g}"}

    return max(launches, work), says


def counted_program_step(system, events, settings):
    """The row of `gpu_programs.json`."""
    rows = steps_by_counts(settings)
    return next((row for row in rows if (row["system"], row["events"]) == (system, events)), None)


def level_seconds_by_counts(system, settings):
    """Of a level in the one-launch kernel, by `gpu_kernel.json`."""
    found = json.loads((RESULTS / "gpu_kernel.json").read_text())["results"]
    history = next(x for x in found["history"] if x["width"] == 256)
    for row in found["replay"]:
        if (row["system"], row["settings"]) == (system, settings):
            return settings * history["matches"] / history["levels"] / (row["million_per_second_256"] * 1e6)
    return None


# --- Beside the host, and beside each other. ---


def compare_with_host(records):
    """How many times as many matches a second the device rates as the host, for cases that both had."""
    host = {}
    for row in rows_without_error(records, "host"):
        host[identity(row | {"table": row["table"].removeprefix("host: ")})] = row
    found = []
    for part in ("replays", "settings", "fit", "chunks"):
        for row in rows_without_error(records, part):
            other = host.get(identity(row | ({"engine": "scan"} if "engine" in row else {})))
            if other is None:
                continue
            rates = [x.get("million_per_second") or 1.0 / x["seconds"] for x in (row, other)]
            about = {name: row[name] for name in (*SHOWN, "starts", "way") if name in row}
            loss = {"log_loss_off": row["log_loss"] - other["log_loss"]} if same_matches(row, other) else {}
            found.append({"part": part} | about | {"times_the_host": rates[0] / rates[1]} | loss)
    return found


def identity(row):
    names = "table", "system", "events", "history", "engine", "settings", "histories", "starts", "way"
    return tuple(row.get(name) for name in names)


def same_matches(row, other):
    return "log_loss" in row and row["matches"] == other.get("matches")


def compare_kernel_with_loop(records):
    """How many times as fast the kernel is as the loop, for cases that both had."""
    found = []
    for part in ("replays", "settings"):
        rows = {identity(row): row for row in rows_without_error(records, part) if "engine" in row}
        for row in rows.values():
            loop = rows.get(identity(row | {"engine": "scan"}))
            if row["engine"] == "kernel" and loop is not None:
                about = {name: row[name] for name in SHOWN if name in row and name != "engine"}
                found.append(about | {"times_the_loop": loop["seconds"] / row["seconds"]})
    return found


# --- The tables that are replaced. ---


def measured_preferences(records):
    """BlatMMR's algorithms, the fastest first; None unless all were measured."""
    rows = rows_without_error(records, "blat_mmr")
    kernels = {(x["taps"], x["kernel"]): x["million_per_second"] for x in rows if x["table"] == "kernels"}
    sums = {x["sums"]: x["million_per_second"] for x in rows if x["table"] == "sums"}
    least = min((taps for taps, _ in kernels), default=None)
    if least is None or (least, "band") not in kernels:
        return None
    sums["low_rank"] = kernels[least, "band"]
    every = sorted({taps for taps, _ in kernels})
    if len(sums) < 3 or len(kernels) < 3 * len(every):
        return None
    band = [taps for taps in every if max("band", "fft", "naive", key=lambda x, t=taps: kernels[t, x]) == "band"]
    wide = max("fft", "naive", key=lambda x: kernels[every[-1], x])
    order = sorted(sums, key=sums.get, reverse=True)
    return {"sums": order, "band_taps": max(band, default=0), "wide_kernel": wide}


def winners(records):
    """What wins where: the fastest algorithm for each kernel width, and for the sums."""
    rows, found = rows_without_error(records, "blat_mmr"), []
    for table, key in (("sums", "sums"), ("kernels", "kernel")):
        for taps in sorted({row["taps"] for row in rows if row["table"] == table}):
            mine = [row for row in rows if (row["table"], row["taps"]) == (table, taps)]
            mine += [
                x
                for x in rows
                if table == "sums" and x["table"] == "kernels" and (x["taps"], x["kernel"]) == (taps, "band")
            ]
            best = max(mine, key=lambda row: row["million_per_second"])
            rates = {row[key]: row["million_per_second"] for row in mine}
            found.append({"table": table, "taps": taps, "winner": best[key]} | rates)
    return found
