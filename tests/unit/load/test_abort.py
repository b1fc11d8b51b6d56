"""An aborted load is rolled back, whatever process dies in between."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.load.test_run import Crash, LoadScenario, MemoryFiles, sealed_scenario

from penstock.errors import (
    LoadClientJobFailed,
    LoadClientTransientException,
    LoadIsDecided,
    LoadPackageAborted,
    TablesMovedOn,
)
from penstock.load.abort import abort_load, commits_to_undo, has_started, undo_commits
from penstock.package.packages import SealedLoad

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.load.test_run import CrashingFiles

    from penstock.load.target import LoadTarget
    from penstock.package import Manifest

DONE = {"items__tags", "items__parts", "others"}
"""The tables that get their rows although `items` is refused."""


def stuck(folder: Path, memory: MemoryFiles | None = None) -> LoadScenario:
    """A load of which one table is refused for ever, and others have their rows."""
    scenario = sealed_scenario(folder, script={"items": ["terminal"] * 99, "undo": []}, memory=memory)
    with pytest.raises(LoadClientJobFailed):
        scenario.load(workers=1)
    # A process may die before it records its commit; the history of the table has it.
    scenario.world.landed += [table for table in sorted(DONE) if table not in scenario.world.landed]
    return scenario


def abort_sealed(manifest: Manifest, target: LoadTarget) -> None:
    """As `drop_pending_packages` does: the tables are asked first."""
    abort_load(manifest, target, commits_to_undo(manifest, target))


def resume_abort(target: LoadTarget) -> None:
    """As the next run does."""
    last = target.packages.last_load()
    if last is not None and last.abort is not None:
        undo_commits(last.manifest, last.abort, target)


def status(scenario: LoadScenario) -> str:
    return scenario.target().packages.package("17.5").status


def test_an_aborted_load_is_rolled_back_and_keeps_its_slot(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scenario = stuck(tmp_path)

    with caplog.at_level(logging.WARNING):
        abort_sealed(scenario.manifest, scenario.target())

    assert set(scenario.world.undone) == DONE
    assert status(scenario) == "aborted"
    packages = scenario.target().packages
    assert packages.last_load() == SealedLoad(manifest=scenario.manifest, is_ended=True)
    assert packages.slots.last() == 1
    assert scenario.commits() == 0
    with pytest.raises(LoadPackageAborted):
        packages.commit(scenario.manifest)
    assert "load 17.5 is aborted and rolled back in" in caplog.text


def test_aborting_a_load_that_never_started_does_not_call_the_destination(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"undo": []})

    abort_sealed(scenario.manifest, scenario.target())

    assert (scenario.world.asked, scenario.world.undone) == ([], [])
    assert status(scenario) == "aborted"


def test_a_retried_job_means_that_the_load_has_started(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": ["transient"] * 9})
    package = scenario.target().packages.package("17.5")
    assert not has_started(package)

    package.jobs.start("items.x.0.reference")
    assert has_started(package)
    package.jobs.retry("items.x.0.reference", "again")

    assert has_started(package)


def test_nothing_is_decided_when_a_table_was_changed_since(tmp_path: Path) -> None:
    scenario = stuck(tmp_path)
    scenario.world.moved_on |= {"others", "items__tags"}

    with pytest.raises(TablesMovedOn) as caught:
        abort_sealed(scenario.manifest, scenario.target())

    assert set(vars(caught.value)["tables"]) == {"others", "items__tags"}
    assert scenario.world.undone == []
    packages = scenario.target().packages
    assert packages.pending_load() == scenario.manifest
    assert packages.slots.find_decision(1) is None


def test_a_destination_that_cannot_undo_keeps_its_rows_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": ["terminal"] * 99})
    with pytest.raises(LoadClientJobFailed):
        scenario.load()

    with caplog.at_level(logging.WARNING):
        abort_sealed(scenario.manifest, scenario.target())

    assert status(scenario) == "aborted"
    assert "its rows remain: the destination cannot undo" in caplog.text


def test_a_committed_load_cannot_be_aborted(tmp_path: Path) -> None:
    scenario = stuck(tmp_path)
    scenario.target().packages.commit(scenario.manifest)

    with pytest.raises(LoadIsDecided):
        abort_sealed(scenario.manifest, scenario.target())

    assert scenario.world.undone == []
    assert scenario.target().packages.pending_load() == scenario.manifest


def test_a_transient_undo_error_is_retried_by_the_next_run_and_a_terminal_one_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scenario = stuck(tmp_path)
    scenario.world.script["undo"] = ["transient", "terminal"]

    with pytest.raises(LoadClientTransientException):
        abort_sealed(scenario.manifest, scenario.target())
    assert scenario.target().packages.pending_load() is None
    with caplog.at_level(logging.WARNING):
        resume_abort(scenario.target())

    assert len(scenario.world.undone) == len(DONE) - 1
    assert status(scenario) == "aborted"
    assert "rows of load 17.5 remain in" in caplog.text


def test_no_load_is_sealed_before_the_rollback_is_complete(tmp_path: Path) -> None:
    scenario = stuck(tmp_path)
    target = scenario.target()
    target.packages.abort(scenario.manifest, {"take_back": [{"table": "others", "version_after": 7}]})
    later = replace(scenario.manifest, load_id="17.6", sequence=2)

    assert not target.packages.seal(later)
    resume_abort(target)
    assert set(scenario.world.undone) == DONE, "also commits after the tables were read"
    assert target.packages.seal(later)


def test_every_table_of_a_started_load_is_fenced_before_it_is_undone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scenario = sealed_scenario(tmp_path, script={"items__tags": ["terminal"] * 99, "undo": []})
    with pytest.raises(LoadClientJobFailed):
        scenario.load(workers=1)
    scenario.world.landed.clear()
    scenario.world.late.append("others")

    with caplog.at_level(logging.WARNING):
        abort_sealed(scenario.manifest, scenario.target())

    assert set(scenario.world.fenced) == {"items", "items__tags", "items__parts", "others"}
    assert scenario.world.undone == ["others"], "a commit before the fence"
    assert "rolled back in others" in caplog.text
    assert status(scenario) == "aborted"


@pytest.mark.parametrize("after", [False, True])
def test_an_abort_survives_a_kill_at_each_step(tmp_path: Path, after: bool) -> None:
    whole = stuck(tmp_path / "whole", MemoryFiles())
    counting: CrashingFiles = whole.crashing_files()
    abort_sealed(whole.manifest, whole.target(counting))
    assert counting.changes > 3

    for point in range(1, counting.changes + 1):
        scenario = stuck(tmp_path / str(point), MemoryFiles())
        with suppress(Crash):
            abort_sealed(scenario.manifest, scenario.target(scenario.crashing_files(point, after=after)))
        resume_abort(scenario.target())
        decided = scenario.target().packages.slots.find_decision(1)
        if decided is None:
            assert scenario.world.undone == [], "first it is decided"
            abort_sealed(scenario.manifest, scenario.target())

        assert set(scenario.world.undone) == DONE, f"killed at {point}"
        assert status(scenario) == "aborted"
        assert commits_to_undo(scenario.manifest, scenario.target()) == ()
