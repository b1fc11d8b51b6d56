from __future__ import annotations

import json
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.interfaces import CommitRecord, StateInfo, StorageSchemaInfo
from penstock.package.file_ledger import LOADS_TABLE, STATE_TABLE, VERSION_TABLE, FileLedger
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from pathlib import Path

HASH = "e8IhSkvTxIRdIvdYvLzwkPkLkpxuKFZJlKdKzFRM2sY="
HEX = "7bc2214a4bd3c4845d22f758bcbcf090f90b929c6e28564994a74acc544cdac6"

COMMIT = CommitRecord(
    load_id="1794709965.511098",
    schema_name="shop",
    schema_version_hash=HASH,
    inserted_at="2026-11-15T02:32:47.448741+00:00",
    pipeline_name="shop",
    sequence=1,
    manifest_hash="ab",
    tables={"items": {"before": None, "after": 0, "rows": 3}},
)
SCHEMA = StorageSchemaInfo(
    version=2,
    engine_version=11,
    inserted_at=datetime.fromisoformat("2026-11-15T02:32:47.448741+00:00"),
    schema_name="shop",
    version_hash=HASH,
    schema='{"name":"shop"}',
)
STATE = StateInfo(
    version=1,
    engine_version=4,
    pipeline_name="shop",
    state="eNo=",
    created_at=datetime.fromisoformat("2026-11-15T02:32:45+00:00"),
    version_hash="statehash",
    _dlt_load_id=COMMIT.load_id,
)


@pytest.fixture
def ledger(tmp_path: Path) -> FileLedger:
    made = FileLedger(FileStorage(str(tmp_path)))
    made.initialize()
    return made


def write(folder: Path, name: str, *rows: dict[str, Any]) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def dlt_dataset(tmp_path: Path) -> FileLedger:
    """The files that dlt leaves beside its tables, `init` markers and all."""
    (tmp_path / "init").write_text('{"initial_version":2,"current_version":2}')
    for table in (LOADS_TABLE, VERSION_TABLE, STATE_TABLE):
        (tmp_path / table).mkdir()
        (tmp_path / table / "init").write_text('{"initial_version":2,"current_version":2}')
    write(
        tmp_path,
        "_dlt_loads/dltpipe__1794709965.5110981.jsonl",
        {
            "load_id": "1794709965.5110981",
            "schema_name": "dltpipe",
            "status": 0,
            "inserted_at": "2026-11-15T02:32:47.448741+00:00",
            "schema_version_hash": HASH,
        },
    )
    write(
        tmp_path,
        f"_dlt_version/dltpipe__1794709966.123__{HEX}.jsonl",
        {
            "version_hash": HASH,
            "schema_name": "dltpipe",
            "version": 2,
            "engine_version": 11,
            "inserted_at": "2026-11-15T02:32:46.123+00:00",
            "schema": '{"version":2,"name":"dltpipe"}',
        },
    )
    write(
        tmp_path,
        f"_dlt_pipeline_state/dltpipe__1794709965.5110981__{HEX}.jsonl",
        {
            "version": 1,
            "engine_version": 4,
            "pipeline_name": "dltpipe",
            "state": "eNqrVkpUsjKsBQAIKgIJ",
            "created_at": "2026-11-15T02:32:45.9+00:00",
            "version_hash": "statehash",
            "_dlt_load_id": "1794709965.5110981",
            "_dlt_id": "R2wkWkAgkvOQBw",
        },
    )
    return FileLedger(FileStorage(str(tmp_path)))


def test_a_dataset_is_initialized_once_in_dlts_layout(tmp_path: Path) -> None:
    ledger = FileLedger(FileStorage(str(tmp_path)))
    before = ledger.is_initialized()

    ledger.initialize()
    (tmp_path / "init").write_text('{"initial_version":2,"current_version":2}')
    ledger.initialize()

    assert (before, ledger.is_initialized()) == (False, True)
    assert json.loads((tmp_path / "init").read_text()) == {"initial_version": 2, "current_version": 2}


