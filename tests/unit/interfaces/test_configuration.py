from __future__ import annotations

from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config import Settings, TSecretStrValue, configspec, resolve_configuration
from penstock.errors import ConfigFieldMissing, UsageError
from penstock.interfaces import (
    Destination,
    DestinationClientConfiguration,
    DestinationClientDwhConfiguration,
    DestinationClientDwhWithStagingConfiguration,
    DestinationClientStagingConfiguration,
    find_destination,
)
from penstock.schema import Schema


@configspec
class Warehouse(DestinationClientDwhConfiguration):
    destination_name: Annotated[str | None, "which"] = "warehouse"
    host: str
    password: TSecretStrValue

    def fingerprint(self) -> str:
        return f"hash of {self.host}"


def dwh(dataset_name: str | None = "Lake", default: str | None = None) -> DestinationClientDwhConfiguration:
    return DestinationClientDwhConfiguration(dataset_name=dataset_name, default_schema_name=default)


def test_the_configuration_has_the_name_of_its_destination() -> None:
    made = Destination("delta", find_destination("delta"), {"bucket_url": "memory://x"})

    config = made.configuration(Settings(), pipeline_name="p", dataset_name="d", master="local")

    assert config.destination_name == "delta"


def test_a_fingerprint_is_a_hash_of_some_fields_and_empty_by_default() -> None:
    assert DestinationClientConfiguration().fingerprint() == ""
    assert Warehouse(host="db", password="hush").fingerprint() == "hash of db"


def test_the_text_of_a_configuration_is_a_place_without_secrets() -> None:
    staging = DestinationClientStagingConfiguration(bucket_url="s3://key:hush@host/lake?token=hush")

    shown = [
        str(Warehouse(host="db", password="hush")),
        str(staging),
        repr(Warehouse(host="db", password="hush")),
    ]

    assert shown[:2] == ["warehouse", "s3://***@host/lake?token=***"]
    assert "hush" not in "".join(shown)


def test_credentials_are_part_of_the_spec_and_are_resolved_from_settings() -> None:
    environment = {"DESTINATION__WAREHOUSE__HOST": "db", "DESTINATION__WAREHOUSE__PASSWORD": "hush"}

    found = resolve_configuration(
        Warehouse, settings=Settings(environment=environment), sections=("destination", "warehouse")
    )

    assert (found.host, found.password) == ("db", "hush")
    with pytest.raises(ConfigFieldMissing, match="host"):
        resolve_configuration(Warehouse, settings=Settings())


def test_the_dataset_is_bound_by_the_pipeline_and_not_by_the_settings() -> None:
    settings = Settings(environment={"DATASET_NAME": "other", "DEFAULT_SCHEMA_NAME": "other"})

    found = resolve_configuration(DestinationClientDwhConfiguration, settings=settings)
    bound = found.bound(pipeline_name="p", dataset_name="lake", default_schema_name="shop", master="local")

    assert (found.dataset_name, bound.dataset_name, bound.default_schema_name) == (None, "lake", "shop")


def test_the_default_schema_has_the_dataset_and_others_have_it_as_prefix() -> None:
    names = [dwh(default=default).normalize_dataset_name(Schema("shop")) for default in (None, "shop", "crm")]

    assert names == ["lake", "lake", "lake_shop"]


@given(st.text("aA1 -_.", min_size=1).filter(str.strip))
def test_the_name_of_a_dataset_is_normalized(name: str) -> None:
    schema = Schema("shop")

    found = dwh(name).normalize_dataset_name(schema)

    assert found == schema.naming.normalize_table_identifier(name)
    assert dwh(found).normalize_dataset_name(schema) == found


def test_a_dataset_that_has_its_name_already_can_keep_it() -> None:
    config = DestinationClientDwhConfiguration(dataset_name="MyLake", enable_dataset_name_normalization=False)

    assert config.normalize_dataset_name(Schema("shop")) == "MyLake"


def test_without_a_dataset_name_an_error_is_raised() -> None:
    with pytest.raises(UsageError, match="has no dataset name"):
        dwh(None).normalize_dataset_name(Schema("shop"))


def test_the_staging_dataset_has_another_name() -> None:
    same = DestinationClientDwhConfiguration(dataset_name="lake", staging_dataset_name_layout="%s")
    fixed = DestinationClientDwhConfiguration(dataset_name="lake", staging_dataset_name_layout="Waiting")

    assert dwh().normalize_staging_dataset_name(Schema("shop")) == "lake_staging"
    assert fixed.normalize_staging_dataset_name(Schema("shop")) == "waiting"
    with pytest.raises(UsageError, match="have the same name 'lake'"):
        same.normalize_staging_dataset_name(Schema("shop"))


@pytest.mark.parametrize("word", ["classic", "staging", "truncate-and-insert", None])
def test_the_replace_strategy_accepts_the_names_of_the_page_and_of_dlt(word: str | None) -> None:
    assert DestinationClientDwhConfiguration(replace_strategy=word).replace_strategy == word


def test_a_staging_destination_has_files_with_a_layout_in_a_bucket_and_datasets() -> None:
    settings = Settings(environment={"BUCKET_URL": "s3://lake"})

    found = resolve_configuration(DestinationClientStagingConfiguration, settings=settings)

    assert (found.bucket_url, found.layout) == ("s3://lake", "{table_name}/{load_id}.{file_id}.{ext}")
    assert found.as_staging is False, "it can stand alone"
    bound = found.bound(pipeline_name="p", dataset_name="Demo", default_schema_name=None, master="local")
    assert bound.normalize_dataset_name(Schema("shop")) == "demo"


def test_the_staging_configuration_is_set_at_run_time() -> None:
    staging = DestinationClientStagingConfiguration(bucket_url="s3://lake")
    alone = resolve_configuration(
        DestinationClientDwhWithStagingConfiguration, settings=Settings(environment={"BUCKET_URL": "s3://x"})
    )

    assert alone.staging_config is None
    assert alone.model_copy(update={"staging_config": staging}).staging_config == staging
