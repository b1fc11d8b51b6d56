"""Assertions on the tables of a pipeline, with messages of a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from penstock.pipeline.pipeline import Pipeline

_MAX_LINES: Final = 5
_MAX_CHARS: Final = 200
_SYSTEM_PREFIX: Final = "_dlt"

TableRow = Mapping[str, Any]


def assert_table(
    pipeline: Pipeline,
    table: str,
    *,
    rows: Iterable[TableRow] | None = None,
    columns: Collection[str] | Mapping[str, str] | None = None,
    unique: str | Sequence[str] | None = None,
    count: int | None = None,
) -> None:
    """Raise an AssertionError that shows the difference if a table is not as expected.

    `rows` are all rows, in any order; a column that a row does not name is null. `columns` are the names of
    all columns, or the names with their data types. The columns `_dlt...` are not compared. `unique` is a
    column, or several, whose values occur once. `count` is the number of rows.

    >>> from penstock.testing import temporary_pipeline
    >>> with temporary_pipeline("shop") as shop:
    ...     _ = shop.run([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], table_name="orders")
    ...     assert_table(shop, "orders", count=2, unique="id", columns={"id": "bigint", "name": "text"})
    ...     assert_table(shop, "orders", rows=[{"id": 1, "name": "a"}, {"id": 2, "name": "c"}])
    Traceback (most recent call last):
    AssertionError: orders: 1 of 2 rows differ
      row with id 2: name is 'b', expected: 'c'
    """
    with pipeline.dataset() as dataset:
        tables = dataset.tables
        if table not in tables:
            raise AssertionError(_missing_table(table, tables))
        arrow_table = dataset[table].arrow()
        stored = next(schema.tables[table] for schema in dataset.schemas if table in schema.tables).columns
    names = [name for name in arrow_table.column_names if not _is_system(name)]
    actual = arrow_table.select(names).to_pylist()
    key = [unique] if isinstance(unique, str) else list(unique or ())
    problems: list[str] = []
    if count is not None and len(actual) != count:
        problems.append(f"{len(actual)} rows, expected: {count}")
    if columns is not None:
        problems += _column_problems({name: str(stored[name].data_type) for name in names}, columns)
    if key:
        problems += _duplicates(actual, names, key)
    if rows is not None:
        primary_key = [name for name in names if stored[name].get("primary_key")]
        problems += _row_problems(actual, [dict(row) for row in rows], key or primary_key)
    if problems:
        raise AssertionError(f"{table}: " + "\n".join(problems))


def _is_system(name: str) -> bool:
    return name.startswith(_SYSTEM_PREFIX)


def _missing_table(table: str, tables: Sequence[str]) -> str:
    names = [name for name in tables if not _is_system(name)]
    close = get_close_matches(table, names, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    return f"table {table!r} does not exist{meant}\n  tables: {', '.join(sorted(names)) or 'none'}"


def _column_problems(actual: Mapping[str, str], expected: Collection[str]) -> Iterator[str]:
    missing, unexpected = sorted(set(expected) - set(actual)), sorted(set(actual) - set(expected))
    if missing or unexpected:
        yield "the columns differ"
        yield from (f"  missing: {', '.join(names)}" for names in (missing,) if names)
        yield from (f"  unexpected: {', '.join(names)}" for names in (unexpected,) if names)
    if isinstance(expected, Mapping):
        for name in sorted(set(expected) & set(actual)):
            if actual[name] != expected[name]:
                yield f"  {name} is {actual[name]}, expected: {expected[name]}"


def _duplicates(rows: Sequence[TableRow], names: Sequence[str], key: Sequence[str]) -> Iterator[str]:
    absent = [name for name in key if name not in names]
    if absent:
        yield f"column {absent[0]!r} does not exist; columns: {', '.join(names)}"
        return
    counts = Counter(tuple(_value_text(row[name]) for name in key) for row in rows)
    repeated = [(values, number) for values, number in counts.items() if number > 1]
    if repeated:
        yield f"{', '.join(key)} is not unique"
        yield from _shortened(f"  {', '.join(values)}: {number} rows" for values, number in repeated)


def _row_problems(
    actual: Sequence[TableRow], expected: Sequence[TableRow], key: Sequence[str]
) -> Iterator[str]:
    unexpected, missing = list(actual), []
    for row in expected:
        match = next((other for other in unexpected if not _differences(other, row)), None)
        if match is None:
            missing.append(row)
        else:
            unexpected.remove(match)
    pairs = list(_take_pairs(unexpected, missing, key))
    if not (pairs or missing or unexpected):
        return
    parts = [
        f"{len(pairs)} of {len(actual)} rows differ" if pairs else "",
        f"{len(missing)} missing" if missing else "",
        f"{len(unexpected)} unexpected of {len(actual)} rows" if unexpected else "",
    ]
    yield ", ".join(filter(None, parts))
    yield from _shortened(_pair_text(row, wanted, key) for row, wanted in pairs)
    yield from _shortened(f"  missing: {_row_text(row)}" for row in missing)
    yield from _shortened(f"  unexpected: {_row_text(row)}" for row in unexpected)


def _take_pairs(
    unexpected: list[TableRow], missing: list[TableRow], key: Sequence[str]
) -> Iterator[tuple[TableRow, TableRow]]:
    """Take each row that differs from an expected row: by key, or with the fewest differences."""
    for wanted in list(missing):
        if key:
            close = [row for row in unexpected if all(row.get(name) == wanted.get(name) for name in key)]
        else:
            similar = [row for row in unexpected if _is_similar(row, wanted)]
            close = sorted(similar, key=lambda row: len(_differences(row, wanted)))
        if close:
            missing.remove(wanted)
            unexpected.remove(close[0])
            yield close[0], wanted


def _is_similar(row: TableRow, wanted: TableRow) -> bool:
    return any(value is not None and row.get(name) == value for name, value in wanted.items())


def _differences(row: TableRow, wanted: TableRow) -> list[str]:
    return [name for name in dict.fromkeys((*row, *wanted)) if row.get(name) != wanted.get(name)]


def _pair_text(row: TableRow, wanted: TableRow, key: Sequence[str]) -> str:
    names = _differences(row, wanted)
    equal = list(key) or [name for name in row if name not in names and row[name] is not None][:1]
    label = ", ".join(f"{name} {_value_text(row.get(name))}" for name in equal)
    changes = ", ".join(
        f"{name} is {_value_text(row.get(name))}, expected: {_value_text(wanted.get(name))}" for name in names
    )
    return _short(f"  row with {label}: {changes}")


def _row_text(row: TableRow) -> str:
    return _short(
        ", ".join(f"{name}={_value_text(value)}" for name, value in row.items() if value is not None)
    )


def _value_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else repr(value)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}..."


def _shortened(lines: Iterable[str]) -> Iterator[str]:
    """Yield the first lines, and the number of the others."""
    for number, line in enumerate(all_lines := list(lines)):
        if number == _MAX_LINES:
            yield f"  ... and {len(all_lines) - number} more"
            return
        yield line
