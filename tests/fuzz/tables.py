"""Hostile tables: columns of odd values, as lists, and in every kind of source that `read` knows."""

import datetime
import decimal
import fractions
import gzip

import numpy as np

from jaxrate.data.dataset_names import NamesOfEarlierData
from jaxrate.data.table_sources import TableSource

NASTY = ["", " ", "\t", "\0", "\x1b[31m", "\u202e", "\ufeff", "\ud800", "nan", "NaN", "inf", "-inf", "infinity", "null"]
NASTY += ["0x1", "0x1p3", "1_0", "1e999", "-1e999", "1e-400", "\u0661", "1,5", "=1+1", "'", '"', '"x', "a\nb", "a\rb"]
NASTY += ["x" * 5000, "9" * 400, "-0", "+1", "1.", ".5", "true", "TRUE"]
NASTY += ["2024-02-30", "2024-01-31T10:00:00+99:00", "\\N"]
NASTY += ["10000-01-01", "9999-12-31", "0000-01-01", "2024-01-31 25:00", "A", "a", "a ", "\uff21", "Zoë", "Zoe\u0308"]
NASTY += ["ß", "SS", "İ", "1/2", "::"]
NUMBERS = [0, -0.0, 1, -1, 0.5, 2, 7, 1e12, 1e13, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan, 2**31, 2**53 + 1]
NUMBERS += [2**63, -(2**63), 2**64, 10**400, True, False, None]
ODD = [*map(decimal.Decimal, ("NaN", "sNaN", "Infinity", "0.5")), 1j, b"x", b"\xff", fractions.Fraction(1, 3)]
ODD += [datetime.date(1, 1, 1), datetime.datetime(9999, 12, 31), datetime.time(1), datetime.timedelta(1), object, float]
ODD += [(1, 2), [1], {}, frozenset(), np.zeros(2), np.array(1), np.datetime64("NaT", "D"), np.datetime64("2024-01-01")]
ODD += [np.timedelta64(1, "D"), np.float32(0.5), np.datetime64("2262-04-12", "ns"), np.datetime64(10**9, "Y")]
ODD += [np.int8(1)]
FORMS = {"played": ["a", "b", "score"], "won": ["winner", "loser"], "contests": ["contest", "player", "rank"]}
PARTS = ["a", "b", "score", "winner", "loser", "contest", "player", "rank", "team", "ceiling", "time"]
PARTS += ["side", "neutral", "weight", "category", "columns", "drop", "date", "t"]
PLAYERS = [["p1", "p1"], [], [1, 2], ["p1", None], np.array(["p3"]), "p1", ["p0", "P0 "]]
MIXTURES = [{"p1": None}, {"p1": {"p2": np.nan}}, {"p1": ["p2"]}, {1: "x"}, [], {"p1": {"p1": 1}}]
KINDS = ["dict", "dict", "numpy", "pandas", "polars", "arrow", "csv", "csv", "gz", "parquet", "bytes", "source"]
ENDS = {"csv": ["x.csv"], "gz": ["x.csv.gz"], "bytes": ["x.csv", "x.tsv", "x.parquet"]}


def pick(random, values):
    return values[int(random.integers(len(values)))]


def values(random, n, kind=None):
    """A column of n values; mostly of one sort, with some that are not."""
    kind = kind or pick(random, ["name", "score", "time", "number", "nasty", "odd", "date", "flag"])
    plain = {
        "name": lambda: f"p{random.integers(6)}",
        "score": lambda: pick(random, [0, 0.5, 1]),
        "time": lambda: float(random.integers(50)),
        "number": lambda: pick(random, NUMBERS),
        "nasty": lambda: pick(random, NASTY),
        "odd": lambda: pick(random, ODD),
        "date": lambda: f"2024-01-{random.integers(1, 32):02}",
        "flag": lambda: pick(random, ["true", "false", True, 0]),
    }
    column = [plain[kind]() for _ in range(n)]
    if kind == "time":
        column.sort()
    for row in random.integers(0, n, random.integers(0, 3)) if n and random.random() < 0.4 else ():
        column[row] = pick(random, [NASTY, NUMBERS, ODD][random.integers(3)])
    return column


