"""Results of steps can be read by people, and can be loaded as tables."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.errors import PipelineConfigMissing, ResourceFailed
from penstock.extract.report import ExtractInfo, ExtractReport
from penstock.interfaces import CommitRecord
from penstock.load.report import FailedJob, LoadInfo, PackageReport, TableReport
from penstock.normalize.report import NormalizeInfo, NormalizeReport, Reject, RootReport
from penstock.package.extract_manifest import ExtractedTable
from penstock.pipeline.recorder import Recorder
from penstock.pipeline.workdir import WorkDir
from penstock.schema import Schema, decide, gather

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.schema import Table

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
TIMES: dict[str, Any] = {"started_at": NOW, "finished_at": NOW + timedelta(seconds=2)}
FAILURE = ResourceFailed(resource="bad", item=3, cause="KeyError('bad')", traceback="")
ITEMS = ExtractedTable(
    table="items", resource="items", write_disposition="append", folder="f", rows=2, bytes=2048, files=1
)
EXTRACTED = ExtractReport(
    load_id="17.5", tables=(ITEMS,), seconds=0.25, quarantined_rows={"items": 1}, failures={"bad": FAILURE}
)
NORMALIZED = NormalizeReport(
    load_id="17.5",
    seconds=1.5,
    roots=(
        RootReport(
            table="items",
            rows_in=2,
            rows_out=2,
            tables=("items", "items__tags"),
            changes=("new table items: id bigint",),
            nested={"items__tags": None},
            rejects=(Reject(table="items", column="x", mode="discard_value", count=1, reason="no x"),),
        ),
    ),
    bytes_in=2048,
    bytes_out=1024,
)
LOADED = PackageReport(
    load_id="17.5",
    sequence=2,
    seconds=2.0,
    tables=(
        TableReport(table="items", rows=2, version=1, skipped=False, bytes=1024),
        TableReport(table="items__tags", rows=None, version=1, skipped=True),
    ),
)
FAILED = FailedJob(job_id="others.x.reference", failed_message="others is closed")
NOTHING_LOADED = LoadInfo(
    pipeline_name="shop", destination_name="delta", dataset_name="lake", location="s3://bucket/lake"
)
WELL = replace(
    NOTHING_LOADED,
    packages=(LOADED,),
    seconds={"extract": 0.25, "normalize": 1.5, "load": 2.0},
    **TIMES,
)

EXTRACT_INFOS = (
    ExtractInfo(pipeline_name="shop", location="s3://bucket"),
    ExtractInfo(pipeline_name="shop", location="s3://bucket", packages=(EXTRACTED,), **TIMES),
)
NORMALIZE_INFOS = (
    NormalizeInfo(pipeline_name="shop"),
    NormalizeInfo(pipeline_name="shop", packages=(NORMALIZED,), **TIMES),
)
LOAD_INFOS = (
    NOTHING_LOADED,
    WELL,
    replace(WELL, packages=(replace(LOADED, failed_jobs=(FAILED,)),), failed_resources={"bad": FAILURE}),
    replace(WELL, pending=frozenset({"17.5"}), notes=("a note",)),
)


def loaded_as_tables(documents: Sequence[dict[str, Any]]) -> dict[str, Table]:
    """Return the tables for rows that were written as JSON, as by a pipeline."""
    rows = [json.loads(json.dumps(document)) for document in documents]
    stored = Schema("shop").stored
    for row in rows:
        stored = decide(stored, "_info", gather([row])).check().schema
    return {name: table for name, table in stored.tables.items() if name.startswith("_info")}


@pytest.mark.parametrize("infos", [EXTRACT_INFOS, NORMALIZE_INFOS, LOAD_INFOS])
@pytest.mark.parametrize("backwards", [False, True])
def test_infos_can_be_loaded_as_tables_load_after_load(infos: Sequence[Any], backwards: bool) -> None:
    documents = [info.asdict() for info in infos]

    tables = loaded_as_tables(documents[::-1] if backwards else documents)

    columns = {
        f"{table_name}.{name}": column
        for table_name, table in tables.items()
        for name, column in table.columns.items()
    }
    assert all(name.split(".")[1].strip("_") for name in columns)
    assert [name for name in columns if "__v_" in name] == []
    assert columns["_info.pipeline__pipeline_name"].data_type == "text"
    assert columns["_info.started_at"].data_type == "timestamp"
    assert columns["_info__loads_ids.value"].data_type == "text"
    assert "_info__tables" in tables


def test_seconds_are_floats_even_for_an_empty_run() -> None:
    for info in (EXTRACT_INFOS[0], NORMALIZE_INFOS[0]):
        assert isinstance(info.asdict()["seconds"], float)


def test_a_successful_load_is_shown_with_its_tables() -> None:
    assert str(WELL).splitlines() == [
        "Pipeline 'shop' loaded 1 package in 3.8 s (extract 0.2, normalize 1.5, load 2.0)",
        "into delta dataset 'lake' at s3://bucket/lake",
        "Package 17.5 is loaded:",
        "  items        2 rows",
        "  items__tags  ? rows  (was committed before)",
    ]


def test_a_load_with_failed_jobs_shows_their_number_first_and_their_reasons_last() -> None:
    assert str(LOAD_INFOS[2]).splitlines() == [
        "Pipeline 'shop' loaded 1 package in 3.8 s (extract 0.2, normalize 1.5, load 2.0)",
        "into delta dataset 'lake' at s3://bucket/lake",
        "Package 17.5 is loaded without 1 job that failed:",
        "  items        2 rows",
        "  items__tags  ? rows  (was committed before)",
        "  without others.x.reference: others is closed",
        f"left out: {FAILURE.message}",
    ]


def test_a_package_of_an_earlier_run_is_shown_as_such() -> None:
    lines = str(LOAD_INFOS[3]).splitlines()

    assert lines[2] == "Package 17.5, pending from an earlier run, is loaded:"
    assert lines[-1] == "note: a note"
    assert LOAD_INFOS[3].asdict()["packages"][0]["was_pending"] is True


def test_the_first_complete_load_is_shown_as_such_whatever_its_number() -> None:
    first = replace(WELL, packages=(replace(LOADED, is_first=True),))

    assert (NOTHING_LOADED.first_run, WELL.first_run, first.first_run) == (False, False, True)


def test_an_extraction_is_shown_with_rows_bytes_and_failures() -> None:
    assert str(EXTRACT_INFOS[1]).splitlines() == [
        "Pipeline 'shop' extracted 2 rows to s3://bucket",
        "2 rows (2.0 KB) in 0.2 s in package 17.5",
        "- items: 2 rows",
        "- items: 1 quarantined",
        f"- bad was excluded: {FAILURE.message}",
    ]


def test_the_recorder_returns_infos_with_the_times_of_their_steps() -> None:
    recorder = Recorder("shop")
    recorder.package_location = "s3://bucket"
    recorder.destination_info = {**recorder.destination_info, "destination_type": "delta"}
    with recorder.step("extract"):
        recorder.record_extracted(EXTRACTED)
    with recorder.step("load"):
        recorder.record_loaded(LOADED)
    recorder.pending_ids.add("17.5")

    extracted, normalized, loaded = (
        recorder.extract_info(["17.5"]),
        recorder.normalize_info(),
        recorder.load_info(),
    )

    assert (extracted.location, list(loaded.pending)) == ("s3://bucket", ["17.5"])
    assert extracted.started_at is not None
    assert extracted.started_at <= (loaded.started_at or NOW - timedelta(days=9999))
    assert (normalized.started_at, normalized.finished_at) == (None, None)
    assert (loaded.destination_type, loaded.staging_name) == ("delta", None)


def test_a_trace_can_be_loaded_as_a_table() -> None:
    recorder = Recorder("shop")
    with recorder.step("extract"):
        recorder.record_extracted(EXTRACTED)
    with recorder.step("normalize"):
        recorder.record_normalized(NORMALIZED)
    with recorder.step("load"):
        recorder.record_loaded(LOADED)
    well = recorder.trace().asdict()
    broken = Recorder("shop")
    error = PipelineConfigMissing(pipeline_name="shop")
    broken.failure(SimpleNamespace(pipeline_name="shop"), error)

    tables = loaded_as_tables([well, broken.trace().asdict()])

    assert tables["_info__steps"].columns["bytes"].data_type == "bigint"
    assert tables["_info__steps"].columns["error"].data_type == "text"
    assert [name for table in tables.values() for name in table.columns if "__v_" in name] == []


@pytest.mark.parametrize(("knows", "notes"), [(True, 0), (False, 1)])
def test_a_run_on_a_fresh_machine_notes_the_load_it_continues_from(
    tmp_path: Path, knows: bool, notes: int
) -> None:
    pipeline = penstock.pipeline(
        "shop",
        pipelines_dir=tmp_path / "disk",
        destination=penstock.destinations.delta(str(tmp_path / "lake")),
    )
    recorder = Recorder("shop")
    execution = pipeline._execution(recorder)
    execution._note_restored_state()
    assert recorder.notes == []
    ledger = execution._workspace.ledger
    ledger.initialize()
    ledger.commit(
        CommitRecord(
            load_id="17.5",
            schema_name="shop",
            schema_version_hash="h",
            inserted_at=NOW.isoformat(),
            pipeline_name="shop",
            sequence=1,
            manifest_hash="m",
            tables={},
        )
    )
    if knows:
        WorkDir(Path(pipeline.working_dir)).save(state={"_state_version": 1}, schema={"name": "shop"})

    execution._note_restored_state()

    assert len(recorder.notes) == notes
    assert all("load 17.5 at the destination" in note for note in recorder.notes)
