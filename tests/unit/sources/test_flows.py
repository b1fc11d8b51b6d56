from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest

import penstock
from penstock.errors import MissingTableName, SourceExhausted, UnsupportedData
from penstock.schema import Schema
from penstock.sources import flows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces import Flow


def rows() -> Iterator[int]:
    yield 1


@penstock.source
def shop() -> Any:
    return penstock.resource([1], name="orders"), penstock.resource([2], name="users", selected=False)


def shape(flows: tuple[Flow, ...]) -> list[tuple[str | None, list[str]]]:
    return [(flow.name, [stream.name for stream in flow.streams]) for flow in flows]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (shop(), [("shop", ["orders"])]),
        (shop, [("shop", ["orders"])]),
        ([shop(), shop.clone(name="market")()], [("shop", ["orders"]), ("market", ["orders"])]),
        (penstock.resource(rows), [(None, ["rows"])]),
        ([penstock.resource(rows), penstock.resource([1], name="n")], [(None, ["rows", "n"])]),
        ([penstock.resource(rows), shop()], [("shop", ["orders"]), (None, ["rows"])]),
        ((shop(), rows), [("shop", ["orders"]), (None, ["rows"])]),
        (rows, [(None, ["rows"])]),
        (rows(), [(None, ["rows"])]),
        (lambda: [1], [(None, ["<lambda>"])]),
    ],
)
def test_each_source_is_a_flow_and_data_without_a_source_is_another(data: Any, expected: Any) -> None:
    assert shape(flows_of(data)) == expected


@pytest.mark.parametrize(
    "data",
    [
        [{"a": 1}],
        [],
        ({"a": 1},),
        iter([1]),
        range(3),
        {1, 2},
        {"a": 1}.values(),
        pa.table({"a": [1]}),
        pd.DataFrame({"a": [1]}),
    ],
    ids=["rows", "none", "tuple", "iterator", "range", "set", "view", "arrow", "pandas"],
)
def test_data_without_a_name_needs_one(data: Any) -> None:
    with pytest.raises(MissingTableName):
        flows_of(data)

    assert shape(flows_of(data, table_name="t")) == [(None, ["t"])]


@pytest.mark.parametrize("data", [{"a": 1}, "text", b"bytes", 7, [penstock.resource(rows), {"a": 1}]])
def test_a_single_value_is_rejected(data: Any) -> None:
    with pytest.raises(UnsupportedData):
        flows_of(data, table_name="t")


def test_hints_of_the_run_apply_to_copies_of_all_resources() -> None:
    source, loose = shop(), penstock.resource(rows, write_disposition="merge")

    flows = flows_of([source, loose], write_disposition="replace", table_name="t")

    assert {stream.hints.disposition for flow in flows for stream in flow.streams} == {"replace"}
    assert {stream.hints.table_name for flow in flows for stream in flow.streams} == {"t"}
    assert (source.orders.write_disposition, loose.write_disposition) == ("append", "merge")


def test_columns_keys_and_contracts_of_a_run_override_those_of_a_resource() -> None:
    own = penstock.resource(rows, primary_key="other", schema_contract="freeze", write_disposition="append")
    merge_disposition = {"disposition": "merge", "strategy": "upsert"}

    (flow,) = flows_of(
        own,
        write_disposition=merge_disposition,
        primary_key=["id", "day"],
        columns=[{"name": "id", "data_type": "text"}],
        schema_contract={"columns": "discard_value"},
    )

    (stream,) = flow.streams
    assert (stream.hints.disposition, stream.hints.merge_strategy) == ("merge", "upsert")
    assert tuple(stream.hints.primary_key) == ("id", "day")
    assert stream.hints.columns["id"]["data_type"] == "text"
    assert dict(flow.contract) == {"columns": "discard_value"}


def test_a_schema_of_the_run_is_used_by_every_flow_and_not_changed() -> None:
    given = Schema("given")
    given.set_schema_contract("freeze")

    flows = flows_of([shop(), rows], schema=given)

    assert shape(flows) == [("given", ["orders"]), ("given", ["rows"])]
    assert all(flow.schema is not None and flow.schema == given.stored for flow in flows)
    assert flows[0].source.schema is not given


def test_connected_resources_are_connected_in_the_flow() -> None:
    numbers = penstock.resource([1, 2], name="numbers")
    doubled = penstock.transformer(lambda number: number * 2, name="doubled", data_from=numbers)

    (flow,) = flows_of([doubled, numbers])

    fed, root = flow.streams
    assert fed.parent is root


def test_a_consumed_generator_is_rejected_instead_of_loading_nothing() -> None:
    generator = rows()
    resource = penstock.resource(generator)
    fed = resource | penstock.transformer(lambda number: number, name="fed")
    list(resource)

    with pytest.raises(SourceExhausted, match="generator of rows is exhausted"):
        flows_of(fed)


def test_an_unselected_resource_alone_is_not_loaded() -> None:
    assert shape(flows_of(penstock.resource([1], name="n", selected=False))) == [(None, [])]
