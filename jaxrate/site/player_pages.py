"""The page of every player: a summary, and the career as data for the scripts of the site."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from jaxrate.site.site_data import (
    SiteData,
    half_widths_for_json,
    leaderboard_columns,
    ratings_for_json,
    round_for_json,
    times_for_json,
)
from jaxrate.site.wording import format_count


def write_player_pages(
    site_data: SiteData, environment: Any, context: dict[str, Any], common: dict[str, Any], folder: Path
) -> None:
    """Write a page for each player, and remove pages of former players."""
    template, columns = environment.get_template("site_player.html"), career_columns(site_data)
    summaries, start = summarise_players(site_data, context), site_data.careers.start.tolist()
    for i, slug in enumerate(site_data.slugs):
        text = template.render(
            page="player",
            heading=site_data.names[i],
            root="../",
            description=f"{site_data.names[i]}: {summaries[i]}",
            about=common | {"root": "../", "file": slug, "name": site_data.names[i]},
            summary=summaries[i],
            played=start[i] < start[i + 1],
            several=start[i] + 1 < start[i + 1],
            career=_script_safe_json(player_career(site_data, i, columns)),
        )
        (folder / f"{slug}.html").write_text(text, encoding="utf-8")
    kept = {f"{slug}.html" for slug in site_data.slugs}
    for path in folder.glob("*.html"):
        if path.name not in kept:
            path.unlink()


def career_columns(site_data: SiteData) -> dict[str, Any]:
    """[M] the columns of all players' careers, for JSON."""
    careers, table = site_data.careers, site_data.rated.predictions
    columns: dict[str, Any] = {"rating": ratings_for_json(site_data, careers.mean)}
    if careers.deviation is not None:
        columns["spread"] = half_widths_for_json(site_data, careers.deviation)
    if site_data.rated.clock is not None:
        columns["time"] = times_for_json(site_data, careers.time)
    if careers.opponent is not None:
        columns["opponent"] = careers.opponent
        columns["score"] = round_for_json(careers.score_of_own_side(table["score"].to_numpy()), 3)
        columns |= _chance_columns(site_data)
        if site_data.points is not None:
            own_points, opponent_points = (
                careers.select_own_side(x, y) for x, y in (site_data.points, site_data.points[::-1])
            )
            columns["points"] = [
                f"{a:g}-{b:g}" for a, b in zip(own_points.tolist(), opponent_points.tolist(), strict=True)
            ]
    else:
        sides = "teams" if "teams" in table.column_names else "participants"
        num_participants = careers.gather(table[sides].to_numpy())
        columns["contest"] = [str(x) for x in careers.gather(table["contest"].to_numpy(zero_copy_only=False)).tolist()]
        columns["place"] = careers.gather(table["rank"].to_numpy()).tolist()
        columns["among"] = num_participants.tolist()
        columns["expected"] = round_for_json(
            1.0 + (1.0 - careers.gather(table["prediction"].to_numpy())) * (num_participants - 1), 1
        )
    if site_data.hindsight is not None:
        mean, deviation = (careers.select_own_side(*x.T) for x in site_data.hindsight)
        columns |= {
            "known": ratings_for_json(site_data, mean),
            "knownSpread": half_widths_for_json(site_data, deviation),
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


def _chance_columns(site_data: SiteData) -> dict[str, Any]:
    """The predictions for a player: probabilities of a win and of a draw, or the expected score."""
    careers, table = site_data.careers, site_data.rated.predictions
    if not {"win", "draw", "loss"} <= set(table.column_names):
        return {"chance": round_for_json(careers.score_of_own_side(table["prediction"].to_numpy()), 3)}
    win, draw, loss = (table[name].to_numpy() for name in ("win", "draw", "loss"))
    return {
        "chance": round_for_json(careers.select_own_side(win, loss), 3),
        "draw": round_for_json(careers.gather(draw), 3),
    }


def player_career(site_data: SiteData, player: int, columns: dict[str, Any]) -> dict[str, Any]:
    """The career of a player, with the rating before it; opponents are numbered in order of appearance."""
    begin, end = site_data.careers.start[player : player + 2].tolist()
    career = {name: x[begin:end] for name, x in columns.items()}
    career["rating"] = ratings_for_json(site_data, site_data.careers.before[[player]]) + career["rating"]
    if "opponent" in career:
        opponent_number: dict[int, int] = {}
        career["opponent"] = [opponent_number.setdefault(x, len(opponent_number)) for x in career["opponent"].tolist()]
        career["others"] = [(site_data.slugs[x], site_data.names[x]) for x in opponent_number]
    further = {name.removeprefix("column "): career.pop(name) for name in [*career] if name.startswith("column ")}
    return career | {"columns": further}


def _script_safe_json(career: dict[str, Any]) -> str:
    text = json.dumps(career, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def summarise_players(site_data: SiteData, context: dict[str, Any]) -> list[str]:
    """A few sentences about each player, by id."""
    board, digits, num_listed = site_data.full_leaderboard, site_data.digits, len(site_data.listed)
    group = format_count(num_listed, "current player" if context["some_current"] else "player")
    results = None if site_data.careers.opponent is None else _count_results(site_data)
    columns = leaderboard_columns(site_data)
    last, peaked = (_format_dates(site_data, columns.get(key, [])) for key in ("last", "peaked"))
    rank = dict(zip(site_data.listed.tolist(), range(1, num_listed + 1), strict=True))
    texts = [""] * len(site_data.leaderboard_ids)
    for at, i in enumerate(site_data.leaderboard_ids.tolist()):
        rating = f"{board.rating[at]:,.{digits}f}"
        if board.deviation is not None:
            rating += f" ± {1.96 * board.deviation[at]:,.{digits}f}"
        opening = f"Number {rank[i]:,} of {group}, rating" if i in rank else "Rating"
        games = columns["games"][at]
        text = f"{opening} {rating}. {format_count(games, context['event'])}"
        if results is not None and games:
            won, drew, lost = results[i]
            text += f": {won:,} won, {f'{drew:,} drawn, ' if context['draws'] else ''}{lost:,} lost"
        if games:
            text += f". Best rating {columns['peak'][at]:,.{digits}f}{f' on {peaked[at]}' if peaked else ''}"
            text += f", last played on {last[at]}" if last else ""
        texts[i] = f"{text}."
    return texts


def _count_results(site_data: SiteData) -> list[list[int]]:
    """[num_players, 3] the numbers of wins, draws (or other scores) and losses."""
    careers = site_data.careers
    score = careers.score_of_own_side(site_data.rated.predictions["score"].to_numpy())
    result = np.where(score == 1.0, 0, np.where(score == 0.0, 2, 1))
    player = np.repeat(np.arange(len(site_data.slugs)), np.diff(careers.start))
    counts = np.bincount(player * 3 + result, minlength=3 * len(site_data.names))
    return list(counts.reshape(-1, 3).tolist())


def _format_dates(site_data: SiteData, times: list[Any]) -> list[str]:
    """Dates as text; empty if the history has no dates."""
    if site_data.rated.clock != "dates":
        return []
    return ["" if x is None else str(np.datetime64(x, "D")) for x in times]
