"""Refresh: the tables and states that are dropped, and their record in a package."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.load.scripted_destination import World
from tests.unit.pipeline.fake_session import fake_session
from tests.unit.pipeline.stored_dataset import at_lake, store_load

import penstock
from penstock.errors import PipelineStepFailed, UsageError
from penstock.interfaces import Flow, Refresh
from penstock.package import Packages
from penstock.package.extract_manifest import ExtractedTable, ExtractManifest
from penstock.pipeline.refresh import (
    RefreshTracker,
    dropped_tables,
    tables_truncated_without_rows,
    truncated_tables,
    without_dropped_tables,
    without_history,
)
from penstock.pipeline.restore import with_source_schema
from penstock.schema import Schema, Table
from penstock.sources import flows_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.interfaces import TRefreshMode


@penstock.resource
def orders() -> Iterator[Any]:
    state = penstock.current.resource_state()
    state["last"] = state.get("last", 0) + 1
    yield {"n": state["last"]}


@penstock.resource
def buyers() -> Iterator[Any]:
    state = penstock.current.resource_state()
    state["last"] = state.get("last", 0) + 1
    yield {"n": state["last"]}


@penstock.source(name="shop")
def shop() -> Any:
    penstock.current.source_state().setdefault("opened", 1)
    return orders, buyers


def schema() -> Schema:
    result = Schema("shop")
    for document in (
        {"name": "orders", "resource": "orders", "write_disposition": "merge"},
        {"name": "orders__items", "parent": "orders"},
        {"name": "orders_old", "resource": "orders", "write_disposition": "append"},
        {"name": "buyers", "resource": "buyers"},
        {"name": "_dlt_quarantine"},
    ):
        table: dict[str, Any] = document
        result.update_table(Table.from_dict(table).with_seen_data())
    result.update_table({"name": "never", "resource": "orders"})
    result.mark_saved()
    return result


def extracted(mode: TRefreshMode | None, *resources: str, **fields: Any) -> ExtractManifest:
    refresh = None if mode is None else Refresh(mode=mode, resources=resources)
    return ExtractManifest(schema_name="shop", refresh=refresh, **fields)


def rows_of(table: str) -> ExtractedTable:
    return ExtractedTable(
        table=table, resource="orders", write_disposition="append", folder="f", rows=1, bytes=1, files=1
    )


def extracted_manifests(tmp_path: Path) -> list[ExtractManifest]:
    packages = Packages.at(str(tmp_path / "lake" / "shop" / "_dlt_pkg" / "shop"))
    return [
        ExtractManifest.from_dict(package.read_extracted()) for package in packages.with_status("extracted")
    ]


def test_dropped_tables_are_recorded_with_their_columns() -> None:
    tables = dropped_tables(schema(), extracted("drop_resources", "orders"))

    assert list(tables) == ["orders", "orders__items", "orders_old"], "one without a row is not there"
    assert tables["orders"]["write_disposition"] == "merge"
    assert dropped_tables(schema(), extracted("drop_data", "orders")) == {}
    assert dropped_tables(schema(), extracted(None)) == {}


def test_only_tables_with_rows_are_truncated() -> None:
    tables = truncated_tables(schema(), extracted("drop_data", "orders"))

    assert tables == ("orders", "orders__items", "orders_old")
    assert truncated_tables(schema(), extracted("drop_sources")) == ()


def test_root_tables_without_new_rows_are_truncated_with_unchanged_hints() -> None:
    package = extracted("drop_data", "orders", tables=(rows_of("Orders"),))

    tables = tables_truncated_without_rows(schema(), package, schema().naming)

    assert [(table.table, table.write_disposition, table.rows) for table in tables] == [
        ("orders_old", "append", 0)
    ]


def test_a_table_with_an_empty_frame_is_truncated() -> None:
    nothing = replace(rows_of("Orders"), rows=0, data_format="typed", columns={})
    replaced = replace(rows_of("orders_old"), rows=0, write_disposition="replace")
    package = extracted("drop_data", "orders", tables=(nothing, replaced))

    tables = tables_truncated_without_rows(schema(), package, schema().naming)

    assert [table.table for table in tables] == ["orders"]


def test_dropped_tables_are_inferred_again_without_history() -> None:
    prior = schema()

    remaining = without_dropped_tables(prior, Refresh(mode="drop_resources", resources=("orders",)))
    remaining.update_table({"name": "orders", "resource": "orders"})
    recreated = without_history(remaining)

    assert "orders__items" not in recreated.tables
    assert {"buyers", "_dlt_quarantine"} <= set(recreated.tables)
    assert "orders" in prior.tables
    assert (remaining.previous_hashes, recreated.previous_hashes) == ((prior.version_hash,), ())
    assert recreated.version == prior.version + 1


def test_a_refreshed_source_replaces_the_schema() -> None:
    brought = Schema("shop")
    brought.update_table({"name": "fresh", "resource": "fresh"})
    document = dict(brought.to_dict())

    recreated = with_source_schema(
        without_dropped_tables(schema(), Refresh(mode="drop_sources")),
        extracted("drop_sources", schema=document),
    )
    as_ever = with_source_schema(schema(), extracted(None, schema=document))

    assert "fresh" in recreated.tables
    assert "_dlt_quarantine" in recreated.tables
    assert "orders" not in recreated.tables
    assert "fresh" not in as_ever.tables


def flow(mode: TRefreshMode | None, *resources: Any) -> Flow:
    (source_flow,) = flows_of(list(resources), refresh=mode)
    return source_flow


def test_of_two_flows_with_one_schema_the_second_does_not_undo_the_first() -> None:
    done = RefreshTracker()
    first = done.refresh_for(flow("drop_sources", orders), "shop")
    second = done.refresh_for(flow("drop_sources", buyers), "shop")
    other = done.refresh_for(flow("drop_sources", buyers), "crm")

    assert (first, second) == (Refresh(mode="drop_sources", resources=("orders",)), None)
    assert other is not None
    resources = RefreshTracker()
    assert resources.refresh_for(flow("drop_data", orders), "shop") == Refresh(
        mode="drop_data", resources=("orders",)
    )
    assert resources.refresh_for(flow("drop_data", orders), "shop") is None
    assert resources.refresh_for(flow("drop_data", orders, buyers), "shop") == Refresh(
        mode="drop_data", resources=("buyers",)
    )
    assert resources.refresh_for(flow(None, orders), "shop") is None


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("drop_sources", {"resources": {"orders": {"last": 1}}}),
        ("drop_resources", {"page": 3, "resources": {"orders": {"last": 1}, "buyers": {"last": 9}}}),
        ("drop_data", {"page": 3, "resources": {"orders": {"last": 1}, "buyers": {"last": 9}}}),
    ],
)
def test_a_refresh_deletes_the_state(tmp_path: Path, mode: TRefreshMode, expected: dict[str, Any]) -> None:
    remembered = {"page": 3, "resources": {"orders": {"last": 7}, "buyers": {"last": 9}}}
    store_load(tmp_path, "10.5", sources={"shop": remembered, "crm": {"page": 1}})

    at_lake(tmp_path).extract(orders(), refresh=mode)

    (package,) = extracted_manifests(tmp_path)
    assert package.refresh == Refresh(mode=mode, resources=("orders",))
    assert package.state == {"shop": expected, "crm": {"page": 1}}
    assert at_lake(tmp_path).state["sources"]["shop"] == expected


def test_the_refresh_of_a_run_takes_precedence_over_that_of_the_pipeline(tmp_path: Path) -> None:
    pipeline = at_lake(tmp_path, refresh="drop_data")

    pipeline.extract(orders())
    pipeline.extract(orders(), refresh="drop_sources")

    assert [package.refresh and package.refresh.mode for package in extracted_manifests(tmp_path)] == [
        "drop_data",
        "drop_sources",
    ]


def test_only_extracted_resources_are_refreshed(tmp_path: Path) -> None:
    at_lake(tmp_path).extract(shop().with_resources("buyers"), refresh="drop_resources")

    (package,) = extracted_manifests(tmp_path)
    assert package.refresh == Refresh(mode="drop_resources", resources=("buyers",))


def test_an_unknown_refresh_mode_is_refused_at_once(tmp_path: Path) -> None:
    mode: Any = "drop"

    with pytest.raises(UsageError, match="unknown refresh 'drop'"):
        penstock.pipeline("shop", tmp_path, refresh=mode)
    with pytest.raises(UsageError, match="unknown refresh 'drop'"):
        at_lake(tmp_path).run(orders(), refresh=mode)


def test_a_failed_resource_prevents_the_refresh(tmp_path: Path) -> None:
    @penstock.resource
    def broken() -> Iterator[Any]:
        yield {"n": 1}
        raise OSError("gone")

    pipeline = at_lake(tmp_path)

    with pytest.raises(PipelineStepFailed, match="gone"):
        pipeline.extract([orders(), broken()], refresh="drop_resources", on_error="continue")

    assert extracted_manifests(tmp_path) == []


def test_a_failed_resource_of_a_second_source_prevents_the_refresh(tmp_path: Path) -> None:
    def broken() -> Iterator[Any]:
        yield {"n": 1}
        raise OSError("gone")

    @penstock.source(name="shop")
    def more() -> Any:
        return buyers, penstock.resource(broken, name="more")

    with pytest.raises(PipelineStepFailed, match="gone"):
        at_lake(tmp_path).extract([shop(), more()], refresh="drop_sources", on_error="continue")

    assert extracted_manifests(tmp_path) == []


def test_a_refresh_without_rows_drops_the_tables(tmp_path: Path) -> None:
    world = World(tmp_path, script={"drop": []}, capabilities={"renews_tables": True})
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "shop.schema.yaml").write_text(schema().to_pretty_yaml(), encoding="utf-8")
    pipeline = penstock.pipeline(
        "shop",
        tmp_path,
        destination=world.destination(),
        spark=fake_session(),
        import_schema_path=schemas,
    )

    info = pipeline.run(penstock.resource([], name="orders"), refresh="drop_resources")

    assert len(info.loads_ids) == 1
    assert info.notes == ("dropped tables: orders, orders__items, orders_old",)
    assert world.asked[-3:] == ["drop orders", "drop orders__items", "drop orders_old"]
    assert set(pipeline.default_schema.tables) & {"orders", "never", "buyers"} == {"buyers"}
    assert pipeline.default_schema.previous_hashes == ()
