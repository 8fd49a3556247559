"""The page of every player: a summary, chart and tables, and the career as data for the scripts of the site."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, use_minus_sign
from jaxrate.site.career_charts import draw_career_charts, mark_events_after_pauses, write_chart_notes
from jaxrate.site.category_rankings import CategoryStrengths, draw_player_tables
from jaxrate.site.json_columns import (
    chances_for_json,
    half_widths_for_json,
    leaderboard_columns,
    ratings_for_json,
    round_for_json,
    times_for_json,
)
from jaxrate.site.line_ups import LineUps, grounds_of_careers
from jaxrate.site.page_templates import mark_figures
from jaxrate.site.site_data import EXTRA_DIGITS, SiteData, format_peak, groups_by_id, last_event_heading
from jaxrate.site.table_rows import (
    EventTableCells,
    build_event_table_cells,
    heading_row,
    iterate_upset_win_positions_by_player,
    most_frequent_player_rows_and_counts,
)
from jaxrate.site.wording import spell_dates

LATEST_EVENTS = 150  # on the page of a player; the career of one who has more is a file of its own
LATEST_NAMES = 300  # of others in these, at most, so that pages of teams stay small
ARCHIVE_RATIO = 3  # of the events on each page of earlier events
CAREERS_FOLDER = "careers"  # within the folder of data
TOKEN = "\x01"  # around what differs from player to player in a rendered template
FIELDS = (
    "heading",
    "summary",
    "strengths",
    "address",
    "description",
    "preview",
    "slug",
    "chart",
    "note",
    "next",
    "opponents",
    "met",
    "partners",
    "joined",
    "upsets",
    "events",
    "earlier",
    "data",
)


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
    pauses = mark_events_after_pauses(site_data)
    columns = career_columns(site_data, pauses)
    rows, charts = build_event_table_cells(site_data, columns), draw_career_charts(site_data, pauses)
    notes = write_chart_notes(site_data, pauses)
    summaries, start = summarise_players(site_data, context), site_data.careers.start.tolist()
    strengths, most = draw_player_tables(site_data, category_strengths), count_latest_events(site_data.line_ups)
    count = len(site_data.slugs)
    mates, opponents, _ = site_data.line_ups
    nobody = [""] * count, [0] * count
    (rivals, met), (partners, joined), upsets = nobody, nobody, iter([np.zeros(0, int)] * count)
    if opponents is not None:
        rivals, met = most_frequent_player_rows_and_counts(site_data, opponents, context["draws"])
        upsets = iterate_upset_win_positions_by_player(site_data, columns)
        if mates is not None:
            partners, joined = most_frequent_player_rows_and_counts(site_data, mates, context["draws"])
    templates: dict[tuple[bool, ...], list[str]] = {}
    heads = heading_row(rows.headings)
    encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
    names = [escape(x) for x in site_data.names]
    _remove_files(folder / "players", ".html")
    _remove_files(folder / "data" / CAREERS_FOLDER, ".js")
    written = []
    for i, (slug, some_upsets) in enumerate(zip(site_data.slugs, upsets, strict=True)):
        begin, end = start[i : i + 2]
        is_long = end - begin > most
        kind = end > begin, end > begin + 1, is_long, len(some_upsets) > 0, joined[i] > 0
        if kind not in templates:
            templates[kind] = _split_template(environment, "site_player.html", kind, heads)
        career = encode(player_career(site_data, i, columns)).replace("<", "\\u003c")
        summary, preview = mark_figures(summaries[i]), escape(spell_dates(summaries[i]))
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
            "opponents": rivals[i],
            "met": f"{met[i]:,}",
            "partners": partners[i],
            "joined": f"{joined[i]:,}",
            "upsets": rows.render_rows(some_upsets),
            "events": rows.render_rows(_latest_first(max(begin, end - most), end)),
            "earlier": f"{slug}.2.html",
            "data": "" if is_long else career,
        }
        written.append(_write_page(folder, f"players/{slug}.html", templates[kind], fields))
        if is_long:
            script = f"(window.jaxrateCareers ??= {{}})[{json.dumps(slug)}] = {career};\n"
            _write(folder / "data" / CAREERS_FOLDER / f"{slug}.js", script)
            size = ARCHIVE_RATIO * most
            written += _write_archive(folder, environment, templates, heads, fields, rows, begin, end - most, size)
    return written


def _split_template(environment: Any, name: str, kind: tuple[bool, ...], heads: str, **given: Any) -> list[str]:
    """A rendered template in parts: text, the name of a field, text, and so on."""
    played, several, is_long, won, has_partners = kind
    marks = {field: f"{TOKEN}{field}{TOKEN}" for field in FIELDS}
    flags = {"played": played, "several": several, "long": is_long, "won": won, "heads": heads}
    flags["has_partners"] = has_partners
    text = environment.get_template(name).render(page="player", root="../", **marks, **flags, **given)
    return list(text.split(TOKEN))


def _write_page(folder: Path, path: str, template: list[str], fields: dict[str, str]) -> str:
    parts = template.copy()
    parts[1::2] = [fields[x] for x in template[1::2]]
    _write(folder / path, "".join(parts))
    return path


def _write(path: Path, text: str) -> None:
    with open(path, "wb") as file:
        file.write(text.encode())


def _write_archive(
    folder: Path,
    environment: Any,
    templates: dict[Any, list[str]],
    heads: str,
    fields: dict[str, str],
    rows: EventTableCells,
    begin: int,
    end: int,
    size: int,
) -> Iterator[str]:
    """Write pages of earlier events, from `begin` to `end`, each of so many, and return their paths."""
    if "archive" not in templates:
        templates["archive"] = _split_template(environment, "site_matches.html", (True,) * 5, heads)
    slug, number = fields["slug"], 2
    while end > begin:
        first = max(begin, end - size)
        following = f'<a href="{slug}.{number + 1}.html">Earlier</a>' if first > begin else ""
        given = {"events": rows.render_rows(_latest_first(first, end)), "earlier": following}
        yield _write_page(folder, f"players/{slug}.{number}.html", templates["archive"], fields | given)
        end, number = first, number + 1


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
    careers, table = site_data.careers, site_data.rated.events
    columns: dict[str, Any] = {
        "rating": ratings_for_json(site_data, careers.after.mean, extra_digits),
        "change": ratings_for_json(site_data, careers.after.mean - careers.before.mean, extra_digits),
    }
    if careers.after.deviation is not None:
        columns["spread"] = half_widths_for_json(site_data, careers.after.deviation, extra_digits)
    if site_data.rated.clock is not None:
        columns["time"] = times_for_json(site_data, careers.time)
        columns["pauses"] = pauses
    line_ups = site_data.line_ups
    if line_ups.mates is not None:
        columns["mates"] = line_ups.mates.to_tuples()
    if line_ups.opponents is not None and line_ups.score is not None:
        columns["opponent"] = line_ups.opponents.player if line_ups.are_alone else line_ups.opponents.to_tuples()
        score = round_for_json(line_ups.score, 3)
        columns["score"] = [int(x) if x in (0.0, 1.0) else x for x in score]
        ground = grounds_of_careers(site_data.rated, careers)
        if ground is not None:
            columns["ground"] = ground
        columns |= _player_prediction_columns(site_data)
        if site_data.points is not None:
            points = np.stack(site_data.points, axis=1)
            own_points, opponent_points = careers.gather(points), careers.gather(points[:, ::-1])
            columns["points"] = [
                "" if a != a or b != b else f"{a:g}\u2013{b:g}"
                for a, b in zip(own_points.tolist(), opponent_points.tolist(), strict=True)
            ]
    else:
        sides = "teams" if "teams" in table else "participants"
        num_participants = careers.gather(table[sides])
        columns["contest"] = [str(x) for x in careers.gather(table["contest"]).tolist()]
        columns["place"] = careers.gather(table["rank"]).tolist()
        columns["among"] = num_participants.tolist()
        columns["expected"] = round_for_json(
            1.0 + (1.0 - careers.gather(table["prediction"])) * (num_participants - 1), 1
        )
    if site_data.hindsight is not None:
        mean, deviation = (careers.gather(x) for x in site_data.hindsight)
        columns |= {
            "known": ratings_for_json(site_data, mean, extra_digits),
            "knownSpread": half_widths_for_json(site_data, deviation, extra_digits),
        }
    for name, values in site_data.columns.items():
        own_points = careers.gather(values)
        numbers = own_points.dtype.kind in "iuf"
        columns[f"column {name}"] = (
            round_for_json(own_points, 3)
            if numbers
            else [None if x is None or x != x else str(x) for x in own_points.tolist()]
        )
    return columns


def _player_prediction_columns(site_data: SiteData) -> dict[str, Any]:
    """The predictions for a player: probabilities of a win and of a draw, or the expected score."""
    careers, table = site_data.careers, site_data.rated.events
    told = {"chance": "win", "draw": "draw"} if {"win", "draw"} <= table.keys() else {"chance": "prediction"}
    return {key: chances_for_json(careers.column(name)) for key, name in told.items()}


def player_career(
    site_data: SiteData, player: int, columns: dict[str, Any], first: int | None = None
) -> dict[str, Any]:
    """The career of a player; opponents and team-mates are numbered in order of appearance.

    `first` is the row of careers from which it is told. None: from the beginning.
    """
    begin, end = site_data.careers.start[player : player + 2].tolist()
    start = begin if first is None else first
    career = {name: x[start:end] for name, x in columns.items()}
    if "pauses" in career:  # numbers of the events after them
        career["pauses"] = np.flatnonzero(career["pauses"]).tolist()
    peak = int(site_data.peak[player])
    if peak >= 0:  # by the number of its event
        career["peak"] = peak - begin + 1
        if site_data.level is not None:
            lead = site_data.careers.after.mean[peak] - site_data.level[peak]
            career["lead"] = round(float(lead), site_data.digits + EXTRA_DIGITS)
    if "ground" in career:
        career["ground"] = "".join(map(str, career["ground"].tolist()))
    numbers: dict[int, int] = {}
    for key in ("opponent", "mates"):
        if key in career:
            career[key] = number_players(career[key], lambda x: numbers.setdefault(x, len(numbers)))
            career["others"] = [(site_data.slugs[x], site_data.names[x]) for x in numbers]
    further = {name.removeprefix("column "): career.pop(name) for name in [*career] if name.startswith("column ")}
    return career | {"columns": further}


def number_players(players: Any, number: Callable[[int], int]) -> list[Any]:
    """The numbers of players, given by id, or of lists of them."""
    if isinstance(players, np.ndarray):
        return [number(x) for x in players.tolist()]
    return [[number(x) for x in several] for several in players]


def summarise_players(site_data: SiteData, context: dict[str, Any]) -> list[str]:
    """A few sentences about each player, by id."""
    board, digits = site_data.full_leaderboard, site_data.digits
    current = "current " if context["some_current"] else ""
    groups = groups_by_id(site_data)
    size = np.bincount(groups[site_data.listed])
    results = None if site_data.line_ups.score is None else _count_wins_draws_and_losses(site_data)
    columns = leaderboard_columns(site_data)
    last, peaked = (_format_dates(site_data, columns.get(key, [])) for key in ("last", "peaked"))
    rank = dict(zip(site_data.listed.tolist(), site_data.current.rank.tolist(), strict=True))
    texts = [""] * len(site_data.leaderboard_ids)
    for at, i in enumerate(site_data.leaderboard_ids.tolist()):
        rating = use_minus_sign(f"{board.rating[at]:,.{digits}f}")
        if board.deviation is not None:
            rating += f" ± {1.96 * board.deviation[at]:,.{digits}f}"
        opening = "Rating"
        if i in rank:
            nouns = site_data.noun.one if size[groups[i]] == 1 else site_data.noun.many
            of_group = f" of group {groups[i]}" if groups[i] > 1 else ""
            opening = f"Number {rank[i]:,} of {size[groups[i]]:,} {current}{nouns}{of_group}, rating"
        games = columns["games"][at]
        text = f"{opening} {rating}. {format_count(games, context['event'])}"
        if results is not None and games:
            won, drew, lost = results[i]
            text += f": {won:,} won, {f'{drew:,} drawn, ' if context['draws'] else ''}{lost:,} lost"
        peak = format_peak(site_data, float(np.asarray(board.peak)[at]))
        if peak:
            text += f". Peak {peak}{f' on {peaked[at]}' if peaked else ''}"
        if games and last:
            text += f"{', l' if peak else '. L'}{last_event_heading(site_data.rated)[1:]} on {last[at]}"
        texts[i] = f"{text}."
    return texts


def _count_wins_draws_and_losses(site_data: SiteData) -> list[list[int]]:
    """[num_players, 3] the numbers of wins, draws (or other scores) and losses."""
    careers, score = site_data.careers, np.asarray(site_data.line_ups.score)
    result = np.where(score == 1.0, 0, np.where(score == 0.0, 2, 1))
    player = careers.player
    counts = np.bincount(player * 3 + result, minlength=3 * len(site_data.names))
    return list(counts.reshape(-1, 3).tolist())


def _format_dates(site_data: SiteData, times: list[Any]) -> list[str]:
    """Dates as text; empty if the history has no dates."""
    if site_data.rated.clock != "dates":
        return []
    return ["" if x is None else str(np.datetime64(x, "D")) for x in times]
