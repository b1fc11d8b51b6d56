"""The sealed content of a load: once it stands in its slot, every process applies the same bytes."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.errors import UnsupportedVersion
from penstock.package.store import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """One table of the load and the job file that brings its rows. Children come before their root."""

    table: str
    job: str
    write_disposition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Everything needed to apply a load, or to apply it again."""

    load_id: str
    sequence: int
    pipeline_name: str
    dataset_name: str
    schema_name: str
    tables: tuple[TableEntry, ...]
    schema_before: str | None
    schema: Mapping[str, Any] = field(repr=False)
    state: Mapping[str, Any] = field(repr=False)

    def to_json(self) -> bytes:
        """The content of the slot."""
        return as_json({"format_version": FORMAT_VERSION, **asdict(self)})

    @property
    def content_hash(self) -> str:
        """SHA-256 of the slot's content, in hexadecimal digits."""
        return hashlib.sha256(self.to_json()).hexdigest()

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Manifest:
        """Read what `to_json` wrote."""
        content = dict(document)
        version = content.pop("format_version")
        if version > FORMAT_VERSION:
            raise UnsupportedVersion(what="a sealed manifest", has=str(version), supports=str(FORMAT_VERSION))
        content["tables"] = tuple(TableEntry(**entry) for entry in content["tables"])
        return Manifest(**content)
