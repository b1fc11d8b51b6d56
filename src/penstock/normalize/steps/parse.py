"""JSON texts become typed rows; what the dataset does not stand for keeps its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.normalize.nested_layout import RAW_TYPE, has_renamed_fields, spark_json_type, sql_type
from penstock.normalize.unexpected.row_check import RowCheck
from penstock.package.sql import literal, quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from penstock.normalize.nested_layout import NestedLayout
    from penstock.normalize.refusals import RefusedRows

# Spark stops at 20 million characters in one text unless told otherwise.
_OPTIONS: Final = {
    "maxStringLen": str(2**31 - 1),
    "maxNestingDepth": "1000",
    "mode": "PERMISSIVE",
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
}
_CORRUPT_COLUMN: Final = "_corrupt"


def parse_rows(
    texts: DataFrame,
    layout: NestedLayout,
    make_check: Callable[[str], RowCheck] | None = None,
    refused: Sequence[RefusedRows] = (),
) -> DataFrame:
    """Turn the column `text` into `row` and `raw`; `file`, `position` and others stay.

    `check` makes the SQL that tells which rows keep their text in `raw`, out of the name of the column that
    the parser has filled where it failed. Rows that are `refused` keep it too.
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
        # By position: a cast between structs does not look at names.
        parsed = parsed.cast(f"{sql_type(layout.root)[:-1]}, {quote_name(corrupt)}: STRING>")
    others = [name for name in texts.columns if name != "text"]
    # The parsed struct itself goes from step to step; only the last one makes a row of it.
    parsed_rows = texts.withColumn("row", parsed)
    checked = (
        make_check(quote_name("row", corrupt))
        if make_check
        else RowCheck(unexpected=f"{quote_name('row', corrupt)} IS NOT NULL")
    )
    if checked.measures:
        parsed_rows = parsed_rows.selectExpr("*", *checked.measures)
    cases = [f"WHEN {checked.unexpected} THEN {_raw_struct('NULL', 'NULL', 'NULL')}"]
    cases += [f"WHEN {one.condition} THEN {refused_raw(one)}" for one in refused]
    fields = ", ".join(quote_name("row", name) for name, _ in layout.root.fields.values())
    row = f"struct({fields})" if fields else "CAST(NULL AS BOOLEAN)"
    return parsed_rows.selectExpr(*others, f"CASE {' '.join(cases)} END AS raw", f"{row} AS row")


def refused_raw(refused: RefusedRows, *, text: str = "text") -> str:
    """SQL for what is kept of a refused row."""
    said = (literal(refused.reason), literal(refused.path), literal(refused.rule))
    return _raw_struct(*said, text=text)


def _raw_struct(reason: str, path: str, rule: str, *, text: str = "text") -> str:
    return f"CAST(struct({text}, file, position, {reason}, {path}, {rule}) AS {RAW_TYPE})"
