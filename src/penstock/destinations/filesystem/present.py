"""The files of a table as they stand in its folder, and which of them are others': dlt writes no log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from penstock.destinations.filesystem.form import Form, format_of
from penstock.destinations.filesystem.headers import header_of
from penstock.destinations.filesystem.log import TableLog
from penstock.destinations.filesystem.publish import Lists
from penstock.errors import DestinationTerminalException

if TYPE_CHECKING:
    from penstock.destinations.filesystem.layout import Layout
    from penstock.destinations.filesystem.log import Files
    from penstock.interfaces import Ledger
    from penstock.package.storage import FileStorage


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

    def listed(self) -> dict[str, str | None]:
        """The files that are there, each with the load that its name tells of. One listing."""
        prefix = self.layout.prefix(self.schema_name, self.table)
        pattern = self.layout.pattern(self.schema_name, self.table)
        found = (name for name in self.store.tree(self.folder) if name.startswith(prefix))
        return {
            name: match.groupdict().get("load_id")
            for name in found
            if (match := pattern.fullmatch(name)) and format_of(match["ext"])
        }

    def files(self, version: int | None = None) -> Files:
        """The files of the table after a commit, or as they are, with those of others."""
        # Before the log: a file of ours that is seen here is on a list, or in the log by the time it is read.
        present = self.listed()
        pending = self.lists.keys() if present else frozenset[str]()
        last = self.log.last()
        ours = self.log.alive(last if version is None else version)
        missing = [key for key in ours if key not in present]
        if missing and not self._was_replaced(missing):
            raise DestinationTerminalException(
                f"{len(missing)} files of table {self.table} are gone, {missing[0]} among them",
                hint="open the dataset again; if they were not replaced meanwhile, somebody has deleted them",
                table=self.table,
                missing=len(missing),
            )
        known = self.log.mentioned(last) | pending
        strangers = {key: load for key, load in present.items() if key not in known}
        return {**{key: form for key, form in ours.items() if key in present}, **self._of_others(strangers)}

    def others(self) -> Files:
        """Files of complete loads that are not in the log."""
        present = self.listed()
        known = self.log.mentioned(self.log.last()) | self.lists.keys()
        return self._of_others({key: load for key, load in present.items() if key not in known})

    def _of_others(self, found: dict[str, str | None]) -> Files:
        if not found:
            return {}
        theirs = {load: self._is_theirs(load) for load in set(found.values())}
        pattern = self.layout.pattern(self.schema_name, self.table)
        return {key: self._form(key, pattern.fullmatch(key)) for key, load in found.items() if theirs[load]}

    def _form(self, key: str, match: object) -> Form:
        ext = match["ext"]  # type: ignore[index]
        asked = format_of(ext) or "parquet"
        return Form(asked, header_of(self.store, key) if asked == "csv" else ())

    def _is_theirs(self, load_id: str | None) -> bool:
        """Whether a complete load is of somebody who keeps no log; a name without a load tells nothing."""
        if load_id is None:
            return True
        schema_name = self._complete.get(load_id)
        record = schema_name and self.ledger.find_commit(schema_name=schema_name, load_id=load_id)
        return bool(record) and record.manifest_hash is None  # type: ignore[union-attr]

    @cached_property
    def _complete(self) -> dict[str, str]:
        return {load.load_id: load.schema_name for load in self.ledger.complete_loads()}

    def _was_replaced(self, missing: list[str]) -> bool:
        """Whether somebody without a log has loaded since: dlt deletes the files of a table it replaces."""
        pattern = self.layout.pattern(self.schema_name, self.table)
        matches = [match for key in missing if (match := pattern.fullmatch(key))]
        newest = max((match.groupdict().get("load_id") or "" for match in matches), default="")
        return any(self._is_theirs(load) for load in self._complete if load > newest)