def test_a_load_is_committed_once_by_any_process(ledger: FileLedger) -> None:
    counted = [ledger.commit(COMMIT), ledger.commit(replace(COMMIT, manifest_hash="other"))]

    assert counted == [True, False]
    assert ledger.find_commit(schema_name="shop", load_id=COMMIT.load_id) == COMMIT
    assert len(ledger.rows(LOADS_TABLE)) == 1


def test_a_load_that_was_not_committed_is_not_found(ledger: FileLedger) -> None:
    ledger.commit(COMMIT)

    assert ledger.find_commit(schema_name="shop", load_id="1") is None
    assert ledger.find_commit(schema_name="other", load_id=COMMIT.load_id) is None


def test_the_last_commit_is_the_newest_of_that_pipeline(ledger: FileLedger) -> None:
    newer = replace(COMMIT, load_id="1794709999.000000", sequence=2)
    of_others = replace(COMMIT, load_id="1794719999.000000", pipeline_name="crm", sequence=9)
    bad = replace(COMMIT, load_id="1794729999.000000", sequence=3, status=1)
    for record in (COMMIT, newer, of_others, bad):
        ledger.commit(record)

    assert ledger.last_commit("shop") == newer
    assert ledger.last_commit("nobody") is None


def test_a_load_with_an_older_id_that_is_completed_later_is_the_last(ledger: FileLedger) -> None:
    younger, oldest, older = "1794709999.000000", "1794709901.000000", "1794709902.000000"
    for number, load_id in enumerate((younger, older, oldest), start=1):
        ledger.store_state(replace(STATE, version=number, _dlt_load_id=load_id), schema_hash=HASH)
        ledger.commit(replace(COMMIT, load_id=load_id, sequence=number))
    found, state = ledger.last_commit("shop"), ledger.last_state("shop")

    assert (found and found.sequence, state and state.version) == (3, 3)
    assert [load.load_id for load in ledger.complete_loads()] == [younger, older, oldest]


def test_a_load_can_follow_a_late_one(ledger: FileLedger) -> None:
    for number, load_id in enumerate(("1794709998.0", "1794709901.0", "1794709999.0"), start=1):
        ledger.store_state(replace(STATE, version=number, _dlt_load_id=load_id), schema_hash=HASH)
        ledger.commit(replace(COMMIT, load_id=load_id, sequence=number))
    found, state = ledger.last_commit("shop"), ledger.last_state("shop")

    assert (found and found.sequence, state and state.version) == (3, 3)


def test_a_late_load_that_is_not_complete_does_not_count(ledger: FileLedger, tmp_path: Path) -> None:
    late = replace(COMMIT, load_id="1794709901.0", sequence=2)
    for record in (COMMIT, late):
        ledger.store_state(replace(STATE, _dlt_load_id=record.load_id), schema_hash=HASH)
        ledger.commit(record)
    (tmp_path / "_dlt_loads/shop__1794709901.0.jsonl").unlink()

    assert (ledger.last_commit("shop"), ledger.last_state("shop")) == (COMMIT, STATE)


@given(st.permutations(range(1, 8)), st.permutations(range(1, 8)))
def test_loads_are_listed_in_the_order_of_completion(ids: list[int], again: list[int]) -> None:
    ledger = FileLedger(FileStorage(f"memory://{uuid.uuid4().hex}"))
    for number, load_id in enumerate(ids, start=1):
        ledger.commit(replace(COMMIT, load_id=f"179470990{load_id}.0", sequence=number))
    for load_id in again:
        ledger.commit(replace(COMMIT, load_id=f"179470990{load_id}.0", sequence=9))

    assert [load.load_id for load in ledger.complete_loads()] == [f"179470990{one}.0" for one in ids]


