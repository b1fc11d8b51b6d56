"""The waves that are done, written down in the package: what the next run need not do again."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import PackageDamaged
from penstock.extract.waves.split import split_flow
from penstock.package.control_file import encode_control, read_control
from penstock.package.strict_record import read_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.interfaces.source import Flow
    from penstock.package import FileStorage, Package

WAVES_FOLDER = "waves"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """One wave: the folder of its rows, and the items that they are of, by their digests."""

    number: int
    folder: str
    items: list[str]
    files: int
    """How many at most, of each part of the folder."""
    seconds: float
    rows: Mapping[str, int] = field(default_factory=dict)
    """Rows by the part of the folder that they stand in."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Bytes of text, likewise."""


class WaveCheckpoints:
    """The entries of one resource, numbered without gaps; each is made once and never changed.

    Their items are not held: there may be very many.
    """

    def __init__(self, store: FileStorage, identity: str) -> None:
        self._store, self._folder = store, f"{WAVES_FOLDER}/{identity}"
        self.waves = [_without_items(wave) for wave in self._read()]
        self.next_number = len(self.waves)

    def add(self, wave: Wave) -> bool:
        """Write an entry; False when somebody else has written one with that number."""
        name = f"{self._folder}/{wave.number:06d}.json"
        if not self._store.put_if_absent(name, encode_control(asdict(wave))):
            return False
        self.waves.append(_without_items(wave))
        self.next_number = wave.number + 1
        return True

    def keep_wanted(self, wanted: Counter[str]) -> int:
        """Go on only from waves whose items are all wanted still; says how many waves do not count.

        Rows of an item cannot be taken out of a wave. Where items were done again in a later wave, that one
        counts: so no item counts more often than it is wanted, whatever was wanted in the runs between.
        """
        left, kept = wanted.copy(), set[int]()
        for wave in reversed(list(self._read())):
            items = Counter(wave.items)
            if all(left[digest] >= times for digest, times in items.items()):
                left.subtract(items)
                kept.add(wave.number)
        before = len(self.waves)
        self.waves = [wave for wave in self.waves if wave.number in kept]
        return before - len(self.waves)

    def done_counts(self) -> Counter[str]:
        """How often each item was done; one that is listed twice may have been done once."""
        kept = {wave.number for wave in self.waves}
        return Counter(digest for wave in self._read() if wave.number in kept for digest in wave.items)

    def _read(self) -> Iterator[Wave]:
        names = [name for name in self._store.names(self._folder) if name.endswith(".json")]
        for number, name in enumerate(names):
            path = f"{self._folder}/{name}"
            content: dict[str, Any] = read_control(self._store, path) or {}
            wave = read_record(Wave, content, path=self._store.path(path))
            if wave.number != number:
                raise PackageDamaged(path=self._store.path(path), reason=f"it is not wave {number}")
            yield wave


def _without_items(wave: Wave) -> Wave:
    return replace(wave, items=[])


def has_waves(store: FileStorage, identity: str | None = None) -> bool:
    """Whether a package has waves that are done, of one resource or of any."""
    return bool(store.names(WAVES_FOLDER if identity is None else f"{WAVES_FOLDER}/{identity}"))


def resumable_packages(
    flows: Sequence[Flow], packages: Sequence[Package], *, on_executors: bool
) -> list[Package | None]:
    """For each flow the newest package that has waves of one of its resources, or None."""
    free = sorted(packages, key=lambda package: package.load_id)
    return [_take_package(flow, free, on_executors=on_executors) for flow in flows]


def _take_package(flow: Flow, available: list[Package], *, on_executors: bool) -> Package | None:
    identities = (
        [work.identity for work in split_flow(flow, on_executors=on_executors).wave_resources]
        if available
        else []
    )
    for package in reversed(available):
        if any(has_waves(package.store, identity) for identity in identities):
            available.remove(package)
            return package
    return None
