"""The settings of DuckDB: the file, or an open connection."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, ClassVar, Self

from penstock.config import BaseConfiguration, NotResolved, configspec, redact
from penstock.config.specs import parse_native
from penstock.errors import UsageError
from penstock.interfaces import DestinationClientDwhConfiguration
from penstock.package.storage import absolute_path

_IN_MEMORY = ":memory:"
_SCHEME = "duckdb:///"


@configspec
class DuckDbCredentials(BaseConfiguration):
    """The file of a database, as a path or as `duckdb:///path`, or an open connection.

    Unlike other credentials they have no secret: errors and reports show the path.

    >>> DuckDbCredentials("duckdb:///data/shop.duckdb").database, DuckDbCredentials("shop.duckdb").database
    ('data/shop.duckdb', 'shop.duckdb')
    """

    __section__: ClassVar[str | None] = "credentials"

    database: str | None = None
    """The path of the file; by default `<pipeline name>.duckdb` in the working directory."""
    connection: Annotated[Any | None, NotResolved()] = None
    """An open connection; it is never closed."""

    def __init__(self, native_value: Any = None, /, **fields: Any) -> None:
        """Create them from a path or a connection, or from fields."""
        super().__init__(**{**parse_native(type(self), native_value), **fields})

    def parse_native_representation(self, native_value: Any) -> None:
        """Parse a path, an address, or a connection."""
        if isinstance(native_value, str):
            self.database = native_value.removeprefix(_SCHEME)
        elif hasattr(native_value, "cursor"):
            self.connection = native_value
        elif hasattr(native_value, "__fspath__"):
            self.database = str(native_value)
        else:
            raise ValueError("expected a path, an address like duckdb:///path, or a connection of duckdb")

    def __str__(self) -> str:
        """Return the address of the file."""
        return f"duckdb:///{_IN_MEMORY if self.connection is not None else self.database or ''}"


@configspec
class DuckDbConfiguration(DestinationClientDwhConfiguration):
    """The settings of one database."""

    destination_type: ClassVar[str] = "dlt.destinations.duckdb"
    destination_name: Annotated[str | None, NotResolved()] = "duckdb"

    credentials: DuckDbCredentials | None = None
    """The file or the connection."""

    @property
    def loads_without_spark(self) -> bool:
        """Return True: DuckDB reads the files of small tables itself."""
        return True

    def bound(
        self, *, pipeline_name: str, dataset_name: str, default_schema_name: str | None, master: str
    ) -> Self:
        """Resolve the path of the file."""
        bound = super().bound(
            pipeline_name=pipeline_name,
            dataset_name=dataset_name,
            default_schema_name=default_schema_name,
            master=master,
        )
        given = self.credentials or DuckDbCredentials()
        if given.connection is not None:
            return bound
        if given.database == _IN_MEMORY:
            raise UsageError(
                "a database in memory ends with its connection, so its path cannot be a setting",
                hint="open it, and pass the connection: duckdb(duckdb.connect(':memory:'))",
            )
        path = absolute_path(given.database or f"{pipeline_name}.duckdb")
        return bound.model_copy(update={"credentials": DuckDbCredentials(database=path)})

    @property
    def path(self) -> str | None:
        """The path of the file; None for a given connection."""
        return self.credentials.database if self.credentials is not None else None

    @property
    def connection(self) -> Any:
        """The given connection; None for a file."""
        return self.credentials.connection if self.credentials is not None else None

    def fingerprint(self) -> str:
        """Return a hash of the path; empty for a given connection."""
        return hashlib.shake_128(self.path.encode()).hexdigest(8) if self.path else ""

    def __str__(self) -> str:
        """Return the address of the file."""
        return redact(str(self.credentials)) if self.credentials is not None else "duckdb"
