from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.config import Settings
from penstock.destinations import delta
from penstock.destinations.delta.reference import DELTA
from penstock.destinations.delta.settings import DeltaConfiguration
from penstock.errors import ConfigValueCannotBeCoerced, MissingLocation, UsageError
from penstock.interfaces import Destination
from penstock.package import FileStorage
from penstock.schema import Schema

KEY_PAIR = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
CONFIGURED = Settings(environment={"DESTINATION__DELTA__BUCKET_URL": "s3://configured"})


def configured(arguments: dict[str, Any], settings: Settings, master: str) -> DeltaConfiguration:
    config = delta(**arguments).configuration(
        settings, pipeline_name="shop", dataset_name="Lake", master=master
    )
    assert isinstance(config, DeltaConfiguration)
    return config


def test_the_argument_overrides_the_settings() -> None:
    config = configured({"bucket_url": "s3://given"}, CONFIGURED, "local[*]")

    assert (config.bucket_url, config.dataset_name, config.destination_name) == (
        "s3://given",
        "Lake",
        "delta",
    )


def test_the_settings_apply_without_an_argument() -> None:
    assert configured({}, CONFIGURED, "yarn").bucket_url == "s3://configured"


def test_on_a_local_spark_the_lake_is_a_folder_in_the_working_directory() -> None:
    assert configured({}, Settings(), "local[2]").bucket_url == str(Path.cwd() / "shop_lake")


@pytest.mark.parametrize("master", ["yarn", "spark://cluster:7077", "a Spark Connect server"])
def test_on_a_cluster_a_location_is_required(master: str) -> None:
    with pytest.raises(MissingLocation, match="DESTINATION__DELTA__BUCKET_URL"):
        configured({}, Settings(), master)


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(UsageError, match="no argument 'bucket'"):
        configured({"bucket": 2}, Settings(), "local")


def test_a_password_in_the_location_is_not_shown() -> None:
    config = DeltaConfiguration(bucket_url="s3://key:secret@host/lake", dataset_name="demo")

    client = DELTA.client(Schema("shop"), config)

    assert str(config) == "s3://***@host/lake"
    assert client.displayable_location() == "s3://***@host/lake/demo"
    assert "secret" not in config.fingerprint()


def test_the_fingerprint_depends_on_the_location_and_not_on_the_credentials() -> None:
    prints = [
        DeltaConfiguration(bucket_url=url).fingerprint()
        for url in ("s3://a:b@host/lake", "s3://c:d@host/lake", "s3://host/other")
    ]

    assert prints[0] == prints[1] != prints[2]
    assert DeltaConfiguration().fingerprint() == ""


def test_tables_and_packages_of_a_dataset_share_a_folder(tmp_path: Path) -> None:
    config = DeltaConfiguration(bucket_url=f"{tmp_path}/", dataset_name="MyLake")
    client = DELTA.client(Schema("shop"), config)
    folders = ("items/_delta_log", "old/_delta_log", "begun/_delta_log", "no_table", "_dlt_loads", "_dlt_pkg")
    for name in folders:
        (tmp_path / "my_lake" / name).mkdir(parents=True)
    (tmp_path / "my_lake" / "items" / "_delta_log" / "00000000000000000000.json").touch()
    (tmp_path / "my_lake" / "old" / "_delta_log" / "_last_checkpoint").touch()

    assert client.displayable_location() == f"{tmp_path}/my_lake"
    assert client.package_root("shop") == f"{tmp_path}/my_lake/_dlt_pkg/shop"
    assert client.table_names() == ("items", "old")
    assert not client.is_storage_initialized()
    client.initialize_storage()
    assert client.is_storage_initialized()
    client.drop_storage()
    assert list(tmp_path.iterdir()) == []


def test_a_client_configures_itself_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", "memory://lake")
    client = DELTA.client(Schema("shop"), DeltaConfiguration(bucket_url="memory://x", dataset_name="demo"))

    assert client.displayable_location() == "memory://x/demo"
    assert DELTA.spec() is DeltaConfiguration


def test_a_catalog_is_part_of_the_location_and_its_tables_have_three_part_names() -> None:
    config = DeltaConfiguration(bucket_url="s3://lake", catalog="main", dataset_name="Raw-Data")

    client = DELTA.client(Schema("shop"), config)

    assert (str(config), client.displayable_location()) == ("main", "main.raw_data")
    assert client.tables.sql_name("items") == "`main`.`raw_data`.`items`"
    assert client.package_root("shop") == "s3://lake/raw_data/_dlt_pkg/shop"
    assert config.fingerprint() != DeltaConfiguration(bucket_url="s3://lake").fingerprint()


