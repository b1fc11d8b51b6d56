"""How files are to be read: what users say, in dlt's words or in Spark's."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from penstock.errors import UsageError
from penstock.schema.frozen_map import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Mapping

# What pandas calls it, as users of dlt do, and what it is called here.
_PANDAS_NAMES: Final = {
    "sep": "delimiter",
    "quotechar": "quote",
    "escapechar": "escape",
    "names": "columns",
    "na_values": "nullValue",
    "comment": "comment",
}
# No text of a file. Nothing between two delimiters is null, and so is not an empty text in quotes.
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
    """How CSV files are written.

    Values are texts, so nothing is lost of them: `007` stays what it is. With `infer` Spark looks at all of
    them first, for numbers, dates and moments. Lines may end within quotes, unless `multi_line` is off: then
    one large file is read by several tasks.
    """

    header: bool = True
    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    encoding: str = "UTF-8"
    multi_line: bool = True
    infer: bool = False
    columns: tuple[str, ...] = ()
    """The names of columns, where files have no header, or another one is wanted."""
    extra_options: Mapping[str, str] = field(default=FrozenMap[str]())
    """What Spark is told besides, in its own words."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Read what a user says, in the words of this class, of pandas, or of Spark.

        >>> CsvOptions.of({"sep": ";", "header": None}).delimiter
        ';'
        """
        own: dict[str, Any] = {}
        more: dict[str, str] = {}
        for key, value in options.items():
            if key == "na_values" and value is None:
                continue  # as pandas has it where nobody says it
            _check_pandas_value(key, value)
            name = _PANDAS_NAMES.get(key, key)
            if name in _OWN_OPTIONS:
                own[name] = value
            elif name in _SPARK_OPTIONS:
                more[name] = str(value).lower() if isinstance(value, bool) else str(value)
            else:
                raise UsageError(
                    f"CSV files are not read with {key!r}",
                    hint="use one of "
                    + ", ".join(sorted(_OWN_OPTIONS | _SPARK_OPTIONS | set(_PANDAS_NAMES))),
                )
        return cls(**_with_pandas_defaults(own), extra_options=FrozenMap(more))

    @property
    def is_utf8(self) -> bool:
        """Whether files are to be UTF-8, under one of its names."""
        return codecs.lookup(self.encoding).name == "utf-8"

    def group_header(self, header: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """What files are read together by: their header, or as many fields where that is a row."""
        if not header:
            return None
        return self.columns or (header if self.header else ("",) * len(header))

    def reader_options(self) -> dict[str, str]:
        """What Spark's reader is told."""
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
            # Else a query for some columns does not see that a line has too few fields, or too many.
            "columnPruning": "false",
            "nullValue": null,
            # A number cannot be an empty text: its row would be put aside.
            **({"emptyValue": null} if self.infer else {}),
            **self.extra_options,
        }


def _with_pandas_defaults(options: dict[str, Any]) -> dict[str, Any]:
    """Options with what one of them says of another."""
    if options.get("quote"):
        options.setdefault("escape", options["quote"])  # a quote within a text is doubled
    if options.get("header") == "infer":
        del options["header"]  # there is one, unless names are given
    if options.get("columns"):
        options["columns"] = tuple(options["columns"])
        options.setdefault("header", False)
    if "header" in options:
        options["header"] = options["header"] is not None and options["header"] is not False
    return options


def _check_pandas_value(key: str, value: Any) -> None:
    """Refuse what pandas takes and Spark does not."""
    # A number is told from True by its type: 1 is the second line.
    is_first_line = type(value) is int and value == 0
    if key == "header" and not (value in (None, "infer") or isinstance(value, bool) or is_first_line):
        raise UsageError(
            f"CSV files are not read with header={value!r}",
            hint="say True or 0 if their first line is a header, False or None if it is a row",
        )
    if key == "na_values" and not isinstance(value, str):
        raise UsageError(
            f"CSV files are not read with na_values={value!r}",
            hint="say the one text that means null, as in na_values='NA'",
        )
