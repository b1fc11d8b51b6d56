"""Where a database is, as JDBC wants to be told."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from penstock.config import configspec, logger, remember_secret
from penstock.config.credentials import ConnectionStringCredentials
from penstock.config.secret import SecretText, TSecretStrValue
from penstock.errors import UsageError
from penstock.redaction import is_secret_name
from penstock.sources.sql_database.dialects import DIALECTS, MYSQL_UTC_PROPERTIES, Dialect, dialect_of
from penstock.sources.sql_database.login import parse_jdbc_url
from penstock.sources.sql_database.tls import is_verified, refuse_dangerous, tls_properties

if TYPE_CHECKING:
    from collections.abc import Mapping

_JDBC_SCHEME: Final = re.compile(r"jdbc:(?P<scheme>[\w+.-]+):")
_URL_PROPERTY_NAME: Final = re.compile(r"[?&;]([^=&;?]+)=")
_URL_PROPERTY: Final = re.compile(r"[?&;]([^=&;?]+)=([^&;]*)")
_INIT_STATEMENT: Final = "sessionInitStatement"
_log = logger("penstock.sql_database")


@configspec
class SqlCredentials(ConnectionStringCredentials):
    """Where a database is: a URL as SQLAlchemy writes it, or one of JDBC.

    >>> SqlCredentials("postgresql+psycopg2://ada:hush@db/shop").host
    'db'
    >>> SqlCredentials("jdbc:postgresql://db/shop?user=ada&password=hush").drivername
    'postgresql'
    """

    jdbc_url: TSecretStrValue | None = None

    def __init__(self, connection_string: Any = None, /, **fields: Any) -> None:
        """Made from a URL, from fields, or from both: fields win."""
        super().__init__(connection_string, **fields)

    def parse_native_representation(self, native_value: Any) -> None:
        """Take a URL of either form."""
        found = _JDBC_SCHEME.match(native_value) if isinstance(native_value, str) else None
        if found is None:
            super().parse_native_representation(native_value)
            return
        self.drivername, self.jdbc_url = found["scheme"], SecretText(native_value)


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcConfig:
    """A database that can be opened. What opens it is never shown."""

    dialect: Dialect
    url: str = field(repr=False)
    properties: Mapping[str, str] = field(repr=False)
    database: str | None = field(default=None, repr=False)

    @property
    def default_schema(self) -> str | None:
        """The schema that is read where none is named."""
        return self.database if self.dialect.catalog == "mysql" else self.dialect.default_schema

    def __str__(self) -> str:
        return f"a database of {self.dialect.name}"


def jdbc_config(credentials: Any, *, properties: Mapping[str, Any] | None = None) -> JdbcConfig:
    """Read credentials; `properties` are told to the driver besides.

    >>> place = jdbc_config("postgresql://ada:hush@db/shop?sslmode=require")
    >>> place.url, place.properties["sslmode"], str(place)
    ('jdbc:postgresql://db:5432/shop', 'require', 'a database of postgresql')
    """
    if not isinstance(credentials, ConnectionStringCredentials):
        credentials = SqlCredentials(credentials)
    jdbc_url = getattr(credentials, "jdbc_url", None)
    found = _from_jdbc_url(str.__str__(jdbc_url)) if jdbc_url else _from_credentials(credentials)
    if credentials.username and "user" not in found.properties:
        found = replace(found, properties={**found.properties, "user": credentials.username})
    if credentials.password and "password" not in found.properties:
        found = replace(
            found, properties={**found.properties, "password": _secret_value(credentials.password)}
        )
    more = {name: str(value) for name, value in (properties or {}).items()}
    driver = {"driver": found.dialect.driver} if found.dialect.driver else {}
    ours = _missing_properties(found)
    given = {**dict(_URL_PROPERTY.findall(found.url)), **found.properties, **more}
    refuse_dangerous(given)
    tls = tls_properties(found.dialect.name, found.url, given)
    if not is_verified(found.dialect.name, found.url, {**given, **tls}):
        _log.warning("the connection to the database does not verify the server: %s", found)
    joined = {**ours, **tls, **driver, **found.properties, **more}
    if _INIT_STATEMENT in ours and more.get(_INIT_STATEMENT):
        joined[_INIT_STATEMENT] = f"{ours[_INIT_STATEMENT]}; {more[_INIT_STATEMENT]}"
    for name, value in joined.items():
        if is_secret_name(name):
            remember_secret(value)
    return replace(found, properties=joined)


def _missing_properties(config: JdbcConfig) -> dict[str, str]:
    """What we say of connections where a URL of JDBC does not say it: drivers take properties first.

    But sessions speak UTC whatever it says: the bounds of cursors do.
    """
    spelled = str.lower if config.dialect.catalog == "mysql" else str
    in_url = {spelled(name) for name in _URL_PROPERTY_NAME.findall(config.url)}
    ours = config.dialect.properties.items()
    return {
        name: value for name, value in ours if name in MYSQL_UTC_PROPERTIES or spelled(name) not in in_url
    }


def _from_credentials(credentials: ConnectionStringCredentials) -> JdbcConfig:
    dialect = dialect_of(credentials.drivername)
    if dialect is None:
        raise UsageError(
            f"penstock does not know databases of {credentials.drivername!r}",
            hint=f"use one of {', '.join(DIALECTS)}, or a URL that begins with jdbc:",
        )
    if not credentials.database or not credentials.host:
        raise UsageError(
            "the credentials of sql_database name no host, or no database",
            hint=f"write them as {dialect.name}://user:password@host:{dialect.port}/database",
        )
    host = f"[{credentials.host}]" if ":" in credentials.host else credentials.host
    url = dialect.url_template.format(
        host=host, port=credentials.port or dialect.port, database=credentials.database
    )
    # A driver of ODBC is none of JDBC.
    told = {name: _secret_value(value) for name, value in credentials.query.items() if name != "driver"}
    return JdbcConfig(dialect=dialect, url=url, properties=told, database=credentials.database)


def _from_jdbc_url(url: str) -> JdbcConfig:
    """A URL of JDBC; what logs in is taken out of it, so that it stands in no plan."""
    found = _JDBC_SCHEME.match(url)
    scheme = found["scheme"] if found else ""
    known = dialect_of(scheme)
    dialect = known or Dialect(
        name=scheme,
        url_template="",
        driver="",
        jar=f"the JDBC driver of {scheme}",
        sqlglot_dialect="",
        port=0,
    )
    if dialect.name == "mariadb":
        url = url.replace("jdbc:mariadb:", "jdbc:mysql:", 1)
    parts = parse_jdbc_url(url)
    if dialect.name == "mariadb" and "permitMysqlScheme" not in url:
        parts = replace(parts, pairs=(*parts.pairs, "permitMysqlScheme"))
    database = re.sub(r".*?//[^/]*/?", "", parts.prefix) if "//" in parts.prefix else None
    return JdbcConfig(dialect=dialect, url=parts.url, properties=parts.login, database=database or None)


def _secret_value(value: Any) -> str:
    return str.__str__(value) if isinstance(value, str) else str(value)
