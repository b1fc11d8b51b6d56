"""The settings of a Delta lake."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Self

from pydantic import Field

from penstock.config import NotResolved, configspec, redact
from penstock.destinations.delta.ddl import ALTERABLE_TYPES, TYPE_WIDENING, is_true
from penstock.destinations.lake.settings import LakeConfiguration
from penstock.errors import UsageError
from penstock.spark.paths import local_path
from penstock.spark.s3 import object_store_options

if TYPE_CHECKING:
    from penstock.schema.types import DataType

SAFE_VACUUM_HOURS: Final = 168.0
"""Below this Delta refuses to delete files, unless its check is disabled."""


@configspec
class DeltaConfiguration(LakeConfiguration):
    """The settings of one lake.

    `destination_type` is the destination by which dlt continues the same tables.
    """

    destination_type: ClassVar[str] = "dlt.destinations.filesystem"
    destination_name: Annotated[str | None, NotResolved()] = "delta"

    catalog: str | None = None
    """A Spark catalog with the tables `<catalog>.<dataset>.<table>`; it determines their location."""
    table_properties: dict[str, Any] | None = None
    """Properties of all tables, such as `delta.logRetentionDuration`; each load sets them again."""
    target_file_size: Annotated[int | None, Field(gt=0)] = None
    """The target size of a file in bytes; None leaves it to Spark."""
    optimize: bool = False
    """Whether small files are compacted after each load, in the tables that it wrote to."""
    vacuum_hours: Annotated[float | None, Field(ge=0)] = None
    """After each load delete files that no version of the last so many hours needs; None: never."""
    allow_short_vacuum: bool = False
    """Whether `vacuum_hours` may be less than a week, which disables Delta's own check."""
    commit_by_reference: bool = True
    """Whether files are committed without Spark, to tables by path that are known to take them: on local
    disks, and on S3 with keys in the settings."""

    def bound(self, **context: Any) -> Self:
        """Resolve the location, and refuse to delete files of the last week unless the user allows it."""
        if (
            self.vacuum_hours is not None
            and self.vacuum_hours < SAFE_VACUUM_HOURS
            and not self.allow_short_vacuum
        ):
            name = self.destination_name or "delta"
            raise UsageError(
                f"vacuum_hours is {self.vacuum_hours:g}, and Delta keeps files for "
                f"{SAFE_VACUUM_HOURS:g} hours: "
                "readers, unfinished loads, undo and reads of older versions need them",
                hint=f"set destination.{name}.vacuum_hours to {SAFE_VACUUM_HOURS:g} or more, "
                f"or accept the risk with destination.{name}.allow_short_vacuum = true",
            )
        return super().bound(**context)

    @property
    def properties(self) -> dict[str, Any]:
        """The properties of all tables."""
        return self.table_properties or {}

    @property
    def alterable_types(self) -> frozenset[tuple[DataType, DataType]]:
        """The types that columns can be widened from and to, if all tables have the property for it."""
        return ALTERABLE_TYPES if is_true(self.properties.get(TYPE_WIDENING)) else frozenset()

    @property
    def commits_by_reference(self) -> bool:
        """Return whether files are committed without Spark where a table takes them.

        >>> DeltaConfiguration(bucket_url="/lake").commits_by_reference
        True
        >>> DeltaConfiguration(bucket_url="gs://lake").commits_by_reference
        False
        """
        if self.catalog or not self.commit_by_reference or find_spec("deltalake") is None:
            return False
        address = self.bucket_url or ""
        return (
            local_path(address) is not None
            or object_store_options(address, self.storage_credentials) is not None
        )

    @property
    def loads_without_spark(self) -> bool:
        """Return whether files of small tables are committed by reference: without Spark."""
        return self.commits_by_reference

    def fingerprint(self) -> str:
        """Return a hash of the location; empty if none is set."""
        location = redact(self.bucket_url) if self.bucket_url else ""
        text = f"{self.catalog} {location}" if self.catalog else location
        return hashlib.shake_128(text.encode()).hexdigest(8) if text else ""

    def __str__(self) -> str:
        """Return the catalog, or the location without credentials."""
        if self.catalog:
            return self.catalog
        return redact(self.bucket_url).rstrip("/") if self.bucket_url else self.destination_name or "delta"
