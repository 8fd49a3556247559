"""CSV in its dialects, and files that cannot be read."""

import bz2
import datetime
import gzip
import io
import json
import os
import sys
import zipfile
from typing import NamedTuple

import numpy as np
import pytest

from jaxrate.data.dataset_from_table import read
from jaxrate.data.table_writing import to_frame, write
from tests.read.tables import MEMORY, names, table

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore:took ")


CSV = {  # texts, and the names in them by order of first appearance
    "a name like a dialect": ("a,b,score;\nx;1,y,1\n", ["x;1", "y"]),
    "quotes": ('a,b,score\n"two\nlines",x,1\n"say ""hi""",x,0\n', ["two\nlines", "x", 'say "hi"']),
    "empty lines": ("\n\na,b,score\n\nZoë,x,1\n\nx,Zoë,0\n\n", ["Zoë", "x"]),
    "text": (
        "a,b,score\n007,7,1\n7,1e3,0\n1e3,late,1\nNA,null,0\nnan,2020-01-01,1\ntrue,7.,1\n",
        ["007", "7", "1e3", "late", "NA", "null", "nan", "2020-01-01", "true", "7."],
    ),
}


@pytest.mark.parametrize("name", CSV)
def test_csv_names_are_text(games, name):
    text, players = CSV[name]
    assert read(games(text), **({"score": "score;"} if "dialect" in name else {})).players.tolist() == players


def test_csv_names_that_differ_by_blanks_are_told(games):
    with pytest.warns(UserWarning, match="2 names of players differ from others only by blanks.*: '7' and ' 7'"):
        assert read(games("a,b,score\n7,x,1\n 7,x,1\n")).players.tolist() == ["7", "x", " 7"]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffa,b,score\nZoë,x,1\n\"Doe, J\",x,0\n",
        "a,b,score\r\nZoë,x,1\r\n\"Doe, J\",x,0\r\n",
        "a,b,score\nZoë,x,1\n\"Doe, J\",x,0",
        "\ufeff\"score\",\"b\",\"a\"\r\n1,x,Zoë\r\n0,x,\"Doe, J\"\r\n",
    ],
    ids=["bom", "crlf", "no last newline", "all of it"],
)  # fmt: skip
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_csv_dialects(games, text, mark):
    dataset = read(games(text.replace(",", mark).replace(f"Doe{mark}", "Doe,")))
    assert dataset.players.tolist() == ["Zoë", "x", "Doe, J"] and dataset.events.score.tolist() == [1, 0]


def test_csv_longer_than_arrow_takes_at_once(games):
    """Lines in quotes at any place, and numbers that turn into fractions late."""
    names = [f"{i}\n{'x' * 60}" for i in range(40_000)]
    dataset = read(games("a,b,score\n" + "".join(f'"{name}",y,1\n' for name in names) + "y,z,0.5\n"))
    assert dataset.players.tolist() == [names[0], "y", *names[1:], "z"]
    assert dataset.events.score[-2:].tolist() == [1, 0.5]


@pytest.mark.parametrize(
    "name", ["GAMES.CSV", "games.tsv", "games.csv.gz", "games.tsv.bz2", "games.csv.zst", "games.zip"]
)
def test_csv_endings(games, name):
    mark, ann = ("\t", "Doe, J") if "tsv" in name else (",", "Doe")
    lines = ["a", "b", "score", "elo, then" if "tsv" in name else "elo"], [ann, "x", "7", "1"]
    squeeze = {"gz": gzip.compress, "bz2": bz2.compress, "zst": lambda x: pa.compress(x, "zstd", asbytes=True)}
    squeeze["zip"] = lambda x: zipped({"kaggle/games.csv": x})
    text = "".join(mark.join(line) + "\n" for line in lines).encode()
    path = games(squeeze.get(name.rpartition(".")[2], bytes)(text), name)
    with pytest.raises(ValueError, match=rf"^{name}: row 0 \(counting from 0, line 2\): score 7.0 is outside"):
        read(str(path))
    assert read(path, upcoming=True).players.tolist() == [ann, "x"]


@pytest.mark.parametrize("name", ["games.csv", "games.csv.gz", "games.parquet"])
def test_files_that_are_not_there(tmp_path, name):
    with pytest.raises(ValueError, match=f"^{name}: no such file$"):
        read(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match=f"^{name}: a directory, not a file$"):
        read(tmp_path / name)


