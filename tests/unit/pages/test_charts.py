"""Charts: their labels and shapes."""

from __future__ import annotations

import re

from penstock.pages.charts import bar_chart, line_chart, time_bar


def heights(html: str) -> list[float]:
    return [float(height) for height in re.findall(r'<rect[^>]* height="([\d.]+)"', html)]


def test_bars_are_as_high_as_their_numbers() -> None:
    chart = bar_chart("Rows", [("a", 4), ("b", 2), ("c", None), ("d", 0)])

    assert heights(chart) == [100.0, 50.0, 0.0]


def test_a_small_number_has_a_visible_bar() -> None:
    assert heights(bar_chart("Rows", [("a", 1_000_000), ("b", 1)]))[1] > 1


def test_a_chart_without_numbers_is_empty() -> None:
    assert "<rect" not in bar_chart("Rows", [])
    assert "<path" not in line_chart("Growth", {})


def test_texts_of_charts_are_escaped() -> None:
    charts = bar_chart("<b>", [("<b>", 1)]) + line_chart("<b>", {"<b>": [1]})

    assert "<b>" not in charts + time_bar("<b>", 0, 1, 2, kind="step")


def test_a_line_is_level_between_two_loads() -> None:
    assert 'd="M0 100V51.0H10V2.0H20"' in line_chart("Growth", {"orders": [1, 2]})


def test_a_bar_does_not_leave_the_scale_of_time() -> None:
    position, width = re.findall(r' (?:x|width)="([\d.]+)"', time_bar("load", 9, 5, 10, kind="step"))

    assert float(position) + float(width) <= 1000
