"""Parquet, JSON lines and CSV: how each takes the columns of a table, and how they are read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from penstock.package.sql import quoted
from penstock.schema import spark_type
from penstock.schema.sparktypes import NESTED_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.schema import Column, Table

FileFormat = Literal["parquet", "jsonl", "csv"]
FORMATS: Final[tuple[FileFormat, ...]] = get_args(FileFormat)
_SOURCES: Final[Mapping[FileFormat, str]] = {"parquet": "parquet", "jsonl": "json", "csv": "csv"}
_MOMENTS: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
# Quotes are doubled, and blanks belong to their values: as others write and read such files.
_CSV: Final = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}
_STRICT: Final = {"mode": "FAILFAST"}
# Nothing between two commas is null, and so is not a text that is empty: that one is in quotes.
_CSV_NULL: Final = {"nullValue": "\ue000null\ue000", "multiLine": "true", "lineSep": "\n"}


@dataclass(frozen=True, slots=True)
class Form:
    """How a file is written; of CSV also which columns stand in it, for only their order tells them."""

    format: FileFormat
    columns: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Spark's word for it."""
        return _SOURCES[self.format]

    def write_options(self, *, is_compressed: bool) -> dict[str, str]:
        """Options of Spark's writer; Parquet has a compression of its own."""
        match self.format:
            case "parquet":
                return {}
            case "jsonl":
                return {"compression": "gzip" if is_compressed else "none", **_MOMENTS}
            case "csv":
                return {"compression": "gzip" if is_compressed else "none", **_MOMENTS, **_CSV}

    def read_options(self) -> dict[str, str]:
        """Options of Spark's reader: a value that is not what its column says is an error, not a null."""
        match self.format:
            case "parquet":
                return {}
            case "jsonl":
                return dict(_STRICT)
            case "csv":
                return {**_STRICT, **_CSV, **_CSV_NULL}

    def written(self, table: Table) -> list[str]:
        """The columns of a table as select expressions for the writer."""
        return [f"{self._to(one)} AS {quoted(one.name)}" for one in table.complete_columns()]

    def schema(self, columns: Iterable[Column]) -> str:
        """The columns as the reader finds them in the file."""
        known = {one.name: one for one in columns}
        names = self.columns or tuple(known)
        return ", ".join(f"{quoted(name)} {self._stored(known.get(name))}" for name in names)

    def has(self, column: Column) -> bool:
        """Whether files of this form may hold the column: CSV names its columns, other formats do not."""
        return self.format != "csv" or column.name in self.columns

    def _to(self, column: Column) -> str:
        name = quoted(column.name)
        match self.format:
            case "parquet":
                return name
            case "jsonl":
                is_decimal = column.data_type in {"decimal", "wei"}
                return f"CAST({name} AS STRING)" if is_decimal else name
            case "csv":
                if NESTED_TYPE in column.hints:
                    return f"to_json({name})"
                return f"base64({name})" if column.data_type == "binary" else name

    def _stored(self, column: Column | None) -> str:
        if column is None or (self.format == "csv" and _is_text_in_csv(column)):
            return "STRING"
        return spark_type(column)


def _is_text_in_csv(column: Column) -> bool:
    return column.data_type == "binary" or NESTED_TYPE in column.hints


def form_of(table: Table, asked: FileFormat) -> Form:
    """How the rows of a table are written."""
    names = tuple(one.name for one in table.complete_columns()) if asked == "csv" else ()
    return Form(asked, names)


def extension(asked: FileFormat, *, is_compressed: bool) -> str:
    """How the names of such files end.

    >>> extension("parquet", is_compressed=True), extension("jsonl", is_compressed=True)
    ('parquet', 'jsonl.gz')
    """
    return f"{asked}.gz" if is_compressed and asked != "parquet" else asked


def format_of(ext: str) -> FileFormat | None:
    """What stands in a file that ends so; None where penstock cannot read it.

    >>> format_of("csv.gz"), format_of("insert_values")
    ('csv', None)
    """
    word = ext.removesuffix(".gz")
    return next((one for one in FORMATS if one == word), None)
