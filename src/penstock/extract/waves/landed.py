"""What ran elsewhere, as extract reports it: tables of a package, and rows of resources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.extract.waves.there import ASIDE, TABLE
from penstock.interfaces.items import TableNameMark
from penstock.package.extracted import ExtractedTable
from penstock.package.quarantine import TABLE as QUARANTINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.errors import PenstockError
    from penstock.extract.nodes import Node
    from penstock.extract.tables import TableBook
    from penstock.extract.waves.ledger import Wave


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """Tables whose rows executors have written, and how many rows each resource gave or had put aside."""

    tables: list[ExtractedTable] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    put_aside: dict[str, int] = field(default_factory=dict)
    failures: dict[str, PenstockError] = field(default_factory=dict)
    """What ended a resource, where the others go on without it."""

    def add(self, other: Landed) -> None:
        """Take in what has landed since."""
        self.tables.extend(other.tables)
        self.rows.update(other.rows)
        self.put_aside.update(other.put_aside)
        self.failures.update(other.failures)


def landed_tables(node: Node, waves: Sequence[Wave], book: TableBook) -> list[ExtractedTable]:
    """The tables of a resource, wave by wave. They are declared as if their rows had passed here."""
    found: list[ExtractedTable] = []
    for part in sorted({part for wave in waves for part in wave.rows}):
        table, resource, disposition = QUARANTINE, QUARANTINE, "append"
        if part != ASIDE:
            named = bytes.fromhex(part.removeprefix(TABLE)).decode() if part.startswith(TABLE) else None
            mark = None if named is None else TableNameMark(named)
            ((route, _),) = node.run(book.routes, node.stream, [], mark)
            if not route.is_wanted:
                continue
            table, resource = route.table, route.resource
            disposition = book.tables[table].write_disposition or "append"
        found += [
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
    return found
