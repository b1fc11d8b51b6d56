"""The options with which Spark's JDBC driver of Postgres connects as psycopg does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from penstock.destinations.postgres.errors import DATABASE, TIMEOUT_HINT
from penstock.errors import DestinationTransientException, JdbcDriverMissing, UsageError
from penstock.spark.database_errors import as_database_error
from penstock.spark.presets import MASKING_KEY, masks_options
from penstock.spark.session import is_connect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from penstock.destinations.postgres.settings import PostgresCredentials
    from penstock.errors import PenstockError

DRIVER: Final = "org.postgresql.Driver"
_PROPERTIES: Final = {
    "user": "user",
    "password": "password",
    "application_name": "ApplicationName",
    "connect_timeout": "connectTimeout",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslpassword": "sslpassword",
    "channel_binding": "channelBinding",
    "gssencmode": "gssEncMode",
    "options": "options",
}
"""The properties of the JDBC driver by the names of libpq; others have no counterpart."""
_SERVER_TYPES: Final = {
    "read-write": "primary",
    "primary": "primary",
    "read-only": "secondary",
    "standby": "secondary",
    "prefer-standby": "preferSecondary",
}
_SYSTEM_AUTHORITIES: Final = "system"
_AUTHORITIES_OF_JAVA: Final = "org.postgresql.ssl.DefaultJavaSSLFactory"
_MISSING_DRIVER: Final = ("ClassNotFoundException", "No suitable driver", "CANNOT_LOAD_DRIVER")
_CANCELED: Final = re.compile(r"canceling statement due to (?:statement|lock) timeout")


def jdbc_options(credentials: PostgresCredentials, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a JDBC reader or writer; `settings` are those of each session in Postgres.

    The login is in separate options, which plans and logs mask, and never in the URL.

    >>> from penstock.destinations.postgres.settings import PostgresCredentials
    >>> login = PostgresCredentials("postgresql://ada:hush@localhost/shop")
    >>> options = jdbc_options(login, {"statement_timeout": "5000"})
    >>> options["url"], options["options"]
    ('jdbc:postgresql://localhost:5432/shop', '-c statement_timeout=5000')
    """
    if credentials.host.startswith("/"):
        raise UsageError(
            f"Spark cannot connect to Postgres by the socket {credentials.host}",
            hint="set a host that all machines of the cluster reach",
        )
    parameters = credentials.parameters()
    hosts = ",".join(f"{_host(host)}:{credentials.port}" for host in credentials.host.split(","))
    server_type = _SERVER_TYPES.get(parameters.get("target_session_attrs", ""))
    # The values of these settings are numbers. The time zone is set by readers.
    session = [f"-c {name}={value}" for name, value in settings.items() if name != "TimeZone"]
    startup = " ".join([*filter(None, [parameters.get("options")]), *session])
    properties = {_PROPERTIES[name]: value for name, value in parameters.items() if name in _PROPERTIES}
    has_authorities = properties.get("sslrootcert", _SYSTEM_AUTHORITIES) != _SYSTEM_AUTHORITIES
    is_verified = parameters.get("sslmode", "").startswith("verify") or "sslrootcert" in parameters
    if is_verified and not has_authorities:
        # Otherwise the driver only reads a file in the home folder.
        properties = {name: value for name, value in properties.items() if name != "sslrootcert"}
        properties["sslfactory"] = _AUTHORITIES_OF_JAVA
    return {
        **properties,
        **({"targetServerType": server_type} if server_type else {}),
        **({"options": startup} if startup else {}),
        "url": f"jdbc:postgresql://{hosts}/{quote(credentials.database, safe='')}",
        "driver": DRIVER,
        # Otherwise errors of batches have the values of their rows.
        "logServerErrorDetail": "false",
    }


def assert_options_are_masked(spark: SparkSession) -> None:
    """Raise an error if the server of a Spark Connect client would log the password with the plan."""
    if is_connect(spark) and not masks_options(spark.conf.get(MASKING_KEY, None)):
        raise UsageError(
            "Spark Connect would log the password of Postgres with the plan of a frame",
            hint="read by df() or arrow(), or let your session mask options: "
            """spark.conf.set('spark.sql.redaction.string.regex', 'value: "[^"]*"')""",
        )


def as_jdbc_error(error: BaseException) -> PenstockError | None:
    """Return the error of penstock for an error of Spark by the driver; None for others."""
    text = str(error)
    if any(word in text for word in _MISSING_DRIVER):
        return JdbcDriverMissing(database=DATABASE, driver=DRIVER, jar="org.postgresql:postgresql")
    if (canceled := _CANCELED.search(text)) is not None:
        return DestinationTransientException(
            f"Postgres refused a statement: {canceled[0]}", hint=TIMEOUT_HINT
        )
    return as_database_error(error, database=DATABASE)


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
