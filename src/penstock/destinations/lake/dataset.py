"""A dataset in folders: its ledger and its packages stand beside the tables, whatever those are made of."""

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
    """A dataset opened for one schema: everything but its data tables."""

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
        """Whether anything was ever loaded here, by dlt or by us."""
        return self.ledger().is_initialized()

    def ledger(self) -> FileLedger:
        """The ledger in dlt's file form, beside the tables."""
        return FileLedger(self.store)

    def package_root(self, pipeline_name: str) -> str:
        """Packages stand next to the data, where executors reach them."""
        return f"{self.root}/{_PACKAGE_FOLDER}/{pipeline_name}"

    def recorded_root(self, pipeline_name: str) -> str:
        """Where the packages of the last run were; nothing is recorded while they are next to the data."""
        found = read_control(self.store, f"{_PACKAGE_ROOT_FOLDER}/{pipeline_name}.json")
        if found is None:
            return self.package_root(pipeline_name)
        return f"{self.root}/{found['root']}" if found["is_below"] else str(found["root"])

    def record_root(self, pipeline_name: str, root: str) -> bool:
        """Record where packages are: an address, or a path below the dataset."""
        name = f"{_PACKAGE_ROOT_FOLDER}/{pipeline_name}.json"
        below = spark_path(root).removeprefix(f"{spark_path(self.root)}/")
        is_below = below != spark_path(root)
        content = encode_control({"root": below if is_below else root, "is_below": is_below})
        if not self.store.exists(name):
            return self.store.put_if_absent(name, content)
        self.store.put(name, content)
        return True

    def get_stored_schema(self) -> StorageSchemaInfo | None:
        """The newest version of the client's schema in the ledger."""
        return self.ledger().last_schema(self.schema.name)

    def get_stored_state(self, pipeline_name: str) -> StateInfo | None:
        """The state after the last complete load of a pipeline."""
        return self.ledger().last_state(pipeline_name)

    def displayable_location(self) -> str:
        """The folder of the dataset, without credentials."""
        return f"{self.config}/{self.dataset_name}"

    def previous_tables(self) -> Mapping[str, Table]:
        """The tables as the last load left them."""
        stored = self.get_stored_schema()
        return Schema.from_dict(json.loads(stored.schema)).tables if stored else {}

    def all_tables(self) -> Mapping[str, Table]:
        """All tables that were ever loaded here, with the columns that any schema has for them."""
        ledger = self.ledger()
        found: dict[str, Table] = {}
        for name, load_id in ledger.snapshot().last_loads().items():
            load = ledger.find_commit(schema_name=name, load_id=load_id)
            stored = load and ledger.find_schema(schema_name=name, version_hash=load.schema_version_hash)
            tables = Schema.from_dict(json.loads(stored.schema)).tables if stored else {}
            for table, told in tables.items():
                base, other = sorted((found.get(table, told), told), key=lambda one: not one.has_seen_data)
                found[table] = base.with_columns(other.columns.values())
        return found

    def session(self) -> SparkSession:
        """The session that this client was opened with."""
        if self._spark is None:
            raise InternalError("a table was to be written without a Spark session")
        return self._spark
