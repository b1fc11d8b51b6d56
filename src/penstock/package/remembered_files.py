"""Files that never change once they exist, read once by a run that holds its lease."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.package.storage import FileStorage


class RememberedFiles:
    """The files of a storage that never change once they exist; each is read once.

    Only the ledger uses it, for the rows of complete loads, of schema versions and of states: their names
    contain the id of a load or a hash and are never used for other content. The file that marks the dataset
    as created is one too. Other processes may add such files, so a missing file is looked up each time, and
    folders are always listed. Everything else is read from the storage each time: leases, heartbeats, fences,
    slots, decisions, entries of the index, and whatever put-if-absent decides.

    It is valid while the lease is held, since a dataset may be deleted and created again between two runs.

    >>> from penstock.package import FileStorage
    >>> storage = FileStorage("memory://remembered")
    >>> remembered = RememberedFiles(storage)
    >>> remembered.read_json("a.json")
    >>> storage.put("a.json", b"[1]")
    >>> remembered.read_json("a.json"), remembered.has_file("a.json")
    ([1], True)
    """

    def __init__(self, storage: FileStorage) -> None:
        self._storage = storage
        self._contents: dict[str, bytes] = {}
        self._existing: set[str] = set()

    def read_json(self, name: str) -> Any | None:
        """Return the content of a JSON file; None when it does not exist."""
        content = self._contents.get(name)
        if content is None:
            content = self._storage.read(name)
            if content is None:
                return None
            self._contents[name] = content
            self._existing.add(name)
        # Decoded each time: a caller may change the document.
        return self._storage.decode_json(name, content)

    def has_file(self, name: str) -> bool:
        """Return whether a file exists."""
        if name not in self._existing and self._storage.has_file(name):
            self._existing.add(name)
        return name in self._existing