def test_a_bucket_has_the_settings_of_a_lake_and_the_aliases_of_dlt() -> None:
    environment = {
        "DESTINATION__FILESYSTEM__BUCKET_URL": "s3://bucket",
        "DESTINATION__FILESYSTEM__DELTALAKE_CONFIGURATION": '{"delta.appendOnly": "true"}',
    }
    destination = Destination.from_reference("filesystem")

    config = destination.configuration(
        Settings(environment=environment), pipeline_name="shop", dataset_name="lake", master="yarn"
    )

    assert isinstance(config, DeltaConfiguration)
    assert (config.bucket_url, config.properties) == ("s3://bucket", {"delta.appendOnly": "true"})
    assert config.destination_type == "dlt.destinations.filesystem"
    assert destination.capabilities().supported_merge_strategies[0] == "upsert"
    with pytest.raises(MissingLocation, match="DESTINATION__FILESYSTEM__BUCKET_URL"):
        destination.configuration(Settings(), pipeline_name="shop", dataset_name="lake", master="yarn")


@pytest.mark.parametrize("setting", [{"vacuum_hours": -1}, {"target_file_size": 0}])
def test_invalid_hours_and_sizes_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(ConfigValueCannotBeCoerced, match=next(iter(setting))):
        configured(setting, Settings(), "local")

    assert configured({"vacuum_hours": 168}, Settings(), "local").vacuum_hours == 168


@pytest.mark.parametrize("hours", [0, 1, 167.9])
def test_a_vacuum_of_the_last_week_needs_allow_short_vacuum(hours: float) -> None:
    with pytest.raises(UsageError, match=f"vacuum_hours is {hours:g}") as refused:
        configured({"vacuum_hours": hours}, Settings(), "local")

    assert "allow_short_vacuum = true" in refused.value.hint
    allowed = configured({"vacuum_hours": hours, "allow_short_vacuum": True}, Settings(), "local")
    assert allowed.vacuum_hours == hours


KEYS = {
    "DESTINATION__DELTA__CREDENTIALS__AWS_ACCESS_KEY_ID": "AKEXAMPLE",
    "DESTINATION__DELTA__CREDENTIALS__AWS_SECRET_ACCESS_KEY": "hush-hush-hush",
    "DESTINATION__DELTA__CREDENTIALS__ENDPOINT_URL": "http://127.0.0.1:9000",
}


def test_credentials_come_from_the_settings_and_are_used_for_tables_and_packages() -> None:
    config = configured({"bucket_url": "s3://lake"}, Settings(environment=KEYS), "yarn")

    client = DELTA.client(Schema("shop"), config)

    assert config.storage_credentials is config.credentials
    assert config.storage_location == "s3://lake"
    store = FileStorage(client.package_root("shop"), credentials=config.storage_credentials)
    assert (store.file_system.key, store.file_system.secret) == ("AKEXAMPLE", "hush-hush-hush")
    assert store.hadoop_conf["fs.s3a.bucket.lake.endpoint"] == "http://127.0.0.1:9000"


@pytest.mark.parametrize(
    "shown", [str, repr, lambda config: config.fingerprint(), lambda config: config.model_dump_json()]
)
def test_credentials_are_never_shown(shown: Any) -> None:
    config = configured({"bucket_url": "s3://lake"}, Settings(environment=KEYS), "yarn")

    assert "hush" not in shown(config)


def test_credentials_may_be_a_dict_and_their_region_is_not_part_of_the_location() -> None:
    arguments = {
        "aws_access_key_id": "AK",
        "aws_secret_access_key": "hush-hush-hush",
        "region_name": "eu-west-1",
    }
    config = configured({"bucket_url": "s3://lake", "credentials": arguments}, Settings(), "yarn")

    assert config.credentials is not None
    assert config.credentials.region_name == "eu-west-1"
    assert config.fingerprint() == configured({"bucket_url": "s3://lake"}, Settings(), "yarn").fingerprint()


def test_without_credentials_those_of_the_machine_are_used() -> None:
    config = configured({"bucket_url": "s3://lake"}, Settings(), "yarn")

    store = FileStorage("s3://lake", credentials=config.storage_credentials)
    assert (store.file_system.key, store.hadoop_conf) == (None, {})


@pytest.mark.parametrize(
    ("arguments", "is_committed"),
    [
        ({"bucket_url": "/lake"}, True),
        ({"bucket_url": "/lake", "commit_by_reference": False}, False),
        ({"catalog": "main", "bucket_url": "/lake"}, False),
        ({"bucket_url": "s3://lake", "credentials": KEY_PAIR}, True),
        # deltalake would look for other credentials than Spark.
        ({"bucket_url": "s3://lake"}, False),
        ({"bucket_url": "abfs://lake@shop.dfs.core.windows.net"}, False),
    ],
)
def test_files_are_committed_by_reference_where_deltalake_opens_the_storage(
    arguments: dict[str, Any], is_committed: bool
) -> None:
    assert configured(arguments, Settings(), "local").commits_by_reference is is_committed
