"""Where Iceberg tables are, which catalog knows them, and what they are like."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, ClassVar, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_serializer, field_validator

from penstock.config import NotResolved, SecretText, configspec, redact
from penstock.destinations.lake.ddl import property_text
from penstock.destinations.lake.settings import LakeConfiguration
from penstock.errors import UsageError
from penstock.redaction import MASK, is_secret_name
from penstock.spark.paths import spark_path
from penstock.spark.s3 import s3a_conf

CommitMode = Literal["branch", "direct"]
"""How commits are made: on a branch first, or right where readers see them."""
MANAGED_CATALOGS: Final = ("hadoop", "jdbc", "rest", "glue", "hive")
"""Catalogs that penstock sets up itself; any other word is the name of one that the session has."""
# Spark asks whether a name that is no table is a view, and older tables of a database have no answer.
_JDBC_SCHEMA_VERSION: Final = "V1"
# A new metadata file gets its name by a rename there, and of two writers one finds it taken.
_ATOMIC_RENAME_SCHEMES: Final = frozenset(("", "file", "hdfs", "viewfs"))
_JDBC_CATALOG_NAME: Final = "penstock"
_LOCK_PROPERTY: Final = "lock-impl"
_CATALOG_CLASS: Final = "org.apache.iceberg.spark.SparkCatalog"
_MODE_PROPERTIES: Final = ("write.merge.mode", "write.update.mode", "write.delete.mode")


@configspec
class IcebergConfiguration(LakeConfiguration):
    """The settings of one lake.

    `dlt.destinations.filesystem` is how dlt finds its own way to such tables.
    """

    destination_type: ClassVar[str] = "dlt.destinations.filesystem"
    destination_name: Annotated[str | None, NotResolved()] = "iceberg"

    catalog: str = "hadoop"
    """`hadoop`, `jdbc`, `rest`, `glue` or `hive`, or the name of a catalog that the session has."""
    catalog_properties: dict[str, Any] = Field(default_factory=dict)
    """What else the catalog is told, such as `uri`, `warehouse` and `jdbc.password`."""
    catalog_name: str | None = None
    """How sessions call a catalog that penstock sets up; one in a database has its tables by that name."""
    table_properties: dict[str, Any] | None = None
    """Properties that all tables have, such as `write.parquet.compression-codec`; kept so at every load."""
    merge_mode: Literal["copy-on-write", "merge-on-read"] | None = None
    """Whether a merge writes files anew or notes which rows are gone; None leaves it to the tables."""
    target_file_size: Annotated[int | None, Field(gt=0)] = None
    """Bytes that a file should have; None leaves it to the tables."""
    commits: CommitMode = "branch"
    """`direct` for catalogs without branches: then the lease alone keeps attempts of one load apart."""
    optimize: bool = False
    """Whether small files are joined after each load, in the tables that it wrote to."""
    expire_hours: Annotated[float | None, Field(ge=0)] = None
    """Snapshots older than this are expired after each load, with files that only they need; None: never."""

    @field_validator("catalog_properties")
    @classmethod
    def _wrap_secrets(cls, values: dict[str, Any]) -> dict[str, Any]:
        texts = {key: property_text(value) for key, value in values.items()}
        return {key: SecretText(text) if is_secret_name(key) else text for key, text in texts.items()}

    @field_serializer("catalog_properties", when_used="json")
    def _mask(self, values: dict[str, Any]) -> dict[str, Any]:
        return {key: MASK if is_secret_name(key) else redact(value) for key, value in values.items()}

    @property
    def properties(self) -> dict[str, Any]:
        """The properties that all tables have."""
        found: dict[str, Any] = dict.fromkeys(_MODE_PROPERTIES, self.merge_mode)
        found["write.target-file-size-bytes"] = self.target_file_size
        return {key: value for key, value in found.items() if value is not None} | (
            self.table_properties or {}
        )

    @property
    def is_managed(self) -> bool:
        """Whether penstock sets the catalog up itself."""
        return self.catalog in MANAGED_CATALOGS

    @property
    def is_by_path(self) -> bool:
        """Whether tables are found by their folders."""
        return self.catalog == "hadoop" and "warehouse" not in self.catalog_properties

    @property
    def session_catalog_name(self) -> str:
        """How the catalog is called in sessions: a name of its own, unless the session has it.

        A catalog in a database finds its tables by that name: it must be the same whoever spells the address.
        """
        if not self.is_managed:
            return self.catalog
        if self.catalog_name is not None:
            return self.catalog_name
        return (
            _JDBC_CATALOG_NAME if self.catalog == "jdbc" else f"penstock_{self.catalog}_{self.fingerprint()}"
        )

    def session_conf(self) -> dict[str, str]:
        """What a session must be told to know the catalog. It never remembers tables as they were."""
        key = f"spark.sql.catalog.{self.session_catalog_name}"
        if not self.is_managed:
            return {f"{key}.cache-enabled": "false"}
        found = {"type": self.catalog}
        if self.catalog != "rest" and self.bucket_url:
            found["warehouse"] = spark_path(self.bucket_url)
        if self.catalog == "jdbc":
            found["jdbc.schema-version"] = _JDBC_SCHEMA_VERSION
        found |= self.catalog_properties
        found["cache-enabled"] = "false"
        keys = s3a_conf(found.get("warehouse"), self.storage_credentials)
        found |= {f"hadoop.{name}": value for name, value in keys.items()}
        return {key: _CATALOG_CLASS, **{f"{key}.{name}": value for name, value in found.items()}}

    def fingerprint(self) -> str:
        """A hash of the catalog and the location; empty where neither is set."""
        shown = redact(self.bucket_url) if self.bucket_url else ""
        places = [redact(str(self.catalog_properties.get(name, ""))) for name in ("uri", "warehouse")]
        told = " ".join((self.catalog, shown, *places)) if shown or any(places) or not self.is_by_path else ""
        return hashlib.shake_128(told.encode()).hexdigest(8) if told else ""

    def __str__(self) -> str:
        """The catalog, or the location without credentials."""
        if not self.is_by_path:
            return self.catalog
        return redact(self.bucket_url).rstrip("/") if self.bucket_url else self.destination_name or "iceberg"

    def check_warehouse(self) -> None:
        """Refuse a catalog of files where two writers could take the same name for their commits."""
        warehouse = self.catalog_properties.get("warehouse", self.bucket_url or "")
        scheme = urlsplit(str(warehouse)).scheme
        if (
            self.catalog == "hadoop"
            and scheme not in _ATOMIC_RENAME_SCHEMES
            and _LOCK_PROPERTY not in self.catalog_properties
        ):
            raise UsageError(
                f"a catalog of files on {scheme}: loses commits when two writers meet",
                hint="use catalog='jdbc', 'rest', 'glue' or 'hive', or name a lock in catalog_properties, "
                f"such as {_LOCK_PROPERTY}=org.apache.iceberg.aws.dynamodb.DynamoDbLockManager",
            )
