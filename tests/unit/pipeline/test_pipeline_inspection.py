"""Inspection of a pipeline: its packages, its state, and whether it is the active one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.destinations.warehouse import warehouse
from tests.unit.load.test_run import sealed_scenario

import penstock
from penstock.config import scope
from penstock.errors import (
    CannotRestorePipelineException,
    LoadClientJobFailed,
    LoadPackageNotFound,
    PipelineNotActive,
    SchemaNotFoundError,
)
from penstock.pipeline.package_listing import PackageListing
from penstock.pipeline.state import new_state
from penstock.pipeline.workdir import WorkDir
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator


@penstock.resource
def counter() -> Iterator[Any]:
    state = penstock.current.resource_state()
    state["last"] = state.get("last", 0) + 1
    yield {"n": state["last"]}


def new_pipeline(tmp_path: Path, *, at_lake: bool) -> penstock.Pipeline:
    lake = penstock.destinations.delta(str(tmp_path / "lake")) if at_lake else None
    return penstock.pipeline("shop", pipelines_dir=tmp_path / "disk", destination=lake)


@pytest.mark.parametrize("at_lake", [False, True], ids=["waiting", "at the lake"])
def test_extracted_packages_are_listed_and_change_the_state(tmp_path: Path, at_lake: bool) -> None:
    pipeline = new_pipeline(tmp_path, at_lake=at_lake)
    assert (pipeline.has_data, pipeline.has_pending_data, pipeline.first_run) == (False, False, True)

    pipeline.extract(counter())
    pipeline.extract(counter())

    first, second = pipeline.list_extracted_load_packages()
    assert first < second
    assert pipeline.list_normalized_load_packages() == pipeline.list_completed_load_packages() == []
    assert (pipeline.has_data, pipeline.has_pending_data, pipeline.first_run) == (True, True, True)
    assert pipeline.state["sources"]["shop"]["resources"]["counter"] == {"last": 2}
    assert pipeline.get_load_package_info(first).state == "extracted"
    assert pipeline.list_failed_jobs_in_package(first) == []
    assert pipeline.get_load_package_state(first)["created_at"] is not None
    with pytest.raises(LoadPackageNotFound):
        pipeline.get_load_package_info("1700000000.5")


@pytest.mark.parametrize("raises", [True, False], ids=["that stops the run", "that is left out"])
def test_failed_jobs_are_listed_with_their_messages(tmp_path: Path, raises: bool) -> None:
    place = sealed_scenario(tmp_path, script={"others": ["failed"]})
    with suppress(LoadClientJobFailed):
        place.load(raise_on_failed_jobs=raises)

    (job,) = PackageListing((place.target().packages,)).failed_jobs("17.5")

    assert job.job_file_info.table_name == "others"
    assert (job.failed_message or "").endswith("others says failed")
    assert job.state == ("new_jobs" if raises else "failed_jobs")


def test_unbound_packages_are_listed_after_a_destination_is_set(tmp_path: Path) -> None:
    new_pipeline(tmp_path, at_lake=False).extract(counter())

    with_destination = new_pipeline(tmp_path, at_lake=True)

    assert len(with_destination.list_extracted_load_packages()) == 1
    assert with_destination.has_pending_data


@pytest.mark.parametrize(
    ("pipeline_name", "schema_name"),
    [("shop_pipeline", "shop"), ("shop_pipeline_2", "shop_pipeline_2"), ("pipeline", "pipeline")],
)
def test_the_suffix_of_a_pipeline_is_not_part_of_the_name_of_its_schema(
    pipeline_name: str, schema_name: str, tmp_path: Path
) -> None:
    assert penstock.pipeline(pipeline_name, pipelines_dir=tmp_path).default_schema_name == schema_name


def test_a_pipeline_that_has_not_run_has_a_schema_with_its_name(tmp_path: Path) -> None:
    pipeline = new_pipeline(tmp_path, at_lake=False)

    assert pipeline.default_schema_name == pipeline.default_schema.name == "shop"
    assert list(pipeline.schemas) == ["shop"]
    assert pipeline.schemas["shop"].name == "shop"
    assert "other" not in pipeline.schemas
    with pytest.raises(SchemaNotFoundError, match="schema 'other' does not exist") as missing:
        pipeline.schemas["other"]
    assert isinstance(missing.value, KeyError)
    assert pipeline.naming.normalize_identifier("OrderId") == "order_id"


def test_values_of_this_machine_are_stored_only_here(tmp_path: Path) -> None:
    moment = datetime(2024, 5, 6, tzinfo=UTC)
    new_pipeline(tmp_path, at_lake=False).set_local_state_val("seen", moment)
    new_pipeline(tmp_path, at_lake=False).set_local_state_val("times", 2)

    pipeline = new_pipeline(tmp_path, at_lake=False)

    assert pipeline.get_local_state_val("seen") == moment
    assert pipeline.state["_local"] == {"seen": moment, "times": 2}
    with pytest.raises(KeyError):
        pipeline.get_local_state_val("other")


def test_the_pipeline_created_last_is_active_until_it_is_deactivated(tmp_path: Path) -> None:
    first = penstock.pipeline("first", pipelines_dir=tmp_path)
    second = penstock.pipeline("second", pipelines_dir=tmp_path)
    assert (first.is_active, second.is_active) == (False, True)
    assert penstock.pipeline() is second

    first.activate()
    assert penstock.pipeline() is first
    assert penstock.current.pipeline() is first
    with pytest.raises(PipelineNotActive, match="'second' is not active"):
        second.deactivate()

    first.deactivate()
    assert not first.is_active
    assert penstock.pipeline() is not first


def test_threads_that_activate_no_pipeline_have_the_active_one(tmp_path: Path) -> None:
    other, pipeline = (penstock.pipeline(name, pipelines_dir=tmp_path) for name in ("other", "shop"))

    with ThreadPoolExecutor(1) as thread:
        active = thread.submit(lambda: (pipeline.is_active, other.is_active, penstock.pipeline())).result()
        scoped = thread.submit(lambda: scope().pipeline_name).result()
    pipeline.deactivate()
    with ThreadPoolExecutor(1) as thread:
        inactive = thread.submit(lambda: pipeline.is_active).result()

    assert active == (True, False, pipeline)
    assert scoped == "shop"
    assert not inactive


def test_extracted_files_are_listed_by_a_deprecated_method(tmp_path: Path) -> None:
    pipeline = new_pipeline(tmp_path, at_lake=True)
    pipeline.extract([{"n": 1}], table_name="items")

    with pytest.warns(DeprecationWarning, match=r"use list_extracted_load_packages\(\)"):
        (path,) = pipeline.list_extracted_resources()

    assert Path(path).is_file()
    assert pipeline.list_extracted_load_packages()[0] in path


def test_the_active_pipeline_gives_its_destination_s_names_to_new_schemas(tmp_path: Path) -> None:
    capabilities = {"max_identifier_length": 12, "naming_convention": "sql_cs_v1"}
    pipeline = penstock.pipeline("shop", tmp_path, destination=warehouse(tmp_path / "w", **capabilities))
    schema = Schema("orders")
    with ThreadPoolExecutor(1) as thread:
        of_thread = thread.submit(lambda: Schema("orders").naming.max_length).result()
    pipeline.deactivate()
    apart = Schema("orders")

    assert (schema.naming.name, schema.naming.max_length, of_thread) == ("sql_cs_v1", 12, 12)
    assert len(schema.naming.normalize_identifier("a_name_of_twenty_one")) == 12
    assert Schema("orders", {"names": "direct"}).naming.name == "direct"
    assert (apart.naming.name, apart.naming.max_length) == ("snake_case", None)
    assert pipeline.naming.max_length == 12


def test_an_unknown_pipeline_cannot_be_attached(tmp_path: Path) -> None:
    with pytest.raises(CannotRestorePipelineException, match="has no working folder of it"):
        penstock.attach("shop", pipelines_dir=tmp_path)
    with pytest.raises(CannotRestorePipelineException, match="delta has no load of it in dataset 'shop'"):
        penstock.attach("shop", tmp_path, destination=penstock.destinations.delta(str(tmp_path / "lake")))
    assert list(tmp_path.iterdir()) == []


def test_attach_returns_a_pipeline_with_its_last_target(tmp_path: Path) -> None:
    state = new_state(
        pipeline_name="shop",
        dataset_name="raw",
        schema_name="shop",
        destination_type="delta",
    )
    WorkDir(tmp_path / "shop").save(state=state, schema=Schema("shop").to_dict())

    attached = penstock.attach("shop", pipelines_dir=tmp_path)

    assert attached.destination is not None
    assert (attached.destination.destination_name, attached.dataset_name) == ("delta", "raw")
    assert attached.is_active
