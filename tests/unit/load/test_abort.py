"""A sealed load is given up: its tables go back, whatever dies on the way."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.load.test_run import Crash, Memory, Place, sealed

from penstock.errors import (
    LoadClientJobFailed,
    LoadClientTransientException,
    LoadIsDecided,
    LoadPackageAborted,
    TablesMovedOn,
)
from penstock.load.abort import abort_load, commits_to_undo, has_started, undo_commits

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.load.test_run import Mortal

    from penstock.load.target import LoadTarget
    from penstock.package import Manifest

DONE = {"items__tags", "items__parts", "others"}
"""The tables that get their rows although `items` is refused."""


def stuck(folder: Path, memory: Memory | None = None) -> Place:
    """A load of which one table is refused for ever, and others have their rows."""
    place = sealed(folder, script={"items": ["terminal"] * 99, "undo": []}, memory=memory)
    with pytest.raises(LoadClientJobFailed):
        place.load(workers=1)
    # A process may die before it can say what it has done: the table knows.
    place.world.landed += [table for table in sorted(DONE) if table not in place.world.landed]
    return place


def given_up(manifest: Manifest, into: LoadTarget) -> None:
    """As `drop_pending_packages` does: the tables are asked first."""
    abort_load(manifest, into, commits_to_undo(manifest, into))


def go_on(into: LoadTarget) -> None:
    """As the next run does."""
    found = into.packages.pending_abort()
    if found is not None:
        undo_commits(*found, into)


def status(place: Place) -> str:
    return place.into().packages.package("17.5").status


def test_an_aborted_load_is_rolled_back_and_keeps_its_slot(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = stuck(tmp_path)

    with caplog.at_level(logging.WARNING):
        given_up(place.manifest, place.into())

    assert set(place.world.undone) == DONE
    assert status(place) == "aborted"
    packages = place.into().packages
    assert (packages.pending_load(), packages.pending_abort()) == (None, None)
    assert packages.slots.last() == 1
    assert place.commits() == 0
    with pytest.raises(LoadPackageAborted):
        packages.commit(place.manifest)
    assert "load 17.5 is aborted and rolled back in" in caplog.text


def test_aborting_a_load_that_never_started_does_not_call_the_destination(tmp_path: Path) -> None:
    place = sealed(tmp_path, script={"undo": []})

    given_up(place.manifest, place.into())

    assert (place.world.asked, place.world.undone) == ([], [])
    assert status(place) == "aborted"


def test_a_retried_job_means_that_the_load_has_started(tmp_path: Path) -> None:
    place = sealed(tmp_path, script={"items": ["transient"] * 9})
    package = place.into().packages.package("17.5")
    assert not has_started(package)

    package.jobs.start("items.x.0.reference")
    assert has_started(package)
    package.jobs.retry("items.x.0.reference", "again")

    assert has_started(package)


def test_nothing_is_decided_when_a_table_was_changed_since(tmp_path: Path) -> None:
    place = stuck(tmp_path)
    place.world.moved_on |= {"others", "items__tags"}

    with pytest.raises(TablesMovedOn) as caught:
        given_up(place.manifest, place.into())

    assert set(vars(caught.value)["tables"]) == {"others", "items__tags"}
    assert place.world.undone == []
    packages = place.into().packages
    assert packages.pending_load() == place.manifest
    assert packages.slots.find_decision(1) is None


def test_a_destination_that_cannot_undo_keeps_its_rows_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = sealed(tmp_path, script={"items": ["terminal"] * 99})
    with pytest.raises(LoadClientJobFailed):
        place.load()

    with caplog.at_level(logging.WARNING):
        given_up(place.manifest, place.into())

    assert status(place) == "aborted"
    assert "its rows remain: the destination cannot undo" in caplog.text


def test_a_committed_load_cannot_be_aborted(tmp_path: Path) -> None:
    place = stuck(tmp_path)
    place.into().packages.commit(place.manifest)

    with pytest.raises(LoadIsDecided):
        given_up(place.manifest, place.into())

    assert place.world.undone == []
    assert place.into().packages.pending_load() == place.manifest


def test_a_transient_undo_error_is_retried_by_the_next_run_and_a_terminal_one_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = stuck(tmp_path)
    place.world.script["undo"] = ["transient", "terminal"]

    with pytest.raises(LoadClientTransientException):
        given_up(place.manifest, place.into())
    assert place.into().packages.pending_load() is None
    with caplog.at_level(logging.WARNING):
        go_on(place.into())

    assert len(place.world.undone) == len(DONE) - 1
    assert status(place) == "aborted"
    assert "rows of load 17.5 remain in" in caplog.text


def test_no_load_is_sealed_before_the_rollback_is_complete(tmp_path: Path) -> None:
    place = stuck(tmp_path)
    into = place.into()
    into.packages.abort(place.manifest, {"take_back": [{"table": "others", "version_after": 7}]})
    later = replace(place.manifest, load_id="17.6", sequence=2)

    assert not into.packages.seal(later)
    go_on(into)
    assert set(place.world.undone) == DONE, "also those that came after the tables were asked"
    assert into.packages.seal(later)


def test_every_table_of_a_started_load_is_fenced_before_it_is_undone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = sealed(tmp_path, script={"items__tags": ["terminal"] * 99, "undo": []})
    with pytest.raises(LoadClientJobFailed):
        place.load(workers=1)
    place.world.landed.clear()
    place.world.late.append("others")

    with caplog.at_level(logging.WARNING):
        given_up(place.manifest, place.into())

    assert set(place.world.fenced) == {"items", "items__tags", "items__parts", "others"}
    assert place.world.undone == ["others"], "a commit that came before the fence"
    assert "rolled back in others" in caplog.text
    assert status(place) == "aborted"


@pytest.mark.parametrize("after", [False, True])
def test_an_abort_survives_a_kill_at_each_step(tmp_path: Path, after: bool) -> None:
    whole = stuck(tmp_path / "whole", Memory())
    counting: Mortal = whole.mortal()
    given_up(whole.manifest, whole.into(counting))
    assert counting.changes > 3

    for point in range(1, counting.changes + 1):
        place = stuck(tmp_path / str(point), Memory())
        with suppress(Crash):
            given_up(place.manifest, place.into(place.mortal(point, after=after)))
        go_on(place.into())
        decided = place.into().packages.slots.find_decision(1)
        if decided is None:
            assert place.world.undone == [], "first it is decided"
            given_up(place.manifest, place.into())

        assert set(place.world.undone) == DONE, f"killed at {point}"
        assert status(place) == "aborted"
        assert commits_to_undo(place.manifest, place.into()) == ()
