"""Files in a bucket are committed by conditional puts: of writers that race, each load is committed once."""

from __future__ import annotations

import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from tests.service.bucket import keys

from penstock.destinations.delta.file_commit import Obstacle, commit_files, read_data_files
from penstock.interfaces import AppliedJob, LoadMark
from penstock.package import FileStorage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.destinations.delta.file_stats import DataFile

SCHEMA = json.dumps(
    {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
)
WRITERS = 5


def mark(sequence: int, pipeline: str = "shop") -> LoadMark:
    return LoadMark(
        pipeline_name=pipeline, sequence=sequence, load_id=f"{sequence}.5", manifest_hash=pipeline
    )


def put_files(store: FileStorage, *ids: int) -> Sequence[DataFile]:
    folder = uuid.uuid4().hex
    with store.open_new(f"items/{folder}/part-0.parquet") as stream:
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), stream)
    return read_data_files(store, "items", folder, schema_json=SCHEMA)


def ids_in(store: FileStorage) -> list[int]:
    table = DeltaTable(store.path("items"), storage_options=store.object_store_options)
    return sorted(table.to_pyarrow_table()["id"].to_pylist())


@pytest.mark.parametrize("same_load", [True, False])
def test_of_writers_that_race_in_a_bucket_each_load_is_committed_once(location: str, same_load: bool) -> None:
    store = FileStorage(f"{location}/demo", credentials=keys())
    start = threading.Barrier(WRITERS)

    def write(number: int) -> AppliedJob | Obstacle:
        def files() -> Sequence[DataFile]:
            result = put_files(store, number)
            start.wait()
            return result

        load = mark(1) if same_load else mark(1, f"shop {number}")
        return commit_files(store, "items", files, schema_json=SCHEMA, mark=load, mode="append")

    with ThreadPoolExecutor(WRITERS) as pool:
        results = list(pool.map(write, range(WRITERS)))

    applied = [result for result in results if isinstance(result, AppliedJob)]
    assert len(applied) == (1 if same_load else WRITERS)
    assert len(ids_in(store)) == len(applied)


def test_a_server_that_is_not_trusted_with_conditional_puts_gets_no_commit(location: str) -> None:
    store = FileStorage(f"{location}/demo", credentials=keys(conditional_writes=None))

    result = commit_files(
        store, "items", lambda: pytest.fail("written"), schema_json=SCHEMA, mark=mark(1), mode="append"
    )

    assert isinstance(result, Obstacle)
    assert store.names("items") == []


def test_an_overwrite_in_a_bucket_replaces_all_files(location: str) -> None:
    store = FileStorage(f"{location}/demo", credentials=keys())
    for sequence in (1, 2):
        commit_files(
            store,
            "items",
            lambda sequence=sequence: put_files(store, sequence),  # type: ignore[misc]
            schema_json=SCHEMA,
            mark=mark(sequence),
            mode="append",
        )

    applied = commit_files(
        store, "items", lambda: put_files(store, 3), schema_json=SCHEMA, mark=mark(3), mode="overwrite"
    )

    assert applied == AppliedJob(table="items", rows=1, version_before=1, version_after=2)
    assert ids_in(store) == [3]
