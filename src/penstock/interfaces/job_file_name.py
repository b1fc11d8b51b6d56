"""The format of job file names, shared by packages and destinations."""

from __future__ import annotations

import re
import secrets
from typing import Final, NamedTuple

from penstock.errors import InvalidJobFileName

_PARTS: Final = ("table_name", "file_id", "retry_count", "file_format")
_UNSAFE_CHARACTERS = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")
_RETRY_COUNT = re.compile(r"0|[1-9][0-9]{0,8}")
_MESSAGE_FORMAT, _SHOWN_CHARACTERS = "exception", 80
# Space for the message file and for nine digits of retries: a retry must not make a name too long.
_MAX_BYTES = 255 - len(f".{_MESSAGE_FORMAT}") - 9


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
        """Return the id of the job: without the retry count, so that it never changes."""
        return f"{self.table_name}.{self.file_id}.{self._extension()}"

    def file_name(self) -> str:
        """Return the file name."""
        return f"{self.table_name}.{self.file_id}.{self.retry_count}.{self._extension()}"

    def with_retry(self) -> ParsedLoadJobFileName:
        """Return the same job with one more retry."""
        return self._replace(retry_count=self.retry_count + 1)

    def _extension(self) -> str:
        return f"{self.file_format}.gz" if self.is_compressed else self.file_format

    def __str__(self) -> str:
        return self.job_id()

    @staticmethod
    def parse(file_name: str) -> ParsedLoadJobFileName:
        """Parse a file name, or a path that ends in one."""
        name = file_name.rsplit("/", 1)[-1]
        parts = name.split(".")
        compressed = len(parts) == len(_PARTS) + 1 and parts[-1] == "gz"
        if reason := _name_error(name, parts[:-1] if compressed else parts):
            shown = name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…"
            raise InvalidJobFileName(file_name=shown, reason=reason)
        return ParsedLoadJobFileName(parts[0], parts[1], int(parts[2]), parts[3], compressed)

    @staticmethod
    def new_file_id() -> str:
        """Return ten random hexadecimal digits."""
        return secrets.token_hex(5)


def _name_error(name: str, parts: list[str]) -> str | None:
    """Return why the name is invalid, or None. It must parse back to the same parts with any retry count."""
    if _UNSAFE_CHARACTERS.search(name):
        return "it has a character in it that no name may have"
    if len(parts) != len(_PARTS) or not all(parts):
        return f"it has {name.count('.') + 1} parts between dots"
    if not _RETRY_COUNT.fullmatch(parts[2]):
        return f"{parts[2][:_SHOWN_CHARACTERS]!r} is no number of retries"
    if len(name.encode("utf-8", "replace")) - len(parts[2]) > _MAX_BYTES:
        return f"it has more than {_MAX_BYTES} bytes beside the number of retries"
    return "this ending is that of messages beside jobs" if parts[3] == _MESSAGE_FORMAT else None
