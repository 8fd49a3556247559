"""Ratings of MovieLens as matches of a movie with a user."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.data.column_conversion import to_ids, to_numbers
from jaxrate.data.formats.csv_format_helpers import (
    Location,
    columns_as_text,
    csv_columns,
    decode_utf8_or_latin1,
    dictionary_column,
    read_dataset_from_derived_columns,
    resolve_existing_path,
    unique_names_by_id,
    unix_timestamps,
)
from jaxrate.data.table_sources import add_location_to_data_errors, read_csv
from jaxrate.events.dataset import Dataset


@enforce_argument_annotations
def movielens(path: Location, *, like: float = 4.0, players: Any = None) -> Dataset:
    """Ratings of MovieLens (GroupLens) as matches of a movie, player 0, with a user, sorted by time.

    The movie wins, score 1, where the user gave it at least `like` stars, and else it loses. Users are "user 7"; movies
    have their title, with the id if several have the same, if the file of titles stands beside, or else are "movie 12".

    Args:
      path: ratings.csv, ratings.dat or u.data, or the folder that holds one of them. Titles are those of movies.csv,
        movies.dat or u.item.
      like: the least rating that is a win of the movie.
      players: names that have ids already, as in `read`.
    """
    path = resolve_existing_path(path)
    file = path
    if path.is_dir():
        present = [path / name for name in ("ratings.csv", "ratings.dat", "u.data") if (path / name).is_file()]
        if not present:
            raise ValueError(f"{path.name}: not MovieLens, no ratings.csv, ratings.dat or u.data")
        file = present[0]
    needed = ["userId", "movieId", "rating", "timestamp"]
    if file.suffix == ".csv":
        columns, where = csv_columns([file], "MovieLens ratings", needed)
    else:
        mark = b"::" if file.suffix == ".dat" else b"\t"
        text = ",".join(needed).encode() + b"\n" + file.read_bytes().replace(mark, b",")

        def where(row: int) -> str:
            return f"{file.name}: line {row + 1}"

        with add_location_to_data_errors(f"{file.name}: ", where):
            columns = columns_as_text(read_csv(lambda: io.BytesIO(text), needed, needed), needed)
    with add_location_to_data_errors(f"{file.name}: ", where):
        score = to_numbers("rating", columns["rating"]) >= like
        time = unix_timestamps("timestamp", columns["timestamp"], "s")
        user, users = to_ids(["userId"], columns)
        movie, movies = to_ids(["movieId"], columns)
    titles = unique_names_by_id(dict.fromkeys(movies, "") | _read_titles(file), "movie")
    table = {
        "movie": dictionary_column(movie[:, 0], [titles[key] for key in movies]),
        "user": dictionary_column(user[:, 0], [f"user {key}" for key in users]),
        "score": score,
        "time": time,
    }
    return read_dataset_from_derived_columns(
        file, table, where, np.arange(len(score)), a="movie", b="user", sort=True, players=players
    )


def _read_titles(ratings: Path) -> dict[str, str]:
    """The titles of movies by id, from the file in the folder of the ratings; none if there is no such file."""
    file = ratings.with_name({".csv": "movies.csv", ".dat": "movies.dat"}.get(ratings.suffix, "u.item"))
    if not file.is_file():
        return {}
    if file.suffix == ".csv":
        columns, _ = csv_columns([file], "MovieLens movies", ["movieId", "title"])
        pairs = zip(*(column.to_pylist() for column in columns.values()), strict=True)
        return {key: title or "" for key, title in pairs}
    mark = "::" if file.suffix == ".dat" else "|"
    lines = decode_utf8_or_latin1(file.read_bytes()).splitlines()
    return {key: rest.partition(mark)[0] for key, found, rest in (line.partition(mark) for line in lines) if found}
