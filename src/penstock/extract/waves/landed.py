"""What ran elsewhere, as extract reports it: tables of a package, and rows of resources."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from penstock.extract.aside import TABLE as QUARANTINE
from penstock.extract.waves.there import ASIDE, TABLE
from penstock.interfaces.items import TableNameMark
from penstock.package.extracted import ExtractedTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.extract.nodes import Node
    from penstock.extract.tables import TableBook
    from penstock.extract.waves.ledger import Wave


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """Tables whose rows executors have written, and how many rows each resource gave or had put aside."""

    tables: tuple[ExtractedTable, ...] = ()
    rows: Counter[str] = field(default_factory=Counter)
    put_aside: Counter[str] = field(default_factory=Counter)


def landed_tables(node: Node, waves: Sequence[Wave], book: TableBook) -> list[ExtractedTable]:
    """The tables of a resource. They are declared as if their rows had passed here."""
    found: list[ExtractedTable] = []
    for part in sorted({part for wave in waves for part in wave.rows}):
        having = [wave for wave in waves if part in wave.rows]
        folders = tuple(f"{wave.folder}/part={part}" for wave in having)
        table, resource, disposition = QUARANTINE, QUARANTINE, "append"
        if part != ASIDE:
            mark = TableNameMark(bytes.fromhex(part.removeprefix(TABLE)).decode()) if TABLE in part else None
            ((route, _),) = node.run(book.routes, node.stream, [], mark)
            if not route.is_wanted:
                continue
            table, resource = route.table, route.resource
            disposition = book.tables[table].write_disposition or "append"
        found.append(
            ExtractedTable(
                table=table,
                resource=resource,
                write_disposition=disposition,
                folder=folders[0],
                more_folders=folders[1:],
                rows=sum(wave.rows[part] for wave in having),
                bytes=sum(wave.sizes[part] for wave in having),
                files=0,
            )
        )
    return found


def joined(tables: Iterable[ExtractedTable]) -> tuple[ExtractedTable, ...]:
    """Each table once, with all its folders."""
    found: dict[str, ExtractedTable] = {}
    for table in tables:
        known = found.get(table.table)
        found[table.table] = (
            table
            if known is None
            else replace(
                known,
                more_folders=(*known.more_folders, table.folder, *table.more_folders),
                rows=known.rows + table.rows,
                bytes=known.bytes + table.bytes,
                files=known.files + table.files,
            )
        )
    return tuple(found.values())
