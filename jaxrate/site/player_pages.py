"""The page of every player: a summary, chart and tables, and the career as data for the scripts of the site."""

import json
import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count
from jaxrate.site.career_charts import draw_career_charts, mark_events_after_pauses, write_chart_notes
from jaxrate.site.category_rankings import CategoryStrengths, draw_player_tables
from jaxrate.site.html_tables import mark_dates
from jaxrate.site.json_columns import (
    chances_for_json,
    ratings_for_json,
    round_for_json,
    times_for_json,
)
from jaxrate.site.line_ups import LineUps, count_sides, grounds_of_careers
from jaxrate.site.site_data import EXTRA_DIGITS, SiteData
from jaxrate.site.table_rows import (
    build_event_table_cells,
    count_results,
    find_acquaintances,
    find_upset_wins,
)
from jaxrate.views.charts import half_widths
from jaxrate.views.wording import spell_dates

LATEST_EVENTS = 150  # on the page of a player; the career of one who has more is a file of its own
LATEST_NAMES = 300  # of others in these, at most, so that pages of teams stay small
ARCHIVE_RATIO = 3  # of the events on each page of earlier events
CAREERS_FOLDER = "careers"  # within the folder of data
RESULT_WAYS = "won", "drawn", "lost"
TOKEN = "\x01"  # around what differs from player to player in a rendered template


def count_latest_events(line_ups: LineUps) -> int:
    """How many events the page of a player has, at most."""
    return min(LATEST_EVENTS, round(LATEST_NAMES / max(line_ups.names_per_event, 1.0)))


def write_player_pages(
    site_data: SiteData,
    environment: Any,
    context: dict[str, Any],
    folder: Path,
    next_matches: Mapping[str, str],
    category_strengths: list[CategoryStrengths],
) -> list[str]:
    """Write the pages of all players below a folder, and remove those of former builds.

    `next_matches` has HTML about the next match of those of whom scorelines are predicted, by the names of their pages.

    Returns:
      The paths of the pages of players, and of those of their earlier events.
    """
    pauses, line_ups = mark_events_after_pauses(site_data), site_data.line_ups
    columns = career_columns(site_data, pauses)
    rows, charts = build_event_table_cells(site_data, columns), draw_career_charts(site_data, pauses)
    notes = write_chart_notes(site_data, pauses)
    summaries, start = summarise_players(site_data, context), site_data.careers.start.tolist()
    strengths, most = draw_player_tables(site_data, category_strengths), count_latest_events(line_ups)
    rivals = find_acquaintances(site_data, columns, line_ups.opponents)
    partners = find_acquaintances(site_data, columns, None if line_ups.opponents is None else line_ups.mates)
    upsets = find_upset_wins(site_data, columns)
    encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
    names = [escape(x) for x in site_data.names]
    _remove_files(folder / "players", ".html")
    _remove_files(folder / "data" / CAREERS_FOLDER, ".js")
    template_of = cache(partial(_split_template, environment, rows.heads))
    written = []

    def write_page(name: str, template: str, fields: dict[str, str], **flags: bool) -> None:
        split = template_of(template, tuple(fields), **flags)
        parts = [fields[x] if i % 2 else x for i, x in enumerate(split)]
        _write(folder / "players" / f"{name}.html", "".join(parts))
        written.append(f"players/{name}.html")

    for i, slug in enumerate(site_data.slugs):
        begin, end = start[i : i + 2]
        is_long = end - begin > most
        career = encode(player_career(site_data, i, columns)).replace("<", "\\u003c")
        summary, preview = mark_dates(summaries[i]), escape(spell_dates(summaries[i]))
        fields = {
            "heading": names[i],
            "summary": summary,
            "strengths": strengths[i],
            "description": f"{names[i]}: {preview}",
            "preview": preview,
            "slug": slug,
            "address": quote(slug),
            "chart": charts[i],
            "note": notes[i],
            "next": next_matches.get(slug, ""),
            "opponents": rivals.rows[i],
            "met": f"{rivals.counts[i]:,}",
            "partners": partners.rows[i],
            "joined": f"{partners.counts[i]:,}",
            "upsets": rows.render_rows(upsets[i]),
            "events": rows.render_rows(_latest_first(max(begin, end - most), end)),
            "earlier": f"{slug}.2.html",
            "data": "" if is_long else career,
        }
        flags = {"played": end > begin, "several": end > begin + 1, "long": is_long}
        flags |= {"won": len(upsets[i]) > 0, "has_partners": partners.counts[i] > 0}
        write_page(slug, "site_player.html", fields, **flags)
        if is_long:
            script = f"(window.jaxrateCareers ??= {{}})[{json.dumps(slug)}] = {career};\n"
            _write(folder / "data" / CAREERS_FOLDER / f"{slug}.js", script)
            size = ARCHIVE_RATIO * most
            for number, stop in enumerate(range(end - most, begin, -size), 2):
                first = max(begin, stop - size)
                following = f'<a href="{slug}.{number + 1}.html">Earlier</a>' if first > begin else ""
                given = {"events": rows.render_rows(_latest_first(first, stop)), "earlier": following}
                write_page(f"{slug}.{number}", "site_matches.html", fields | given)
    return written


