"""What the tables of a chain agree on, written into the package before the first of them changes.

The rows of the root that give way can only be found while they are there, and its children go first. So they
are looked up once; whoever goes on after a crash, or works on another table of the chain, reads them.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakValueDictionary

from penstock.destinations.lake.key_ranges import KeyRange
from penstock.errors import PackageDamaged
from penstock.package.control_file import encode_control, read_control

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.package.storage import FileStorage

SetName = Literal["left_out", "gone", "unnamed", "retired", "begun"]
_FOLDER: Final = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSet:
    """A set as it stands in the package."""

    path: str
    """Relative to the package; it names the attempt that wrote it."""
    columns: str
    """Its columns as Spark SQL writes them."""
    rows: int | None
    """None when nobody counted them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSets:
    """Everything that the tables of one chain agree on."""

    sets: Mapping[SetName, StoredSet]
    ranges: tuple[KeyRange, ...] = ()

    def find(self, name: SetName) -> StoredSet | None:
        """A set that has something in it."""
        found = self.sets.get(name)
        return None if found is None or found.rows == 0 else found

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the control file."""
        return {
            "sets": {name: asdict(one) for name, one in self.sets.items()},
            "ranges": [one.to_dict() for one in self.ranges],
        }

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> MergeSets:
        """Read what `to_dict` gave."""
        return MergeSets(
            sets={name: StoredSet(**one) for name, one in document["sets"].items()},
            ranges=tuple(KeyRange.from_dict(one) for one in document["ranges"]),
        )


def read_sets(store: FileStorage, root: str) -> MergeSets | None:
    """What the tables of a chain agree on, or None while nobody has written it down."""
    document = read_control(store, _control_file(root))
    if document is None:
        return None
    try:
        return MergeSets.from_dict(document)
    except (KeyError, TypeError, ValueError) as error:
        path = store.path(_control_file(root))
        raise PackageDamaged(path=path, reason=f"{error} is missing or wrong in it") from error


def publish_sets(store: FileStorage, root: str, merge_sets: MergeSets) -> MergeSets:
    """Write it down, unless somebody has; gives what counts."""
    store.put_if_absent(_control_file(root), encode_control(merge_sets.to_dict()))
    return read_sets(store, root) or merge_sets


def set_data_path(root: str, attempt: str, name: SetName) -> str:
    """Where an attempt writes a set; it goes with the data of the package."""
    return f"data/{_FOLDER}/{root}/{attempt}/{name}"


def _control_file(root: str) -> str:
    return f"{_FOLDER}/{root}.json"


@dataclass(eq=False)
class _ChainLock:
    lock: threading.Lock


class ChainLocks:
    """One at a time for each chain.

    The tables of a chain are written side by side, and one of them is enough to find out what they agree on.
    This saves work only: what counts is decided by who writes it down first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._chain_locks: WeakValueDictionary[str, _ChainLock] = WeakValueDictionary()

    @contextmanager
    def hold(self, chain: str) -> Iterator[None]:
        """Wait for the turn, and have it for the length of the block."""
        with self._lock:
            turn = self._chain_locks.setdefault(chain, _ChainLock(threading.Lock()))
        with turn.lock:
            yield
