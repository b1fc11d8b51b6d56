"""The destination client, updates of tables to a schema, and the row sender; the Spark session is a fake."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.load.scripted_destination import World
from tests.unit.pipeline.fake_session import fake_session

import penstock
from penstock.errors import PipelineConfigMissing, PipelineLocked, UsageError
from penstock.extract.settings import ExtractConfiguration
from penstock.interfaces import JobClientBase
from penstock.package import FileStorage
from penstock.package.lease import hold_lease
from penstock.pipeline.schema_files import SchemaFiles
from penstock.pipeline.workspace import Workspace, choose_row_sender
from penstock.schema import Schema, Table

if TYPE_CHECKING:
    from pathlib import Path


def new_pipeline(tmp_path: Path, world: World, **options: Any) -> penstock.Pipeline:
    return penstock.pipeline(
        "shop", tmp_path, destination=world.destination(), spark=fake_session(), **options
    )


def schema_folder(tmp_path: Path) -> Path:
    schema = Schema("shop")
    schema.update_table(Table.from_dict({"name": "items", "columns": {"id": {"data_type": "bigint"}}}))
    SchemaFiles.at(None, tmp_path / "schemas").export(schema)
    return tmp_path / "schemas"


def test_the_destination_client_has_the_stored_schema(tmp_path: Path) -> None:
    world = World(tmp_path)
    pipeline = new_pipeline(tmp_path, world, import_schema_path=schema_folder(tmp_path))

    with pipeline.destination_client() as client:
        client.drop_storage()

    assert isinstance(client, JobClientBase)
    assert world.asked == ["drop"]
    assert "items" in client.schema.tables
    assert pipeline.destination_client("other").schema.name == "other"


def test_resources_of_a_client_are_released_once_in_reverse_order(tmp_path: Path) -> None:
    closed: list[str] = []
    client = new_pipeline(tmp_path, World(tmp_path)).destination_client()
    client.when_closed(lambda: closed.append("first"))
    client.when_closed(lambda: closed.append("second"))

    for _ in range(2):
        with client:
            pass

    assert closed == ["second", "first"]


def test_tables_are_updated_to_a_schema(tmp_path: Path) -> None:
    world = World(tmp_path)
    pipeline = new_pipeline(tmp_path, world, import_schema_path=schema_folder(tmp_path))

    changed = pipeline.sync_schema()

    assert world.asked == ["initialize", "update items"]
    assert list(changed) == ["items"]
    assert list(changed["items"]["columns"]) == ["id"]


def test_a_schema_without_tables_and_a_pipeline_without_a_destination_are_refused(tmp_path: Path) -> None:
    world = World(tmp_path)

    with pytest.raises(UsageError, match="has no tables in schema 'shop'"):
        new_pipeline(tmp_path, world).sync_schema()
    with pytest.raises(PipelineConfigMissing):
        penstock.pipeline("shop", tmp_path).sync_schema()
    with pytest.raises(PipelineConfigMissing):
        penstock.pipeline("shop", tmp_path).destination_client()
    assert world.asked == []


def test_the_schema_is_not_synced_while_another_run_has_the_lease(tmp_path: Path) -> None:
    pipeline = new_pipeline(tmp_path, World(tmp_path), import_schema_path=schema_folder(tmp_path))

    with (
        hold_lease(pipeline._package_listing().locations[-1].store, pipeline="shop"),
        pytest.raises(PipelineLocked),
    ):
        pipeline.sync_schema()


@pytest.mark.parametrize(
    ("setting", "is_remote", "is_writable", "sends"),
    [
        ("auto", False, True, False),
        ("auto", False, False, False),
        ("auto", True, True, False),
        ("auto", True, False, True),
        (True, False, True, True),
        (False, True, False, False),
    ],
)
def test_rows_are_sent_by_setting_or_where_a_client_cannot_write(
    tmp_path: Path, setting: Any, is_remote: bool, is_writable: bool, sends: bool
) -> None:
    (tmp_path / "file").touch()
    store = FileStorage(str(tmp_path / ("folder" if is_writable else "file/folder")))
    settings = ExtractConfiguration(through_session=setting)

    send = choose_row_sender(settings, store, lambda: nullcontext(None), is_remote=is_remote)  # type: ignore[arg-type]

    assert (send is not None) is sends
    assert not (tmp_path / "folder" / "_probe").exists()


def test_files_of_the_ledger_are_remembered_only_while_the_lease_is_held(tmp_path: Path) -> None:
    workspace = Workspace(new_pipeline(tmp_path, World(tmp_path))._target(), spark=fake_session())
    ledger = workspace.ledger
    ledger.initialize()
    marker = next(tmp_path.rglob("init"))

    with workspace.lease():
        assert workspace.ledger.is_initialized()
        marker.unlink()
        assert workspace.ledger.is_initialized()

    assert not workspace.ledger.is_initialized()
