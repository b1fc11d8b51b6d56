"""The client of plain files without Spark: columns, undo, and the tables of a dataset."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.destinations.filesystem import plain_client
from penstock.destinations.filesystem.log_entries import undo_entry
from penstock.destinations.filesystem.table_files import FileList, PublishedFile
from penstock.destinations.filesystem.table_log import LogEntry
from penstock.destinations.lake.job import TableLoadJob
from penstock.destinations.lake.plan import ChainStep
from penstock.errors import DestinationTerminalException, StorageNotTrusted
from penstock.interfaces import AppliedJob, LoadMark, StorageSchemaInfo
from penstock.interfaces.ledger import CommitRecord
from penstock.package.storage import FileStorage
from penstock.schema import Schema, Table
from penstock.spark.file_format import FileCodec

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.destinations.filesystem.plain_client import PlainClient

PARQUET = FileCodec("parquet")
MARK = LoadMark(pipeline_name="shop", sequence=2, load_id="2.5", manifest_hash="h")


@pytest.fixture
def client(tmp_path: Path) -> PlainClient:
    lake = penstock.destinations.filesystem(bucket_url=str(tmp_path / "lake"))
    pipeline = penstock.pipeline("shop", tmp_path / "pipelines", destination=lake, dataset_name="demo")
    opened: Any = pipeline._target().client()
    plain: PlainClient = opened.plain
    plain.ledger().initialize()
    return plain


def schema_of(name: str, *columns: str) -> Schema:
    schema = Schema(name)
    types = {column: {"name": column, "data_type": "text"} for column in columns}
    schema.update_table(
        Table.from_dict(
            {
                "name": "items",
                "write_disposition": "append",
                "columns": types,
                "x-normalizer": {"seen-data": True},
            }
        )
    )
    return schema


def complete_load(
    client: PlainClient, schema: Schema, load_id: str, *, manifest_hash: str | None = "h"
) -> None:
    ledger = client.ledger()
    record = CommitRecord(
        load_id=load_id,
        schema_name=schema.name,
        schema_version_hash=schema.version_hash,
        inserted_at="2024-01-01T00:00:00+00:00",
        manifest_hash=manifest_hash,
    )
    store_schema(client, schema, datetime(2024, 1, 1, tzinfo=UTC))
    ledger.commit(record)


def store_schema(client: PlainClient, schema: Schema, at: datetime) -> None:
    client.ledger().store_schema(
        StorageSchemaInfo(
            version_hash=schema.version_hash,
            schema_name=schema.name,
            version=schema.version,
            engine_version=11,
            inserted_at=at,
            schema=json.dumps(dict(schema.to_dict())),
        )
    )


def commit_files(client: PlainClient, *keys: str, mark: LoadMark = MARK, **values: Any) -> None:
    for key in keys:
        client.store.put(key, b"rows")
    entry = LogEntry.of_load(mark, **{"kind": "append", **values}, files=dict.fromkeys(keys, PARQUET))
    client.table_files("items").log.commit(lambda _: entry)


def test_a_table_of_two_schemas_has_the_columns_of_both(client: PlainClient) -> None:
    complete_load(client, schema_of("a", "id", "colour"), "1.5")
    complete_load(client, schema_of("b", "id", "weight"), "2.5")

    assert list(client.known_tables["items"].columns) == ["id", "colour", "weight"]


def test_the_stored_schema_is_that_of_the_last_load_and_not_of_the_latest_timestamp(
    client: PlainClient,
) -> None:
    new, old = schema_of("a", "id", "colour"), schema_of("a", "id")
    complete_load(client, new, "2.5")
    store_schema(client, old, datetime(2034, 1, 1, tzinfo=UTC))

    assert list(client.known_tables["items"].columns) == ["id", "colour"]


def test_a_load_with_only_a_file_list_creates_no_table(client: PlainClient) -> None:
    table_files = client.table_files("items")
    table_files.file_lists.record("2.5", FileList(form=PARQUET, files=(), rows=0))
    assert client.table_names() == ()

    client.undo(AppliedJob(table="items"), "2.5")
    assert client.table_names() == ()

    commit_files(client, "items/3.5.aa.parquet", mark=replace(MARK, sequence=3, load_id="3.5"))
    assert client.table_names() == ("items",)


def test_undo_of_a_load_without_a_commit_fences_it(client: PlainClient) -> None:
    applied = client.to_undo("items", MARK)
    assert applied == AppliedJob(table="items")

    client.undo(applied, MARK.load_id)
    client.undo(applied, MARK.load_id)

    assert client.to_undo("items", MARK) is None
    with pytest.raises(DestinationTerminalException, match="was rolled back"):
        client.table_files("items").log.find_mark(MARK)


def test_a_commit_during_the_undo_of_its_load_is_undone(
    client: PlainClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, keep = "items/2.5.aa.parquet", "items/1.5.bb.parquet"
    commit_files(client, keep, mark=replace(MARK, sequence=1, load_id="1.5"))
    file_list = FileList(form=PARQUET, files=(PublishedFile(path="data/x", key=key, bytes=4),), rows=1)
    client.table_files("items").file_lists.record("2.5", file_list)

    def late_entry(table_files: Any, load_id: str, last: int) -> LogEntry | None:
        entry = undo_entry(table_files, load_id, last)
        if last == 1:
            commit_files(client, key)  # by a process that was considered dead
        return entry

    monkeypatch.setattr(plain_client, "undo_entry", late_entry)
    client.undo(AppliedJob(table="items"), "2.5")

    assert list(client.table_files("items").files()) == [keep]
    assert not client.store.exists(key)


def test_a_table_of_dlt_is_visible_while_the_first_load_of_penstock_is_open(client: PlainClient) -> None:
    complete_load(client, schema_of("shop", "id"), "1.5", manifest_hash=None)
    client.store.put("items/1.5.aa.parquet", b"rows")
    assert client.commits("items", spark=None) == []  # type: ignore[arg-type]

    commit_files(client, "items/2.5.bb.parquet")
    commits = client.commits("items", spark=None)  # type: ignore[arg-type]

    assert [commit.version for commit in commits] == [1, 0]
    assert list(client.table_files("items").files(0)) == ["items/1.5.aa.parquet"]
    assert client.commits("items", most=1, spark=None) == [commits[0]]  # type: ignore[arg-type]


def test_storage_without_put_if_absent_is_refused_before_the_first_load(
    client: PlainClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = client.store._files.put

    def put_anyway(path: str, content: bytes) -> bool:
        put(path, content)
        return True

    monkeypatch.setattr(client.store._files, "put_if_absent", put_anyway)

    with pytest.raises(StorageNotTrusted):
        client.update_stored_schema([])


def test_dropping_a_table_deletes_only_its_own_files(client: PlainClient) -> None:
    flat = replace(client.layout, template="{table_name}_{load_id}_{file_id}.{ext}")
    client.layout = flat
    commit_files(client, "items_2.5_aa.parquet")
    for name in ("items_old_2.5_bb.parquet", "items__tags_2.5_cc.parquet"):
        client.store.put(name, b"rows")

    client.drop_tables("items")

    remaining = [name for name in client.store.names("") if name.startswith("items")]
    assert sorted(remaining) == ["items__tags_2.5_cc.parquet", "items_old_2.5_bb.parquet"]


@pytest.mark.parametrize("how", ["overwrite", "recreate"])
def test_a_refreshed_table_has_the_files_of_its_load_and_can_be_undone(
    client: PlainClient, tmp_path: Path, how: Any
) -> None:
    old, new = "items/1.5.aa.parquet", "items/2.5.bb.parquet"
    commit_files(client, old, mark=replace(MARK, sequence=1, load_id="1.5"))
    package = FileStorage(str(tmp_path / "package"))
    package.put("data/x", b"rows")
    file_list = FileList(form=PARQUET, files=(PublishedFile(path="data/x", key=new, bytes=4),), rows=1)
    client.table_files("items").file_lists.record(MARK.load_id, file_list)
    staged: Any = SimpleNamespace(mark=MARK, store=package)

    job = TableLoadJob("started_jobs/items.x.0.reference")

    for _ in range(2):
        client._commit(ChainStep(table="items", commit=how, rows="all"), staged, job)

    assert [
        (applied.version_before, applied.version_after, applied.skipped) for applied in job.applied()
    ] == [
        (1, 2, False),
        (1, 2, True),
    ]
    assert list(client.table_files("items").files()) == [new]
    assert list(client.table_files("items").files(1)) == [old], "readers see it until the load is complete"
    client.undo(job.applied()[0], MARK.load_id)
    assert list(client.table_files("items").files()) == [old]
    assert (client.store.exists(old), client.store.exists(new)) == (True, False)


def test_truncating_a_table_is_one_commit_and_a_table_without_files_gets_none(client: PlainClient) -> None:
    commit_files(client, "items/2.5.aa.parquet")

    for _ in range(2):
        client.initialize_storage(truncate_tables=["items", "never_loaded"])

    log = client.table_files("items").log
    assert (log.last_version(), client.table_files("items").files()) == (2, {})
    assert not client.store.exists("items/2.5.aa.parquet")
    assert not client.table_files("never_loaded").log.has_commits()


def committed(client: PlainClient, mark: LoadMark, *names: str, **values: Any) -> LogEntry:
    """Write files, and commit them as a load."""
    for name in names:
        client.store.put(f"items/{name}", b"rows")
    files = {f"items/{name}": PARQUET for name in names}
    entry = LogEntry.of_load(mark, **{"kind": "append", **values}, files=files)
    result = client.table_files("items").log.commit(lambda _: entry)
    assert result is not None
    return result


def load_mark(sequence: int, pipeline: str = "shop") -> LoadMark:
    return replace(MARK, sequence=sequence, load_id=f"{sequence}.5", pipeline_name=pipeline)


def test_a_version_of_files_is_restored_once_by_a_commit(client: PlainClient) -> None:
    first = committed(client, load_mark(1), "1.5.a.parquet")
    committed(client, load_mark(2), "2.5.b.parquet")
    table_files = client.table_files("items")

    planned = client.plan_restore("items", first.version, {"2.5"})
    results = [client.restore(planned, load_mark(3), overwrites=False) for _ in range(2)]

    assert (planned.obstacle, planned.other_changes) == (None, ())
    assert [(job.version_before, job.version_after, job.skipped) for job in results] == [
        (2, 3, False),
        (2, 3, True),
    ]
    assert [*table_files.log.live_files(3)] == ["items/1.5.a.parquet"]
    assert table_files.log.read(3).removed == ("items/2.5.b.parquet",)
    applied = client.to_undo("items", load_mark(3))
    assert applied is not None
    client.undo(applied, load_mark(3).load_id)
    assert [*table_files.log.live_files(4)] == ["items/1.5.a.parquet", "items/2.5.b.parquet"]


def test_commits_of_others_since_a_version_of_files_are_overwritten_only_on_demand(
    client: PlainClient,
) -> None:
    committed(client, load_mark(1), "1.5.a.parquet")
    committed(client, load_mark(2), "2.5.b.parquet")
    committed(client, load_mark(7, "other"), "7.5.c.parquet")

    planned = client.plan_restore("items", 1, {"2.5"})

    assert planned.other_changes == ("commit 3 by load 7.5 of other",)
    committed(client, load_mark(8, "other"), "8.5.d.parquet")
    with pytest.raises(DestinationTerminalException, match="after the undo was planned: commit 4"):
        client.restore(planned, load_mark(3), overwrites=False)
    client.restore(planned, load_mark(3), overwrites=True)
    assert [*client.table_files("items").log.live_files(5)] == ["items/1.5.a.parquet"]


def test_files_that_a_replace_has_deleted_are_an_obstacle(client: PlainClient) -> None:
    committed(client, load_mark(1), "1.5.a.parquet")
    committed(client, load_mark(2), "2.5.b.parquet", kind="replace", removed=("items/1.5.a.parquet",))
    assert client.plan_restore("items", 1, {"2.5"}).obstacle is None

    client.store.delete("items/1.5.a.parquet")

    planned = client.plan_restore("items", 1, {"2.5"})
    assert planned.obstacle is not None
    assert planned.obstacle.startswith("1 files of items were deleted since, items/1.5.a.parquet among them")
