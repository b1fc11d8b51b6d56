"""The client of a destination by hand, and tables that are brought up to a schema; Spark is a stand-in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.load.scripted import World
from tests.unit.pipeline.fake_session import fake_session

import penstock
from penstock.errors import PipelineConfigMissing, PipelineLocked, UsageError
from penstock.interfaces import JobClientBase
from penstock.package.lease import hold_lease
from penstock.pipeline.schema_files import SchemaFiles
from penstock.schema import Schema, Table

if TYPE_CHECKING:
    from pathlib import Path


def made(tmp_path: Path, world: World, **said: Any) -> penstock.Pipeline:
    return penstock.pipeline("shop", tmp_path, destination=world.destination(), spark=fake_session(), **said)


def with_schema(tmp_path: Path) -> Path:
    schema = Schema("shop")
    schema.update_table(Table.from_dict({"name": "items", "columns": {"id": {"data_type": "bigint"}}}))
    SchemaFiles.at(None, tmp_path / "schemas").export(schema)
    return tmp_path / "schemas"


def test_the_destination_client_has_the_stored_schema(tmp_path: Path) -> None:
    world = World(tmp_path)
    pipeline = made(tmp_path, world, import_schema_path=with_schema(tmp_path))

    with pipeline.destination_client() as client:
        client.drop_storage()

    assert isinstance(client, JobClientBase)
    assert world.asked == ["drop"]
    assert "items" in client.schema.tables
    assert pipeline.destination_client("other").schema.name == "other"


def test_resources_of_a_client_are_released_once_in_reverse_order(tmp_path: Path) -> None:
    closed: list[str] = []
    client = made(tmp_path, World(tmp_path)).destination_client()
    client.when_closed(lambda: closed.append("first"))
    client.when_closed(lambda: closed.append("second"))

    for _ in range(2):
        with client:
            pass

    assert closed == ["second", "first"]


def test_tables_are_updated_to_a_schema(tmp_path: Path) -> None:
    world = World(tmp_path)
    pipeline = made(tmp_path, world, import_schema_path=with_schema(tmp_path))

    changed = pipeline.sync_schema()

    assert world.asked == ["initialize", "update items"]
    assert list(changed) == ["items"]
    assert list(changed["items"]["columns"]) == ["id"]


def test_a_schema_without_tables_and_a_pipeline_without_a_destination_are_refused(tmp_path: Path) -> None:
    world = World(tmp_path)

    with pytest.raises(UsageError, match="has no tables in schema 'shop'"):
        made(tmp_path, world).sync_schema()
    with pytest.raises(PipelineConfigMissing):
        penstock.pipeline("shop", tmp_path).sync_schema()
    with pytest.raises(PipelineConfigMissing):
        penstock.pipeline("shop", tmp_path).destination_client()
    assert world.asked == []


def test_the_schema_is_not_synced_while_another_run_has_the_lease(tmp_path: Path) -> None:
    pipeline = made(tmp_path, World(tmp_path), import_schema_path=with_schema(tmp_path))

    with (
        hold_lease(pipeline._package_listing().locations[-1].store, pipeline="shop"),
        pytest.raises(PipelineLocked),
    ):
        pipeline.sync_schema()
