"""The view of a dataset, over tables whose commits a test makes; without Spark."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest
import sqlglot

from penstock.dataset.dataset import Dataset, RowCounts
from penstock.dataset.view import DatasetSource
from penstock.errors import TableNotFound, UsageError
from penstock.interfaces import CommitRecord, StorageSchemaInfo, TableCommit, WithTableVersions
from penstock.package.file_ledger import FileLedger
from penstock.package.storage import FileStorage
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

HASH = "e8IhSkvTxIRdIvdYvLzwkPkLkpxuKFZJlKdKzFRM2sY="


@dataclass
class FakeTables(WithTableVersions):
    """Tables with a list of commits; a frame is the name of a table and its version."""

    history: dict[str, list[TableCommit]] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    def write(self, load_id: str | None, *tables: str) -> None:
        for table in tables:
            commits = self.history.setdefault(table, [])
            commits.insert(0, TableCommit(version=len(commits), load_id=load_id, pipeline_name="shop"))

    def table_names(self) -> tuple[str, ...]:
        return tuple(sorted(self.history))

    def table_version(self, table: str, *, spark: Any) -> int | None:
        return self.history[table][0].version

    def read(self, table: str, version: int | None = None, *, spark: Any) -> Any:
        return (table, version)

    def commits(self, table: str, *, most: int | None = None, spark: Any) -> Sequence[TableCommit]:
        self.reads.append(table)
        return self.history[table][:most]

    def displayable_location(self) -> str:
        return "memory"


class Sessions:
    """Sessions that nothing uses, because tables and frames are made by the test."""

    spark = None
    is_open = True

    @property
    def user(self) -> Sessions:
        return self

    @contextmanager
    def deferred_session(self) -> Iterator[None]:
        yield None


@dataclass
class Shop:
    tables: FakeTables
    ledger: FileLedger

    def load(self, load_id: str, *tables: str, complete: bool = True) -> None:
        self.tables.write(load_id, *tables)
        if complete:
            self.complete(load_id)

    def complete(self, load_id: str, *, dropped: tuple[str, ...] = ()) -> None:
        self.ledger.commit(
            CommitRecord(
                tables={name: {"dropped": True} for name in dropped},
                load_id=load_id,
                schema_name="shop",
                schema_version_hash=HASH,
                inserted_at="2026-11-15T00:00:00+00:00",
            )
        )

    def store_schema(self, *tables: str) -> None:
        seen = {"x-normalizer": {"seen-data": True}}
        document = {
            "name": "shop",
            "engine_version": 11,
            "tables": {name: {"name": name, **seen} for name in tables},
        }
        self.ledger.store_schema(
            StorageSchemaInfo(
                version=1,
                engine_version=11,
                inserted_at=datetime.now(UTC),
                schema_name="shop",
                version_hash=HASH,
                schema=json.dumps(document),
            )
        )

    def dataset(self, *, consistent: bool = True, schema: Any = None) -> Dataset:
        source = DatasetSource(
            client=cast("Any", self.tables), ledger=self.ledger, sessions=cast("Any", Sessions())
        )
        return Dataset(source, name="demo", consistent=consistent, schema=schema)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    ledger = FileLedger(FileStorage(str(tmp_path)))
    ledger.initialize()
    return Shop(FakeTables(), ledger)


def frames(dataset: Dataset, *tables: str) -> list[Any]:
    return [dataset[table].spark() for table in tables]


def test_the_newest_versions_are_read_if_no_load_is_open(shop: Shop) -> None:
    shop.load("1", "items", "tags")
    shop.load("2", "items")
    shop.tables.write(None, "tags")

    assert frames(shop.dataset(), "items", "tags") == [("items", 1), ("tags", 1)]


def test_tables_of_an_open_load_are_read_at_the_version_before_it(shop: Shop) -> None:
    shop.load("1", "items", "tags")
    shop.load("2", "items", "new", complete=False)

    dataset = shop.dataset()

    assert frames(dataset, "items", "tags") == [("items", 0), ("tags", 0)]
    assert dataset.tables[:2] == ["items", "tags"]
    with pytest.raises(TableNotFound):
        dataset.table("new")
    assert frames(shop.dataset(consistent=False), "items", "new") == [("items", None), ("new", None)]


def test_a_dropped_table_is_invisible_while_its_files_still_exist(shop: Shop) -> None:
    shop.load("1", "items", "tags")
    shop.load("2", "items", complete=False)
    before = shop.dataset()
    assert frames(before, "items", "tags") == [("items", 0), ("tags", 0)]

    shop.complete("2", dropped=("tags",))

    after = shop.dataset()
    assert frames(after, "items") == [("items", 1)]
    assert "tags" not in after.tables
    with pytest.raises(TableNotFound):
        after.table("tags")
    assert frames(before, "tags") == [("tags", 0)], "a reader stays at its moment"
    assert frames(shop.dataset(consistent=False), "tags") == [("tags", None)]


def test_a_table_that_one_schema_dropped_is_visible_through_another(shop: Shop) -> None:
    shop.load("1", "tags")
    shop.store_schema("tags")

    shop.complete("2", dropped=("tags",))

    assert "tags" in shop.dataset().tables


def test_a_dataset_keeps_its_snapshot_and_a_new_one_takes_the_next(shop: Shop) -> None:
    shop.load("1", "items", "tags")
    dataset = shop.dataset()
    assert dataset.load_ids() == ["1"]

    shop.load("2", "items", "tags")

    assert frames(dataset, "items", "tags") == [("items", 0), ("tags", 0)]
    assert (dataset.latest_load_id(), shop.dataset().latest_load_id()) == ("1", "2")
    assert frames(shop.dataset(), "items", "tags") == [("items", 1), ("tags", 1)]


def test_a_dataset_takes_its_snapshot_at_the_first_read(shop: Shop) -> None:
    dataset = shop.dataset()
    shop.load("1", "items")

    assert frames(dataset, "items") == [("items", 0)]


def test_only_histories_of_tables_without_a_complete_load_are_read(shop: Shop) -> None:
    shop.store_schema("items", "tags")
    shop.load("1", "items", "tags")
    shop.load("2", "tags", "new", complete=False)

    assert shop.dataset().tables[:2] == ["items", "tags"]
    assert shop.tables.reads == ["new"]


def test_loads_are_listed_by_schema(shop: Shop) -> None:
    shop.load("1", "items")
    shop.load("2", "items")

    dataset = shop.dataset()

    assert (dataset.load_ids("shop"), dataset.load_ids("other")) == (["1", "2"], [])
    assert dataset.latest_load_id("other") is None


def test_long_histories_are_read_as_far_back_as_needed(shop: Shop) -> None:
    shop.load("1", "items")
    old = shop.dataset()
    assert old.load_ids() == ["1"]
    for number in range(2, 80):
        shop.load(str(number), "items")

    assert frames(old, "items") == [("items", 0)]
    assert frames(shop.dataset(), "items") == [("items", 78)]


def test_only_tables_are_attributes(shop: Shop) -> None:
    shop.load("1", "items")
    dataset = shop.dataset()

    read: Any = dataset.items.spark()
    assert read == ("items", 0)
    assert not hasattr(dataset, "nothing")
    assert not hasattr(dataset, "__array__")


def test_a_dataset_is_limited_to_the_tables_of_its_schemas(shop: Shop) -> None:
    shop.store_schema("items", "tags")
    shop.load("1", "items", "tags")
    items = Schema("items")
    items.update_table({"name": "items", "columns": {"id": {"data_type": "bigint"}}})

    assert [schema.name for schema in shop.dataset().schemas] == ["shop"]
    assert shop.dataset(schema="shop").tables[:2] == ["items", "tags"]
    assert [table for table in shop.dataset(schema=items).tables if table in {"items", "tags"}] == ["items"]
    assert shop.dataset(schema=[items, "shop"]).tables[:2] == ["items", "tags"]
    unknown = shop.dataset(schema="unknown")
    assert unknown.schema is not None
    assert (unknown.schema.name, unknown.schema.data_table_names()) == ("unknown", [])
    assert not {"items", "tags"} & set(unknown.tables)
    with pytest.raises(TableNotFound):
        unknown.table("items")


def test_an_unknown_table_is_a_key_error(shop: Shop) -> None:
    with pytest.raises(KeyError):
        shop.dataset()["nothing"]


TABLE = "SELECT * FROM `demo`.`items`"


@pytest.mark.parametrize(
    ("derive", "text"),
    [
        (lambda items: items, TABLE),
        (lambda items: items.select("id", "a b"), f"SELECT `id`, `a b` FROM ({TABLE})"),
        (lambda items: items[["id"]].limit(3), f"SELECT * FROM (SELECT `id` FROM ({TABLE})) LIMIT 3"),
        (lambda items: items.order_by("id", "desc"), f"SELECT * FROM ({TABLE}) ORDER BY `id` DESC"),
        (
            lambda items: items.where("id > 1 AND x = 'y'"),
            f"SELECT * FROM ({TABLE}) WHERE id > 1 AND x = 'y'",
        ),
        (lambda items: items.where("id", "gte", 1), f"SELECT * FROM ({TABLE}) WHERE `id` >= 1"),
        (lambda items: items.filter("id", "in", [1, 2]), f"SELECT * FROM ({TABLE}) WHERE `id` IN (1, 2)"),
        (
            lambda items: items.where("x", "not_in", ["it's"]),
            f"SELECT * FROM ({TABLE}) WHERE NOT `x` IN ('it\\'s')",
        ),
    ],
)
def test_a_relation_has_an_equivalent_query_in_sql(shop: Shop, derive: Any, text: str) -> None:
    shop.load("1", "items")

    assert derive(shop.dataset()["items"]).to_sql() == text


def test_queries_have_their_values_and_translated_texts_in_sql(shop: Shop) -> None:
    shop.load("1", "items")
    dataset = shop.dataset()

    assert dataset("SELECT id FROM items WHERE x = %s", 7).to_sql() == "SELECT id FROM items WHERE x = 7"
    translated = dataset.query('SELECT "a b" FROM items', query_dialect="duckdb")
    assert translated.to_sql() == "SELECT `a b` FROM items"
    parsed = sqlglot.parse_one('SELECT "a b" FROM items', read="duckdb")
    assert dataset(cast("Any", parsed)).to_sql() == "SELECT `a b` FROM items"
    assert dataset["items"].limit(1).to_sql(pretty=True).count("\n") > 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda dataset: dataset.ibis(), "not an Ibis backend"),
        (lambda dataset: dataset["items"].to_ibis(), "not an Ibis table"),
        (lambda dataset: dataset["items"].incremental(object()), "no state for a cursor"),
        (lambda dataset: dataset["items"].join("items"), "joined with itself"),
        (lambda dataset: dataset["items"].join("tags"), "no reference leads from items to tags"),
        (lambda dataset: dataset("SELECT FROM WHERE").to_sql(), "cannot be parsed"),
        (lambda dataset: dataset.query("SELECT", query_dialect="nonsense"), "cannot be translated"),
    ],
)
def test_what_a_dataset_cannot_do_is_refused(shop: Shop, call: Any, message: str) -> None:
    shop.load("1", "items", "tags")

    with pytest.raises(UsageError, match=message):
        call(shop.dataset())


def test_row_counts_are_a_dict_and_a_relation(shop: Shop) -> None:
    counts = RowCounts({"items": 2, "tags": 3}, shop.dataset()._view)

    assert counts == {"items": 2, "tags": 3}
    assert counts.to_sql() == (
        "SELECT * FROM VALUES ('items', 2), ('tags', 3) AS counts(table_name, row_count)"
    )
    assert not hasattr(counts, "__array__")


def test_a_dataset_offers_its_clients(shop: Shop) -> None:
    shop.load("1", "items")
    dataset = shop.dataset()

    assert dataset.destination_client is cast("Any", shop.tables)
    assert dataset.sql_client.dataset_name == "demo"
    assert dataset.destination_dialect == "spark"


def test_a_dataset_is_read_only(shop: Shop) -> None:
    with pytest.raises(UsageError, match="read-only"):
        shop.dataset()("DELETE FROM items")
