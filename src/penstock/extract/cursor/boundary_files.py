"""Files of hashes beside the packages: for cursors with more hashes than the state may hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import BoundaryDamaged
from penstock.extract.cursor.hashset import CompactHashSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.package import FileStorage

FOLDER: Final = "cursors"
STATE_KEY: Final = "unique_hashes_file"
"""The key of the file in the state of a cursor, beside dlt's own keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryFile:
    """A reference to a file in the state. Its hashes belong to `last_value`.

    If dlt continues with the state, it advances the last value and keeps this reference: a file for another
    value is ignored.
    """

    name: str
    count: int
    digest: str
    last_value: Any
    old: bool = False
    """Whether its hashes have the format of dlt before 1.29."""

    def to_dict(self) -> dict[str, Any]:
        """Return the form in the state."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @staticmethod
    def from_entry(entry: Mapping[str, Any]) -> BoundaryFile | None:
        """Return the file of a cursor's state; None without a file or if it belongs to another last value."""
        reference = entry.get(STATE_KEY)
        if not isinstance(reference, Mapping) or reference.get("last_value") != entry.get("last_value"):
            return None
        try:
            return BoundaryFile(
                name=str(reference["name"]),
                count=int(reference["count"]),
                digest=str(reference["digest"]),
                last_value=reference["last_value"],
                old=bool(reference.get("old", False)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BoundaryDamaged(
                path=FOLDER, cursor_path="a cursor", reason=f"its reference lacks {error}"
            ) from error


class BoundaryFiles:
    """The files of one pipeline. A file never changes: its name is the load id and the hash of its content.

    A file is on storage before the package whose state names it is marked as extracted: a crash leaves at
    most a file without a reference.
    """

    def __init__(self, store: FileStorage, *, load_id: str) -> None:
        self._store, self._load_id = store.subfolder(FOLDER), load_id

    def write(self, hashes: CompactHashSet, *, last_value: Any) -> BoundaryFile:
        """Write hashes to a file."""
        digest = hashes.content_digest()
        name = f"{self._load_id}-{digest[:16]}.hashes"
        with self._store.open_new(name) as stream:
            for chunk in hashes.chunks():
                stream.write(chunk)
        return BoundaryFile(
            name=name, count=len(hashes), digest=digest, last_value=last_value, old=hashes.is_old_format
        )

    def read(self, file: BoundaryFile, *, cursor_path: str) -> CompactHashSet:
        """Read a file, and verify its content against the state."""
        path = self._store.path(file.name)
        try:
            with self._store.open(file.name) as stream:
                hashes, digest = CompactHashSet.read(stream)
        except FileNotFoundError as error:
            raise BoundaryDamaged(path=path, cursor_path=cursor_path, reason="it does not exist") from error
        except ValueError as error:
            raise BoundaryDamaged(path=path, cursor_path=cursor_path, reason=str(error)) from error
        if digest != file.digest:
            raise BoundaryDamaged(
                path=path, cursor_path=cursor_path, reason="its hash differs from the one in the state"
            )
        return hashes


def cursor_entries(sources: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the state of every cursor of all sources; user code may store anything beside it."""
    for source in _nested_mappings(sources):
        for resource in _nested_mappings(source.get("resources")):
            yield from _nested_mappings(resource.get("incremental"))


def _nested_mappings(container: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the values of a mapping that are mappings; in packages they are frozen, not dicts."""
    if isinstance(container, Mapping):
        yield from (value for value in container.values() if isinstance(value, Mapping))


def referenced_files(states: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of the files that the states of sources refer to."""
    return {
        str(entry[STATE_KEY]["name"])
        for sources in states
        for entry in cursor_entries(sources)
        if isinstance(entry.get(STATE_KEY), Mapping)
    }


def missing_boundaries(store: FileStorage, sources: Mapping[str, Any]) -> set[str]:
    """Return the files that a state of sources refers to and that do not exist."""
    folder = store.subfolder(FOLDER)
    return {name for name in referenced_files([sources]) if not folder.has_file(name)}


def remove_unreferenced_files(
    store: FileStorage, states: Iterable[Mapping[str, Any]], *, up_to_load_id: str | None = None
) -> list[str]:
    """Remove the files that none of these states refers to; return their names.

    The caller holds the lease, and passes every state that a pipeline may still return to. Files of loads
    after `up_to_load_id` are kept.
    """
    folder = store.subfolder(FOLDER)
    names = [
        name
        for name in store.names(FOLDER)
        if up_to_load_id is None or name.rsplit("-", 1)[0] <= up_to_load_id
    ]
    if not names:
        return []
    referenced = referenced_files(states)
    unreferenced = [name for name in names if name not in referenced]
    for name in unreferenced:
        folder.delete(name)
    return unreferenced


def copy_referenced_files(source: FileStorage, target: FileStorage, state: Mapping[str, Any]) -> None:
    """Copy the files that a state refers to, to the storage that its packages move to."""
    for name in sorted(referenced_files([state])):
        if not target.subfolder(FOLDER).has_file(name) and source.subfolder(FOLDER).has_file(name):
            with (
                source.subfolder(FOLDER).open(name) as reader,
                target.subfolder(FOLDER).open_new(name) as writer,
            ):
                while chunk := reader.read(1 << 20):
                    writer.write(chunk)
