"""Descriptions of packages and jobs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.package.package_model import manifest_of

from penstock.interfaces.humanize import human_seconds, human_size
from penstock.interfaces.refresh import Refresh
from penstock.package import LoadPackageInfo, Packages, PackageStorage
from penstock.package.extract_manifest import ExtractedTable, ExtractManifest
from penstock.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

LOAD_ID = "1794709965.511098"
DONE, WAITING, BAD = (f"{table}.5c1c2f0d11.0.reference" for table in ("items", "orders", "tags"))
TABLES = {"items": {"name": "items", "columns": {"id": {"name": "id", "data_type": "bigint"}}}}


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    found = Packages.at(str(tmp_path))
    storage = found.normalized_packages
    storage.create_package(LOAD_ID, schema=Schema("shop"))
    package = found.package(LOAD_ID)
    for job in (DONE, WAITING, BAD):
        package.jobs.add(job, b"{}")
    package.mark_normalized({"jobs": [{"job_id": "items.5c1c2f0d11.reference", "rows": 1234, "bytes": 2048}]})
    assert found.seal(manifest_of(LOAD_ID, 1))
    for job in (DONE, BAD):
        storage.start_job(LOAD_ID, job)
    storage.complete_job(LOAD_ID, DONE, {"rows": 1234})
    storage.fail_job(LOAD_ID, BAD, "no such column: size")
    storage.save_schema_updates(LOAD_ID, TABLES)
    package.commit_schema_updates(TABLES)
    return found


@pytest.fixture
def info(packages: Packages) -> LoadPackageInfo:
    return packages.normalized_packages.get_load_package_info(LOAD_ID)


def test_a_package_as_a_dictionary_can_itself_be_loaded_as_tables(info: LoadPackageInfo) -> None:
    document = info.asdict()

    assert {
        key: document[key] for key in ("load_id", "state", "schema_name", "sequence", "completed_at")
    } == {
        "load_id": LOAD_ID,
        "state": "normalized",
        "schema_name": "shop",
        "sequence": 1,
        "completed_at": None,
    }
    assert document["schema_hash"] == Schema("shop").version_hash
    assert [(job["load_id"], job["job_id"], job["state"]) for job in document["jobs"]] == [
        (LOAD_ID, "orders.5c1c2f0d11.reference", "new_jobs"),
        (LOAD_ID, "tags.5c1c2f0d11.reference", "failed_jobs"),
        (LOAD_ID, "items.5c1c2f0d11.reference", "completed_jobs"),
    ]
    own = {"load_id": LOAD_ID, "schema_name": "shop", "table_name": "items"}
    assert document["tables"] == [
        {**own, "name": "items", "columns": [{**own, "name": "id", "data_type": "bigint"}]}
    ]
    assert json.dumps(document, default=str)


def test_a_job_as_a_dictionary_includes_the_parts_of_its_name(info: LoadPackageInfo) -> None:
    (job,) = info.jobs["completed_jobs"]

    document = job.asdict()

    assert {key: value for key, value in document.items() if key not in {"created_at", "elapsed"}} == {
        "state": "completed_jobs",
        "file_path": f"{info.package_path}/completed_jobs/{DONE}",
        "file_size": 2048,
        "failed_message": None,
        "rows": 1234,
        "table_name": "items",
        "file_id": "5c1c2f0d11",
        "retry_count": 0,
        "file_format": "reference",
        "is_compressed": False,
        "job_id": "items.5c1c2f0d11.reference",
    }
    assert abs((datetime.now(UTC) - document["created_at"]).total_seconds()) < 600


def test_a_job_in_one_line_has_its_state_and_on_request_its_message(info: LoadPackageInfo) -> None:
    (done,), (failed,) = info.jobs["completed_jobs"], info.jobs["failed_jobs"]

    assert done.asstr().startswith(
        "Job items.5c1c2f0d11.reference, table=items in completed_jobs. "
        "File type: reference, size: 2.0 KB, 1,234 rows. Started on: 20"
    )
    assert str(done) == done.asstr(0)
    assert "no such column" not in failed.asstr()
    assert failed.asstr(verbosity=1).endswith("\nno such column: size")


def test_a_package_in_lines_lists_failed_jobs_and_on_request_all(
    packages: Packages, info: LoadPackageInfo
) -> None:
    short, long = str(info), info.asstr(verbosity=1)
    jobs = "1 in new_jobs, 1 in failed_jobs, 1 in completed_jobs"
    packages.package(LOAD_ID).complete("loaded")
    ended = packages.loaded_packages.get_load_package_info(LOAD_ID)

    assert short.splitlines()[:2] == [
        f"The package with load id {LOAD_ID} for schema shop is NORMALIZED, sequence 1",
        f"It is stored at {info.package_path} and has jobs: {jobs}; 2.0 KB of data",
    ]
    assert "no such column: size" in short
    assert "orders.5c1c2f0d11.reference" not in short
    assert "orders.5c1c2f0d11.reference" in long
    assert long.endswith("Table items: id")
    assert ended.state == "loaded"
    assert "It was completed on 20" in str(ended)


def test_jobs_of_a_lost_attempt_are_not_counted(tmp_path: Path) -> None:
    packages = Packages.at(str(tmp_path))
    packages.normalized_packages.create_package(LOAD_ID, schema=Schema("shop"))
    package = packages.package(LOAD_ID)
    for job in (DONE, "items.lost.0.reference", "items.noted.0.sql", "items.unnoted.0.sql"):
        package.jobs.add(job, b"{}")
    package.mark_normalized({"tables": [{"table": "items", "job": DONE, "write_disposition": "append"}]})
    package.record_followups("items.5c1c2f0d11.reference", ["items.noted.sql"])

    info = packages.normalized_packages.get_load_package_info(LOAD_ID)

    assert [job.job_file_info.job_id() for job in info.jobs["new_jobs"]] == [
        "items.5c1c2f0d11.reference",
        "items.noted.sql",
    ]


def extracted_table(table: str, folder: str, rows: int) -> ExtractedTable:
    return ExtractedTable(
        table=table,
        resource=table,
        write_disposition="append",
        folder=folder,
        rows=rows,
        bytes=10 * rows,
        files=1,
    )


def test_the_jobs_of_an_extracted_package_are_its_tables(tmp_path: Path) -> None:
    packages = Packages.at(str(tmp_path))
    package = packages.package(LOAD_ID)
    package.create()
    tables = (
        extracted_table("Items", "data/rows/0", 3),
        extracted_table("Items", "data/rows/1", 4),
    )
    package.mark_extracted(ExtractManifest(schema_name="shop", tables=tables).to_dict())

    info = packages.extracted_packages.get_load_package_info(LOAD_ID)
    again = packages.extracted_packages.get_load_package_info(LOAD_ID)

    first, second = info.jobs["new_jobs"]
    assert (info.state, info.schema_name, info.schema_migrated) == ("extracted", "shop", False)
    assert packages.extracted_packages.schema_name(LOAD_ID) == "shop"
    assert (first.state, first.rows, first.file_size) == ("new_jobs", 3, 30)
    assert first.file_path == f"{package.path}/data/rows/0"
    assert first.job_file_info.table_name == second.job_file_info.table_name == "items"
    assert first.job_file_info.job_id() != second.job_file_info.job_id()
    assert [job.job_file_info for job in again.jobs["new_jobs"]] == [
        first.job_file_info,
        second.job_file_info,
    ]
    assert PackageStorage.is_package_partially_loaded(info) is False


def test_the_extracted_tables_are_no_jobs_of_a_normalized_package(tmp_path: Path) -> None:
    packages = Packages.at(str(tmp_path))
    package = packages.package(LOAD_ID)
    tables = (extracted_table("items", "data/rows/0", 3),)
    package.mark_extracted(ExtractManifest(schema_name="shop", tables=tables).to_dict())
    package.jobs.add(DONE, b"{}")
    package.mark_normalized({})

    info = packages.normalized_packages.get_load_package_info(LOAD_ID)

    assert [job.job_file_info.file_name() for job in info.jobs["new_jobs"]] == [DONE]


def test_a_sealed_refresh_names_the_tables_that_it_drops(tmp_path: Path) -> None:
    packages = Packages.at(str(tmp_path))
    package = packages.package(LOAD_ID)
    refresh = Refresh(mode="drop_resources", resources=("items",))
    package.mark_extracted(ExtractManifest(schema_name="shop", refresh=refresh).to_dict())
    package.mark_normalized({})
    before = packages.normalized_packages.get_load_package_info(LOAD_ID)

    assert packages.seal(replace(manifest_of(LOAD_ID, 1), dropped={"items": {}}, truncated=("tags",)))
    info = packages.normalized_packages.get_load_package_info(LOAD_ID)

    assert (before.refresh, before.dropped_tables) == ("drop_resources", ())
    assert (info.dropped_tables, info.truncated_tables) == (("items",), ("tags",))
    assert info.asdict()["dropped_tables"] == ["items"]
    assert "Dropped tables: items\nTruncated tables: tags" in str(info)


def test_a_package_without_schema_and_jobs_can_be_shown(tmp_path: Path) -> None:
    packages = Packages.at(str(tmp_path))
    packages.package("17.5").create()

    info = packages.normalized_packages.get_load_package_info("17.5")

    assert (info.schema_name, info.schema_hash, info.sequence) == (None, None, None)
    assert "has jobs: none; 0 B of data" in str(info)
    assert info.asdict()["jobs"] == info.asdict()["tables"] == []


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (5 * 1024**5, "5.0 PB"), (2**70, "1048576.0 PB")],
)
def test_sizes_are_human_readable(size: int, text: str) -> None:
    assert human_size(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0.0 s"), (59.94, "59.9 s"), (61, "1 min 1 s"), (86400, "24 h 0 min")]
)
def test_durations_are_human_readable(seconds: float, text: Any) -> None:
    assert human_seconds(seconds) == text