WHOLE = gzip.compress(b"a,b,score\n" + b"x,y,1\n" * 9999, mtime=0)
ONE, NOT_UTF8 = "a,b,score\nx,y,1\n", "not UTF-8 text; save the file as UTF-8$"
AMONG, RAGGED = "a,b,score\n\n" + "x,y,1\n" * 5 + "{}\n" + "x,y,1\n" * 5, ("x,y", "x,y,1,2", "x")
WRONG = [  # names and contents of files, and what is said of them
    *((name, ONE, r"cannot read .*\.parquet, \.csv, .* or \.ods$") for name in ("g.doc", "g", "csv", "g.parquet.gz")),
    *(("g.csv", text, "the file is empty$") for text in ("", "\n\n")),
    ("g.csv", "a,b,score\n", "no rows$"),
    ("g.csv", "a,a,score\nx,y,1\n", r"no column 'a'; .*there are: a \(1\), a \(2\), score\)"),
    *(("g.parquet", content, "[^\n]*$") for content in ("", "PAR1", ONE * 9, b"PAR1" + bytes(99) + b"PAR1")),
    *(("g.csv.gz", AMONG.format(bad), rf"row 5 \(.*, line 8\): Expected 3 columns, got .: {bad}$") for bad in RAGGED),
    ("g.csv", 'a,b,score\n\n"x\ny",z,1\n\nx,y,1\nx,z,2\n', r"row 2 \(counting from 0, line 7\): score 2.0 is outside"),
    ("g.csv", "a,b,score\nŻoë,y,1\n".encode() + "Zoë,y,1\n".encode("latin-1"), r"row 1 .*line 3\): " + NOT_UTF8),
    ("g.csv", "a,b,score\nx,y,1\n".encode("utf-16-le"), "line 1: " + NOT_UTF8),
    ("g.csv", 'a,b,score\nx,y,1\nx,"",1\n', r"row 1 \(counting from 0, line 3\): column 'b' has no value"),
    ("g.json", '{"a": "x"}\n{"a": ', "line 2: not JSON"),
    ("g.json", '[{"a": "x",}]', "line 1: not JSON"),
    ("g.json", '{"home": [{"a": 1}], "away": [{"a": 2}]}', "the table could be 'home' or 'away'"),
    ("g.json", '{"a": "x", "b": "y", "score": 1}\n\n{"a": "x", "b": "x", "score": 1}', r"row 1 \(counting from 0,"),
    ("g.zip", "PK", "no zip archive that can be read"),
    *(("g.xlsx", content, "no spreadsheet") for content in ("PK\x03\x04", "no zip")),
]


@pytest.mark.parametrize(("name", "content", "message"), WRONG)
def test_files_that_cannot_be_read(games, name, content, message):
    content = content.encode() if isinstance(content, str) else content
    with pytest.raises(ValueError, match=f"^{name}: {message}"):
        read(games(gzip.compress(content) if name == "g.csv.gz" else content, name))


@pytest.mark.parametrize("content", [b"a,b,score\nx,y,1\n", WHOLE[:-20], WHOLE[:12], WHOLE[:20] + b"?" + WHOLE[21:]])
def test_not_gzip(games, content):
    with pytest.raises(ValueError, match="^games.csv.gz: [^\n]*$"):
        read(games(content, "games.csv.gz"))


@pytest.mark.parametrize("part", ["end", "middle", "rows"])
def test_broken_parquet(games, tmp_path, part):
    columns = {"a": np.arange(9999), "b": -np.arange(9999) - 1, "score": np.ones(9999)}
    pa.parquet.write_table(pa.table(columns).slice(0, 0 if part == "rows" else 9999), tmp_path / "x")
    whole = (tmp_path / "x").read_bytes()
    content = {"end": whole[:-40], "middle": whole[:4] + b"\xff" * 5000 + whole[5004:], "rows": whole}[part]
    with pytest.raises(ValueError, match="^games.parquet: no rows$" if part == "rows" else "^games.parquet: [^\n]*$"):
        read(games(content, "games.parquet"))