def _split_template(environment: Any, heads: str, name: str, fields: tuple[str, ...], **flags: bool) -> tuple[str, ...]:
    """A rendered template in parts: text, the name of one of the fields, text, and so on."""
    marks = {field: f"{TOKEN}{field}{TOKEN}" for field in fields}
    text = environment.get_template(name).render(page="player", root="../", heads=heads, **marks, **flags)
    return tuple(text.split(TOKEN))


def _write(path: Path, text: str) -> None:
    with open(path, "wb") as file:
        file.write(text.encode())


def _latest_first(begin: int, end: int) -> slice:
    return slice(end - 1, begin - 1 if begin else None, -1) if end > begin else slice(0, 0)


def _remove_files(folder: Path, suffix: str) -> None:
    """Remove files of a former build: file systems write new files sooner than they overwrite others."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(suffix):
                os.unlink(entry.path)


def career_columns(site_data: SiteData, pauses: HostArray, extra_digits: int = EXTRA_DIGITS) -> dict[str, Any]:
    """[M] the columns of all players' careers, for JSON, with whether a long pause comes before each event.

    Ratings have `extra_digits` decimals beyond those that are shown.
    """
    careers, hindsight = site_data.careers, site_data.hindsight
    in_hindsight = (None, None) if hindsight is None else tuple(map(careers.gather, hindsight))
    ratings = {
        "rating": careers.after.mean,
        "change": careers.after.mean - careers.before.mean,
        "spread": half_widths(careers.after.deviation),
        "known": in_hindsight[0],
        "knownSpread": half_widths(in_hindsight[1]),
    }
    columns: dict[str, Any] = {
        name: ratings_for_json(site_data, x, extra_digits) for name, x in ratings.items() if x is not None
    }
    if site_data.rated.clock is not None:
        columns |= {"time": times_for_json(site_data, careers.time), "pauses": pauses}
    if site_data.line_ups.mates is not None:
        columns["mates"] = site_data.line_ups.mates.to_tuples()
    columns |= _contest_columns(site_data) if site_data.line_ups.opponents is None else _match_columns(site_data)
    for name, values in site_data.columns.items():
        columns[f"column {name}"] = _values_for_json(careers.gather(values))
    return columns


def _values_for_json(values: HostArray) -> list[Any]:
    """The values of a column for JSON, as numbers or as text; None for what is missing."""
    if values.dtype.kind in "iuf":
        return round_for_json(values, 3)
    return [None if x is None or x != x else str(x) for x in values.tolist()]


def _match_columns(site_data: SiteData) -> dict[str, Any]:
    """The columns of careers in matches."""
    careers, line_ups, table = site_data.careers, site_data.line_ups, site_data.rated.events
    opponents: Any = line_ups.opponents
    columns: dict[str, Any] = {"opponent": opponents.player if line_ups.are_alone else opponents.to_tuples()}
    columns["score"] = [int(x) if x in (0.0, 1.0) else x for x in round_for_json(np.asarray(line_ups.score), 3)]
    ground = grounds_of_careers(site_data.rated, careers)
    columns |= {} if ground is None else {"ground": ground}
    told = {"chance": "win", "draw": "draw"} if {"win", "draw"} <= table.keys() else {"chance": "prediction"}
    columns |= {key: chances_for_json(careers.column(name)) for key, name in told.items()}
    if site_data.points is not None:
        points = np.stack(site_data.points, axis=1)
        both = zip(careers.gather(points).tolist(), careers.gather(points[:, ::-1]).tolist(), strict=True)
        columns["points"] = ["" if a != a or b != b else f"{a:g}\u2013{b:g}" for a, b in both]
    return columns


def _contest_columns(site_data: SiteData) -> dict[str, Any]:
    """The columns of careers in contests of more than two sides."""
    careers, table = site_data.careers, site_data.rated.events
    among = careers.gather(count_sides(table))
    expected = 1.0 + (1.0 - careers.gather(table["prediction"])) * (among - 1)
    return {
        "contest": [str(x) for x in careers.gather(table["contest"]).tolist()],
        "place": careers.gather(table["rank"]).tolist(),
        "among": among.tolist(),
        "expected": round_for_json(expected, 1),
    }


def player_career(
    site_data: SiteData,
    player: int,
    columns: dict[str, Any],
    rows: HostArray | None = None,
    places: list[int] | None = None,
) -> dict[str, Any]:
    """The career of a player, of which `rows` of all careers are told. None: all of theirs.

    Others are numbered by their `places` on the list of all, and named elsewhere then; without places in order
    of appearance.
    """
    told = slice(*site_data.careers.start[player : player + 2].tolist()) if rows is None else rows
    career = {name: _select_values(x, told) for name, x in columns.items()}
    career |= _note_peak(site_data, player)
    if "pauses" in career:  # numbers of the events after them
        career["pauses"] = np.flatnonzero(career["pauses"]).tolist()
    if "ground" in career:
        career["ground"] = "".join(map(str, career["ground"].tolist()))
    numbers: dict[int, int] = {}
    number = places.__getitem__ if places else lambda x: numbers.setdefault(x, len(numbers))
    for key in career.keys() & {"opponent", "mates"}:
        career[key] = _number_players(career[key], number)
    further = {name.removeprefix("column "): career.pop(name) for name in [*career] if name.startswith("column ")}
    if places is not None:
        return career
    return career | {"others": [(site_data.slugs[x], site_data.names[x]) for x in numbers], "columns": further}


def _note_peak(site_data: SiteData, player: int) -> dict[str, Any]:
    """The peak of a player by the number of its event, and how far it is above the level, if that drifts."""
    peak = int(site_data.peak[player])
    if peak < 0:
        return {}
    noted: dict[str, Any] = {"peak": peak - int(site_data.careers.start[player]) + 1}
    if site_data.level is not None:
        lead = float(site_data.careers.after.mean[peak] - site_data.level[peak])
        noted["lead"] = round(lead, site_data.digits + EXTRA_DIGITS)
    return noted


def _number_players(players: Any, number: Callable[[int], int]) -> list[Any]:
    """The numbers of players, given by id, or of lists of them."""
    if isinstance(players, np.ndarray):
        return [*map(number, players.tolist())]
    return [[*map(number, several)] for several in players]


def _select_values(values: Any, rows: slice | HostArray) -> Any:
    """The values of a column in these rows."""
    return values[rows] if isinstance(values, np.ndarray) or isinstance(rows, slice) else [values[i] for i in rows]


def summarise_players(site_data: SiteData, context: dict[str, Any]) -> list[str]:
    """A few sentences about each player, by id."""
    board, last_on = site_data.full_leaderboard, site_data.last_event_heading
    standings = _describe_standings(site_data, "current " if context["some_current"] else "")
    games, ids = np.asarray(board.games).astype(int).tolist(), site_data.leaderboard_ids.tolist()
    nothing = [""] * len(ids)
    half, results, peaked, last = nothing, nothing, nothing, nothing
    if board.deviation is not None:
        half = [f" ± {x:,.{site_data.digits}f}" for x in half_widths(board.deviation)]
    if site_data.line_ups.score is not None:
        ways = [0, 1, 2] if context["draws"] else [0, 2]
        counts = count_results(site_data)[site_data.leaderboard_ids][:, ways].tolist()
        results = [
            ": " + ", ".join(f"{x:,} {RESULT_WAYS[i]}" for x, i in zip(row, ways, strict=True)) for row in counts
        ]
    if site_data.is_dated:
        peaked, last = (np.array(x, "M8[D]").astype(str).tolist() for x in (board.peak_time, board.last))
    texts = nothing.copy()
    for at, i in enumerate(ids):
        peak = site_data.format_peak(float(np.asarray(board.peak)[at]))
        ends = [f"peak {peak}{peaked[at] and f' on {peaked[at]}'}"] * bool(peak)
        end = ", ".join([*ends, *[f"{last_on} on {last[at]}"] * bool(last[at] and games[at])])
        rating = f"{standings.get(i, 'Rating')} {site_data.format_rating(board.rating[at])}{half[at]}"
        played = f"{format_count(games[at], context['event'])}{results[at] if games[at] else ''}"
        texts[i] = ". ".join(filter(None, [rating, played, end[:1].upper() + end[1:]])) + "."
    return texts


def _describe_standings(site_data: SiteData, current: str) -> dict[int, str]:
    """The ranks of current players in words, by id."""
    groups, noun, standings = site_data.groups[site_data.listed], site_data.noun, {}
    size = np.bincount(groups)
    ranks = site_data.current.rank.tolist()
    for i, rank, group in zip(site_data.listed.tolist(), ranks, groups.tolist(), strict=True):
        nouns, of_group = noun.one if size[group] == 1 else noun.many, f" of group {group}" if group > 1 else ""
        standings[i] = f"Number {rank:,} of {size[group]:,} {current}{nouns}{of_group}, rating"
    return standings
