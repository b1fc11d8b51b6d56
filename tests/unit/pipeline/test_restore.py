from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.destinations.warehouse import warehouse
from tests.unit.load.scripted_destination import World

from penstock.config import Settings
from penstock.destinations import delta
from penstock.interfaces import CommitRecord, StateInfo, StorageSchemaInfo
from penstock.interfaces.capabilities import check_capabilities
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.file_ledger import FileLedger
from penstock.package.storage import FileStorage, as_json
from penstock.pipeline.context import PipelineContext
from penstock.pipeline.restore import PipelineSnapshot, restore, with_destination_naming, with_source_schema
from penstock.pipeline.state import encode_state, new_state, with_version
from penstock.pipeline.target import Target
from penstock.pipeline.workdir import WorkDir
from penstock.schema import Schema
from penstock.schema.frozen_map import freeze

MOMENT = datetime.fromisoformat("2026-11-15T02:32:47+00:00")


def target(pipeline_name: str, dataset_name: str, location: str) -> Target:
    lake, settings = delta(bucket_url=location), Settings()
    return Target(
        pipeline=PipelineContext(
            pipeline_name=pipeline_name, dataset_name=dataset_name, workdir=WorkDir(Path("nowhere"))
        ),
        destination=lake,
        config=lake.configuration(
            settings, pipeline_name=pipeline_name, dataset_name=dataset_name, master="local"
        ),
        settings=settings,
    )


def snapshot_of(
    ledger: FileLedger,
    pipeline_name: str = "shop",
    dataset_name: str = "lake",
    schema_name: str | None = None,
) -> PipelineSnapshot:
    restored_target = target(pipeline_name, dataset_name, "memory://nowhere")
    return restore(ledger, restored_target.client(), restored_target, schema_name=schema_name)


def load(ledger: FileLedger, load_id: str, *, commit: bool = True) -> Schema:
    schema = Schema("of_another_name")
    schema.update_table({"name": f"table_{load_id[0]}", "columns": {"id": {"data_type": "bigint"}}})
    state = with_version(
        {
            **new_state(
                pipeline_name="shop", dataset_name="lake", schema_name=schema.name, destination_type="x"
            ),
            "sources": {"last": load_id},
        }
    )
    ledger.initialize()
    ledger.store_schema(
        StorageSchemaInfo(
            version=schema.version,
            engine_version=11,
            inserted_at=MOMENT,
            schema_name=schema.name,
            version_hash=schema.version_hash,
            schema=as_json(schema.to_dict()).decode(),
        )
    )
    ledger.store_state(
        StateInfo(
            version=1,
            engine_version=4,
            pipeline_name="shop",
            state=encode_state(state),
            created_at=MOMENT,
            version_hash=state["_version_hash"],
            _dlt_load_id=load_id,
        ),
        schema_hash=schema.version_hash,
    )
    if commit:
        ledger.commit(
            CommitRecord(
                load_id=load_id,
                schema_name=schema.name,
                schema_version_hash=schema.version_hash,
                inserted_at="2026-11-15T02:32:47+00:00",
            )
        )
    return schema


def test_a_new_dataset_has_a_new_schema_and_a_new_state(tmp_path: Path) -> None:
    snapshot = snapshot_of(FileLedger(FileStorage(str(tmp_path / "nowhere"))), "MyShop-eu")

    assert (snapshot.schema.name, snapshot.schema.is_new) == ("my_shop_eu", True)
    assert (snapshot.state["_state_version"], snapshot.state["pipeline_name"]) == (0, "MyShop-eu")
    assert snapshot.state["default_schema_name"] == "my_shop_eu"
    assert list(tmp_path.iterdir()) == []


def test_a_fresh_machine_continues_from_the_last_complete_load(tmp_path: Path) -> None:
    ledger = FileLedger(FileStorage(str(tmp_path)))
    schema = load(ledger, "1.5")

    snapshot = snapshot_of(ledger)

    assert snapshot.schema.version_hash == schema.version_hash
    assert not snapshot.schema.is_new
    assert snapshot.state["sources"] == {"last": "1.5"}


def test_the_state_of_an_incomplete_load_is_ignored(tmp_path: Path) -> None:
    ledger = FileLedger(FileStorage(str(tmp_path)))
    load(ledger, "1.5")
    load(ledger, "2.5", commit=False)

    assert snapshot_of(ledger).state["sources"] == {"last": "1.5"}


def test_the_dataset_of_the_call_takes_precedence_over_the_one_in_the_state(tmp_path: Path) -> None:
    ledger = FileLedger(FileStorage(str(tmp_path)))
    load(ledger, "1.5")

    assert snapshot_of(ledger, dataset_name="other").state["dataset_name"] == "other"


