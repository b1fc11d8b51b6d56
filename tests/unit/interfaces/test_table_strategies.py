"""The file format and the strategies of a table, by the capabilities of a third party's destination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.destinations.warehouse import STAGED, warehouse

from penstock.errors import (
    LoadClientUnsupportedFileFormats,
    LoadClientUnsupportedWriteDisposition,
    UsageError,
)
from penstock.interfaces.table_strategies import loader_file_format, merge_strategy, replace_strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.interfaces import DestinationCapabilitiesContext


def able(**capabilities: Any) -> DestinationCapabilitiesContext:
    return warehouse(**capabilities).capabilities()


def table(**hints: Any) -> Any:
    return {"name": "items", **hints}


@pytest.mark.parametrize("preferred", ["reference", "parquet", "jsonl", "csv"])
def test_the_preferred_file_format_is_the_default(preferred: Any) -> None:
    assert loader_file_format(able(preferred_loader_file_format=preferred), table()) == preferred
    assert (
        loader_file_format(able(preferred_loader_file_format=preferred), table(file_format="preferred"))
        == preferred
    )


def test_a_table_may_name_another_format_that_the_destination_loads() -> None:
    files = able(
        preferred_loader_file_format="parquet",
        supported_loader_file_formats=("parquet", "jsonl", "insert_values"),
    )

    assert loader_file_format(files, table(file_format="jsonl")) == "jsonl"
    for refused in ("csv", "insert_values"):
        with pytest.raises(LoadClientUnsupportedFileFormats, match=refused) as raised:
            loader_file_format(files, table(file_format=refused))
        assert raised.value.hint == "use one of: parquet, jsonl"


def test_a_client_that_reads_job_files_is_told_only_formats_that_it_writes() -> None:
    writes = able(supported_loader_file_formats=("reference", "csv"))

    assert loader_file_format(writes, table(file_format="csv")) == "reference"
    with pytest.raises(LoadClientUnsupportedFileFormats, match="jsonl"):
        loader_file_format(writes, table(file_format="jsonl"))


def test_staged_files_have_a_format_of_their_own() -> None:
    both = able(
        **{**STAGED, "preferred_loader_file_format": "csv", "supported_loader_file_formats": ("csv",)}
    )
    unsure = able(**{**STAGED, "preferred_staging_file_format": None})

    assert loader_file_format(both, table()) == "csv"
    assert loader_file_format(both, table(), is_staged=True) == "parquet"
    assert loader_file_format(both, table(file_format="jsonl"), is_staged=True) == "jsonl"
    assert loader_file_format(unsure, table(), is_staged=True) == "parquet", "the first supported one"
    assert loader_file_format(able(), table(), is_staged=True) == "reference", "it takes no staging files"
    with pytest.raises(LoadClientUnsupportedFileFormats):
        loader_file_format(both, table(file_format="csv"), is_staged=True)


def test_a_destination_that_loads_from_staging_only_needs_one() -> None:
    with pytest.raises(UsageError, match="loads items from staging only") as raised:
        loader_file_format(able(**STAGED), table())

    assert "staging='filesystem'" in raised.value.hint


def test_the_first_merge_strategy_is_the_default() -> None:
    two = able(supported_merge_strategies=("upsert", "delete-insert"))

    assert merge_strategy(two, table(write_disposition="merge")) == "upsert"
    chosen = table(write_disposition="merge", **{"x-merge-strategy": "delete-insert"})
    assert merge_strategy(two, chosen) == "delete-insert"
    assert merge_strategy(two, table(write_disposition="append")) is None
    with pytest.raises(LoadClientUnsupportedWriteDisposition, match=r"'scd2' \(table items\)"):
        merge_strategy(two, table(write_disposition="merge", **{"x-merge-strategy": "scd2"}))


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        (None, "insert-from-staging"),
        ("staging", "insert-from-staging"),
        ("classic", "truncate-and-insert"),
        ("truncate-and-insert", "truncate-and-insert"),
    ],
)
def test_the_first_replace_strategy_is_the_default(requested: str | None, expected: str) -> None:
    two = able(supported_replace_strategies=("insert-from-staging", "truncate-and-insert"))

    assert replace_strategy(two, table(write_disposition="replace"), requested) == expected
    assert replace_strategy(two, table(write_disposition="append"), requested) is None


@pytest.mark.parametrize("requested", ["staging-optimized", "nonsense"])
def test_another_replace_strategy_is_refused(requested: str) -> None:
    with pytest.raises(LoadClientUnsupportedWriteDisposition, match=requested):
        replace_strategy(able(), table(write_disposition="replace"), requested)


def test_selectors_choose_by_the_table() -> None:
    def formats(preferred: str, supported: Sequence[str], *, table_schema: Any) -> tuple[str, Sequence[str]]:
        return ("jsonl", ("jsonl",)) if table_schema["name"] == "logs" else (preferred, supported)

    def strategies(supported: Sequence[str], *, table_schema: Any) -> Sequence[str]:
        return supported[1:] if table_schema["name"] == "logs" else supported

    choosing = able(
        preferred_loader_file_format="parquet",
        supported_loader_file_formats=("parquet", "jsonl"),
        loader_file_format_selector=formats,
        supported_merge_strategies=("upsert", "delete-insert"),
        merge_strategies_selector=strategies,
        supported_replace_strategies=("truncate-and-insert", "insert-from-staging"),
        replace_strategies_selector=strategies,
    )

    def choices(name: str) -> tuple[Any, ...]:
        return (
            loader_file_format(choosing, {"name": name}),
            merge_strategy(choosing, {"name": name, "write_disposition": "merge"}),
            replace_strategy(choosing, {"name": name, "write_disposition": "replace"}),
        )

    assert choices("items") == ("parquet", "upsert", "truncate-and-insert")
    assert choices("logs") == ("jsonl", "delete-insert", "insert-from-staging")
