"""A dataset with one complete load, created without Spark, for a fresh machine to restore from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import penstock
from penstock.interfaces import CommitRecord, StateInfo, StorageSchemaInfo
from penstock.package.file_ledger import FileLedger
from penstock.package.storage import FileStorage, as_json
from penstock.pipeline.state import encode_state, new_state, with_version
from penstock.schema import Schema, Table

if TYPE_CHECKING:
    from pathlib import Path


def at_lake(tmp_path: Path, machine: str = "here", **options: Any) -> penstock.Pipeline:
    lake = penstock.destinations.delta(str(tmp_path / "lake"))
    return penstock.pipeline("shop", pipelines_dir=tmp_path / machine, destination=lake, **options)


def store_load(
    tmp_path: Path, load_id: str, *, sources: dict[str, Any] | None = None, version: int = 0
) -> Schema:
    """Write a complete load of the pipeline `shop` to the ledger; return its schema."""
    ledger, schema = FileLedger(FileStorage(str(tmp_path / "lake" / "shop"))), Schema("shop")
    schema.update_table(
        Table.from_dict({"name": "orders", "columns": {"id": {"data_type": "bigint"}}}).with_seen_data()
    )
    state = with_version(
        {
            **new_state(
                pipeline_name="shop",
                dataset_name="shop",
                schema_name="shop",
                destination_type="dlt.destinations.filesystem",
            ),
            "_state_version": version,
            "sources": sources or {"shop": {"last": load_id}},
        }
    )
    moment = datetime.fromtimestamp(float(load_id), UTC)
    ledger.initialize()
    ledger.store_schema(
        StorageSchemaInfo(
            version=schema.version,
            engine_version=11,
            inserted_at=moment,
            schema_name=schema.name,
            version_hash=schema.version_hash,
            schema=as_json(schema.to_dict()).decode(),
        )
    )
    ledger.store_state(
        StateInfo(
            version=state["_state_version"],
            engine_version=4,
            pipeline_name="shop",
            state=encode_state(state),
            created_at=moment,
            version_hash=state["_version_hash"],
            _dlt_load_id=load_id,
        ),
        schema_hash=schema.version_hash,
    )
    ledger.commit(
        CommitRecord(
            load_id=load_id,
            schema_name=schema.name,
            schema_version_hash=schema.version_hash,
            inserted_at=moment.isoformat(),
            pipeline_name="shop",
            sequence=1,
        )
    )
    return schema