def test_a_late_load_is_ordered_between_loads_of_dlt(dlt_dataset: FileLedger, tmp_path: Path) -> None:
    late = replace(COMMIT, load_id="1794709901.0", schema_name="dltpipe", pipeline_name="dltpipe")
    row = replace(STATE, pipeline_name="dltpipe", _dlt_load_id=late.load_id, version=2)
    dlt_dataset.store_state(row, schema_hash=HASH)
    dlt_dataset.commit(late)
    ours = dlt_dataset.last_state("dltpipe")
    for folder in (LOADS_TABLE, STATE_TABLE):
        for path in (tmp_path / folder).glob("dltpipe__1794709965*"):
            next_one = path.read_text(encoding="utf-8").replace("1794709965.5", "1794709966.5")
            path.with_name(path.name.replace("1794709965.5", "1794709966.5")).write_text(next_one)
    theirs = dlt_dataset.last_state("dltpipe")

    assert ours == row
    assert theirs
    assert theirs.load_id == "1794709966.5110981"


def test_complete_loads_are_listed_oldest_first_without_reading_rows(ledger: FileLedger) -> None:
    newer = replace(COMMIT, load_id="1794709999.000000", schema_name="my__crm")
    for record in (COMMIT, newer):
        ledger.commit(record)

    assert ledger.complete_loads() == [("shop", COMMIT.load_id), ("my__crm", newer.load_id)]


def test_a_stored_version_of_a_schema_is_found_by_its_hash(ledger: FileLedger) -> None:
    ledger.store_schema(SCHEMA)

    assert ledger.find_schema(schema_name="shop", version_hash=HASH) == SCHEMA
    assert ledger.find_schema(schema_name="shop", version_hash="AAAA") is None
    assert ledger.find_schema(schema_name="crm", version_hash=HASH) is None


def test_file_names_are_those_of_dlt(ledger: FileLedger, tmp_path: Path) -> None:
    ledger.commit(COMMIT)
    ledger.store_schema(SCHEMA)
    ledger.store_state(STATE, schema_hash=HASH)

    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.jsonl")) == [
        "_dlt_loads/shop__1794709965.511098.jsonl",
        f"_dlt_pipeline_state/shop__1794709965.511098__{HEX}.jsonl",
        f"_dlt_version/shop__1794709967.448741__{HEX}.jsonl",
    ]


def test_a_schema_version_is_stored_once(ledger: FileLedger) -> None:
    ledger.store_schema(SCHEMA)
    ledger.store_schema(SCHEMA._replace(inserted_at=datetime.fromisoformat("2026-11-16T00:00:00+00:00")))

    assert ledger.rows(VERSION_TABLE) == [
        {**SCHEMA._asdict(), "inserted_at": "2026-11-15T02:32:47.448741+00:00"}
    ]


def test_an_older_schema_version_can_become_the_newest_again(ledger: FileLedger) -> None:
    later, latest = (datetime(2027, month, 1, tzinfo=UTC) for month in (1, 2))
    ledger.store_schema(SCHEMA)
    ledger.store_schema(SCHEMA._replace(inserted_at=later, version_hash="AAAA", version=9))

    for _ in range(2):
        ledger.store_schema(SCHEMA._replace(inserted_at=latest, version=10))

    found = ledger.last_schema("shop")
    assert found is not None
    assert (found.version_hash, found.version) == (HASH, 10)
    assert len(ledger.rows(VERSION_TABLE)) == 3


def test_a_schema_from_a_late_clock_is_still_the_newest(ledger: FileLedger) -> None:
    behind = SCHEMA._replace(inserted_at=datetime(1999, 1, 1, tzinfo=UTC), version_hash="AAAA", version=9)
    ledger.store_schema(SCHEMA)
    ledger.store_schema(behind)
    ledger.store_schema(behind)

    found = ledger.last_schema("shop")
    assert found is not None
    assert (found.version, found.inserted_at > SCHEMA.inserted_at) == (9, True)
    assert len(ledger.rows(VERSION_TABLE)) == 2


