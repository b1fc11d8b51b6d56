from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.errors import NotDuringRun, UsageError
from penstock.interfaces.cursorpath import MISSING, parse_cursor_path
from penstock.sources import incremental

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = [{"n": number} for number in range(5)]


def test_incremental_is_available_under_its_public_names() -> None:
    assert penstock.sources.incremental is incremental
    assert incremental[str]("n").terms.value_type is str
    assert incremental("n").terms.value_type is None


@pytest.mark.parametrize(
    "options",
    [
        {"cursor_path": "a b"},
        {"cursor_path": ""},
        {"cursor_path": "a..", "initial_value": 1},
        {"row_order": "up"},
        {"range_start": "ajar"},
        {"range_end": "ajar"},
        {"on_cursor_value_missing": "perhaps"},
        {"last_value_func": "mean"},
    ],
)
def test_invalid_options_are_rejected_when_declared(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        incremental(**{"cursor_path": "n", **options})


def test_outside_a_run_a_cursor_has_no_last_value() -> None:
    with pytest.raises(NotDuringRun, match="last value"):
        incremental("n", initial_value=3).last_value  # noqa: B018 - raises


def test_arguments_of_a_call_override_the_default_cursor() -> None:
    default = incremental[int]("n", initial_value=1, lag=2, primary_key="id", row_order="asc")

    merged = default.merge(incremental(initial_value=5, end_value=9))

    assert (merged.cursor_path, merged.initial_value, merged.end_value) == ("n", 5, 9)
    assert (merged.lag, merged.primary_key, merged.row_order) == (2, "id", "asc")
    assert merged.terms.value_type is int
    assert default.end_value is None


def test_two_iterations_of_a_resource_have_separate_cursors() -> None:
    seen: list[Any] = []

    @penstock.resource
    def numbers(n: Any = incremental("n", initial_value=2)) -> Iterator[Any]:
        seen.append(n)
        yield from ROWS

    assert list(numbers()) == list(numbers) == ROWS[2:]
    assert seen[0] is not seen[1]
    assert [cursor.last_value for cursor in seen] == [4, 4]


def test_a_hint_overrides_the_argument_and_can_be_removed() -> None:
    @penstock.resource
    def numbers(n: Any = incremental("n", initial_value=1)) -> Iterator[Any]:
        yield from ROWS

    hinted = numbers().apply_hints(incremental=incremental("n", initial_value=3))
    assert list(hinted) == ROWS[3:]
    assert list(hinted.apply_hints(incremental=incremental.EMPTY)) == ROWS[1:]
    assert hinted.set_incremental(incremental("n", initial_value=4)).initial_value == 4
    assert list(hinted) == ROWS[4:]


def test_steps_run_before_the_cursor_by_default() -> None:
    def numbers() -> Any:
        return penstock.resource(ROWS, name="r", incremental=incremental("n", initial_value=6))

    def tenfold(row: Any) -> Any:
        return {"n": row["n"] * 10}

    assert list(numbers().add_map(tenfold)) == [{"n": number} for number in (10, 20, 30, 40)]
    assert list(numbers().add_map(tenfold, insert_at=2)) == []


@pytest.mark.parametrize(
    ("kind", "text", "rows", "expected"),
    [
        (int, "3", [2, 3, 10], [3, 10]),
        (float, "2.5", [2.0, 3.0], [3.0]),
        (date, "2024-01-02", [date(2024, 1, 1), date(2024, 1, 3)], [date(2024, 1, 3)]),
        (
            datetime,
            "2024-01-02T00:00:00Z",
            [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 3, tzinfo=UTC)],
            [datetime(2024, 1, 3, tzinfo=UTC)],
        ),
        (str, "b", ["a", "b", "c"], ["b", "c"]),
    ],
)
def test_values_from_the_environment_have_the_type_of_the_cursor(
    monkeypatch: pytest.MonkeyPatch, kind: type, text: str, rows: list[Any], expected: list[Any]
) -> None:
    @penstock.resource(section="shop")
    def numbers(n: Any = incremental[kind]("n")) -> Iterator[Any]:  # type: ignore[valid-type]
        yield from ({"n": value} for value in rows)

    monkeypatch.setenv("SOURCES__SHOP__NUMBERS__N__INITIAL_VALUE", text)

    assert [row["n"] for row in numbers] == expected


@pytest.mark.parametrize("annotation", ["incremental[int]", "incremental[int] | None", "Any"])
def test_a_string_annotation_is_resolved(annotation: str) -> None:
    def numbers(n: Any = None) -> Iterator[Any]:
        yield {"n": 1, "has": n is not None}

    numbers.__annotations__["n"] = annotation
    declared = penstock.resource(numbers)
    if annotation == "Any":
        assert list(declared) == [{"n": 1, "has": False}]
    elif annotation == "incremental[int]":
        with pytest.raises(UsageError, match="has no cursor"):
            list(declared)
    else:
        assert list(declared) == [{"n": 1, "has": False}]
        assert list(declared(incremental("n"))) == [{"n": 1, "has": True}]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a", {"b": 1}),
        ("a.b", 1),
        ("$.list[*].x", 5),
        ("list[-1].x", 6),
        ("'my col'", 7),
        ("$..x", 5),
        ("list[7].x", MISSING),
        ("list.x", MISSING),
        ("a.b.c", MISSING),
        ("zzz", MISSING),
    ],
)
def test_a_path_leads_to_the_first_value(path: str, expected: Any) -> None:
    row = {"a": {"b": 1}, "list": [{"x": 5}, {"x": 6}], "my col": 7}

    assert parse_cursor_path(path).first(row) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("updated|created", [2]),
        ("created | updated", [2]),
        ("list[*].x|updated", [5, 6, 2]),
        ("'a|b'|updated", [9, 2]),
    ],
)
def test_paths_between_bars_follow_each_other(path: str, expected: list[int]) -> None:
    row = {"updated": 2, "list": [{"x": 5}, {"x": 6}], "a|b": 9}

    assert parse_cursor_path(path).all(row) == expected
    assert parse_cursor_path(path).first(row) == expected[0]
    assert parse_cursor_path(path).column is None


@pytest.mark.parametrize("path", ["updated|", "|updated", "updated||created"])
def test_a_bar_without_a_path_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="is not a valid cursor path"):
        parse_cursor_path(path)
