"""The manifest: the sealed content of a load, which every process applies alike."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from penstock.errors import PackageDamaged
from penstock.interfaces import LoadMark, ParsedLoadJobFileName, TableRestore
from penstock.package.control_file import encode_control, without_version
from penstock.package.folder import DataFolder
from penstock.package.quarantine import QUARANTINE_TABLE
from penstock.package.storage import from_json
from penstock.package.strict_record import validate_fields
from penstock.schema.origin import ColumnOrigin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """One table of the load and its job file. Nested tables come before their root."""

    table: str
    job: str
    write_disposition: str
    data: str | None = None
    """The folder that its rows are read from; several tables may share one."""
    more: tuple[str, ...] = ()
    """Further folders with its rows."""
    rows: int | None = None

    @property
    def job_id(self) -> str:
        """The id of the job, which does not change with retries."""
        return ParsedLoadJobFileName.parse(self.job).job_id()

    @property
    def folders(self) -> tuple[str, ...]:
        """All folders with its rows."""
        return (self.data, *self.more) if self.data else ()

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> TableEntry:
        """Read an entry; a missing or wrong field is a `KeyError` or `TypeError`."""
        return validate_fields(TableEntry(**{**document, "more": tuple(document["more"])}))


def job_sizes(tables: Iterable[TableEntry], folders: Iterable[DataFolder]) -> dict[str, int | None]:
    """Return the bytes of each job, by its file. A folder that tables share counts once, for their root."""
    sizes = {folder.path: folder.bytes for folder in folders}
    entries = tuple(tables)
    owners = {path: entry.job for entry in entries for path in entry.folders}
    return {
        entry.job: _sum_if_known([sizes.get(path) for path in entry.folders if owners[path] == entry.job])
        for entry in entries
    }


def _sum_if_known(sizes: Sequence[int | None]) -> int | None:
    counted = [size for size in sizes if size is not None]
    return sum(counted) if len(counted) == len(sizes) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneLoads:
    """The complete loads that a load undoes, and the tables that it returns to their versions before them."""

    load_ids: tuple[str, ...]
    """Oldest first."""
    tables: tuple[TableRestore, ...]
    overwrites: bool = False
    """Whether changes of others since are overwritten."""
    removed_columns: Mapping[str, Any] = field(default_factory=dict)
    """The columns that the loads added to tables that stay, by table, where no version is restored."""

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> UndoneLoads:
        """Read an entry; a missing or wrong field is a `KeyError` or `TypeError`."""
        tables = (
            TableRestore(**{**table, "other_changes": tuple(table["other_changes"])})
            for table in document["tables"]
        )
        values = {**document, "load_ids": tuple(document["load_ids"]), "tables": tuple(tables)}
        return validate_fields(UndoneLoads(**values))


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Everything needed to apply a load any number of times. Its size grows with tables, not with files."""

    load_id: str
    sequence: int
    pipeline_name: str
    dataset_name: str
    schema_name: str
    tables: tuple[TableEntry, ...]
    folders: tuple[DataFolder, ...] = ()
    schema_before: str | None
    schema: Mapping[str, Any] = field(repr=False)
    state: Mapping[str, Any] = field(repr=False)
    dropped: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Tables that this load drops, by their old definitions; those that get rows from it are recreated."""
    truncated: tuple[str, ...] = ()
    """Tables that this load truncates."""
    origins: tuple[ColumnOrigin, ...] = field(default=(), repr=False)
    """The origins of columns and types that the schema before this load has not."""
    undo: UndoneLoads | None = None
    """The loads that this load undoes; it has no rows."""
    stored_hash: str | None = field(default=None, repr=False, compare=False)
    """The hash of the bytes that this was read from; None for a manifest that is not written yet."""

    def to_json(self) -> bytes:
        """Return the content of the slot."""
        return self._content

    @cached_property
    def _content(self) -> bytes:
        document = asdict(self)
        del document["stored_hash"]
        if not self.origins:
            del document["origins"]
        if self.undo is None:
            del document["undo"]
        return encode_control(document)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of the slot's content, in hexadecimal digits."""
        return self.stored_hash or hashlib.sha256(self._content).hexdigest()

    @property
    def is_refresh(self) -> bool:
        """Whether this load drops or truncates tables."""
        return bool(self.dropped or self.truncated)

    @property
    def is_replay(self) -> bool:
        """Whether rows of this load come from the quarantine, and leave it."""
        return any(
            entry.table == QUARANTINE_TABLE and entry.write_disposition != "append" for entry in self.tables
        )

    @property
    def removed_tables(self) -> dict[str, Any]:
        """Dropped tables that get no rows: they do not exist after the load."""
        with_rows = {entry.table for entry in self.tables}
        return {name: table for name, table in self.dropped.items() if name not in with_rows}

    @property
    def mark(self) -> LoadMark:
        """The mark of every commit of this load."""
        return LoadMark(
            pipeline_name=self.pipeline_name,
            sequence=self.sequence,
            load_id=self.load_id,
            manifest_hash=self.content_hash,
        )

    @staticmethod
    def from_json(content: bytes, *, path: str = "a sealed manifest") -> Manifest:
        """Read the content of a slot."""
        manifest = Manifest.from_dict(from_json(content, path=path), path=path)
        return replace(manifest, stored_hash=hashlib.sha256(content).hexdigest())

    @staticmethod
    def from_dict(document: Mapping[str, Any], *, path: str = "a sealed manifest") -> Manifest:
        """Read a document. An unknown field is refused: it may change the meaning."""
        content = without_version(document, path=path)
        try:
            content["tables"] = tuple(TableEntry.from_dict(entry) for entry in content["tables"])
            content["folders"] = tuple(DataFolder.from_dict(folder) for folder in content["folders"])
            content["truncated"] = tuple(content["truncated"])
            content["origins"] = tuple(
                ColumnOrigin.from_dict(origin) for origin in content.get("origins", ())
            )
            undo = content.get("undo")
            content["undo"] = None if undo is None else UndoneLoads.from_dict(undo)
            return validate_fields(Manifest(**content))
        except (KeyError, TypeError, ValueError) as error:
            raise PackageDamaged(path=path, reason=f"{error} is missing or wrong in it") from error
