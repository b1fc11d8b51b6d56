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
from penstock.sources.sql_database.dialects import DIALECTS, MYSQL_UTC, Dialect, dialect_of
from penstock.sources.sql_database.login import taken_apart
from penstock.sources.sql_database.tls import is_verified, refuse_dangerous, tls_properties

if TYPE_CHECKING:
    from collections.abc import Mapping

_JDBC: Final = re.compile(r"jdbc:(?P<scheme>[\w+.-]+):")
_IN_URL: Final = re.compile(r"[?&;]([^=&;?]+)=")
_PAIR_IN_URL: Final = re.compile(r"[?&;]([^=&;?]+)=([^&;]*)")
_FIRST: Final = "sessionInitStatement"
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
        found = _JDBC.match(native_value) if isinstance(native_value, str) else None
        if found is None:
            super().parse_native_representation(native_value)
            return
        self.drivername, self.jdbc_url = found["scheme"], SecretText(native_value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A database that can be opened. What opens it is never shown."""

    dialect: Dialect
    url: str = field(repr=False)
    properties: Mapping[str, str] = field(repr=False)
    database: str | None = field(default=None, repr=False)

    @property
    def schema(self) -> str | None:
        """The schema that is read where none is named."""
        return self.database if self.dialect.catalog == "mysql" else self.dialect.schema

    def __str__(self) -> str:
        return f"a database of {self.dialect.name}"


def place_of(credentials: Any, *, properties: Mapping[str, Any] | None = None) -> Place:
    """Read credentials; `properties` are told to the driver besides.

    >>> place = place_of("postgresql://ada:hush@db/shop?sslmode=require")
    >>> place.url, place.properties["sslmode"], str(place)
    ('jdbc:postgresql://db:5432/shop', 'require', 'a database of postgresql')
    """
    if not isinstance(credentials, ConnectionStringCredentials):
        credentials = SqlCredentials(credentials)
    jdbc_url = getattr(credentials, "jdbc_url", None)
    found = _given(str.__str__(jdbc_url)) if jdbc_url else _made(credentials)
    if credentials.username and "user" not in found.properties:
        found = replace(found, properties={**found.properties, "user": credentials.username})
    if credentials.password and "password" not in found.properties:
        found = replace(found, properties={**found.properties, "password": _plain(credentials.password)})
    more = {name: str(value) for name, value in (properties or {}).items()}
    driver = {"driver": found.dialect.driver} if found.dialect.driver else {}
    ours = _not_in_url(found)
    given = {**dict(_PAIR_IN_URL.findall(found.url)), **found.properties, **more}
    refuse_dangerous(given)
    tls = tls_properties(found.dialect.name, found.url, given)
    if not is_verified(found.dialect.name, found.url, {**given, **tls}):
        _log.warning("the connection to the database does not verify the server: %s", found)
    joined = {**ours, **tls, **driver, **found.properties, **more}
    if _FIRST in ours and more.get(_FIRST):
        joined[_FIRST] = f"{ours[_FIRST]}; {more[_FIRST]}"
    for name, value in joined.items():
        if is_secret_name(name):
            remember_secret(value)
    return replace(found, properties=joined)


def _not_in_url(place: Place) -> dict[str, str]:
    """What we say of connections where a URL of JDBC does not say it: drivers take properties first.

    But sessions speak UTC whatever it says: the bounds of cursors do.
    """
    spelled = str.lower if place.dialect.catalog == "mysql" else str
    in_url = {spelled(name) for name in _IN_URL.findall(place.url)}
    ours = place.dialect.properties.items()
    return {name: value for name, value in ours if name in MYSQL_UTC or spelled(name) not in in_url}


def _made(credentials: ConnectionStringCredentials) -> Place:
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
    url = dialect.url.format(host=host, port=credentials.port or dialect.port, database=credentials.database)
    # A driver of ODBC is none of JDBC.
    told = {name: _plain(value) for name, value in credentials.query.items() if name != "driver"}
    return Place(dialect=dialect, url=url, properties=told, database=credentials.database)


def _given(url: str) -> Place:
    """A URL of JDBC; what logs in is taken out of it, so that it stands in no plan."""
    found = _JDBC.match(url)
    scheme = found["scheme"] if found else ""
    known = dialect_of(scheme)
    dialect = known or Dialect(
        name=scheme, url="", driver="", jar=f"the JDBC driver of {scheme}", sql="", port=0
    )
    if dialect.name == "mariadb":
        url = url.replace("jdbc:mariadb:", "jdbc:mysql:", 1)
    parts = taken_apart(url)
    if dialect.name == "mariadb" and "permitMysqlScheme" not in url:
        parts = replace(parts, pairs=(*parts.pairs, "permitMysqlScheme"))
    database = re.sub(r".*?//[^/]*/?", "", parts.head) if "//" in parts.head else None
    return Place(dialect=dialect, url=parts.url, properties=parts.login, database=database or None)


def _plain(value: Any) -> str:
    return str.__str__(value) if isinstance(value, str) else str(value)
