from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config import Settings
from penstock.destinations.delta.adapter import DeltaClient
from penstock.destinations.delta.settings import DeltaSettings, configure
from penstock.errors import MissingLocation, UsageError

CONFIGURED = Settings(environment={"DESTINATION__DELTA__BUCKET_URL": "s3://configured"})


def test_the_argument_wins_over_the_settings() -> None:
    given = {"bucket_url": "s3://given"}

    found = configure(given, settings=CONFIGURED, pipeline_name="shop", master="local[*]")

    assert found.bucket_url == "s3://given"


def test_the_settings_hold_where_no_argument_is_given() -> None:
    found = configure({"bucket_url": None}, settings=CONFIGURED, pipeline_name="shop", master="yarn")

    assert found.bucket_url == "s3://configured"


def test_on_this_machine_the_lake_is_a_folder_beside_you() -> None:
    found = configure({}, settings=Settings(), pipeline_name="shop", master="local[2]")

    assert found.bucket_url == str(Path.cwd() / "shop_lake")


@pytest.mark.parametrize("master", ["yarn", "spark://cluster:7077", "a Spark Connect server"])
def test_on_a_cluster_a_location_must_be_given(master: str) -> None:
    with pytest.raises(MissingLocation, match="DESTINATION__DELTA__BUCKET_URL"):
        configure({}, settings=Settings(), pipeline_name="shop", master=master)


def test_a_setting_that_is_not_known_is_named() -> None:
    with pytest.raises(UsageError, match="does not know bucket, url"):
        configure({"url": 1, "bucket": 2}, settings=Settings(), pipeline_name="shop", master="local")


def test_a_password_in_the_location_is_not_shown() -> None:
    settings = DeltaSettings(bucket_url="s3://key:secret@host/lake")

    assert settings.describe() == "s3://***@host/lake"


def test_tables_and_packages_of_a_dataset_stand_in_one_folder(tmp_path: Path) -> None:
    client = DeltaClient(DeltaSettings(bucket_url=f"{tmp_path}/"), dataset_name="lake")
    for name in ("items/_delta_log", "no_table", "_dlt_loads", "_dlt_pkg"):
        (tmp_path / "lake" / name).mkdir(parents=True)

    assert client.location("items") == f"{tmp_path}/lake/items"
    assert client.package_root("shop") == f"{tmp_path}/lake/_dlt_pkg/shop"
    assert client.table_names() == ("items",)
    client.remove()
    assert list(tmp_path.iterdir()) == []
