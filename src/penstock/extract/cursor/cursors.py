"""All cursors of one flow: made from the state when resources are opened, and written back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.errors import BoundaryDamaged, IncrementalCursorPathMissing
from penstock.extract.cursor.boundary import Boundary
from penstock.extract.cursor.files import FOLDER, KEY, BoundaryFile, entries_of
from penstock.extract.cursor.plan import to_move_out
from penstock.extract.cursor.progress import Progress
from penstock.extract.cursor.schedule import scheduled
from penstock.extract.cursor.seen import SeenThings
from penstock.extract.cursor.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from penstock.extract.cursor.buckets import Buckets
    from penstock.extract.cursor.files import BoundaryFiles
    from penstock.interfaces.cursorterms import CursorTerms
    from penstock.interfaces.incremental import Incremental

_HASHES: Final = "unique_hashes"
# As dlt has it, so that it finds nothing odd in the state.
_NOTHING: Final = ("initial_value", "last_value", "start_value")


class Cursors:
    """Knows where the state of each cursor stands: where dlt keeps it, in dlt's form.

    Without `files` all hashes stay in the state.
    """

    def __init__(self, state: dict[str, Any], *, source: str, files: BoundaryFiles | None = None) -> None:
        self._state, self._source, self.files = state, source, files
        self._running: list[tuple[Tracker, dict[str, Any]]] = []
        self._seen: dict[tuple[str, str], SeenThings] = {}

    def track(
        self,
        incremental: Incremental[Any],
        *,
        resource: str,
        close: Callable[[], None],
        is_loaded: bool = True,
    ) -> Tracker:
        """Begin a cursor. User code that holds `incremental` sees how far it has come.

        A range with an end remembers nothing, and begins where it says. Where the resource only feeds others,
        `is_loaded` is false.
        """
        terms = scheduled(incremental.terms, resource=resource)
        if not terms.cursor_path:
            raise IncrementalCursorPathMissing(resource=resource, cursor_path=None)
        entry = _new_entry(terms) if terms.end_value is not None else self._entry(resource, terms)
        progress = Progress(
            terms,
            resource=resource,
            last_value=entry["last_value"],
            boundary=self._boundary(entry, str(terms.cursor_path)),
            close=close,
        )
        incremental.bind(progress, resource_name=resource, terms=terms)
        tracker = Tracker(progress, is_loaded=is_loaded)
        if terms.end_value is None:
            self._running.append((tracker, entry))
        return tracker

    def seen(self, resource: str, name: str) -> SeenThings:
        """What a resource has read before, under a name; it stands where a cursor of that name would."""
        found = self._seen.get((resource, name))
        if found is None:
            boundary = self._boundary(self._said(resource, name), name)
            found = self._seen[resource, name] = SeenThings(boundary)
        return found

    def settle(self, *, without: Container[str] = ()) -> None:
        """Write into the state how far all cursors have come; what is too much for it goes into files.

        `without` are resources that have failed: what they read was not read.
        """
        moving = self._running_out()
        for number, (place, seen) in enumerate(self._seen.items(), len(self._running)):
            if seen.has_changed and place[0] not in without:
                entry = self._place(*place)
                entry.update(dict.fromkeys(_NOTHING))
                _settle_hashes(seen.boundary, entry, self.files if number in moving else None)
        for number, (tracker, entry) in enumerate(self._running):
            progress = tracker.progress
            if not tracker.has_seen or progress.resource in without:
                continue
            entry["last_value"] = progress.last_value
            if tracker.has_rows:
                entry["start_value"] = progress.before
            _settle_boundary(progress, entry, self.files if number in moving else None)

    def _running_out(self) -> frozenset[int]:
        ours = {id(entry) for _, entry in self._running} | {id(self._said(*place)) for place in self._seen}
        every = entries_of(self._state.get("sources", {}))
        elsewhere = sum(len(entry.get(_HASHES, ())) for entry in every if id(entry) not in ours)
        boundaries = [tracker.progress.boundary for tracker, _ in self._running]
        boundaries += [one.boundary for one in self._seen.values()]
        return to_move_out([one.in_state for one in boundaries], elsewhere=elsewhere)

    def _entry(self, resource: str, terms: CursorTerms) -> dict[str, Any]:
        found = self._place(resource, str(terms.cursor_path))
        if not found:
            found.update(_new_entry(terms))
        return found

    def _said(self, resource: str, name: str) -> Mapping[str, Any]:
        """What the state says under a name; asking changes nothing."""
        found: Mapping[str, Any] = self._state
        for step in ("sources", self._source, "resources", resource, "incremental", name):
            found = found.get(step, {})
        return found

    def _place(self, resource: str, name: str) -> dict[str, Any]:
        found = self._state
        for step in ("sources", self._source, "resources", resource, "incremental", name):
            found = found.setdefault(step, {})
        return found

    def _boundary(self, entry: Mapping[str, Any], cursor_path: str) -> Boundary:
        file, files = BoundaryFile.of(entry), self.files

        def read() -> Buckets:
            if file is None or files is None:
                name = file.name if file else FOLDER
                raise BoundaryDamaged(path=name, cursor_path=cursor_path, reason="no storage is at hand")
            return files.read(file, cursor_path=cursor_path)

        return Boundary(entry.get(_HASHES, ()), file=file, read=read)


def _new_entry(terms: CursorTerms) -> dict[str, Any]:
    initial = terms.initial_value
    return {"initial_value": initial, "last_value": initial, _HASHES: [], "start_value": initial}


def _settle_boundary(progress: Progress, entry: dict[str, Any], files: BoundaryFiles | None) -> None:
    boundary = progress.boundary
    if not progress.deduplicates:
        boundary.forget()
    _settle_hashes(boundary, entry, files)


def _settle_hashes(boundary: Boundary, entry: dict[str, Any], files: BoundaryFiles | None) -> None:
    file = boundary.file
    if files is None:
        entry[_HASHES] = boundary.texts()
    else:
        entry[_HASHES] = []
        if boundary.written is None:
            boundary.written = files.write(boundary.all(), last_value=entry["last_value"])
        file = boundary.written
    entry.pop(KEY, None)
    if file is not None:
        entry[KEY] = file.to_dict()
