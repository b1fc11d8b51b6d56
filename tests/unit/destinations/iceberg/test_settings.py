"""Which catalog a session is told of, what is kept secret, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.config import AwsCredentials, Settings
from penstock.destinations import iceberg
from penstock.destinations.iceberg.addressing import IcebergCatalog
from penstock.destinations.iceberg.conflicts import (
    is_branch_unsupported,
    is_commit_state_unknown,
    is_conflict,
    is_fast_forward_refused,
)
from penstock.destinations.iceberg.ddl import (
    can_widen,
    create_statement,
    partition_fields,
    table_properties,
)
from penstock.destinations.iceberg.history import SnapshotHistory, branch_name
from penstock.destinations.iceberg.maintenance import IcebergMaintenance, PublishedLoad
from penstock.destinations.iceberg.reference import ICEBERG
from penstock.destinations.iceberg.settings import IcebergConfiguration
from penstock.errors import MissingLocation, SchemaCorruptedException, UsageError
from penstock.interfaces import LoadMark
from penstock.schema import Schema, Table

JDBC = {"uri": "jdbc:postgresql://db/x", "jdbc.user": "ada", "jdbc.password": "open-sesame"}


def configured(master: str = "local[2]", **given: Any) -> IcebergConfiguration:
    found = iceberg(**given).configuration(
        Settings(), pipeline_name="shop", dataset_name="Lake", master=master
    )
    assert isinstance(found, IcebergConfiguration)
    return found


def table(**said: Any) -> Table:
    columns = {"id": {"data_type": "bigint"}, "day": {"data_type": "date", "partition": True}}
    return Table.from_dict({"name": "items", "columns": columns, **said})


def test_by_default_tables_are_in_the_folder_of_their_dataset() -> None:
    found = configured()

    conf, name = found.session_conf(), found.session_catalog_name
    assert conf[f"spark.sql.catalog.{name}.type"] == "hadoop"
    assert conf[f"spark.sql.catalog.{name}.warehouse"] == f"file://{Path.cwd()}/shop_lake"
    assert conf[f"spark.sql.catalog.{name}.cache-enabled"] == "false"
    client = ICEBERG.client(Schema("shop"), found)
    assert client.displayable_location() == f"{Path.cwd()}/shop_lake/lake"


def test_only_the_cache_of_a_session_catalog_is_disabled() -> None:
    found = configured(catalog="prod", bucket_url="/lake")

    assert found.session_conf() == {"spark.sql.catalog.prod.cache-enabled": "false"}
    assert ICEBERG.client(Schema("shop"), found).tables.sql_name("items") == "`prod`.`lake`.`items`"


def test_a_password_is_set_in_the_session_and_never_shown() -> None:
    found = configured(catalog="jdbc", catalog_properties=JDBC, bucket_url="/lake")
    client = ICEBERG.client(Schema("shop"), found)

    told = " ".join(
        (repr(found), str(found), found.model_dump_json(), found.fingerprint(), found.session_catalog_name)
    )
    assert (
        found.session_conf()[f"spark.sql.catalog.{found.session_catalog_name}.jdbc.password"] == "open-sesame"
    )
    assert found.session_conf()[f"spark.sql.catalog.{found.session_catalog_name}.jdbc.schema-version"] == "V1"
    assert "open-sesame" not in told + repr(client.tables) + client.displayable_location()


def test_catalog_properties_come_from_the_settings() -> None:
    settings = Settings(environment={"DESTINATION__ICEBERG__CATALOG_PROPERTIES": json.dumps(JDBC)})

    found = iceberg(bucket_url="/lake", catalog="jdbc").configuration(
        settings, pipeline_name="shop", dataset_name="Lake", master="local"
    )

    assert isinstance(found, IcebergConfiguration)
    assert found.catalog_properties == JDBC
    assert "open-sesame" not in repr(found)


def test_the_name_of_a_jdbc_catalog_does_not_depend_on_its_address() -> None:
    def name(**more: Any) -> str:
        properties = {**JDBC, **more.pop("properties", {})}
        return configured(
            catalog="jdbc", catalog_properties=properties, bucket_url="/lake", **more
        ).session_catalog_name

    assert name() == name(properties={"uri": f"{JDBC['uri']}?ssl=true"}) == "penstock"
    assert name(catalog_name="shop") == "shop"


def test_the_name_of_other_catalogs_depends_on_the_location() -> None:
    def name(url: str) -> str:
        return configured(bucket_url=url).session_catalog_name

    assert name("/lake") == name("/lake") != name("/pond")


def test_tables_of_a_separate_warehouse_are_not_addressed_by_path() -> None:
    found = configured(bucket_url="/lake", catalog_properties={"warehouse": "/elsewhere"})

    assert not found.is_by_path
    with pytest.raises(UsageError, match="loses commits"):
        configured(catalog_properties={"warehouse": "s3://lake"}).check_warehouse()


def test_the_catalog_gets_the_credentials_of_the_bucket() -> None:
    credentials = AwsCredentials(aws_access_key_id="me", aws_secret_access_key="open-sesame")
    found = configured(catalog="glue", bucket_url="s3://lake/raw", credentials=credentials)

    key = f"spark.sql.catalog.{found.session_catalog_name}.hadoop.fs.s3a.bucket.lake.secret.key"
    assert found.session_conf()[key] == "open-sesame"


def test_a_session_with_another_catalog_of_the_same_name_is_refused() -> None:
    class Conf(dict[str, str]):
        set = dict.__setitem__

    def told(conf: Conf, uri: str) -> None:
        place = IcebergCatalog(catalog="c", dataset="d", conf={"spark.sql.catalog.c.uri": uri})
        place._register(SimpleNamespace(conf=conf))  # type: ignore[arg-type]

    conf = Conf()
    told(conf, "here")
    told(conf, "here")

    with pytest.raises(UsageError, match="another catalog"):
        told(conf, "there")
    assert conf == {"spark.sql.catalog.c.uri": "here"}


def test_a_rest_catalog_gets_no_warehouse() -> None:
    found = configured(catalog="rest", catalog_properties={"uri": "https://host"}, bucket_url="/lake")

    assert f"spark.sql.catalog.{found.session_catalog_name}.warehouse" not in found.session_conf()


@pytest.mark.parametrize("url", ["s3://lake/raw", "gs://lake", "abfss://lake@account/raw"])
def test_a_catalog_of_files_on_an_object_store_needs_a_lock(url: str) -> None:
    with pytest.raises(UsageError, match="loses commits"):
        configured(bucket_url=url).check_warehouse()

    configured(bucket_url=url, catalog_properties={"lock-impl": "x.Lock"}).check_warehouse()
    configured(bucket_url=url, catalog="glue").check_warehouse()


def test_a_catalog_without_a_lock_is_refused_when_the_client_opens() -> None:
    with pytest.raises(UsageError, match="loses commits"):
        ICEBERG.client(Schema("shop"), configured(bucket_url="s3://lake/raw"))


def test_on_a_cluster_a_location_is_required() -> None:
    with pytest.raises(MissingLocation, match="DESTINATION__ICEBERG__BUCKET_URL"):
        configured(master="yarn")


def test_hints_of_a_table_override_the_table_properties_of_the_settings() -> None:
    found = configured(merge_mode="merge-on-read", target_file_size=1024).properties
    own = {"x-iceberg-table-properties": {"write.merge.mode": "copy-on-write"}}

    properties = table_properties(table(**own), found)

    assert properties["write.merge.mode"] == "copy-on-write"
    assert properties["write.delete.mode"] == "merge-on-read"
    assert properties["write.target-file-size-bytes"] == "1024"


def test_partitions_come_from_dlts_hint_and_from_column_hints() -> None:
    said = [
        {"transform": "bucket", "source_column": "id", "param_value": 8},
        {"transform": "month", "source_column": "odd `name`"},
        {"source_column": "day"},
    ]

    found = partition_fields(table(**{"x-iceberg-partition": said}))

    assert found == ("bucket(8, `id`)", "months(`odd ``name```)", "`day`")
    assert create_statement("t", table(), {}) == (
        "CREATE TABLE IF NOT EXISTS t (`id` BIGINT, `day` DATE) USING iceberg PARTITIONED BY (`day`) "
        "TBLPROPERTIES ('format-version' = '2')"
    )


@pytest.mark.parametrize(
    "said", [{"transform": "bucket", "source_column": "id"}, {"transform": "week", "source_column": "id"}, {}]
)
def test_an_invalid_partition_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(SchemaCorruptedException, match="not a partition"):
        partition_fields(table(**{"x-iceberg-partition": [said]}))


@pytest.mark.parametrize(
    ("has", "to", "can"),
    [
        ("INT", "BIGINT", True),
        ("TINYINT", "BIGINT", True),
        ("TINYINT", "INT", False),
        ("FLOAT", "DOUBLE", True),
        ("DECIMAL(9,2)", "DECIMAL(18,2)", True),
        ("DECIMAL(9,2)", "DECIMAL(18,4)", False),
        ("BIGINT", "DECIMAL(38,9)", False),
        ("BIGINT", "INT", False),
    ],
)
def test_types_are_widened_if_iceberg_can_read_existing_files(has: str, to: str, can: bool) -> None:
    assert can_widen(has, to) is can


def test_errors_are_classified_by_their_text() -> None:
    refused = RuntimeError(
        "java.lang.IllegalArgumentException: Cannot fast-forward: main is not an ancestor of b"
    )
    unknown = RuntimeError("org.apache.iceberg.exceptions.CommitStateUnknownException: timeout")
    without = RuntimeError("java.lang.UnsupportedOperationException: no refs here")

    assert (is_conflict(refused), is_conflict(unknown), is_conflict(without)) == (True, True, False)
    assert (is_fast_forward_refused(refused), is_fast_forward_refused(unknown)) == (True, False)
    assert is_branch_unsupported(without)
    assert not is_branch_unsupported(refused)
    assert not is_conflict(ValueError("Cannot write incompatible data"))
    assert (is_commit_state_unknown(unknown), is_commit_state_unknown(refused)) == (True, False)


def upkeep(seen: SnapshotHistory, **said: Any) -> IcebergMaintenance:
    return IcebergMaintenance(
        catalog=IcebergCatalog(catalog="c", dataset="d"), read_history=lambda table, *, spark: seen, **said
    )


def settled(branch: str | None = "b", version: int | None = 7) -> PublishedLoad:
    mark = LoadMark(pipeline_name="shop", sequence=1, load_id="1.0", manifest_hash="m")
    return PublishedLoad(mark=mark, branch=branch, versions={"t": version})


def tidied(seen: SnapshotHistory, **said: Any) -> list[str]:
    statements: list[str] = []
    spark: Any = SimpleNamespace(sql=statements.append, conf=None)
    upkeep(seen, **said).run(["t"], settled(), spark=spark)
    return [text.split("(", maxsplit=1)[0] for text in statements]


def test_the_branch_of_a_complete_load_expires() -> None:
    found = upkeep(SnapshotHistory(snapshots={}, refs={}))

    (chore,) = found.branch_tasks("t", settled())
    assert chore.statement == (
        "ALTER TABLE `c`.`d`.`t` CREATE OR REPLACE BRANCH `b` AS OF VERSION 7 "
        "RETAIN 1 DAYS WITH SNAPSHOT RETENTION 1 SNAPSHOTS"
    )
    assert not [
        *found.branch_tasks("t", settled(branch=None)),
        *found.branch_tasks("t", settled(version=None)),
    ]


def test_maintenance_runs_the_enabled_tasks() -> None:
    found = upkeep(SnapshotHistory(snapshots={}, refs={}), optimize=True, expire_hours=1)

    assert [one.statement for one in found.maintenance_tasks("t", datetime(2024, 1, 2, tzinfo=UTC))] == [
        "CALL `c`.system.rewrite_data_files(table => '`c`.`d`.`t`')",
        (
            "CALL `c`.system.expire_snapshots(table => '`c`.`d`.`t`', "
            "older_than => TIMESTAMP '2024-01-02 00:00:00.000000')"
        ),
    ]


def test_maintenance_skips_a_table_with_an_open_load_of_another_pipeline() -> None:
    other = branch_name(LoadMark(pipeline_name="other", sequence=1, load_id="2.0", manifest_hash="m"))
    alone, shared = (
        SnapshotHistory(snapshots={}, refs={"b": 7}),
        SnapshotHistory(snapshots={}, refs={other: 8}),
    )
    after = SnapshotHistory(snapshots={}, refs={other: 8}, expiring_refs=frozenset((other,)))

    settling, expiry = "ALTER TABLE `c`.`d`.`t` CREATE OR REPLACE BRANCH", "CALL `c`.system.expire_snapshots"
    assert [len(tidied(seen, expire_hours=1)) for seen in (alone, shared, after)] == [2, 1, 2]
    assert tidied(alone, expire_hours=1)[1] == expiry
    assert tidied(shared, expire_hours=1)[0].startswith(settling)
