"""What `normalize` gives back, fit to be printed and to be loaded as a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from penstock.normalize.report import NormalizeReport, Reject


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizeInfo:
    """The packages that were normalized. `print` it: it says what came in, what is new, what was left out.

    >>> print(NormalizeInfo(pipeline_name="shop"))
    Pipeline 'shop' had nothing to normalize
    """

    pipeline_name: str
    packages: tuple[NormalizeReport, ...] = ()
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def loads_ids(self) -> list[str]:
        """The ids of the packages, oldest first."""
        return [package.load_id for package in self.packages]

    @property
    def row_counts(self) -> dict[str, int | None]:
        """Rows of each table, nested ones too; None where that is not known before they are loaded."""
        counts: Counter[str] = Counter()
        unknown: set[str] = set()
        for package in self.packages:
            for name, rows in package.row_counts.items():
                counts[name] += rows or 0
                unknown |= {name} if rows is None else set()
        return {name: None if name in unknown else rows for name, rows in counts.items()}

    @property
    def rejects(self) -> tuple[Reject, ...]:
        """What schema contracts refused, with the reasons."""
        return tuple(reject for package in self.packages for reject in package.rejects)

    @property
    def seconds(self) -> float:
        """How long it took."""
        return sum((package.seconds for package in self.packages), 0.0)

    def asdict(self) -> dict[str, Any]:
        """Plain data that can itself be loaded as a table."""
        return {
            "pipeline_name": self.pipeline_name,
            "loads_ids": self.loads_ids,
            "started_at": self.started_at.isoformat() if self.started_at else None,
            "finished_at": self.finished_at.isoformat() if self.finished_at else None,
            "seconds": self.seconds,
            "bytes_in": sum(package.bytes_in for package in self.packages),
            "bytes_out": sum(package.bytes_out for package in self.packages),
            "tables": [
                {"load_id": package.load_id, "table": table, "rows": rows}
                for package in self.packages
                for table, rows in package.row_counts.items()
            ],
            "changes": [
                {"load_id": package.load_id, "table": root.table, "change": change}
                for package in self.packages
                for root in package.roots
                for change in root.changes
            ],
            "rejects": [
                {
                    "load_id": package.load_id,
                    "table": one.table,
                    "column": one.column,
                    "mode": one.mode,
                    "count": one.count,
                    "reason": one.reason,
                }
                for package in self.packages
                for one in package.rejects
            ],
        }

    def __str__(self) -> str:
        if not self.packages:
            return f"Pipeline {self.pipeline_name!r} had nothing to normalize"
        return "\n".join(map(str, self.packages))
