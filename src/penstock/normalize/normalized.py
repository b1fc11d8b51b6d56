"""Marks a package as normalized, and finds what an earlier call left of one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import PackageDamaged
from penstock.package import DataFolder, ParsedLoadJobFileName, TableEntry
from penstock.package.manifest import job_sizes
from penstock.schema import Schema

if TYPE_CHECKING:
    from penstock.normalize.report import NormalizeReport
    from penstock.package import Package


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizedPackage:
    """A package ready to be sealed: its tables, children before their root, and the schema after it."""

    tables: tuple[TableEntry, ...]
    folders: tuple[DataFolder, ...]
    schema: Schema
    report: NormalizeReport | None = None
    """None where it was made by an earlier call."""


def save_normalized(
    package: Package, normalized: NormalizedPackage, *, destination_type: str, schema_before: str | None
) -> None:
    """Mark a package as normalized, for a destination and from a version of the schema."""
    schema = dict(normalized.schema.to_dict())
    package.save_schema(schema)
    # With its schema in one file: a run that is late may write its own at any moment.
    package.mark_normalized(
        {
            "schema": schema,
            "tables": [asdict(entry) for entry in normalized.tables],
            "folders": [folder.to_dict() for folder in normalized.folders],
            "jobs": _job_entries(normalized),
            "destination_type": destination_type,
            "schema_before": schema_before,
        }
    )


def _job_entries(normalized: NormalizedPackage) -> list[dict[str, Any]]:
    """Rows and bytes of each job."""
    sizes = job_sizes(normalized.tables, normalized.folders)
    return [
        {
            "job_id": ParsedLoadJobFileName.parse(entry.job).job_id(),
            "rows": entry.rows,
            "bytes": sizes[entry.job],
        }
        for entry in normalized.tables
    ]


def load_normalized(
    package: Package, *, destination_type: str, schema_before: str | None
) -> NormalizedPackage | None:
    """What a package was normalized to; None where that was for another destination or another schema.

    Names, types and merges are those that the destination can bear, so another one cannot take it.
    """
    found = package.read_normalized()
    if (found.get("destination_type"), found.get("schema_before")) != (destination_type, schema_before):
        return None
    try:
        return NormalizedPackage(
            tables=tuple(TableEntry.from_dict(entry) for entry in found["tables"]),
            folders=tuple(DataFolder.from_dict(folder) for folder in found["folders"]),
            schema=Schema.from_dict(package.normalized_schema()),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise PackageDamaged(path=package.path, reason=f"{error} is missing or wrong in it") from error


def schema_version(schema: Schema) -> str | None:
    """The version of a schema; None for one that nothing was loaded with."""
    return None if schema.is_new else schema.version_hash
