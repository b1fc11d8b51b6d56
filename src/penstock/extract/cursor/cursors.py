"""All cursors of one flow: made from the state when resources are opened, and written back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.errors import BoundaryDamaged, IncrementalCursorPathMissing
from penstock.extract.cursor.boundary import Boundary
from penstock.extract.cursor.boundary_files import FOLDER, STATE_KEY, BoundaryFile, cursor_entries
from penstock.extract.cursor.bounds import with_scheduler_interval
from penstock.extract.cursor.plan import cursors_to_move_out
from penstock.extract.cursor.progress import CursorProgress
from penstock.extract.cursor.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from penstock.extract.cursor.boundary_files import BoundaryFiles
    from penstock.extract.cursor.hashset import CompactHashSet
    from penstock.interfaces.cursor_options import CursorOptions
    from penstock.interfaces.incremental import Incremental

_HASHES: Final = "unique_hashes"
# As dlt has it, so that it finds nothing odd in the state.
_VALUE_KEYS: Final = ("initial_value", "last_value", "start_value")


class SeenItems:
    """The things of one resource, while it is read."""

    def __init__(self, boundary: Boundary) -> None:
        self.boundary = boundary
        self.has_changed = False

    def contains(self, digest: bytes) -> bool:
        """Whether an earlier run has read it."""
        return self.boundary.knows(digest)

    def add(self, digest: bytes) -> None:
        """It is read now."""
        self.has_changed = True
        self.boundary.remember(digest)


class Cursors:
    """Knows where the state of each cursor stands: where dlt keeps it, in dlt's form.

    Without `files` all hashes stay in the state.
    """

    def __init__(self, state: dict[str, Any], *, source: str, files: BoundaryFiles | None = None) -> None:
        self._state, self._source, self.files = state, source, files
        self._trackers: list[tuple[Tracker, dict[str, Any]]] = []
        self._seen_items: dict[tuple[str, str], SeenItems] = {}

    def track(
        self,
        incremental: Incremental[Any],
        *,
        resource: str,
        stop: Callable[[], None],
        is_loaded: bool = True,
    ) -> Tracker:
        """Begin a cursor. User code that holds `incremental` sees how far it has come.

        A range with an end remembers nothing, and begins where it says. Where the resource only feeds others,
        `is_loaded` is false.
        """
        terms = with_scheduler_interval(incremental.terms, resource=resource)
        if not terms.cursor_path:
            raise IncrementalCursorPathMissing(resource=resource, cursor_path=None)
        entry = _new_entry(terms) if terms.end_value is not None else self._cursor_entry(resource, terms)
        progress = CursorProgress(
            terms,
            resource=resource,
            last_value=entry["last_value"],
            boundary=self._boundary(entry, str(terms.cursor_path)),
            stop=stop,
        )
        incremental.bind(progress, resource_name=resource, terms=terms)
        tracker = Tracker(progress, is_loaded=is_loaded)
        if terms.end_value is None:
            self._trackers.append((tracker, entry))
        return tracker

    def seen_items(self, resource: str, name: str) -> SeenItems:
        """What a resource has read before, under a name; it stands where a cursor of that name would."""
        found = self._seen_items.get((resource, name))
        if found is None:
            boundary = self._boundary(self._read_entry(resource, name), name)
            found = self._seen_items[resource, name] = SeenItems(boundary)
        return found

    def write_state(self, *, failed_resources: Container[str] = ()) -> None:
        """Write into the state how far all cursors have come; what is too much for it goes into files.

        `without` are resources that have failed: what they read was not read.
        """
        moving = self._indexes_to_move_out()
        for number, (place, seen) in enumerate(self._seen_items.items(), len(self._trackers)):
            if seen.has_changed and place[0] not in failed_resources:
                entry = self._ensure_entry(*place)
                entry.update(dict.fromkeys(_VALUE_KEYS))
                _write_hashes(seen.boundary, entry, self.files if number in moving else None)
        for number, (tracker, entry) in enumerate(self._trackers):
            progress = tracker.progress
            if not tracker.has_items or progress.resource in failed_resources:
                continue
            entry["last_value"] = progress.last_value
            if tracker.has_rows:
                entry["start_value"] = progress.previous_value
            _write_boundary(progress, entry, self.files if number in moving else None)

    def _indexes_to_move_out(self) -> frozenset[int]:
        ours = {id(entry) for _, entry in self._trackers} | {
            id(self._read_entry(*place)) for place in self._seen_items
        }
        every = cursor_entries(self._state.get("sources", {}))
        elsewhere = sum(len(entry.get(_HASHES, ())) for entry in every if id(entry) not in ours)
        boundaries = [tracker.progress.boundary for tracker, _ in self._trackers]
        boundaries += [one.boundary for one in self._seen_items.values()]
        return cursors_to_move_out([one.state_count for one in boundaries], other_hashes=elsewhere)

    def _cursor_entry(self, resource: str, terms: CursorOptions) -> dict[str, Any]:
        found = self._ensure_entry(resource, str(terms.cursor_path))
        if not found:
            found.update(_new_entry(terms))
        return found

    def _read_entry(self, resource: str, name: str) -> Mapping[str, Any]:
        """What the state says under a name; asking changes nothing."""
        found: Mapping[str, Any] = self._state
        for step in ("sources", self._source, "resources", resource, "incremental", name):
            found = found.get(step, {})
        return found

    def _ensure_entry(self, resource: str, name: str) -> dict[str, Any]:
        found = self._state
        for step in ("sources", self._source, "resources", resource, "incremental", name):
            found = found.setdefault(step, {})
        return found

    def _boundary(self, entry: Mapping[str, Any], cursor_path: str) -> Boundary:
        file, files = BoundaryFile.from_entry(entry), self.files

        def read() -> CompactHashSet:
            if file is None or files is None:
                name = file.name if file else FOLDER
                raise BoundaryDamaged(path=name, cursor_path=cursor_path, reason="no storage is at hand")
            return files.read(file, cursor_path=cursor_path)

        return Boundary(entry.get(_HASHES, ()), file=file, read=read)


def _new_entry(terms: CursorOptions) -> dict[str, Any]:
    initial = terms.initial_value
    return {"initial_value": initial, "last_value": initial, _HASHES: [], "start_value": initial}


def _write_boundary(progress: CursorProgress, entry: dict[str, Any], files: BoundaryFiles | None) -> None:
    boundary = progress.boundary
    if not progress.deduplicates:
        boundary.forget()
    _write_hashes(boundary, entry, files)


def _write_hashes(boundary: Boundary, entry: dict[str, Any], files: BoundaryFiles | None) -> None:
    file = boundary.file
    if files is None:
        entry[_HASHES] = boundary.state_texts()
    else:
        entry[_HASHES] = []
        if boundary.written_file is None:
            boundary.written_file = files.write(boundary.all_digests(), last_value=entry["last_value"])
        file = boundary.written_file
    entry.pop(STATE_KEY, None)
    if file is not None:
        entry[STATE_KEY] = file.to_dict()
