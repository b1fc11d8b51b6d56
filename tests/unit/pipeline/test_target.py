from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.unit.load.scripted_destination import World

from penstock.config import Settings
from penstock.destinations import delta, duckdb
from penstock.errors import UsageError
from penstock.package import FileStorage
from penstock.package.file_ledger import FileLedger
from penstock.pipeline.context import PipelineContext
from penstock.pipeline.target import Target, package_root
from penstock.pipeline.workdir import WorkDir
from penstock.pipeline.workspace import open_ledger

if TYPE_CHECKING:
    from penstock.interfaces import Destination


def target(destination: Destination, settings: Settings) -> Target:
    config = destination.configuration(settings, pipeline_name="shop", dataset_name="demo", master="local")
    return Target(
        pipeline=PipelineContext(
            pipeline_name="shop", dataset_name="demo", workdir=WorkDir(Path("work") / "shop")
        ),
        destination=destination,
        config=config,
        settings=settings,
    )


def root(destination: Destination, settings: Settings, master: str = "local[2]") -> str:
    new_target = target(destination, settings)
    return package_root(new_target, new_target.client(), master=master)


def test_packages_are_stored_at_a_destination_that_supports_it() -> None:
    assert root(delta(bucket_url="s3://lake"), Settings(), "yarn") == "s3://lake/demo/_dlt_pkg/shop"


def test_packages_are_otherwise_stored_in_the_working_folder_on_a_local_spark(tmp_path: Path) -> None:
    stranger = World(tmp_path).destination()

    assert root(stranger, Settings()) == "work/shop/load/demo"
    with pytest.raises(UsageError, match="DESTINATION__SCRIPTED__PACKAGE_STORAGE"):
        root(stranger, Settings(), "yarn")


@pytest.mark.parametrize("key", ["DESTINATION__SCRIPTED__PACKAGE_STORAGE", "PACKAGE_STORAGE"])
def test_a_setting_changes_the_folder_of_packages(tmp_path: Path, key: str) -> None:
    settings = Settings(environment={key: "s3://packages/"})

    assert root(World(tmp_path).destination(), settings, "yarn") == "s3://packages/demo/shop"


def test_packages_in_a_store_are_refused_where_the_driver_reads_them_by_paths(tmp_path: Path) -> None:
    database = duckdb(str(tmp_path / "shop.duckdb"))

    with pytest.raises(UsageError, match=r"reads packages by paths.* s3://packages/demo/shop"):
        root(database, Settings(environment={"PACKAGE_STORAGE": "s3://packages"}))
    with pytest.raises(UsageError, match="DESTINATION__DUCKDB__PACKAGE_STORAGE"):
        root(database, Settings(), "spark://cluster:7077")
    shared = Settings(environment={"PACKAGE_STORAGE": "/shared"})
    assert root(database, shared, "spark://cluster:7077") == "/shared/demo/shop"


def test_the_ledger_is_at_the_destination_or_beside_the_packages(tmp_path: Path) -> None:
    storage = FileStorage(str(tmp_path / "packages"))
    lake = target(delta(bucket_url=str(tmp_path)), Settings()).client()
    stranger = target(World(tmp_path).destination(), Settings()).client()

    for client in (lake, stranger):
        ledger = open_ledger(client, storage)
        assert isinstance(ledger, FileLedger)
        ledger.initialize()

    assert (tmp_path / "demo" / "init").exists()
    assert (tmp_path / "packages" / "ledger" / "init").exists()
