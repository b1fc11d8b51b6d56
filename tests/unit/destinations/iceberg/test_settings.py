"""The settings of an Iceberg lake: catalogs, secrets, partitions, types and maintenance."""

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
    config = iceberg(**given).configuration(
        Settings(), pipeline_name="shop", dataset_name="Lake", master=master
    )
    assert isinstance(config, IcebergConfiguration)
    return config


def table(**values: Any) -> Table:
    columns = {"id": {"data_type": "bigint"}, "day": {"data_type": "date", "partition": True}}
    return Table.from_dict({"name": "items", "columns": columns, **values})


def test_by_default_tables_are_in_the_folder_of_their_dataset() -> None:
    config = configured()

    conf, name = config.session_conf(), config.session_catalog_name
    assert conf[f"spark.sql.catalog.{name}.type"] == "hadoop"
    assert conf[f"spark.sql.catalog.{name}.warehouse"] == f"file://{Path.cwd()}/shop_lake"
    assert conf[f"spark.sql.catalog.{name}.cache-enabled"] == "false"
    client = ICEBERG.client(Schema("shop"), config)
    assert client.displayable_location() == f"{Path.cwd()}/shop_lake/lake"


def test_only_the_cache_of_a_session_catalog_is_disabled() -> None:
    config = configured(catalog="prod", bucket_url="/lake")

    assert config.session_conf() == {"spark.sql.catalog.prod.cache-enabled": "false"}
    assert ICEBERG.client(Schema("shop"), config).tables.sql_name("items") == "`prod`.`lake`.`items`"


def test_a_password_is_set_in_the_session_and_never_shown() -> None:
    config = configured(catalog="jdbc", catalog_properties=JDBC, bucket_url="/lake")
    client = ICEBERG.client(Schema("shop"), config)

    shown = " ".join(
        (
            repr(config),
            str(config),
            config.model_dump_json(),
            config.fingerprint(),
            config.session_catalog_name,
        )
    )
    assert (
        config.session_conf()[f"spark.sql.catalog.{config.session_catalog_name}.jdbc.password"]
        == "open-sesame"
    )
    assert (
        config.session_conf()[f"spark.sql.catalog.{config.session_catalog_name}.jdbc.schema-version"] == "V1"
    )
    assert "open-sesame" not in shown + repr(client.tables) + client.displayable_location()


def test_catalog_properties_come_from_the_settings() -> None:
    settings = Settings(environment={"DESTINATION__ICEBERG__CATALOG_PROPERTIES": json.dumps(JDBC)})

    config = iceberg(bucket_url="/lake", catalog="jdbc").configuration(
        settings, pipeline_name="shop", dataset_name="Lake", master="local"
    )

    assert isinstance(config, IcebergConfiguration)
    assert config.catalog_properties == JDBC
    assert "open-sesame" not in repr(config)


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
    config = configured(bucket_url="/lake", catalog_properties={"warehouse": "/elsewhere"})

    assert not config.is_by_path
    with pytest.raises(UsageError, match="loses commits"):
        configured(catalog_properties={"warehouse": "s3://lake"}).check_warehouse()


def test_the_catalog_gets_the_credentials_of_the_bucket() -> None:
    credentials = AwsCredentials(aws_access_key_id="me", aws_secret_access_key="open-sesame")
    config = configured(catalog="glue", bucket_url="s3://lake/raw", credentials=credentials)

    key = f"spark.sql.catalog.{config.session_catalog_name}.hadoop.fs.s3a.bucket.lake.secret.key"
    assert config.session_conf()[key] == "open-sesame"


def test_a_session_with_another_catalog_of_the_same_name_is_refused() -> None:
    class Conf(dict[str, str]):
        set = dict.__setitem__

    def register(conf: Conf, uri: str) -> None:
        catalog = IcebergCatalog(catalog="c", dataset="d", conf={"spark.sql.catalog.c.uri": uri})
        catalog._register(SimpleNamespace(conf=conf))  # type: ignore[arg-type]

    conf = Conf()
    register(conf, "here")
    register(conf, "here")

    with pytest.raises(UsageError, match="another catalog"):
        register(conf, "there")
    assert conf == {"spark.sql.catalog.c.uri": "here"}


