"""The common part of the results of `extract`, `normalize` and `load`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from datetime import datetime


class _PackageReport(Protocol):
    @property
    def load_id(self) -> str: ...


PackageReportT = TypeVar("PackageReportT", bound=_PackageReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult(Generic[PackageReportT]):
    """The packages that one step of a pipeline processed, and when."""

    pipeline_name: str
    packages: tuple[PackageReportT, ...] = ()
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def loads_ids(self) -> list[str]:
        """The ids of the packages, oldest first."""
        return [package.load_id for package in self.packages]

    def asdict(self) -> dict[str, Any]:
        """Return plain data that can itself be loaded as a table."""
        return {
            "pipeline_name": self.pipeline_name,
            "loads_ids": self.loads_ids,
            "started_at": self.started_at.isoformat() if self.started_at else None,
            "finished_at": self.finished_at.isoformat() if self.finished_at else None,
        }
