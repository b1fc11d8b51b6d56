"""TLS and limits of statements hold for the driver, for executors and for Spark's JDBC driver alike."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import psycopg
import pyarrow as pa
import pytest
from tests.service.postgres import URL, execute

from penstock.config.credentials import ConnectionStringCredentials
from penstock.destinations.postgres.copy_task import ExecutorCopy, StagingCopy, open_connection
from penstock.destinations.postgres.jdbc import jdbc_options
from penstock.destinations.postgres.run import read_queries
from penstock.destinations.postgres.settings import PostgresCredentials
from penstock.destinations.postgres.staging import LoadStaging

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


UTC_ONLY = {"TimeZone": "UTC"}


def certificate(folder: Path, name: str) -> tuple[Path, str]:
    """Create a certificate of 127.0.0.1 that signs itself; return its path and the text of its key."""
    path, key = folder / f"{name}.crt", folder / f"{name}.key"
    subject = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    files = ["-keyout", str(key), "-out", str(path)]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, *files]
    subprocess.run(command, check=True, capture_output=True)
    path.chmod(0o644)
    return path, key.read_text()


def set_by_server(statement: str) -> None:
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute(statement)


def write_by_server(name: str, text: str) -> None:
    """Let the server write a file into its data folder, so that it is its own."""
    with psycopg.connect(URL) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE lines (number serial, line text)")
        cursor.executemany("INSERT INTO lines (line) VALUES (%s)", [(line,) for line in text.splitlines()])
        program = f"umask 077; cat > {name}"
        cursor.execute(f"COPY (SELECT line FROM lines ORDER BY number) TO PROGRAM '{program}'")


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """The server with TLS, while these tests run: its certificate, and one of another server."""
    folder = tmp_path_factory.mktemp("tls")
    folder.chmod(0o755)
    path, key = certificate(folder, "server")
    other, _ = certificate(folder, "other")
    write_by_server("penstock-test.crt", path.read_text())
    write_by_server("penstock-test.key", key)
    for name, value in (
        ("ssl_cert_file", "penstock-test.crt"),
        ("ssl_key_file", "penstock-test.key"),
        ("ssl", "on"),
    ):
        set_by_server(f"ALTER SYSTEM SET {name} = '{value}'")
    set_by_server("SELECT pg_reload_conf()")
    yield {"right": path, "wrong": other}
    for name in ("ssl", "ssl_cert_file", "ssl_key_file"):
        set_by_server(f"ALTER SYSTEM RESET {name}")
    set_by_server("SELECT pg_reload_conf()")


def login(authority: Path) -> PostgresCredentials:
    return PostgresCredentials(
        f"{URL}?{urlencode({'sslmode': 'verify-full', 'sslrootcert': str(authority)})}"
    )


@pytest.fixture
def copy() -> Iterator[StagingCopy]:
    staging = LoadStaging("tls", "1700000000.1")
    with psycopg.connect(URL, autocommit=True) as connection:
        staging.create(connection, pipeline_name="tls")
        yield staging.begin(connection, "orders.1.reference", {"id": ("bigint", "int8")})
        staging.drop(connection)


def test_driver_executors_and_jdbc_verify_the_server_by_the_same_authority(
    authorities: dict[str, Path], copy: StagingCopy, spark: SparkSession
) -> None:
    right, batches = login(authorities["right"]), [pa.record_batch({"id": [1]})]
    query = "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"

    with open_connection(right.parameters(), UTC_ONLY) as native:
        by_driver = native.execute(query).fetchone()
    by_executor = ExecutorCopy(copy, "orders", right.parameters(), UTC_ONLY).copy_partition(0, batches)
    by_jdbc = read_queries([query], jdbc_options(right, UTC_ONLY), spark=spark).collect()

    assert by_driver == ("TLSv1.3",)
    assert by_executor == (1, {}, None)
    assert [tuple(row) for row in by_jdbc] == [("TLSv1.3",)]


def test_a_server_with_another_authority_gets_no_password(
    authorities: dict[str, Path], copy: StagingCopy, spark: SparkSession
) -> None:
    wrong = login(authorities["wrong"])

    with pytest.raises(psycopg.OperationalError, match="certificate verify failed") as by_driver:
        open_connection(wrong.parameters(), UTC_ONLY)
    by_executor = ExecutorCopy(copy, "orders", wrong.parameters(), UTC_ONLY).copy_partition(0, [])
    with pytest.raises(Exception, match=r"(?i)certificat|PKIX") as by_jdbc:
        read_queries(["SELECT 1 AS x"], jdbc_options(wrong, UTC_ONLY), spark=spark).collect()

    rows, _, refused = by_executor
    assert (rows, "certificate verify failed" in str(refused)) == (0, True)
    password = str.__str__(ConnectionStringCredentials(URL).password or "")
    assert password
    texts = (str(by_driver.value), str(refused), str(by_jdbc.value))
    assert [text for text in texts if password in text] == []


def test_a_statement_timeout_holds_for_the_driver_for_executors_and_for_jdbc(
    copy: StagingCopy, spark: SparkSession
) -> None:
    credentials, settings = PostgresCredentials(URL), {**UTC_ONLY, "statement_timeout": "200"}
    execute(
        "CREATE OR REPLACE FUNCTION public.slow_check(bigint) RETURNS bool LANGUAGE plpgsql AS "
        "'BEGIN PERFORM pg_sleep(60); RETURN true; END'; "
        f'ALTER TABLE "{copy.schema}"."{copy.table}" ADD CHECK (public.slow_check(id))'
    )
    batches = [pa.record_batch({"id": [1]})]

    with (
        open_connection(credentials.parameters(), settings) as native,
        pytest.raises(psycopg.errors.QueryCanceled),
    ):
        native.execute("SELECT pg_sleep(60)")
    with pytest.raises(RuntimeError, match=r"penstock-transient: .*statement timeout"):
        ExecutorCopy(copy, "orders", credentials.parameters(), settings).copy_partition(0, batches)
    frame = read_queries(["SELECT pg_sleep(60)::text AS x"], jdbc_options(credentials, settings), spark=spark)
    with pytest.raises(Exception, match="canceling statement due to statement timeout"):
        frame.collect()
    writer = frame.sparkSession.range(1).write.format("jdbc").mode("append")
    with pytest.raises(Exception, match="canceling statement due to statement timeout"):
        writer.options(
            **jdbc_options(credentials, settings), dbtable=f'"{copy.schema}"."{copy.table}"'
        ).save()
