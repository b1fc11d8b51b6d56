"""The changes that a load would make, counted before it is sealed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.interfaces import TableChanges, UnsealedLoad, WithChangeCounts
from penstock.load.plan import chains_of
from penstock.load.run import verify_data_files
from penstock.package.layout import NEW_JOBS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.interfaces import TableState
    from penstock.load.target import LoadTarget
    from penstock.package import Manifest


def affected_tables(manifest: Manifest, target: LoadTarget) -> tuple[str, ...]:
    """Return the tables that a load may change: those of its chains, and those that it drops."""
    chains = chains_of(manifest.tables, target.schema.tables)
    names = [table for chain in chains for table in chain.tables]
    return tuple(dict.fromkeys((*names, *manifest.dropped, *manifest.truncated)))


def count_changes(manifest: Manifest, target: LoadTarget) -> Sequence[TableChanges]:
    """Return the changes of each table; only the rows of the load for a destination that counts no others."""
    package = target.packages.package(manifest.load_id)
    rows = {entry.table: entry.rows for entry in manifest.tables}
    verify_data_files(package, manifest.folders)
    with target.client() as client:
        client.verify_schema(rows)
        if not isinstance(client, WithChangeCounts):
            return [_only_rows(table, count) for table, count in rows.items()]
        return client.count_changes(
            UnsealedLoad(
                job_paths={
                    entry.table: package.store.path(f"{NEW_JOBS}/{entry.job}") for entry in manifest.tables
                },
                rows=rows,
                created_at=package.state()["created_at"],
                mark=manifest.mark,
            )
        )


def table_states(tables: Iterable[str], target: LoadTarget) -> Mapping[str, TableState]:
    """Return the states of those of the tables that exist; none if the destination counts no changes."""
    with target.client() as client:
        return client.table_states(tables) if isinstance(client, WithChangeCounts) else {}


def _only_rows(table: str, rows: int | None) -> TableChanges:
    return TableChanges(
        table=table, inserted=rows, updated=None, deleted=None, ended=None, files=None, file_bytes=None
    )