def test_a_rest_catalog_gets_no_warehouse() -> None:
    config = configured(catalog="rest", catalog_properties={"uri": "https://host"}, bucket_url="/lake")

    assert f"spark.sql.catalog.{config.session_catalog_name}.warehouse" not in config.session_conf()


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
    config = configured(merge_mode="merge-on-read", target_file_size=1024).properties
    own = {"x-iceberg-table-properties": {"write.merge.mode": "copy-on-write"}}

    properties = table_properties(table(**own), config)

    assert properties["write.merge.mode"] == "copy-on-write"
    assert properties["write.delete.mode"] == "merge-on-read"
    assert properties["write.target-file-size-bytes"] == "1024"


def test_partitions_come_from_dlts_hint_and_from_column_hints() -> None:
    values = [
        {"transform": "bucket", "source_column": "id", "param_value": 8},
        {"transform": "month", "source_column": "odd `name`"},
        {"source_column": "day"},
    ]

    config = partition_fields(table(**{"x-iceberg-partition": values}))

    assert config == ("bucket(8, `id`)", "months(`odd ``name```)", "`day`")
    assert create_statement("t", table(), {}) == (
        "CREATE TABLE IF NOT EXISTS t (`id` BIGINT, `day` DATE) USING iceberg PARTITIONED BY (`day`) "
        "TBLPROPERTIES ('format-version' = '2')"
    )


@pytest.mark.parametrize(
    "values",
    [{"transform": "bucket", "source_column": "id"}, {"transform": "week", "source_column": "id"}, {}],
)
def test_an_invalid_partition_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(SchemaCorruptedException, match="not a partition"):
        partition_fields(table(**{"x-iceberg-partition": [values]}))


@pytest.mark.parametrize(
    ("old_type", "new_type", "is_widened"),
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
def test_types_are_widened_if_iceberg_can_read_existing_files(
    old_type: str, new_type: str, is_widened: bool
) -> None:
    assert can_widen(old_type, new_type) is is_widened


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


class RemoteCatalog(IcebergCatalog):
    """A catalog that only SQL reaches."""

    def open_version(self, table: str, *, spark: Any) -> None:
        """Return None."""


def maintenance(history: SnapshotHistory, **values: Any) -> IcebergMaintenance:
    return IcebergMaintenance(
        catalog=RemoteCatalog(catalog="c", dataset="d"),
        read_history=lambda table, *, spark: history,
        **values,
    )


def published_load(branch: str | None = "b", version: int | None = 7) -> PublishedLoad:
    mark = LoadMark(pipeline_name="shop", sequence=1, load_id="1.0", manifest_hash="m")
    return PublishedLoad(mark=mark, branch=branch, versions={"t": version})


def statements_of(history: SnapshotHistory, load: PublishedLoad | None = None, **values: Any) -> list[str]:
    statements: list[str] = []
    spark: Any = SimpleNamespace(sql=statements.append, conf=None)
    maintenance(history, **values).run(["t"], load or published_load(), spark=spark)
    return statements


def run_maintenance(history: SnapshotHistory, **values: Any) -> list[str]:
    return [text.split("(", maxsplit=1)[0] for text in statements_of(history, **values)]


def test_the_branch_of_a_complete_load_expires() -> None:
    history = SnapshotHistory(snapshots={}, refs={})

    assert statements_of(history) == [
        (
            "ALTER TABLE `c`.`d`.`t` CREATE OR REPLACE BRANCH `b` AS OF VERSION 7 "
            "RETAIN 1 DAYS WITH SNAPSHOT RETENTION 1 SNAPSHOTS"
        )
    ]
    assert not statements_of(history, published_load(branch=None))
    assert not statements_of(history, published_load(version=None))


def test_maintenance_runs_the_enabled_tasks() -> None:
    tasks = maintenance(SnapshotHistory(snapshots={}, refs={}), optimize=True, expire_hours=1)

    assert [task.statement for task in tasks.maintenance_tasks("t", datetime(2024, 1, 2, tzinfo=UTC))] == [
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
    assert [len(run_maintenance(history, expire_hours=1)) for history in (alone, shared, after)] == [2, 1, 2]
    assert run_maintenance(alone, expire_hours=1)[1] == expiry
    assert run_maintenance(shared, expire_hours=1)[0].startswith(settling)
