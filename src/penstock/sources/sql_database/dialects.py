"""What penstock knows of databases, one row each: names, drivers, ports, and how their SQL is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Catalog = Literal["postgres", "information_schema", "mysql", "none"]
"""Where a database tells of its tables; `none` where Spark is asked for the columns, and nobody for keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One kind of database."""

    name: str
    url: str
    """The form of its JDBC URL."""
    driver: str
    jar: str
    """The coordinates of the driver, without a version."""
    sql: str
    """The dialect of sqlglot."""
    port: int
    need: str | None = None
    """The preset that brings the driver."""
    catalog: Catalog = "none"
    schema: str | None = None
    """The schema that is read where none is named; None for the database itself."""
    moment: str = "TIMESTAMP {}"
    """A moment as a literal."""
    properties: Mapping[str, str] = field(default_factory=dict)


READER: Final = "penstock-reader"
"""What our connections to Postgres are called, so that no incremental waits for another's reading."""
# What a session writes and reads without a zone is UTC, wherever the JVM stands.
MYSQL_UTC: Final = {
    "connectionTimeZone": "UTC",
    "forceConnectionTimeZoneToSession": "true",
    "preserveInstants": "true",
}
_SLASHES: Final = "//{host}:{port}/{database}"
DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {
        one.name: one
        for one in (
            Dialect(
                name="postgresql",
                url=f"jdbc:postgresql:{_SLASHES}",
                driver="org.postgresql.Driver",
                jar="org.postgresql:postgresql",
                need="postgres",
                sql="postgres",
                port=5432,
                catalog="postgres",
                schema="public",
                properties={"ApplicationName": READER, "sessionInitStatement": "SET TIME ZONE 'UTC'"},
            ),
            Dialect(
                name="mysql",
                url=f"jdbc:mysql:{_SLASHES}",
                driver="com.mysql.cj.jdbc.Driver",
                jar="com.mysql:mysql-connector-j",
                need="mysql",
                sql="mysql",
                port=3306,
                catalog="mysql",
                # Without it the driver holds all rows of a range in memory.
                properties={
                    "useCursorFetch": "true",
                    "tinyInt1isBit": "false",
                    # A day that never was is null for the driver of MariaDB, and an error for this one.
                    "zeroDateTimeBehavior": "CONVERT_TO_NULL",
                    **MYSQL_UTC,
                },
            ),
            Dialect(
                name="mariadb",
                # Spark knows how MariaDB quotes names by the scheme of MySQL only.
                url=f"jdbc:mysql:{_SLASHES}?permitMysqlScheme",
                driver="org.mariadb.jdbc.Driver",
                jar="org.mariadb.jdbc:mariadb-java-client",
                need="mariadb",
                sql="mysql",
                port=3306,
                catalog="mysql",
                properties={"tinyInt1isBit": "false", **MYSQL_UTC},
            ),
            Dialect(
                name="mssql",
                url="jdbc:sqlserver://{host}:{port};databaseName={database}",
                driver="com.microsoft.sqlserver.jdbc.SQLServerDriver",
                jar="com.microsoft.sqlserver:mssql-jdbc",
                sql="tsql",
                port=1433,
                catalog="information_schema",
                schema="dbo",
                moment="CAST({} AS DATETIME2(6))",
            ),
            Dialect(
                name="oracle",
                url="jdbc:oracle:thin:@//{host}:{port}/{database}",
                driver="oracle.jdbc.OracleDriver",
                jar="com.oracle.database.jdbc:ojdbc11",
                sql="oracle",
                port=1521,
            ),
        )
    }
)

_OTHER_NAMES: Final = {"postgres": "postgresql", "sqlserver": "mssql"}


def dialect_of(drivername: str) -> Dialect | None:
    """The dialect by the scheme of a URL, `postgresql+psycopg2` or `postgresql`.

    >>> dialect_of("mysql+pymysql").name, dialect_of("teradata")
    ('mysql', None)
    """
    name = drivername.partition("+")[0].lower()
    return DIALECTS.get(_OTHER_NAMES.get(name, name))
