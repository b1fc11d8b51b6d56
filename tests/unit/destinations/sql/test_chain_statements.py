"""The statements of a chain, as the text of DuckDB; no database runs them here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import exp

from penstock.destinations.duckdb.reference import DUCKDB
from penstock.destinations.lake.plan import plan_chain
from penstock.destinations.sql.chain_statements import ChainStatements
from penstock.destinations.sql.dialect import DatasetNames, SqlDialect, identifier
from penstock.destinations.sql.staging import StagedTable
from penstock.schema import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

TYPES = DUCKDB.capabilities().get_type_mapper()
KEY: dict[str, Any] = {"data_type": "bigint", "primary_key": True}


def table(name: str, columns: dict[str, Any], **hints: Any) -> Table:
    return Table.from_dict({"name": name, "columns": columns, **hints})


def statements(root: Table, *, existing: Sequence[str] = ("items",)) -> list[str]:
    assert TYPES is not None
    dialect = SqlDialect(name="duckdb", types=TYPES)
    staged = StagedTable(relation=exp.Table(this=identifier("rows")), columns=tuple(root.columns))
    chain = ChainStatements(
        plan=plan_chain(root.name, {root.name: root}, with_rows=[root.name]),
        tables={root.name: root},
        staged={root.name: staged},
        existing=existing,
        names=DatasetNames(dataset="raw"),
        dialect=dialect,
        created_at="2026-05-01T00:00:00+00:00",
    )
    return [dialect.text(statement.expression) for statement in chain.statements()]


def test_an_append_is_one_insert_with_the_types_of_the_columns() -> None:
    items = table("items", {"id": {"data_type": "bigint"}, "day": {"data_type": "date"}})

    (insert,) = statements(items)
    assert insert == (
        'INSERT INTO "raw"."items" ("id", "day") SELECT CAST("_penstock_row"."id" AS BIGINT), '
        'CAST("_penstock_row"."day" AS DATE) FROM "rows" AS "_penstock_row"'
    )


def test_a_replace_deletes_all_rows_first() -> None:
    items = table("items", {"id": {"data_type": "bigint"}}, write_disposition="replace")

    assert statements(items)[0] == 'DELETE FROM "raw"."items"'
    assert len(statements(items)) == 2


def test_a_merge_deletes_rows_with_a_key_of_the_load_and_inserts_one_row_for_each_key() -> None:
    items = table("items", {"id": KEY}, write_disposition="merge")

    create, delete, insert, drop = statements(items)

    assert create.startswith('CREATE TEMPORARY TABLE "_penstock_skipped" AS SELECT')
    assert (
        'PARTITION BY CAST("_penstock_row"."id" AS BIGINT) ORDER BY "_penstock_row"."_penstock_at" DESC'
        in create
    )
    assert delete == (
        'DELETE FROM "raw"."items" WHERE EXISTS(SELECT 1 FROM "rows" AS "_penstock_row" '
        'WHERE "items"."id" = CAST("_penstock_row"."id" AS BIGINT))'
    )
    assert "NOT EXISTS(SELECT" in insert
    assert drop == 'DROP TABLE IF EXISTS "_penstock_skipped"'


def test_a_merge_into_a_new_table_deletes_nothing() -> None:
    items = table("items", {"id": KEY}, write_disposition="merge")

    assert not any(text.startswith("DELETE") for text in statements(items, existing=()))


@pytest.mark.parametrize("flag", ["bool", "text"])
def test_an_upsert_deletes_flagged_rows_updates_and_inserts(flag: str) -> None:
    columns = {"id": KEY, "gone": {"data_type": flag, "hard_delete": True}}
    items = table("items", columns, **{"write_disposition": "merge", "x-merge-strategy": "upsert"})

    verbs = [text.partition(" ")[0] for text in statements(items)]

    assert verbs == ["CREATE", "DELETE", "UPDATE", "INSERT", "DROP"]


def test_history_ends_versions_before_new_ones_are_inserted() -> None:
    columns: dict[str, Any] = {
        "id": {"data_type": "bigint"},
        "since": {"data_type": "timestamp", "x-valid-from": True},
        "until": {"data_type": "timestamp", "x-valid-to": True},
        "_dlt_id": {"data_type": "text", "x-row-version": True},
    }
    items = table("items", columns, **{"write_disposition": "merge", "x-merge-strategy": "scd2"})

    texts = statements(items)

    verbs = [text.partition(" ")[0] for text in texts]
    assert verbs == ["CREATE", "CREATE", "UPDATE", "INSERT", "DROP", "DROP"]
    assert "SET \"until\" = CAST('2026-05-01T00:00:00+00:00' AS TIMESTAMPTZ)" in texts[2]


def test_names_of_users_are_quoted_everywhere() -> None:
    name, key = 'a"b; --', "x') --"
    items = table(name, {key: KEY}, write_disposition="merge")

    for text in statements(items, existing=(name,)):
        assert name not in text
        assert f'"{key}"' in text or key not in text
