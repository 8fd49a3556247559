"""Tables in every kind of source, and files of CSV."""

import pytest

from tests.read.tables import KINDS, MEMORY, as_kind


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def source(kind, tmp_path):
    return lambda table: as_kind(kind, table, tmp_path)


@pytest.fixture
def games(tmp_path):
    """Write the text of games.csv and give its path."""

    def save(text, name="games.csv"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return save


@pytest.fixture
def say(kind):
    """The start of the message about a row, as a pattern."""

    def start(row):
        if kind in MEMORY:
            return rf"^row {row} \(counting from 0\): "
        return rf"^games\.{kind}: row {row} \(counting from 0{'' if kind == 'parquet' else f', line {row + 2}'}\): "

    return start
