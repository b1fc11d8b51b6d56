"""What packages and jobs say of themselves, to people and to programs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.package import LoadJobInfo, LoadPackageInfo, Packages, ParsedLoadJobFileName, TJobState
from penstock.package.info import human_seconds, human_size
from penstock.schema import Schema

NOON = datetime(2024, 1, 2, 12, 0, 5, 600_000, tzinfo=UTC)
PLAIN = (str, int, float, bool, datetime, type(None))
STATES: tuple[TJobState, ...] = ("new_jobs", "failed_jobs", "started_jobs", "completed_jobs")
UPDATE = {
    "items": {
        "name": "items",
        "write_disposition": "append",
        "columns": {
            "id": {"name": "id", "data_type": "bigint", "nullable": False},
            "price": {"name": "price", "data_type": "decimal"},
        },
    },
    "empty": {"name": "empty"},
}


@dataclass
class Said:
    """A package with one job in each of the given states."""

    states: tuple[TJobState, ...] = STATES
    completed_at: datetime | None = None
    sequence: int | None = 7
    schema: Schema | None = None

    def info(self) -> LoadPackageInfo:
        return LoadPackageInfo(
            load_id="17.5",
            package_path="lake/packages/17.5",
            state="loaded" if self.completed_at else "normalized",
            schema=self.schema,
            schema_update=UPDATE,
            completed_at=self.completed_at,
            jobs={state: [job(state)] if state in self.states else [] for state in STATES},
            sequence=self.sequence,
        )


def job(state: TJobState = "completed_jobs", **changes: Any) -> LoadJobInfo:
    name = "items__tags.5c1c2f0d11.2.reference"
    made = LoadJobInfo(
        state=state,
        file_path=f"lake/packages/17.5/{state}/{name}",
        file_size=1536,
        created_at=NOON,
        elapsed=75.0,
        job_file_info=ParsedLoadJobFileName.parse(name),
        failed_message="the column is full" if state == "failed_jobs" else None,
        rows=1234,
    )
    return made._replace(**changes)


def test_a_job_is_one_line() -> None:
    line = job().asstr()

    assert line == str(job())
    assert line == (
        "Job items__tags.5c1c2f0d11.reference, table=items__tags in completed_jobs. "
        "File type: reference, size: 1.5 KB, 1,234 rows. "
        "Started on: 2024-01-02T12:00:05+00:00 and took 1 min 15 s."
    )


def test_a_job_that_nobody_counted_says_nothing_of_rows() -> None:
    assert "rows" not in job(rows=None).asstr()
    assert ", 0 rows." in job(rows=0).asstr()


@pytest.mark.parametrize(("verbosity", "shown"), [(0, False), (1, True), (2, True)])
def test_the_message_of_a_failed_job_is_shown_to_who_asks_for_more(verbosity: int, shown: bool) -> None:
    assert ("the column is full" in job("failed_jobs").asstr(verbosity)) is shown


def test_a_job_as_data_is_flat_and_has_the_parts_of_its_name() -> None:
    assert job("failed_jobs").asdict() == {
        "state": "failed_jobs",
        "file_path": "lake/packages/17.5/failed_jobs/items__tags.5c1c2f0d11.2.reference",
        "file_size": 1536,
        "created_at": NOON,
        "elapsed": 75.0,
        "failed_message": "the column is full",
        "rows": 1234,
        "table_name": "items__tags",
        "file_id": "5c1c2f0d11",
        "retry_count": 2,
        "file_format": "reference",
        "is_compressed": False,
        "job_id": "items__tags.5c1c2f0d11.reference",
    }


def test_a_package_tells_how_far_it_has_come_and_where_it_is() -> None:
    text = Said(states=("new_jobs", "completed_jobs"), schema=Schema("shop")).info().asstr()

    assert text.splitlines() == [
        "The package with load id 17.5 for schema shop is NORMALIZED, sequence 7",
        "It stands at lake/packages/17.5 and has jobs: 1 in new_jobs, 1 in completed_jobs; 3.0 KB of data",
    ]


def test_a_finished_package_tells_when_and_one_without_a_slot_has_no_number() -> None:
    lines = Said(states=(), completed_at=NOON, sequence=None).info().asstr().splitlines()

    assert lines == [
        "The package with load id 17.5 for schema None is LOADED",
        "It stands at lake/packages/17.5 and has jobs: none; 0 B of data",
        "It was completed on 2024-01-02T12:00:05+00:00",
    ]


def test_failed_jobs_are_always_told_with_their_messages_and_the_others_to_who_asks_for_more() -> None:
    short, long = (Said().info().asstr(verbosity) for verbosity in (0, 1))

    assert str(Said().info()) == short
    assert [short.count(f"in {state}. ") for state in STATES] == [0, 1, 0, 0]
    assert [long.count(f"in {state}. ") for state in STATES] == [1, 1, 1, 1]
    assert "the column is full" in short
    assert "Table items" not in short
    assert long.endswith("  Table items: id, price\n  Table empty: ")


@pytest.mark.parametrize("schema", [None, Schema("shop")], ids=["no_schema", "schema"])
def test_a_package_as_data_holds_plain_values_and_flat_lists(schema: Schema | None) -> None:
    said = Said(schema=schema, completed_at=NOON).info().asdict()

    lists = {key: value for key, value in said.items() if isinstance(value, list)}
    columns = [column for table in said["tables"] for column in table["columns"]]
    tables = [{key: value for key, value in table.items() if key != "columns"} for table in said["tables"]]

    assert set(lists) == {"jobs", "tables"}
    for record in [*said["jobs"], *tables, *columns, {key: said[key] for key in said.keys() - lists.keys()}]:
        assert {type(value) for value in record.values()} <= set(PLAIN)
        assert record["load_id"] == "17.5"
    assert [job["state"] for job in said["jobs"]] == list(STATES)
    assert [(column["table_name"], column["name"]) for column in columns] == [
        ("items", "id"),
        ("items", "price"),
    ]
    assert said["schema_name"] == (schema.name if schema else None)
    assert said["schema_hash"] == (schema.version_hash if schema else None)


def test_a_package_as_data_can_be_written_as_json_and_does_not_share_its_lists() -> None:
    info = Said().info()

    said = info.asdict()
    assert json.loads(json.dumps(said, default=str))["jobs"][1]["failed_message"] == "the column is full"
    said["jobs"].clear()
    said["tables"][0]["columns"].clear()

    assert len(info.asdict()["jobs"]) == 4
    assert len(info.asdict()["tables"][0]["columns"]) == 2


def test_a_package_on_a_disk_tells_what_normalize_counted(tmp_path_factory: pytest.TempPathFactory) -> None:
    packages = Packages.at(str(tmp_path_factory.mktemp("lake")))
    packages.normalized.create_package("17.5", schema=Schema("shop"))
    package = packages.package("17.5")
    for name in ("items.a.0.reference", "orders.b.0.reference"):
        package.jobs.add(name, b"x" * 10)
    package.mark_normalized({"jobs": [{"job_id": "items.a.reference", "rows": 3, "bytes": 4096}]})
    package.save_schema_updates(UPDATE)

    said = packages.normalized.get_load_package_info("17.5").asdict()

    assert [(job["table_name"], job["rows"], job["file_size"]) for job in said["jobs"]] == [
        ("items", 3, 4096),
        ("orders", None, 10),
    ]
    assert [table["table_name"] for table in said["tables"]] == ["items", "empty"]
    assert (said["state"], said["schema_name"], said["sequence"]) == ("normalized", "shop", None)


@given(size=st.integers(0, 2**70))
def test_a_size_for_people_is_short_and_never_far_off(size: int) -> None:
    number, unit = human_size(size).split()

    value = float(number) * 1024 ** ("B", "KB", "MB", "GB", "TB", "PB").index(unit)
    assert abs(value - size) <= 0.051 * max(value, 1)


@given(seconds=st.floats(0, 10**7))
@example(seconds=59.6)
@example(seconds=119.7)
@example(seconds=3599.9)
def test_a_duration_for_people_never_shows_sixty_of_anything(seconds: float) -> None:
    words = human_seconds(seconds).split()

    assert not [
        unit for number, unit in zip(words[::2], words[1::2], strict=True) if number == "60" and unit != "h"
    ]
