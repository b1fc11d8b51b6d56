"""File formats of tables: how Parquet, JSON lines and CSV store the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from penstock.schema import spark_type
from penstock.schema.spark_sql import quote_name
from penstock.schema.spark_types import NESTED_TYPE_HINT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.schema import Column, Table

FileFormat = Literal["parquet", "jsonl", "csv"]
FORMATS: Final[tuple[FileFormat, ...]] = get_args(FileFormat)
_SPARK_FORMATS: Final[Mapping[FileFormat, str]] = {"parquet": "parquet", "jsonl": "json", "csv": "csv"}
_TIMESTAMP_OPTIONS: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
# Quotes are doubled and blanks are part of values, as in the files of other tools.
_CSV_OPTIONS: Final = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}
_STRICT_OPTIONS: Final = {"mode": "FAILFAST"}
# An unquoted empty field is null; an empty text is quoted.
_CSV_READ_OPTIONS: Final = {"nullValue": "\ue000null\ue000", "multiLine": "true", "lineSep": "\n"}


@dataclass(frozen=True, slots=True)
class FileCodec:
    """The format of a file; for CSV also its columns, in order."""

    format: FileFormat
    columns: tuple[str, ...] = ()

    @property
    def spark_format(self) -> str:
        """Spark's name of the format."""
        return _SPARK_FORMATS[self.format]

    def write_options(self, *, is_compressed: bool) -> dict[str, str]:
        """Return options of Spark's writer; Parquet has its own compression."""
        match self.format:
            case "parquet":
                return {}
            case "jsonl":
                return {"compression": "gzip" if is_compressed else "none", **_TIMESTAMP_OPTIONS}
            case "csv":
                return {
                    "compression": "gzip" if is_compressed else "none",
                    **_TIMESTAMP_OPTIONS,
                    **_CSV_OPTIONS,
                }

    def read_options(self) -> dict[str, str]:
        """Return options of Spark's reader: a value that does not parse is an error, not a null."""
        match self.format:
            case "parquet":
                return {}
            case "jsonl":
                return dict(_STRICT_OPTIONS)
            case "csv":
                return {**_STRICT_OPTIONS, **_CSV_OPTIONS, **_CSV_READ_OPTIONS}

    def write_expressions(self, table: Table) -> list[str]:
        """Return the columns of a table as select expressions for the writer."""
        return [
            f"{self._write_expression(column)} AS {quote_name(column.name)}"
            for column in table.complete_columns()
        ]

    def read_schema(self, columns: Iterable[Column]) -> str:
        """Return the columns of the file as Spark SQL DDL."""
        by_name = {column.name: column for column in columns}
        names = self.columns or tuple(by_name)
        return ", ".join(f"{quote_name(name)} {self._stored_type(by_name.get(name))}" for name in names)

    def has_column(self, column: Column) -> bool:
        """Return whether such a file may have a column: only CSV files list their columns."""
        return self.format != "csv" or column.name in self.columns

    def _write_expression(self, column: Column) -> str:
        name = quote_name(column.name)
        match self.format:
            case "parquet":
                return name
            case "jsonl":
                is_decimal = column.data_type in {"decimal", "wei"}
                return f"CAST({name} AS STRING)" if is_decimal else name
            case "csv":
                if NESTED_TYPE_HINT in column.hints:
                    return f"to_json({name})"
                return f"base64({name})" if column.data_type == "binary" else name

    def _stored_type(self, column: Column | None) -> str:
        if column is None or (self.format == "csv" and _is_text_in_csv(column)):
            return "STRING"
        return spark_type(column)


def _is_text_in_csv(column: Column) -> bool:
    return column.data_type == "binary" or NESTED_TYPE_HINT in column.hints


def codec_for(table: Table, file_format: FileFormat) -> FileCodec:
    """Return the codec for the rows of a table."""
    names = tuple(column.name for column in table.complete_columns()) if file_format == "csv" else ()
    return FileCodec(file_format, names)


def file_extension(file_format: FileFormat, *, is_compressed: bool) -> str:
    """Return the extension of such files.

    >>> file_extension("parquet", is_compressed=True), file_extension("jsonl", is_compressed=True)
    ('parquet', 'jsonl.gz')
    """
    return f"{file_format}.gz" if is_compressed and file_format != "parquet" else file_format


def format_from_extension(ext: str) -> FileFormat | None:
    """Return the format of files with an extension; None if penstock cannot read it.

    >>> format_from_extension("csv.gz"), format_from_extension("insert_values")
    ('csv', None)
    """
    name = ext.removesuffix(".gz")
    return next((file_format for file_format in FORMATS if file_format == name), None)
