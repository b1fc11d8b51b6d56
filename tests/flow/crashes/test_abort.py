"""A sealed load whose destination always refuses one table is aborted, through crashes of the abort."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.crashes.lakes import DELTA, Lake
from tests.flow.crashes.recorded_load import RecordedLoad, at_length, chosen, of_delta, of_each_lake
from tests.flow.crashes.shop import (
    NAME,
    TABLES,
    comparable_content,
    content,
    done,
    image,
    lake_of,
    ledger_at,
    loads,
    packages_at,
    pipeline_at,
    shop,
)
from tests.flow.crashes.steps import Step, Steps, recording_steps
from tests.step_failures import step_raises

from penstock.errors import DestinationTerminalException, LoadClientJobFailed, TablesMovedOn

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.interfaces import Destination

MENDED: list[dict[str, Any]] = [
    {"sku": "a", "price": 5, "tiers": [10]},
    {"sku": "b", "price": 2, "tiers": [30]},
]


class Refusing:
    """Tables of which one refuses rows: Iceberg has no constraints."""

    def __init__(self, tables: Any) -> None:
        self._tables = tables

    def __getattr__(self, name: str) -> Any:
        result = getattr(self._tables, name)

        def merge(table: Any, *arguments: Any, **options: Any) -> Any:
            if table.name == "prices":
                raise DestinationTerminalException("a row violates a constraint of table prices", hint="none")
            return result(table, *arguments, **options)

        return merge if name == "merge" else result


@pytest.fixture
def stuck(
    recorded: RecordedLoad,
    spark: SparkSession,
    other: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Path:
    """A sealed load: `prices` is refused, the tables before it have their rows."""
    root = recorded.from_base(f"stuck-{request.node.originalname}")
    refusing = recorded.lake.destination(lake_of(root))
    if recorded.lake.format == "iceberg":
        refusing = recorded.lake.destination(lake_of(root), Refusing)
    else:
        other.sql(f"ALTER TABLE {at(root, 'prices')} ADD CONSTRAINT no_nines CHECK (price <> 9)")
    with monkeypatch.context() as patch:
        patch.setenv("LOAD__WORKERS", "1")
        patch.setenv("LOAD__RAISE_ON_FAILED_JOBS", "true")
        with step_raises(LoadClientJobFailed, match="violates a constraint of table prices"):
            pipeline_at(root, spark, destination=refusing).run(shop(2))
    assert packages_at(root).pending_load() is not None
    return root


def at(root: Path, table: str) -> str:
    return f"delta.`{lake_of(root)}/{NAME}/{table}`"


def drop(root: Path, spark: SparkSession, destination: Destination | Lake, **options: Any) -> None:
    pipeline_at(root, spark, destination=destination).drop_pending_packages(**options)


def check_next_run(root: Path, recorded: RecordedLoad, spark: SparkSession) -> None:
    """Check that new data is loaded, and that the tables have no rows of the aborted load."""
    pipeline_at(root, spark, destination=recorded.lake).run(shop(2, prices=MENDED))

    assert set(done(root).values()) == {2}
    sequences = [
        row["sequence"] for row in sorted(ledger_at(root).rows("_dlt_loads"), key=lambda row: row["load_id"])
    ]
    assert sequences == [1, 3], "the number of the aborted load is not used again"
    actual = comparable_content(content(root, spark, recorded.lake), loads(root))["chains"]
    expected = comparable_content(recorded.expected.tables, recorded.expected.loaded)["chains"]
    assert {name: actual[name] for name in ("events", "orders", "customers")} == {
        name: expected[name] for name in ("events", "orders", "customers")
    }
    prices = [(row["sku"], row["price"], row.get("_dlt_valid_to")) for row in actual["prices"]["rows"]]
    assert sorted(prices, key=repr) == [("a", 1, "load 2"), ("a", 5, None), ("b", 2, None)]


@pytest.mark.at_length
@of_each_lake
def test_an_abort_killed_at_any_step_is_finished_by_the_next_run(
    stuck: Path, recorded: RecordedLoad, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = recorded.lake
    before, begun = recorded.first.tables, content(stuck, spark, lake)
    changed = [table for table in TABLES if begun[table] != before[table]]
    assert set(changed) == set(TABLES) - {"prices"}, "all but one have their rows"
    images = stuck.parent / f"{stuck.name}-images"

    def keep(step: Step) -> None:
        image(stuck, images / str(step.number))

    steps = Steps(stuck, keep)
    with recording_steps(steps):
        drop(stuck, spark, lake.destination_with_steps(steps, lake_of(stuck)))

    assert content(stuck, spark, lake) == before, "all columns, ids too"
    assert packages_at(stuck).with_status("aborted")
    check_next_run(stuck, recorded, spark)

    tried = chosen(steps.seen, few=1)
    for step in tried:
        trial = recorded.trial(images / str(step.number), f"abort-{step.number}")
        is_decided = packages_at(trial).slots.find_decision(2) is not None
        # The next run continues a decided abort, and so does the next call.
        if not is_decided or step.number % 2:
            drop(trial, spark, lake)
            assert content(trial, spark, lake) == before, f"killed at {step.number} {step.what}"
        check_next_run(trial, recorded, spark)
        shutil.rmtree(trial)
    with capsys.disabled():
        print(f"\n{lake.name}, aborted: killed at {len(tried)} of {len(steps.seen)} points")  # noqa: T201 - the figures


@at_length
@of_delta
def test_a_partial_load_can_be_kept_and_an_abort_keeps_the_rows_of_other_writers(
    stuck: Path, recorded: RecordedLoad, spark: SparkSession, other: SparkSession
) -> None:
    drop(stuck, spark, DELTA, with_partial_loads=False)
    assert packages_at(stuck).pending_load() is not None

    other.sql(f"INSERT INTO {at(stuck, 'events')} (id, _dlt_load_id, _dlt_id) VALUES (99, 'x', 'y')")
    seen = content(stuck, spark)
    with pytest.raises(TablesMovedOn) as caught:
        drop(stuck, spark, DELTA)
    assert list(vars(caught.value)["tables"]) == ["events"]
    assert content(stuck, spark) == seen

    (version,) = other.sql(f"DESCRIBE HISTORY {at(stuck, 'events')} LIMIT 1").select("version").first() or (
        0,
    )
    other.sql(f"RESTORE TABLE {at(stuck, 'events')} TO VERSION AS OF {version - 2}")
    drop(stuck, spark, DELTA)
    assert content(stuck, spark) == content(recorded.base, spark)