@pytest.mark.parametrize(
    "text, encoding",
    [
        ("a,b,score\nZoë,y,0.5\n", "cp1252"),
        ("\na,b,score,Größe\nZoë,y,0.5,2\n", "latin-1"),
        ("a;b;score\nZoë;y;0.5\n", "utf-16"),
    ],
)
def test_other_encodings(games, text, encoding):
    dataset = read(games(text.encode(encoding)))
    assert dataset.players.tolist() == ["Zoë", "y"] and dataset.events.score.tolist() == [0.5]


ROWS = [
    {"date": "2024-01-01", "home": "Ada", "away": "Bo", "home_goals": 2, "away_goals": 1},
    {"date": "2024-01-02", "home": "Bo", "away": "Cy", "home_goals": 0, "away_goals": 0},
    {"date": "2024-01-03", "home": "Cy", "away": "Ada", "home_goals": 1, "away_goals": 3},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
NESTED = [
    {
        "date": row["date"],
        "team1": {"name": row["home"], "code": row["home"][:1]},
        "team2": {"name": row["away"]},
        "score": {"ft": [row["home_goals"], row["away_goals"]], "ht": [0, 0]},
        "venue": None if i else {"city": "Rome"},
    }
    for i, row in enumerate(ROWS)
]
DOCUMENTS = {
    "records": ROWS,
    "columns": COLUMNS,
    "columns of pandas": {name: dict(enumerate(values)) for name, values in COLUMNS.items()},
    "nested": NESTED,
    "one list within": {"league": "A", "data": {"year": 2024, "matches": NESTED}},
    "teams and matches": {"teams": [{"name": "Ada"}, {"name": "Bo"}], "matches": ROWS},
    "rounds of matches": {"rounds": [{"name": "1", "matches": NESTED[:2]}, {"name": "2", "matches": NESTED[2:]}]},
    "fixtures of an API": {
        "get": "fixtures",
        "errors": [],
        "paging": {"current": 1, "total": 1},
        "response": [
            {
                "fixture": {"id": i, "date": f"{row['date']}T00:00:00+00:00", "status": {"short": "FT"}},
                "teams": {side: {"name": row[side], "winner": None} for side in ("home", "away")},
                "goals": {side: row[f"{side}_goals"] for side in ("home", "away")},
            }
            for i, row in enumerate(ROWS)
        ],
    },
    "by id": {f"m{i}": row for i, row in enumerate(ROWS)},
}


def check_rows(data):
    assert data.players.tolist() == ["Ada", "Bo", "Cy"] and data.events.score.tolist() == [1, 0.5, 0]
    assert data.events.time.tolist() == [19723, 19724, 19725]


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_json_in_all_its_forms(games, document):
    check_rows(read(games(json.dumps(document), "games.json")))
    data = read(json.loads(json.dumps(document)))
    check_rows(data)
    assert (data.events.context.side is None) == ("home" not in str(document))


def test_json_of_rows_below_their_header(games):
    rows = [[*row.values()] for row in ROWS]
    for document in ([[*COLUMNS], *rows], {"index": [0, 1, 2], "columns": [*COLUMNS], "data": rows}):
        check_rows(read(games(json.dumps(document), "games.json")))
    paired = [
        {"date": x["date"], "teams": [x["home"], x["away"]], "score": [x["home_goals"], x["away_goals"]]} for x in ROWS
    ]
    check_rows(read(games(json.dumps(paired), "games.json")))
    teams = [{"teams": [["Ada", "Bo"], ["Cy", "Di"]], "winner": x} for x in (0, 1)]
    assert read(games(json.dumps(teams), "games.json")).rounds.events.rank.tolist() == [0, 0, 2, 2, 2, 2, 0, 0]


def test_archives_of_several_files_are_refused(games):
    with pytest.raises(ValueError, match="g.zip: there are x.csv and y.csv in the archive; unpack it, and name one"):
        read(games(zipped({"x.csv": ONE, "y.csv": ONE}), "g.zip"))


def test_json_lines_and_text_with_other_delimiters(games):
    lines = "\n\n".join(map(json.dumps, NESTED))
    for name in ("games.jsonl", "games.json", "games.ndjson.gz"):
        check_rows(read(games(gzip.compress(lines.encode()) if name.endswith("gz") else lines, name)))
    for mark in "|\t;,":
        text = "\n".join(mark.join(map(str, row)) for row in ([*COLUMNS], *(row.values() for row in ROWS)))
        check_rows(read(games(text, "games.txt")))
    below = text.replace(",", ";").replace("home_goals", '"home goals, all"')
    head = below.splitlines()[0]
    for text in (
        f"sep=;\r\n{below}\n{head}\n",
        below.replace("\n", f"\r\n{head}\r\n"),
        f"\ufeff{below}\n{head}\n{head}",
    ):
        check_rows(read(games(text), margin=["home goals, all", "away_goals"]))
    with pytest.raises(ValueError, match=r"row 1 \(counting from 0, line 4\): column 'result' is 'odd'"):
        read(games("home,away,result\nx,y,H\nhome,away,result\nx,y,odd\nx,y,D\n"))


def zipped(parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return out.getvalue()


def xlsx_cell(value):
    return f"<c><v>{value}</v></c>" if isinstance(value, int) else f'<c t="inlineStr"><is><t>{value}</t></is></c>'


def ods_cell(value):
    if isinstance(value, int):
        return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
    if value[:2] == "20":
        return f'<table:table-cell office:value-type="date" office:date-value="{value}"/>'
    return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'


def rows_of(rows, cell, tag):
    return "".join(f"<{tag}>{''.join(map(cell, row))}</{tag}>" for row in rows)


def spreadsheet(sheets):
    """The bytes of an .xlsx of rows by name of the sheet, whose numbers are numbers."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    names = "".join(f'<sheet name="{name}" r:id="r{i}"/>' for i, name in enumerate(sheets))
    link = f'<Relationship Id="r{{0}}" Type="{kind}/worksheet" Target="worksheets/{{0}}.xml"/>'
    book = f'<Relationship Type="{kind}/officeDocument" Target="xl/workbook.xml"/>'
    parts = {
        "_rels/.rels": f"<Relationships>{book}</Relationships>",
        "xl/workbook.xml": f'<workbook xmlns:r="{kind}"><sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f"<Relationships>{''.join(map(link.format, range(len(sheets))))}</Relationships>",
    }
    for i, rows in enumerate(sheets.values()):
        text = rows_of(rows, xlsx_cell, "row")
        parts[f"xl/worksheets/{i}.xml"] = f"<worksheet><sheetData>{text}</sheetData></worksheet>"
    return zipped(parts)


def open_document(rows):
    """The bytes of an .ods of rows, whose first column holds dates."""
    body = rows_of(rows, ods_cell, "table:table-row")
    inner = f'<office:spreadsheet><table:table table:name="A">{body}</table:table></office:spreadsheet>'
    text = f"<office:document-content><office:body>{inner}</office:body></office:document-content>"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return zipped({"mimetype": kind, "META-INF/manifest.xml": "<manifest/>", "content.xml": text})


def test_spreadsheets(games):
    rows = [[*COLUMNS], *([*row.values()] for row in ROWS)]
    check_rows(read(games(spreadsheet({"2024": rows}), "games.xlsx")))
    check_rows(read(games(spreadsheet({"2024": [*rows[:2], rows[0], *rows[2:]]}), "games.xlsx")))
    check_rows(read(games(open_document(rows), "games.ods")))
    titled = [["Our league"], [], *([*row, "", "note"] for row in rows)]
    book = games(spreadsheet({"a": [], "b": titled, "c": [["x"]], "d": rows}), "games.xlsx")
    with pytest.warns(UserWarning, match="sheet 'b' for the table, and not 'c' and 'd' .which games.xlsx#c names"):
        check_rows(read(book))
    check_rows(read(f"{book}#d"))
    with pytest.raises(ValueError, match=r"^games.xlsx#D: no sheet 'D'; did you mean 'd'\? .there are: b, c, d"):
        read(f"{book}#D")
    rows = [["a", "b", "score"], ["Ada\n(Ash)", "Bo", 1], ["Bo", "", 1]]
    with pytest.raises(ValueError, match=r"^games.xlsx: row 1 \(counting from 0, row 3 of the sheet\): column 'b'"):
        read(games(spreadsheet({"a": rows}), "games.xlsx"))


def test_standard_input(games, monkeypatch):
    frame = io.BytesIO()
    pa.parquet.write_table(pa.table(COLUMNS), frame)
    text = "\n".join(",".join(map(str, row)) for row in ([*COLUMNS], *(row.values() for row in ROWS)))
    for content in (
        text.encode(),
        text.encode("utf-16"),
        json.dumps(NESTED).encode(),
        frame.getvalue(),
        spreadsheet({"a": [[*COLUMNS], *([*row.values()] for row in ROWS)]}),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        check_rows(read("-"))
        check_rows(read("-"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b,score\nx,x,1\n")))
    with pytest.raises(ValueError, match=r"^standard input: row 0 \(counting from 0, line 2\)"):
        read("-")


@pytest.mark.parametrize("name", ["games.csv", "games.parquet"])
def test_what_is_written_is_read(tmp_path, name):
    columns = {
        "winner": np.array(["Doe, J", 'say "hi"', "Zoë"]),
        "loser": np.array(["x", "y", "Doe, J"], object),
        "time": np.array(["2020-01-01T06", "2020-01-02T12", "2020-01-03T18"], "datetime64[s]"),
        "weight": np.array([0.1, 1 / 3, 1e-9]),
        "neutral": np.array([True, False, True]),
        "side": np.array([1, -1, 0]),
    }
    (tmp_path / name).write_text("what was there before")
    for path in (tmp_path / name, str(tmp_path / name)):
        assert write(columns, path) is None
        assert os.listdir(tmp_path) == [name]
        dataset = read(path, weight="weight", side="side", neutral="neutral")
        assert names(dataset) == np.stack([columns["winner"], columns["loser"]], axis=1).tolist()
        assert dataset.events.time.tolist() == [18262.25, 18263.5, 18264.75]
        assert dataset.events.context.weight.tolist() == columns["weight"].tolist()
        assert dataset.events.context.side.tolist() == [0, -1, 0]


@pytest.mark.parametrize("name", ["games.txt", "games", "games.csv.gz"])
def test_write_to_another_ending(tmp_path, name):
    with pytest.raises(ValueError, match=rf"^{name}: the name must end in \.parquet or \.csv$"):
        write(table(), tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["games.csv", "games.parquet"])
def test_write_all_or_nothing(tmp_path, name, monkeypatch):
    (tmp_path / name).write_text("before")

    def fail_midway(table, target):
        target.write(b"half")
        raise OSError("disk full")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr(pa.csv, "write_csv", fail_midway)
        patch.setattr(pa.parquet, "write_table", fail_midway)
        write(table(), tmp_path / name)
    with pytest.raises(ValueError, match=r"column 'b' has shape \(3,\), expected \(1,\)"):
        write(table(a=["x"]), tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "before"


class Board(NamedTuple):
    player: object
    when: object
    nothing: object = None


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("unit", ["Y", "D", "s", "ns"])
def test_frame(kind, unit):
    package = pytest.importorskip(kind)
    board = Board(np.array(["x", "y"], object), np.array(["2020-01-01", "2021-01-01"], f"datetime64[{unit}]"))
    made = to_frame(board, kind)
    assert type(made) is (package.table({}) if kind == "pyarrow" else package.DataFrame()).__class__
    back = pa.table(made)
    assert back.column_names == ["player", "when"]
    assert back["player"].to_pylist() == ["x", "y"]
    assert np.array(back["when"].cast("date32").to_pylist()).tolist() == [datetime.date(y, 1, 1) for y in (2020, 2021)]


def test_frame_of_what_is_installed(monkeypatch):
    for package in ("polars", "pandas", "pyarrow"):
        assert type(to_frame({"x": [1]})).__module__.startswith(package)
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=f"a frame needs {package}: pip install {package}$"):
            to_frame({"x": [1]}, package)
    with pytest.raises(ImportError, match="a frame needs polars, pandas or pyarrow"):
        to_frame({"x": [1]})


@pytest.mark.parametrize("kind", MEMORY, indirect=True)
def test_write_and_frame_any_table(source, tmp_path):
    columns = {"x": [1, 2], "y": ["p", "q"]}
    write(source(columns), tmp_path / "x.parquet")
    assert pa.parquet.read_table(tmp_path / "x.parquet").to_pydict() == columns
    assert to_frame(source(columns), "pyarrow").to_pydict() == columns


def test_json_that_is_nested_too_deeply_is_no_table(games):
    with pytest.raises(ValueError, match="nested too deeply"):
        read(games("[" * 100_000 + "]" * 100_000, "g.json"))
