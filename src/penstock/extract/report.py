"""What extraction came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceReport:
    """One resource: its rows as they were handed over and the files they stand in."""

    resource: str
    table: str
    write_disposition: str
    folder: str
    rows: int
    bytes: int
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractInfo:
    """One package: its resources and the seconds they took."""

    load_id: str
    resources: tuple[ResourceReport, ...]
    seconds: float

    @property
    def rows(self) -> int:
        """Rows of all resources."""
        return sum(resource.rows for resource in self.resources)

    def __str__(self) -> str:
        lines = [f"Extracted {self.rows:,} rows in {self.seconds:.1f} s into package {self.load_id}"]
        lines += [f"- {resource.resource}: {resource.rows:,} rows" for resource in self.resources]
        return "\n".join(lines)
