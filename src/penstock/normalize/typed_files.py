"""Typed files: what is known of their rows comes from the columns that were written down, by no job."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UsageError
from penstock.interfaces.file_schema import array_type, column_key, map_type, merged_type, struct_type
from penstock.interfaces.file_schema import struct_field as field_of
from penstock.normalize.nested_layout import LayoutNode, Leaf, ListOf, NestedLayout, Object, field_names
from penstock.schema import Column
from penstock.schema.evidence import Evidence
from penstock.schema.observation import NO_TYPES
from penstock.schema.spark_types import (
    NESTED_TYPE_HINT,
    precision_and_scale,
    spark_type,
    spark_type_from_json,
)
from penstock.schema.types import DataType
from penstock.schema.value_path import EACH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.normalize.profile import JsonForm
    from penstock.schema import NamingConvention
    from penstock.schema.decision import Decision
    from penstock.schema.observation import ObservedType
    from penstock.schema.value_path import ValuePath

_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_SIMPLE_TYPES: Final[Mapping[str, tuple[str, DataType]]] = {
    "boolean": ("BOOLEAN", "bool"),
    **dict.fromkeys(("byte", "short", "integer", "long"), ("BIGINT", "bigint")),
    **dict.fromkeys(("float", "double"), ("DOUBLE", "double")),
    "string": ("STRING", "text"),
    "binary": ("BINARY", "binary"),
    "date": ("DATE", "date"),
    # A moment without a zone is taken to be UTC, as everywhere.
    **dict.fromkeys(("timestamp", "timestamp_ntz"), ("TIMESTAMP", "timestamp")),
    "variant": ("VARIANT", "json"),
}


# What every value of such a column fits, whatever it is.
_SMALL_INTEGER_FITS: Final = frozenset[DataType](("double", "decimal", "wei"))
_TYPE_FITS: Final[Mapping[str, frozenset[DataType]]] = {
    **dict.fromkeys(("byte", "short", "integer"), _SMALL_INTEGER_FITS),
    "long": frozenset[DataType](("decimal", "wei")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedFiles:
    """What typed files hold, in the terms in which rows of JSON are told."""

    layout: NestedLayout
    evidence: tuple[Evidence, ...]
    precisions: Mapping[ValuePath, tuple[int, int]]
    """Digits and scale of decimals."""
    nested_types: Mapping[ValuePath, Any]
    """Structs, lists and maps that are kept as they are, with their types."""


def typed_files(
    columns: Mapping[str, Any],
    *,
    rows: int,
    kept_as_json: Callable[[ValuePath, JsonForm], bool] | None = None,
    keep_nested: bool = False,
) -> TypedFiles:
    """Read the columns of typed files.

    Structs are objects and arrays are lists, as in rows of Python; a map has no fixed keys and is one value.
    With `keep` all three are values of the column that they stand in.
    """
    reader = _ColumnReader(rows, kept_as_json or (lambda *_: False), keep_nested)
    root = reader.read_struct(columns["fields"], ())
    return TypedFiles(
        layout=NestedLayout(root),
        evidence=tuple(reader.evidence),
        precisions=reader.precisions,
        nested_types=reader.nested_types,
    )


def with_decimal_precision(
    decision: Decision, precisions: Mapping[ValuePath, tuple[int, int]], naming: NamingConvention
) -> Decision:
    """Give new columns for decimals as many digits as the files have.

    Where a column is there already and has fewer, a variant takes the values: none is rounded.
    """
    tables, rules = dict(decision.schema.tables), dict(decision.rules)
    for path, (precision, scale) in precisions.items():
        rule = rules.get((path, "decimal"))
        if rule is None or rule.action != "keep" or rule.column is None:
            continue
        table, wanted = tables[rule.table], Column(name="", precision=precision, scale=scale)
        added = decision.update.get(rule.table)
        if added is not None and rule.column in added.columns:
            column = replace(table.columns[rule.column], precision=precision, scale=scale)
        elif _can_hold(table.columns[rule.column], wanted):
            continue
        else:
            name = naming.shorten_fragments(rule.column, "v_decimal")
            known = table.columns.get(name)
            fresh = replace(wanted, name=name, data_type="decimal", nullable=True).with_hints(variant=True)
            column = known if known is not None and _can_hold(known, wanted) else fresh
            rules[path, "decimal"] = replace(rule, column=name)
        tables[rule.table] = table.with_columns([column])
    changed = [table for name, table in tables.items() if table is not decision.schema.tables[name]]
    return (
        replace(decision, schema=decision.schema.with_tables(changed), rules=rules) if changed else decision
    )


def with_nested_types(decision: Decision, nested_types: Mapping[ValuePath, Any]) -> Decision:
    """Give new columns for structs, lists and maps that are kept their types, and known ones what is new.

    A column that has JSON texts goes on to have them.
    """
    tables = dict(decision.schema.tables)
    for path, kind in nested_types.items():
        rule = decision.rules.get((path, "json"))
        if rule is None or rule.action != "json" or rule.column is None:
            continue
        table, added = tables[rule.table], decision.update.get(rule.table)
        column = table.columns[rule.column]
        known = column.hints.get(NESTED_TYPE_HINT)
        if known is None and (added is None or rule.column not in added.columns):
            continue
        together = kind if known is None else merged_type(json.loads(known), kind)
        if together is None:
            raise UsageError(
                f"{rule.table}.{rule.column} holds {spark_type(column)}, "
                f"and now comes {spark_type_from_json(kind)}",
                hint="write to another table: what is kept as it is cannot change its type",
            )
        told = json.dumps(together, separators=(",", ":"))
        tables[rule.table] = table.with_columns([column.with_hints(**{NESTED_TYPE_HINT: told})])
    changed = [table for name, table in tables.items() if table is not decision.schema.tables[name]]
    return replace(decision, schema=decision.schema.with_tables(changed)) if changed else decision


def _can_hold(column: Column, wanted: Column) -> bool:
    if column.data_type != "decimal":
        return False
    (digits, fraction), (needs, scale) = (
        precision_and_scale(column),
        (wanted.precision or 0, wanted.scale or 0),
    )
    return fraction >= scale and digits - fraction >= needs - scale


@dataclass(slots=True)
class _ColumnReader:
    rows: int
    kept_as_json: Callable[[ValuePath, JsonForm], bool]
    keep_nested: bool
    evidence: list[Evidence] = field(default_factory=list)
    precisions: dict[ValuePath, tuple[int, int]] = field(default_factory=dict)
    nested_types: dict[ValuePath, Any] = field(default_factory=dict)

    def read_struct(self, columns: Any, path: ValuePath) -> Object:
        if not path:
            self._add_evidence(path, "object")
        names = field_names([column_key(one) for one in columns])
        return Object(
            fields={
                column_key(one): (names[column_key(one)], self._read_column(one, (*path, column_key(one))))
                for one in columns
            }
        )

    def _read_column(self, column: Mapping[str, Any], path: ValuePath) -> LayoutNode:
        meaning = column["metadata"].get("kind")
        if meaning:
            return self._add_leaf(path, "STRING", meaning)
        return self._read_type(column["type"], path)

    def _read_type(self, kind: Any, path: ValuePath) -> LayoutNode:
        if isinstance(kind, str):
            digits = _DECIMAL.fullmatch(kind)
            if digits is None:
                return self._add_leaf(path, *_SIMPLE_TYPES[kind], fits=_TYPE_FITS.get(kind, NO_TYPES))
            self.precisions[path] = int(digits[1]), int(digits[2])
            return self._add_leaf(path, kind.upper(), "decimal")
        if self.keep_nested and not (kind["type"] == "struct" and not kind["fields"]):
            self.nested_types[path] = _plain_type(kind)
            return self._add_leaf(path, _type_sql(kind), "json")
        match kind["type"]:
            case "struct" if self.kept_as_json(path, "object"):
                self._add_evidence(path, "object")
                return Leaf(storage_form="struct", forms=frozenset(), sql=_type_sql(kind))
            case "array" if self.kept_as_json(path, "list"):
                self._add_evidence(path, "list")
                return Leaf(storage_form="struct", forms=frozenset(), sql=_type_sql(kind))
            case "struct" if kind["fields"]:
                self._add_evidence(path, "object")
                return self.read_struct(kind["fields"], path)
            case "array":
                self._add_evidence(path, "list")
                return ListOf(element=self._read_type(kind["elementType"], (*path, EACH)))
            case _:
                return self._add_leaf(path, _type_sql(kind), "json")

    def _add_leaf(
        self, path: ValuePath, sql: str, kind: DataType, *, fits: frozenset[DataType] = NO_TYPES
    ) -> Leaf:
        self._add_evidence(path, kind, fits)
        return Leaf(storage_form="typed", forms=frozenset(), sql=sql)

    def _add_evidence(
        self, path: ValuePath, kind: ObservedType, fits: frozenset[DataType] = NO_TYPES
    ) -> None:
        # In the order of the columns: they are the first row's.
        first = (0, len(self.evidence))
        self.evidence.append(Evidence(path=path, type=kind, count=self.rows, first=first, fits=fits))


def _type_sql(kind: Any) -> str:
    """A type as Spark SQL writes it, itself and not what it will become."""
    return spark_type_from_json(_plain_type(kind))


def _plain_type(kind: Any) -> Any:
    """A type with the keys of users, and nothing else said of them."""
    if isinstance(kind, str):
        return kind
    match kind["type"]:
        case "struct":
            return struct_type(
                field_of(column_key(one), _plain_type(one["type"]), name=column_key(one))
                for one in kind["fields"]
            )
        case "array":
            return array_type(_plain_type(kind["elementType"]))
        case _:
            return map_type(_plain_type(kind["keyType"]), _plain_type(kind["valueType"]))
