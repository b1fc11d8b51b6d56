"""The client of a dataset in folders: its ledger and its packages, beside tables of any format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from penstock.errors import InternalError
from penstock.interfaces import (
    DestinationClientDwhConfiguration,
    JobClientBase,
    StateInfo,
    StorageSchemaInfo,
    WithLedger,
    WithPackageStorage,
    WithStateSync,
)
from penstock.package.control_file import encode_control, read_control
from penstock.package.file_ledger import FileLedger
from penstock.package.storage import FileStorage
from penstock.schema import Schema
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from penstock.interfaces import DestinationCapabilitiesContext
    from penstock.schema import Table

_PACKAGE_FOLDER: Final = "_dlt_pkg"
_PACKAGE_ROOT_FOLDER: Final = "_dlt_roots"


class DatasetClient(JobClientBase, WithStateSync, WithLedger, WithPackageStorage):
    """A dataset opened for one schema, without its data tables."""

    def __init__(
        self,
        schema: Schema,
        config: DestinationClientDwhConfiguration,
        capabilities: DestinationCapabilitiesContext,
        *,
        bucket_url: str | None,
        spark: SparkSession | None = None,
    ) -> None:
        super().__init__(schema, config, capabilities)
        self.dataset_name = config.normalize_dataset_name(schema)
        self.root = f"{(bucket_url or '').rstrip('/')}/{self.dataset_name}"
        self.store = FileStorage(self.root, credentials=config.storage_credentials)
        self._spark = spark

    def is_storage_initialized(self) -> bool:
        """Return whether dlt or penstock has ever loaded anything here."""
        return self.ledger().is_initialized()

    def ledger(self) -> FileLedger:
        """Return the ledger, files in dlt's form beside the tables."""
        return FileLedger(self.store)

    def package_root(self, pipeline_name: str) -> str:
        """Return the folder of packages next to the data, where executors reach it."""
        return f"{self.root}/{_PACKAGE_FOLDER}/{pipeline_name}"

    def recorded_root(self, pipeline_name: str) -> str:
        """Return the package root of the last run; only one that is not next to the data is recorded."""
        record = read_control(self.store, f"{_PACKAGE_ROOT_FOLDER}/{pipeline_name}.json")
        if record is None:
            return self.package_root(pipeline_name)
        return f"{self.root}/{record['root']}" if record["is_below"] else str(record["root"])

    def record_root(self, pipeline_name: str, root: str) -> bool:
        """Record a package root: an address, or a path below the dataset. False if another run was first."""
        name = f"{_PACKAGE_ROOT_FOLDER}/{pipeline_name}.json"
        relative = spark_path(root).removeprefix(f"{spark_path(self.root)}/")
        is_below = relative != spark_path(root)
        content = encode_control({"root": relative if is_below else root, "is_below": is_below})
        if not self.store.has_file(name):
            return self.store.put_if_absent(name, content)
        self.store.put(name, content)
        return True

    def get_stored_schema(self) -> StorageSchemaInfo | None:
        """Return the newest version of the client's schema in the ledger."""
        return self.ledger().last_schema(self.schema.name)

    def get_stored_state(self, pipeline_name: str) -> StateInfo | None:
        """Return the state after the last complete load of a pipeline."""
        return self.ledger().last_state(pipeline_name)

    def displayable_location(self) -> str:
        """Return the folder of the dataset, without credentials."""
        return f"{self.config}/{self.dataset_name}"

    def previous_tables(self) -> Mapping[str, Table]:
        """Return the tables of the stored schema."""
        stored = self.get_stored_schema()
        return Schema.from_dict(json.loads(stored.schema)).tables if stored else {}

    def all_tables(self) -> Mapping[str, Table]:
        """Return all tables that were ever loaded here, with their columns of every schema."""
        ledger = self.ledger()
        merged: dict[str, Table] = {}
        for name, load_id in ledger.snapshot().last_loads().items():
            load = ledger.find_commit(schema_name=name, load_id=load_id)
            stored = load and ledger.find_schema(schema_name=name, version_hash=load.schema_version_hash)
            tables = Schema.from_dict(json.loads(stored.schema)).tables if stored else {}
            for table_name, table in tables.items():
                base, other = sorted(
                    (merged.get(table_name, table), table), key=lambda candidate: not candidate.has_seen_data
                )
                merged[table_name] = base.with_columns(other.columns.values())
        return merged

    def session(self) -> SparkSession:
        """Return the session that this client was opened with."""
        if self._spark is None:
            raise InternalError("a table cannot be written without a Spark session")
        return self._spark
