"""DataFrames and Arrow tables, extracted as typed files: their columns are known without a look at rows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructType

from penstock.errors import UsageError
from penstock.interfaces.file_schema import (
    PLACEHOLDER_COLUMN,
    array_type,
    column_key,
    map_type,
    merged_type,
    original_type,
    struct_field,
    struct_type,
)
from penstock.normalize.nested_layout import LayoutNode, Leaf, ListOf, NestedLayout, Object, field_names
from penstock.normalize.passthrough import can_pass_through, file_columns
from penstock.normalize.plan import is_kept_as_json
from penstock.normalize.quarantine import write_quarantine
from penstock.normalize.refusals import excluded_rows
from penstock.normalize.row_checks import row_checks
from penstock.normalize.row_hashes import RowHashSpec, row_hash_spec, typed_hash_input
from penstock.normalize.steps import add_row_ids, hash_row_ids, pack_rows
from penstock.normalize.table_parts import (
    WrittenDataset,
    check_row_count,
    count_rejects,
    table_part,
    write_dataset,
)
from penstock.package.folder import count_rows, data_files, list_folders
from penstock.schema import Column, decide
from penstock.schema.evidence import Evidence
from penstock.schema.frozen_map import thaw
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
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame

    from penstock.normalize.profile import JsonForm
    from penstock.normalize.row_checks import RowChecks
    from penstock.normalize.table_inputs import TableInput
    from penstock.normalize.table_parts import PackageContext, TablePart
    from penstock.schema import NamingConvention, StoredSchema
    from penstock.schema.decision import Decision
    from penstock.schema.observation import ObservedType
    from penstock.schema.value_path import ValuePath

# Beyond that executors read footers sooner than the threads of the driver.
_MAX_COUNTED_FILES: Final = 256
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_SIMPLE_TYPES: Final[Mapping[str, tuple[str, DataType]]] = {
    "boolean": ("BOOLEAN", "bool"),
    **dict.fromkeys(("byte", "short", "integer", "long"), ("BIGINT", "bigint")),
    **dict.fromkeys(("float", "double"), ("DOUBLE", "double")),
    "string": ("STRING", "text"),
    "binary": ("BINARY", "binary"),
    "date": ("DATE", "date"),
    # A timestamp without a zone is taken as UTC, as everywhere.
    **dict.fromkeys(("timestamp", "timestamp_ntz"), ("TIMESTAMP", "timestamp")),
    "variant": ("VARIANT", "json"),
}


# Types that hold every value of such a column.
_SMALL_INTEGER_FITS: Final = frozenset[DataType](("double", "decimal", "wei"))
_TYPE_FITS: Final[Mapping[str, frozenset[DataType]]] = {
    **dict.fromkeys(("byte", "short", "integer"), _SMALL_INTEGER_FITS),
    "long": frozenset[DataType](("decimal", "wei")),
}


def normalize_frames(
    context: PackageContext, table_input: TableInput, table: str, schema: StoredSchema
) -> Iterator[TablePart]:
    """Plan the tables of typed files; write a nested dataset only if jobs cannot read the files."""
    columns = table_input.columns or {}
    decision, layout = _decide_columns(context, table_input, table, schema)
    checks = row_checks(context.checks_of(decision), decision, layout)
    shape = partial(_shape_frame, context, table_input, decision, layout, checks)
    if can_pass_through(table_input, layout, decision) and not (
        checks and _has_failing_rows(context, shape())
    ):
        rows = _count_rows(context, table_input, columns)
        dataset = WrittenDataset(
            folders=table_input.folders,
            layout=layout,
            rows=rows,
            passthrough_columns=columns,
            is_flat=table_input.is_flat,
        )
    else:
        dataset = write_dataset(context, shape(), layout, checks=checks.checks if checks else ())
    check_row_count(table_input, dataset)
    part = table_part(decision, dataset, schema, table)
    # The types of a frame's columns hold for all of its rows.
    part = replace(part, origins=tuple(replace(origin, position=None) for origin in part.origins))
    if dataset.passthrough_columns is not None:
        yield part
        return
    rejects = count_rejects(context, dataset, decision) if decision.refusals else ()
    yield replace(part, report=replace(part.report, rejects=(*part.report.rejects, *rejects)))
    yield from write_quarantine(context, [dataset], table_input, decision)


def _decide_columns(
    context: PackageContext, table_input: TableInput, table: str, schema: StoredSchema
) -> tuple[Decision, NestedLayout]:
    columns, rows = table_input.columns or {}, table_input.rows
    keep_nested = schema.tables[table].extras.get("x-nested") == "keep"
    files = typed_files(columns, rows=rows, keep_nested=keep_nested)
    decision = decide(schema, table, files.evidence, context.options).check()
    decision = with_decimal_precision(decision, files.precisions, context.naming)
    if context.options.type_limits.nested:
        decision = with_nested_types(decision, files.nested_types)
    files = typed_files(
        columns, rows=rows, kept_as_json=partial(is_kept_as_json, decision), keep_nested=keep_nested
    )
    return decision, files.layout


def _count_rows(context: PackageContext, table_input: TableInput, columns: Mapping[str, Any]) -> int:
    """Count the rows of the files by their footers; Spark reads those of many files."""
    store = context.package.store
    with context.stopwatch("count"):
        listed = list_folders(store, table_input.folders)
        names = [f"{folder}/{name}" for folder, sizes in listed.items() for name in data_files(sizes)]
        if len(names) <= _MAX_COUNTED_FILES:
            return count_rows(store, names)
        files = context.read_files(table_input, file_columns(columns))
        return int(files.agg(F.count(F.lit(1))).collect()[0][0])


def _has_failing_rows(context: PackageContext, frame: DataFrame) -> bool:
    """Return whether a row fails a check that quarantines it: else the rows need not be written again."""
    with context.stopwatch("check"):
        return not frame.where("raw.rule IS NOT NULL").isEmpty()


def _shape_frame(
    context: PackageContext,
    table_input: TableInput,
    decision: Decision,
    layout: NestedLayout,
    checks: RowChecks | None,
) -> DataFrame:
    columns = table_input.columns or {}
    file_type = StructType.fromJson(thaw(columns))
    if not file_type.fields:
        file_type = StructType().add(PLACEHOLDER_COLUMN, BooleanType())
    refused = excluded_rows(decision, layout, row_hash_spec(decision, context.naming))
    rows = pack_rows(context.read_files(table_input, file_type), layout, columns, refused, checks)
    rows = add_row_ids(rows, load_id=context.package.load_id)
    hash_input = typed_hash_input(decision, layout, context.naming)
    if hash_input is not None:
        rows = hash_row_ids(rows.withColumn("text", F.expr(hash_input)), RowHashSpec())
    return rows.select("id", "raw", "row")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedFiles:
    """The layout of typed files and the evidence of their columns, as for JSON rows."""

    layout: NestedLayout
    evidence: tuple[Evidence, ...]
    precisions: Mapping[ValuePath, tuple[int, int]]
    """Precision and scale of decimals."""
    nested_types: Mapping[ValuePath, Any]
    """Types of structs, lists and maps that are stored in their own type."""


def typed_files(
    columns: Mapping[str, Any],
    *,
    rows: int,
    kept_as_json: Callable[[ValuePath, JsonForm], bool] | None = None,
    keep_nested: bool = False,
) -> TypedFiles:
    """Return the layout and the evidence of columns.

    Structs are objects and arrays are lists, as in Python rows; a map has no fixed keys and is one value.
    If `keep_nested`, all three are values of their column.
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
    """Return the decision with new decimal columns as wide as those of the files.

    Values that an existing column would round go to a variant column.
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
            stored = table.columns.get(name)
            variant = replace(wanted, name=name, data_type="decimal", nullable=True).with_hints(variant=True)
            column = stored if stored is not None and _can_hold(stored, wanted) else variant
            rules[path, "decimal"] = replace(rule, column=name)
        tables[rule.table] = table.with_columns([column])
    changed = [table for name, table in tables.items() if table is not decision.schema.tables[name]]
    return (
        replace(decision, schema=decision.schema.with_tables(changed), rules=rules) if changed else decision
    )


def with_nested_types(decision: Decision, nested_types: Mapping[ValuePath, Any]) -> Decision:
    """Return the decision with the types of columns that keep nested values, merged with the stored types.

    A column that already holds JSON texts keeps its type.
    """
    tables = dict(decision.schema.tables)
    for path, nested_type in nested_types.items():
        rule = decision.rules.get((path, "json"))
        if rule is None or rule.action != "json" or rule.column is None:
            continue
        table, added = tables[rule.table], decision.update.get(rule.table)
        column = table.columns[rule.column]
        stored = column.hints.get(NESTED_TYPE_HINT)
        if stored is None and (added is None or rule.column not in added.columns):
            continue
        merged = nested_type if stored is None else merged_type(json.loads(stored), nested_type)
        if merged is None:
            raise UsageError(
                f"{rule.table}.{rule.column} has type {spark_type(column)}, "
                f"but the new values have type {spark_type_from_json(nested_type)}",
                hint="write to another table: a column that keeps nested values cannot change its type",
            )
        hint = json.dumps(merged, separators=(",", ":"))
        tables[rule.table] = table.with_columns([column.with_hints(**{NESTED_TYPE_HINT: hint})])
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
        keys = [column_key(column) for column in columns]
        names = field_names(keys)
        return Object(
            fields={
                key: (names[key], self._read_column(column, (*path, key)))
                for key, column in zip(keys, columns, strict=True)
            }
        )

    def _read_column(self, column: Mapping[str, Any], path: ValuePath) -> LayoutNode:
        logical_type = column["metadata"].get("kind")
        if logical_type:
            return self._add_leaf(path, "STRING", logical_type)
        return self._read_type(original_type(column), path)

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
        # The order of the columns is that of the first row.
        first = (0, len(self.evidence))
        self.evidence.append(Evidence(path=path, type=kind, count=self.rows, first=first, fits=fits))


def _type_sql(kind: Any) -> str:
    """Return a type as Spark SQL, with the user's keys."""
    return spark_type_from_json(_plain_type(kind))


def _plain_type(kind: Any) -> Any:
    """Return a type with the user's keys and without metadata."""
    if isinstance(kind, str):
        return kind
    match kind["type"]:
        case "struct":
            return struct_type(
                struct_field(column_key(field), _plain_type(field["type"]), name=column_key(field))
                for field in kind["fields"]
            )
        case "array":
            return array_type(_plain_type(kind["elementType"]))
        case _:
            return map_type(_plain_type(kind["keyType"]), _plain_type(kind["valueType"]))
