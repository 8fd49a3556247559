"""Drawings of one line each as SVG: intervals on an axis, the course of a career, the mark of the site."""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import use_minus_sign

COURSE_POINTS, COURSE_HEIGHT = 40, 28  # of the line of a career
MIN_MARKS, MAX_MARKS = 3, 5  # labels of an axis, so that they can be read, and have room in a column
MARK_DIGITS = 1, 2, 2.5, 5, 10  # of steps between marks; from 3 to 5 marks always fit with one of them
MARK_ROOM = 0.06  # of the length of an axis before its first label and behind its last, so that these are not cut
MARK_COLOURS = "#f2a900", "#ffffff", "#7cb7f5"
NAVY = "#14213d"


class Axis(NamedTuple):
    """An axis of ratings, with round marks."""

    low: float
    high: float
    marks: list[tuple[float, str]]  # positions in percent, and labels

    def position(self, rating: float, length: int = 1000) -> int:
        """Where a rating is, from the left."""
        return round(length * self.fraction(rating))

    def fraction(self, value: float) -> float:
        """The part of the axis that lies before a value."""
        return (value - self.low) / (self.high - self.low)

    @property
    def grid(self) -> str:
        """A line at each mark, and of many at every other one, as stops of gradients in variables of a style sheet."""
        lines = [f"#0000 {at:.1f}%,var(--rule) 0 calc({at:.1f}% + 1px),#0000 0" for at, _ in self.marks]
        return f"--grid:{','.join(lines)};--coarse:{','.join(lines[:: 2 if len(lines) > 2 else 1])}"

    @property
    def labels(self) -> str:
        """The labels of the marks, as HTML."""
        return "".join(f'<i style="left:{at:.1f}%">{text}</i>' for at, text in self.marks)


def round_step(length: float, most: int) -> float:
    """The least of 1, 2 and 5 times a power of ten that divides a length into at most so many steps."""
    size = 10.0 ** math.floor(math.log10(length / most))
    return next(size * digit for digit in (1, 2, 5, 10) if size * digit * most >= length * (1 - 1e-9))


def round_marks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between two others, at most so many."""
    return multiples(round_step(high - low, most), low, high)


def multiples(step: float, low: float, high: float) -> list[float]:
    """The multiples of a step between two numbers."""
    return [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def axis_marks(low: float, high: float) -> list[float]:
    """From three to five round numbers between two others; four rather than five."""
    size = 10.0 ** math.floor(math.log10((high - low) / MAX_MARKS))
    marks = [multiples(size * digit, low, high) for digit in MARK_DIGITS]
    return min((x for x in marks if MIN_MARKS <= len(x) <= MAX_MARKS), key=lambda x: len(x) == MAX_MARKS)


def make_axis(low: float, high: float) -> Axis:
    """The axis that shows these ratings."""
    if not high - low > 1e-9:
        low, high = low - 1.0, high + 1.0
    room = 0.02 * (high - low)
    low, high = low - room, high + room
    marks = axis_marks(low, high)
    edge = MARK_ROOM * (high - low)
    low, high = min(low, marks[0] - edge), max(high, marks[-1] + edge)
    return Axis(low, high, [(100 * (x - low) / (high - low), use_minus_sign(f"{x:,.10g}")) for x in marks])


def interval_bar(axis: Axis, rating: float, half_width: float | None, digits: int | None = None) -> str:
    """A rating as a mark, on a bar of its interval.

    The ends of the interval are told with so many decimals, by default as many as the axis needs.
    """
    at = axis.position(rating)
    head = '<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none"'
    if half_width is None:
        return f'{head} aria-hidden="true"><path/><path d="M{at} 0v10"/></svg>'
    begin, end = axis.position(rating - half_width), axis.position(rating + half_width)
    if digits is None:
        digits = max(2 - math.floor(math.log10(axis.high - axis.low)), 0)
    low, high = (math.floor(x * 10.0**digits + 0.5) / 10.0**digits for x in (rating - half_width, rating + half_width))
    text = f"95% interval {use_minus_sign(f'{low:,.{digits}f} to {high:,.{digits}f}')}"
    return f'{head} role="img" aria-label="{text}"><path d="M{begin} 5H{end}"/><path d="M{at} 0v10"/></svg>'


def ratings_to_level_letters(ratings: HostArray, rating_range: float) -> str:
    """Ratings [COURSE_POINTS] as letters, "A" for the lowest level; blanks where they are NaN.

    One level is the same number of points in all lines with the same `rating_range`, and each is around its own middle.
    """
    known = ratings[~np.isnan(ratings)]
    if not len(known):
        return ""
    middle = 0.5 * (known.min() + known.max())
    levels = np.clip(np.round(COURSE_HEIGHT * (0.5 + (ratings - middle) / max(rating_range, 1e-9))), 0, COURSE_HEIGHT)
    return "".join(" " if x != x else chr(65 + int(x)) for x in levels.tolist())


def course_line(levels: str) -> str:
    """The line of a career, from `ratings_to_level_letters`, with a dot at its end."""
    points = [(x, COURSE_HEIGHT + 65 - ord(level)) for x, level in enumerate(levels) if level != " "]
    if not points:
        return ""
    steps = (f"1 {y - before}" for (_, before), (_, y) in pairwise(points))
    x, y = points[0]
    return (
        f'<svg class="course" viewBox="0 0 {COURSE_POINTS - 1} {COURSE_HEIGHT}" preserveAspectRatio="none" '
        f'aria-hidden="true"><path d="M{x} {y}l{" ".join(steps)}"/><path d="M{points[-1][0]} {points[-1][1]}h0"/></svg>'
    )


def site_mark() -> str:
    """Three stacked bars, as SVG."""
    bars = "".join(f'<path fill="{x}" d="M0 {7 * i}h10v4H0z"/>' for i, x in enumerate(MARK_COLOURS))
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 18" aria-hidden="true">{bars}</svg>'


def site_icon() -> str:
    """The mark on navy, as SVG of a square."""
    bars = "".join(f'<path fill="{x}" d="M9 {7 + 7 * i}h14v4H9z"/>' for i, x in enumerate(MARK_COLOURS))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path fill="{NAVY}" d="M0 0h32v32H0z"/>'
        f"{bars}</svg>"
    )
