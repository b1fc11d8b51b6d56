"""The client of the example destination: the contract of each method of the reference page."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import IdentifierTooLongException, LoadClientTransientException, TableNotFound
from penstock.interfaces import Destination, JobClientBase
from penstock.schema import Schema, Table

if TYPE_CHECKING:
    from pathlib import Path


def schema_of(*columns: str, name: str = "shop") -> Schema:
    schema = Schema(name)
    for table in ("items", "others"):
        schema.update_table({"name": table, "columns": {key: {"data_type": "text"} for key in columns}})
    schema.update_table(
        {"name": "items__tags", "parent": "items", "columns": {"value": {"data_type": "text"}}}
    )
    return schema


@pytest.fixture
def make(site: Path, tmp_path: Path) -> Any:
    """Return a function that opens clients as the load stage does."""
    destination = Destination.from_reference("example")
    spec = destination.reference.spec()
    config = spec(folder=str(tmp_path / "files"), dataset_name="Demo")  # type: ignore[call-arg]
    return lambda schema: destination.client(schema, config)


def columns(client: Any, table: str) -> list[str]:
    with closing(sqlite3.connect(client.file)) as connection:
        return [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]


def test_storage_is_created_and_dropped_with_its_content(make: Any, tmp_path: Path) -> None:
    with make(schema_of("id")) as client:
        at_first = client.is_storage_initialized()
        client.initialize_storage()
        client.update_stored_schema()
        after_update = client.is_storage_initialized()
        client.drop_storage()

        assert (at_first, after_update, client.is_storage_initialized()) == (False, True, False)
    assert list((tmp_path / "files").iterdir()) == []


def test_the_given_tables_are_truncated(make: Any) -> None:
    with make(schema_of("id")) as client:
        client.initialize_storage()
        client.update_stored_schema()
        with client.transaction() as connection:
            connection.execute("INSERT INTO items VALUES ('1')")
            connection.execute("INSERT INTO others VALUES ('1')")

        client.initialize_storage(truncate_tables=["items"])

        with client.transaction() as connection:
            row_counts = [
                connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
                for name in ("items", "others")
            ]
    assert row_counts == [0, 1]


def test_only_the_given_tables_are_updated_and_the_changes_are_returned(make: Any) -> None:
    with make(schema_of("id")) as client:
        client.initialize_storage()

        applied = client.update_stored_schema(only_tables=["items"])

        assert list(applied) == ["items"]
        assert columns(client, "items") == ["id"]
        assert columns(client, "others") == []


def test_an_expected_update_does_not_replace_the_inspection_of_tables(make: Any) -> None:
    with make(schema_of("id", "late")) as client:
        client.initialize_storage()
        with client.transaction() as connection:
            connection.execute("CREATE TABLE items (id TEXT)")

        applied = client.update_stored_schema(
            only_tables=["items"], expected_update={"items": {"name": "items", "columns": {}}}
        )

        assert list(applied["items"]["columns"]) == ["late"]
        assert columns(client, "items") == ["id", "late"]


def test_names_that_are_too_long_are_refused(make: Any) -> None:
    with make(schema_of("x" * 61)) as client:
        client.initialize_storage()
        with pytest.raises(IdentifierTooLongException, match="61 characters, example allows 60"):
            client.update_stored_schema()


def test_methods_use_the_staging_dataset_only_inside_the_block(make: Any) -> None:
    with make(schema_of("id")) as client:
        client.initialize_storage()

        with client.with_staging_dataset() as staging:
            inside = staging.is_storage_initialized()
            staging.initialize_storage()
            staging.update_stored_schema(only_tables=["items"])

        assert not inside
        assert isinstance(staging, JobClientBase)
        assert columns(client, "items") == []
        assert client.get_stage_dispositions() == ["replace", "merge"]


def test_the_newest_schema_is_returned(make: Any) -> None:
    for schema in (schema_of("id"), schema_of("id", name="crm"), schema_of("id", "late")):
        with make(schema) as client:
            client.initialize_storage()
            client.update_stored_schema()

    with make(Schema("shop")) as client:
        stored = client.get_stored_schema()
    with make(Schema("unknown")) as client:
        missing = client.get_stored_schema()

    assert stored is not None
    assert stored.version_hash == schema_of("id", "late").version_hash
    assert missing is None


def test_a_job_that_was_never_started_cannot_be_restored(make: Any) -> None:
    with make(schema_of("id")) as client:
        client.initialize_storage()
        with pytest.raises(LoadClientTransientException, match="was never started"):
            client.restore_file_load("somewhere/items.x.0.reference")


def test_nested_tables_are_prepared_with_the_hints_of_their_root(make: Any) -> None:
    schema = schema_of("id")
    merged = Table(name="items", write_disposition="merge", extras={"x-merge-strategy": "delete-insert"})
    schema.update_table(merged)
    schema.update_table({"name": "items", "columns": {"untyped": {}}})

    with make(schema) as client:
        prepared = client.prepare_load_table("items__tags")

        assert (prepared["write_disposition"], prepared["x-merge-strategy"]) == ("merge", "delete-insert")
        assert "untyped" not in client.prepare_load_table("items")["columns"]
        assert "write_disposition" not in schema.get_table("items__tags").to_dict(), (
            "the schema is not changed"
        )
        with pytest.raises(TableNotFound):
            client.prepare_load_table("nothing")
