"""A replay that dies at any durable step is completed by the next call, with each row loaded once."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest
from tests.conftest import SEED
from tests.flow.crashes.steps import Step, Steps, recording_steps
from tests.unit.pipeline.quarantined import quarantine, quarantined, rows_in_quarantine
from tests.unit.pipeline.test_undo import pipeline_at
from tests.unit.pipeline.test_undo_crashes import copy_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_spark")
FEW_STEPS: Final = 4
LEFT: Final = "{'id': 9"
Content = tuple[list[int], list[int], list[int]]


@dataclass(frozen=True)
class RecordedReplay:
    """A replay of three rows, with an image of everything durable at each step."""

    folder: Path
    steps: tuple[Step, ...]


@pytest.fixture
def recorded(tmp_path: Path) -> RecordedReplay:
    root, folder = tmp_path / "root", tmp_path / "images"
    pipeline = pipeline_at(root)
    pipeline.run([{"id": 1}], table_name="orders")
    rows = [quarantined({"id": number, "colour": "red", "items": [number]}) for number in (2, 3, 4)]
    quarantine(pipeline, [*rows, quarantined(LEFT, rule="json", path="[]")])

    def keep(step: Step) -> None:
        copy_of(root, folder / str(step.number))

    steps = Steps(root, keep)
    with recording_steps(steps):
        pipeline_at(root).replay_quarantine()
    copy_of(root, folder / str(len(steps.seen)))
    return RecordedReplay(folder, (*steps.seen, Step(len(steps.seen), "the end")))


def content_at(root: Path) -> Content:
    """Return the ids of orders, the nested rows, and the lengths of the texts in quarantine."""
    pipeline = pipeline_at(root, "reader")
    dataset = pipeline.dataset()
    items = dataset["orders__items"] if "orders__items" in dataset.tables else None
    return (
        sorted(dataset["orders"].arrow().column("id").to_pylist()),
        [] if items is None else sorted(items.arrow().column("value").to_pylist()),
        [len(row["raw"]) for row in rows_in_quarantine(pipeline)],
    )


BEFORE: Final[Content] = ([1], [], [40, 40, 40, len(LEFT)])
AFTER: Final[Content] = ([1, 2, 3, 4], [2, 3, 4], [len(LEFT)])


def problems(recorded: RecordedReplay, step: Step, *, is_wiped: bool, is_run: bool) -> list[str]:
    """Continue from the image of a step, and return every difference from an undisturbed replay."""
    root = copy_of(recorded.folder / str(step.number), recorded.folder / f"{step.number}-{is_wiped}-{is_run}")
    label, wrong = f"{step.number} {step.what}", []
    if (visible := content_at(root)) not in (BEFORE, AFTER):
        wrong.append(f"{label}: a reader sees {visible}")
    machine = "two" if is_wiped else "one"
    if is_run:
        pipeline_at(root, machine).run()
        if (visible := content_at(root)) not in (BEFORE, AFTER):
            wrong.append(f"{label}: after a run {visible}")
    pipeline_at(root, machine).replay_quarantine()
    if (visible := content_at(root)) != AFTER:
        wrong.append(f"{label}: at the end {visible}")
    shutil.rmtree(root)
    return wrong


def test_a_replay_that_dies_at_a_step_is_completed_by_the_next_call(recorded: RecordedReplay) -> None:
    chance = random.Random(SEED)
    steps = chance.sample(recorded.steps, FEW_STEPS)

    wrong = [
        problem
        for step in steps
        for problem in problems(recorded, step, is_wiped=chance.random() < 0.5, is_run=chance.random() < 0.5)
    ]

    assert not wrong


@pytest.mark.at_length
def test_a_replay_that_dies_at_any_step_is_completed(
    recorded: RecordedReplay, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [
        problem
        for step in recorded.steps
        for is_wiped in (False, True)
        for is_run in (False, True)
        for problem in problems(recorded, step, is_wiped=is_wiped, is_run=is_run)
    ]

    with capsys.disabled():
        print(f"\n{len(recorded.steps)} steps, 4 ways to continue each: {len(wrong)} wrong")  # noqa: T201 - figures
    assert not wrong
