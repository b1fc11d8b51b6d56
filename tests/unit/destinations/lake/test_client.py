"""The schema of the tables of a lake: what a client creates and reports, without Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.destinations.delta.adapter import DeltaClient
from penstock.destinations.delta.reference import DELTA
from penstock.destinations.delta.settings import DeltaConfiguration
from penstock.errors import SchemaCorruptedException
from penstock.interfaces.refresh import RENEW
from penstock.load.plan import schema_update
from penstock.schema import Schema, Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEEN = {"x-normalizer": {"seen-data": True}}
_SPARK_NAMES = {"BIGINT": "long", "STRING": "string", "INT": "integer"}


@dataclass
class FakeTables:
    """The tables of a dataset as their columns, changed by the statements that a client runs."""

    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    on_create: Callable[[], None] = lambda: None

    def exists(self, table: str, *, spark: Any) -> bool:
        del spark
        return table in self.columns

    def create(self, table: Table, *, spark: Any) -> None:
        del spark
        self.on_create()
        self.calls.append(f"create {table.name}")
        names = {column.name: "string" for column in table.complete_columns()}
        self.columns.setdefault(table.name, names)

    def read(self, table: str, *, spark: Any) -> Any:
        del spark
        self.calls.append(f"read {table}")
        fields = [{"name": name, "type": kind} for name, kind in self.columns[table].items()]
        struct = {"type": "struct", "fields": fields}
        return SimpleNamespace(schema=SimpleNamespace(jsonValue=lambda: struct))

    def properties_of(self, table: str, *, spark: Any) -> dict[str, str]:
        del table, spark
        return {}

    def sql_name(self, table: str) -> str:
        return table

    def run(self, statement: str) -> None:
        self.calls.append(statement)
        table = statement.split()[2]
        for name, kind in re.findall(r"`(\w+)` (?:TYPE )?(\w+)", statement):
            self.columns[table][name] = _SPARK_NAMES[kind]


@dataclass
class FakeClient:
    """A client of Delta tables by path, over fake tables."""

    client: DeltaClient
    tables: FakeTables

    def update(self, *names: str) -> dict[str, list[str]]:
        applied = self.client.update_stored_schema(names or None) or {}
        return {name: list(table["columns"]) for name, table in applied.items()}

    def prepare(self, *names: str, with_rows: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
        expected = schema_update({}, self.client.schema.tables, names)
        prepared = self.client.prepare_tables(
            names,
            with_rows=with_rows,
            expected_update=expected,
            stored_tables=self.client.previous_tables(),
        )
        applied, by_commits = (
            {name: list(table["columns"]) for name, table in update.items()}
            for update in (prepared.applied, prepared.by_commits)
        )
        return applied, by_commits


class _ClientOfFakes(DeltaClient):
    """A client whose tables a test sets; by path, a table is a folder."""

    fakes: FakeTables

    @property
    def tables(self) -> Any:
        return self.fakes


def open_client(
    tmp_path: Path, *tables: Table, existing: dict[str, dict[str, str]] | None = None
) -> FakeClient:
    schema = Schema("shop")
    for table in tables:
        schema.update_table(table)
    fakes = FakeTables(columns=existing or {})
    conf = SimpleNamespace(get=lambda key, default: default, set=lambda *_: None, unset=lambda _: None)
    config = DeltaConfiguration(bucket_url=str(tmp_path), dataset_name="demo")
    client = _ClientOfFakes(
        schema,
        config,
        DELTA.capabilities(),
        spark=SimpleNamespace(conf=conf, sql=fakes.run),  # type: ignore[arg-type]
    )
    client.fakes = fakes
    for name in existing or {}:
        (tmp_path / "demo" / name).mkdir(parents=True)
    return FakeClient(client, fakes)


def table_of(name: str, *columns: str, **extras: Any) -> Table:
    types = {column: {"data_type": "text"} for column in columns}
    return Table.from_dict({"name": name, "columns": {**types, "untyped": {}}, **extras})


def test_missing_tables_and_columns_are_created_and_reported(tmp_path: Path) -> None:
    lake = open_client(
        tmp_path,
        table_of("old", "id", "late"),
        table_of("new", "id"),
        table_of("same", "id"),
        table_of("untyped_only"),
        existing={"old": {"id": "string"}, "same": {"id": "string", "of_another": "string"}},
    )

    assert lake.update() == {"old": ["late"], "new": ["id"]}
    assert "ALTER TABLE old ADD COLUMNS (`late` STRING)" in lake.tables.calls
    assert lake.update() == {}


def test_only_the_requested_tables_are_created(tmp_path: Path) -> None:
    lake = open_client(tmp_path, table_of("a", "id"), table_of("b", "id"))

    assert lake.update("b") == {"b": ["id"]}
    assert list(lake.tables.columns) == ["b"]


def test_a_table_that_another_writer_creates_meanwhile_gets_its_missing_columns(tmp_path: Path) -> None:
    lake = open_client(tmp_path, table_of("items", "id", "name"))
    lake.tables.on_create = lambda: lake.tables.columns.update(items={"id": "string"})

    lake.update()

    assert list(lake.tables.columns["items"]) == ["id", "name"]


def test_columns_are_widened_by_the_types_at_the_destination(tmp_path: Path) -> None:
    wide = Table.from_dict({"name": "items", "columns": {"n": {"data_type": "bigint"}}})
    lake = open_client(
        tmp_path,
        wide.with_extras(**{"x-table-properties": {"delta.enableTypeWidening": "true"}}),
        existing={"items": {"n": "integer"}},
    )

    assert lake.update() == {"items": ["n"]}
    assert "ALTER TABLE items ALTER COLUMN `n` TYPE BIGINT" in lake.tables.calls


def test_a_load_leaves_tables_and_columns_with_rows_to_their_commits(tmp_path: Path) -> None:
    lake = open_client(
        tmp_path,
        table_of("new", "id"),
        table_of("old", "id", "late"),
        existing={"old": {"id": "string"}},
    )

    assert lake.prepare("new", "old", with_rows=("new", "old")) == ({}, {"new": ["id"], "old": ["late"]})
    assert lake.tables.calls == ["read old"], "a new table needs no query, and no statement"


def test_columns_that_another_writer_has_added_are_not_reported(tmp_path: Path) -> None:
    columns = {"id": "string", "late": "string"}
    lake = open_client(tmp_path, table_of("old", "id", "late"), existing={"old": columns})

    assert lake.prepare("old", with_rows=("old",)) == ({}, {})


def test_tables_of_a_load_without_rows_are_changed_by_statements_if_they_ever_had_rows(
    tmp_path: Path,
) -> None:
    lake = open_client(
        tmp_path,
        table_of("parts", "id", "late", **SEEN),
        table_of("never", "id"),
        existing={"parts": {"id": "string"}},
    )

    assert lake.prepare("parts", "never", with_rows=()) == ({"parts": ["late"]}, {})
    assert "never" not in lake.tables.columns


def test_a_recreated_table_gets_all_its_columns_from_its_commit(tmp_path: Path) -> None:
    items = table_of("items", "id", **{RENEW: "table"})
    lake = open_client(tmp_path, items, existing={"items": {"id": "string"}})

    assert lake.prepare("items", with_rows=("items",)) == ({}, {"items": ["id"]})
    assert lake.tables.calls == []


def test_hints_that_no_load_can_follow_are_refused_before_a_table_is_created(tmp_path: Path) -> None:
    keyless = table_of("items", "id", write_disposition="merge", **{"x-merge-strategy": "upsert"})
    lake = open_client(tmp_path, table_of("a", "id"), keyless)

    with pytest.raises(SchemaCorruptedException):
        lake.update()

    assert lake.tables.columns == {}


def test_plain_files_have_no_tables_to_create(tmp_path: Path) -> None:
    files = penstock.destinations.filesystem(bucket_url=str(tmp_path / "lake"))
    pipeline = penstock.pipeline("shop", tmp_path / "pipelines", destination=files, dataset_name="demo")
    client: Any = pipeline._target().client()
    client.schema.update_table(table_of("items", "id"))
    expected = {"items": client.schema.get_table("items").to_dict()}

    assert client.plain.update_stored_schema(["items"], expected) == {}
    prepared = client.prepare_tables(
        ["items"], with_rows=["items"], expected_update=expected, stored_tables={}
    )
    assert (prepared.applied, list(prepared.by_commits)) == ({}, ["items"])
