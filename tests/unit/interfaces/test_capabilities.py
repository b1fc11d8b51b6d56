"""Each capability of a third party's destination is honoured, reaches its client, or is refused by name."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

import pytest
from tests.destinations.warehouse import WarehouseConfiguration, WarehouseReference, warehouse
from tests.rule_assertions import TESTS, assert_no_offenders
from tests.unit.interfaces.capability_fields import FIELDS
from tests.unit.pipeline.fake_session import fake_session

import penstock
from penstock.errors import (
    DestinationTerminalException,
    IdentifierTooLongException,
    SessionLacksConf,
    UnsupportedCapability,
    UsageError,
)
from penstock.interfaces import DataTypeMapper, Destination, DestinationCapabilitiesContext, JobClientBase
from penstock.interfaces.capabilities import check_capabilities
from penstock.normalize.prior_schema import inference_options
from penstock.pipeline.context import PipelineContext
from penstock.pipeline.target import open_target
from penstock.pipeline.workdir import WorkDir
from penstock.pipeline.workspace import Workspace
from penstock.schema import Column, Schema, Table, decide, gather, naming_convention
from penstock.schema.spark_types import NESTED_TYPE_HINT

if TYPE_CHECKING:
    from pathlib import Path

CLIENT_FIELDS = [name for name, described in FIELDS.items() if described.actor == "client"]
BEGIN, END = "<!-- capabilities: begin -->\n", "<!-- capabilities: end -->"


def client(*tables: dict[str, Any], **capabilities: Any) -> JobClientBase:
    """Return the client of a warehouse with these capabilities, for a schema with these tables."""
    schema = Schema("shop")
    stored = schema.stored.with_normalizers(names="direct")
    schema.update(stored.with_tables(Table.from_dict(table) for table in tables))
    destination = warehouse(**capabilities)
    return destination.client(schema, WarehouseConfiguration(dataset_name="demo"))


def table(name: str = "items", **columns: Any) -> dict[str, Any]:
    return {"name": name, "columns": {key: {"name": key, **column} for key, column in columns.items()}}


# --- the list of all fields


def test_every_field_is_described_once() -> None:
    assert list(FIELDS) == [field.name for field in fields(DestinationCapabilitiesContext)]


def test_every_named_test_exists() -> None:
    assert_no_offenders(
        (
            f"{name}: {described.test} does not exist"
            for name, described in FIELDS.items()
            if f"\ndef {described.test.split('::')[1]}("
            not in (TESTS.parent / described.test.split("::")[0]).read_text(encoding="utf-8")
        ),
        "name the test of the field in capability_fields.py",
    )


def test_the_documentation_has_the_table_of_all_fields() -> None:
    page = (TESTS.parent / "docs" / "destinations.md").read_text(encoding="utf-8")

    shown = page.partition(BEGIN)[2].partition(END)[0]

    rows = [
        f"| `{field.name}` | {_default(field.default)} | {FIELDS[field.name].actor} "
        f"| {FIELDS[field.name].meaning} |"
        for field in fields(DestinationCapabilitiesContext)
    ]
    expected = "\n".join(["| capability | default | who acts | meaning |", "|---|---|---|---|", *rows, ""])
    assert shown == expected, f"write this to docs/destinations.md:\n{expected}"


def _default(value: Any) -> str:
    if value is MISSING:
        return "required"
    return "`str`" if value is str else f"`{value!r}`"


# --- fields for the client


@pytest.mark.parametrize("name", CLIENT_FIELDS)
@pytest.mark.parametrize("setter", ["reference", "argument"])
def test_the_client_gets_a_capability_that_only_it_can_honour(name: str, setter: str, tmp_path: Path) -> None:
    value = object()
    destination = (
        warehouse(tmp_path, **{name: value})
        if setter == "reference"
        else Destination("warehouse", WarehouseReference(), {"folder": str(tmp_path), name: value})
    )
    context = PipelineContext(pipeline_name="shop", dataset_name="demo", workdir=WorkDir(tmp_path / "work"))

    opened = open_target(destination, context, spark=None).client()

    assert getattr(opened.capabilities, name) is value


# --- fields that are refused


@pytest.mark.parametrize(
    ("name", "capabilities", "remedy"),
    [
        ("preferred_loader_file_format", {"preferred_loader_file_format": "insert_values"}, "parquet"),
        ("preferred_loader_file_format", {"preferred_loader_file_format": None}, "reference"),
        ("preferred_staging_file_format", {"preferred_staging_file_format": "model"}, "parquet"),
        ("supported_staging_file_formats", {"supported_staging_file_formats": ("model",)}, "parquet"),
        ("insert_values_writer_type", {"insert_values_writer_type": "select_union"}, "in the client"),
        ("parquet_format", {"parquet_format": object()}, "spark.sql.parquet"),
        ("preferred_table_format", {"preferred_table_format": "hive"}, "add it there"),
        (
            "supports_tz_aware_datetime",
            {"supports_tz_aware_datetime": False, "supports_naive_datetime": False},
            "to True",
        ),
    ],
)
def test_a_capability_that_cannot_be_honoured_is_refused_by_name(
    name: str, capabilities: dict[str, Any], remedy: str, tmp_path: Path
) -> None:
    context = PipelineContext(pipeline_name="shop", dataset_name="demo", workdir=WorkDir(tmp_path))

    with pytest.raises(UnsupportedCapability, match=f"warehouse: capability {name} is ") as raised:
        open_target(warehouse(tmp_path, **capabilities), context, spark=None)

    assert remedy in raised.value.hint


def test_an_unknown_naming_convention_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown naming convention 'nowhere'"):
        check_capabilities(warehouse(naming_convention="nowhere").capabilities(), "warehouse")


# --- names


@pytest.mark.parametrize(
    ("tables", "capabilities", "problem"),
    [
        ([table("a" * 9)], {"max_identifier_length": 8}, "table name 'aaaaaaaaa' has 9"),
        (
            [table(a234567={"data_type": "text"})],
            {"max_column_identifier_length": 6},
            "column name 'a234567' has 7",
        ),
        ([table("A"), table("a")], {"has_case_sensitive_identifiers": False}, "tables 'A' and 'a'"),
        ([table("A"), table("a")], {"casefold_identifier": str.upper}, "tables 'A' and 'a'"),
        (
            [table(A={"data_type": "text"}, a={"data_type": "text"})],
            {"casefold_identifier": str.lower},
            "columns 'A' and 'a'",
        ),
    ],
)
def test_names_that_the_destination_cannot_hold_are_refused(
    tables: list[dict[str, Any]], capabilities: dict[str, Any], problem: str
) -> None:
    names = [each["name"] for each in tables]

    client(*tables).verify_schema(names)
    with pytest.raises((IdentifierTooLongException, DestinationTerminalException), match=problem):
        client(*tables, **capabilities).verify_schema(names)


@pytest.mark.parametrize(("tables", "columns"), [(12, 30), (30, 12)])
def test_names_of_a_load_are_shortened_to_the_longest_that_the_destination_holds(
    tmp_path: Path, tables: int, columns: int
) -> None:
    destination = warehouse(tmp_path, max_identifier_length=tables, max_column_identifier_length=columns)
    context = PipelineContext(pipeline_name="shop", dataset_name="demo", workdir=WorkDir(tmp_path / "work"))
    workspace = Workspace(open_target(destination, context, spark=None), spark=fake_session())

    naming = workspace.naming(Schema("shop"))

    assert len(naming.normalize_identifier("a_name_of_twenty_one")) == 12


def test_the_client_finds_the_strategies_of_a_table() -> None:
    opened = client(
        {**table("replaced"), "write_disposition": "replace"},
        {**table("merged"), "write_disposition": "merge"},
        supported_replace_strategies=("truncate-and-insert", "insert-from-staging"),
        supported_merge_strategies=("upsert", "delete-insert"),
    )

    replaced, merged = (dict(opened.prepare_load_table(name)) for name in ("replaced", "merged"))

    assert (replaced["x-replace-strategy"], merged["x-merge-strategy"]) == ("truncate-and-insert", "upsert")


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({}, True),
        ({"has_case_sensitive_identifiers": False}, False),
        ({"casefold_identifier": str.upper}, False),
    ],
)
def test_case_matters_only_where_the_destination_keeps_it(
    capabilities: dict[str, Any], expected: bool
) -> None:
    assert warehouse(**capabilities).capabilities().generates_case_sensitive_identifiers() is expected


# --- types


class Types(DataTypeMapper):
    """The types of a database without JSON, which loads binaries from Parquet only."""

    def to_destination_type(self, column: Any, table: Any) -> str:
        if column["data_type"] == "json":
            raise ValueError("there is no type for documents")
        return str(column["data_type"]).upper()

    def from_destination_type(self, db_type: str, precision: int | None, scale: int | None) -> Any:
        return {"data_type": db_type.lower(), "precision": precision, "scale": scale}

    def ensure_supported_type(self, column: Any, table: Any, loader_file_format: str) -> None:
        if column["data_type"] == "binary" and loader_file_format != "parquet":
            raise ValueError(f"{loader_file_format} files have no bytes")


@pytest.mark.parametrize(
    ("data_type", "file_format", "problem"),
    [
        ("text", "jsonl", None),
        ("binary", "parquet", None),
        ("json", "parquet", "column c of items has type json: there is no type for documents"),
        ("binary", "jsonl", "column c of items has type binary: jsonl files have no bytes"),
    ],
)
def test_columns_that_the_type_mapper_refuses_stop_the_load(
    data_type: str, file_format: str, problem: str | None
) -> None:
    opened = client(
        table(c={"data_type": data_type}), type_mapper=Types, preferred_loader_file_format=file_format
    )

    mapper = opened.capabilities.get_type_mapper()
    assert mapper is not None
    assert mapper.capabilities is opened.capabilities
    if problem is None:
        opened.verify_schema(["items"])
        return
    with pytest.raises(DestinationTerminalException, match=problem):
        opened.verify_schema(["items"])


@pytest.mark.parametrize(
    ("capability", "column"),
    [
        ("schema_supports_numeric_precision", {"data_type": "decimal", "precision": 9, "scale": 2}),
        ("supports_timestamp_precision_configuration", {"data_type": "timestamp", "precision": 3}),
        ("supports_binary_precision_configuration", {"data_type": "binary", "precision": 16}),
    ],
)
def test_a_precision_that_the_destination_cannot_be_told_is_left_out(
    capability: str, column: dict[str, Any]
) -> None:
    told = client(table(c=column)).prepare_load_table("items")["columns"]["c"]
    untold = client(table(c=column), **{capability: False}).prepare_load_table("items")["columns"]["c"]

    assert told == {"name": "c", **column}
    assert untold == {"name": "c", "data_type": column["data_type"]}


@pytest.mark.parametrize(
    ("capabilities", "declared", "expected"),
    [
        ({}, {"data_type": "decimal"}, {}),
        ({"decimal_precision": (18, 4)}, {"data_type": "decimal"}, {"precision": 18, "scale": 4}),
        ({"wei_precision": (30, 0)}, {"data_type": "wei"}, {"precision": 30, "scale": 0}),
        (
            {"max_timestamp_precision": 3},
            {"data_type": "timestamp", "precision": 6},
            {"precision": 3},
        ),
        ({}, {"data_type": "json", NESTED_TYPE_HINT: '"long"'}, {}),
        (
            {"supports_nested_types": True},
            {"data_type": "json", NESTED_TYPE_HINT: '"long"'},
            {NESTED_TYPE_HINT: '"long"'},
        ),
    ],
)
def test_columns_are_declared_within_the_types_of_the_destination(
    capabilities: dict[str, Any], declared: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert _decided_column(declared, **capabilities) == {
        "name": "c",
        "data_type": declared["data_type"],
        **expected,
    }


@pytest.mark.parametrize(
    ("capabilities", "timezone"),
    [({}, None), ({"supports_tz_aware_datetime": False}, False), ({"supports_naive_datetime": False}, None)],
)
def test_time_zones_follow_the_types_of_the_destination(
    capabilities: dict[str, Any], timezone: bool | None
) -> None:
    declared = {"data_type": "timestamp"}
    if "supports_naive_datetime" in capabilities:
        declared["timezone"] = False  # type: ignore[assignment]

    assert _decided_column(declared, **capabilities).get("timezone") is timezone


def _decided_column(declared: dict[str, Any], **capabilities: Any) -> dict[str, Any]:
    """Return a declared column after a batch for a warehouse with these capabilities."""
    schema = Schema("shop")
    schema.update_table(Table.from_dict(table(c=declared)))
    options = inference_options(naming_convention(), capabilities=warehouse(**capabilities).capabilities())
    decision = decide(schema.stored, "items", gather([{"c": None}]), options)
    column: Column = decision.schema.tables["items"].columns["c"]
    return dict(column.to_dict())


def test_sessions_need_the_presets_of_the_destination(tmp_path: Path) -> None:
    pipeline = penstock.pipeline(
        "shop", tmp_path, destination=warehouse(tmp_path, spark_needs=("delta",)), spark=fake_session()
    )

    with pytest.raises(SessionLacksConf, match="delta"):
        pipeline.destination_client()
