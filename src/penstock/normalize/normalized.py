"""The normalized state of a package: the tables, folders and schema that a seal needs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import PackageDamaged
from penstock.package import DataFolder, ParsedLoadJobFileName, TableEntry
from penstock.package.checks import CheckResult
from penstock.package.manifest import job_sizes
from penstock.schema import Schema
from penstock.schema.origin import ColumnOrigin

if TYPE_CHECKING:
    from penstock.normalize.report import NormalizeReport
    from penstock.package import Package


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizedPackage:
    """A package that can be sealed: its tables, children before their root, and the schema after it."""

    tables: tuple[TableEntry, ...]
    folders: tuple[DataFolder, ...]
    schema: Schema
    origins: tuple[ColumnOrigin, ...] = ()
    """The origins of columns and types that are not in the schema before it."""
    checks: tuple[CheckResult, ...] = ()
    """The results of the checks of its rows."""
    report: NormalizeReport | None = None
    """None if an earlier call normalized the package."""

    @property
    def prevents_load(self) -> bool:
        """Whether a check failed that stops the load."""
        return any(result.prevents_load for result in self.checks)


def save_normalized(
    package: Package, normalized: NormalizedPackage, *, destination_type: str, schema_before: str | None
) -> None:
    """Mark a package as normalized for a destination type and on top of a schema version."""
    schema = dict(normalized.schema.to_dict())
    package.save_schema(schema)
    # With the schema in the same file: a slower concurrent run may overwrite the schema file at any time.
    package.mark_normalized(
        {
            "schema": schema,
            "tables": [asdict(entry) for entry in normalized.tables],
            "folders": [folder.to_dict() for folder in normalized.folders],
            "jobs": _job_entries(normalized),
            "origins": [asdict(origin) for origin in normalized.origins],
            "checks": [result.to_dict() for result in normalized.checks],
            "destination_type": destination_type,
            "schema_before": schema_before,
        }
    )


def _job_entries(normalized: NormalizedPackage) -> list[dict[str, Any]]:
    """Return the rows and bytes of each job."""
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
    """Return the saved result; None if it is for another destination type or on top of another schema.

    Names, types and merges depend on what the destination supports, so that another one cannot load it.
    """
    document = package.read_normalized()
    if (document.get("destination_type"), document.get("schema_before")) != (destination_type, schema_before):
        return None
    try:
        return NormalizedPackage(
            tables=tuple(TableEntry.from_dict(entry) for entry in document["tables"]),
            folders=tuple(DataFolder.from_dict(folder) for folder in document["folders"]),
            schema=Schema.from_dict(package.normalized_schema()),
            origins=tuple(ColumnOrigin.from_dict(origin) for origin in document.get("origins", ())),
            checks=tuple(CheckResult(**result) for result in document.get("checks", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise PackageDamaged(path=package.path, reason=f"{error} is missing or wrong in it") from error


def schema_version(schema: Schema) -> str | None:
    """Return the version hash of a schema; None if it is new."""
    return None if schema.is_new else schema.version_hash
