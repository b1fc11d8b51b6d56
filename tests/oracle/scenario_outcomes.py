"""Outcomes of scenarios with dlt, and the intended differences of penstock."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tests.oracle.oracle_client import ask, vector
from tests.oracle.scenarios import WITHOUT_DIFFERENCES, scenarios

from penstock.testing import documents

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Outcome = dict[str, Any]
Note = dict[str, Any]

BRIDGE = Path(__file__).parent / "run_bridge.py"
ERRORS = {"LoadClientJobTerminalRetry": "LoadClientJobFailed", "ResourceExtractionError": "ResourceFailed"}
"""Errors of dlt that have another name in penstock."""

Mode = Literal["page", "continue"]
MODES: tuple[Mode, ...] = ("page", "continue")
SETTINGS: dict[Mode, dict[str, str]] = {
    "page": {},
    "continue": {"RUN__PENDING": "continue", "LOAD__RAISE_ON_FAILED_JOBS": "true"},
}
"""The settings of penstock: the defaults of the reference page, and the opposite of each."""
DLT_SETTINGS = {"LOAD__RAISE_ON_FAILED_JOBS": "false"}
"""The setting of dlt 1.31 that is the default of the reference page."""

PENDING = "pending-and-new-data"
DURABLE_PACKAGES = "packages-outlive-the-machine"
DROPPED_DATASET = "a-dataset-that-is-gone"
PACKAGES_IN_DATASET = "packages-stand-in-the-dataset"
FIRST_RUN = "first-run-by-the-destination"
EMPTY_FIRST_RUN = "nothing-in-a-first-run"
QUARANTINE = "rows-put-aside"
OTHER_DATASET = "the-state-of-another-dataset"
DIFFERENCES = (
    PENDING,
    DURABLE_PACKAGES,
    DROPPED_DATASET,
    PACKAGES_IN_DATASET,
    FIRST_RUN,
    EMPTY_FIRST_RUN,
    QUARANTINE,
    OTHER_DATASET,
)
"""The intended differences, by their names in the documentation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The expected difference of a scenario."""

    names: tuple[str, ...]
    steps: Mapping[int, Note] = field(default_factory=dict)
    """The notes of some steps that replace those of dlt."""
    ends_as: str | None = None
    """The scenario that has this end with dlt; None if the end is the same."""


def _note(*, loads: int | None = None, waits: bool = False, first: bool = False) -> Note:
    result = {"pending": waits, "first_run": first}
    return result if loads is None else {"loads": loads, **result}


def _pending_first(word: str, *names: str, steps: Mapping[int, Note] | None = None) -> Difference:
    """Return the difference of a run that loads the pending package and then the new data."""
    return Difference(names=names, steps=steps or {2: _note(loads=2)}, ends_as=f"pending-finished/{word}")


_FAILED_AGAIN: Note = {"error": ["load", "SchemaCorruptedException"], **_note(waits=True, first=True)}
_ALWAYS: dict[str, Difference] = {
    **{f"dropped/{word}": Difference(names=(FIRST_RUN,), steps={1: _note()}) for word in ("append", "scd2")},
    **{
        name: Difference(names=(FIRST_RUN,), steps={1: _note(first=True)})
        for name in (
            "deleted/append",
            "deleted/replace",
            "deleted/upsert",
            "deleted/scd2",
            "cursor-deleted/append",
        )
    },
    "deleted-waiting/append": Difference(
        names=(PACKAGES_IN_DATASET, FIRST_RUN), steps={2: _note(first=True)}
    ),
    "without-key-first/upsert": Difference(names=(DROPPED_DATASET,), steps={1: _FAILED_AGAIN}),
    **{
        f"empty-first/{word}": Difference(
            names=(EMPTY_FIRST_RUN,), steps={0: _note(loads=0, first=True)}, ends_as=f"as-empty-first/{word}"
        )
        for word in ("append", "replace")
    },
    "too-wide/append": Difference(
        names=(QUARANTINE,), steps={1: _note(loads=1)}, ends_as="as-too-wide/append"
    ),
    "keyless/upsert": Difference(names=(QUARANTINE,), steps={1: _note(loads=1)}, ends_as="as-keyless/upsert"),
    "cursor-elsewhere/append": Difference(names=(OTHER_DATASET,), ends_as="as-cursor-elsewhere/append"),
}
DIFFERENT: dict[Mode, dict[str, Difference]] = {
    "page": {
        **_ALWAYS,
        "pending-fresh/append": Difference(names=(DURABLE_PACKAGES,), ends_as="pending/append"),
        "pending-dropped/append": Difference(
            names=(PACKAGES_IN_DATASET, FIRST_RUN), steps={2: _note(waits=True)}, ends_as="pending/append"
        ),
        "deleted-pending/append": Difference(
            names=(DROPPED_DATASET, FIRST_RUN),
            steps={2: _note(waits=True, first=True)},
            ends_as="as-deleted-kept/append",
        ),
    },
    "continue": {
        **_ALWAYS,
        **{
            f"pending/{word}": _pending_first(word, PENDING)
            for word in ("append", "replace", "upsert", "scd2")
        },
        "refresh-pending/append": Difference(
            names=(PENDING,), steps={2: _note(loads=2)}, ends_as="refresh-finished/append"
        ),
        "spoiled-run/append": Difference(
            names=(PENDING,), steps={4: _note(loads=2)}, ends_as="spoiled/append"
        ),
        "pending-dropped/append": _pending_first(
            "append",
            PENDING,
            PACKAGES_IN_DATASET,
            FIRST_RUN,
            steps={2: _note(waits=True), 3: _note(loads=2)},
        ),
        "pending-fresh/append": _pending_first(
            "append", PENDING, DURABLE_PACKAGES, steps={3: _note(loads=2)}
        ),
        "deleted-pending/append": Difference(
            names=(DROPPED_DATASET, PENDING, FIRST_RUN),
            steps={2: _note(waits=True, first=True), 3: _note(loads=2)},
            ends_as="as-deleted-pending/append",
        ),
    },
}


def dlt_outcomes(names: Collection[str] | None = None) -> dict[str, Outcome]:
    """Return the outcomes of dlt for the named scenarios, or for all."""
    every = {**scenarios(), **scenarios(WITHOUT_DIFFERENCES)}
    wanted = {name: item for name, item in every.items() if names is None or name in names}
    answers = ask("scenarios", bridge=BRIDGE, scenarios=wanted)
    return {name: comparable(answer) for name, answer in answers.items()}


def dlt_outcomes_of_the_page() -> dict[str, Outcome]:
    """Return the outcomes of dlt with the page's default for scenarios with failed jobs."""
    wanted = {name: item for name, item in scenarios().items() if item["kind"] == "job"}
    answers = ask("scenarios", bridge=BRIDGE, scenarios=wanted, settings=DLT_SETTINGS)
    return {name: comparable(answer) for name, answer in answers.items()}


