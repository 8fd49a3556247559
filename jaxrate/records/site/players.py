"""The page of every player: a sentence, and their whole career for the scripts of the site."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from jaxrate.records.phrases import so_many
from jaxrate.records.site.told import Told, board_of, days, exact, plain, spread


def write_players(told: Told, environment: Any, about: dict[str, Any], common: dict[str, Any], folder: Path) -> None:
    """Write a page for each player, and remove those of players who are gone."""
    template, columns = environment.get_template("site_player.html"), career_columns(told)
    summaries, start = summaries_of(told, about), told.careers.start.tolist()
    for i, slug in enumerate(told.slugs):
        text = template.render(
            page="player",
            heading=told.names[i],
            root="../",
            description=f"{told.names[i]}: {summaries[i]}",
            about=common | {"root": "../", "file": slug, "name": told.names[i]},
            summary=summaries[i],
            played=start[i] < start[i + 1],
            several=start[i] + 1 < start[i + 1],
            career=_json(career_of(told, i, columns)),
        )
        (folder / f"{slug}.html").write_text(text, encoding="utf-8")
    kept = {f"{slug}.html" for slug in told.slugs}
    for path in folder.glob("*.html"):
        if path.name not in kept:
            path.unlink()


def career_columns(told: Told) -> dict[str, Any]:
    """[M] what the pages hold of every event of every player."""
    found, table = told.careers, told.rated.predictions
    columns: dict[str, Any] = {"rating": exact(told, found.mean)}
    if found.deviation is not None:
        columns["spread"] = spread(told, found.deviation)
    if told.rated.clock is not None:
        columns["time"] = days(told, found.time)
    if found.opponent is not None:
        columns["opponent"] = found.opponent
        columns["score"] = plain(found.mine(table["score"].to_numpy()), 3)
        columns |= _chances(told)
        if told.points is not None:
            mine, other = (found.either(x, y) for x, y in (told.points, told.points[::-1]))
            columns["points"] = [f"{a:g}-{b:g}" for a, b in zip(mine.tolist(), other.tolist(), strict=True)]
    else:
        sides = "teams" if "teams" in table.column_names else "participants"
        among = found.of(table[sides].to_numpy())
        columns["contest"] = [str(x) for x in found.of(table["contest"].to_numpy(zero_copy_only=False)).tolist()]
        columns["place"] = found.of(table["rank"].to_numpy()).tolist()
        columns["among"] = among.tolist()
        columns["expected"] = plain(1.0 + (1.0 - found.of(table["prediction"].to_numpy())) * (among - 1), 1)
    if told.known is not None:
        mean, deviation = (found.either(*x.T) for x in told.known)
        columns |= {"known": exact(told, mean), "knownSpread": spread(told, deviation)}
    for name, values in told.columns.items():
        mine = found.of(values)
        numbers = mine.dtype.kind in "iuf"
        columns[f"column {name}"] = (
            plain(mine, 3) if numbers else [None if x is None or x != x else str(x) for x in mine.tolist()]
        )
    return columns


def _chances(told: Told) -> dict[str, Any]:
    """The chances that a player was given: to win and to draw, or the expected score alone."""
    found, table = told.careers, told.rated.predictions
    if not {"win", "draw", "loss"} <= set(table.column_names):
        return {"chance": plain(found.mine(table["prediction"].to_numpy()), 3)}
    win, draw, loss = (table[name].to_numpy() for name in ("win", "draw", "loss"))
    return {"chance": plain(found.either(win, loss), 3), "draw": plain(found.of(draw), 3)}


def career_of(told: Told, player: int, columns: dict[str, Any]) -> dict[str, Any]:
    """The career of a player, also the rating before it; opponents are numbered in order of appearance."""
    begin, end = told.careers.start[player : player + 2].tolist()
    career = {name: x[begin:end] for name, x in columns.items()}
    career["rating"] = exact(told, told.careers.before[[player]]) + career["rating"]
    if "opponent" in career:
        met: dict[int, int] = {}
        career["opponent"] = [met.setdefault(x, len(met)) for x in career["opponent"].tolist()]
        career["others"] = [(told.slugs[x], told.names[x]) for x in met]
    further = {name.removeprefix("column "): career.pop(name) for name in [*career] if name.startswith("column ")}
    return career | {"columns": further}


def _json(career: dict[str, Any]) -> str:
    text = json.dumps(career, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def summaries_of(told: Told, about: dict[str, Any]) -> list[str]:
    """A few sentences about each player, by id."""
    board, digits, several = told.everybody, told.digits, len(told.listed)
    who = so_many(several, "current player" if about["some_current"] else "player")
    results = None if told.careers.opponent is None else _results(told)
    columns = board_of(told)
    last, peaked = (_said(told, columns.get(key, [])) for key in ("last", "peaked"))
    rank = dict(zip(told.listed.tolist(), range(1, several + 1), strict=True))
    texts = [""] * len(told.order)
    for at, i in enumerate(told.order.tolist()):
        rating = f"{board.rating[at]:,.{digits}f}"
        if board.deviation is not None:
            rating += f" ± {1.96 * board.deviation[at]:,.{digits}f}"
        begin = f"Number {rank[i]:,} of {who}, rating" if i in rank else "Rating"
        games = columns["games"][at]
        text = f"{begin} {rating}. {so_many(games, about['event'])}"
        if results is not None and games:
            won, drew, lost = results[i]
            text += f": {won:,} won, {f'{drew:,} drawn, ' if about['draws'] else ''}{lost:,} lost"
        if games:
            text += f". Best rating {columns['peak'][at]:,.{digits}f}{f' on {peaked[at]}' if peaked else ''}"
            text += f", last played on {last[at]}" if last else ""
        texts[i] = f"{text}."
    return texts


def _results(told: Told) -> list[list[int]]:
    """[num_players, 3] how many were won, drawn (or neither won nor lost), and lost."""
    found = told.careers
    score = found.mine(told.rated.predictions["score"].to_numpy())
    way = np.where(score == 1.0, 0, np.where(score == 0.0, 2, 1))
    who = np.repeat(np.arange(len(told.slugs)), np.diff(found.start))
    counts = np.bincount(who * 3 + way, minlength=3 * len(told.names))
    return list(counts.reshape(-1, 3).tolist())


def _said(told: Told, times: list[Any]) -> list[str]:
    """Dates as text; none where there are none."""
    if told.rated.clock != "dates":
        return []
    return ["" if x is None else str(np.datetime64(x, "D")) for x in times]
