"""An undo that dies at any durable step is completed by the next call."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import SEED
from tests.flow.crashes.shop import expire_lease
from tests.flow.crashes.steps import Step, Steps, recording_steps
from tests.unit.pipeline.test_undo import pipeline_at

import penstock
from penstock.errors import PipelineStepFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("no_spark")
FEW_STEPS = 3


@dataclass(frozen=True)
class Content:
    """The visible rows and columns, and the cursor: what one load after the other leaves."""

    orders: tuple[int, ...] = ()
    items: int = 0
    columns: frozenset[str] = frozenset()
    prices: tuple[int, ...] = ()
    cursor: int = 0


@dataclass(frozen=True)
class Batch:
    """The rows of one load: new orders with some columns, or all prices."""

    orders: int = 0
    column: str | None = None
    prices: tuple[int, ...] | None = None

    def after(self, content: Content) -> Content:
        """Return the content after a load of the batch."""
        if self.prices is not None:
            return replace(content, prices=self.prices)
        numbers = range(content.cursor + 1, content.cursor + self.orders + 1)
        return replace(
            content,
            orders=(*content.orders, *numbers),
            items=content.items + len(numbers),
            columns=content.columns | ({self.column} if self.column else set()),
            cursor=content.cursor + self.orders,
        )

    def resource(self) -> Any:
        """Return the resource that extracts the batch, from the state on."""
        if self.prices is not None:
            return penstock.resource(
                [{"price": price} for price in self.prices], name="prices", write_disposition="replace"
            )

        def orders() -> Iterator[dict[str, Any]]:
            state = penstock.current.resource_state()
            first = state.get("cursor", 0) + 1
            for number in range(first, first + self.orders):
                row = {"id": number, "items": [{"sku": f"A{number}"}]}
                yield row | ({self.column: number} if self.column else {})
            state["cursor"] = first + self.orders - 1

        return penstock.resource(orders, name="orders")


def content_at(root: Path, *, is_settled: bool = True) -> Content:
    """Return what a new machine sees. The newest schema is stored just before its load is complete."""
    pipeline = pipeline_at(root, "reader")
    pipeline.sync_destination()
    dataset = pipeline.dataset()
    counts = dataset.row_counts()
    orders = dataset["orders"].df() if "orders" in counts else None
    prices = dataset["prices"].df() if "prices" in counts else None
    columns = frozenset[str]() if orders is None else frozenset(orders.columns)
    declared = pipeline.default_schema.tables.get("orders") if pipeline.schemas else None
    if is_settled:
        assert columns == frozenset(declared.columns if declared and declared.has_seen_data else ())
    resources = pipeline.state["sources"].get("shop", {}).get("resources", {})
    return Content(
        orders=() if orders is None else tuple(sorted(orders["id"])),
        items=counts.get("orders__items", 0),
        columns=frozenset(name for name in columns if name.startswith("extra")),
        prices=() if prices is None else tuple(sorted(prices["price"])),
        cursor=resources.get("orders", {}).get("cursor", 0),
    )


def copy_of(root: Path, into: Path) -> Path:
    """Copy everything durable, as the next process would find it."""
    shutil.copytree(root, into, ignore=shutil.ignore_patterns(".tmp-*", "reader"))
    expire_lease(into)
    return into


@dataclass(frozen=True)
class RecordedUndo:
    """An undo of two loads, with an image of everything durable at each step."""

    folder: Path
    steps: tuple[Step, ...]
    before: Content
    after: Content
    oldest: str


@pytest.fixture
def recorded(tmp_path: Path) -> RecordedUndo:
    """Load four batches, and undo the last two."""
    root, folder = tmp_path / "root", tmp_path / "images"
    batches = (Batch(orders=2), Batch(prices=(5,)), Batch(orders=3, column="extra_a"), Batch(prices=(7, 8)))
    contents, infos = [Content()], []
    for batch in batches:
        infos.append(pipeline_at(root).run(batch.resource()))
        contents.append(batch.after(contents[-1]))
    oldest = infos[-2].loads_ids[0]

    def keep(step: Step) -> None:
        copy_of(root, folder / str(step.number))

    steps = Steps(root, keep)
    with recording_steps(steps):
        pipeline_at(root).undo(oldest, last=2)
    copy_of(root, folder / str(len(steps.seen)))
    last_step = Step(len(steps.seen), "the end")
    return RecordedUndo(folder, (*steps.seen, last_step), contents[-1], contents[-3], oldest)


def undo_once(pipeline: Pipeline, load_id: str, *, last: int) -> None:
    """Undo loads, unless an earlier call has completed it."""
    try:
        pipeline.undo(load_id, last=last)
    except PipelineStepFailed as error:
        if "no load of 'shop' that can be undone" not in str(error.exception):
            raise


def problems(recorded: RecordedUndo, step: Step, *, is_wiped: bool, is_run: bool) -> list[str]:
    """Continue from the image of a step, and return every difference from an undisturbed undo."""
    root = copy_of(recorded.folder / str(step.number), recorded.folder / f"{step.number}-{is_wiped}-{is_run}")
    label = f"{step.number} {step.what}"
    visible = content_at(root, is_settled=False)
    wrong = []
    if replace(visible, cursor=0) not in {
        replace(recorded.before, cursor=0),
        replace(recorded.after, cursor=0),
    }:
        wrong.append(f"{label}: a reader sees {visible}")
    machine = "two" if is_wiped else "one"
    if is_run:
        pipeline_at(root, machine).run()
        if content_at(root) not in {recorded.before, recorded.after}:
            wrong.append(f"{label}: after a run {content_at(root)}")
    undo_once(pipeline_at(root, machine), recorded.oldest, last=2)
    if content_at(root) != recorded.after:
        wrong.append(f"{label}: at the end {content_at(root)}")
    batch = Batch(orders=1)
    pipeline_at(root, machine).run(batch.resource())
    if content_at(root) != batch.after(recorded.after):
        wrong.append(f"{label}: after the next load {content_at(root)}")
    shutil.rmtree(root)
    return wrong


def test_an_undo_that_dies_at_a_step_is_completed_by_the_next_call(recorded: RecordedUndo) -> None:
    chance = random.Random(SEED)
    steps = chance.sample(recorded.steps, FEW_STEPS)

    wrong = [
        problem
        for step in steps
        for problem in problems(recorded, step, is_wiped=chance.random() < 0.5, is_run=chance.random() < 0.5)
    ]

    assert not wrong


@pytest.mark.at_length
def test_an_undo_that_dies_at_any_step_is_completed(
    recorded: RecordedUndo, capsys: pytest.CaptureFixture[str]
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
