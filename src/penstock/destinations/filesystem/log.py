"""The log of a plain table: one small object for each commit to it, numbered, put if absent.

A table is the files that its log says. What a load has put down beside them does not count before its entry
is there, and an entry counts for readers once its load is complete.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.destinations.filesystem.form import Form
from penstock.errors import DestinationTerminalException, PackageDamaged
from penstock.interfaces import TableCommit
from penstock.package.control import read_control, versioned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.interfaces import LoadMark
    from penstock.package.storage import FileStorage

FOLDER: Final = "_dlt_files"
Files = dict[str, Form]
"""Files by their keys: names below the folder of the dataset."""
_RECENT: Final = 50
_WHOLE: Final = 16
"""So many entries at most are read to know all files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A commit in short."""

    version: int
    load_id: str | None = None
    pipeline_name: str | None = None
    sequence: int | None = None
    undoes: str | None = None
    replaces: bool = False

    def told(self) -> TableCommit:
        """As readers want it."""
        return TableCommit(
            version=self.version,
            load_id=self.load_id,
            pipeline_name=self.pipeline_name,
            undoes=self.undoes,
            replaces=self.replaces,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One commit: `append` adds files, `replace` puts them in the place of all, `undo` says what is left."""

    kind: Literal["append", "replace", "undo"]
    load_id: str | None = None
    pipeline_name: str | None = None
    sequence: int | None = None
    manifest_hash: str | None = None
    undoes: str | None = None
    rows: int | None = None
    files: Files = field(default_factory=dict)
    adopted: Files = field(default_factory=dict)
    """Files of others among those that are replaced."""
    gone: tuple[str, ...] = ()
    """Files to be deleted once the load is complete."""
    whole: Files | None = None
    """All files after this commit, where somebody has put them together."""
    buried: tuple[str, ...] = ()
    """Files that commits before have replaced and that may still be there; told together with the whole."""
    version: int = 0
    recent: tuple[Header, ...] = ()
    """This commit and those before it, newest first: one look tells them."""

    @staticmethod
    def of_load(mark: LoadMark, **said: Any) -> Entry:
        """The commit of a load."""
        return Entry(
            load_id=mark.load_id,
            pipeline_name=mark.pipeline_name,
            sequence=mark.sequence,
            manifest_hash=mark.manifest_hash,
            **said,
        )

    @property
    def header(self) -> Header:
        """The commit in short."""
        return Header(
            version=self.version,
            load_id=self.load_id,
            pipeline_name=self.pipeline_name,
            sequence=self.sequence,
            undoes=self.undoes,
            replaces=self.kind == "replace",
        )

    @property
    def mentioned(self) -> frozenset[str]:
        """All files that it knows of, in the table or not."""
        return frozenset((*self.files, *self.adopted, *self.gone, *self.buried, *(self.whole or ())))

    def after(self, before: Files) -> Files:
        """The files after this commit."""
        if self.whole is not None:
            return dict(self.whole)
        return dict(self.files) if self.kind == "replace" else {**before, **self.files}

    def to_json(self) -> bytes:
        """The content of the object."""
        document = asdict(self)
        for name in ("files", "adopted", "whole"):
            found: Files | None = getattr(self, name)
            document[name] = None if found is None else _grouped(found)
        return versioned(document)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Entry:
        """Read what `to_json` wrote."""
        said = {**document, "files": _apart(document["files"]), "adopted": _apart(document["adopted"])}
        said["whole"] = None if document["whole"] is None else _apart(document["whole"])
        said["gone"], said["buried"] = tuple(document["gone"]), tuple(document["buried"])
        said["recent"] = tuple(Header(**one) for one in document["recent"])
        return Entry(**said)


