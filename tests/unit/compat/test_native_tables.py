"""Tables of libraries: which pipelines have them, and what is said to the others."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.unit.pipeline.stored_dataset import at_lake, store_load

import penstock
from penstock.common.libs.deltalake import get_delta_tables
from penstock.common.libs.pyiceberg import get_iceberg_tables
from penstock.config import AwsCredentials
from penstock.destinations.delta.native_tables import open_delta_table, read_options
from penstock.destinations.iceberg.native_tables import open_iceberg_table
from penstock.errors import (
    MissingDependencyException,
    MissingExtra,
    SchemaNotFoundError,
    TableNotFound,
    UsageError,
)
from penstock.package import FileStorage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from penstock.interfaces import Destination


@pytest.fixture
def make(tmp_path: Path) -> Callable[[Destination], penstock.Pipeline]:
    def pipeline(destination: Destination) -> penstock.Pipeline:
        return penstock.pipeline("shop", destination=destination, pipelines_dir=tmp_path / "pipelines")

    return pipeline


def test_a_pipeline_that_has_loaded_nothing_has_no_tables(make: Any, tmp_path: Path) -> None:
    lake = make(penstock.destinations.delta(str(tmp_path / "lake")))

    assert get_delta_tables(lake) == {}
    with pytest.raises(TableNotFound, match="'orders' does not exist") as unknown:
        get_delta_tables(lake, "orders")
    assert unknown.value.hint == "known: none"


def test_the_tables_of_the_last_load_are_opened_by_their_names(tmp_path: Path) -> None:
    store_load(tmp_path, "1700000000.0")
    write_deltalake(str(tmp_path / "lake" / "shop" / "orders"), pa.table({"id": [1, 2]}))
    write_deltalake(str(tmp_path / "lake" / "shop" / "not_loaded"), pa.table({"id": [3]}))
    pipeline = at_lake(tmp_path)

    tables = get_delta_tables(pipeline)

    assert set(tables) == {"orders"}
    assert tables["orders"].to_pyarrow_table()["id"].to_pylist() == [1, 2]
    assert set(get_delta_tables(pipeline, "orders", schema_name="shop")) == {"orders"}
    with pytest.raises(TableNotFound, match="'order' does not exist in schema 'shop'") as unknown:
        get_delta_tables(pipeline, "orders", "order")
    assert unknown.value.hint == "did you mean 'orders'? Known: orders"
    with pytest.raises(SchemaNotFoundError):
        get_delta_tables(pipeline, schema_name="shops")


def test_tables_in_a_catalog_are_refused(make: Any, tmp_path: Path) -> None:
    lake = make(penstock.destinations.delta(str(tmp_path / "lake"), catalog="unity"))

    with pytest.raises(UsageError, match="are in the catalog unity") as refused:
        get_delta_tables(lake)
    assert "pipeline.dataset()" in refused.value.hint


@pytest.mark.parametrize(
    ("get", "destination"),
    [
        (get_delta_tables, penstock.destinations.iceberg),
        (get_iceberg_tables, penstock.destinations.delta),
        (get_iceberg_tables, penstock.destinations.filesystem),
    ],
)
def test_destinations_without_tables_of_the_format_are_refused(
    get: Any, destination: Any, make: Any, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"the destination of shop has no (delta|iceberg) tables"):
        get(make(destination(str(tmp_path / "lake"))))


def test_a_delta_table_is_opened_from_a_folder_of_any_plain_name(tmp_path: Path) -> None:
    folder = tmp_path / "a b" / "orders"
    write_deltalake(str(folder), pa.table({"id": [1, 2]}))
    store = FileStorage(str(folder.parent))

    table = open_delta_table("orders", store, None, needed_for="it")

    assert table.to_pyarrow_table()["id"].to_pylist() == [1, 2]
    with pytest.raises(UsageError, match="does not open the path of table 50%"):
        open_delta_table("50%", store, None, needed_for="it")


@pytest.mark.parametrize(
    ("module", "open_table", "error"),
    [
        ("deltalake", open_delta_table, MissingExtra),
        ("pyiceberg.table", open_iceberg_table, MissingDependencyException),
    ],
)
def test_a_missing_library_is_an_error_with_the_line_that_installs_it(
    module: str, open_table: Any, error: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(error) as missing:
        open_table("orders", FileStorage(str(tmp_path)), None, needed_for="it")
    assert "pip install" in missing.value.hint


def test_buckets_are_opened_with_the_keys_of_the_settings_or_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "machine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    store = AwsCredentials(endpoint_url="http://store:9000")

    options = read_options("s3://lake/raw", store)

    assert options is not None
    assert (options["AWS_ACCESS_KEY_ID"], options["AWS_ENDPOINT_URL"]) == ("machine", "http://store:9000")
    own = store.model_copy(update={"aws_access_key_id": "own", "aws_secret_access_key": "hush"})
    assert (read_options("s3://lake/raw", own) or {})["AWS_ACCESS_KEY_ID"] == "own"
    assert "hush" not in repr(own.with_machine_keys())
    assert "hush" not in repr(store.with_machine_keys())
