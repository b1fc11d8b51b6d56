"""A load into Postgres that is killed at any step ends like an undisturbed one."""

from __future__ import annotations

import os
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from tests.conftest import AT_LENGTH, SEED
from tests.database_crashes import NAME, Content, CrashTrials, chosen_steps, of_each_kind
from tests.service.postgres import URL

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.flow.crashes.steps import Steps

    from penstock.interfaces import Destination

REQUESTED = os.environ.get("PENSTOCK_TEST_CRASHES", "kinds" if AT_LENGTH else "")
FOLDERS = tuple(os.environ.get("PENSTOCK_TEST_FOLDERS", "kept,wiped").split(","))
"""Whether the working folder exists after the kill."""
_TRANSACTION_STEPS = {"_enter_gen": "BEGIN", "_exit_gen": "COMMIT"}


@dataclass(frozen=True)
class PostgresTrial:
    """A database of the server of `make up`, which is copied from another one."""

    name: str

    def destination(self) -> Destination:
        return penstock.destinations.postgres(self._url(self.name))

    def keep(self) -> None:
        self._copy(self.name, to=f"{self.name}_kept")

    def restore(self) -> None:
        self._copy(f"{self.name}_kept", to=self.name)

    def create(self) -> None:
        self._execute("CREATE DATABASE {}", self.name)

    def drop(self) -> None:
        for name in (self.name, f"{self.name}_kept"):
            self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def tables(self) -> Content:
        query = "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r'"
        with psycopg.connect(self._url(self.name), row_factory=dict_row) as connection:
            connection.execute("SET TIME ZONE 'UTC'")
            names = [row["relname"] for row in connection.execute(query, [NAME])]
            return {name: self._rows(connection, name) for name in names}

    def leftovers(self) -> list[str]:
        query = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s) AND nspname <> %s"
        with psycopg.connect(self._url(self.name)) as connection:
            return [name for (name,) in connection.execute(query, [NAME, NAME])]

    @contextmanager
    def observed(self, steps: Steps) -> Iterator[None]:
        original = psycopg.Connection.wait

        def wait(connection: psycopg.Connection[Any], generator: Any, *arguments: Any, **options: Any) -> Any:
            steps.reach(f"before {_statement(connection, generator)}")
            return original(connection, generator, *arguments, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(psycopg.Connection, "wait", wait)
            yield

    def _rows(self, connection: psycopg.Connection[Any], table: str) -> list[dict[str, Any]]:
        query = sql.SQL("SELECT * FROM {}").format(sql.Identifier(NAME, table))
        return connection.execute(query).fetchall()

    def _copy(self, name: str, *, to: str) -> None:
        self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", to)
        self._execute("CREATE DATABASE {} TEMPLATE {}", to, name)

    def _execute(self, statement: str, *names: str) -> None:
        with psycopg.connect(URL, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def _url(self, database: str) -> str:
        return f"{URL.rpartition('/')[0]}/{database}"


def _statement(connection: psycopg.Connection[Any], generator: Any) -> str:
    """Return the text of the statement that a generator of psycopg runs, or the name of what it does."""
    name = getattr(generator, "__name__", type(generator).__name__)
    frame = getattr(generator, "gi_frame", None)
    query = frame.f_locals.get("query") if frame is not None else None
    if query is None:
        return _TRANSACTION_STEPS.get(name, name)
    text = query.as_string(connection) if isinstance(query, sql.Composable) else query
    return " ".join((text.decode() if isinstance(text, bytes) else text).split())[:160]


@pytest.fixture
def trials(tmp_path: Path) -> Iterator[CrashTrials]:
    database = PostgresTrial(f"crashes_{uuid.uuid4().hex[:8]}")
    database.create()
    yield CrashTrials(database, tmp_path)
    database.drop()


def test_a_load_killed_at_any_step_ends_like_an_undisturbed_one(
    trials: CrashTrials, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = trials.begin()
    steps = trials.steps()
    points = f"{len(steps)} points, which are of {len(of_each_kind(steps))} kinds"
    wrong: dict[str, list[str]] = {}

    for folder in FOLDERS:
        tried = chosen_steps(steps, 1, seed=f"{SEED} {folder}", requested=REQUESTED)
        for number, step in enumerate(tried, 1):
            problems = trials.problems(step, expected, wiped=folder == "wiped")
            if problems:
                wrong[f"{step.what}, folder {folder}"] = problems
            with capsys.disabled():
                print(f"Postgres, folder {folder}: {number} of {points}; {len(wrong)} wrong")  # noqa: T201 - the figures

    assert wrong == {}
