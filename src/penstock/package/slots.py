"""Sequence slots: the order of a pipeline's loads, and for each the one decision, commit or abort.

A number is taken by put-if-absent and never given back. A process that was paused and wakes up late finds its
number taken, so it cannot decide anything that was decided without it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.errors import PackageDamaged, UnsupportedVersion
from penstock.package.control_file import encode_control, read_control
from penstock.package.layout import OUTCOMES_FOLDER, SLOTS_FOLDER
from penstock.package.manifest import Manifest
from penstock.package.strict_record import read_record

if TYPE_CHECKING:
    from penstock.package.storage import FileStorage

_HINT_FILE = "last.json"
_DIGITS = 10
_SLOT_NAME: Final = re.compile(rf"([0-9]{{{_DIGITS}}})\.json")
MAX_SEQUENCE: Final = 10**_DIGITS - 1

DecisionKind = Literal["commit", "abort"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadDecision:
    """What became of a sealed load. `by` tells who decided, `facts` what they knew."""

    sequence: int
    load_id: str
    decision: DecisionKind
    by: str
    facts: dict[str, Any] = field(default_factory=dict)


class Slots:
    """The slots of one pipeline in one dataset. Numbers begin at 1 and are dense, unless slots were lost."""

    def __init__(self, storage: FileStorage) -> None:
        self._storage = storage

    def last(self) -> int:
        """The highest number taken, 0 when there is none.

        A note of the last number saves the listing; it may be behind, so the way on from it is walked.
        """
        noted = self._hinted_last()
        number = noted if self._is_taken(noted) else self._last_listed()
        while self._is_taken(number + 1):
            number += 1
        return number

    def read(self, sequence: int) -> Manifest | None:
        """The manifest in a slot."""
        content = self._storage.read(_slot_path(sequence))
        if content is None:
            return None
        manifest = Manifest.from_json(content, path=self._storage.path(_slot_path(sequence)))
        if manifest.sequence != sequence:
            raise PackageDamaged(
                path=self._storage.path(_slot_path(sequence)),
                reason=f"it says it is slot {manifest.sequence}",
            )
        return manifest

    def seal(self, manifest: Manifest) -> bool:
        """Take the slot of the manifest's number. False when something else stands there."""
        name, content = _slot_path(manifest.sequence), manifest.to_json()
        # The same content was put there by an earlier call of ours that was stopped.
        if not self._storage.put_if_absent(name, content) and self._storage.read(name) != content:
            return False
        with suppress(PackageDamaged):  # the slot is taken, with its note or without
            self._storage.put(f"{SLOTS_FOLDER}/{_HINT_FILE}", encode_control({"sequence": manifest.sequence}))
        return True

    def decide(self, decision: LoadDecision) -> LoadDecision:
        """Decide a sealed load; gives the decision that stands, which may be somebody else's."""
        self._storage.put_if_absent(_decision_path(decision.sequence), encode_control(asdict(decision)))
        standing = self.find_decision(decision.sequence)
        if standing is None:
            raise PackageDamaged(
                path=self._storage.path(_decision_path(decision.sequence)),
                reason="it was written and is not there",
            )
        return standing

    def find_decision(self, sequence: int) -> LoadDecision | None:
        """The decision on a load, or None while it is open."""
        document = read_control(self._storage, _decision_path(sequence))
        if document is None:
            return None
        path = self._storage.path(_decision_path(sequence))
        outcome = read_record(LoadDecision, document, path=path)
        if outcome.sequence != sequence:
            raise PackageDamaged(path=path, reason=f"it says it is about {outcome.sequence}")
        return outcome

    def _hinted_last(self) -> int:
        try:
            noted = (read_control(self._storage, f"{SLOTS_FOLDER}/{_HINT_FILE}") or {}).get("sequence")
        except (PackageDamaged, UnsupportedVersion):  # the note only saves a listing
            return 0
        return noted if isinstance(noted, int) else 0

    def _is_taken(self, sequence: int) -> bool:
        return 0 < sequence <= MAX_SEQUENCE and self._storage.exists(_slot_path(sequence))

    def _last_listed(self) -> int:
        names = (_SLOT_NAME.fullmatch(name) for name in self._storage.names(SLOTS_FOLDER))
        return max((int(name[1]) for name in names if name), default=0)


def _slot_path(sequence: int) -> str:
    return f"{SLOTS_FOLDER}/{sequence:0{_DIGITS}d}.json"


def _decision_path(sequence: int) -> str:
    return f"{OUTCOMES_FOLDER}/{sequence:0{_DIGITS}d}.json"
