"""Small charts as SVG that stretch with their place; the numbers are in their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.pages.elements import Html, element

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_STEP: Final = 10
"""The width of a bar with its gap, and of the distance between two points."""
_HEIGHT: Final = 100
_LEAST_HEIGHT: Final = 3
_TOP: Final = 2
"""The room above the highest line, for its stroke."""
_MAX_BARS_WIDTH: Final = 256
"""Pixels; few bars are not wider than many."""
_SCALE: Final = 1000
SERIES_COLORS: Final = 6
"""The number of colors of lines; the styles define them."""


def bar_chart(label: str, bars: Sequence[tuple[str, int | None]]) -> Html:
    """Return bars with their own texts; an unknown number has no bar.

    >>> chart = bar_chart("Rows", [("Monday: 3 rows", 3), ("Tuesday: unknown", None)])
    >>> chart.count("<rect"), "Monday: 3 rows" in chart
    (1, True)
    """
    most = max((number or 0 for _, number in bars), default=0) or 1
    rectangles = [
        _bar(title, position, max(number * _HEIGHT / most, _LEAST_HEIGHT if number else 0))
        for position, (title, number) in enumerate(bars)
        if number is not None
    ]
    width = len(bars) * _STEP
    return _svg(label, width, rectangles, class_="bars", width=min(width, _MAX_BARS_WIDTH))


def line_chart(label: str, lines: Mapping[str, Sequence[int]]) -> Html:
    """Return a line for each sequence of numbers, from the left to the right, on one scale from zero.

    >>> line_chart("Growth", {"orders": [1, 3]}).count("<path")
    1
    """
    most = max((number for numbers in lines.values() for number in numbers), default=0) or 1
    length = max((len(numbers) for numbers in lines.values()), default=0)
    paths = [
        element(
            "g",
            element("title", name),
            element("path", d=_steps(numbers, most), class_=f"line series-{position % SERIES_COLORS}"),
        )
        for position, (name, numbers) in enumerate(lines.items())
    ]
    return _svg(label, max(length, 1) * _STEP, paths, class_="lines")


def time_bar(label: str, start: float, length: float, total: float, *, kind: str) -> Html:
    """Return a bar on a time scale of `total` seconds."""
    scale = _SCALE / (total or 1)
    width = min(max(length * scale, _LEAST_HEIGHT), _SCALE)
    x = min(max(start * scale, 0), _SCALE - width)
    bar = element(
        "rect", x=f"{x:.1f}", y=0, width=f"{width:.1f}", height=_HEIGHT, rx=_LEAST_HEIGHT, class_=kind
    )
    return _svg(label, _SCALE, [bar], class_="time")


def _bar(title: str, position: int, height: float) -> Html:
    rectangle = element(
        "rect",
        x=position * _STEP + 1,
        y=f"{_HEIGHT - height:.1f}",
        width=_STEP - 2,
        height=f"{height:.1f}",
    )
    return element("g", element("title", title), rectangle)


def _steps(numbers: Sequence[int], most: int) -> str:
    """Return the path of a line that is level between two loads."""
    levels = [f"{_HEIGHT - number * (_HEIGHT - _TOP) / most:.1f}" for number in numbers]
    corners = [f"V{level}H{(position + 1) * _STEP}" for position, level in enumerate(levels)]
    return "".join([f"M0 {_HEIGHT}", *corners])


def _svg(label: str, length: int, content: Sequence[Html], *, class_: str, width: int | None = None) -> Html:
    return element(
        "svg",
        element("title", label),
        content,
        viewBox=f"0 0 {length} {_HEIGHT}",
        width=width,
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
        class_=f"chart {class_}",
    )
