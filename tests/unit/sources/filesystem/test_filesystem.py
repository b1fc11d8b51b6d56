"""Globs, windows, listings, headers and groups of files, without Spark."""

from __future__ import annotations

import bz2
import os
import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.extract.extraction import extract_data

import penstock
from penstock.errors import FileNotReadable, UsageError
from penstock.extract.cursor.boundary_files import BoundaryFiles, referenced_files
from penstock.extract.cursor.cursors import Cursors
from penstock.interfaces.run_context import item_digest
from penstock.package import FileStorage, Packages
from penstock.sources.filesystem import files, filesystem, read_csv
from penstock.sources.filesystem.csv_options import CsvOptions
from penstock.sources.filesystem.day_window import DateRange, DayWindow, folder_dates, whole_days
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.headers import csv_headers
from penstock.sources.filesystem.items import ListedFile
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.location import FolderLocation
from penstock.sources.filesystem.plan import (
    batches,
    check_names,
    column_names,
    group_by_columns,
    group_by_header,
    pattern_above,
    resolve_format,
)

if TYPE_CHECKING:
    from pathlib import Path

NAMES = st.sampled_from(["a", "ab", "b.csv", "c.json", "2026", "11"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PARTS = st.sampled_from(["*", "**", "a*", "?b", "[ab]*", "[!a].csv", "*.csv", "2026"])
GLOBS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)


@given(GLOBS, PATHS)
def test_every_parent_folder_of_a_match_can_contain_a_match(text: str, path: str) -> None:
    glob = Glob(text)
    folders = path.split("/")[:-1]

    if glob.matches(path):
        assert all(glob.can_match_below("/".join(folders[: end + 1])) for end in range(len(folders)))
        assert path.startswith(glob.fixed_prefix)


@pytest.mark.parametrize(
    "text", ["*", "**", "**/*", "*/*.csv", "**/*.csv", "2026/**/*.csv", "2026/1?/[!x]*", "a.csv"]
)
def test_a_listing_equals_a_glob_of_pathlib(tmp_path: Path, text: str) -> None:
    for name in ("a.csv", "x.json", "2026/b.csv", "2026/11/c.csv", "2026/11/x.csv", "2026/11/17/d.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    expected = {
        str(actual.relative_to(tmp_path))
        # Before Python 3.13 `**` at the end means folders only.
        for actual in tmp_path.glob(f"{text}/*" if text.endswith("**") else text)
        if actual.is_file()
    }

    assert {actual.path for actual in list_files(FolderLocation.of(str(tmp_path)), Glob(text))} == expected


def test_other_file_systems_are_listed_and_missing_folders_rejected(tmp_path: Path) -> None:
    system = fsspec.filesystem("memory")
    system.pipe_file("/raw/day/a.csv", b"id\n1\n")
    place = FolderLocation.of("memory://raw", system)

    assert [(entry.path, entry.size) for entry in list_files(place, Glob("**/*.csv"))] == [("day/a.csv", 5)]
    assert list(list_files(FolderLocation.of(str(tmp_path)), Glob("not/yet/*.csv"))) == []
    for nowhere in (
        FolderLocation.of(str(tmp_path / "nowhere")),
        FolderLocation.of("memory://nowhere", system),
    ):
        with pytest.raises(UsageError, match="does not exist"):
            list(list_files(nowhere, Glob("**")))


def test_folders_before_the_window_are_not_listed(tmp_path: Path) -> None:
    for day in range(1, 18):
        (tmp_path / f"year=2026/month=11/day={day:02d}").mkdir(parents=True)
        (tmp_path / f"year=2026/month=11/day={day:02d}/a.csv").write_text("id")
    (tmp_path / "year=2026/month=11/day=01").chmod(0)
    window = DayWindow(days=2, newest=date(2026, 11, 17))

    actual = sorted(
        entry.path for entry in list_files(FolderLocation.of(str(tmp_path)), Glob("**/*.csv"), window)
    )

    (tmp_path / "year=2026/month=11/day=01").chmod(0o755)
    assert actual == [f"year=2026/month=11/day={day}/a.csv" for day in (15, 16, 17)]


@given(st.dates(date(1975, 1, 1), date(2100, 12, 31)), st.integers(0, 400), st.integers(0, 500))
def test_every_folder_with_a_day_of_the_window_is_listed(newest: date, days: int, back: int) -> None:
    window = DayWindow(days=days, newest=newest)
    if back > days or newest.toordinal() <= back:
        return
    day = newest - timedelta(days=back)
    for layout in ("%Y", "%Y/%m", "%Y/%m/%d", "year=%Y/month=%m/day=%d", "dt=%Y-%m-%d", "%Y-%m", "%Y%m%d/x"):
        assert window.includes(day.strftime(layout).rjust(1)), layout


def test_folders_that_are_not_named_after_days_are_always_listed() -> None:
    for name in ("", "raw", "2026/13", "2026-02-30", "20261", "v2026", "1042", "2101/11/17", "10421117"):
        assert folder_dates(name) is None, name
    with pytest.raises(UsageError):
        whole_days(-1)


@pytest.mark.parametrize(
    ("folder", "first", "last"),
    [
        ("1042/2026/11/17", date(2026, 11, 17), date(2026, 11, 17)),
        ("2026/orders/11", date(2026, 1, 1), date(2026, 12, 31)),
        ("2026/11/orders/3", date(2026, 11, 1), date(2026, 11, 30)),
        ("2026/45/2026-11-17", date(2026, 11, 17), date(2026, 11, 17)),
        ("year=2026/day=3", date(2026, 1, 1), date(2026, 12, 31)),
    ],
)
def test_only_a_month_and_a_day_directly_after_a_year_are_parts_of_a_date(
    folder: str, first: date, last: date
) -> None:
    assert folder_dates(folder) == DateRange(first, last)


def test_hidden_files_are_counted_by_readers_too(tmp_path: Path) -> None:
    for name in ("_a.csv", ".b.csv"):
        (tmp_path / name).write_text("id")
    package = Packages.at(str(tmp_path / "packages")).package("17.5")

    done = extract_data(filesystem(str(tmp_path), files_per_page=1) | read_csv(), package)

    assert done.report.custom_metrics["read_csv"] == {"files_hidden": 2, "files_read": 0}


def test_options_of_s3fs_are_passed_to_spark_or_rejected(tmp_path: Path) -> None:
    options: dict[str, Any] = {"key": "k", "secret": "s", "endpoint_url": "http://localhost:1"}
    given_one = FolderLocation.of(
        "s3://raw/orders", fsspec.filesystem("s3", **options, skip_instance_cache=True)
    )
    by_kwargs = FolderLocation.of(
        "s3://raw/orders", kwargs=options, client_kwargs={"region_name": "eu-west-1"}
    )

    for place in (given_one, by_kwargs):
        conf = place.hadoop_conf
        assert conf["fs.s3a.bucket.raw.endpoint"] == "http://localhost:1"
        assert (conf["fs.s3a.bucket.raw.access.key"], conf["fs.s3a.bucket.raw.secret.key"]) == ("k", "s")
    assert by_kwargs.hadoop_conf["fs.s3a.bucket.raw.endpoint.region"] == "eu-west-1"
    for odd in ({"kwargs": {"anon": True}}, {"client_kwargs": {"verify": False}}):
        with pytest.raises(UsageError, match=r"anon|client_kwargs\.verify"):
            _ = FolderLocation.of("s3://raw/orders", **odd).hadoop_conf
    assert FolderLocation.of(str(tmp_path), kwargs={"auto_mkdir": True}).hadoop_conf == {}


def test_files_are_rows_in_the_form_of_dlt(tmp_path: Path) -> None:
    (tmp_path / "a b.csv.gz").write_bytes(b"12345")
    os.utime(tmp_path / "a b.csv.gz", ns=(0, 1_794_895_200_123_456_789))

    (item,) = filesystem(str(tmp_path), extract_content=True)

    assert dict(item) == {
        "file_url": f"file://{tmp_path}/a%20b.csv.gz",
        "file_name": "a b.csv.gz",
        "relative_path": "a b.csv.gz",
        "mime_type": "text/csv",
        "encoding": "gzip",
        "modification_date": datetime(2026, 11, 17, 6, 0, 0, 123456, tzinfo=UTC),
        "size_in_bytes": 5,
        "file_content": b"12345",
    }
    with item.open(compression="disable") as stream:
        assert stream.read() == b"12345"


def test_pages_have_the_requested_size(tmp_path: Path) -> None:
    for number in range(7):
        (tmp_path / f"{number}.csv").touch()
    pages: list[int] = []
    listed = filesystem(str(tmp_path), files_per_page=3).add_step(lambda page: pages.append(len(page)))

    assert list(listed) == []
    assert pages == [3, 3, 1]


def test_headers_are_read_in_every_csv_format(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes('\ufeff"id;1";name\n1;2'.encode())
    (tmp_path / "b.csv").write_bytes("naïve;x\n".encode("latin-1"))
    (tmp_path / "long.csv").write_text(";".join(f"column_{entry}" for entry in range(9_000)) + "\n1")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "blank.csv").write_text("\n\n")
    place = FolderLocation.of(str(tmp_path))
    actual = [
        ListedFile(name, (tmp_path / name).stat().st_size, 0)
        for name in sorted(entry.name for entry in tmp_path.iterdir())
    ]

    heads = csv_headers(place, actual, CsvOptions.of({"sep": ";", "encoding": "latin-1"}))

    assert heads[1] == ("naïve", "x")
    assert heads[2:4] == [None, None] or heads[2] is None
    assert len(heads[4] or ()) == 9_000
    assert csv_headers(place, actual[:1], CsvOptions.of({"delimiter": ";"})) == [("id;1", "name")]


def test_comments_before_a_header_are_skipped(tmp_path: Path) -> None:
    content = "\ufeff# made by hand; or not\r\n\r\n#\r\nid;name\r\n1;2"
    (tmp_path / "a.csv").write_bytes(content.encode())
    (tmp_path / "b.csv.bz2").write_bytes(bz2.compress(content.encode()))
    (tmp_path / "c.csv").write_text("# " + "x" * 70_000 + "\nid;name\n")
    (tmp_path / "d.csv").write_text("# nothing else")
    place = FolderLocation.of(str(tmp_path))
    actual = sorted(list_files(place, Glob("*")), key=lambda entry: entry.path)

    heads = csv_headers(place, actual, CsvOptions.of({"sep": ";", "comment": "#"}))

    assert heads == [*[("id", "name")] * 3, None]
    with pytest.raises(UsageError, match="lineSep"):
        CsvOptions.of({"lineSep": "|"})


def test_files_without_a_header_are_read_together_by_the_number_of_fields() -> None:
    rows = [("1", "a"), ("2", "b"), ("3",), None]

    bare = [CsvOptions.of({"header": None}).group_header(row) for row in rows]
    named = [CsvOptions.of({"columns": ["id", "name"]}).group_header(row) for row in rows]

    assert [group.files for group in group_by_header("abcd", bare)] == [("a", "b"), ("c",)]
    assert [group.files for group in group_by_header("abcd", named)] == [("a", "b", "c")]
    assert CsvOptions().group_header(("1", "a")) == ("1", "a")


@given(st.integers(0, 2**64), st.integers(0, 2**70) | st.sampled_from([2**63 - 1, 2**63, 2**63 + 1]))
def test_a_pattern_matches_exactly_the_numbers_above_a_limit(limit: int, number: int) -> None:
    for edge in (limit, 2**63 - 1, 2**63):
        assert bool(re.fullmatch(pattern_above(edge), str(number))) is (number > edge)


@given(st.lists(st.sampled_from(["", "id", "id_2", "_c0", "_c1", "x"]), max_size=8))
def test_every_column_has_a_unique_name(header: list[str]) -> None:
    names = column_names(header)

    assert len(set(names)) == len(header)
    assert [new for new, old in zip(names, header, strict=True) if header.count(old) == 1 and old] == [
        entry for entry in header if header.count(entry) == 1 and entry
    ]


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.sampled_from(["int", "str"])), max_size=9))
def test_files_that_are_read_together_agree_on_the_types_of_columns(columns: list[dict[str, str]]) -> None:
    heads = [tuple(entry.items()) for entry in columns]

    groups = list(group_by_columns(range(len(heads)), heads))

    assert sorted(entry for group in groups for entry in group.files) == list(range(len(heads)))
    for group in groups:
        joined = dict(group.header)
        assert all(joined[name] == kind for entry in group.files for name, kind in heads[entry])


