"""How control files of older releases become those of this one: one numbered module for each version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from penstock.errors import InternalError
from penstock.package.migrations import (
    v0002_sealed_folders,
    v0003_several_parts,
    v0004_raw_values,
    v0005_refresh,
    v0006_frame_files,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


class Migration(Protocol):
    """A module `vNNNN_what.py`."""

    VERSION: int

    def upgrade(self, kind: str, document: dict[str, Any]) -> dict[str, Any]:
        """A document of the version before, as this version writes it."""


MIGRATIONS: Final[tuple[Migration, ...]] = (
    v0002_sealed_folders,
    v0003_several_parts,
    v0004_raw_values,
    v0005_refresh,
    v0006_frame_files,
)
"""In order, without gaps: the first brings version 1 to version 2."""


def latest_version(migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """The version that this release writes; a gap or a double in the chain is an error of ours."""
    versions = [1, *(migration.VERSION for migration in migrations)]
    if versions != list(range(1, len(versions) + 1)):
        raise InternalError(f"the migrations of packages are not in order: {versions}", hint="report this")
    return versions[-1]


def apply_migrations(
    kind: str, document: dict[str, Any], *, version: int, migrations: Sequence[Migration] = MIGRATIONS
) -> dict[str, Any]:
    """The document after every migration that it has not seen."""
    for migration in migrations:
        if version < migration.VERSION:
            document = migration.upgrade(kind, document)
    return document
