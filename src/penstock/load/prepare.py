"""Makes the destination ready for a load: its place, its tables, and an empty staging dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.interfaces import WithStagingDataset
from penstock.load.plan import Chain, schema_update
from penstock.load.refresh import clear_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.interfaces import JobClientBase
    from penstock.package import Manifest, Package
    from penstock.schema import Table


def prepare_destination(
    client: JobClientBase,
    package: Package,
    chains: Sequence[Chain],
    tables_before: Callable[[], Mapping[str, Table]],
    manifest_to_clear: Manifest | None = None,
) -> frozenset[str]:
    """Make ready; gives the jobs whose rows go to the staging dataset.

    Tables are changed and emptied once a load, before its first job: not again when it is resumed. With
    `clear` those of the load that begin anew are cleared first.
    """
    staged = tuple(chain for chain in chains if chain.write_disposition in _stage_dispositions(client))
    client.initialize_storage()
    if package.applied_schema_updates() is None:
        if manifest_to_clear is not None and manifest_to_clear.is_refresh:
            clear_tables(client, manifest_to_clear)
        tables = [table for chain in chains for table in chain.tables]
        update = schema_update(tables_before(), client.schema.tables, tables)
        applied = client.update_stored_schema(tables, update)
        if staged:
            _prepare_staging(client, [table for chain in staged for table in chain.tables])
        package.commit_schema_updates(applied or {})
    return frozenset(job for chain in staged for job in chain.jobs)


def _stage_dispositions(client: JobClientBase) -> Sequence[str]:
    return client.get_stage_dispositions() if isinstance(client, WithStagingDataset) else ()


def _prepare_staging(client: JobClientBase, tables: Sequence[str]) -> None:
    """Rows of a load that died may stand there; those of this load do not yet."""
    if isinstance(client, WithStagingDataset):
        with client.with_staging_dataset() as staging:
            staging.initialize_storage()
            staging.update_stored_schema(tables)
            staging.initialize_storage(truncate_tables=tables)
