"""What `read` makes of times, dates and zones; and sorting."""

import datetime

import numpy as np
import pytest

from jaxrate.data.dataset_from_table import read
from tests.read.tables import names, read_noting, table

pa = pytest.importorskip("pyarrow")

TIMES = {
    "dates": [datetime.date(1970, 1, 2), datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)],
    "timestamps": [datetime.datetime(1970, 1, 2), datetime.datetime(1969, 12, 31), datetime.datetime(2024, 2, 29)],
    "dates in text": ["1970-01-02", "1969-12-31", "2024-02-29"],
    "timestamps in text": ["1970-01-02 00:00", "1969-12-31T00:00:00", "2024-02-29 00:00:00"],
    "zones in text": ["1970-01-02T00:00:00Z", "1969-12-31T02:00:00+02:00", "2024-02-28 19:00:00-05:00"],
    "nanoseconds in text": ["1970-01-02", "1969-12-31 00:00:00.000000000", "2024-02-29"],
    "numbers": [1, -1, 19782],
}


@pytest.mark.parametrize("values", TIMES.values(), ids=TIMES)
def test_time(source, values):
    dataset = read(source(table(time=values)), sort=True)
    assert dataset.events.time.tolist() == [-1, 1, 19782]
    assert dataset.events.time.dtype == np.float64


DAYS, HOURS = ["1970-01-01", "1970-01-03", "1970-01-04"], np.array([43_200, 86_400, 108_000], "datetime64[s]")
TYPED = {
    f"numpy {unit}": (np.array(DAYS, f"datetime64[{unit}]"), [0, 2, 3]) for unit in ("D", *"hms", "ms", "us", "ns")
}
TYPED |= {
    f"{unit} {zone}": (pa.array(HOURS).cast(pa.timestamp(unit, zone)), [0.5, 1, 1.25])
    for unit in ("s", "ms", "us", "ns")
    for zone in (None, "UTC", "+02:00")
}
TYPED |= {f"list of {unit}": ([np.datetime64("1971-01-01", unit)] * 3, [365] * 3) for unit in ("Y", "D", "s", "ns")}
MORNINGS = 21_600_500 + 86_400_000 * np.arange(3)  # milliseconds, each half a second past six
TYPED["parts of seconds"] = [np.datetime64(x, "ms") for x in MORNINGS.tolist()], (MORNINGS / 86_400_000).tolist()
OF_TWO_UNITS = [*map(np.datetime64, ["1971", "1971-01-02", "1973-01-01T00:00:00.000000000"])]
TYPED["list of two units"] = OF_TWO_UNITS, [365, 366, 1096]
TYPED["date64"] = (pa.array([datetime.date(1970, 1, day) for day in (1, 2, 3)], pa.date64()), [0, 1, 2])


@pytest.mark.parametrize("times, days", TYPED.values(), ids=TYPED)
def test_types_of_times(times, days):
    assert read(table(time=times)).events.time.tolist() == days
    if isinstance(times, list):
        with pytest.raises(ValueError, match=r"^row 1 \(counting from 0\): column 'time' has no value"):
            read(table(time=[times[0], None, times[2]]))


def test_sort_is_stable_and_takes_all_columns_along(source):
    columns = {"a": [*"dcba"], "b": [*"xxxy"], "score": [0.0, 1.0, 0.5, 0.25], "time": [2, 1, 2, 0]}
    columns |= {"side": [1.0, -1.0, 0.0, 0.5], "w": [1.0, 2.0, 3.0, 4.0], "ca": [*"pqqr"], "cb": [*"qqpp"]}
    dataset = read(source(columns), sort=True, side="side", weight="w", category=("ca", "cb"), columns=["w"])
    assert names(dataset) == [["a", "y"], ["c", "x"], ["d", "x"], ["b", "x"]]
    assert dataset.players.tolist() == ["d", "x", "c", "b", "a", "y"]  # as they stand in the source
    assert dataset.events.time.tolist() == [0, 1, 2, 2]
    assert dataset.events.score.tolist() == [0.25, 1, 0, 0.5]
    assert dataset.events.context.side.tolist() == [0.5, -1, 1, 0]
    assert dataset.events.context.weight.tolist() == dataset.events.context.columns["w"].tolist() == [4, 2, 1, 3]
    categories = [[dataset.categories[i] for i in row] for row in dataset.events.context.category]
    assert categories == [["r", "p"], ["q", "q"], ["p", "q"], ["q", "p"]]


