from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus.hard_rows import HARD
from tests.corpus.hostile_rows import ALL, ExtractedRow
from tests.oracle.reference_rows import comparable, reference_tables, untagged
from tests.oracle.row_sets import rowset

from penstock.extract.encode import encode
from penstock.normalize.flat_rows import FlatInput, FlatTable, NeedsSpark, flat_tables
from penstock.normalize.plan import plan_layout, plan_tables
from penstock.normalize.prior_schema import MAX_NESTING
from penstock.normalize.profile import profile_rows
from penstock.package.layout import POSITION_COLUMN
from penstock.schema import Decision, InferenceOptions, Schema, StoredSchema, Table, decide, gather

if TYPE_CHECKING:
    from collections.abc import Sequence


def flatten(stored: StoredSchema, rows: Sequence[Any]) -> tuple[Decision, dict[str, FlatTable]]:
    texts = [encode(row) for row in rows]
    profile = profile_rows(texts)
    decision = decide(stored, "t", profile.evidence, InferenceOptions(max_nesting=MAX_NESTING))
    plans = plan_tables(decision, plan_layout(decision, profile))
    given_rows = [
        FlatInput(row_id=f"r{number}", text=text, position=str(number)) for number, text in enumerate(texts)
    ]
    return decision, flat_tables(decision, plans, given_rows, load_id="1")


def comparable_rows(flat: FlatTable, table: Table) -> list[dict[str, Any]]:
    def compared(name: str, value: Any) -> Any:
        data_type = table.columns[name].data_type or "text"
        if data_type == "json":
            return orjson.loads(value)
        return value if data_type == "time" else comparable(value, data_type)

    return [
        {
            name: compared(name, value)
            for name, value in row.items()
            if value is not None and name != POSITION_COLUMN
        }
        for row in flat.rows.drop_columns(["_dlt_load_id"] if not table.is_nested else []).to_pylist()
    ]


def compare(stored: StoredSchema, rows: Sequence[Any]) -> None:
    """Compare with the reference, which a test on Spark compares with SQL."""
    try:
        decision, tables = flatten(stored, rows)
    except NeedsSpark:
        return
    texts = [orjson.loads(encode(row)) for row in rows]
    expected = reference_tables(decision, [untagged(row) for row in texts])
    result = {
        name: comparable_rows(flat, decision.schema.tables[name])
        for name, flat in tables.items()
        if flat.rows.num_rows
    }
    assert {name: by_id(rows) for name, rows in result.items()} == {
        name: by_id(rows) for name, rows in expected.items()
    }


def by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: str(row["_dlt_id"]))


@given(st.integers(0, 2_999))
def test_row_sets_become_the_rows_of_the_reference(number: int) -> None:
    case = rowset(number)
    stored = Schema.from_dict(case.document).stored
    for batch in case.batches:
        compare(stored, batch)
        stored = decide(stored, "t", gather(batch)).schema


@pytest.mark.parametrize("name", HARD)
def test_hard_rows_become_the_rows_of_the_reference(name: str) -> None:
    compare(Schema("shop").stored, HARD[name])


@pytest.mark.parametrize(
    "item", [item for item in ALL if isinstance(item, ExtractedRow)], ids=lambda i: i.name
)
def test_hostile_rows_become_the_rows_of_the_reference(item: ExtractedRow) -> None:
    compare(Schema("shop").stored, [item.row if isinstance(item.row, dict) else item.value])


def test_most_row_sets_need_no_spark() -> None:
    flattened = 0
    for number in range(100):
        case = rowset(number)
        try:
            flatten(Schema("shop").stored, case.batches[0])
        except NeedsSpark:
            continue
        flattened += 1
    assert flattened > 80