def drawn_table(random):
    """Columns of one of the forms, as lists, and arguments of `read` that name some of them."""
    n = int(pick(random, [0, 1, 2, 5, 30]))
    form = pick(random, list(FORMS))
    sorts = {"score": "score", "rank": "time", "time": "time"}
    table = {name: values(random, n, sorts.get(name, "name")) for name in FORMS[form]}
    if form == "contests":
        table["contest"] = sorted(table["contest"], key=str)
        table["player"] = [f"p{i}" for i in range(n)] if random.random() < 0.7 else table["player"]
    arguments = {}
    for part in random.permutation(PARTS)[: random.integers(4)]:
        if part in FORMS[form]:
            continue
        table[part] = values(random, n, "time" if part in ("time", "date", "t") and random.random() < 0.7 else None)
        if part not in ("date", "t", "time"):
            name = "participant" if part == "player" else part
            arguments[name] = part if random.random() < 0.9 else pick(random, ["", "nowhere", 3, (), ["a"], ["a", "b"]])
    for flag in ("sort", "upcoming", "skip_incomplete", "normalise_names"):
        if random.random() < 0.25:
            arguments[flag] = True
    if random.random() < 0.1:
        arguments["history"] = NamesOfEarlierData(pick(random, PLAYERS))
    if random.random() < 0.1:
        arguments["mixtures"] = pick(random, MIXTURES)
    if random.random() < 0.05 and n:
        table[pick(random, list(table))] = values(random, n + 1)
    return table, arguments


def as_csv(random, table):
    """The table as bytes of CSV, sometimes broken."""
    mark = pick(random, [",", ",", ";", "\t"])

    def field(value):
        text = "" if value is None else str(value)
        if random.random() < 0.9 and any(x in text for x in '",;\t\r\n'):
            text = '"' + text.replace('"', '""') + '"'
        return text

    rows = [list(table), *zip(*table.values(), strict=False)]
    data = "\n".join(mark.join(map(field, row)) for row in rows).encode("utf-8", "surrogatepass") + b"\n"
    return broken(random, data)


def broken(random, data):
    """The bytes, sometimes with some changed, left out or twice."""
    if random.random() < 0.6 or not data:
        return data
    low, high = sorted(random.integers(0, len(data) + 1, 2).tolist())
    middle = pick(random, [b"", data[low:high] * 2, random.bytes(5), b"\xff\xfe", b'"', b"\n", b"\0"])
    return data[:low] + middle + data[min(high, low + 20) :]


def as_source(random, table, folder):
    """The table in a kind of source that can hold it; None if this one cannot."""
    import pandas
    import polars
    import pyarrow

    kind = pick(random, KINDS)
    if kind in ("csv", "gz", "bytes"):
        data = random.bytes(int(random.integers(200))) if kind == "bytes" else as_csv(random, table)
        name = pick(random, ENDS[kind])
        (folder / name).write_bytes(broken(random, gzip.compress(data)) if kind == "gz" else data)
        return folder / name
    try:
        if kind == "numpy":
            return {name: np.array(column) for name, column in table.items()}
        if kind == "pandas":
            return pandas.DataFrame(table)
        plain = all(isinstance(x, (str, float, type(None))) for column in table.values() for x in column)
        if kind == "polars" and plain:
            return polars.DataFrame(table, strict=bool(random.integers(2)))
        mixed = any(isinstance(x, np.generic) for column in table.values() for x in column)  # pyarrow may crash of them
        if kind in ("arrow", "parquet") and not mixed:
            made = pyarrow.table(table)
            if kind == "arrow":
                return made
            import pyarrow.parquet

            pyarrow.parquet.write_table(made, folder / "x.parquet")
            whole = (folder / "x.parquet").read_bytes()
            (folder / "x.parquet").write_bytes(broken(random, whole))
            return folder / "x.parquet"
    except Exception:  # this kind of table cannot hold such columns
        return None
    if kind == "source":
        return TableSource("x: ", list(table), lambda names, text=(): table, lambda row: f"x: row {row}")
    return table
