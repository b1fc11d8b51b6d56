"""The supported databases: names, drivers, ports and SQL dialects."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

CatalogKind = Literal["postgres", "information_schema", "mysql", "none"]
"""The catalog for reflection; with `none`, columns come from Spark and keys are unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One kind of database."""

    name: str
    url_template: str
    """The template of the JDBC URL."""
    driver: str
    jar: str
    """The Maven coordinates of the driver, without a version."""
    sqlglot_dialect: str
    """The dialect of sqlglot."""
    port: int
    preset: str | None = None
    """The preset with the driver."""
    catalog: CatalogKind = "none"
    default_schema: str | None = None
    """The default schema; None for the database itself."""
    timestamp_literal: str = "TIMESTAMP {}"
    """The template of a timestamp literal."""
    properties: Mapping[str, str] = field(default_factory=dict)


APPLICATION_NAME: Final = "penstock-reader"
"""The application name of Postgres connections, so that an incremental does not wait for other readers."""
# Times without a zone are UTC, whatever the time zone of the JVM.
MYSQL_UTC_PROPERTIES: Final = {
    "connectionTimeZone": "UTC",
    "forceConnectionTimeZoneToSession": "true",
    "preserveInstants": "true",
}
_URL_TAIL: Final = "//{host}:{port}/{database}"
DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {
        dialect.name: dialect
        for dialect in (
            Dialect(
                name="postgresql",
                url_template=f"jdbc:postgresql:{_URL_TAIL}",
                driver="org.postgresql.Driver",
                jar="org.postgresql:postgresql",
                preset="postgres",
                sqlglot_dialect="postgres",
                port=5432,
                catalog="postgres",
                default_schema="public",
                properties={
                    "ApplicationName": APPLICATION_NAME,
                    "sessionInitStatement": "SET TIME ZONE 'UTC'",
                },
            ),
            Dialect(
                name="mysql",
                url_template=f"jdbc:mysql:{_URL_TAIL}",
                driver="com.mysql.cj.jdbc.Driver",
                jar="com.mysql:mysql-connector-j",
                preset="mysql",
                sqlglot_dialect="mysql",
                port=3306,
                catalog="mysql",
                # Without it the driver holds all rows of a range in memory.
                properties={
                    "useCursorFetch": "true",
                    "tinyInt1isBit": "false",
                    # Zero dates ('0000-00-00') are null for the MariaDB driver, but an error for this one.
                    "zeroDateTimeBehavior": "CONVERT_TO_NULL",
                    **MYSQL_UTC_PROPERTIES,
                },
            ),
            Dialect(
                name="mariadb",
                # With the scheme of MySQL Spark quotes names correctly.
                url_template=f"jdbc:mysql:{_URL_TAIL}?permitMysqlScheme",
                driver="org.mariadb.jdbc.Driver",
                jar="org.mariadb.jdbc:mariadb-java-client",
                preset="mariadb",
                sqlglot_dialect="mysql",
                port=3306,
                catalog="mysql",
                properties={"tinyInt1isBit": "false", **MYSQL_UTC_PROPERTIES},
            ),
            Dialect(
                name="mssql",
                url_template="jdbc:sqlserver://{host}:{port};databaseName={database}",
                driver="com.microsoft.sqlserver.jdbc.SQLServerDriver",
                jar="com.microsoft.sqlserver:mssql-jdbc",
                sqlglot_dialect="tsql",
                port=1433,
                catalog="information_schema",
                default_schema="dbo",
                timestamp_literal="CAST({} AS DATETIME2(6))",
            ),
            Dialect(
                name="oracle",
                url_template="jdbc:oracle:thin:@//{host}:{port}/{database}",
                driver="oracle.jdbc.OracleDriver",
                jar="com.oracle.database.jdbc:ojdbc11",
                sqlglot_dialect="oracle",
                port=1521,
            ),
        )
    }
)

_ALIASES: Final = {"postgres": "postgresql", "sqlserver": "mssql"}


def dialect_of(drivername: str) -> Dialect | None:
    """Return the dialect of a URL scheme such as `postgresql+psycopg2` or `postgresql`.

    >>> dialect_of("mysql+pymysql").name, dialect_of("teradata")
    ('mysql', None)
    """
    name = drivername.partition("+")[0].lower()
    return DIALECTS.get(_ALIASES.get(name, name))
