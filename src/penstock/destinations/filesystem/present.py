"""The files of a table as they stand in its folder, and which of them are others': dlt writes no log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from penstock.destinations.filesystem.form import FileFormat, Form, format_of
from penstock.destinations.filesystem.headers import header_of
from penstock.destinations.filesystem.log import TableLog
from penstock.destinations.filesystem.publish import Lists
from penstock.errors import DestinationTerminalException

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.destinations.filesystem.layout import Layout
    from penstock.destinations.filesystem.log import Files
    from penstock.interfaces import Ledger, LoadSnapshot
    from penstock.package.storage import FileStorage


class Told(NamedTuple):
    """What the name of a file tells."""

    load_id: str | None
    format: FileFormat


@dataclass(frozen=True)
class Standing:
    """One table in its folder.

    Files that are in the log are what the log says. Others count if a load of somebody who keeps no log has
    brought them, and that load is complete. Files of ours that are not in the log yet never do.
    """

    store: FileStorage
    ledger: Ledger
    layout: Layout
    schema_name: str
    table: str

    @cached_property
    def log(self) -> TableLog:
        """The commits to the table."""
        return TableLog(self.store, self.table)

    @cached_property
    def lists(self) -> Lists:
        """The files of loads that are under way."""
        return Lists(self.store, self.table)

    @property
    def folder(self) -> str:
        """The folder that has all files of the table in it; empty for that of the dataset."""
        return self.layout.prefix(self.schema_name, self.table).rpartition("/")[0]

    def listed(self) -> dict[str, Told]:
        """The files that are there by the names of the layout. One listing."""
        return self._told(self.store.tree(self.folder))

    def files(self, version: int | None = None) -> Files:
        """The files of the table after a commit, or as they are, with those of others."""
        # Before the log: a file of ours that is seen here is on a list, or in the log by the time it is read.
        names = self.store.tree(self.folder)
        present = self._told(names)
        pending = self.lists.keys() if present else frozenset[str]()
        last = self.log.last()
        ours = self.log.alive(last if version is None else version)
        if version is not None:
            # What later commits have replaced was there.
            ours |= self.log.adopted(after=version, last=last)
        gone = self._gone(ours, frozenset(names))
        known = self.log.mentioned(last) | pending
        strangers = {key: told for key, told in present.items() if key not in known}
        return {**{key: form for key, form in ours.items() if key not in gone}, **self._of_others(strangers)}

    def began_elsewhere(self) -> bool:
        """Whether files are there of somebody who keeps no log; an open load may be about to replace them."""
        if not self.log.is_whole():
            return False  # what was there before the first commit is settled
        replaced = self.log.adopted(after=0, last=self.log.last())
        return bool(self.others()) or any(key in replaced for key in self.listed())

    def others(self) -> Files:
        """Files of complete loads that are not in the log."""
        present = self.listed()
        known = self.log.mentioned(self.log.last()) | self.lists.keys()
        return self._of_others({key: told for key, told in present.items() if key not in known})

    def _told(self, names: Iterable[str]) -> dict[str, Told]:
        """Those of the files that the layout knows, and what their names tell."""
        pattern = self.layout.pattern(self.schema_name, self.table)
        found: dict[str, Told] = {}
        for name in names:
            match = pattern.fullmatch(name)
            kind = format_of(match["ext"]) if match else None
            if match and kind:
                found[name] = Told(match.groupdict().get("load_id"), kind)
        return found

    def _load_of(self, key: str) -> str:
        """Return the load that a file is named after; empty where the layout does not say."""
        return next((told.load_id or "" for told in self._told([key]).values()), "")

    def _gone(self, ours: Files, names: frozenset[str]) -> frozenset[str]:
        """Files that the log knows and that are not there. An error, unless others have replaced them."""
        missing = [key for key in ours if key not in names]
        # Loads before may have had another layout, and a file may have come since the first look.
        there = {
            name for folder in {key.rpartition("/")[0] for key in missing} for name in self.store.tree(folder)
        }
        gone = frozenset(key for key in missing if key not in there)
        if gone and not self._was_replaced(gone):
            raise DestinationTerminalException(
                f"{len(gone)} files of table {self.table} are gone, {min(gone)} among them",
                hint="open the dataset again; if they were not replaced meanwhile, somebody has deleted them",
                table=self.table,
                missing=len(gone),
            )
        return gone

    def _of_others(self, found: Mapping[str, Told]) -> Files:
        theirs = {load: self._is_theirs(load) for load in {told.load_id for told in found.values()}}
        return {key: self._form(key, told.format) for key, told in found.items() if theirs[told.load_id]}

    def _form(self, key: str, kind: FileFormat) -> Form:
        return Form(kind, header_of(self.store, key) if kind == "csv" else ())

    def _is_theirs(self, load_id: str | None) -> bool:
        """Whether a complete load is of somebody who keeps no log; a name without a load tells nothing."""
        if load_id is None:
            return True
        record = self._complete.find(load_id)
        return record is not None and record.manifest_hash is None

    @cached_property
    def _complete(self) -> LoadSnapshot:
        return self.ledger.snapshot()

    def _was_replaced(self, gone: Iterable[str]) -> bool:
        """Whether somebody without a log has loaded since: dlt deletes the files of a table it replaces."""
        newest = max((self.log.brought_by(key) or self._load_of(key) for key in gone), default="")
        later = (load.load_id for load in self._complete.loads() if load.load_id > newest)
        return any(self._is_theirs(load_id) for load_id in later)
