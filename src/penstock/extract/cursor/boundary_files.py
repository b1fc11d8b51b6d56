"""Hashes that are too many for the state stand in files beside the packages, and the state names them."""

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
"""Where the state of a cursor names its file, beside dlt's own keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryFile:
    """What the state says of a file. `last_value` is the one that its hashes belong to.

    dlt, should it go on with the state, moves the last value and leaves this where it is: a file of another
    value does not count.
    """

    name: str
    count: int
    digest: str
    last_value: Any
    old: bool = False
    """Whether it holds hashes of before dlt 1.29."""

    def to_dict(self) -> dict[str, Any]:
        """The form in the state."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @staticmethod
    def from_entry(entry: Mapping[str, Any]) -> BoundaryFile | None:
        """What the state of a cursor says; None where there is no file, or not of its last value."""
        said = entry.get(STATE_KEY)
        if not isinstance(said, Mapping) or said.get("last_value") != entry.get("last_value"):
            return None
        try:
            return BoundaryFile(
                name=str(said["name"]),
                count=int(said["count"]),
                digest=str(said["digest"]),
                last_value=said["last_value"],
                old=bool(said.get("old", False)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BoundaryDamaged(path=FOLDER, cursor_path="a cursor", reason=f"lacks {error}") from error


class BoundaryFiles:
    """The files of one pipeline. A file never changes: its name has the load that wrote it, and its content.

    It is on storage before the package is marked whose state names it, so a crash leaves at most a file that
    nobody names.
    """

    def __init__(self, store: FileStorage, *, load_id: str) -> None:
        self._store, self._load_id = store.subfolder(FOLDER), load_id

    def write(self, hashes: CompactHashSet, *, last_value: Any) -> BoundaryFile:
        """Put hashes on storage."""
        digest = hashes.content_digest()
        name = f"{self._load_id}-{digest[:16]}.hashes"
        with self._store.open_new(name) as stream:
            for chunk in hashes.chunks():
                stream.write(chunk)
        return BoundaryFile(
            name=name, count=len(hashes), digest=digest, last_value=last_value, old=hashes.is_old_format
        )

    def read(self, file: BoundaryFile, *, cursor_path: str) -> CompactHashSet:
        """The hashes of a file, if they are those that the state means."""
        path = self._store.path(file.name)
        try:
            with self._store.open(file.name) as stream:
                found, digest = CompactHashSet.read(stream)
        except FileNotFoundError as error:
            raise BoundaryDamaged(path=path, cursor_path=cursor_path, reason="is not there") from error
        except ValueError as error:
            raise BoundaryDamaged(path=path, cursor_path=cursor_path, reason=str(error)) from error
        if digest != file.digest:
            raise BoundaryDamaged(path=path, cursor_path=cursor_path, reason="its content is another one")
        return found


def cursor_entries(sources: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What all cursors remember, in the state of all sources. User code may keep anything beside it."""
    for source in _nested_mappings(sources):
        for resource in _nested_mappings(source.get("resources")):
            yield from _nested_mappings(resource.get("incremental"))


def _nested_mappings(container: Any) -> Iterator[Mapping[str, Any]]:
    """The values of a mapping that are mappings themselves; those of packages are frozen, and no dicts."""
    if isinstance(container, Mapping):
        yield from (value for value in container.values() if isinstance(value, Mapping))


def referenced_files(states: Iterable[Mapping[str, Any]]) -> set[str]:
    """The files that the states of sources name."""
    return {
        str(entry[STATE_KEY]["name"])
        for sources in states
        for entry in cursor_entries(sources)
        if isinstance(entry.get(STATE_KEY), Mapping)
    }


def remove_unreferenced_files(
    store: FileStorage, states: Iterable[Mapping[str, Any]], *, up_to_load_id: str | None = None
) -> list[str]:
    """Remove the files that none of these states names; return their names.

    Only for the holder of the lease, and with every state that may still be gone back to. With `upto` files
    of later loads stay.
    """
    folder = store.subfolder(FOLDER)
    there = [
        name
        for name in store.names(FOLDER)
        if up_to_load_id is None or name.rsplit("-", 1)[0] <= up_to_load_id
    ]
    if not there:
        return []
    named = referenced_files(states)
    gone = [name for name in there if name not in named]
    for name in gone:
        folder.delete(name)
    return gone


def copy_referenced_files(source: FileStorage, target: FileStorage, state: Mapping[str, Any]) -> None:
    """Copy the files that a state names to another storage, where its packages go."""
    for name in sorted(referenced_files([state])):
        if not target.subfolder(FOLDER).exists(name) and source.subfolder(FOLDER).exists(name):
            with (
                source.subfolder(FOLDER).open(name) as there,
                target.subfolder(FOLDER).open_new(name) as here,
            ):
                while chunk := there.read(1 << 20):
                    here.write(chunk)