def test_unsupported_files_are_rejected_before_reading() -> None:
    for path in ("a.zip", "a.tar", "a.tar.gz", "b.CSV.GZ", "c.deflate", "d.csv.zst", "raw//e.csv", "/f.csv"):
        with pytest.raises(FileNotReadable):
            check_names([path], on_disk=False)
    check_names(["a.csv.gz", "B.CSV", "c.csv.bz2"], on_disk=False)
    check_names(["a.snappy"], on_disk=False, is_text=False)
    with pytest.raises(FileNotReadable):
        check_names(["raw:1/a:b.csv"], on_disk=True)
    check_names(["raw:1/a.csv"], on_disk=True)
    with pytest.raises(UsageError, match="format"):
        resolve_format(None, "**")
    with pytest.raises(UsageError, match="xml"):
        files("/raw", format="xml")
    assert list(batches(range(5), size=2)) == [[0, 1], [2, 3], [4]]


def test_options_with_names_of_pandas_are_accepted() -> None:
    actual = CsvOptions.of({"sep": "|", "quotechar": "'", "header": None, "names": ["a", "b"]})

    assert (actual.delimiter, actual.quote, actual.header, actual.columns) == ("|", "'", False, ("a", "b"))
    assert [CsvOptions.of({"header": options}).header for options in ("infer", 0, True, None, False)] == [
        *(True, True, True),
        *(False, False),
    ]


def test_read_files_are_stored_in_the_state_or_for_many_in_a_file(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path))
    state: dict[str, object] = {}

    def run(numbers: range) -> int:
        cursors = Cursors(state, source="shop", files=BoundaryFiles(store, load_id="17.5"))
        seen = cursors.seen_items("orders", "_files")
        new = [entry for entry in map(item_digest, numbers) if not seen.contains(entry)]
        for entry in new:
            seen.add(entry)
        cursors.write_state()
        return len(new)

    assert run(range(0)) == 0
    assert state == {}, "asking is no change"
    assert run(range(9_000)) == 9_000
    assert not referenced_files([state["sources"]])  # type: ignore[list-item]
    assert run(range(25_000)) == 16_000
    assert len(referenced_files([state["sources"]])) == 1  # type: ignore[list-item]
    assert len(repr(state)) < 1_000
    assert run(range(25_000)) == 0
    assert run(range(24_000, 25_050)) == 50
    assert run(range(25_050)) == 0, "what was not met in a run is known to the next"


def test_a_file_is_not_read_twice_in_one_run(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    listed = penstock.sources.incremental("modification_date")

    assert [item["file_name"] for item in filesystem(str(tmp_path), incremental=listed)] == ["a.csv"]
