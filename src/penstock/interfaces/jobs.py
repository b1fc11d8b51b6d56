"""The grammar of job file names, shared by packages and destinations."""

from __future__ import annotations

import re
import secrets
from typing import Final, NamedTuple

from penstock.errors import InvalidJobFileName

_PARTS: Final = ("table_name", "file_id", "retry_count", "file_format")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]")
_LONGEST, _LONGEST_COUNT = 255 - len(".exception"), 9


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
    is_compressed: bool = False

    def job_id(self) -> str:
        """Unique identifier of the job; without the retry count, so it never changes."""
        return f"{self.table_name}.{self.file_id}.{self._extension()}"

    def file_name(self) -> str:
        """The name of the file."""
        return f"{self.table_name}.{self.file_id}.{self.retry_count}.{self._extension()}"

    def with_retry(self) -> ParsedLoadJobFileName:
        """The same job, tried once more."""
        return self._replace(retry_count=self.retry_count + 1)

    def _extension(self) -> str:
        return f"{self.file_format}.gz" if self.is_compressed else self.file_format

    def __str__(self) -> str:
        return self.job_id()

    @staticmethod
    def parse(file_name: str) -> ParsedLoadJobFileName:
        """Read a name, or a path that ends in one."""
        name = file_name.rsplit("/", 1)[-1]
        parts = name.split(".")
        if len(name.encode("utf-8", "replace")) > _LONGEST:
            raise InvalidJobFileName(file_name=name[:80] + "…", reason=f"it has more than {_LONGEST} bytes")
        if _UNSAFE.search(name):
            raise InvalidJobFileName(file_name=name, reason="it has a character in it that no name may have")
        compressed = len(parts) == len(_PARTS) + 1 and parts[-1] == "gz"
        if len(parts) - compressed != len(_PARTS) or not all(parts):
            raise InvalidJobFileName(file_name=name, reason=f"it has {len(parts)} parts between dots")
        if not (parts[2].isascii() and parts[2].isdecimal()) or len(parts[2]) > _LONGEST_COUNT:
            raise InvalidJobFileName(file_name=name, reason=f"{parts[2]!r} is no number of retries")
        return ParsedLoadJobFileName(parts[0], parts[1], int(parts[2]), parts[3], compressed)

    @staticmethod
    def new_file_id() -> str:
        """Ten random hexadecimal digits."""
        return secrets.token_hex(5)
