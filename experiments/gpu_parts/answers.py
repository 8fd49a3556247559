"""What is decided by the numbers of each part, and what they say to it."""

from gpu_parts import conclusions

QUESTIONS = {
    "contract": "may any number of this device be believed?",
    "graphs": "may a loop be in a CUDA graph when there are loops within its events?",
    "kernel": 'is engine="kernel" right, and faster than the loop, so that it may become the default on a GPU?',
    "replays": "for which histories do `rate --dry-run` and the guide advise a GPU?",
    "blat_mmr": 'what does algorithm="auto" of BlatMMR take on this device?',
    "settings": "how many settings should `sweep_parameters` run together?",
    "fit": "does the guide advise a GPU for fits from many starts?",
    "chunks": "is the reader, the host or the device the bottleneck of `rate` by chunks?",
    "host": "what is compared with the device, on the machine that it stands in",
}
ENOUGH = 0.8  # share of the best rate that is as good as it


def answer_questions(records):
    """A row for each part: what is decided, and what its numbers say."""
    return [{"part": part, "decides": QUESTIONS[part], "answer": ANSWERS[part](records)} for part in records]


def join_names(rows, *columns):
    return ", ".join(dict.fromkeys(" ".join(str(row[x]) for x in columns if row.get(x)) for row in rows)) or "none"


def answer_by_failures(records, part):
    rows = records[part]["rows"]
    wrong = [row["case"] for row in rows if "error" in row]
    return f"{len(rows) - len(wrong)} of {len(rows)} cases are right" + (
        f", wrong: {join_names(wrong, 'system', 'form', 'precision')}" if wrong else ""
    )


def answer_by_graphs(records):
    rows = conclusions.rows_without_error(records, "graphs")
    wrong = [row for row in rows if row["whole_wrong"]]
    if any(row["by_step_wrong"] for row in rows):
        return f"turns differ without it: {join_names(rows, 'system')}"
    return f"no: wrong for {join_names(wrong, 'system')}" if wrong else "yes"


def answer_by_kernel(records):
    ratios = conclusions.compare_kernel_with_loop(records)
    faster = [row for row in ratios if row["times_the_loop"] > 1.0]
    return f"{answer_by_failures(records, 'kernel')}; faster for {join_names(faster, 'system', 'history')}"


def answer_by_replays(records):
    rows = [row for row in conclusions.compare_with_host(records) if row["part"] == "replays"]
    ahead = [row for row in rows if row["times_the_host"] > 1.0]
    by_kernel = [
        row | {"engine": "by the kernel"} if row["engine"] == "kernel" else row | {"engine": ""} for row in ahead
    ]
    return f"ahead of the host for {join_names(by_kernel, 'system', 'history', 'engine')}"


def answer_by_blat_mmr(records):
    rows = conclusions.winners(records)
    return "; ".join(f"{row['table']} of {row['taps']} taps by {row['winner']}" for row in rows) or "nothing"


def answer_by_settings(records):
    rows = [
        x
        for x in conclusions.rows_without_error(records, "settings")
        if x["system"] == "glicko" and x["table"] == "settings"
    ]
    rates = {(x["engine"], x["settings"]): x["million_per_second"] for x in rows}
    if not rates:
        return "nothing"
    best, most = max(rates, key=rates.get), max(rates.values())
    enough = min(number for (engine, number), rate in rates.items() if engine == best[0] and rate >= ENOUGH * most)
    return f"{enough} by the engine {best[0]}, at {rates[best[0], enough]:.3g} million matches a second"


def answer_by_fit(records):
    rows = [row for row in conclusions.compare_with_host(records) if row["part"] == "fit"]
    return "; ".join(f"{x['system']} from {x['starts']}: {x['times_the_host']:.3g} times the host" for x in rows)


def answer_by_chunks(records):
    rates = {row["way"]: row["million_per_second"] for row in conclusions.rows_without_error(records, "chunks")}
    return "; ".join(f"{way} {rate:.3g} million games a second" for way, rate in rates.items())


ANSWERS = {
    "contract": lambda records: answer_by_failures(records, "contract"),
    "graphs": answer_by_graphs,
    "kernel": answer_by_kernel,
    "replays": answer_by_replays,
    "blat_mmr": answer_by_blat_mmr,
    "settings": answer_by_settings,
    "fit": answer_by_fit,
    "chunks": answer_by_chunks,
    "host": lambda records: answer_by_failures(records, "host"),
}
