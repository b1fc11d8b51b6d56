"""Runs up to the extraction of new data; packages with only a state need no Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from tests.step_failures import step_raises
from tests.unit.load.scripted_destination import ScriptedClient, World
from tests.unit.pipeline.fake_session import fake_session
from tests.unit.pipeline.machines import normalize_without_spark

import penstock
from penstock.config import with_config
from penstock.errors import (
    DestinationHasFailedJobs,
    LoadClientJobFailed,
    MissingTableName,
    PipelineConfigMissing,
    PipelineLocked,
    SessionLacksConf,
    SlotTaken,
)
from penstock.package import Packages
from penstock.package.lease import hold_lease
from penstock.pipeline import execution
from penstock.pipeline.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def new_pipeline(tmp_path: Path, world: World) -> penstock.Pipeline:
    return penstock.pipeline("shop", tmp_path, destination=world.destination(), spark=fake_session())


def pipeline_with_pending_package(tmp_path: Path, world: World, page: int = 7) -> penstock.Pipeline:
    pipeline = new_pipeline(tmp_path, world)
    with pipeline.managed_state(extract_state=True) as state:
        state["sources"]["shop"] = {"page": page}
    return pipeline


def refuse(*_: Any, **__: Any) -> None:
    raise OSError("no space left")


def test_a_run_that_finds_pending_packages_leaves_new_data_for_the_next_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[int] = []

    def rows() -> Iterator[Any]:
        asked.append(1)
        yield from ()

    pipeline = pipeline_with_pending_package(tmp_path, World(tmp_path))

    first = pipeline.run(rows, table_name="items")
    after_first = len(asked)
    second = pipeline.run(rows, table_name="items")

    assert (len(first.loads_ids), after_first) == (1, 0)
    assert (len(second.loads_ids), len(asked)) == (0, 1)
    assert [info.has_unextracted_data for info in (first, second)] == [True, False]
    assert "note: the data of this run was not extracted" in str(first)
    assert sum("run again" in record.message for record in caplog.records) == 1


def test_a_run_without_data_leaves_no_data(tmp_path: Path) -> None:
    info = pipeline_with_pending_package(tmp_path, World(tmp_path)).run()

    assert (len(info.loads_ids), info.has_unextracted_data, info.notes) == (1, False, ())


def test_with_pending_continue_a_run_extracts_its_data_after_pending_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def rows() -> Iterator[Any]:
        asked.append(penstock.current.source_state()["page"])
        yield from ()

    monkeypatch.setenv("RUN__PENDING", "continue")
    pipeline = pipeline_with_pending_package(tmp_path, World(tmp_path))

    info = pipeline.run(rows, table_name="items")

    assert len(info.loads_ids) == 1
    assert asked == [7], "what waited counts before new data is asked for"


def test_a_job_that_fails_for_good_does_not_raise_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(execution, "normalize", normalize_without_spark)
    world = World(tmp_path, script={"items": ["terminal"]})

    info = new_pipeline(tmp_path, world).run(
        [penstock.resource([{"id": 1}], name="items"), penstock.resource([{"id": 2}], name="others")]
    )

    assert (info.has_failed_jobs, world.landed) == (True, ["others"])
    with pytest.raises(DestinationHasFailedJobs):
        info.raise_on_failed_jobs()
    (failed,) = new_pipeline(tmp_path, world).list_failed_jobs_in_package(info.loads_ids[0])
    assert (failed.state, failed.job_file_info.table_name) == ("failed_jobs", "items")
    assert any("is complete without job items" in record.message for record in caplog.records)


def test_rows_are_normalized_within_the_capabilities_of_the_destination(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nestings: list[int | None] = []

    def recording(*arguments: Any, **options: Any) -> Any:
        nestings.append(options["capabilities"].max_table_nesting)
        return normalize_without_spark(*arguments, **options)

    monkeypatch.setattr(execution, "normalize", recording)
    pipeline = new_pipeline(tmp_path, World(tmp_path, capabilities={"max_table_nesting": 3}))

    pipeline.run([{"id": 1}], table_name="items")

    assert nestings == [3]


@pytest.mark.parametrize("by_setting", [True, False], ids=["setting", "argument"])
def test_a_job_that_fails_for_good_raises_if_so_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_setting: bool
) -> None:
    monkeypatch.setattr(execution, "normalize", normalize_without_spark)
    pipeline = new_pipeline(tmp_path, World(tmp_path, script={"items": ["terminal"]}))
    pipeline.extract([{"id": 1}], table_name="items")
    pipeline.normalize()
    if by_setting:
        monkeypatch.setenv("LOAD__RAISE_ON_FAILED_JOBS", "true")

    with step_raises(LoadClientJobFailed, step="load"):
        pipeline.load(raise_on_failed_jobs=not by_setting)

    assert pipeline.has_pending_data


def test_extract_normalize_and_load_have_the_same_result_as_run(tmp_path: Path) -> None:
    world = World(tmp_path)
    pipeline = pipeline_with_pending_package(tmp_path, world)
    (pending_id,) = pipeline.list_extracted_load_packages()

    pipeline.normalize()
    normalized = pipeline.list_normalized_load_packages()
    info = pipeline.load()

    assert normalized == info.loads_ids == pipeline.list_completed_load_packages() == [pending_id]
    assert world.completed == [pending_id]
    assert pipeline.list_extracted_load_packages() == []
    assert pipeline.get_load_package_info(pending_id).state == "loaded"


def test_completed_packages_are_listed_whether_they_are_retained_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN__KEEP_PACKAGES", "1")
    pipeline = new_pipeline(tmp_path, World(tmp_path))
    loads: list[str] = []
    for number in range(3):
        with pipeline.managed_state(extract_state=True) as state:
            state["sources"]["shop"] = {"page": number}
        loads += pipeline.run().loads_ids

    retained = pipeline.list_retained_load_packages()

    assert len(retained) < len(loads) == 3
    assert pipeline.list_completed_load_packages() == loads


def test_normalizing_and_loading_need_a_destination(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", tmp_path)

    with pytest.raises(PipelineConfigMissing):
        pipeline.normalize()
    with pytest.raises(PipelineConfigMissing):
        pipeline.load()


def test_a_run_makes_its_pipeline_the_active_one(tmp_path: Path) -> None:
    world = World(tmp_path)
    first, second = new_pipeline(tmp_path, world), penstock.pipeline("other", tmp_path)
    assert second.is_active

    first.run()
    after_run = first.is_active
    second.extract([{"n": 1}], table_name="items")

    assert (after_run, second.is_active) == (True, True)


def test_settings_of_the_active_pipeline_take_precedence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @with_config(sections=("tools",))
    def asked(key: str = penstock.config.value) -> str:
        return key

    monkeypatch.setenv("TOOLS__KEY", "all")
    monkeypatch.setenv("SHOP__TOOLS__KEY", "shop")
    pipeline = penstock.pipeline("shop", tmp_path)

    active = asked()
    pipeline.deactivate()

    assert (active, asked()) == ("shop", "all")


def test_functions_of_sources_read_the_state_of_the_active_pipeline(tmp_path: Path) -> None:
    @penstock.source(name="shop")
    def shop() -> Any:
        since = penstock.current.source_state().get("page", 0)
        return penstock.resource([{"page": since}], name="pages")

    pipeline_with_pending_package(tmp_path, World(tmp_path)).run()

    assert list(shop()) == [{"page": 7}]
    penstock.current.source_state()["page"] = 8
    assert penstock.current.source_state() == {"page": 7}, "what is changed outside a run is lost"


@pytest.mark.parametrize(
    ("call", "patched", "step"),
    [
        ("run", (import_module("penstock.pipeline.execution"), "require_trust"), "load"),
        ("run", (Packages, "apply_retention"), "load"),
        ("load", (Packages, "apply_retention"), "load"),
        ("normalize", (Packages, "apply_retention"), "normalize"),
        ("extract", (Workspace, "snapshot_after_pending"), "extract"),
    ],
)
def test_an_error_between_two_steps_is_attributed_to_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, patched: tuple[Any, str], step: str
) -> None:
    pipeline = new_pipeline(tmp_path, World(tmp_path))
    arguments = ([{"n": 1}],) if call == "extract" else ()
    options = {"table_name": "items"} if call == "extract" else {}
    monkeypatch.setattr(*patched, refuse)

    with step_raises(OSError, step=step) as caught:
        getattr(pipeline, call)(*arguments, **options)

    assert penstock.retry.retry_load((step,))(caught.failed[0])
    assert pipeline.last_trace is not None
    assert pipeline.last_trace.failed_step is not None
    assert pipeline.last_trace.failed_step.step == step


@pytest.mark.parametrize("call", ["run", "load"])
def test_a_taken_slot_is_a_failure_of_the_load_of_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    pipeline = pipeline_with_pending_package(tmp_path, World(tmp_path))
    (pending_id,) = pipeline.list_extracted_load_packages()
    pipeline.normalize()
    monkeypatch.setattr(Packages, "seal", lambda *_, **__: False)

    with step_raises(SlotTaken, step="load") as caught:
        getattr(pipeline, call)()

    assert caught.failed[0].load_id == caught.value.load_id == pending_id
    assert penstock.retry.retry_load()(caught.failed[0])


def test_a_load_that_cannot_be_finished_fails_with_its_load_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    pipeline = pipeline_with_pending_package(tmp_path, world)
    world.on_complete = refuse
    with step_raises(OSError, step="load"):
        pipeline.run()

    with step_raises(OSError, step="load"):
        pipeline.run()


def test_a_session_without_deltas_extension_is_a_failure_of_the_run_and_of_no_step(tmp_path: Path) -> None:
    lake = penstock.destinations.delta(str(tmp_path / "lake"))
    pipeline = penstock.pipeline("shop", tmp_path, destination=lake, spark=fake_session())

    with pytest.raises(SessionLacksConf):
        pipeline.run([1], table_name="items")

    trace = pipeline.last_trace
    assert trace is not None
    (step,) = trace.steps
    assert (step.step, step.error_code) == ("run", "session-lacks-conf")
    assert (step.rows, step.spark_jobs) == (None, None)


def test_a_run_without_the_lease_is_reported_and_recorded(tmp_path: Path) -> None:
    heard: list[tuple[str, str]] = []

    class Alerts(penstock.RunHooks):
        def on_failure(self, *, pipeline_name: str, step: str, error: BaseException) -> None:
            heard.append((step, type(error).__name__))

    world = World(tmp_path)
    pipeline = penstock.pipeline(
        "shop", tmp_path, destination=world.destination(), spark=fake_session(), hooks=[Alerts()]
    )
    store = Workspace(pipeline._target(), spark=fake_session()).packages.store

    with hold_lease(store, pipeline="shop"), pytest.raises(PipelineLocked):
        pipeline.run()

    result = pipeline._history().last()
    assert heard == [("run", "PipelineLocked")]
    assert result is not None
    assert result.failed_step is not None
    assert result.failed_step.error_code == "pipeline-locked"


def test_an_invalid_call_is_not_recorded_as_a_failed_run(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", tmp_path)

    with pytest.raises(MissingTableName):
        pipeline.extract([1])

    assert pipeline._history().last() is None


def test_the_last_trace_is_read_by_another_object(tmp_path: Path) -> None:
    first = pipeline_with_pending_package(tmp_path, World(tmp_path))

    first.run()

    trace, result = first.last_trace, new_pipeline(tmp_path, World(tmp_path)).last_trace
    assert trace is not None
    assert result is not None
    assert result.transaction_id == trace.transaction_id


def test_the_first_complete_load_is_the_first_run_even_after_an_aborted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = pipeline_with_pending_package(tmp_path, World(tmp_path))
    with monkeypatch.context() as refusing:
        refusing.setattr(ScriptedClient, "initialize_storage", refuse)
        with step_raises(OSError, step="load"):
            pipeline.run()
    pipeline.drop_pending_packages()

    second = pipeline_with_pending_package(tmp_path, World(tmp_path)).run()
    third = pipeline_with_pending_package(tmp_path, World(tmp_path), page=8).run()

    assert [package.sequence for package in (*second.packages, *third.packages)] == [2, 3]
    assert (second.first_run, third.first_run) == (True, False)
    assert second.asdict()["first_run"] is True
