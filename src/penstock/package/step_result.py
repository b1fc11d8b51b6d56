"""The common part of the results of `extract`, `normalize` and `load`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from penstock.errors import LoadPackageNotFound

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from penstock.package.info import LoadPackageInfo


class _PackageReport(Protocol):
    @property
    def load_id(self) -> str: ...

    @property
    def metrics(self) -> Mapping[str, Any]: ...


PackageReportT = TypeVar("PackageReportT", bound=_PackageReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult(Generic[PackageReportT]):
    """The packages that one step of a pipeline processed, and when."""

    pipeline_name: str
    packages: tuple[PackageReportT, ...] = ()
    started_at: datetime | None = None
    finished_at: datetime | None = None
    pipeline: Any = field(default=None, repr=False, compare=False)
    """The pipeline; None in a result that was not made by one."""

    @property
    def loads_ids(self) -> list[str]:
        """The ids of the packages, oldest first."""
        return [package.load_id for package in self.packages]

    @property
    def is_empty(self) -> bool:
        """Whether the step processed no package."""
        return not self.packages

    @property
    def first_run(self) -> bool:
        """Whether no load of the pipeline is complete yet, now."""
        return self.pipeline is not None and bool(self.pipeline.first_run)

    @property
    def load_packages(self) -> list[LoadPackageInfo]:
        """The packages with their jobs, as they are stored now; without those that are no longer stored."""
        infos: list[LoadPackageInfo] = []
        for load_id in self.loads_ids if self.pipeline is not None else ():
            with suppress(LoadPackageNotFound):
                infos.append(self.pipeline.get_load_package_info(load_id))
        return infos

    @property
    def metrics(self) -> dict[str, list[Mapping[str, Any]]]:
        """The measurements of each package, by its id."""
        return {package.load_id: [package.metrics] for package in self.packages}

    def metrics_by_load(self, key: str) -> dict[str, Mapping[str, Any]]:
        """Return one kind of metrics, such as `job_metrics`, of each package."""
        return {package.load_id: package.metrics.get(key, {}) for package in self.packages}

    def recorded_facts(self) -> dict[str, Any]:
        """Return the plain data that a trace keeps: nothing is read from the pipeline."""
        return {
            "pipeline": {"pipeline_name": self.pipeline_name},
            "loads_ids": self.loads_ids,
            "started_at": self.started_at.isoformat() if self.started_at else None,
            "finished_at": self.finished_at.isoformat() if self.finished_at else None,
        }

    def asdict(self) -> dict[str, Any]:
        """Return plain data that can itself be loaded as tables, with the packages as they are stored now."""
        return {
            **self.recorded_facts(),
            "first_run": self.first_run,
            "load_packages": [package.asdict() for package in self.load_packages],
        }

    def asstr(self, verbosity: int = 0) -> str:
        """Return the result as text; with `verbosity` the packages and their jobs follow."""
        packages = [package.asstr(verbosity - 1) for package in self.load_packages] if verbosity > 0 else []
        return "\n".join([str(self), *packages])