def test_every_valid_pipeline_name_has_a_schema(tmp_path: Path) -> None:
    short, long = (snapshot_of(FileLedger(FileStorage(str(tmp_path))), "a" * length) for length in (64, 128))

    assert short.schema.name == "a" * 64
    assert (len(long.schema.name), long.schema.is_new) == (64, True)
    assert long.state["default_schema_name"] == long.schema.name
    assert long.state["pipeline_name"] == "a" * 128


@given(name=st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", fullmatch=True))
def test_every_pipeline_name_has_a_schema_name(name: str) -> None:
    assert snapshot_of(FileLedger(FileStorage("memory://nowhere")), name).schema.is_new


def test_different_long_names_have_different_schemas(tmp_path: Path) -> None:
    ledger = FileLedger(FileStorage(str(tmp_path)))

    names = {snapshot_of(ledger, f"{'a' * 50}{letter}{'a' * 50}").schema.name for letter in "bc"}

    assert len(names) == 2


def test_without_a_ledger_the_state_is_read_from_the_destination(tmp_path: Path) -> None:
    stored, missing_ledger = (FileLedger(FileStorage(f"{tmp_path}/{name}")) for name in ("lake", "nowhere"))
    schema = load(stored, "1.5")
    world = World(tmp_path, script={"sync": []}, ledger=stored)
    syncing = replace(target("shop", "lake", "memory://nowhere"), destination=world.destination())

    snapshot = restore(missing_ledger, syncing.client(), syncing)

    assert snapshot.state["sources"] == {"last": "1.5"}
    assert snapshot.schema.version_hash == schema.version_hash


def test_the_state_names_the_destination_as_dlt_does(tmp_path: Path) -> None:
    assert snapshot_of(FileLedger(FileStorage(str(tmp_path)))).state["destination_type"] == (
        "dlt.destinations.filesystem"
    )


def test_the_state_has_the_name_of_a_named_destination(tmp_path: Path) -> None:
    ledger, plain = FileLedger(FileStorage(str(tmp_path))), target("shop", "lake", "memory://nowhere")
    named = replace(plain, destination=plain.destination.with_changes(destination_name="raw"))

    names = [restore(ledger, each.client(), each).state["destination_name"] for each in (plain, named)]

    assert names == [None, "raw"]


def test_another_schema_of_the_same_pipeline_shares_its_state(tmp_path: Path) -> None:
    ledger = FileLedger(FileStorage(str(tmp_path)))
    load(ledger, "1.5")

    snapshot = snapshot_of(ledger, schema_name="second")

    assert (snapshot.schema.name, snapshot.schema.is_new) == ("second", True)
    assert snapshot.state["default_schema_name"] == "of_another_name"
    assert snapshot.state["sources"] == {"last": "1.5"}


def test_the_first_schema_of_a_pipeline_is_its_default(tmp_path: Path) -> None:
    snapshot = snapshot_of(FileLedger(FileStorage(str(tmp_path))), schema_name="hub")

    assert snapshot.state["default_schema_name"] == "hub"


def test_a_new_schema_is_that_of_the_source_and_an_old_one_gets_its_contract_and_nesting() -> None:
    brought = Schema("hub")
    brought.set_schema_contract("freeze")
    brought.update_table({"name": "declared", "columns": {"id": {"data_type": "text"}}})
    extracted = ExtractManifest(schema_name="hub", schema=freeze(dict(brought.to_dict())))
    old = Schema("hub")
    old.update_table({"name": "loaded", "columns": {"id": {"data_type": "text"}}})
    old.mark_saved()

    new = with_source_schema(Schema("hub"), extracted)
    updated = with_source_schema(old, extracted)

    assert "declared" in new.tables
    assert list(updated.tables) == list(old.tables)
    assert [schema.settings["schema_contract"] for schema in (new, updated)] == ["freeze", "freeze"]
    assert with_source_schema(old, ExtractManifest(schema_name="hub")) is old


def test_a_new_schema_has_the_naming_convention_of_the_destination() -> None:
    convention = "tests.unit.interfaces.upper_case"
    check_capabilities(warehouse(naming_convention=convention).capabilities(), "warehouse")
    new, named, old = Schema("shop"), Schema("shop"), Schema("shop")
    named.update(named.stored.with_normalizers(names="direct"))
    old.mark_saved()

    assert with_destination_naming(new, convention).naming.normalize_identifier("UserName") == "USER_NAME"
    assert with_destination_naming(named, convention).naming.name == "direct", "it has one of its own"
    assert with_destination_naming(old, convention).naming.name == "snake_case", "its tables have names"
    assert with_destination_naming(new, None).naming.name == "snake_case"
