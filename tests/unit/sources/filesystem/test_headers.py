"""Headers and columns that the driver reads, and options of CSV files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import FileNotReadable, UsageError
from penstock.sources.filesystem.csv_options import CsvOptions
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.headers import csv_header, csv_headers, parquet_columns
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.location import FolderLocation

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.sources.filesystem.items import ListedFile


def files_of(folder: Path) -> tuple[FolderLocation, list[ListedFile]]:
    place = FolderLocation.of(str(folder))
    return place, sorted(list_files(place, Glob("*")), key=lambda file: file.path)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (r'"a \",b",c', ('a ",b', "c")),
        (r'"a\\",c', ("a\\", "c")),
        ('"two\nlines \\",\\"",c', ('two\nlines ","', "c")),
        # Spark takes the rest as it is: what is no quote, and what stands in none.
        (r'"a\b\,c",d', (r"a\b\,c", "d")),
        ("C:\\,x\\y,z", ("C:\\", "x\\y", "z")),
    ],
)
def test_an_escape_character_only_works_between_quotes(text: str, fields: tuple[str, ...]) -> None:
    how: dict[str, Any] = {"delimiter": ",", "quote": '"', "escape": "\\"}

    assert csv_header(f"{text}\r\n1,2", **how, is_complete=True) == fields
    assert csv_header(text, **how, is_complete=False) is None


def test_a_header_cut_after_an_escaped_quote_is_incomplete() -> None:
    how: dict[str, Any] = {"delimiter": ",", "quote": '"', "escape": "\\", "is_complete": False}

    assert csv_header('1,"a \\",b\nc', **how) is None
    assert csv_header('1,"a \\",b\nc",d\n2', **how) == ("1", 'a ",b\nc', "d")


def test_escapes_are_respected_in_files_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('1,"say \\"yes, no\\""\n')

    heads = csv_headers(*files_of(tmp_path), CsvOptions.of({"header": None, "escapechar": "\\"}))

    assert heads == [("1", 'say "yes, no"')]


def test_an_invalid_first_line_is_reported_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"id,{'x' * 200_000}\n1,2\n")

    with pytest.raises(FileNotReadable, match=r"a\.csv.*field limit"):
        csv_headers(*files_of(tmp_path), CsvOptions())


def test_parquet_nanoseconds_are_distinguished_from_int96(tmp_path: Path) -> None:
    at = pa.array([1_794_895_200_123_456_789], pa.timestamp("ns"))
    pq.write_table(pa.table({"a.at": at, "utc": at.cast(pa.timestamp("ns", "UTC"))}), tmp_path / "a.parquet")
    old = pa.table({"a.at": at, "in": pa.array([[None]], pa.list_(pa.timestamp("ns")))})
    pq.write_table(old, tmp_path / "b.parquet", use_deprecated_int96_timestamps=True)
    place, listed = files_of(tmp_path)

    new_ones, old_ones = map(dict, filter(None, parquet_columns(place, listed)))

    assert new_ones == {"a.at": "timestamp[ns]", "utc": "timestamp[ns, tz=UTC]"}
    assert old_ones == {"a.at": "int96 timestamp[ns]", "in": "int96 list<element: timestamp[ns]>"}


def test_columns_with_dots_in_their_names_are_distinguished(tmp_path: Path) -> None:
    lists, pairs = pa.list_(pa.struct([("d", pa.int8())])), pa.map_(pa.int8(), pa.string())
    kind = pa.struct([("b", pa.int64()), ("c", lists), ("m", pairs)])
    plain = pa.array([{"b": 1, "c": [{"d": 1}], "m": [(1, "x")]}], kind)
    moments = pa.array([0], pa.timestamp("ns"))
    table = pa.table({"a": plain, "a.b": moments, "last": pa.array([1])})
    pq.write_table(table, tmp_path / "a.parquet")

    (columns,) = parquet_columns(*files_of(tmp_path))

    assert columns is not None
    assert [name for name, _ in columns] == ["a", "a.b", "last"]
    assert dict(columns)["a.b"] == "timestamp[ns]"


def test_nested_nanoseconds_are_rejected_with_file_and_column(tmp_path: Path) -> None:
    inner = pa.array([{"at": 0}], pa.struct([("at", pa.timestamp("ns"))]))
    pq.write_table(pa.table({"id": [1], "told": inner}), tmp_path / "a.parquet")

    with pytest.raises(FileNotReadable, match=r"a\.parquet.*'told'.*coerce_timestamps='us'"):
        parquet_columns(*files_of(tmp_path))


def test_an_empty_text_is_only_null_when_types_are_inferred() -> None:
    plain, named = CsvOptions().reader_options(), CsvOptions.of({"na_values": "NA"}).reader_options()
    typed = CsvOptions.of({"infer": True}).reader_options()
    options = CsvOptions.of({"infer": True, "na_values": "NA", "emptyValue": "-"}).reader_options()

    assert plain["nullValue"], "Spark makes null of what equals it, and of an empty field by itself"
    assert "emptyValue" not in plain
    assert named["nullValue"] == "NA"
    assert typed["emptyValue"] == typed["nullValue"], "no number is an empty text"
    assert (options["nullValue"], options["emptyValue"]) == ("NA", "-")
    assert plain["columnPruning"] == "false"


def test_pandas_options_that_spark_does_not_support_are_rejected() -> None:
    for options in ({"header": 1}, {"header": 2}, {"header": 1.0}, {"header": [0, 1]}, {"header": "none"}):
        with pytest.raises(UsageError, match="header="):
            CsvOptions.of(options)
    assert CsvOptions.of({"na_values": None}) == CsvOptions()
    for values in (["NA", "-"], {"a": "NA"}, 0):
        with pytest.raises(UsageError, match="na_values="):
            CsvOptions.of({"na_values": values})


def test_a_quote_escapes_itself_and_names_replace_a_header() -> None:
    assert CsvOptions.of({"quotechar": "'"}).escape == "'"
    assert CsvOptions.of({"quotechar": "'", "escapechar": "\\"}).escape == "\\"
    assert CsvOptions.of({"names": ["a"], "header": "infer"}).header is False
    assert CsvOptions.of({"names": ["a"], "header": 0}).header is True
