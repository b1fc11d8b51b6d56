"""A load into DuckDB that ends at any of its steps: nothing of it counts, and the next run completes it."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import AT_LENGTH, SEED
from tests.flow.crashes.shop import expire_holder
from tests.flow.crashes.steps import Step, Steps, recording_steps
from tests.unit.destinations.duckdb.databases import DATASET, pipeline_into, rows_of, tables_of

import penstock
from penstock.destinations.duckdb.database import DuckDbConnection
from penstock.errors import PenstockError
from penstock.package import Packages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_spark")
_FEW_STEPS = 2
_QUERIES = (
    "SELECT number, note FROM orders ORDER BY 1",
    "SELECT o.number, i.sku FROM orders o JOIN orders__items i ON i._dlt_parent_id = o._dlt_id ORDER BY 1, 2",
    "SELECT count(*) FROM orders__items",
    "SELECT id, name FROM customers ORDER BY 1",
    "SELECT id, price FROM prices ORDER BY 1",
    "SELECT DISTINCT _dlt_load_id IN (SELECT load_id FROM _dlt_loads) FROM orders",
    "SELECT count(*) - count(DISTINCT load_id) FROM _dlt_loads",
)


def shop(batch: int) -> list[Any]:
    """Return an append by a cursor, a merge and a replace, with the rows up to a batch."""
    numbers = range(1, 3 * batch + 1)

    @penstock.resource
    def orders(last: Any = penstock.sources.incremental("number", initial_value=0)) -> Iterator[Any]:
        for number in numbers:
            row = {"number": number, "items": [{"sku": f"{number}-{index}"} for index in range(2)]}
            yield row if number < 4 else {**row, "note": "new"}

    merged: Any = {"write_disposition": "merge", "primary_key": "id"}
    return [
        orders,
        penstock.resource([{"id": n % 4, "name": f"c{n}"} for n in numbers], name="customers", **merged),
        penstock.resource([{"id": batch, "price": 1}], name="prices", write_disposition="replace"),
    ]


@dataclass(frozen=True)
class RecordedRun:
    """A run of the second batch: its steps, and what the tables have before and after it."""

    folder: Path
    steps: list[Step]
    before: list[Any]
    after: list[Any]

    def trial(self, step: Step, *, is_wiped: bool) -> Path:
        """Return a copy of what a process leaves that ends at a step, without the working folder if wiped."""
        trial = self.folder / f"trial-{step.number}-{is_wiped}"
        shutil.copytree(self.folder / "images" / str(step.number), trial)
        if is_wiped:
            shutil.rmtree(trial / "pipelines")
        return trial


def content(folder: Path) -> list[Any]:
    if "orders" not in tables_of(folder):
        return []
    has_note = ("note",) in rows_of(folder, "SELECT column_name FROM (DESCRIBE orders)")
    queries = [query if has_note else query.replace(", note", "") for query in _QUERIES]
    return [rows_of(folder, query) for query in queries]


def image(root: Path, into: Path) -> None:
    """Copy everything that a process leaves which ends now."""
    shutil.copytree(root, into, ignore=shutil.ignore_patterns(".tmp-*"))
    expire_holder(Packages.at(str(into / "pipelines" / "shop" / "load" / DATASET)))


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordedRun:
    root = tmp_path / "root"
    root.mkdir()
    pipeline_into(root).run(shop(1))
    before = content(root)
    steps = Steps(root, lambda step: image(root, tmp_path / "images" / str(step.number)))
    execute = DuckDbConnection.execute

    def execute_with_steps(self: DuckDbConnection, statement: Any, values: Any = ()) -> int | None:
        steps.reach(f"before {statement.key} {len(steps.seen)}")
        result = execute(self, statement, values)
        steps.reach(f"after {statement.key}")
        return result

    with monkeypatch.context() as patched, recording_steps(steps):
        patched.setenv("LOAD__WORKERS", "1")
        patched.setattr(DuckDbConnection, "execute", execute_with_steps)
        pipeline_into(root).run(shop(2))
    return RecordedRun(tmp_path, steps.seen, before, content(root))


def test_a_load_that_ends_at_any_step_is_completed_by_the_next_run(
    recorded: RecordedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = recorded.steps
    if not AT_LENGTH:
        steps = sorted(random.Random(SEED).sample(steps, _FEW_STEPS), key=lambda step: step.number)
    wrong: dict[str, Any] = {}

    for step in steps:
        for is_wiped in (False, True):
            trial = recorded.trial(step, is_wiped=is_wiped)
            image_content = content(trial)
            if image_content not in (recorded.before, recorded.after):
                wrong[f"{step.number} {step.what}: before recovery"] = image_content
            try:
                pipeline_into(trial).run(shop(2))
            except PenstockError as error:
                wrong[f"{step.number} {step.what}: wiped={is_wiped}"] = error.message
            if (result := content(trial)) != recorded.after:
                wrong[f"{step.number} {step.what}: wiped={is_wiped}"] = result
            shutil.rmtree(trial)

    with capsys.disabled():
        print(f"\n{len(steps)} of {len(recorded.steps)} steps, disk kept and wiped: {len(wrong)} wrong")  # noqa: T201 - the figures
    assert recorded.before != recorded.after
    assert not wrong
