"""The factories of the built-in destinations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.interfaces import Destination, registered_destination

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.config import AwsCredentials
    from penstock.destinations.postgres.settings import PostgresCredentials


def delta(  # noqa: PLR0913 - the settings
    bucket_url: str | None = None,
    credentials: AwsCredentials | Mapping[str, Any] | str | None = None,
    *,
    catalog: str | None = None,
    table_properties: Mapping[str, Any] | None = None,
    target_file_size: int | None = None,
    optimize: bool | None = None,
    vacuum_hours: float | None = None,
    allow_short_vacuum: bool | None = None,
    commit_by_reference: bool | None = None,
    replace_strategy: str | None = None,
    staging_dataset_name_layout: str | None = None,
    enable_dataset_name_normalization: bool | None = None,
    destination_name: str | None = None,
    environment: str | None = None,
    **capabilities: Any,
) -> Destination:
    """Return a destination of Delta tables: by path below `bucket_url`, or by name with `catalog=`.

    The default location is that of the configuration, else on a local Spark `./<pipeline_name>_lake`. None
    leaves a setting to the configuration, in the section `destination.<destination_name>`. `environment` is
    shown in reports. `capabilities` are fields of `DestinationCapabilitiesContext`.

    >>> delta(bucket_url="s3://lake").destination_name
    'delta'
    >>> delta(destination_name="lake", optimize=True).arguments
    {'optimize': True}
    """
    return _destination("delta", locals())


def duckdb(
    credentials: Any = None,
    *,
    replace_strategy: str | None = None,
    staging_dataset_name_layout: str | None = None,
    enable_dataset_name_normalization: bool | None = None,
    destination_name: str | None = None,
    environment: str | None = None,
    **capabilities: Any,
) -> Destination:
    """Return a destination in a file of DuckDB.

    `credentials` is the path of the file, by default `<pipeline_name>.duckdb` in the working directory, or an
    open connection. The other arguments are those of `delta`.

    >>> duckdb("data/shop.duckdb").destination_name
    'duckdb'
    """
    return _destination("duckdb", locals())


def filesystem(  # noqa: PLR0913 - the settings
    bucket_url: str | None = None,
    credentials: AwsCredentials | Mapping[str, Any] | str | None = None,
    layout: str | None = None,
    extra_placeholders: Mapping[str, Any] | None = None,
    *,
    loader_file_format: str | None = None,
    disable_compression: bool | None = None,
    deltalake_configuration: Mapping[str, Any] | None = None,
    iceberg: Mapping[str, Any] | None = None,
    catalog: str | None = None,
    table_properties: Mapping[str, Any] | None = None,
    target_file_size: int | None = None,
    optimize: bool | None = None,
    vacuum_hours: float | None = None,
    allow_short_vacuum: bool | None = None,
    commit_by_reference: bool | None = None,
    replace_strategy: str | None = None,
    staging_dataset_name_layout: str | None = None,
    enable_dataset_name_normalization: bool | None = None,
    destination_name: str | None = None,
    environment: str | None = None,
    **capabilities: Any,
) -> Destination:
    """Return a destination of folders below `bucket_url`: plain files, or the format that a table names.

    `layout` is the template for the names of plain files, `loader_file_format` one of `parquet`, `jsonl`,
    `csv`. The other arguments are those of `delta`.

    >>> filesystem("s3://lake", destination_name="raw").destination_description
    'raw (penstock.destinations.filesystem)'
    """
    return _destination("filesystem", locals())


def iceberg(  # noqa: PLR0913 - the settings
    bucket_url: str | None = None,
    credentials: AwsCredentials | Mapping[str, Any] | str | None = None,
    *,
    catalog: str | None = None,
    catalog_properties: Mapping[str, Any] | None = None,
    catalog_name: str | None = None,
    table_properties: Mapping[str, Any] | None = None,
    merge_mode: str | None = None,
    target_file_size: int | None = None,
    commits: str | None = None,
    optimize: bool | None = None,
    expire_hours: float | None = None,
    replace_strategy: str | None = None,
    staging_dataset_name_layout: str | None = None,
    enable_dataset_name_normalization: bool | None = None,
    destination_name: str | None = None,
    environment: str | None = None,
    **capabilities: Any,
) -> Destination:
    """Return a destination of Iceberg tables: below `bucket_url`, or in the catalog `catalog=`.

    The default location is that of the configuration, else on a local Spark `./<pipeline_name>_lake`. The
    common arguments are those of `delta`.

    >>> iceberg(bucket_url="/lake", catalog="jdbc", catalog_properties={"uri": "jdbc:…"}).destination_name
    'iceberg'
    """
    return _destination("iceberg", locals())


def postgres(  # noqa: PLR0913 - the settings
    credentials: PostgresCredentials | Mapping[str, Any] | str | None = None,
    create_indexes: bool | None = None,  # noqa: FBT001 - the position is that of dlt
    *,
    max_connections: int | None = None,
    statement_timeout: float | None = None,
    lock_timeout: float | None = None,
    replace_strategy: str | None = None,
    staging_dataset_name_layout: str | None = None,
    enable_dataset_name_normalization: bool | None = None,
    destination_name: str | None = None,
    environment: str | None = None,
    **capabilities: Any,
) -> Destination:
    """Return a destination of schemas in a Postgres database. A load appears in one transaction.

    `credentials` are a URL with any parameter of libpq, or fields. With `create_indexes=False` columns with
    the hint `unique` get no constraint. `max_connections` holds for driver and executors together;
    `statement_timeout` and `lock_timeout` are in seconds.

    >>> postgres("postgresql://ada@db/shop", max_connections=4).arguments["max_connections"]
    4
    """
    return _destination("postgres", locals())


def _destination(name: str, arguments: dict[str, Any]) -> Destination:
    """Return the destination with the arguments of a factory that are not None."""
    capabilities = arguments.pop("capabilities")
    given = {key: value for key, value in {**arguments, **capabilities}.items() if value is not None}
    return Destination.from_reference(registered_destination(name), **given)
