"""The sealed content of a load: once it stands in its slot, every process applies the same bytes."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import PackageDamaged
from penstock.interfaces import LoadMark, ParsedLoadJobFileName
from penstock.package.control_file import encode_control, without_version
from penstock.package.folder import DataFolder
from penstock.package.storage import from_json
from penstock.package.strict_record import validate_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """One table of the load and the job file that brings its rows. Children come before their root."""

    table: str
    job: str
    write_disposition: str
    data: str | None = None
    """The folder its rows are read from; several tables may share one."""
    more: tuple[str, ...] = ()
    """Further folders with rows of it."""
    rows: int | None = None

    @property
    def job_id(self) -> str:
        """The id of the job, whatever its file is called after retries."""
        return ParsedLoadJobFileName.parse(self.job).job_id()

    @property
    def folders(self) -> tuple[str, ...]:
        """All folders with rows of it."""
        return (self.data, *self.more) if self.data else ()

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> TableEntry:
        """Read what stands in a manifest; what is missing or wrong is a `TypeError`."""
        return validate_fields(TableEntry(**{**document, "more": tuple(document["more"])}))


def job_sizes(tables: Iterable[TableEntry], folders: Iterable[DataFolder]) -> dict[str, int | None]:
    """Bytes of each job, by its file. Tables that share a folder are given its size once, at their root."""
    sizes = {folder.path: folder.bytes for folder in folders}
    every = tuple(tables)
    roots = {path: entry.job for entry in every for path in entry.folders}
    return {
        entry.job: _sum_if_known([sizes.get(path) for path in entry.folders if roots[path] == entry.job])
        for entry in every
    }


def _sum_if_known(sizes: Sequence[int | None]) -> int | None:
    counted = [size for size in sizes if size is not None]
    return sum(counted) if len(counted) == len(sizes) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Everything needed to apply a load, or to apply it again. Its size grows with tables, not with files."""

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
    """Tables that go with this load, as they were; those that get rows from it are made anew."""
    truncated: tuple[str, ...] = ()
    """Tables whose rows go with this load."""
    stored_hash: str | None = field(default=None, repr=False, compare=False)
    """The hash of the bytes that this was read from; None for a manifest that is not written yet."""

    def to_json(self) -> bytes:
        """The content of the slot."""
        document = asdict(self)
        del document["stored_hash"]
        return encode_control(document)

    @property
    def content_hash(self) -> str:
        """SHA-256 of the slot's content, in hexadecimal digits."""
        return self.stored_hash or hashlib.sha256(self.to_json()).hexdigest()

    @property
    def is_refresh(self) -> bool:
        """Whether tables or their rows go with this load."""
        return bool(self.dropped or self.truncated)

    @property
    def removed_tables(self) -> dict[str, Any]:
        """Tables that are not there any more once the load counts: they go and get no rows."""
        brought = {entry.table for entry in self.tables}
        return {name: table for name, table in self.dropped.items() if name not in brought}

    @property
    def mark(self) -> LoadMark:
        """What every commit of this load is marked with."""
        return LoadMark(
            pipeline_name=self.pipeline_name,
            sequence=self.sequence,
            load_id=self.load_id,
            manifest_hash=self.content_hash,
        )

    @staticmethod
    def from_json(content: bytes, *, path: str = "a sealed manifest") -> Manifest:
        """Read what `to_json` wrote, in this release or in an older one."""
        found = Manifest.from_dict(from_json(content, path=path), path=path)
        return replace(found, stored_hash=hashlib.sha256(content).hexdigest())

    @staticmethod
    def from_dict(document: Mapping[str, Any], *, path: str = "a sealed manifest") -> Manifest:
        """The values of a document. A field that nobody knows is refused: it may change the meaning."""
        content = without_version(document, path=path)
        try:
            content["tables"] = tuple(TableEntry.from_dict(entry) for entry in content["tables"])
            content["folders"] = tuple(DataFolder.from_dict(folder) for folder in content["folders"])
            content["truncated"] = tuple(content["truncated"])
            return validate_fields(Manifest(**content))
        except (KeyError, TypeError, ValueError) as error:
            raise PackageDamaged(path=path, reason=f"{error} is missing or wrong in it") from error
