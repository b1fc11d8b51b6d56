"""Tables that begin anew with a load: how jobs are told of it, and what is dropped when."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.config import logger
from penstock.interfaces import RENEW, WithTableDrop
from penstock.load.failures import describe_error, is_terminal
from penstock.schema import Schema, Table, root_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.interfaces import JobClientBase, Renewal
    from penstock.load.worker import ClientFactory
    from penstock.package import Manifest

_LOG = logger("penstock.load")


def schema_for_jobs(manifest: Manifest, *, recreates: bool) -> Schema:
    """The schema as the jobs of a load see it.

    A destination that `renews` tables is told which of their chains begin anew, by a hint of their roots.
    The schema that is stored has no such hint.
    """
    schema = Schema.from_dict(dict(manifest.schema))
    if not recreates or not manifest.is_refresh:
        return schema
    tables = schema.tables
    how: dict[str, Renewal] = {
        root_table(name, tables).name: "rows" for name in manifest.truncated if name in tables
    }
    how |= {name: "table" for name in manifest.dropped if name in tables and not tables[name].is_nested}
    schema.update(
        schema.stored.with_tables(tables[name].with_extras(**{RENEW: said}) for name, said in how.items())
    )
    return schema


def clear_tables(client: JobClientBase, manifest: Manifest) -> None:
    """Drop and empty tables before the first job, for destinations that cannot do it with their rows.

    Until the load is complete readers find them empty.
    """
    emptied = [name for name in manifest.truncated if name in client.schema.tables]
    if manifest.dropped and isinstance(client, WithTableDrop):
        client.drop_tables(*manifest.dropped)
    else:
        emptied += [name for name in manifest.dropped if name in client.schema.tables]
    if emptied:
        client.initialize_storage(truncate_tables=emptied)


def drop_removed_tables(
    client_factory: ClientFactory,
    manifest: Manifest,
    assert_leased: Callable[[], None],
    *,
    is_last_attempt: bool,
) -> None:
    """Drop tables that a load has let go, once it counts; safe to call again.

    One that cannot be dropped stays, and is told: it must not keep the pipeline from going on. What may pass
    is raised, unless this try `is_last`. `check` raises when another run has taken over, which may have made
    a table of the same name.
    """
    gone = manifest.removed_tables
    if not gone:
        return
    schema = Schema.from_dict(dict(manifest.schema))
    # A client finds a table by what it was.
    schema.update(
        schema.stored.with_tables(Table.from_dict(table, name=name) for name, table in gone.items())
    )
    with replace(client_factory, schema=schema).client() as client:
        if not isinstance(client, WithTableDrop):
            _LOG.warning("%s stay: the destination cannot drop tables", ", ".join(gone))
            return
        for name in gone:
            assert_leased()
            try:
                client.drop_tables(name)
            except Exception as error:  # a stranger's code may raise anything
                if not is_last_attempt and not is_terminal(error):
                    raise
                _LOG.error(
                    "table %s is not part of the dataset any more, and stays: %s", name, describe_error(error)
                )
