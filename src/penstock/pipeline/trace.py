"""What the last run of a pipeline came to, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from penstock.extract.report import ExtractReport
    from penstock.load.report import LoadInfo
    from penstock.normalize.report import NormalizeInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineTrace:
    """One run: what was extracted, normalized and loaded, package by package. `print` it.

    >>> from datetime import UTC, datetime
    >>> now = datetime(2024, 5, 6, tzinfo=UTC)
    >>> print(PipelineTrace(pipeline_name="shop", started_at=now, finished_at=now))
    Run of 'shop' at 2024-05-06 00:00:00 UTC, 0.0 s
    """

    pipeline_name: str
    started_at: datetime
    finished_at: datetime
    extract_infos: tuple[ExtractReport, ...] = ()
    normalize_infos: tuple[NormalizeInfo, ...] = ()
    last_load_info: LoadInfo | None = None

    @property
    def last_extract_info(self) -> ExtractReport | None:
        """The last package that was extracted; None where there was nothing to extract."""
        return self.extract_infos[-1] if self.extract_infos else None

    @property
    def last_normalize_info(self) -> NormalizeInfo | None:
        """The last package that was normalized: rows of each table, what is new, and what was left out."""
        return self.normalize_infos[-1] if self.normalize_infos else None

    def __str__(self) -> str:
        seconds = (self.finished_at - self.started_at).total_seconds()
        lines = [f"Run of {self.pipeline_name!r} at {self.started_at:%Y-%m-%d %H:%M:%S} UTC, {seconds:.1f} s"]
        lines += [f"Extracted {info}" for info in self.extract_infos]
        lines += map(str, self.normalize_infos)
        lines += [str(self.last_load_info)] if self.last_load_info else []
        return "\n".join(lines)
