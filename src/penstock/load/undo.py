"""The undo of complete loads: which loads it takes back, and the restore of their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import InternalError
from penstock.interfaces import AppliedJob, WithTableRestore, restore_refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces import CommitRecord, Ledger
    from penstock.load.target import LoadTarget
    from penstock.package import Manifest


def loads_of_pipeline(ledger: Ledger, pipeline_name: str) -> Iterator[CommitRecord]:
    """Yield the complete loads of a pipeline, newest first; each is read when it is needed."""
    for load in reversed(ledger.complete_loads()):
        record = ledger.find_commit(schema_name=load.schema_name, load_id=load.load_id)
        if record is not None and record.pipeline_name == pipeline_name and record.status == 0:
            yield record


def own_load_ids(ledger: Ledger, pipeline_name: str, *, since: str) -> frozenset[str]:
    """Return the ids of the complete loads of a pipeline from one on."""
    ids: set[str] = set()
    for record in loads_of_pipeline(ledger, pipeline_name):
        ids.add(record.load_id)
        if record.load_id == since:
            break
    return frozenset(ids)


def restore_tables(manifest: Manifest, target: LoadTarget) -> dict[str, AppliedJob]:
    """Restore the tables of a sealed undo, and return the commits by table. Idempotent.

    Tables that the undone loads created are dropped after the commit of the load; here they are checked.
    Raise if another writer has changed a table since the undo was planned, unless the undo overwrites.
    """
    undo = manifest.undo
    if undo is None:
        return {}
    own_loads = own_load_ids(target.ledger, manifest.pipeline_name, since=undo.load_ids[0])
    applied: dict[str, AppliedJob] = {}
    with target.client() as client:
        if not isinstance(client, WithTableRestore):
            raise InternalError(f"{type(client).__name__} cannot restore tables", hint="report this")
        for planned in undo.tables:
            target.assert_leased()
            if planned.version is not None:
                applied[planned.table] = client.restore(planned, manifest.mark, overwrites=undo.overwrites)
                continue
            current = client.plan_restore(planned.table, None, own_loads)
            if current.other_changes != planned.other_changes and not undo.overwrites:
                raise restore_refused(planned.table, current.other_changes)
    return applied