def test_the_last_schema_is_the_newest_for_any_length_of_its_time(ledger: FileLedger) -> None:
    early = SCHEMA._replace(inserted_at=datetime(1999, 1, 1, tzinfo=UTC), version_hash="AAAA", version=9)
    other = SCHEMA._replace(
        inserted_at=datetime(2027, 1, 1, tzinfo=UTC),
        version_hash="BBBB",
        schema_name="crm",
    )
    for row in (early, SCHEMA, other):
        ledger.store_schema(row)

    assert ledger.last_schema("shop") == SCHEMA
    assert ledger.last_schema() == other
    assert ledger.last_schema("nobody") is None


def test_a_state_counts_only_with_its_load(ledger: FileLedger) -> None:
    ledger.store_state(STATE, schema_hash=HASH)
    before = ledger.last_state("shop")
    ledger.commit(COMMIT)
    ledger.store_state(replace(STATE, version=2, _dlt_load_id="1794709999.000000"), schema_hash=HASH)

    assert before is None
    assert ledger.last_state("shop") == STATE


def test_the_newest_state_of_a_complete_load_is_the_last(ledger: FileLedger) -> None:
    newer = replace(STATE, version=2, _dlt_load_id="1794709999.000000")
    for state in (STATE, newer):
        ledger.store_state(state, schema_hash=HASH)
        ledger.commit(replace(COMMIT, load_id=state.load_id or ""))

    assert ledger.last_state("shop") == newer


def test_pipelines_with_a_common_prefix_have_separate_states(ledger: FileLedger) -> None:
    longer = replace(STATE, pipeline_name="shop__eu", _dlt_load_id="1794709999.000000")
    for state in (STATE, longer):
        ledger.store_state(state, schema_hash=HASH)
        ledger.commit(replace(COMMIT, load_id=state.load_id or ""))

    assert ledger.last_state("shop") == STATE
    assert ledger.last_state("shop__eu") == longer


def test_schemas_with_a_common_prefix_have_separate_versions(ledger: FileLedger) -> None:
    ledger.store_schema(SCHEMA._replace(schema_name="shop__eu"))

    assert ledger.last_schema("shop") is None


def test_the_state_of_a_failed_load_does_not_count(ledger: FileLedger) -> None:
    ledger.store_state(STATE, schema_hash=HASH)
    ledger.commit(replace(COMMIT, status=1))

    assert ledger.last_state("shop") is None


def test_rows_come_oldest_first(ledger: FileLedger) -> None:
    for load_id in ("1794709966.000000", "1794709965.000000"):
        ledger.commit(replace(COMMIT, load_id=load_id))

    assert [row["load_id"] for row in ledger.rows(LOADS_TABLE)] == ["1794709965.000000", "1794709966.000000"]


def test_a_commit_of_dlt_is_read_without_our_columns(dlt_dataset: FileLedger) -> None:
    found = dlt_dataset.find_commit(schema_name="dltpipe", load_id="1794709965.5110981")

    assert found is not None
    assert (found.status, found.schema_version_hash) == (0, HASH)
    assert (found.sequence, found.manifest_hash, found.tables) == (None, None, {})


def test_schema_and_state_of_dlt_are_read(dlt_dataset: FileLedger) -> None:
    schema, state = dlt_dataset.last_schema("dltpipe"), dlt_dataset.last_state("dltpipe")

    assert schema is not None
    assert (schema.version, json.loads(schema.schema)["name"]) == (2, "dltpipe")
    assert state is not None
    assert (state.load_id, state.state) == ("1794709965.5110981", "eNqrVkpUsjKsBQAIKgIJ")


def test_all_system_rows_of_dlt_are_listed_without_marker_files(dlt_dataset: FileLedger) -> None:
    assert dlt_dataset.is_initialized()
    assert [len(dlt_dataset.rows(table)) for table in (LOADS_TABLE, VERSION_TABLE, STATE_TABLE)] == [1, 1, 1]


def test_a_schema_stored_by_dlt_is_not_stored_again(dlt_dataset: FileLedger) -> None:
    dlt_dataset.store_schema(SCHEMA._replace(schema_name="dltpipe"))

    assert len(dlt_dataset.rows(VERSION_TABLE)) == 1
