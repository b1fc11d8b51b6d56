"""A refresh drops nothing before the load is committed, whatever process dies in between."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.load.test_run import STATE, TABLES, Crash, LoadScenario, MemoryFiles, sealed_scenario

from penstock.errors import LeaseLost, LoadClientJobFailed
from penstock.interfaces import renewal_of
from penstock.load.run import finish_committed_load, load
from penstock.load.settings import LoaderConfiguration
from penstock.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

RENEWS: dict[str, Any] = {"capabilities": {"renews_tables": True}}
DROPPED = (*TABLES, "old", "old__parts")
QUICK = LoaderConfiguration(retry_pause=0.0, poll_pause=0.0, workers=1)


def refreshing_load(folder: Path, **options: Any) -> LoadScenario:
    """A load to a destination whose jobs put tables in the scenario of others, and which can drop tables."""
    return sealed_scenario(folder, dropped=DROPPED, **{"script": {"drop": []}, **RENEWS, **options})


def test_tables_with_rows_are_recreated_by_their_jobs_and_others_dropped_after_the_commit(
    tmp_path: Path,
) -> None:
    scenario = refreshing_load(tmp_path)

    scenario.load(workers=1)

    asked = scenario.world.asked
    assert "start items append anew: table" in asked
    assert "start items__tags append anew: table" in asked
    jobs = [at for at, what in enumerate(asked) if what.startswith("start")]
    drops = [at for at, what in enumerate(asked) if what.startswith("drop")]
    assert [asked[at] for at in drops] == ["drop old", "drop old__parts"]
    assert min(drops) > max(jobs)


def test_the_ledger_records_dropped_tables_without_the_hint(tmp_path: Path) -> None:
    scenario = refreshing_load(tmp_path)

    scenario.load()

    ledger = scenario.target().ledger
    commit, stored = ledger.find_commit(schema_name="shop", load_id="17.5"), ledger.last_schema("shop")
    assert commit is not None
    assert stored is not None
    assert [name for name, entry in commit.tables.items() if entry.get("dropped")] == [
        "old",
        "old__parts",
    ]
    assert stored.version_hash == Schema.from_dict(dict(scenario.manifest.schema)).version_hash
    assert "x-renew" not in stored.schema
    assert "x-renew" not in str(scenario.target().packages.package("17.5").applied_schema_updates())


def test_truncating_a_root_truncates_its_nested_tables(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, with_jobs=("items", "others"), truncated=TABLES, **RENEWS)

    scenario.load(workers=1)

    assert scenario.world.asked[:2] == ["initialize", "update items items__tags items__parts others"]
    assert "start items append anew: rows" in scenario.world.asked
    assert not any(what.startswith("truncate") for what in scenario.world.asked)


def test_a_table_that_is_not_refreshed_is_loaded_as_usual(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, dropped=("items",), script={"drop": []}, **RENEWS)

    scenario.load()

    assert "start others append" in scenario.world.asked
    assert renewal_of("items__tags", scenario.target().schema.tables) == "table"


def test_a_destination_that_cannot_recreate_clears_tables_before_the_first_job(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, dropped=DROPPED, script={"drop": []})

    scenario.load(workers=1)

    assert scenario.world.asked[:2] == ["initialize", f"drop {' '.join(DROPPED)}"]
    assert "start items append" in scenario.world.asked


@pytest.mark.parametrize("modes", [{"dropped": DROPPED}, {"truncated": TABLES}], ids=["drop", "truncate"])
def test_a_destination_that_cannot_drop_truncates_tables(tmp_path: Path, modes: dict[str, Any]) -> None:
    scenario = sealed_scenario(tmp_path, **modes)

    scenario.load(workers=1)

    assert scenario.world.asked[:2] == ["initialize", f"truncate {' '.join(TABLES)}"]


def test_tables_are_cleared_once_and_not_again_when_the_load_is_resumed(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, dropped=DROPPED, script={"drop": [], "items": ["terminal"]})
    with pytest.raises(LoadClientJobFailed):
        scenario.load(workers=1)

    scenario.load(workers=1)

    cleared = [what for what in scenario.world.asked if what == f"drop {' '.join(DROPPED)}"]
    assert len(cleared) == 1, "rows that jobs have brought since must stay"


def test_a_refresh_is_loaded_completely_or_not_at_all(tmp_path: Path) -> None:
    scenario = refreshing_load(tmp_path, script={"drop": [], "items": ["terminal"]})

    with pytest.raises(LoadClientJobFailed):
        scenario.load(workers=1, raise_on_failed_jobs=False)

    assert scenario.commits() == 0
    assert not any(what.startswith("drop") for what in scenario.world.asked)


def test_a_table_that_cannot_be_dropped_does_not_block_the_pipeline(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scenario = refreshing_load(tmp_path, script={"drop": ["terminal"]})

    scenario.load()

    assert scenario.target().packages.package("17.5").status == "loaded"
    assert "table old is no longer part of the dataset but was not dropped" in caplog.text


def test_a_table_that_can_be_dropped_later_is_dropped_by_the_next_run(tmp_path: Path) -> None:
    scenario = refreshing_load(tmp_path, script={"drop": ["transient"]})
    with pytest.raises(Exception, match="cannot be dropped"):
        scenario.load()

    finish_committed_load(scenario.manifest, scenario.target(), state=STATE)

    assert scenario.commits() == 1
    assert scenario.world.asked[-2:] == ["drop old", "drop old__parts"]
    assert scenario.target().packages.package("17.5").status == "loaded"


@pytest.mark.parametrize("why", ["unknown", "transient"])
def test_a_second_failure_to_drop_a_table_does_not_block_the_pipeline(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, why: str
) -> None:
    scenario = refreshing_load(tmp_path, script={"drop": [why, why]})
    with pytest.raises(Exception, match="cannot be dropped"):
        scenario.load()

    finish_committed_load(scenario.manifest, scenario.target(), state=STATE)

    assert "table old is no longer part of the dataset but was not dropped" in caplog.text
    assert scenario.world.asked[-1] == "drop old__parts"
    assert scenario.target().packages.package("17.5").status == "loaded"


@pytest.mark.parametrize("again", [False, True])
def test_no_table_is_dropped_once_another_run_has_taken_over(tmp_path: Path, again: bool) -> None:
    scenario = refreshing_load(tmp_path, script={"drop": ["transient"] if again else []})
    if again:
        with pytest.raises(Exception, match="cannot be dropped"):
            scenario.load()
    before = len(scenario.world.asked)

    def check() -> None:
        if scenario.commits() and "drop old" in scenario.world.asked[before:]:
            raise LeaseLost(epoch=1, host="here")

    target = replace(scenario.target(), assert_leased=check)
    with pytest.raises(LeaseLost):
        finish_committed_load(scenario.manifest, target, state=STATE) if again else load(
            scenario.manifest, target, state=STATE, load_settings=QUICK
        )

    assert [what for what in scenario.world.asked[before:] if what.startswith("drop")] == ["drop old"]
    assert scenario.target().packages.package("17.5").status == "normalized"


def steps_of(folder: Path) -> int:
    scenario = refreshing_load(folder, memory=MemoryFiles())
    disk = scenario.crashing_files()
    load(scenario.manifest, scenario.target(disk), state=STATE, load_settings=QUICK)
    return disk.changes


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_refresh_survives_a_crash_at_any_step(tmp_path: Path, after: bool) -> None:
    total = steps_of(tmp_path / "whole")
    for step in range(1, total + 1):
        scenario = refreshing_load(tmp_path / f"{step}", memory=MemoryFiles())
        with suppress(Crash):
            load(
                scenario.manifest,
                scenario.target(scenario.crashing_files(step, after=after)),
                state=STATE,
                load_settings=QUICK,
            )

        gone = any(what.startswith("drop") for what in scenario.world.asked)
        assert not gone or scenario.commits() == 1, f"step {step}: old tables go only when the new ones count"

        target = scenario.target()
        if scenario.commits():
            finish_committed_load(scenario.manifest, target, state=STATE)
        else:
            load(scenario.manifest, target, state=STATE, load_settings=QUICK)
        assert sorted(scenario.world.landed) == sorted(TABLES), f"step {step}"
        assert {"drop old", "drop old__parts"} <= set(scenario.world.asked), f"step {step}"
        assert target.packages.package("17.5").status == "loaded"
