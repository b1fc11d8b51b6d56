"""The programs and grants of docs/how-to/load-postgres.md run on the Postgres that `make up` starts."""

from __future__ import annotations

import contextlib
import io
import itertools
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
from psycopg import sql
from tests.doc_blocks import doc_blocks
from tests.service.postgres import URL
from tests.service.test_postgres_loads import dataset

import penstock

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

__all__ = ["dataset"]
PAGE = "docs/how-to/load-postgres.md"
BLOCKS = doc_blocks(PAGE)


def test_the_programs_of_the_page_print_their_outputs(
    dataset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DESTINATION__POSTGRES__CREDENTIALS", URL)
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs = []

    for block, following in itertools.pairwise(BLOCKS):
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stdout:
                exec(compile(block.text.replace('"raw"', repr(dataset)), str(block), "exec"), names)
            outputs.append((stdout.getvalue(), following.text))

    assert len(outputs) == 2
    assert all(output == shown for output, shown in outputs), outputs


def test_a_user_with_the_grants_of_the_page_loads_and_others_read(dataset: str, tmp_path: Path) -> None:
    (grants,) = [block.text for block in BLOCKS if "CREATE ROLE" in block.text]
    role, database = f"loader_{uuid.uuid4().hex[:8]}", urlsplit(URL).path.strip("/")
    before, after = (
        text.replace("loader", role).replace("DATABASE shop", f"DATABASE {database}").replace("raw", dataset)
        for text in grants.split(f"{grants.splitlines()[2]}\n")
    )
    login = URL.replace(urlsplit(URL).netloc.rpartition("@")[0], f"{role}:...", 1)
    with psycopg.connect(URL, autocommit=True) as owner:
        owner.execute(before.encode())
        try:
            pipeline = penstock.pipeline(
                "grants",
                destination=penstock.destinations.postgres(login),
                dataset_name=dataset,
                pipelines_dir=tmp_path,
            )
            pipeline.run([{"id": 1}], table_name="orders")
            with psycopg.connect(login, autocommit=True) as loader:
                loader.execute(after.encode())
            pipeline.run([{"id": 2}], table_name="late")

            readable = "SELECT has_table_privilege('public', %s, 'SELECT')"
            tables = [f"{dataset}.orders", f"{dataset}.late"]
            assert [owner.execute(readable, [table]).fetchone() for table in tables] == [(True,), (True,)]
        finally:
            owner.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(sql.Identifier(role)))
            owner.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))
