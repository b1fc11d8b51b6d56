"""Trouble in the server during a load: errors have the right class and a helpful message, and runs go on."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from tests.service.postgres import URL
from tests.service.test_postgres_loads import drop_schemas, rows_of, schemas

import penstock
from penstock.errors import (
    DestinationTerminalException,
    DestinationTransientException,
    PenstockError,
    PipelineStepFailed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ROWS = [{"id": number, "text": "x" * 100} for number in range(2000)]


@pytest.fixture
def dataset() -> Iterator[str]:
    name = f"trouble_{uuid.uuid4().hex[:8]}"
    yield name
    drop_schemas(name)


@pytest.fixture
def login(dataset: str) -> Iterator[str]:
    """The name of a new user who may create schemas in the database."""
    role = sql.Identifier(dataset)
    with psycopg.connect(URL, autocommit=True) as server:
        server.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'hush-hush-1'").format(role))
        server.execute(sql.SQL("GRANT CREATE ON DATABASE postgres TO {}").format(role))
        yield dataset
        drop_schemas(dataset)
        server.execute(sql.SQL("DROP OWNED BY {}").format(role))
        server.execute(sql.SQL("DROP ROLE {}").format(role))


def url_of(user: str) -> str:
    return f"postgresql://{user}:hush-hush-1@{URL.rpartition('@')[2]}"


def failure(dataset: str, folder: Path, *, url: str = URL, **settings: Any) -> PenstockError:
    """Run a load that fails, and return the cause."""
    return failure_of(lambda: run(dataset, folder, url=url, **settings))


def failure_of(work: Callable[[], object]) -> PenstockError:
    """Return the root cause of a load that fails."""
    with pytest.raises(PipelineStepFailed) as caught:
        work()
    error = caught.value.exception
    cause = error.__cause__ if isinstance(error.__cause__, PenstockError) else error
    assert isinstance(cause, PenstockError)
    assert "hush-hush" not in f"{cause} {caught.value}"
    return cause


def run(dataset: str, folder: Path, *, url: str = URL, **settings: Any) -> None:
    pipeline = penstock.pipeline(
        dataset,
        destination=penstock.destinations.postgres(url, **settings),
        dataset_name=dataset,
        pipelines_dir=folder,
    )
    pipeline.run(ROWS, table_name="orders")


def assert_loaded(dataset: str, loads: int) -> None:
    assert rows_of("SELECT count(*) FROM orders", dataset=dataset) == [(loads * len(ROWS),)]
    assert schemas(dataset) == [dataset]


@contextmanager
def changed_role(statement: str, undo: str, user: str) -> Iterator[None]:
    with psycopg.connect(URL, autocommit=True) as server:
        server.execute(sql.SQL(statement).format(sql.Identifier(user)))
        yield
        server.execute(sql.SQL(undo).format(sql.Identifier(user)))


def test_a_user_who_may_not_create_schemas_is_told_what_to_grant(
    dataset: str, login: str, tmp_path: Path
) -> None:
    url = url_of(login)
    with changed_role(
        "REVOKE CREATE ON DATABASE postgres FROM {}", "GRANT CREATE ON DATABASE postgres TO {}", login
    ):
        error = failure(dataset, tmp_path, url=url)

    run(dataset, tmp_path, url=url)

    assert isinstance(error, DestinationTerminalException)
    assert f"user {login} has no privilege CREATE on database postgres" in str(error)
    assert "grant CREATE on the database" in error.hint
    assert_loaded(dataset, 1)


def test_a_user_without_connections_left_runs_again(dataset: str, login: str, tmp_path: Path) -> None:
    url = url_of(login)
    with (
        changed_role("ALTER ROLE {} CONNECTION LIMIT 1", "ALTER ROLE {} CONNECTION LIMIT -1", login),
        psycopg.connect(url),
    ):
        error = failure(dataset, tmp_path, url=url)

    run(dataset, tmp_path, url=url)

    assert isinstance(error, DestinationTransientException)
    assert "too many connections for role" in str(error)
    assert "connection left" in error.hint
    assert_loaded(dataset, 1)


def test_a_table_that_another_session_locks_is_waited_for_as_long_as_is_set(
    dataset: str, tmp_path: Path
) -> None:
    run(dataset, tmp_path)
    with psycopg.connect(URL) as other:
        other.execute(sql.SQL("LOCK TABLE {}").format(sql.Identifier(dataset, "orders")))
        error = failure(dataset, tmp_path, lock_timeout=0.2)

    run(dataset, tmp_path, lock_timeout=60.0)

    assert isinstance(error, DestinationTransientException)
    assert "canceling statement due to lock timeout" in str(error)
    assert "lock_timeout" in error.hint
    assert_loaded(dataset, 2)


def test_a_statement_that_is_cancelled_names_the_setting(dataset: str, tmp_path: Path) -> None:
    run(dataset, tmp_path)
    with psycopg.connect(URL) as other:
        other.execute(sql.SQL("LOCK TABLE {}").format(sql.Identifier(dataset, "orders")))
        error = failure(dataset, tmp_path, statement_timeout=3.0)

    run(dataset, tmp_path)

    assert isinstance(error, DestinationTransientException)
    assert "canceling statement due to statement timeout" in str(error)
    assert "statement_timeout" in error.hint
    assert_loaded(dataset, 2)


def test_a_full_disk_is_transient_and_the_load_continues(dataset: str, login: str, tmp_path: Path) -> None:
    """Postgres reports a limit of temporary files as it reports other exhausted resources."""
    url = url_of(login)
    run(dataset, tmp_path, url=url)
    limited = "ALTER ROLE {} SET temp_file_limit = 0"
    with changed_role(limited, "ALTER ROLE {} RESET temp_file_limit", login):
        with psycopg.connect(URL, autocommit=True) as server:
            server.execute(sql.SQL("ALTER ROLE {} SET work_mem = '64kB'").format(sql.Identifier(login)))
        error = merge_failure(dataset, tmp_path, url=url)

    run(dataset, tmp_path, url=url)

    assert isinstance(error, DestinationTransientException)
    assert "temp_file_limit" in str(error)
    assert rows_of("SELECT count(DISTINCT id) FROM orders", dataset=dataset) == [(len(ROWS),)]


def merge_failure(dataset: str, folder: Path, *, url: str) -> PenstockError:
    """Merge rows, which needs space to sort them."""
    return failure_of(
        lambda: penstock.pipeline(
            dataset,
            destination=penstock.destinations.postgres(url),
            dataset_name=dataset,
            pipelines_dir=folder,
        ).run(ROWS, table_name="orders", write_disposition="merge", primary_key="id")
    )


def test_rows_that_a_crash_of_the_server_has_emptied_are_staged_again(dataset: str, tmp_path: Path) -> None:
    """A restart after a crash empties unlogged tables; the tables of staging are."""
    run(dataset, tmp_path)
    with psycopg.connect(URL) as other:
        other.execute(sql.SQL("LOCK TABLE {}").format(sql.Identifier(dataset, "orders")))
        failure(dataset, tmp_path, lock_timeout=0.2)
    (staging,) = (name for name in schemas(dataset) if name != dataset)
    with psycopg.connect(URL) as server:
        for (table,) in rows_of("SELECT tablename FROM pg_tables WHERE schemaname = %s", staging):
            server.execute(sql.SQL("TRUNCATE {}").format(sql.Identifier(staging, table)))

    run(dataset, tmp_path)

    assert_loaded(dataset, 2)
