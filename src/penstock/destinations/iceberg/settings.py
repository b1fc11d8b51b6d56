"""The settings of an Iceberg lake and its catalog."""

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
"""How commits are made: staged on a branch, or directly on `main`."""
MANAGED_CATALOGS: Final = ("hadoop", "jdbc", "rest", "glue", "hive")
"""Catalogs that penstock configures; any other word is the name of a catalog of the session."""
# Spark looks names up as views too, for which the older schema of a database has no column.
_JDBC_SCHEMA_VERSION: Final = "V1"
# A rename is atomic there: of two writers that create the same metadata file one fails.
_ATOMIC_RENAME_SCHEMES: Final = frozenset(("", "file", "hdfs", "viewfs"))
_JDBC_CATALOG_NAME: Final = "penstock"
_LOCK_PROPERTY: Final = "lock-impl"
_CATALOG_CLASS: Final = "org.apache.iceberg.spark.SparkCatalog"
_MODE_PROPERTIES: Final = ("write.merge.mode", "write.update.mode", "write.delete.mode")


@configspec
class IcebergConfiguration(LakeConfiguration):
    """The settings of one lake.

    `destination_type` is the destination by which dlt continues such tables.
    """

    destination_type: ClassVar[str] = "dlt.destinations.filesystem"
    destination_name: Annotated[str | None, NotResolved()] = "iceberg"

    catalog: str = "hadoop"
    """`hadoop`, `jdbc`, `rest`, `glue` or `hive`, or the name of a catalog of the session."""
    catalog_properties: dict[str, Any] = Field(default_factory=dict)
    """Other properties of the catalog, such as `uri`, `warehouse` and `jdbc.password`."""
    catalog_name: str | None = None
    """The name of a managed catalog in sessions; a catalog in a database finds its tables by that name."""
    table_properties: dict[str, Any] | None = None
    """Properties of all tables, such as `write.parquet.compression-codec`; each load sets them again."""
    merge_mode: Literal["copy-on-write", "merge-on-read"] | None = None
    """Whether a merge rewrites files or writes delete files; None leaves it to the tables."""
    target_file_size: Annotated[int | None, Field(gt=0)] = None
    """The target size of a file in bytes; None leaves it to the tables."""
    commits: CommitMode = "branch"
    """`direct` is for catalogs without branches: only the lease prevents concurrent attempts of a load."""
    optimize: bool = False
    """Whether small files are compacted after each load, in the tables that it wrote to."""
    expire_hours: Annotated[float | None, Field(ge=0)] = None
    """After each load expire snapshots older than this, with files that only they need; None: never."""

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
        """The properties of all tables."""
        properties: dict[str, Any] = dict.fromkeys(_MODE_PROPERTIES, self.merge_mode)
        properties["write.target-file-size-bytes"] = self.target_file_size
        return {key: value for key, value in properties.items() if value is not None} | (
            self.table_properties or {}
        )

    @property
    def is_managed(self) -> bool:
        """Whether penstock configures the catalog."""
        return self.catalog in MANAGED_CATALOGS

    @property
    def is_by_path(self) -> bool:
        """Whether tables are addressed by their folders."""
        return self.catalog == "hadoop" and "warehouse" not in self.catalog_properties

    @property
    def session_catalog_name(self) -> str:
        """The name of the catalog in sessions.

        A catalog in a database finds its tables by that name, so it does not depend on the address.
        """
        if not self.is_managed:
            return self.catalog
        if self.catalog_name is not None:
            return self.catalog_name
        return (
            _JDBC_CATALOG_NAME if self.catalog == "jdbc" else f"penstock_{self.catalog}_{self.fingerprint()}"
        )

    def session_conf(self) -> dict[str, str]:
        """Return the session settings of the catalog, with its cache disabled."""
        key = f"spark.sql.catalog.{self.session_catalog_name}"
        if not self.is_managed:
            return {f"{key}.cache-enabled": "false"}
        properties = {"type": self.catalog}
        if self.catalog != "rest" and self.bucket_url:
            properties["warehouse"] = spark_path(self.bucket_url)
        if self.catalog == "jdbc":
            properties["jdbc.schema-version"] = _JDBC_SCHEMA_VERSION
        properties |= self.catalog_properties
        properties["cache-enabled"] = "false"
        store_conf = s3a_conf(properties.get("warehouse"), self.storage_credentials)
        properties |= {f"hadoop.{name}": value for name, value in store_conf.items()}
        return {key: _CATALOG_CLASS, **{f"{key}.{name}": value for name, value in properties.items()}}

    def fingerprint(self) -> str:
        """Return a hash of the catalog and the location; empty if neither is set."""
        location = redact(self.bucket_url) if self.bucket_url else ""
        addresses = [redact(str(self.catalog_properties.get(name, ""))) for name in ("uri", "warehouse")]
        if not (location or any(addresses)) and self.is_by_path:
            return ""
        text = " ".join((self.catalog, location, *addresses))
        return hashlib.shake_128(text.encode()).hexdigest(8)

    def __str__(self) -> str:
        """Return the catalog, or the location without credentials."""
        if not self.is_by_path:
            return self.catalog
        return redact(self.bucket_url).rstrip("/") if self.bucket_url else self.destination_name or "iceberg"

    def check_warehouse(self) -> None:
        """Raise if two writers of a catalog of files could overwrite each other's commits."""
        warehouse = self.catalog_properties.get("warehouse", self.bucket_url or "")
        scheme = urlsplit(str(warehouse)).scheme
        if (
            self.catalog == "hadoop"
            and scheme not in _ATOMIC_RENAME_SCHEMES
            and _LOCK_PROPERTY not in self.catalog_properties
        ):
            raise UsageError(
                f"a catalog of files on {scheme}: loses commits of concurrent writers",
                hint="use catalog='jdbc', 'rest', 'glue' or 'hive', or name a lock in catalog_properties, "
                f"such as {_LOCK_PROPERTY}=org.apache.iceberg.aws.dynamodb.DynamoDbLockManager",
            )
