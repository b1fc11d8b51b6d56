"""Typed files: what is known of their rows comes from the columns that were written down, by no job."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UsageError
from penstock.interfaces.columns import array, joined, key_of, mapping, struct
from penstock.interfaces.columns import field as field_of
from penstock.normalize.stored import Dataset, Leaf, ListOf, Node, Object, field_names
from penstock.schema import Column
from penstock.schema.evidence import Evidence
from penstock.schema.look import NOTHING_FITS
from penstock.schema.path import EACH
from penstock.schema.sparktypes import NESTED_TYPE, decimal_digits, nested_type, spark_type
from penstock.schema.types import DataType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.normalize.learn import Form
    from penstock.schema import NamingConvention
    from penstock.schema.decision import Decision
    from penstock.schema.look import SeenType
    from penstock.schema.path import Path

_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_PLAIN: Final[Mapping[str, tuple[str, DataType]]] = {
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
_SHORT: Final = frozenset[DataType](("double", "decimal", "wei"))
_FITS: Final[Mapping[str, frozenset[DataType]]] = {
    **dict.fromkeys(("byte", "short", "integer"), _SHORT),
    "long": frozenset[DataType](("decimal", "wei")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedFiles:
    """What typed files hold, in the terms in which rows of JSON are told."""

    dataset: Dataset
    evidence: tuple[Evidence, ...]
    digits: Mapping[Path, tuple[int, int]]
    """Digits and scale of decimals."""
    kept: Mapping[Path, Any]
    """Structs, lists and maps that are kept as they are, with their types."""


def typed_files(
    columns: Mapping[str, Any],
    *,
    rows: int,
    is_whole: Callable[[Path, Form], bool] | None = None,
    keep: bool = False,
) -> TypedFiles:
    """Read the columns of typed files.

    Structs are objects and arrays are lists, as in rows of Python; a map has no fixed keys and is one value.
    With `keep` all three are values of the column that they stand in.
    """
    reader = _Reader(rows, is_whole or (lambda *_: False), keep)
    root = reader.object(columns["fields"], ())
    return TypedFiles(
        dataset=Dataset(root), evidence=tuple(reader.evidence), digits=reader.digits, kept=reader.kept
    )


def with_digits(
    decision: Decision, digits: Mapping[Path, tuple[int, int]], naming: NamingConvention
) -> Decision:
    """Give new columns for decimals as many digits as the files have.

    Where a column is there already and has fewer, a variant takes the values: none is rounded.
    """
    tables, rules = dict(decision.schema.tables), dict(decision.rules)
    for path, (precision, scale) in digits.items():
        rule = rules.get((path, "decimal"))
        if rule is None or rule.action != "keep" or rule.column is None:
            continue
        table, wanted = tables[rule.table], Column(name="", precision=precision, scale=scale)
        added = decision.update.get(rule.table)
        if added is not None and rule.column in added.columns:
            column = replace(table.columns[rule.column], precision=precision, scale=scale)
        elif _holds(table.columns[rule.column], wanted):
            continue
        else:
            name = naming.shorten_fragments(rule.column, "v_decimal")
            known = table.columns.get(name)
            fresh = replace(wanted, name=name, data_type="decimal", nullable=True).with_hints(variant=True)
            column = known if known is not None and _holds(known, wanted) else fresh
            rules[path, "decimal"] = replace(rule, column=name)
        tables[rule.table] = table.with_columns([column])
    changed = [table for name, table in tables.items() if table is not decision.schema.tables[name]]
    return (
        replace(decision, schema=decision.schema.with_tables(changed), rules=rules) if changed else decision
    )


def with_kept(decision: Decision, kept: Mapping[Path, Any]) -> Decision:
    """Give new columns for structs, lists and maps that are kept their types, and known ones what is new.

    A column that has JSON texts goes on to have them.
    """
    tables = dict(decision.schema.tables)
    for path, kind in kept.items():
        rule = decision.rules.get((path, "json"))
        if rule is None or rule.action != "json" or rule.column is None:
            continue
        table, added = tables[rule.table], decision.update.get(rule.table)
        column = table.columns[rule.column]
        known = column.hints.get(NESTED_TYPE)
        if known is None and (added is None or rule.column not in added.columns):
            continue
        together = kind if known is None else joined(json.loads(known), kind)
        if together is None:
            raise UsageError(
                f"{rule.table}.{rule.column} holds {spark_type(column)}, and now comes {nested_type(kind)}",
                hint="write to another table: what is kept as it is cannot change its type",
            )
        told = json.dumps(together, separators=(",", ":"))
        tables[rule.table] = table.with_columns([column.with_hints(**{NESTED_TYPE: told})])
    changed = [table for name, table in tables.items() if table is not decision.schema.tables[name]]
    return replace(decision, schema=decision.schema.with_tables(changed)) if changed else decision


def _holds(column: Column, wanted: Column) -> bool:
    if column.data_type != "decimal":
        return False
    (digits, fraction), (needs, scale) = (
        decimal_digits(column),
        (wanted.precision or 0, wanted.scale or 0),
    )
    return fraction >= scale and digits - fraction >= needs - scale


@dataclass(slots=True)
class _Reader:
    rows: int
    is_whole: Callable[[Path, Form], bool]
    keep: bool
    evidence: list[Evidence] = field(default_factory=list)
    digits: dict[Path, tuple[int, int]] = field(default_factory=dict)
    kept: dict[Path, Any] = field(default_factory=dict)

    def object(self, columns: Any, path: Path) -> Object:
        if not path:
            self._see(path, "object")
        names = field_names([key_of(one) for one in columns])
        return Object(
            fields={
                key_of(one): (names[key_of(one)], self._node(one, (*path, key_of(one)))) for one in columns
            }
        )

    def _node(self, column: Mapping[str, Any], path: Path) -> Node:
        meaning = column["metadata"].get("kind")
        if meaning:
            return self._leaf(path, "STRING", meaning)
        return self._typed(column["type"], path)

    def _typed(self, kind: Any, path: Path) -> Node:
        if isinstance(kind, str):
            digits = _DECIMAL.fullmatch(kind)
            if digits is None:
                return self._leaf(path, *_PLAIN[kind], fits=_FITS.get(kind, NOTHING_FITS))
            self.digits[path] = int(digits[1]), int(digits[2])
            return self._leaf(path, kind.upper(), "decimal")
        if self.keep and not (kind["type"] == "struct" and not kind["fields"]):
            self.kept[path] = _bare(kind)
            return self._leaf(path, _sql(kind), "json")
        match kind["type"]:
            case "struct" if self.is_whole(path, "object"):
                self._see(path, "object")
                return Leaf(stored="struct", forms=frozenset(), sql=_sql(kind))
            case "array" if self.is_whole(path, "list"):
                self._see(path, "list")
                return Leaf(stored="struct", forms=frozenset(), sql=_sql(kind))
            case "struct" if kind["fields"]:
                self._see(path, "object")
                return self.object(kind["fields"], path)
            case "array":
                self._see(path, "list")
                return ListOf(element=self._typed(kind["elementType"], (*path, EACH)))
            case _:
                return self._leaf(path, _sql(kind), "json")

    def _leaf(
        self, path: Path, sql: str, kind: DataType, *, fits: frozenset[DataType] = NOTHING_FITS
    ) -> Leaf:
        self._see(path, kind, fits)
        return Leaf(stored="typed", forms=frozenset(), sql=sql)

    def _see(self, path: Path, kind: SeenType, fits: frozenset[DataType] = NOTHING_FITS) -> None:
        # In the order of the columns: they are the first row's.
        first = (0, len(self.evidence))
        self.evidence.append(Evidence(path=path, type=kind, count=self.rows, first=first, fits=fits))


def _sql(kind: Any) -> str:
    """A type as Spark SQL writes it, itself and not what it will become."""
    return nested_type(_bare(kind))


def _bare(kind: Any) -> Any:
    """A type with the keys of users, and nothing else said of them."""
    if isinstance(kind, str):
        return kind
    match kind["type"]:
        case "struct":
            return struct(
                field_of(key_of(one), _bare(one["type"]), name=key_of(one)) for one in kind["fields"]
            )
        case "array":
            return array(_bare(kind["elementType"]))
        case _:
            return mapping(_bare(kind["keyType"]), _bare(kind["valueType"]))
