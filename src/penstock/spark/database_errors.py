"""Classification of source database errors in the text of Spark errors."""

from __future__ import annotations

import re
from typing import Final

from penstock.config import redact
from penstock.errors import DatabaseNotReachable, DatabaseQueryFailed

_DRIVERS: Final = {
    "org.postgresql.": "postgresql",
    "org.mariadb.": "mariadb",
    "com.mysql.": "mysql",
    "com.microsoft.sqlserver.": "mssql",
    "oracle.jdbc.": "oracle",
}
_DRIVER_MESSAGE: Final = re.compile(
    rf"(?:java\.sql\.(?:SQL|Batch|Data)\w*|(?:{'|'.join(map(re.escape, _DRIVERS))})[\w.$]*)"
    r"(?:Exception|Error|Truncation): [^\n]+"
)
_HANDSHAKE: Final = re.compile(r"javax\.net\.ssl\.\w+: [^\n]+")
# Messages of drivers about a database that is down, full or starting: a retry may succeed.
_TRANSIENT: Final = re.compile(
    r"connection (to \S+ )?refused|timed out|unreachable|no route to host|connection reset|broken pipe"
    r"|connection attempt failed|communications link failure|socket (fail|error|time ?out)|\bi/?o error"
    "|network adapter|error while streaming|connection was killed|shutdown in progress|in recovery mode"
    "|no listener|tcp/ip connection to the host|too many (clients|connections)|remaining connection slots"
    "|starting up|shutting down|terminating connection|closed the connection|unexpected end of stream"
    "|connection (is |was |has been )?closed|conflict with recovery|not yet accepting|lost connection"
    r"|exceeded the\s+resource|active connections",
    re.IGNORECASE,
)
# Quoted names and values may contain any words.
_QUOTED: Final = re.compile(r"\"[^\"]*\"|(?<!\w)'[^']*'|`[^`]*`")


def database_error(database: str, reason: str) -> DatabaseNotReachable | DatabaseQueryFailed:
    """Return the `PenstockError` for the message of a database driver.

    >>> type(database_error("mysql", "Communications link failure")).__name__
    'DatabaseNotReachable'
    """
    message = redact(reason)
    error_class = DatabaseNotReachable if _TRANSIENT.search(_QUOTED.sub("", message)) else DatabaseQueryFailed
    return error_class(database=database, reason=message)


def as_database_error(
    error: BaseException, *, database: str | None = None
) -> DatabaseNotReachable | DatabaseQueryFailed | None:
    r"""Return the `PenstockError` for a Spark error caused by a database; None for other errors.

    Without `database`, the driver class in the text identifies it.

    >>> text = "task 3 failed: java.sql.SQLException: Zero date value prohibited\n\tat com.mysql.cj.Row"
    >>> as_database_error(RuntimeError(text)).reason
    'java.sql.SQLException: Zero date value prohibited'
    """
    text = str(error)
    # Some drivers report a failed handshake as a broken connection.
    match = _HANDSHAKE.search(text) or _DRIVER_MESSAGE.search(text)
    name = database or next((name for package, name in _DRIVERS.items() if package in text), None)
    return database_error(name, match[0]) if match is not None and name is not None else None
