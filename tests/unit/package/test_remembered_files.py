"""A run reads files that never change once, and never misses what another process writes."""

from __future__ import annotations

import base64
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from penstock.interfaces import CommitRecord, StateInfo, StorageSchemaInfo
from penstock.package.file_ledger import FileLedger
from penstock.package.local_files import LocalFiles
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from pathlib import Path


class CountingFiles(LocalFiles):
    """A disk that counts what is read and looked up, by folder."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def read(self, path: str) -> bytes:
        self.calls[path.split("/")[-2]] += 1
        return super().read(path)

    def has_file(self, path: str) -> bool:
        self.calls[path.split("/")[-2]] += 1
        return super().has_file(path)


@pytest.fixture
def files() -> CountingFiles:
    return CountingFiles()


@pytest.fixture
def ledger(tmp_path: Path, files: CountingFiles) -> FileLedger:
    """The ledger of a run."""
    return FileLedger(FileStorage(str(tmp_path / "lake"), files=files)).with_remembered_files()


@pytest.fixture
def other(tmp_path: Path) -> FileLedger:
    """The ledger of another process."""
    return FileLedger(FileStorage(str(tmp_path / "lake")))


def digest(number: int) -> str:
    return base64.b64encode(bytes([number] * 4)).decode()


def record_of(number: int, *, pipeline: str = "shop") -> CommitRecord:
    return CommitRecord(
        load_id=f"{1794700000 + number}.5",
        schema_name="s",
        schema_version_hash=digest(number),
        inserted_at="2026-11-15T02:32:47+00:00",
        pipeline_name=pipeline,
        sequence=number,
        manifest_hash="m",
    )


def complete_load(ledger: FileLedger, number: int, *, pipeline: str = "shop") -> bool:
    record = record_of(number, pipeline=pipeline)
    ledger.initialize()
    ledger.store_schema(
        StorageSchemaInfo(
            version=number,
            engine_version=11,
            inserted_at=datetime.fromtimestamp(float(record.load_id), UTC),
            schema_name="s",
            version_hash=digest(number),
            schema="{}",
        )
    )
    state = StateInfo(
        version=number,
        engine_version=4,
        pipeline_name=pipeline,
        state="x",
        created_at=datetime(2026, 11, 15, tzinfo=UTC),
        version_hash=record.load_id,
        _dlt_load_id=record.load_id,
    )
    ledger.store_state(state, schema_hash=digest(number))
    return ledger.commit(record)


def versions(ledger: FileLedger) -> tuple[int | None, int | None, int | None]:
    """Return the last commit, state and schema."""
    commit, state, schema = ledger.last_commit("shop"), ledger.last_state("shop"), ledger.last_schema("s")
    return (
        commit.sequence if commit else None,
        state.version if state else None,
        schema.version if schema else None,
    )


def test_a_file_that_never_changes_is_read_once(
    ledger: FileLedger, other: FileLedger, files: CountingFiles
) -> None:
    complete_load(other, 1)
    first = (ledger.is_initialized(), versions(ledger))
    files.calls.clear()

    assert (ledger.is_initialized(), versions(ledger)) == first == (True, (1, 1, 1))

    assert set(files.calls) == {"_dlt_index"}, "an entry of the index is read each time"


def test_a_run_finds_every_load_that_another_process_completes(ledger: FileLedger, other: FileLedger) -> None:
    assert (ledger.is_initialized(), versions(ledger)) == (False, (None, None, None))

    for number in (1, 2, 3):
        complete_load(other, number)
        assert (ledger.is_initialized(), versions(ledger)) == (True, (number, number, number))
        assert ledger.find_commit(schema_name="s", load_id=record_of(number).load_id) is not None


def test_a_run_finds_the_schema_of_another_pipeline(ledger: FileLedger, other: FileLedger) -> None:
    complete_load(other, 1)
    versions(ledger)

    complete_load(other, 2, pipeline="another")

    assert versions(ledger) == (1, 1, 2)


def test_a_load_that_another_process_completes_meanwhile_is_not_completed_again(
    ledger: FileLedger, other: FileLedger
) -> None:
    complete_load(other, 1)
    assert ledger.find_commit(schema_name="s", load_id=record_of(2).load_id) is None
    complete_load(other, 2)

    assert not ledger.commit(record_of(2))
    assert ledger.find_commit(schema_name="s", load_id=record_of(2).load_id) is not None


def test_a_dataset_that_was_deleted_is_created_again(
    ledger: FileLedger, other: FileLedger, tmp_path: Path
) -> None:
    complete_load(other, 1)
    assert ledger.is_initialized()
    (tmp_path / "lake" / "init").unlink()

    ledger.initialize()

    assert other.is_initialized()


def test_a_document_that_a_caller_changes_is_not_remembered(ledger: FileLedger, other: FileLedger) -> None:
    complete_load(other, 1)
    first = ledger.find_commit(schema_name="s", load_id=record_of(1).load_id)
    assert first is not None
    first.tables["changed"] = {}  # type: ignore[index]  # a caller that breaks the rules

    assert ledger.find_commit(schema_name="s", load_id=record_of(1).load_id) == record_of(1)


def test_rows_of_the_leased_pipeline_are_looked_up_once_for_each_load(
    ledger: FileLedger, other: FileLedger, files: CountingFiles
) -> None:
    leased = ledger.with_remembered_rows("shop")
    complete_load(other, 1)
    first = versions(leased)
    files.calls.clear()

    assert versions(leased)[:2] == first[:2] == (1, 1)
    assert not files.calls

    complete_load(leased, 2)
    assert versions(leased) == (2, 2, 2)


def test_without_a_dataset_the_leased_pipeline_has_no_state(ledger: FileLedger, files: CountingFiles) -> None:
    leased = ledger.with_remembered_rows("shop")

    assert [leased.last_state("shop") for _ in range(3)] == [None, None, None]
    assert files.calls.total() == 1
    complete_load(leased, 1)
    assert versions(leased) == (1, 1, 1)


def test_rows_are_looked_up_again_when_another_process_has_completed_a_load(
    ledger: FileLedger, other: FileLedger
) -> None:
    leased = ledger.with_remembered_rows("shop")
    complete_load(other, 1)
    assert versions(leased) == (1, 1, 1)
    complete_load(other, 2)

    assert leased.find_commit(schema_name="s", load_id=record_of(2).load_id) is not None
    assert versions(leased) == (2, 2, 2)

    complete_load(other, 3)
    assert not leased.commit(record_of(3))
    assert versions(leased) == (3, 3, 3)


def test_rows_of_other_pipelines_are_looked_up_each_time(ledger: FileLedger, other: FileLedger) -> None:
    leased = ledger.with_remembered_rows("another")

    for number in (1, 2):
        complete_load(other, number)
        assert versions(leased) == (number, number, number)