def recorded(mode: Mode) -> dict[str, Outcome]:
    """Return the recorded outcomes of dlt that a mode is compared with."""
    changed = vector("scenarios_page.json") if mode == "page" else {}
    return {**vector("scenarios.json"), **changed}


def comparable(played: Outcome) -> Outcome:
    """Return the comparable outcome: nested rows within their parents, without ids."""
    datasets = {
        name: {
            "loads": result["loads"],
            "tables": sorted(result["tables"]),
            "content": {
                root: documents(_chain(result["tables"], root), root)
                for root in sorted(result["tables"])
                if "__" not in root
            },
        }
        for name, result in played["datasets"].items()
    }
    outcome: Outcome = json.loads(json.dumps({**played, "datasets": datasets}))
    return outcome


def _chain(tables: Mapping[str, Any], root: str) -> dict[str, Any]:
    return {name: rows for name, rows in tables.items() if name.partition("__")[0] == root}


def dlt_outcome(name: str, answers: Mapping[str, Outcome]) -> Outcome:
    """Return the outcome of dlt, with penstock's names for its errors."""
    result = answers[name]
    return {**result, "steps": [_renamed(note) for note in result["steps"]]}


def _renamed(note: Note) -> Note:
    if "error" not in note:
        return note
    step, name = note["error"]
    return {**note, "error": [step, ERRORS.get(name, name)]}


def expected(name: str, answers: Mapping[str, Outcome], mode: Mode) -> Outcome:
    """Return the expected outcome of penstock: that of dlt with the named differences."""
    result = dlt_outcome(name, answers)
    difference = DIFFERENT[mode].get(name)
    if difference is None:
        return result
    end = answers[difference.ends_as or name]
    steps = [difference.steps.get(number, note) for number, note in enumerate(result["steps"])]
    return {**end, "steps": steps}
