"""Rows after a decision, computed in plain Python: the reference for SQL."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from penstock.normalize.profile import decode_value
from penstock.schema.convert import convert_value
from penstock.schema.evidence import walk_values
from penstock.schema.layout import canonical_row_and_keys
from penstock.schema.observation import observe_value, typed_value
from penstock.schema.system_columns import propagated_columns
from penstock.schema.value_path import split_row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.schema import Decision
    from penstock.schema.value_path import ValuePath

Key = tuple[Any, ...]
"""The path of the list of a row, and its position."""
_WIDE = Context(prec=10_000)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Row:
    """A row of a table under construction."""

    table: str
    key: Key
    above: Key | None
    index: int
    values: dict[str, Any] = field(default_factory=dict)
    is_refused: bool = False


def reference_tables(decision: Decision, rows: Iterable[Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table, with ids like those of normalize; the root rows are `r0`, `r1`…"""
    result: dict[Key, Row] = {}
    for number, row in enumerate(rows):
        top = row if isinstance(row, dict) else {"value": row}
        for path, position, value in walk_values(top, number):
            _take(decision, result, path, position, value)
    return _tables(decision, result)


def _take(
    decision: Decision, result: dict[Key, Row], path: ValuePath, position: tuple[int, ...], value: Any
) -> None:
    kind = observe_value(value).type
    raw_row, _ = split_row(path)
    key = (raw_row, position[:-1])
    if path == raw_row:
        row_path, _ = canonical_row_and_keys(path, is_list=kind == "list")
        table = decision.tables.get(row_path)
        above = (split_row(path[:-1])[0], position[:-2]) if path else None
        if table is None or (above is not None and above not in result):
            return
        result[key] = Row(table=table, key=key, above=above, index=position[-2])
    row = result.get(key)
    rule = decision.rules.get((path, kind))
    while row is not None and rule is not None:
        if rule.action == "discard_row" and (kind != "null" or row.above is None):
            row.is_refused = True
        if rule.action in ("keep", "convert", "json"):
            try:
                found_value = _converted(value, kind, rule.data_type)
            except ValueError:
                rule = rule.otherwise
                continue
            if found_value is not None:  # the text `null` is JSON null
                row.values[rule.column or ""] = found_value
        return


def _converted(value: Any, kind: str, to: Any) -> Any:
    if kind in ("object", "list"):
        plain_json = json.loads(json.dumps(value, default=_plain))
        return comparable(convert_value(plain_json, "json", to), to)
    plain = typed_value(value)
    return comparable(convert_value(plain[1], plain[0], to), to)


def _tables(decision: Decision, result: dict[Key, Row]) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {}
    ids: dict[Key, str] = {}
    passed: dict[Key, dict[str, Any]] = {}
    for key, row in result.items():
        if row.is_refused or (row.above is not None and row.above not in ids):
            continue
        table = decision.schema.tables[row.table]
        created = f"r{row.index}" if row.above is None else digest(ids[row.above], row.table, row.index)
        ids[key] = row.values.get("_dlt_id") or created
        values = {**row.values, "_dlt_id": ids[key]}
        inherited = {} if row.above is None else passed[row.above]
        values |= {name: value for name, value in inherited.items() if name in table.columns}
        if table.is_nested and row.above is not None:
            values |= {"_dlt_parent_id": ids[row.above], "_dlt_list_idx": row.index}
        down = propagated_columns(decision.schema, row.table, is_root=not table.is_nested)
        own_passed = {name: values[source] for source, name in down.items() if values.get(source) is not None}
        passed[key] = {**inherited, **own_passed}
        tables.setdefault(row.table, []).append(values)
    return tables


def untagged(value: Any) -> Any:
    """Return a JSON value with its tags replaced by their meaning."""
    if isinstance(value, dict):
        return {key: untagged(item) for key, item in value.items()}
    if isinstance(value, list):
        return [untagged(item) for item in value]
    return decode_value(value)[1]


def digest(parent: str, table: str, index: int) -> str:
    """Return the id of a nested row."""
    hashed = hashlib.sha256(f"{parent}_{table}_{index}".encode()).digest()[:10]
    return base64.b64encode(hashed).decode()[:14]


def comparable(value: Any, to: str) -> Any:
    """Return a value in a comparable form."""
    match to:
        case "timestamp":
            moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value
            delta = moment - _EPOCH
            return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
        case "date" | "time":
            return value.isoformat()
        case "decimal" | "wei":
            return _WIDE.add(_WIDE.normalize(Decimal(value)), 0)
        case "double":
            return "nan" if math.isnan(value) else float(value)
        case "binary":
            return bytes(value).hex()
        case "json":
            return json.loads(json.dumps(value, default=_plain))
        case "text":
            return _document(value)
        case _:
            return value


def _document(text: str) -> Any:
    """Parse a JSON document: engines differ in the order of keys."""
    try:
        return json.loads(text) if text[:1] in ("{", "[") else text
    except ValueError:
        return text


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else _iso(value)


def _iso(value: Any) -> str:
    return format(value, "f") if isinstance(value, Decimal) else value.isoformat()


def comparable_sql(column: str, to: str | None) -> str:
    """Return the SQL for a column as a text that `from_sql` reads."""
    match to:
        case "timestamp":
            return f"CAST(unix_micros({column}) AS STRING)"
        case "binary":
            return f"lower(hex({column}))"
        case _:
            return f"CAST({column} AS STRING)"


def from_sql(text: str, to: str | None) -> Any:
    """Return the comparable form of a text from SQL, like that of `comparable`."""
    match to:
        case "timestamp" | "bigint":
            return int(text)
        case "decimal" | "wei":
            return _WIDE.add(_WIDE.normalize(Decimal(text)), 0)
        case "double":
            return "nan" if text == "NaN" else float(text)
        case "bool":
            return text == "true"
        case "json":
            return json.loads(text)
        case "text":
            return _document(text)
        case _:
            return text
