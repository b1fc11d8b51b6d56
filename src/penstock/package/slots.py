"""Sequence slots: the order of a pipeline's loads, and for each one decision, commit or abort.

A number is taken by put-if-absent and never released. A process that was paused finds its number taken, so it
cannot override a decision.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.errors import PackageDamaged, UnsupportedVersion
from penstock.package.control_file import encode_control, read_control
from penstock.package.layout import OUTCOMES_FOLDER, PACKAGES_FOLDER, SEALED_FILE, SLOTS_FOLDER
from penstock.package.manifest import Manifest
from penstock.package.strict_record import read_record

if TYPE_CHECKING:
    from penstock.interfaces import LoadMark
    from penstock.package.package import Package
    from penstock.package.storage import FileStorage

_HINT_FILE = "last.json"
_DIGITS = 10
_SLOT_NAME: Final = re.compile(rf"([0-9]{{{_DIGITS}}})\.json")
MAX_SEQUENCE: Final = 10**_DIGITS - 1

DecisionKind = Literal["commit", "abort"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadDecision:
    """The decision on a sealed load. `by` identifies the process, `facts` are for those that continue."""

    sequence: int
    load_id: str
    decision: DecisionKind
    by: str
    facts: dict[str, Any] = field(default_factory=dict)


class Slots:
    """The slots of one pipeline in one dataset. Numbers start at 1 and are dense, unless slots were lost."""

    def __init__(self, storage: FileStorage) -> None:
        self._storage = storage

    def last(self) -> int:
        """Return the highest number taken, 0 when none is.

        The hint file saves the listing; it may be behind, so later numbers are tried one by one.
        """
        hinted = self._hinted_last()
        number = hinted if self._is_taken(hinted) else self._last_listed()
        while self._is_taken(number + 1):
            number += 1
        return number

    def read(self, sequence: int) -> Manifest | None:
        """Return the manifest in a slot; None when the slot is free."""
        content = self._storage.read(_slot_path(sequence))
        if content is None:
            return None
        manifest = Manifest.from_json(content, path=self._storage.path(_slot_path(sequence)))
        if manifest.sequence != sequence:
            raise PackageDamaged(
                path=self._storage.path(_slot_path(sequence)),
                reason=f"its sequence is {manifest.sequence}",
            )
        return manifest

    def seal(self, manifest: Manifest) -> bool:
        """Take the slot of the manifest's number; return False when it has other content. Idempotent."""
        name, content = _slot_path(manifest.sequence), manifest.to_json()
        # An earlier call that was interrupted wrote the same content.
        if not self._storage.put_if_absent(name, content) and self._storage.read(name) != content:
            return False
        with suppress(PackageDamaged):  # the slot is taken, with or without the hint
            hint = encode_control({"sequence": manifest.sequence})
            self._storage.put(f"{SLOTS_FOLDER}/{_HINT_FILE}", hint, durable=False)
        return True

    def decide(self, decision: LoadDecision) -> LoadDecision:
        """Decide a sealed load; return the decision that counts, which may be that of another process."""
        self._storage.put_if_absent(_decision_path(decision.sequence), encode_control(asdict(decision)))
        effective = self.find_decision(decision.sequence)
        if effective is None:
            raise PackageDamaged(
                path=self._storage.path(_decision_path(decision.sequence)),
                reason="it was written but does not exist",
            )
        return effective

    def find_decision(self, sequence: int) -> LoadDecision | None:
        """Return the decision on a load; None while it is undecided."""
        document = read_control(self._storage, _decision_path(sequence))
        if document is None:
            return None
        path = self._storage.path(_decision_path(sequence))
        decision = read_record(LoadDecision, document, path=path)
        if decision.sequence != sequence:
            raise PackageDamaged(path=path, reason=f"its sequence is {decision.sequence}")
        return decision

    def _hinted_last(self) -> int:
        try:
            sequence = (read_control(self._storage, f"{SLOTS_FOLDER}/{_HINT_FILE}") or {}).get("sequence")
        except (PackageDamaged, UnsupportedVersion):  # the hint only saves a listing
            return 0
        return sequence if isinstance(sequence, int) else 0

    def _is_taken(self, sequence: int) -> bool:
        return 0 < sequence <= MAX_SEQUENCE and self._storage.has_file(_slot_path(sequence))

    def _last_listed(self) -> int:
        matches = (_SLOT_NAME.fullmatch(name) for name in self._storage.names(SLOTS_FOLDER))
        return max((int(match[1]) for match in matches if match), default=0)


def sealed_manifest(package: Package, mark: LoadMark) -> Manifest:
    """Read the manifest of a package from its slot, which nothing in the package folder can change."""
    root = package.store.with_root(package.store.root.removesuffix(f"/{PACKAGES_FOLDER}/{package.load_id}"))
    manifest = Slots(root).read(mark.sequence)
    if manifest is None or manifest.mark != mark:
        path = package.store.path(SEALED_FILE)
        raise PackageDamaged(path=path, reason=f"slot {mark.sequence} has another load")
    return manifest


def _slot_path(sequence: int) -> str:
    return f"{SLOTS_FOLDER}/{sequence:0{_DIGITS}d}.json"


def _decision_path(sequence: int) -> str:
    return f"{OUTCOMES_FOLDER}/{sequence:0{_DIGITS}d}.json"
