"""The settings of the Postgres destination: the login, TLS, and limits of connections and statements."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, ClassVar, Final
from urllib.parse import unquote

from pydantic import Field, field_validator

from penstock.config import NotResolved, configspec, redact
from penstock.config.credentials import ConnectionStringCredentials, is_loopback
from penstock.interfaces import DestinationClientDwhWithStagingConfiguration
from penstock.spark.presets import MASKING_CONF

_DRIVERNAMES: Final = ("postgresql", "postgres")
_VERIFIED: Final = frozenset(("verify-full", "verify-ca"))
APPLICATION_NAME: Final = "penstock-writer"


@configspec
class PostgresCredentials(ConnectionStringCredentials):
    """A login to Postgres: a URL, or fields. The query of the URL may have any parameter of libpq.

    A server on another machine is verified (`sslmode=verify-full`) unless `sslmode` is set.

    >>> login = PostgresCredentials("postgresql://ada:p%40ss@db.example.org/shop")
    >>> login.parameters()["sslmode"], login.parameters()["port"], str(login)
    ('verify-full', '5432', 'postgresql://ada:***@db.example.org:5432/shop')
    """

    drivername: str = "postgresql"
    database: str = None  # type: ignore[assignment]  # set by settings
    host: str = None  # type: ignore[assignment]  # set by settings
    port: int = 5432
    connect_timeout: Annotated[int, Field(ge=1)] = 15
    """The seconds after which a connection attempt ends."""

    def __init__(self, connection_string: Any = None, /, **fields: Any) -> None:
        """Create from a URL, from fields, or from both: fields win."""
        super().__init__(connection_string, **fields)

    @field_validator("drivername")
    @classmethod
    def _check_drivername(cls, drivername: str) -> str:
        if drivername.partition("+")[0] not in _DRIVERNAMES:
            raise ValueError(f"expected postgresql://, not {drivername}://")
        return drivername

    def parse_native_representation(self, native_value: Any) -> None:
        """Parse a URL, given as text or as an SQLAlchemy object."""
        super().parse_native_representation(native_value)
        self.database = unquote(self.database) if self.database else self.database
        self.port = self.port or 5432
        self.connect_timeout = int(self.query.pop("connect_timeout", self.connect_timeout))

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        return self.host.startswith("/") or all(is_loopback(host) for host in self.host.split(","))

    @property
    def is_verified(self) -> bool:
        """Whether a connection verifies its server, or does not have to."""
        return self.is_local or self.parameters()["sslmode"] in _VERIFIED

    def parameters(self) -> dict[str, str]:
        """Return the parameters of a connection by libpq's names; the password is one of them."""
        given = {name: str.__str__(value) for name, value in self.query.items() if isinstance(value, str)}
        login = {"user": self.username, "password": self.password}
        return {
            "connect_timeout": str(self.connect_timeout),
            "application_name": APPLICATION_NAME,
            **({} if self.is_local else {"sslmode": "verify-full"}),
            **given,
            **{name: str.__str__(value) for name, value in login.items() if value},
            "host": self.host,
            "port": str(self.port),
            "dbname": self.database,
            # The format of COPY has texts in this encoding.
            "client_encoding": "UTF8",
        }


@configspec
class PostgresConfiguration(DestinationClientDwhWithStagingConfiguration):
    """The settings of Postgres.

    >>> config = PostgresConfiguration(credentials=PostgresCredentials("postgresql://ada:hush@db/shop"))
    >>> str(config), config.max_connections
    ('postgresql://db:5432/shop', 8)
    """

    destination_type: ClassVar[str] = "dlt.destinations.postgres"
    destination_name: Annotated[str | None, NotResolved()] = "postgres"

    credentials: PostgresCredentials = None  # type: ignore[assignment]  # set by settings
    create_indexes: bool = True
    """Whether columns with the hint `unique` get a unique constraint when their table is created."""
    max_connections: Annotated[int, Field(ge=2)] = 8
    """The connections that a run has at the same time, those of executors included."""
    statement_timeout: Annotated[float | None, Field(gt=0)] = None
    """The seconds after which Postgres cancels a statement, also one that copies rows; None for no limit."""
    lock_timeout: Annotated[float | None, Field(gt=0)] = None
    """The seconds that a statement waits for the lock of a table; None for no limit."""

    @property
    def loads_without_spark(self) -> bool:
        """Yes: the driver copies the files that it wrote."""
        return True

    @property
    def session_wishes(self) -> tuple[str, ...]:
        """The JDBC driver, by which Spark reads tables."""
        return ("postgres",)

    def session_conf(self) -> dict[str, str]:
        """Return the mask of the login in the plans of Spark Connect."""
        return dict(MASKING_CONF)

    def fingerprint(self) -> str:
        """Return a short hash of the host."""
        login = self._login
        return "" if login is None else hashlib.sha256(login.host.encode()).hexdigest()[:20]

    def __str__(self) -> str:
        """Return the server and the database without the login."""
        login = self._login
        if login is None:
            return super().__str__()
        return redact(f"postgresql://{login.host}:{login.port}/{login.database}")

    @property
    def _login(self) -> PostgresCredentials | None:
        """The credentials; None before they have a host."""
        login: PostgresCredentials | None = self.credentials
        return login if login is not None and login.host else None
