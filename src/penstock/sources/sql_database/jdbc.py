"""JDBC connections: credentials, parsing of URLs, verification of servers, and refused properties."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, unquote_plus

from penstock.config import configspec, logger, remember_secret
from penstock.config.credentials import ConnectionStringCredentials, is_loopback
from penstock.config.secret import SecretText, TSecretStrValue
from penstock.errors import UsageError
from penstock.redaction import is_secret_name
from penstock.sources.sql_database.dialects import DIALECTS, MYSQL_UTC_PROPERTIES, Dialect, dialect_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_JDBC_SCHEME: Final = re.compile(r"jdbc:(?P<scheme>[\w+.-]+):")
_URL_PROPERTY_NAME: Final = re.compile(r"[?&;]([^=&;?]+)=")
_URL_PROPERTY: Final = re.compile(r"[?&;]([^=&;?]+)=([^&;]*)")
_INIT_STATEMENT: Final = "sessionInitStatement"
_log = logger("penstock.sql_database")


@configspec
class SqlCredentials(ConnectionStringCredentials):
    """The credentials of a database: a SQLAlchemy or JDBC URL, or fields.

    >>> SqlCredentials("postgresql+psycopg2://ada:hush@db/shop").host
    'db'
    >>> SqlCredentials("jdbc:postgresql://db/shop?user=ada&password=hush").drivername
    'postgresql'
    """

    jdbc_url: TSecretStrValue | None = None

    def __init__(self, connection_string: Any = None, /, **fields: Any) -> None:
        """Create from a URL, from fields, or from both: fields win."""
        super().__init__(connection_string, **fields)

    def parse_native_representation(self, native_value: Any) -> None:
        """Parse a URL of either form."""
        match = _JDBC_SCHEME.match(native_value) if isinstance(native_value, str) else None
        if match is None:
            super().parse_native_representation(native_value)
            return
        self.drivername, self.jdbc_url = match["scheme"], SecretText(native_value)


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcConfig:
    """A database with its URL and connection properties, which are never shown."""

    dialect: Dialect
    url: str = field(repr=False)
    properties: Mapping[str, str] = field(repr=False)
    database: str | None = field(default=None, repr=False)

    @property
    def default_schema(self) -> str | None:
        """The default schema."""
        return self.database if self.dialect.catalog == "mysql" else self.dialect.default_schema

    def __str__(self) -> str:
        return f"a database of {self.dialect.name}"


def jdbc_config(credentials: Any, *, properties: Mapping[str, Any] | None = None) -> JdbcConfig:
    """Return the configuration for credentials; `properties` are additional ones for the driver.

    >>> config = jdbc_config("postgresql://ada:hush@db/shop?sslmode=require")
    >>> config.url, config.properties["sslmode"], str(config)
    ('jdbc:postgresql://db:5432/shop', 'require', 'a database of postgresql')
    """
    if not isinstance(credentials, ConnectionStringCredentials):
        credentials = SqlCredentials(credentials)
    jdbc_url = getattr(credentials, "jdbc_url", None)
    config = _from_jdbc_url(str.__str__(jdbc_url)) if jdbc_url else _from_credentials(credentials)
    if credentials.username and "user" not in config.properties:
        config = replace(config, properties={**config.properties, "user": credentials.username})
    if credentials.password and "password" not in config.properties:
        config = replace(
            config, properties={**config.properties, "password": _secret_value(credentials.password)}
        )
    extra = {name: str(value) for name, value in (properties or {}).items()}
    driver = {"driver": config.dialect.driver} if config.dialect.driver else {}
    defaults = _default_properties(config)
    user_properties = {**dict(_URL_PROPERTY.findall(config.url)), **config.properties, **extra}
    refuse_dangerous(user_properties)
    tls = tls_properties(config.dialect.name, config.url, user_properties)
    if not is_verified(config.dialect.name, config.url, {**user_properties, **tls}):
        _log.warning("the connection to the database does not verify the server: %s", config)
    merged = {**defaults, **tls, **driver, **config.properties, **extra}
    if _INIT_STATEMENT in defaults and extra.get(_INIT_STATEMENT):
        merged[_INIT_STATEMENT] = f"{defaults[_INIT_STATEMENT]}; {extra[_INIT_STATEMENT]}"
    for name, value in merged.items():
        if is_secret_name(name):
            remember_secret(value)
    return replace(config, properties=merged)


def _default_properties(config: JdbcConfig) -> dict[str, str]:
    """Return the properties of the dialect that the URL does not set: for drivers, properties win.

    The session time zone is always UTC, because the bounds of cursors are.
    """
    normalized = str.lower if config.dialect.catalog == "mysql" else str
    in_url = {normalized(name) for name in _URL_PROPERTY_NAME.findall(config.url)}
    return {
        name: value
        for name, value in config.dialect.properties.items()
        if name in MYSQL_UTC_PROPERTIES or normalized(name) not in in_url
    }


def _from_credentials(credentials: ConnectionStringCredentials) -> JdbcConfig:
    dialect = dialect_of(credentials.drivername)
    if dialect is None:
        raise UsageError(
            f"{credentials.drivername!r} is not a supported database",
            hint=f"use one of {', '.join(DIALECTS)}, or a URL that begins with jdbc:",
        )
    if not credentials.database or not credentials.host:
        raise UsageError(
            "the credentials of sql_database have no host or no database",
            hint=f"use the form {dialect.name}://user:password@host:{dialect.port}/database",
        )
    host = f"[{credentials.host}]" if ":" in credentials.host else credentials.host
    url = dialect.url_template.format(
        host=host, port=credentials.port or dialect.port, database=credentials.database
    )
    # `driver` names an ODBC driver.
    query = {name: _secret_value(value) for name, value in credentials.query.items() if name != "driver"}
    return JdbcConfig(dialect=dialect, url=url, properties=query, database=credentials.database)


def _from_jdbc_url(url: str) -> JdbcConfig:
    """Return the configuration for a JDBC URL, with credentials moved to properties, out of query plans."""
    match = _JDBC_SCHEME.match(url)
    scheme = match["scheme"] if match else ""
    dialect = dialect_of(scheme) or Dialect(
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


_LOGIN_NAMES: Final = {"user": "user", "username": "user", "password": "password"}
_ORACLE_URL: Final = re.compile(r'^(jdbc:oracle:\w+:)([^/@]*)/("[^"]*"|[^@]*)(@.*)$')
# Text after a semicolon or a question mark is properties; but for the drivers of the second pattern a
# semicolon is part of the password.
_AUTHORITY_URL: Final = re.compile(r"^(jdbc:[^/]*//)([^/@:;?]*)(?::([^/?;]*))?@(.*)$")
_AUTHORITY_WITH_SEMICOLONS: Final = re.compile(
    r"^(jdbc:(?:mysql|mariadb|postgresql)[^/]*//)([^/@:?]*)(?::([^/?]*))?@(.*)$"
)
_AFTER_COLON: Final = re.compile(r"^(jdbc:[^/]*//[^/;?]*/[^:;?]*):([^;?]*=.*)$", re.DOTALL)
# A part of a list separated by semicolons; semicolons in braces are part of a value, }} is a literal brace.
_PART: Final = re.compile(r"(?:[^;{]|\{(?:[^}]|\}\})*\}(?!\})|\{)+")
_BRACED: Final = re.compile(r"\{(.*)\}", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcUrl:
    """The parts of a JDBC URL; pairs are unparsed."""

    prefix: str
    pairs: tuple[str, ...]
    opening: str
    """The text before the pairs."""
    separator: str
    closing: str
    login: Mapping[str, str]

    @property
    def url(self) -> str:
        """The URL without credentials."""
        pairs = self.opening + self.separator.join(self.pairs) + self.closing if self.pairs else ""
        return f"{self.prefix}{pairs}"


def parse_jdbc_url(url: str) -> JdbcUrl:
    """Separate a URL from its user, password and other properties that are named like secrets.

    >>> parts = parse_jdbc_url("jdbc:oracle:thin:scott/tiger@db:1521:shop")
    >>> parts.url, parts.login
    ('jdbc:oracle:thin:@db:1521:shop', {'user': 'scott', 'password': 'tiger'})
    """
    login: dict[str, str] = {}
    if match := _ORACLE_URL.match(url):
        url = match[1] + match[4]
        login = {"user": match[2], "password": match[3].strip('"')}
    elif match := _AUTHORITY_WITH_SEMICOLONS.match(url) or _AUTHORITY_URL.match(url):
        url = match[1] + match[4]
        login = {"user": unquote(match[2])} | ({"password": unquote(match[3])} if match[3] else {})
    if match := _AFTER_COLON.match(url):
        return _without_secrets(match[1], _PART.findall(match[2]), (":", ";", ";"), login, decode=str)
    if ";" in url.partition("?")[0]:
        head, *pairs = _PART.findall(url)
        return _without_secrets(head, pairs, (";", ";", ""), login, decode=_without_braces)
    head, _, query = url.partition("?")
    return _without_secrets(
        head, query.split("&") if query else [], ("?", "&", ""), login, decode=unquote_plus
    )


def _without_secrets(
    prefix: str,
    pairs: list[str],
    delimiters: tuple[str, str, str],
    login: Mapping[str, str],
    *,
    decode: Callable[[str], str],
) -> JdbcUrl:
    secrets, public_pairs = dict(login), []
    for pair in pairs:
        name, _, value = pair.partition("=")
        login_name = _LOGIN_NAMES.get(name.strip().lower())
        if login_name or is_secret_name(name):
            secrets[login_name or name.strip()] = decode(value)
        else:
            public_pairs.append(pair)
    opening, separator, closing = delimiters
    return JdbcUrl(
        prefix=prefix,
        pairs=tuple(public_pairs),
        opening=opening,
        separator=separator,
        closing=closing,
        login=secrets,
    )


def _without_braces(value: str) -> str:
    match = _BRACED.fullmatch(value.strip())
    return match[1].replace("}}", "}") if match else value


_DANGEROUS_PROPERTIES: Final = frozenset(
    (
        # Classes that the driver loads and runs.
        *("socketfactory", "socketfactoryarg", "sslfactoryarg", "sslhostnameverifier", "sslpasswordcallback"),
        *("authenticationpluginclassname", "authenticationplugins", "defaultauthenticationplugin"),
        *("queryinterceptors", "exceptioninterceptors", "connectionlifecycleinterceptors"),
        *("propertiestransform", "clientinfoprovider", "profilereventhandler", "xmlfactoryfactory"),
        *("parseinfocachefactory", "serverconfigcachefactory", "autodeserialize", "logger"),
        # Files that the driver writes, or sends to the server.
        *("loggerfile", "allowloadlocalinfile", "allowloadlocalinfileinpath", "allowurlinlocalinfile"),
        "allowlocalinfile",
    )
)
_JAVA_TRUST_STORE_FACTORY: Final = "org.postgresql.ssl.DefaultJavaSSLFactory"
_SAFE_SSL_FACTORIES: Final = frozenset((_JAVA_TRUST_STORE_FACTORY, "org.postgresql.ssl.LibPQFactory"))
_HOSTS: Final = re.compile(r"^jdbc:[^/]*//([^/?;]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _TlsProperty:
    """The property of a driver that verifies the server; names are compared in lower case."""

    name: str
    verified: str
    others: frozenset[str]
    """Other properties that decide it."""


_TLS: Final = {
    "postgresql": _TlsProperty(name="sslmode", verified="verify-full", others=frozenset(("ssl",))),
    "mysql": _TlsProperty(
        name="sslMode",
        verified="VERIFY_IDENTITY",
        others=frozenset(("usessl", "requiressl", "verifyservercertificate")),
    ),
    "mariadb": _TlsProperty(
        name="sslMode",
        verified="verify-full",
        others=frozenset(("usessl", "trustservercertificate", "disablesslhostnameverification")),
    ),
}


def refuse_dangerous(properties: Mapping[str, str]) -> None:
    """Raise for properties that make a driver load code, touch files, or quote values by itself.

    >>> refuse_dangerous({"socketTimeout": "10"})
    """
    for name, value in properties.items():
        key, text = name.strip().lower(), value.strip()
        is_code = key in _DANGEROUS_PROPERTIES or (key == "sslfactory" and text not in _SAFE_SSL_FACTORIES)
        if is_code or (key == "preferquerymode" and text.lower() == "simple"):
            raise UsageError(
                f"the JDBC property {name} is refused: it lets a driver load code, touch files, or quote "
                "values by itself",
                hint="remove it from the URL, the credentials and backend_kwargs",
            )


def tls_properties(dialect: str, url: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that make a connection verify its server, unless the user has set them.

    Empty for a server on this machine and for databases without such a property.

    >>> tls_properties("mysql", "jdbc:mysql://db.example.org:3306/shop", {})
    {'sslMode': 'VERIFY_IDENTITY'}
    >>> tls_properties("mysql", "jdbc:mysql://localhost:3306/shop", {})
    {}
    """
    tls = _TLS.get(dialect)
    names = {name.lower() for name in properties}
    if tls is None or is_local(url) or names & {tls.name.lower(), *tls.others}:
        return {}
    added = {tls.name: tls.verified}
    if dialect == "postgresql" and not names & {"sslrootcert", "sslfactory"}:
        # Otherwise the driver only reads a file in the home folder.
        added["sslfactory"] = _JAVA_TRUST_STORE_FACTORY
    return added


def is_verified(dialect: str, url: str, properties: Mapping[str, str]) -> bool:
    """Return whether the properties verify the server; true if verification is not needed."""
    tls = _TLS.get(dialect)
    lower = {name.lower(): value.lower() for name, value in properties.items()}
    if tls is None or is_local(url):
        return True
    if dialect == "postgresql" and lower.get("ssl") in {"", "true"} and "sslmode" not in lower:
        return True
    return lower.get(tls.name.lower(), "").startswith("verify") or (
        "sslmode" not in lower and lower.get("verifyservercertificate") == "true"
    )


def is_local(url: str) -> bool:
    """Return whether all hosts of a JDBC URL are this machine.

    >>> is_local("jdbc:postgresql://localhost:5432,[::1]/shop"), is_local("jdbc:postgresql://db/shop")
    (True, False)
    """
    match = _HOSTS.match(url)
    hosts = match[1].split(",") if match else []
    return all(is_loopback(re.sub(r":\d*$", "", host).strip("[]")) for host in hosts if host)
