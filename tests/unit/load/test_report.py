from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest
from tests.unit.pages.test_elements import HOSTILE, Reader

from penstock.errors import DestinationHasFailedJobs
from penstock.load.report import FailedJob, LoadInfo, PackageReport, TableReport

NOTHING = LoadInfo(
    pipeline_name="shop", destination_name="delta", dataset_name="lake", location="s3://bucket/lake"
)
PACKAGE = PackageReport(
    load_id="1794709965.511098",
    sequence=1,
    seconds=2.0,
    tables=(
        TableReport(table="items__tags", rows=1, version=0, skipped=False),
        TableReport(table="items", rows=12_345, version=0, skipped=True),
        TableReport(table="sellers", rows=None, version=3, skipped=False),
    ),
)
LOADED = replace(
    NOTHING, packages=(PACKAGE,), seconds={"extract": 0.25, "normalize": 1.0, "load": 2.0}, notes=("a limit",)
)


def test_a_report_has_tables_rows_location_and_time() -> None:
    assert str(LOADED).splitlines() == [
        "Pipeline 'shop' loaded 1 package in 3.2 s (extract 0.2, normalize 1.0, load 2.0)",
        "into delta dataset 'lake' at s3://bucket/lake",
        "Package 1794709965.511098 is loaded:",
        "  items        12,345 rows  (was committed before)",
        "  items__tags       1 row",
        "  sellers           ? rows",
        "note: a limit",
    ]


def test_the_printed_duration_is_that_of_the_call_with_the_start_of_spark() -> None:
    info = replace(LOADED, seconds={"start": 86.0, **LOADED.seconds}, total_seconds=91.5)

    first_line = str(info).splitlines()[0]

    assert first_line.endswith("in 91.5 s (start 86.0, extract 0.2, normalize 1.0, load 2.0)")
    assert info.asdict()["total_seconds"] == 91.5


def test_a_report_without_packages_is_one_line() -> None:
    assert str(NOTHING) == "Pipeline 'shop' had nothing to load into delta dataset 'lake' at s3://bucket/lake"


def test_several_packages_are_reported_in_order() -> None:
    other = replace(PACKAGE, load_id="1794709999.000000")

    text = str(replace(LOADED, packages=(PACKAGE, other)))

    assert "loaded 2 packages in" in text
    assert text.index(PACKAGE.load_id) < text.index(other.load_id)


def test_a_package_without_tables_can_be_printed() -> None:
    text = str(replace(LOADED, packages=(replace(PACKAGE, tables=()),)))

    assert "Package 1794709965.511098 is loaded:" in text


def test_excluded_jobs_are_reported_and_can_be_raised() -> None:
    failed = FailedJob(job_id="items.x.reference", failed_message="items is closed")
    info = replace(LOADED, packages=(replace(PACKAGE, failed_jobs=(failed,)),))

    assert (LOADED.has_failed_jobs, info.has_failed_jobs) == (False, True)
    LOADED.raise_on_failed_jobs()
    with pytest.raises(DestinationHasFailedJobs, match=r"has 1 failed jobs: items\.x\.reference"):
        info.raise_on_failed_jobs()
    assert "  without items.x.reference: items is closed" in str(info).splitlines()
    assert info.asdict()["failed_jobs"] == [
        {"load_id": PACKAGE.load_id, "job_id": "items.x.reference", "failed_message": "items is closed"}
    ]


def test_the_page_on_failures_prints_failed_jobs_and_raises(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "failures.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^## Failed jobs.*?^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    failed = FailedJob(job_id="orders.x.reference", failed_message="orders is closed")
    info = replace(LOADED, packages=(replace(PACKAGE, failed_jobs=(failed,)),))
    pipeline = SimpleNamespace(run=lambda *_, **__: info)

    with pytest.raises(DestinationHasFailedJobs, match=r"orders\.x\.reference"):
        exec(compile(example, "failures.md", "exec"), {"pipeline": pipeline, "orders": []})

    assert "orders is closed" in capsys.readouterr().out


def test_ids_of_packages_come_oldest_first() -> None:
    assert NOTHING.loads_ids == []
    assert LOADED.loads_ids == ["1794709965.511098"]


def test_a_report_as_plain_data_can_be_encoded_as_json() -> None:
    document = orjson.loads(orjson.dumps(LOADED.asdict()))

    assert document["tables"][2] == {
        "load_id": "1794709965.511098",
        "table": "sellers",
        "rows": None,
        "bytes": None,
        "was_committed_before": False,
    }
    assert document["loads_ids"] == ["1794709965.511098"]
    assert document["seconds"] == {"extract": 0.25, "normalize": 1.0, "load": 2.0}


def test_a_notebook_shows_rows_failures_and_notes_as_text() -> None:
    table = TableReport(table=HOSTILE, rows=None, version=0, skipped=True, bytes=2048)
    failed = FailedJob(job_id=HOSTILE, failed_message=HOSTILE)
    package = replace(PACKAGE, tables=(*PACKAGE.tables, table), failed_jobs=(failed,))
    info = replace(LOADED, packages=(package,), location=HOSTILE, notes=(HOSTILE,))

    reader = Reader(info._repr_html_())

    assert f"{HOSTILE}?2.0 KBwas committed before" in reader.text
    assert f"without {HOSTILE}: {HOSTILE}" in reader.text
    assert "items12,345" in reader.text
    assert "script" not in reader.tags


def test_a_notebook_shows_a_run_without_packages() -> None:
    assert "loaded no package" in NOTHING._repr_html_()
