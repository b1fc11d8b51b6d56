"""`sql_database` and `sql_table`, which declare resources; queries run when these are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.config import config_value, secrets_value
from penstock.errors import UsageError
from penstock.interfaces.deletions import DeleteMode  # noqa: TC001 - annotations of arguments are read
from penstock.interfaces.hints import make_hints
from penstock.interfaces.incremental import Incremental  # noqa: TC001 - annotations of arguments are read
from penstock.sources.decorators import resource, source
from penstock.sources.resource import Resource
from penstock.sources.sql_database.connections import ConnectionBudget
from penstock.sources.sql_database.jdbc import SqlCredentials, jdbc_config
from penstock.sources.sql_database.missing_rows import DeleteMissing
from penstock.sources.sql_database.run import Database, NoSession
from penstock.sources.sql_database.table_reader import DatabaseReflection, SqlOptions, TableReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.sources.sql_database.column_types import ReflectionLevel

__source_name__ = "sql_database"

DEFAULT_CONNECTIONS: Final = 8
DEFAULT_SETTLE: Final = 60.0
DEFAULT_MAX_DELETED: Final = 0.05
_BACKENDS: Final = ("spark", "sqlalchemy", "pyarrow", "pandas", "connectorx")
# Arguments for SQLAlchemy, with their replacements.
_UNSUPPORTED_ARGUMENTS: Final[Mapping[str, str]] = {
    "metadata": "omit it: tables are reflected when they are read",
    "table_adapter_callback": "use included_columns, excluded_columns or apply_hints",
    "type_adapter_callback": "use apply_hints(columns=...)",
    "query_adapter_callback": "use query=, with the SQL to run",
    "engine_adapter_callback": "use backend_kwargs: properties of the JDBC driver",
    "engine_kwargs": "use backend_kwargs: properties of the JDBC driver",
    "table_loader_class": "omit it: Spark reads the table",
}


@source(section="sql_database")
def sql_database(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
    credentials: SqlCredentials = secrets_value,
    schema: str | None = config_value,
    metadata: Any = None,
    table_names: list[str] | None = config_value,
    chunk_size: int = 10_000,
    backend: str = "spark",
    detect_precision_hints: bool | None = False,  # noqa: FBT001, FBT002 - as above
    reflection_level: str | None = "full",
    defer_table_reflect: bool | None = None,  # noqa: FBT001 - as above
    table_adapter_callback: Any = None,
    backend_kwargs: dict[str, Any] | None = None,
    include_views: bool = False,  # noqa: FBT001, FBT002 - as above
    type_adapter_callback: Any = None,
    query_adapter_callback: Any = None,
    resolve_foreign_keys: bool = False,  # noqa: FBT001, FBT002 - as above
    engine_adapter_callback: Any = None,
    engine_kwargs: Any = None,
    table_loader_class: Any = None,
    *,
    connections: int = DEFAULT_CONNECTIONS,
    partitions: int | None = None,
    settle: float = DEFAULT_SETTLE,
    delete_missing: DeleteMode | None = None,
    max_deleted: float = DEFAULT_MAX_DELETED,
) -> Iterator[Resource]:
    """Declare the tables of a database, each as a resource that Spark reads in ranges of its key.

    `credentials` are a SQLAlchemy or JDBC URL. All tables share `connections`; each is read in `partitions`
    ranges, by default one per connection. On Postgres, an incremental waits up to `settle` seconds for
    running transactions. With `delete_missing`, rows that the database lacks are deleted, marked or closed by
    each load, unless they are a larger share of the loaded rows than `max_deleted`.

    >>> shop = sql_database("postgresql://ada:hush@db/shop", table_names=["orders", "customers"])
    >>> list(shop.resources)
    ['orders', 'customers']
    """
    _check_arguments(locals())
    options = _sql_options(
        credentials,
        schema=schema,
        reflection_level=_reflection_level(reflection_level, detect_precision_hints),
        properties=backend_kwargs,
        fetch_size=chunk_size,
        tuning=_Tuning(connections=connections, partitions=partitions, settle=settle),
        resolve_foreign_keys=resolve_foreign_keys,
    )
    deletions = _deletions(delete_missing, max_deleted)
    reflection = DatabaseReflection(options, None if table_names is None else tuple(table_names))
    names: Sequence[str] = table_names or ()
    if table_names is None:
        names = _reflected_names(reflection, include_views=include_views)
    for name in names:
        yield _table_resource(
            TableReader(options=options, name=name, reflection=reflection, deletions=deletions)
        )


@resource(section="sql_database")
def sql_table(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
    credentials: SqlCredentials = secrets_value,
    table: str = config_value,
    schema: str | None = config_value,
    metadata: Any = None,
    incremental: Incremental[Any] | None = None,
    chunk_size: int = 10_000,
    backend: str = "spark",
    detect_precision_hints: bool | None = None,  # noqa: FBT001 - as above
    reflection_level: str | None = "full",
    defer_table_reflect: bool | None = None,  # noqa: FBT001 - as above
    table_adapter_callback: Any = None,
    backend_kwargs: dict[str, Any] | None = None,
    type_adapter_callback: Any = None,
    included_columns: list[str] | None = None,
    excluded_columns: list[str] | None = None,
    query_adapter_callback: Any = None,
    resolve_foreign_keys: bool = False,  # noqa: FBT001, FBT002 - as above
    engine_adapter_callback: Any = None,
    write_disposition: Any = None,
    primary_key: Any = None,
    merge_key: Any = None,
    engine_kwargs: Any = None,
    table_loader_class: Any = None,
    *,
    query: str | None = None,
    partition_column: str | None = None,
    connections: int = DEFAULT_CONNECTIONS,
    partitions: int | None = None,
    settle: float = DEFAULT_SETTLE,
    delete_missing: DeleteMode | None = None,
    max_deleted: float = DEFAULT_MAX_DELETED,
) -> Resource:
    """Declare one table of a database, or the rows of a `query` under the name of `table`.

    The ranges are those of `partition_column`, by default of the first column of the primary key. Other
    arguments are those of `sql_database`.

    >>> sql_table("postgresql://ada:hush@db/shop", "orders", primary_key="id")
    <penstock.resource 'orders', write_disposition='append'>
    """
    _check_arguments(locals())
    options = _sql_options(
        credentials,
        schema=schema,
        reflection_level=_reflection_level(reflection_level, detect_precision_hints),
        properties=backend_kwargs,
        fetch_size=chunk_size,
        tuning=_Tuning(connections=connections, partitions=partitions, settle=settle),
        resolve_foreign_keys=resolve_foreign_keys,
    )
    reader = TableReader(
        options=options,
        name=table,
        reflection=DatabaseReflection(options, (table,)) if query is None else None,
        query=query,
        included_columns=None if included_columns is None else tuple(included_columns),
        excluded_columns=tuple(excluded_columns or ()),
        partition_column=partition_column,
        deletions=_deletions(delete_missing, max_deleted),
    )
    return _table_resource(
        reader,
        write_disposition=write_disposition,
        primary_key=primary_key,
        merge_key=merge_key,
        incremental=incremental,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tuning:
    """Limits of the load on the database."""

    connections: int
    partitions: int | None
    settle: float

    def __post_init__(self) -> None:
        if self.connections < 1 or (self.partitions is not None and self.partitions < 1):
            raise UsageError(
                "connections and partitions must be at least 1, "
                f"got {self.connections} and {self.partitions}",
                hint="use 1 or more",
            )


def _sql_options(
    credentials: Any,
    *,
    schema: str | None,
    reflection_level: ReflectionLevel,
    properties: Mapping[str, Any] | None,
    fetch_size: int,
    tuning: _Tuning,
    resolve_foreign_keys: bool,
) -> SqlOptions:
    jdbc = jdbc_config(credentials, properties=properties)
    return SqlOptions(
        database=Database(jdbc=jdbc, fetch_size=fetch_size),
        schema=schema or jdbc.default_schema or "",
        connections=ConnectionBudget(tuning.connections),
        partitions=tuning.partitions or tuning.connections,
        settle=tuning.settle,
        reflection_level=reflection_level,
        resolve_foreign_keys=resolve_foreign_keys,
    )


def _deletions(mode: DeleteMode | None, max_deleted: float) -> DeleteMissing | None:
    return None if mode is None else DeleteMissing(mode=mode, max_deleted=max_deleted)


def _table_resource(reader: TableReader, **hints: Any) -> Resource:
    def rows(incremental: Incremental[Any] | None = None) -> Iterator[Any]:
        return reader.frames(incremental)

    if reader.deletions is not None:
        hints["write_disposition"] = reader.deletions.write_disposition(hints.get("write_disposition"))
    resource = Resource.from_data(rows, name=reader.name, section=__source_name__, hints=make_hints(**hints))
    preset = reader.options.database.jdbc.dialect.preset
    resource.change(needs=(preset,) if preset else ())
    # In threads, so that queries of several tables run at the same time.
    return resource.parallelize()


def _reflected_names(reflection: DatabaseReflection, *, include_views: bool) -> Sequence[str]:
    if not reflection.is_supported:
        raise UsageError(
            "penstock cannot list the tables of this database", hint="name them with table_names=[...]"
        )
    try:
        tables = reflection.reflect()
    except NoSession:
        raise UsageError(
            "listing the tables needs a Spark session, and no classic session exists before the run",
            hint="name them with table_names=[...], or start a classic session first",
        ) from None
    return [name for name, table in tables.items() if include_views or not table.is_view]


def _reflection_level(level: str | None, detect_precision_hints: bool | None) -> ReflectionLevel:  # noqa: FBT001 - dlt's
    if detect_precision_hints:
        return "full_with_precision"
    match level:
        case None | "full":
            return "full"
        case "minimal":
            return "minimal"
        case "full_with_precision":
            return "full_with_precision"
        case _:
            raise UsageError(
                f"{level!r} is not a reflection level",
                hint="use one of: minimal, full, full_with_precision",
            )


def _check_arguments(arguments: Mapping[str, Any]) -> None:
    """Raise for arguments that only apply to SQLAlchemy."""
    for name, replacement in _UNSUPPORTED_ARGUMENTS.items():
        if arguments.get(name) is not None:
            raise UsageError(f"{name} is not supported with Spark", hint=replacement)
    if arguments["backend"] not in _BACKENDS:
        raise UsageError(f"{arguments['backend']!r} is not a backend", hint="omit it: Spark reads the table")
    if arguments["defer_table_reflect"] is False:
        raise UsageError(
            "tables are always reflected when they are read",
            hint="omit defer_table_reflect, or set it to True",
        )
