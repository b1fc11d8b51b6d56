"""Tables as of the last complete load, for resources that compare their source with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.dataset.view import DatasetSource, DatasetView
from penstock.interfaces.deletions import LoadedTable
from penstock.interfaces.run_context import current_context

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.pipeline.workspace import Workspace


def read_loaded_table(workspace: Workspace, name: str, session: SparkSession) -> LoadedTable | None:
    """Return a table of the current source, read in a session; None if nothing was loaded into it."""
    schema = workspace.snapshot(current_context().source_name).schema
    naming = workspace.naming(schema)
    table = schema.tables.get(naming.normalize_tables_path(name))
    if table is None or not table.has_seen_data:
        return None
    source = DatasetSource(client=workspace.client, ledger=workspace.ledger, sessions=workspace.sessions)
    view = DatasetView(source, name=workspace.target.pipeline.dataset_name, consistent=True)
    has_nested_tables = any(
        other.parent == table.name and other.has_seen_data for other in schema.tables.values()
    )
    frame = view.read(table.name, session)
    return LoadedTable(frame=frame, table=table, naming=naming, has_nested_tables=has_nested_tables)
