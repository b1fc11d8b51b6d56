"""Options for CSV files, by their own names or those of pandas or Spark."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from penstock.errors import UsageError
from penstock.schema.frozen_map import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Mapping

# Names of pandas, which users of dlt know, with the names here.
_PANDAS_NAMES: Final = {
    "sep": "delimiter",
    "quotechar": "quote",
    "escapechar": "escape",
    "names": "columns",
    "na_values": "nullValue",
    "comment": "comment",
}
# A text that no file contains: an empty field is null, but an empty text in quotes is not.
_IMPOSSIBLE_NULL: Final = "\ue000null\ue000"
_OWN_OPTIONS: Final = frozenset(
    {"header", "delimiter", "quote", "escape", "encoding", "multi_line", "infer", "columns"}
)
_SPARK_OPTIONS: Final = frozenset({
    "nullValue",
    "emptyValue",
    "nanValue",
    "positiveInf",
    "negativeInf",
    "comment",
    "dateFormat",
    "timestampFormat",
    "timestampNTZFormat",
    "ignoreLeadingWhiteSpace",
    "ignoreTrailingWhiteSpace",
    "locale",
    "maxCharsPerColumn",
    "maxColumns",
    "unescapedQuoteHandling",
    "preferDate",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvOptions:
    """The format of CSV files.

    Values are read as text, so `007` is unchanged. With `infer` Spark first reads all values to detect
    numbers, dates and timestamps. Quoted values may contain line breaks, unless `multi_line` is off: then
    several tasks read one large file.
    """

    header: bool = True
    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    encoding: str = "UTF-8"
    multi_line: bool = True
    infer: bool = False
    columns: tuple[str, ...] = ()
    """The names of columns, for files without a header or to replace it."""
    extra_options: Mapping[str, str] = field(default=FrozenMap[str]())
    """Other options of Spark's reader."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Create from options with the names of this class, of pandas or of Spark.

        >>> CsvOptions.of({"sep": ";", "header": None}).delimiter
        ';'
        """
        own: dict[str, Any] = {}
        extra: dict[str, str] = {}
        for key, value in options.items():
            if key == "na_values" and value is None:
                continue  # the default of pandas
            _check_pandas_value(key, value)
            name = _PANDAS_NAMES.get(key, key)
            if name in _OWN_OPTIONS:
                own[name] = value
            elif name in _SPARK_OPTIONS:
                extra[name] = str(value).lower() if isinstance(value, bool) else str(value)
            else:
                raise UsageError(
                    f"{key!r} is not an option for CSV files",
                    hint="use one of "
                    + ", ".join(sorted(_OWN_OPTIONS | _SPARK_OPTIONS | set(_PANDAS_NAMES))),
                )
        return cls(**_with_pandas_defaults(own), extra_options=FrozenMap(extra))

    @property
    def is_utf8(self) -> bool:
        """Whether the encoding is UTF-8, under any of its names."""
        return codecs.lookup(self.encoding).name == "utf-8"

    def group_header(self, header: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return the key of files that are read together: the header, or the field count without a header."""
        if not header:
            return None
        return self.columns or (header if self.header else ("",) * len(header))

    def reader_options(self) -> dict[str, str]:
        """Return the options for Spark's reader."""
        null = self.extra_options.get("nullValue", _IMPOSSIBLE_NULL)
        return {
            "header": str(self.header).lower(),
            "sep": self.delimiter,
            "quote": self.quote or "\0",
            "escape": self.escape or "\0",
            "encoding": self.encoding,
            "multiLine": str(self.multi_line).lower(),
            "mode": "PERMISSIVE",
            "enforceSchema": "true",
            "maxColumns": "100000",
            "maxCharsPerColumn": "-1",
            # Otherwise a query for some columns does not detect lines with a wrong number of fields.
            "columnPruning": "false",
            "nullValue": null,
            # An empty text is not a number: its row would be quarantined.
            **({"emptyValue": null} if self.infer else {}),
            **self.extra_options,
        }


def _with_pandas_defaults(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options completed by the defaults that pandas derives from other options."""
    if options.get("quote"):
        options.setdefault("escape", options["quote"])  # quotes within a text are doubled
    if options.get("header") == "infer":
        del options["header"]  # True, unless columns are named
    if options.get("columns"):
        options["columns"] = tuple(options["columns"])
        options.setdefault("header", False)
    if "header" in options:
        options["header"] = options["header"] is not None and options["header"] is not False
    return options


def _check_pandas_value(key: str, value: Any) -> None:
    """Raise for values that pandas accepts and Spark does not."""
    # By type, because True == 1, which is the second line.
    is_first_line = type(value) is int and value == 0
    if key == "header" and not (value in (None, "infer") or isinstance(value, bool) or is_first_line):
        raise UsageError(
            f"header={value!r} is not supported for CSV files",
            hint="pass True or 0 if the first line is a header, False or None if it is a row",
        )
    if key == "na_values" and not isinstance(value, str):
        raise UsageError(
            f"na_values={value!r} is not supported for CSV files",
            hint="pass the one text that means null, as in na_values='NA'",
        )
