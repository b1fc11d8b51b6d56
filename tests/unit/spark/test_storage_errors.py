"""What Spark says of a store, in the words of Hadoop and of the client that Hadoop uses."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from penstock.errors import (
    DestinationTerminalException,
    DestinationTransientException,
    PackageDamaged,
    SessionLacksConf,
    StorageAccessDenied,
    StorageFull,
    StorageNotReachable,
)
from penstock.load.worker import describe_error, is_terminal
from penstock.spark.storage_errors import as_storage_error

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
def test_denied_access_is_not_retryable(text: str) -> None:
    error = RuntimeError(f"{CALL}{text}{STACK}")

    found = as_storage_error(error)

    assert isinstance(found, StorageAccessDenied)
    assert vars(found)["path"] == "s3a://lake/x"
    assert is_terminal(error)
    assert describe_error(error).startswith("access to s3a://lake/x was denied: ")


@pytest.mark.parametrize("text", MAY_PASS.values(), ids=MAY_PASS.keys())
def test_a_store_that_is_busy_or_away_is_asked_again(text: str) -> None:
    error = RuntimeError(f"{CALL}{text}{STACK}")

    assert isinstance(as_storage_error(error), StorageNotReachable)
    assert not is_terminal(error)
    assert "\n" not in describe_error(error)


def test_a_store_that_is_away_while_spark_looks_at_a_plan_is_asked_again() -> None:
    assert not is_terminal(AnalysisException(f"cannot list: {MAY_PASS['nobody there']}"))


@pytest.mark.parametrize(
    "text",
    [
        "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
        'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "s3a"',
    ],
)
def test_missing_s3_jars_are_listed_in_the_error(text: str) -> None:
    found = as_storage_error(RuntimeError(text))

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
def test_errors_of_other_origins_are_not_classified(text: str) -> None:
    assert as_storage_error(RuntimeError(text)) is None


def test_a_key_in_the_message_of_a_store_is_masked() -> None:
    text = REFUSED["wrong keys"].replace("Forbidden", "Forbidden aws_secret_access_key=hush-hush-hush-hush")

    assert "hush" not in str(as_storage_error(RuntimeError(text)))


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
    found = as_storage_error(RuntimeError(text))

    assert isinstance(found, DestinationTransientException)
    assert found.message.endswith(why)
    assert "hush" not in str(found)


def test_a_missing_driver_is_not_retryable() -> None:
    found = as_storage_error(
        RuntimeError(NO_CATALOG.replace("FATAL: sorry", "No suitable driver found for jdbc"))
    )

    assert isinstance(found, DestinationTerminalException)
    assert "spark.jars" in str(found)


WRITING = (
    f"{CALL}org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 "
    "times, most recent failure: Lost task 0.0 in stage 3.0 (TID 5): org.apache.spark.SparkException: "
    "[TASK_WRITE_FAILED] Task failed while writing rows to "
    "file:/lake/packages/17.5/data/normalized/5c1c/00000. SQLSTATE: 58030"
)
FULL = {
    "a file": (
        "java.io.FileNotFoundException: /tmp/blockmgr-1/0c/temp (No space left on device)",
        "/tmp/blockmgr-1/0c/temp",
    ),
    "a folder": (
        f"{WRITING}\nCaused by: org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device",
        "file:/lake/packages/17.5/data/normalized/5c1c/00000",
    ),
    "a quota": (f"{WRITING}\nCaused by: java.io.IOException: Disk quota exceeded", "file:/lake/packages"),
    "somewhere": ("java.io.IOException: No space left on device", "spark.local.dir"),
}
MISSING = {
    "a folder": "[PATH_NOT_FOUND] Path does not exist: file:/lake/packages/17.5/data/extracted/00000. "
    "SQLSTATE: 42K03",
    "a file": "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file "
    "file:///lake/packages/17.5/data/extracted/00000/part-0.parquet. File does not exist. It is possible the",
}


@pytest.mark.parametrize("case", FULL)
def test_a_full_disk_is_named_if_spark_names_it(case: str) -> None:
    text, path = FULL[case]

    fault = as_storage_error(RuntimeError(text))

    assert isinstance(fault, StorageFull)
    assert path in fault.path
    assert not is_terminal(RuntimeError(text))


@pytest.mark.parametrize("case", MISSING)
def test_a_path_of_a_package_that_is_missing_is_a_damaged_package(case: str) -> None:
    fault = as_storage_error(AnalysisException(MISSING[case]))

    assert isinstance(fault, PackageDamaged)
    path = vars(fault)["path"]
    assert path.startswith("file:/")
    assert "/packages/17.5/data/extracted/00000" in path
    assert not path.endswith(".")
    assert "drop_pending_packages" in fault.hint


def test_a_missing_path_of_a_source_is_not_a_damaged_package() -> None:
    assert (
        as_storage_error(AnalysisException("[PATH_NOT_FOUND] Path does not exist: s3://raw/orders.csv."))
        is None
    )