def test_sort_is_stable_among_many():
    time = np.random.default_rng(0).integers(0, 5, 1000)
    dataset = read({"a": np.arange(1000), "b": -1 - np.arange(1000), "score": np.ones(1000), "t": time}, sort=True)
    assert dataset.players[dataset.events.player[:, 0]].tolist() == sorted(range(1000), key=lambda row: time[row])


def test_whole_numbers_that_are_dates(source):
    with pytest.warns(UserWarning, match="^took time as dates, of eight digits; name columns to choose others$"):
        data = read(source(table(time=[20240131, 20240229, 20250101])))
    assert data.clock == "dates" and data.events.time.tolist() == [19753, 19782, 20089]
    for other in ([20240131, 20240230, 20250101], [131, 229, 301], [20240131.5, 20240229, 20250101]):
        assert read(source(table(time=other)), sort=True).clock == "numbers"


WAYS = {  # to write three dates from 5 March 2024 on, and how they are written
    ("05/03/2024", "31/03/2024", "01/04/2024"): "day-first",
    ("Di 05.03.2024", "So 31.03.2024", "Mo. 01.04.2024"): "day-first",
    ("03/05/2024", "03/31/2024", "04/01/2024"): "month-first",
    ("5 Mar 2024", "31 Mar 2024", "1 April 2024"): None,
    ("March 5, 2024", "Sun Mar 31 2024", "April 1st, 2024"): None,
    ("Dienstag, 5. März 2024", "So 31. Mrz 2024", "1. April 2024"): None,
    ("mar. 5 mars 2024", "dim. 31 mars 2024", "lundi 1er avril 2024"): None,
    ("mar 5 de marzo de 2024", "dom. 31 mar 2024", "1 de abril de 2024"): None,
}


@pytest.mark.parametrize("dates", WAYS)
def test_ways_to_write_dates(source, dates):
    data, notes = read_noting(source(table(date=[*dates])))
    assert data.clock == "dates" and data.dates == WAYS[dates]
    assert [str(x.message).split(", ")[1][:4] for x in notes] == ([] if WAYS[dates] is None else ["the "])
    assert data.events.time.astype("datetime64[D]").astype(str).tolist() == ["2024-03-05", "2024-03-31", "2024-04-01"]


MONTHS = ["juin 2024", "juillet 2024", "août 2024", "févr. 2025", "déc. 2025", "Okt 2026", "mai 2027", "enero 2028"]


def test_months_of_other_languages():
    table = {"a": ["x"] * 8, "b": ["y"] * 8, "score": [1] * 8, "date": [f"1 {month}" for month in MONTHS]}
    months = read(table).events.time.astype("datetime64[D]").astype("datetime64[M]").astype(int) % 12 + 1
    assert months.tolist() == [6, 7, 8, 2, 12, 10, 5, 1]


WRONG_DATES = [
    (["01/02/2024"] * 3, None, "none of which the day is above 12; say which is first, by dates=.day-first"),
    (["05/03/2024", "31/03/2024", "04/31/2024"], None, r"row 2 .*'04/31/2024', written otherwise than '31/03/2024' is"),
    (["5.3.24", "x", "5.3.24"], "%d.%m.%y", "row 1 .*'x', not a date in the format %d.%m.%y"),
]


