"""Refreshed tables of a load: the hint for its jobs, and the drops before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.config import logger
from penstock.interfaces import RENEW, WithTableDrop
from penstock.load.worker import describe_error, is_terminal
from penstock.schema import Schema, Table, root_table

if TYPE_CHECKING:
    from penstock.interfaces import JobClientBase, Renewal
    from penstock.load.target import LoadTarget
    from penstock.package import Manifest

_LOG = logger("penstock.load")


def schema_for_jobs(manifest: Manifest, *, recreates: bool) -> Schema:
    """Return the schema as the jobs of a load see it.

    For a destination that refreshes tables in the replacing commit (`recreates`), the roots of refreshed
    chains carry a hint. The stored schema has no such hint.
    """
    schema = Schema.from_dict(dict(manifest.schema))
    if not recreates or not manifest.is_refresh:
        return schema
    tables = schema.tables
    renewals: dict[str, Renewal] = {
        root_table(name, tables).name: "rows" for name in manifest.truncated if name in tables
    }
    renewals |= {name: "table" for name in manifest.dropped if name in tables and not tables[name].is_nested}
    hinted = (tables[name].with_extras(**{RENEW: renewal}) for name, renewal in renewals.items())
    schema.update(schema.stored.with_tables(hinted))
    return schema


def clear_tables(client: JobClientBase, manifest: Manifest) -> None:
    """Drop and truncate tables before the first job, for destinations that cannot do it with the new rows.

    Until the load is complete readers see these tables empty.
    """
    truncated = [name for name in manifest.truncated if name in client.schema.tables]
    if manifest.dropped and isinstance(client, WithTableDrop):
        client.drop_tables(*manifest.dropped)
    else:
        truncated += [name for name in manifest.dropped if name in client.schema.tables]
    if truncated:
        client.initialize_storage(truncate_tables=truncated)


def drop_removed_tables(target: LoadTarget, manifest: Manifest, *, is_last_attempt: bool) -> None:
    """Drop removed tables after the load is committed. Idempotent.

    A table that cannot be dropped is logged and must not block the pipeline. A transient error is raised
    unless this `is_last_attempt`. The lease is checked before each drop: a run that has taken over may have
    created a table of the same name.
    """
    removed = manifest.removed_tables
    if not removed:
        return
    # A client finds a table by the definition that it had.
    schema = Schema.from_dict(dict(manifest.schema))
    schema.update(
        schema.stored.with_tables(Table.from_dict(table, name=name) for name, table in removed.items())
    )
    with target.client(schema) as client:
        if not isinstance(client, WithTableDrop):
            _LOG.warning("the destination cannot drop tables: %s remain", ", ".join(removed))
            return
        for name in removed:
            target.assert_leased()
            try:
                client.drop_tables(name)
            except Exception as error:  # third-party code may raise anything
                if not is_last_attempt and not is_terminal(error):
                    raise
                _LOG.error(
                    "table %s is no longer part of the dataset but was not dropped: %s",
                    name,
                    describe_error(error),
                )
