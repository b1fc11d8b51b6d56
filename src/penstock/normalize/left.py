"""What an earlier call left of a package, where it can still be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import PackageDamaged
from penstock.package import DataFolder, TableEntry
from penstock.package.record import fitting
from penstock.schema import Schema

if TYPE_CHECKING:
    from penstock.normalize.report import NormalizeReport
    from penstock.package import Package


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalized:
    """A package ready to be sealed: its tables, children before their root, and the schema after it."""

    tables: tuple[TableEntry, ...]
    folders: tuple[DataFolder, ...]
    schema: Schema
    schema_before: str | None
    """The version of the schema that it was made with; None for a new one."""
    report: NormalizeReport | None = None
    """None where it was made by an earlier call."""


def left_of(package: Package, *, destination_type: str) -> Normalized | None:
    """What a package was normalized to for a destination; None where that is not known.

    Names, types and merges are those that the destination can bear, so another one cannot take it.
    """
    found = package.normalized()
    if found.get("destination_type") != destination_type:
        return None
    try:
        return Normalized(
            tables=tuple(fitting(TableEntry(**entry)) for entry in found["tables"]),
            folders=tuple(DataFolder.from_dict(folder) for folder in found["folders"]),
            schema=Schema.from_dict(package.schema()),
            schema_before=found["schema_before"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise PackageDamaged(path=package.path, reason=f"{error} is missing or wrong in it") from error


def version_of(schema: Schema) -> str | None:
    """The version of a schema; None for one that nothing was loaded with."""
    return None if schema.is_new else schema.version_hash
