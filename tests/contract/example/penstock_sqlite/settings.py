"""The settings of the SQLite destination."""

from __future__ import annotations

from typing import Annotated

from penstock.config import NotResolved, configspec
from penstock.interfaces import DestinationClientDwhConfiguration


@configspec
class SqliteConfiguration(DestinationClientDwhConfiguration):
    """A folder with one file for each dataset."""

    destination_name: Annotated[str | None, NotResolved()] = "example"
    folder: str
    merge_key: str = "id"

    def fingerprint(self) -> str:
        return self.folder

    def __str__(self) -> str:
        return self.folder
