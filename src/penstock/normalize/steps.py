"""Transformations of row frames: parse texts or pack typed columns, and give each row an id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.normalize.nested_layout import (
    RAW_TYPE,
    has_renamed_fields,
    raw_key_sql_type,
    spark_json_type,
    sql_type,
)
from penstock.normalize.unexpected import RowCheck
from penstock.package.dlt_ids import row_hashes
from penstock.package.projection.explode import position_id
from penstock.package.sql import literal, quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from penstock.normalize.nested_layout import NestedLayout
    from penstock.normalize.refusals import RefusedRows
    from penstock.normalize.row_checks import RowChecks
    from penstock.normalize.row_hashes import RowHashSpec

# Spark's default limit of one text is 20 million characters.
_OPTIONS: Final = {
    "maxStringLen": str(2**31 - 1),
    "maxNestingDepth": "1000",
    "mode": "PERMISSIVE",
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
}
_CORRUPT_COLUMN: Final = "_corrupt"


def add_row_ids(rows: DataFrame, *, load_id: str) -> DataFrame:
    """Add the column `id`, a function of the load id, `file` and `position` only."""
    relative_path = f"substring_index(`file`, {literal(f'/packages/{load_id}/')}, -1)"
    return rows.selectExpr("*", f"{position_id(load_id, file=relative_path, position='`position`')} AS id")


def hash_row_ids(rows: DataFrame, hash_spec: RowHashSpec | None) -> DataFrame:
    """Replace `id` by dlt's hash of the JSON in the column `text`, if there is a hash spec.

    In Python on the executors: no function of Spark computes these ids.
    """
    if hash_spec is None:
        return rows
    return rows.mapInArrow(
        row_hashes(text_column="text", id_column="id", key_paths=hash_spec.keys), rows.schema
    )


def parse_rows(
    texts: DataFrame,
    layout: NestedLayout,
    make_check: Callable[[str], RowCheck] | None = None,
    refused: Sequence[RefusedRows] = (),
    row_checks: RowChecks | None = None,
) -> DataFrame:
    """Replace the column `text` by `row` and `raw`; keep all other columns.

    `make_check` returns the SQL that selects rows which keep their text in `raw`, given the column that
    Spark fills where parsing fails. Rows that are `refused` or fail one of `row_checks` keep it too.
    """
    corrupt = _CORRUPT_COLUMN
    while corrupt in layout.root.fields or corrupt in {name for name, _ in layout.root.fields.values()}:
        corrupt += "_"
    document = spark_json_type(layout.root)
    document["fields"].append({"name": corrupt, "type": "string", "nullable": True, "metadata": {}})
    parsed = F.from_json(
        "text", StructType.fromJson(document), {**_OPTIONS, "columnNameOfCorruptRecord": corrupt}
    )
    if has_renamed_fields(layout.root):
        # A cast between structs maps fields by position, not by name.
        parsed = parsed.cast(f"{sql_type(layout.root)[:-1]}, {quote_name(corrupt)}: STRING>")
    other_columns = [name for name in texts.columns if name != "text"]
    # The parsed struct, with its corrupt field, is passed on; only the last select builds `row` from it.
    rows = texts.withColumn("row", parsed)
    corrupt_column = quote_name("row", corrupt)
    check = make_check(corrupt_column) if make_check else RowCheck(unexpected=f"{corrupt_column} IS NOT NULL")
    if check.measures:
        rows = rows.selectExpr("*", *check.measures)
    if row_checks is not None:
        rows = row_checks.add_to(rows)
    cases = [f"WHEN {check.unexpected} THEN {_raw_struct('NULL', 'NULL', 'NULL')}"]
    refused = [*refused, *(row_checks.refusals if row_checks else ())]
    cases += [f"WHEN {refusal.condition} THEN {_refused_raw(refusal)}" for refusal in refused]
    fields = ", ".join(quote_name("row", name) for name, _ in layout.root.fields.values())
    row = f"struct({fields})" if fields else "CAST(NULL AS BOOLEAN)"
    return rows.selectExpr(*other_columns, f"CASE {' '.join(cases)} END AS raw", f"{row} AS row")


def pack_rows(
    files: DataFrame,
    layout: NestedLayout,
    columns: Mapping[str, Any],
    refused: Sequence[RefusedRows] = (),
    row_checks: RowChecks | None = None,
) -> DataFrame:
    """Put the columns of typed files into the struct `row`, with `file`, `position` and `raw` beside it.

    Fields and columns match by position: the names in the files are plain identifiers, not the user's. Rows
    that are `refused` or fail one of `row_checks` have their JSON in `raw`.
    """
    if layout.root.fields:
        row = F.struct(*(F.col(column["name"]) for column in columns["fields"])).cast(sql_type(layout.root))
    else:
        row = F.lit(None).cast("boolean")
    rows = files.select(
        row.alias("row"),
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.row_index").alias("position"),
    )
    if row_checks is not None:
        rows, refused = row_checks.add_to(rows), [*refused, *row_checks.refusals]
    if not refused:
        return rows.withColumn("raw", F.lit(None).cast(RAW_TYPE))
    json = f"to_json(CAST(row AS {raw_key_sql_type(layout.root)}))" if layout.root.fields else "'{}'"
    cases = (f"WHEN {refusal.condition} THEN {_refused_raw(refusal, text=json)}" for refusal in refused)
    raw = F.expr(f"CASE {' '.join(cases)} END").alias("raw")
    return rows.select("row", "file", "position", raw)


def _refused_raw(refused: RefusedRows, *, text: str = "text") -> str:
    return _raw_struct(literal(refused.reason), literal(refused.path), literal(refused.rule), text=text)


def _raw_struct(reason: str, path: str, rule: str, *, text: str = "text") -> str:
    return f"CAST(struct({text}, file, position, {reason}, {path}, {rule}) AS {RAW_TYPE})"
