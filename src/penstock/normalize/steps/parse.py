"""JSON texts become typed rows; what the dataset does not stand for keeps its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.normalize.stored import RAW, is_renamed, sql_type, type_document
from penstock.package.sql import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from penstock.normalize.refusals import RefusedRows
    from penstock.normalize.stored import Dataset

# Spark stops at 20 million characters in one text unless told otherwise.
_OPTIONS: Final = {"maxStringLen": str(2**31 - 1), "maxNestingDepth": "1000", "mode": "PERMISSIVE"}
_CORRUPT: Final = "_corrupt"


def parse_rows(
    texts: DataFrame,
    dataset: Dataset,
    odd: Callable[[str], str] | None = None,
    refused: Sequence[RefusedRows] = (),
) -> DataFrame:
    """Turn the column `text` into `row` and `raw`; `file`, `position` and others stay.

    `odd` makes the SQL that tells which rows keep their text in `raw`, out of the name of the column that the
    parser has filled where it failed. Rows that are `refused` keep it too.
    """
    corrupt = _CORRUPT
    while corrupt in dataset.root.fields or corrupt in {name for name, _ in dataset.root.fields.values()}:
        corrupt += "_"
    document = type_document(dataset.root)
    document["fields"].append({"name": corrupt, "type": "string", "nullable": True, "metadata": {}})
    parsed = F.from_json(
        "text", StructType.fromJson(document), {**_OPTIONS, "columnNameOfCorruptRecord": corrupt}
    )
    if is_renamed(dataset.root):
        # By position: a cast between structs does not look at names.
        parsed = parsed.cast(f"{sql_type(dataset.root)[:-1]}, {quoted(corrupt)}: STRING>")
    others = [name for name in texts.columns if name != "text"]
    fields = ", ".join(quoted("parsed", name) for name, _ in dataset.root.fields.values())
    row = f"struct({fields})" if fields else "CAST(NULL AS BOOLEAN)"
    named = texts.withColumn("parsed", parsed).selectExpr(
        *others, "text", f"{quoted('parsed', corrupt)} AS corrupt", f"{row} AS row"
    )
    is_odd = odd("corrupt") if odd else "corrupt IS NOT NULL"
    cases = [f"WHEN {is_odd} THEN {_raw('NULL', 'NULL', 'NULL')}"]
    cases += [f"WHEN {one.condition} THEN {raw_of(one)}" for one in refused]
    return named.selectExpr(*others, f"CASE {' '.join(cases)} END AS raw", "row")


def raw_of(refused: RefusedRows, *, text: str = "text") -> str:
    """SQL for what is kept of a refused row."""
    said = (literal(refused.reason), literal(refused.path), literal(refused.rule))
    return _raw(*said, text=text)


def _raw(reason: str, path: str, rule: str, *, text: str = "text") -> str:
    return f"CAST(struct({text}, file, position, {reason}, {path}, {rule}) AS {RAW})"
