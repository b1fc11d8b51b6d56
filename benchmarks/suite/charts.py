"""Charts as self-contained SVG, readable on light and dark pages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH: Final = 900
_LABELS: Final = 430
_PLOT: Final = WIDTH - _LABELS - 90
_LINE: Final = 22
_COLORS: Final = {"penstock": "#3572a5", "bare Spark": "#d08a2e", "dlt": "#7a7a7a"}
_GOOD, _BAD = "#3a8f4d", "#c0392b"
_STYLE: Final = (
    "text{font:12px sans-serif;fill:#222}.title{font-weight:bold;font-size:14px}.note{fill:#666}"
    ".group{font-weight:bold}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The median of a side, and the range of its rounds."""

    label: str
    value: float
    low: float
    high: float


def ratio_chart(title: str, rows: Sequence[tuple[str, float, float]]) -> str:
    """Draw a bar for each ratio on a logarithmic scale, from 1 outwards, with a tick at its budget."""
    values = [value for _, ratio, most in rows for value in (ratio, most)] or [1.0]
    low, high = min(0.5, *values) / 1.2, max(2.0, *values) * 1.2

    def x(value: float) -> float:
        return _LABELS + _PLOT * math.log(max(value, low) / low) / math.log(high / low)

    top, parts = 44, []
    for number, (label, ratio, most) in enumerate(rows):
        y = top + number * _LINE
        begin, end = sorted((x(1.0), x(ratio)))
        parts.append(_text(_LABELS - 8, y + 14, label, anchor="end"))
        parts.append(_bar(begin, y + 3, end - begin, _GOOD if ratio <= most else _BAD))
        parts.append(_vertical(x(most), y, y + _LINE - 2, "#222", width=3))
        parts.append(_text(WIDTH - 8, y + 14, f"{ratio:.2f} (≤ {most:g})", anchor="end"))
    bottom = top + len(rows) * _LINE
    parts.append(_vertical(x(1.0), top - 4, bottom, "#888"))
    parts.append(_text(x(1.0), top - 8, "1", anchor="middle"))
    note = "Left of 1 is faster. The thick tick is the budget; red bars exceed it. Logarithmic scale."
    parts.append(_text(8, bottom + 18, note, kind="note"))
    return _svg(title, parts, bottom + 30)


def bar_chart(title: str, groups: Mapping[str, Sequence[Bar]]) -> str:
    """Draw a group of bars for each measure, every group on a scale of its own, with the range as a line."""
    y, parts = 34, []
    for name, bars in groups.items():
        parts.append(_text(8, y + 16, name, kind="group"))
        y += _LINE
        most = max((bar.high for bar in bars), default=0) or 1.0
        for bar in bars:
            parts.append(_text(150, y + 14, bar.label, anchor="end"))
            scale = (WIDTH - 250) / most
            parts.append(_bar(160, y + 3, bar.value * scale, _COLORS.get(bar.label, "#999999")))
            parts.append(_horizontal(160 + bar.low * scale, 160 + bar.high * scale, y + 10))
            parts.append(_text(WIDTH - 8, y + 14, f"{bar.value:,.2f}", anchor="end"))
            y += _LINE
        y += 8
    return _svg(title, parts, y + 10)


def _svg(title: str, parts: Sequence[str], height: float) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>',
            _text(8, 20, title, kind="title"),
            *parts,
            "</svg>\n",
        ]
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(text)}</text>'


def _bar(x: float, y: float, width: float, color: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="14" fill="{color}"/>'


def _vertical(x: float, top: float, bottom: float, color: str, *, width: int = 1) -> str:
    return f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}" stroke="{color}" stroke-width="{width}"/>'


def _horizontal(begin: float, end: float, y: float) -> str:
    return f'<path d="M{begin:.1f} {y:.1f}H{end:.1f}" stroke="#222" stroke-width="2"/>'
