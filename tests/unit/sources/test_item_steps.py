"""Pivoted lists, and the values that cannot be pivoted."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import UsageError
from penstock.sources.helpers.transform import pivot, skip_first, take_first


@pytest.mark.parametrize(
    ("paths", "item", "expected"),
    [
        ("$", [[1, 2], [3]], [{"col0": 1, "col1": 2}, {"col0": 3}]),
        ("a.b", {"a": {"b": [[1]]}, "c": [[1]]}, {"a": {"b": [{"col0": 1}]}, "c": [[1]]}),
        ("a[*].b", {"a": [{"b": [[1]]}, {"b": [[2]]}]}, {"a": [{"b": [{"col0": 1}]}, {"b": [{"col0": 2}]}]}),
        ("$.a.*", {"a": {"x": [[1]]}}, {"a": {"x": [{"col0": 1}]}}),
        (["a", "b"], {"a": [[1]], "b": [(2, 3)]}, {"a": [{"col0": 1}], "b": [{"col0": 2, "col1": 3}]}),
        ("missing", {"a": [[1]]}, {"a": [[1]]}),
        ("a[1]", {"a": [0, [[1]]]}, {"a": [0, [{"col0": 1}]]}),
        ("a", {"a": []}, {"a": []}),
    ],
)
def test_lists_become_rows(paths: Any, item: Any, expected: Any) -> None:
    assert pivot(paths)(item) == expected


@pytest.mark.parametrize("value", [5, "text", [1, 2], ["ab"], {"x": 1}])
def test_another_value_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="'a' is not a list of lists"):
        pivot("a")({"a": value})


def test_the_filters_count_items() -> None:
    take, skip = take_first(2), skip_first(2)

    assert [(take(row), skip(row)) for row in "abc"] == [(True, False), (True, False), (False, True)]
