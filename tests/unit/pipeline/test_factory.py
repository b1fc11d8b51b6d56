"""Creation of pipelines: arguments, settings, and the names that result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.destinations.warehouse import warehouse
from tests.unit.load.scripted_destination import World
from tests.unit.pipeline.fake_session import fake_session

import penstock
from penstock.config import AwsCredentials, Settings
from penstock.errors import CannotRestorePipelineException, UsageError
from penstock.interfaces import (
    DestinationClientDwhWithStagingConfiguration,
    DestinationClientStagingConfiguration,
)
from penstock.pipeline.configuration import PipelineConfiguration
from penstock.pipeline.context import PipelineContext
from penstock.pipeline.settings import RunConfiguration
from penstock.pipeline.target import open_target, staging_bucket, with_staging
from penstock.pipeline.workdir import WorkDir

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.interfaces import Destination, DestinationClientConfiguration


def test_missing_arguments_are_looked_up_in_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPELINES__PIPELINES_DIR", str(tmp_path))
    monkeypatch.setenv("PIPELINES__SHOP__DESTINATION_NAME", "delta")
    monkeypatch.setenv("PIPELINES__SHOP__DATASET_NAME", "raw")
    monkeypatch.setenv("PIPELINES__SHOP__PIPELINE_SALT", "grain")

    shop, crm = penstock.pipeline("shop"), penstock.pipeline("crm", dataset_name="own")

    assert shop.destination is not None
    assert (shop.destination.destination_name, shop.dataset_name) == ("delta", "raw")
    assert shop.pipeline_salt == "grain"
    assert (crm.destination, crm.dataset_name) == (None, "own")
    assert shop.pipelines_dir == crm.pipelines_dir == str(tmp_path)


def test_the_name_can_come_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPELINES__PIPELINE_NAME", "nightly")

    assert penstock.pipeline(dataset_name="x").pipeline_name == "nightly"


def test_a_layout_determines_the_name_of_the_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPELINES__DATASET_NAME_LAYOUT", "%s_dataset")

    assert penstock.pipeline("shop").dataset_name == "shop_dataset"
    monkeypatch.setenv("PIPELINES__DATASET_NAME_LAYOUT", "dataset")
    with pytest.raises(UsageError, match="must contain %s exactly once"):
        penstock.pipeline("shop")


def test_in_dev_mode_each_pipeline_has_a_separate_dataset_and_an_empty_state(tmp_path: Path) -> None:
    before = penstock.pipeline("shop", pipelines_dir=tmp_path)
    before.set_local_state_val("seen", 1)
    before.extract([{"n": 1}], table_name="items")

    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path, dev_mode=True)

    assert re.fullmatch(r"shop_20\d\d(0\d|1[0-2])[0-3]\d[0-2]\d[0-5]\d[0-5]\d", pipeline.dataset_name)
    assert "seen" not in pipeline.state["_local"]
    assert len(pipeline.list_extracted_load_packages()) == 1, "packages are data, and data is not dropped"


def test_dev_mode_applies_to_a_dataset_named_later(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path, dev_mode=True)

    with pytest.raises(UsageError, match="has no destination"):
        pipeline.run([1], table_name="t", dataset_name="other")

    assert re.fullmatch(r"other_\d{14}", pipeline.dataset_name)


def test_the_salt_is_stable_and_masked() -> None:
    salt, same, other = (penstock.pipeline(name).pipeline_salt for name in ("shop", "shop", "crm"))

    assert salt == same != other
    assert repr(penstock.pipeline("shop", pipeline_salt="grain").pipeline_salt) == "***"


def test_must_attach_to_local_pipeline_refuses_a_pipeline_without_a_working_folder(tmp_path: Path) -> None:
    with pytest.raises(CannotRestorePipelineException):
        penstock.Pipeline(
            "shop",
            tmp_path,
            pipeline_salt=None,
            destination=None,
            staging=None,
            dataset_name=None,
            import_schema_path=None,
            export_schema_path=None,
            dev_mode=False,
            progress=None,
            must_attach_to_local_pipeline=True,
            config=PipelineConfiguration(),
            runtime=None,
        )


def test_runtime_replaces_the_settings_of_runs(tmp_path: Path) -> None:
    lake = penstock.destinations.delta(str(tmp_path / "lake"))
    pipeline = penstock.Pipeline(
        "shop",
        tmp_path,
        pipeline_salt=None,
        destination=lake,
        staging=None,
        dataset_name=None,
        import_schema_path=None,
        export_schema_path=None,
        dev_mode=False,
        progress=None,
        must_attach_to_local_pipeline=False,
        config=PipelineConfiguration(),
        runtime=RunConfiguration(lease_beat=0.5, lease_alive=60.0),
    )

    pipeline.extract([{"n": 1}], table_name="items")

    assert pipeline.has_pending_data


def test_drop_deletes_the_working_folder_with_its_packages(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)
    pipeline.set_local_state_val("seen", 1)
    pipeline.extract([{"n": 1}], table_name="items")
    WorkDir(tmp_path / "shop").save(state={"dataset_name": "shop"}, schema={"name": "shop"})

    assert pipeline.drop() is pipeline

    assert not (tmp_path / "shop").exists()
    assert pipeline.last_trace is None
    assert not pipeline.has_pending_data


def test_drop_keeps_packages_that_other_machines_may_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("EXTRACT__PACKAGE_STORAGE", str(tmp_path / "shared"))
    lake = penstock.destinations.delta(str(tmp_path / "lake"))
    unbound = penstock.pipeline("shop", pipelines_dir=tmp_path / "disk")
    unbound.extract([{"n": 1}], table_name="items")
    unbound.drop()
    text = caplog.text
    bound = penstock.pipeline("shop", pipelines_dir=tmp_path / "disk", destination=lake)
    bound.extract([{"n": 2}], table_name="items")
    bound.drop()

    assert f"still has pending packages in {tmp_path}/shared/shop: drop_pending_packages()" in text
    assert len(bound.list_extracted_load_packages()) == 2
    assert not (tmp_path / "disk" / "shop").exists()


def test_drop_with_a_name_returns_a_pipeline_with_the_same_arguments(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", tmp_path, destination="delta", dev_mode=True, refresh="drop_data")
    pipeline.set_local_state_val("seen", 1)

    other = pipeline.drop("crm")

    assert (other.pipeline_name, other.pipelines_dir, other.refresh) == ("crm", str(tmp_path), "drop_data")
    assert other.destination == pipeline.destination
    assert re.fullmatch(r"crm_\d{14}", other.dataset_name)
    assert other.is_active
    assert not (tmp_path / "shop").exists()


def config_of(destination: Destination) -> DestinationClientConfiguration:
    return destination.configuration(Settings(), pipeline_name="shop", dataset_name="lake", master="local")


def test_packages_are_stored_in_the_staging_bucket(tmp_path: Path) -> None:
    pipeline = penstock.pipeline(
        "shop",
        tmp_path,
        destination=penstock.destinations.delta(str(tmp_path / "lake")),
        staging=penstock.destinations.filesystem(str(tmp_path / "stage")),
    )

    info = pipeline.extract([{"n": 1}], table_name="items")

    assert info.location == f"{tmp_path}/stage/shop/_dlt_pkg/shop"
    assert pipeline.has_pending_data
    assert not (tmp_path / "lake").exists()


def test_staging_needs_a_bucket_and_the_credentials_of_the_destination(tmp_path: Path) -> None:
    keys = AwsCredentials(aws_access_key_id="a", aws_secret_access_key="b")
    staging = config_of(penstock.destinations.filesystem("s3://stage", credentials=keys))

    assert staging_bucket(staging, config_of(penstock.destinations.delta("s3://l", credentials=keys))) == (
        "s3://stage"
    )
    with pytest.raises(UsageError, match="has credentials that delta does not have"):
        staging_bucket(staging, config_of(penstock.destinations.delta("s3://lake")))
    with pytest.raises(UsageError, match="it has no bucket"):
        staging_bucket(config_of(World(tmp_path).destination()), staging)


def test_a_destination_with_staging_settings_gets_the_staging_bucket() -> None:
    staging = config_of(penstock.destinations.filesystem("s3://stage"))

    config: Any = with_staging(DestinationClientDwhWithStagingConfiguration(), staging)

    assert (config.staging_config.bucket_url, config.staging_config.as_staging) == ("s3://stage", True)
    assert with_staging(staging, staging) is staging


def test_a_destination_with_staging_settings_opens_the_bucket_with_the_credentials_of_staging(
    tmp_path: Path,
) -> None:
    keys = AwsCredentials(aws_access_key_id="a", aws_secret_access_key="b")
    context = PipelineContext(pipeline_name="shop", dataset_name="demo", workdir=WorkDir(tmp_path))
    staging = penstock.destinations.filesystem("s3://stage", credentials=keys)

    target = open_target(warehouse(tmp_path), context, spark=None, staging=staging)

    assert (target.staging_bucket, target.config.storage_credentials) == ("s3://stage", keys)
    assert isinstance(target.config, DestinationClientDwhWithStagingConfiguration)
    assert target.config.is_staged
    assert isinstance(target.config.staging_config, DestinationClientStagingConfiguration)
    assert target.config.staging_config.layout.startswith("{table_name}/")
    assert str(target.config.staging_config) == "s3://stage"


def test_credentials_are_those_of_the_destination(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", tmp_path, destination=penstock.destinations.delta("s3://lake"))

    pipeline._bind(credentials={"aws_access_key_id": "a", "aws_secret_access_key": "b"})

    credentials = pipeline._target().config.storage_credentials
    assert credentials is not None
    assert credentials.aws_access_key_id == "a"
    with pytest.raises(UsageError, match="has no destination"):
        penstock.pipeline("crm", tmp_path).load(credentials="x")
    other = penstock.pipeline("crm", tmp_path, destination=World(tmp_path).destination())
    with pytest.raises(UsageError, match="no argument 'credentials'"):
        other.run([1], table_name="t", credentials="x")


def test_an_unknown_file_format_is_refused_before_spark_starts() -> None:
    pipeline, options = penstock.pipeline("shop", destination="filesystem"), {"loader_file_format": "xls"}

    with pytest.raises(UsageError, match="'xls' is not a file format"):
        pipeline.normalize(**options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'xls' is not a file format"):
        pipeline.run([1], table_name="t", **options)  # type: ignore[arg-type]


def test_run_uses_the_session_that_it_is_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Any] = []
    monkeypatch.setattr(penstock.Pipeline, "run", lambda self, *_, **__: used.append(self._spark))
    first, second = fake_session(), fake_session()
    active = penstock.pipeline("shop", tmp_path, spark=first)

    penstock.run([1], table_name="t")
    penstock.run([1], table_name="t", spark=second)
    penstock.run([1], table_name="t")

    assert active.is_active
    assert [session is second for session in used] == [False, True, True]
    assert used[0] is first
