"""Checkpoints of finished waves in the package, and the packages that a run can resume."""

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
    """One wave: the folder of its rows, and the digests of its work items."""

    number: int
    folder: str
    items: list[str]
    files: int
    """Maximum number of files in each part of the folder."""
    seconds: float
    rows: Mapping[str, int] = field(default_factory=dict)
    """Row counts by part of the folder."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Bytes of text by part of the folder."""


class WaveCheckpoints:
    """The checkpoints of one resource, numbered without gaps and immutable.

    The digests of their items are not held in memory: there may be millions.
    """

    def __init__(self, store: FileStorage, identity: str) -> None:
        self._store, self._folder = store, f"{WAVES_FOLDER}/{identity}"
        self.waves = [_without_items(wave) for wave in self._read()]
        self.next_number = len(self.waves)

    def add(self, wave: Wave) -> bool:
        """Write a checkpoint; return False if another process has written this number."""
        name = f"{self._folder}/{wave.number:06d}.json"
        if not self._store.put_if_absent(name, encode_control(asdict(wave))):
            return False
        self.waves.append(_without_items(wave))
        self.next_number = wave.number + 1
        return True

    def keep_wanted(self, wanted: Counter[str]) -> int:
        """Keep only waves whose items are all still wanted; return the number of waves that are dropped.

        The rows of one item cannot be removed from a wave. The latest waves are kept first, so that no item
        counts more often than it is wanted, whatever the runs between wanted.
        """
        remaining, valid_numbers = wanted.copy(), set[int]()
        for wave in reversed(list(self._read())):
            items = Counter(wave.items)
            if all(remaining[digest] >= count for digest, count in items.items()):
                remaining.subtract(items)
                valid_numbers.add(wave.number)
        wave_count = len(self.waves)
        self.waves = [wave for wave in self.waves if wave.number in valid_numbers]
        return wave_count - len(self.waves)

    def done_counts(self) -> Counter[str]:
        """Count the finished work items by digest; an item that is declared twice may be done once."""
        numbers = {wave.number for wave in self.waves}
        return Counter(digest for wave in self._read() if wave.number in numbers for digest in wave.items)

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
    """Return whether a package has finished waves of one resource, or of any."""
    return bool(store.names(WAVES_FOLDER if identity is None else f"{WAVES_FOLDER}/{identity}"))


def resumable_packages(
    flows: Sequence[Flow], packages: Sequence[Package], *, on_executors: bool
) -> list[Package | None]:
    """Return for each flow the newest package with waves of one of its resources, or None."""
    available = sorted(packages, key=lambda package: package.load_id)
    return [_take_package(flow, available, on_executors=on_executors) for flow in flows]


def _take_package(flow: Flow, available: list[Package], *, on_executors: bool) -> Package | None:
    identities = (
        [resource.identity for resource in split_flow(flow, on_executors=on_executors).wave_resources]
        if available
        else []
    )
    for package in reversed(available):
        if any(has_waves(package.store, identity) for identity in identities):
            available.remove(package)
            return package
    return None
