"""The progress of jobs, as a collector receives it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recording_collector import RecordingCollector
from tests.unit.load.test_run import QUICK, STATE, LoadScenario, sealed_scenario

from penstock.errors import LoadClientJobFailed
from penstock.load.job_board import table_state
from penstock.load.plan import JobState
from penstock.load.run import load
from penstock.package.folder import DataFolder

if TYPE_CHECKING:
    from pathlib import Path

STATES = st.sampled_from(get_args(JobState))


def recorded_progress(scenario: LoadScenario, **rules: Any) -> RecordingCollector:
    listener = RecordingCollector()
    target = replace(scenario.target(), collector=listener)
    load(scenario.manifest, target, state=STATE, load_settings=QUICK.model_copy(update=rules))
    return listener


def test_jobs_are_counted_and_tables_run_and_are_done(tmp_path: Path) -> None:
    reports = recorded_progress(sealed_scenario(tmp_path))

    assert (reports.counts["Jobs"], reports.totals["Jobs"]) == (4, 4)
    assert {name: reports.counts[name] for name in reports.states} == dict.fromkeys(reports.states, 3)
    assert reports.states["items__tags"] == ["running", "done"]
    assert reports.states["items"] == ["waiting", "running", "done"]


def test_a_retried_job_is_reported_with_its_reason(tmp_path: Path) -> None:
    reports = recorded_progress(
        sealed_scenario(tmp_path, with_jobs=("others",), script={"others": ["transient"]})
    )

    assert reports.states["others"] == ["running", "retried", "running", "done"]
    assert reports.messages == ["others: transient"]
    assert reports.counts["Jobs"] == 1


def test_a_failure_is_reported_before_it_stops_the_run(tmp_path: Path) -> None:
    scenario, reports = (
        sealed_scenario(tmp_path, with_jobs=("others",), script={"others": ["terminal"]}),
        RecordingCollector(),
    )

    with pytest.raises(LoadClientJobFailed):
        load(
            scenario.manifest, replace(scenario.target(), collector=reports), state=STATE, load_settings=QUICK
        )

    assert reports.states["others"] == ["running", "retried"]
    assert reports.messages == ["others: terminal"]


def test_a_chain_that_is_left_out_is_reported_with_its_failed_job(tmp_path: Path) -> None:
    reports = recorded_progress(
        sealed_scenario(tmp_path, script={"items__tags": ["terminal"]}), raise_on_failed_jobs=False
    )

    assert reports.states["items__tags"][-1] == "failed"
    assert reports.states["items"][-1] == "failed"
    assert reports.states["others"][-1] == "done"
    assert "items__tags: terminal" in reports.messages
    assert reports.counts["Jobs"] == reports.totals["Jobs"] == 4


def test_follow_up_jobs_are_counted_as_jobs(tmp_path: Path) -> None:
    reports = recorded_progress(sealed_scenario(tmp_path, with_jobs=("others",), following_jobs={"others"}))

    assert reports.counts["Jobs"] == reports.totals["Jobs"] == 2
    assert reports.states["others"][-1] == "done"


def test_bytes_of_shared_files_are_reported_once(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, with_jobs=("items__tags", "items", "others"))
    tables = tuple(
        replace(entry, data="data/a" if entry.table.startswith("items") else "data/b")
        for entry in scenario.manifest.tables
    )
    folders = (DataFolder(path="data/a", bytes=700), DataFolder(path="data/b", bytes=30))
    manifest, reports = replace(scenario.manifest, tables=tables, folders=folders), RecordingCollector()

    report = load(manifest, replace(scenario.target(), collector=reports), state=STATE, load_settings=QUICK)

    assert reports.sizes == {"items__tags": None, "items": 700, "others": 30}
    assert {table.table: table.bytes for table in report.tables} == reports.sizes


@given(jobs=st.dictionaries(st.text(), STATES, min_size=1), retried=st.sets(st.text()))
def test_a_table_is_done_when_all_jobs_are_and_failed_when_one_is(
    jobs: dict[str, JobState], retried: set[str]
) -> None:
    found = table_state(jobs, retried)

    assert (found == "done") is all(state == "completed" for state in jobs.values())
    assert (found == "failed") is ("failed" in jobs.values())
    if found == "retried":
        assert any(jobs.get(job) == "new" for job in retried)
