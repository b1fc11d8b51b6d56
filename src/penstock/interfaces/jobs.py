"""The grammar of job file names, shared by packages and destinations."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple

from penstock.errors import UsageError


class ParsedLoadJobFileName(NamedTuple):
    """The name of a job file: table, file id, number of retries, format.

    >>> name = ParsedLoadJobFileName.parse("new_jobs/items__tags.5c1c2f0d11.0.reference")
    >>> name.job_id(), name.with_retry().file_name()
    ('items__tags.5c1c2f0d11.reference', 'items__tags.5c1c2f0d11.1.reference')
    """

    table_name: str
    file_id: str
    retry_count: int
    file_format: str

    def job_id(self) -> str:
        """Unique identifier of the job; without the retry count, so it never changes."""
        return f"{self.table_name}.{self.file_id}.{self.file_format}"

    def file_name(self) -> str:
        """The name of the file."""
        return f"{self.table_name}.{self.file_id}.{self.retry_count}.{self.file_format}"

    def with_retry(self) -> ParsedLoadJobFileName:
        """The same job, tried once more."""
        return self._replace(retry_count=self.retry_count + 1)

    @staticmethod
    def parse(file_name: str) -> ParsedLoadJobFileName:
        """Read a name, or a path that ends in one."""
        parts = PurePosixPath(file_name).name.split(".")
        if len(parts) != len(ParsedLoadJobFileName._fields) or not parts[2].isdecimal() or not all(parts):
            raise UsageError(
                f"{file_name!r} is not the name of a job file",
                hint="the form is <table>.<file id>.<retries>.<format>",
                file_name=file_name,
            )
        return ParsedLoadJobFileName(parts[0], parts[1], int(parts[2]), parts[3])
