"""All cursors of one flow: created from the state when resources are opened, and written back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.errors import BoundaryDamaged, IncrementalCursorPathMissing
from penstock.extract.cursor.boundary import Boundary
from penstock.extract.cursor.boundary_files import FOLDER, STATE_KEY, BoundaryFile, cursor_entries
from penstock.extract.cursor.bounds import in_declared_type, with_scheduler_interval
from penstock.extract.cursor.plan import cursors_to_move_out
from penstock.extract.cursor.progress import CursorProgress
from penstock.extract.cursor.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from penstock.extract.cursor.boundary_files import BoundaryFiles
    from penstock.extract.cursor.hashset import CompactHashSet
    from penstock.interfaces.cursor_options import CursorOptions
    from penstock.interfaces.frame_engine import FrameEngine
    from penstock.interfaces.incremental import Incremental

_HASHES: Final = "unique_hashes"
# The keys that dlt expects in the state of a cursor.
_VALUE_KEYS: Final = ("initial_value", "last_value", "start_value")


class SeenItems:
    """The items that earlier runs of a resource have read, and those of this run; see `SeenSet`."""

    def __init__(self, boundary: Boundary) -> None:
        self.boundary = boundary
        self.has_changed = False

    def contains(self, digest: bytes) -> bool:
        """Return whether an earlier run has read the item."""
        return self.boundary.contains_earlier(digest)

    def add(self, digest: bytes) -> None:
        """Add an item that this run has read."""
        self.has_changed = True
        self.boundary.add(digest)


class Cursors:
    """The cursors of a flow, with their state in dlt's format, under the keys that dlt uses.

    Without `files` all hashes are stored in the state.
    """

    def __init__(
        self,
        state: dict[str, Any],
        *,
        source: str,
        files: BoundaryFiles | None = None,
        frame_engine: FrameEngine | None = None,
    ) -> None:
        self._state, self._source, self.files, self._frame_engine = state, source, files, frame_engine
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
        """Start a cursor. User code sees its progress through `incremental`.

        A range with an end value stores no state and begins at its initial value. `is_loaded` is False for a
        resource that only feeds others.
        """
        options = with_scheduler_interval(incremental.terms, resource=resource)
        if not options.cursor_path:
            raise IncrementalCursorPathMissing(resource=resource, cursor_path=None)
        entry = (
            _new_entry(options) if options.end_value is not None else self._cursor_entry(resource, options)
        )
        progress = CursorProgress(
            options,
            resource=resource,
            last_value=in_declared_type(entry["last_value"], options),
            boundary=self._boundary(entry, str(options.cursor_path)),
            stop=stop,
        )
        incremental.bind(progress, resource_name=resource, terms=options)
        tracker = Tracker(progress, is_loaded=is_loaded, frame_engine=self._frame_engine)
        if options.end_value is None:
            self._trackers.append((tracker, entry))
        return tracker

    def seen_items(self, resource: str, name: str) -> SeenItems:
        """Return the items that a resource has read before; they are stored like a cursor of that name."""
        items = self._seen_items.get((resource, name))
        if items is None:
            boundary = self._boundary(self._read_entry(resource, name), name)
            items = self._seen_items[resource, name] = SeenItems(boundary)
        return items

    def write_state(self, *, failed_resources: Container[str] = ()) -> None:
        """Write the progress of all cursors to the state, and hashes beyond its limits to files.

        Cursors of failed resources are left as they were.
        """
        moving = self._indexes_to_move_out()
        for number, (key, items) in enumerate(self._seen_items.items(), len(self._trackers)):
            if items.has_changed and key[0] not in failed_resources:
                entry = self._ensure_entry(*key)
                entry.update(dict.fromkeys(_VALUE_KEYS))
                _write_hashes(items.boundary, entry, self.files if number in moving else None)
        for number, (tracker, entry) in enumerate(self._trackers):
            progress = tracker.progress
            if not tracker.has_items or progress.resource in failed_resources:
                continue
            entry["last_value"] = progress.last_value
            if tracker.has_rows:
                entry["start_value"] = progress.previous_value
            _write_boundary(progress, entry, self.files if number in moving else None)

    def _indexes_to_move_out(self) -> frozenset[int]:
        tracked = {id(entry) for _, entry in self._trackers}
        tracked |= {id(self._read_entry(*key)) for key in self._seen_items}
        entries = cursor_entries(self._state.get("sources", {}))
        other_hashes = sum(len(entry.get(_HASHES, ())) for entry in entries if id(entry) not in tracked)
        boundaries = [tracker.progress.boundary for tracker, _ in self._trackers]
        boundaries += [items.boundary for items in self._seen_items.values()]
        return cursors_to_move_out(
            [boundary.state_count for boundary in boundaries], other_hashes=other_hashes
        )

    def _cursor_entry(self, resource: str, options: CursorOptions) -> dict[str, Any]:
        entry = self._ensure_entry(resource, str(options.cursor_path))
        if not entry:
            entry.update(_new_entry(options))
        return entry

    def _read_entry(self, resource: str, name: str) -> Mapping[str, Any]:
        """Return the entry of a name in the state, without creating it."""
        entry: Mapping[str, Any] = self._state
        for key in ("sources", self._source, "resources", resource, "incremental", name):
            entry = entry.get(key, {})
        return entry

    def _ensure_entry(self, resource: str, name: str) -> dict[str, Any]:
        entry = self._state
        for key in ("sources", self._source, "resources", resource, "incremental", name):
            entry = entry.setdefault(key, {})
        return entry

    def _boundary(self, entry: Mapping[str, Any], cursor_path: str) -> Boundary:
        file, files = BoundaryFile.from_entry(entry), self.files

        def read() -> CompactHashSet:
            if file is None or files is None:
                name = file.name if file else FOLDER
                raise BoundaryDamaged(path=name, cursor_path=cursor_path, reason="this run has no storage")
            return files.read(file, cursor_path=cursor_path)

        return Boundary(entry.get(_HASHES, ()), file=file, read=read)


def _new_entry(options: CursorOptions) -> dict[str, Any]:
    initial = options.initial_value
    return {"initial_value": initial, "last_value": initial, _HASHES: [], "start_value": initial}


def _write_boundary(progress: CursorProgress, entry: dict[str, Any], files: BoundaryFiles | None) -> None:
    boundary = progress.boundary
    if not progress.deduplicates:
        boundary.clear()
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