@pytest.mark.parametrize(("values", "dates", "message"), WRONG_DATES)
def test_dates_that_cannot_be_told(source, values, dates, message):
    with pytest.raises(ValueError, match=message):
        read(source(table(date=values)), dates=dates)
    assert read(source(table(date=["5.3.24"] * 3)), dates="%d.%m.%y").events.time.tolist() == [19787] * 3


MOMENTS = np.array(["2026-05-01", "2026-05-02"], "datetime64[D]")


@pytest.mark.parametrize(
    "values", [["2026-05-01", None], ["31.12.2025", "1.1.2026"], ["May 3, 2026", "May 4, 2026"], [*MOMENTS.tolist()]]
)
def test_dates_in_a_column_that_nobody_named_are_told(source, values):
    """One look at the first values: numbers, results, names and nothing are no dates."""
    others = {"round": [1, 2], "id": [20260501, 20260502], "sets": ["6-2 6-3", "7-5"], "season": ["2020-21", "2021-22"]}
    table = {"a": ["Ada", "Bo"], "b": ["Bo", "Cy"], "score": [1, 0], "Spieltag": values, "born": [None] * 2, **others}
    with pytest.warns(UserWarning, match="^took nothing for the time, though Spieltag has dates; name columns"):
        assert read(source(table)).clock is None
    with pytest.warns(UserWarning, match="nothing for the time, though Spieltag and at have dates"):
        read(source(table | {"at": MOMENTS.tolist()}))
    table["May 1"] = table.pop("Spieltag")
    table["date"] = [1, 2]
    read(source(table))


@pytest.mark.parametrize("scale", [1, 10**3, 10**6, 10**9])
@pytest.mark.parametrize("name, options", [("date", {}), ("completedAt", {}), ("end_time", {}), ("x", {"time": "x"})])
def test_moments_since_1970_are_dates_however_they_are_named(scale, name, options):
    """Also where some are missing, as NA in text."""
    moments = [1704067200 * scale, 1704110400 * scale]
    for values in (moments, [str(moment) for moment in moments], np.array(moments, np.float64)):
        with pytest.warns(UserWarning, match=f"{name} as dates, (milli|micro|nano)?seconds since 1970"):
            data = read({"a": ["x", "y"], "b": ["y", "x"], "score": [1, 0], name: values}, **options)
        assert data.clock == "dates" and data.events.time.tolist() == [19723, 19723.5]


@pytest.mark.filterwarnings("ignore:took ")
@pytest.mark.parametrize("missing", ["NA", "NaT", "null", r"\N", "", "0000-00-00", "TBD"])
@pytest.mark.parametrize(
    "times", [("2026-05-01", "2026-05-02"), ("1.5.2026", "31.5.2026"), ("1777593600", "1777680000"), ("3", "4")]
)
def test_rows_without_a_result_need_no_time(games, missing, times):
    text = f"home,away,hg,ag,Date\nu,v,NA,NA,{missing}\nx,y,2,1,{times[0]}\ny,x,0,0,{times[1]}\n"
    with pytest.warns(UserWarning, match="1 of 3 rows has no result"):
        data = read(games(text))
    assert data.rows.tolist() == [1, 2] and np.diff(data.events.time)[0] >= 1
    played = text.replace("NA,NA", "0,1")
    with pytest.raises(ValueError, match="row 0 .*'Date' has no value"):
        read_noting(games(played))
    with pytest.warns(UserWarning, match="skipped 1 of 3 rows"):
        assert read(games(played), on_faulty="skip").rows.tolist() == [1, 2]


@pytest.mark.parametrize("date", ["0000-01-01", "0001-01-01", "0999/12/31", "01.01.0020", np.datetime64("0200-01-01")])
def test_dates_long_before_the_calendar_are_refused(date):
    """Defect: they were taken, or had two digits of the year read as those of this century."""
    with pytest.raises(ValueError, match="row 0 .*column 'date' is 0[0-9]{3}-[0-9-]{5}, before the year 1000; correct"):
        read(table(date=[date] * 3), dates="day-first")
    assert read(table(date=["1066-10-14"] * 3)).clock == "dates"
