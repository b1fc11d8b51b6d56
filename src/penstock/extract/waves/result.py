"""The results of waves: tables of a package, and row counts of resources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.extract.waves.executor_task import QUARANTINE_PART, TABLE_PART_PREFIX
from penstock.interfaces.items import TableNameMark
from penstock.package.extract_manifest import ExtractedTable
from penstock.package.quarantine import QUARANTINE_TABLE as QUARANTINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.errors import PenstockError
    from penstock.extract.nodes import Node
    from penstock.extract.routing import TableRouter
    from penstock.extract.waves.checkpoints import Wave


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveResult:
    """Tables that executors have written, with written and quarantined rows of each resource."""

    tables: list[ExtractedTable] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    quarantined_rows: dict[str, int] = field(default_factory=dict)
    failures: dict[str, PenstockError] = field(default_factory=dict)
    """The errors of failed resources, if the others continue."""

    def add(self, other: WaveResult) -> None:
        """Add another result."""
        self.tables.extend(other.tables)
        self.rows.update(other.rows)
        self.quarantined_rows.update(other.quarantined_rows)
        self.failures.update(other.failures)


def wave_tables(node: Node, waves: Sequence[Wave], router: TableRouter) -> list[ExtractedTable]:
    """Return the tables of a resource by wave, and declare them as rows on the driver do."""
    tables: list[ExtractedTable] = []
    for part in sorted({part for wave in waves for part in wave.rows}):
        table, resource, disposition = QUARANTINE, QUARANTINE, "append"
        if part != QUARANTINE_PART:
            named = (
                bytes.fromhex(part.removeprefix(TABLE_PART_PREFIX)).decode()
                if part.startswith(TABLE_PART_PREFIX)
                else None
            )
            mark = None if named is None else TableNameMark(named)
            ((route, _),) = node.run(router.routes, node.stream, [], mark)
            if not route.is_selected:
                continue
            table, resource = route.table, route.resource
            disposition = router.tables[table].write_disposition or "append"
        tables += [
            ExtractedTable(
                table=table,
                resource=resource,
                write_disposition=disposition,
                folder=f"{wave.folder}/part={part}",
                rows=wave.rows[part],
                bytes=wave.sizes[part],
                files=wave.files,
            )
            for wave in waves
            if part in wave.rows
        ]
    return tables
