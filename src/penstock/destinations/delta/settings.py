"""Where a Delta lake is, and what its tables are like."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Self

from pydantic import Field

from penstock.config import NotResolved, configspec, redact
from penstock.destinations.delta.ddl import ALTERABLE_TYPES, TYPE_WIDENING, is_true
from penstock.destinations.lake.settings import LakeConfiguration
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.schema.types import DataType

SAFE_VACUUM_HOURS: Final = 168.0
"""Below this Delta refuses to delete files, unless its check is switched off."""


@configspec
class DeltaConfiguration(LakeConfiguration):
    """The settings of one lake.

    `dlt.destinations.filesystem` is how dlt finds its own way to the same tables.
    """

    destination_type: ClassVar[str] = "dlt.destinations.filesystem"
    destination_name: Annotated[str | None, NotResolved()] = "delta"

    catalog: str | None = None
    """A catalog of Spark's: tables are `<catalog>.<dataset>.<table>` then, and it says where they are."""
    table_properties: dict[str, Any] | None = None
    """Properties that all tables have, such as `delta.logRetentionDuration`; kept so at every load."""
    target_file_size: Annotated[int | None, Field(gt=0)] = None
    """Bytes that a file should have; None leaves it to Spark."""
    optimize: bool = False
    """Whether small files are joined after each load, in the tables that it wrote to."""
    vacuum_hours: Annotated[float | None, Field(ge=0)] = None
    """Files that no version of the last so many hours needs are deleted after each load; None: never."""
    allow_short_vacuum: bool = False
    """Whether `vacuum_hours` may be less than a week, which switches Delta's own check off."""

    def bound(self, **context: Any) -> Self:
        """Refuse to delete files of the last week unless the user allows it."""
        if (
            self.vacuum_hours is not None
            and self.vacuum_hours < SAFE_VACUUM_HOURS
            and not self.allow_short_vacuum
        ):
            name = self.destination_name or "delta"
            raise UsageError(
                f"vacuum_hours is {self.vacuum_hours:g}, and Delta keeps files for "
                f"{SAFE_VACUUM_HOURS:g} hours: "
                "readers, loads that are not finished, undo and reads of older versions need them",
                hint=f"set destination.{name}.vacuum_hours to {SAFE_VACUUM_HOURS:g} or more, "
                "or accept that with "
                f"destination.{name}.allow_short_vacuum = true",
            )
        return super().bound(**context)

    @property
    def properties(self) -> dict[str, Any]:
        """The properties that all tables have."""
        return self.table_properties or {}

    @property
    def alterable_types(self) -> frozenset[tuple[DataType, DataType]]:
        """Columns may get a larger type where all tables have the property that allows it."""
        return ALTERABLE_TYPES if is_true(self.properties.get(TYPE_WIDENING)) else frozenset()

    def fingerprint(self) -> str:
        """A hash of the location; empty where none is set."""
        shown = redact(self.bucket_url) if self.bucket_url else ""
        # A location alone keeps the hash that it had before there were catalogs.
        told = f"{self.catalog} {shown}" if self.catalog else shown
        return hashlib.shake_128(told.encode()).hexdigest(8) if told else ""

    def __str__(self) -> str:
        """The catalog, or the location without credentials."""
        if self.catalog:
            return self.catalog
        return redact(self.bucket_url).rstrip("/") if self.bucket_url else self.destination_name or "delta"
