"""What normalization came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RootReport:
    """One root table: rows that were read, rows that Spark says it wrote, and the tables that came of it."""

    table: str
    rows_in: int
    rows_out: int | None
    tables: tuple[str, ...]
    new_tables: tuple[str, ...]
    new_columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizeInfo:
    """One package after normalize."""

    load_id: str
    roots: tuple[RootReport, ...]
    seconds: float

    def __str__(self) -> str:
        lines = [f"Normalized package {self.load_id} in {self.seconds:.1f} s"]
        for root in self.roots:
            lines.append(f"- {root.table}: {root.rows_in:,} rows into {', '.join(root.tables)}")
            lines += [f"  new table {table}" for table in root.new_tables]
            lines += [f"  new column {table}.{column}" for table, column in root.new_columns]
        return "\n".join(lines)