class TableLog:
    """The commits to one table."""

    def __init__(self, store: FileStorage, table: str) -> None:
        self._store, self._folder = store, f"{FOLDER}/{table}"
        self.table = table
        self.read = cache(self._read)  # what is there once never changes

    def last(self) -> int:
        """The number of the newest commit; 0 where there is none."""
        numbers = [name.removesuffix(".json") for name in self._store.names(self._folder)]
        return max((int(number) for number in numbers if number.isdigit()), default=0)

    def alive(self, version: int) -> Files:
        """The files of the table after a commit."""
        entries: list[Entry] = []
        for number in range(version, 0, -1):
            entries.append(self.read(number))
            if entries[-1].whole is not None or entries[-1].kind == "replace":
                break
        found: Files = {}
        for entry in reversed(entries):
            found = entry.after(found)
        return found

    def mentioned(self, version: int) -> frozenset[str]:
        """All files that the newest commits know of, back to one that knows the whole table."""
        found: set[str] = set()
        for number in range(version, 0, -1):
            entry = self.read(number)
            found |= entry.mentioned
            if entry.whole is not None:
                break
        return frozenset(found)

    def adopted(self, *, after: int, last: int) -> Files:
        """Files of others that commits after one have found in the table."""
        return {
            key: form
            for number in range(after + 1, last + 1)
            for key, form in self.read(number).adopted.items()
        }

    def has_commits(self) -> bool:
        """Whether a load was ever committed; a load that was only kept from it makes no table."""
        return any(one.undoes is None for one in self.headers())

    def brought_by(self, key: str) -> str | None:
        """The load that brought a file."""
        entries = (self.read(number) for number in range(self.last(), 0, -1))
        return next((entry.load_id for entry in entries if key in entry.files), None)

    def headers(self) -> Iterator[Header]:
        """The commits in short, newest first."""
        number = self.last()
        while number > 0:
            recent = self.read(number).recent
            yield from recent
            number = recent[-1].version - 1

    def find(self, load_id: str) -> Entry | None:
        """The commit of a load."""
        found = next((one for one in self.headers() if one.load_id == load_id), None)
        return self.read(found.version) if found else None

    def find_mark(self, mark: LoadMark) -> Entry | None:
        """The commit of a load; looked for no further back than the loads of its pipeline before it.

        A load that was taken back is never committed: whoever is late with it is told.
        """
        for one in self.headers():
            if one.undoes == mark.load_id:
                raise DestinationTerminalException(
                    f"load {mark.load_id} was taken back from table {self.table}",
                    hint="nothing is left to do: another run has given it up",
                    table=self.table,
                )
            if one.pipeline_name == mark.pipeline_name and one.sequence is not None:
                if one.load_id == mark.load_id:
                    return self.read(one.version)
                if one.sequence < mark.sequence:
                    return None
        return None

    def is_undone(self, load_id: str) -> bool:
        """Whether a load was taken back."""
        return any(one.undoes == load_id for one in self.headers())

    def commit(self, make: Callable[[int], Entry | None]) -> Entry | None:
        """Add an entry that is made for the table after a given commit; None makes none.

        Whoever comes second with one number looks again: what the other one did may be the same.
        """
        while True:
            last = self.last()
            made = make(last)
            if made is None:
                return None
            entry = self._numbered(made, last)
            if self._store.put_if_absent(self._name(entry.version), entry.to_json()):
                return self.read(entry.version)

    def drop(self) -> None:
        """Forget the table."""
        self._store.delete(self._folder)

    def _numbered(self, made: Entry, last: int) -> Entry:
        before = self.read(last).recent if last else ()
        entry = replace(made, version=last + 1)
        if entry.whole is None and entry.version % _WHOLE == 0:
            entry = replace(entry, whole=entry.after(self.alive(last)))
        if entry.whole is not None:
            entry = replace(entry, buried=self._buried(last))
        return replace(entry, recent=(entry.header, *before)[:_RECENT])

    def _buried(self, last: int) -> tuple[str, ...]:
        """Files that are replaced and may be there: of older ones only those that are."""
        found: dict[str, None] = {}
        for number in range(last, 0, -1):
            entry = self.read(number)
            found |= dict.fromkeys(entry.gone)
            if entry.whole is not None:
                found |= dict.fromkeys(key for key in entry.buried if self._store.exists(key))
                break
        return tuple(found)

    def _name(self, version: int) -> str:
        return f"{self._folder}/{version:010}.json"

    def _read(self, version: int) -> Entry:
        name = self._name(version)
        document = read_control(self._store, name, "files")
        if document is None:
            raise PackageDamaged(path=self._store.path(name), reason="there is no such commit")
        try:
            return Entry.from_dict(document)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise PackageDamaged(
                path=self._store.path(name), reason=f"{error} is missing or wrong in it"
            ) from error


def _grouped(files: Files) -> list[dict[str, Any]]:
    groups: dict[Form, list[str]] = {}
    for key, form in files.items():
        groups.setdefault(form, []).append(key)
    return [{**asdict(form), "keys": keys} for form, keys in groups.items()]


def _apart(groups: list[dict[str, Any]]) -> Files:
    return {key: Form(group["format"], tuple(group["columns"])) for group in groups for key in group["keys"]}
