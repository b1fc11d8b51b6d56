"""What Spark says of a store, in the words of Hadoop and of the client that Hadoop uses."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from penstock.errors import (
    DestinationTerminalException,
    DestinationTransientException,
    SessionLacksConf,
    StorageNotReachable,
    StorageRefused,
)
from penstock.load.failures import is_terminal, told
from penstock.spark.faults import storage_fault

AT = "getFileStatus on s3a://lake/x"
HADOOP = "org.apache.hadoop.fs.s3a"
MODEL, CORE = "software.amazon.awssdk.services.s3.model", "software.amazon.awssdk.core.exception"
SENT = f"{CORE}.SdkClientException: Unable to execute HTTP request"
CALL = "An error occurred while calling o2042.parquet.\n: "
STACK = f"\n\tat {HADOOP}.S3AUtils.translateException(S3AUtils.java:270)"
DENIED = "java.nio.file.AccessDeniedException: s3a://lake/x"
REFUSED = {
    "wrong keys": f"{DENIED}: {AT}: {MODEL}.S3Exception: Forbidden (Service: S3, Status Code: 403):null",
    "no bucket": f"{HADOOP}.UnknownStoreException: `s3a://lake/x': {AT}: {MODEL}.NoSuchBucketException: "
    "The specified bucket does not exist. (Service: S3, Status Code: 404)",
    "no keys": f"{DENIED}: {HADOOP}.auth.NoAuthWithAWSException: No AWS Credentials provided by Simple",
    "another region": f"{HADOOP}.AWSRedirectException: {AT}: {MODEL}.S3Exception: Moved Permanently",
}
MAY_PASS = {
    "slow down": f"{HADOOP}.AWSServiceThrottledException: {AT}: {MODEL}.S3Exception: Please reduce your "
    "request rate. (Service: S3, Status Code: 503):SlowDown",
    "broken there": f"{HADOOP}.AWSStatus500Exception: {AT}: {MODEL}.S3Exception: We encountered an "
    "internal error. (Service: S3, Status Code: 500)",
    "nobody there": f"org.apache.hadoop.net.ConnectTimeoutException: {AT}: {SENT}: connect timed out",
    "reset": f"{HADOOP}.AWSClientIOException: upload part #1 on s3a://lake/x: {SENT}: Connection reset",
    "unknown host": f"java.net.UnknownHostException: {AT}: lake.example.com",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_a_store_refuses_is_refused_again(text: str) -> None:
    error = RuntimeError(f"{CALL}{text}{STACK}")

    found = storage_fault(error)

    assert isinstance(found, StorageRefused)
    assert vars(found)["path"] == "s3a://lake/x"
    assert is_terminal(error)
    assert told(error).startswith("s3a://lake/x is refused: ")


@pytest.mark.parametrize("text", MAY_PASS.values(), ids=MAY_PASS.keys())
def test_a_store_that_is_busy_or_away_is_asked_again(text: str) -> None:
    error = RuntimeError(f"{CALL}{text}{STACK}")

    assert isinstance(storage_fault(error), StorageNotReachable)
    assert not is_terminal(error)
    assert "\n" not in told(error)


def test_a_store_that_is_away_while_spark_looks_at_a_plan_is_asked_again() -> None:
    assert not is_terminal(AnalysisException(f"cannot list: {MAY_PASS['nobody there']}"))


@pytest.mark.parametrize(
    "text",
    [
        "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
        'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "s3a"',
    ],
)
def test_a_session_without_the_jars_is_told_which(text: str) -> None:
    found = storage_fault(RuntimeError(text))

    assert isinstance(found, SessionLacksConf)
    assert "org.apache.hadoop:hadoop-aws:" in str(found)


@pytest.mark.parametrize(
    "text",
    [
        "java.nio.file.AccessDeniedException: /lake/x",
        "java.net.SocketTimeoutException: Read timed out",
        "[DELTA_CONCURRENT_APPEND] Transaction conflict at s3a://lake/x",
        "[UNRESOLVED_COLUMN] in a plan over s3a://lake/x",
    ],
)
def test_what_no_store_said_stays_as_it_is(text: str) -> None:
    assert storage_fault(RuntimeError(text)) is None


def test_a_key_in_what_a_store_says_is_not_told() -> None:
    text = REFUSED["wrong keys"].replace("Forbidden", "Forbidden aws_secret_access_key=hush-hush-hush-hush")

    assert "hush" not in str(storage_fault(RuntimeError(text)))


NO_CATALOG = """An error occurred while calling o1.databaseExists.
: org.apache.iceberg.jdbc.UncheckedSQLException: Failed to connect: jdbc:postgresql://db/x?password=hush
\tat a.B.c(B.java:1)
Caused by: org.postgresql.util.PSQLException: FATAL: sorry, too many clients already
"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            NO_CATALOG,
            "FATAL: sorry, too many clients already",
        ),
        ("UncheckedSQLException: Failed to connect: jdbc:x?password=hush", "Failed to connect"),
        ("org.apache.iceberg.exceptions.ServiceUnavailableException: Service Unavailable: 503", "503"),
    ],
)
def test_a_catalog_that_cannot_be_asked_may_be_later(text: str, why: str) -> None:
    found = storage_fault(RuntimeError(text))

    assert isinstance(found, DestinationTransientException)
    assert found.message.endswith(why)
    assert "hush" not in str(found)


def test_a_driver_that_is_not_there_is_not_waited_for() -> None:
    found = storage_fault(
        RuntimeError(NO_CATALOG.replace("FATAL: sorry", "No suitable driver found for jdbc"))
    )

    assert isinstance(found, DestinationTerminalException)
    assert "spark.jars" in str(found)
