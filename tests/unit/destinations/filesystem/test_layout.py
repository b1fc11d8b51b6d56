"""Names of plain files: placeholders, rules, and that names tell files apart."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.destinations.filesystem.layout import DEFAULT_LAYOUT, PLACEHOLDERS, FileLayout, FileNameParts
from penstock.errors import CantExtractTablePrefix, InvalidFilesystemLayout

AT = datetime(2024, 3, 5, 6, 7, 8, 9012, tzinfo=UTC)
SUNDAY = datetime(2023, 12, 31, 23, 59, 58, 500000, tzinfo=UTC)
WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789_", min_size=1, max_size=12)
# What dlt 1.31 makes of the two moments.
DATES = {
    "YYYY": ("2024", "2023"),
    "YY": ("24", "23"),
    "Y": ("2024", "2023"),
    "MMMM": ("march", "december"),
    "MMM": ("mar", "dec"),
    "MM": ("03", "12"),
    "M": ("3", "12"),
    "DD": ("05", "31"),
    "D": ("5", "31"),
    "HH": ("06", "23"),
    "H": ("6", "23"),
    "mm": ("07", "59"),
    "m": ("7", "59"),
    "ss": ("08", "58"),
    "s": ("8", "58"),
    "SSSS": ("0090", "5000"),
    "SSS": ("009", "500"),
    "SS": ("00", "50"),
    "S": ("0", "5"),
    "dddd": ("tuesday", "sunday"),
    "ddd": ("tue", "sun"),
    "dd": ("tu", "su"),
    "d": ("2", "0"),
    "Q": ("1", "4"),
    "curr_date": ("2024-03-05", "2023-12-31"),
    "timestamp": ("1709618828", "1704067198"),
    "timestamp_ms": ("1709618828009", "1704067198500"),
    "load_package_timestamp": ("1709618828", "1704067198"),
    "load_package_timestamp_ms": ("1709618828009", "1704067198500"),
}


def named(at: datetime = AT, **parts: Any) -> FileNameParts:
    given = {
        "schema_name": "shop",
        "table_name": "items",
        "load_id": "1.5",
        "file_id": "0a",
        "ext": "parquet",
    }
    return FileNameParts(created_at=at, **{**given, **parts})


def test_all_placeholders_are_known() -> None:
    assert set(PLACEHOLDERS) == {*DATES, "schema_name", "table_name", "load_id", "file_id", "ext"}


@pytest.mark.parametrize("name", DATES)
def test_dates_are_written_as_dlt_writes_them(name: str) -> None:
    layout = FileLayout(template=f"{{table_name}}/{{{name}}}/{{file_id}}.{{ext}}")

    match = tuple(layout.key(named(at)).split("/")[1] for at in (AT, SUNDAY))

    assert match == DATES[name]


def test_a_missing_extension_is_added() -> None:
    assert FileLayout().key(named()) == "items/1.5.0a.parquet"
    assert FileLayout(template="{table_name}/{file_id}").key(named(ext="csv.gz")) == "items/0a.csv.gz"


def test_custom_placeholders_are_values_or_functions() -> None:
    extra = {
        "team": "eu",
        "who": lambda schema, table, load, file, ext: f"{schema}-{table}-{load}-{file}-{ext}",
    }
    layout = FileLayout(template="{table_name}/{team}/{who}.{load_id}", extra=extra)

    assert layout.key(named()) == "items/eu/shop-items-1.5-0a-parquet.1.5.parquet"
    assert not layout.has_file_id


@pytest.mark.parametrize(
    ("template", "error", "message"),
    [
        ("{table_name}/{month}.{file_id}", InvalidFilesystemLayout, "'month'"),
        ("{table_name}/{curr_date}.{ext}", InvalidFilesystemLayout, "the same name"),
        ("{load_id}/{file_id}.{ext}", CantExtractTablePrefix, "no {table_name}"),
        ("{load_id}/{table_name}/{file_id}", CantExtractTablePrefix, "{load_id} is before"),
        ("{table_name}{file_id}.{ext}", CantExtractTablePrefix, "no text separates"),
    ],
)
def test_an_ambiguous_layout_is_refused(template: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("{", r"\{")):
        FileLayout(template=template)


def test_invalid_file_names_are_refused() -> None:
    layout = FileLayout(template="{table_name}/{odd}.{file_id}", extra={"odd": "a*b"})
    with pytest.raises(InvalidFilesystemLayout, match="character"):
        layout.key(named())
    wrong = FileLayout(template="{table_name}/{odd}.{file_id}", extra={"odd": lambda table: table})
    with pytest.raises(InvalidFilesystemLayout, match="does not take schema_name"):
        wrong.key(named())


@pytest.mark.parametrize(
    ("template", "prefix", "has_own_folder"),
    [
        (DEFAULT_LAYOUT, "items/", True),
        ("{schema_name}/{table_name}/{file_id}", "shop/items/", True),
        ("{schema_name}.{table_name}.{file_id}", "shop.items.", False),
    ],
)
def test_the_files_of_a_table_share_a_prefix(template: str, prefix: str, has_own_folder: bool) -> None:
    layout = FileLayout(template=template)

    assert (layout.prefix("shop", "items"), layout.has_own_folder) == (prefix, has_own_folder)


@given(
    template=st.sampled_from(
        [
            DEFAULT_LAYOUT,
            "{schema_name}/{table_name}/{YYYY}/{MM}/{load_id}.{file_id}.{ext}",
            "{table_name}.{load_id}.{file_id}",
            "{table_name}/{load_id}/{load_id}-{file_id}",
        ]
    ),
    table=WORDS,
    file_id=st.from_regex(r"[0-9a-f]{2,15}", fullmatch=True),
    load=st.tuples(st.integers(1, 10**10), st.integers(0, 999_999)),
    ext=st.sampled_from(["parquet", "jsonl.gz", "csv"]),
)
def test_the_load_id_is_parsed_from_a_file_name(
    template: str, table: str, file_id: str, load: tuple[int, int], ext: str
) -> None:
    layout, load_id = FileLayout(template=template), f"{load[0]}.{load[1]:06}"

    key = layout.key(named(table_name=table, file_id=file_id, load_id=load_id, ext=ext))

    match = layout.pattern("shop", table).fullmatch(key)
    assert match is not None
    assert (match["load_id"], match["ext"]) == (load_id, ext)
    assert key.startswith(layout.prefix("shop", table))
    assert layout.pattern("shop", f"{table}x").fullmatch(key) is None
