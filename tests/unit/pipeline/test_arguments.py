"""Hints that the destination does not support are refused before anything is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.destinations.warehouse import warehouse

import penstock
from penstock.errors import LoadClientUnsupportedFileFormats, LoadClientUnsupportedWriteDisposition

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def unread() -> Iterator[int]:
    yield pytest.fail("the source was read")


def run(capabilities: dict[str, Any], **arguments: Any) -> None:
    pipeline = penstock.pipeline("shop", destination=warehouse(**capabilities))
    pipeline.run(penstock.resource(unread, name="items"), **arguments)


def test_a_disposition_that_the_destination_lacks_is_refused() -> None:
    with pytest.raises(LoadClientUnsupportedWriteDisposition, match="warehouse does not support 'replace'"):
        run({"supported_write_dispositions": ("append",)}, write_disposition="replace")


def test_a_table_format_that_the_destination_lacks_is_refused() -> None:
    with pytest.raises(LoadClientUnsupportedWriteDisposition, match="warehouse does not support 'hive'"):
        run({"supported_table_formats": ("iceberg",)}, table_format="hive")


def test_a_file_format_that_the_destination_cannot_load_is_refused() -> None:
    files = {"preferred_loader_file_format": "parquet", "supported_loader_file_formats": ("parquet", "csv")}

    with pytest.raises(LoadClientUnsupportedFileFormats, match=r"'jsonl' files \(table items\)") as raised:
        run(files, loader_file_format="jsonl")

    assert raised.value.hint == "use one of: parquet, csv"


@pytest.mark.parametrize("name", ["delta", "iceberg", "filesystem"])
@pytest.mark.parametrize("by_setting", [True, False], ids=["setting", "argument"])
@pytest.mark.parametrize("call", ["run", "extract"])
def test_an_unknown_replace_strategy_is_refused_with_the_known_ones(
    name: str, by_setting: bool, call: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options = {} if by_setting else {"replace_strategy": "nonsense"}
    if by_setting:
        monkeypatch.setenv(f"DESTINATION__{name.upper()}__REPLACE_STRATEGY", "nonsense")
    destination = getattr(penstock.destinations, name)(str(tmp_path / "lake"), **options)
    pipeline = penstock.pipeline("shop", tmp_path / "work", destination=destination)

    with pytest.raises(
        LoadClientUnsupportedWriteDisposition, match=f"{name} does not support 'nonsense'"
    ) as raised:
        getattr(pipeline, call)(unread, table_name="items")

    assert raised.value.hint.startswith("use one of: classic, staging, ")


@pytest.mark.parametrize("name", ["delta", "iceberg"])
@pytest.mark.parametrize("file_format", ["jsonl", "csv", "insert_values"])
def test_table_formats_have_parquet_files_only(name: str, file_format: Any) -> None:
    pipeline = penstock.pipeline("shop", destination=name)
    plain = penstock.pipeline("plain", destination="filesystem")

    with pytest.raises(LoadClientUnsupportedFileFormats, match=file_format):
        pipeline.run(unread, table_name="items", loader_file_format=file_format)
    with pytest.raises(LoadClientUnsupportedFileFormats, match=file_format):
        plain.run(unread, table_name="items", loader_file_format=file_format, table_format="delta")


def test_the_default_file_format_of_normalize_is_checked_too() -> None:
    pipeline = penstock.pipeline("shop", destination="delta")

    with pytest.raises(LoadClientUnsupportedFileFormats, match="csv"):
        pipeline.normalize(loader_file_format="csv")
