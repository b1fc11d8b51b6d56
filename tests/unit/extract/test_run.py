from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.extract.extraction import extract_data, table_rows

import penstock
from penstock.errors import (
    LoadClientUnsupportedWriteDisposition,
    ResourceFailed,
    RowNotEncodable,
    UsageError,
)
from penstock.extract.plan import Rotation, Workload
from penstock.package import Package, Packages
from penstock.package.tags import DATE, DATETIME, DECIMAL
from penstock.schema.frozen_map import thaw
from penstock.schema.naming import RESERVED_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Packages.at(str(tmp_path)).package("17.5")


def test_every_table_gets_a_folder_and_the_package_is_not_marked(package: Package) -> None:
    done = extract_data(
        [
            penstock.resource([{"a": 1}, {"a": 2}], name="items"),
            penstock.resource(lambda: iter(()), name="none"),
            penstock.resource([7], name="n"),
        ],
        package,
    )

    assert table_rows(package, done) == {"items": [{"a": 1}, {"a": 2}], "n": [{"value": 7}]}
    assert package.status == "new"
    assert (done.report.rows, done.report.load_id) == (3, "17.5")
    assert done.report.resources == {"items": 2, "none": 0, "n": 1}
    assert str(done.report).splitlines()[1:] == ["- items: 2 rows", "- n: 1 row"]


def test_the_manifest_reads_back_as_written(package: Package) -> None:
    done = extract_data(penstock.resource([{"a": 1}], name="items", primary_key="a"), package)

    package.mark_extracted(done.extracted.to_dict())

    assert package.status == "extracted"
    assert type(done.extracted).from_dict(package.read_extracted()) == done.extracted


def test_a_list_that_is_yielded_is_a_page_of_rows(package: Package) -> None:
    def pages() -> Iterator[Any]:
        yield [{"a": 1}, {"a": 2}]
        yield {"a": 3}
        yield []

    assert extract_data(pages, package).report.rows == 3


def test_an_error_leaves_the_package_unmarked(package: Package) -> None:
    def rows() -> Iterator[Any]:
        yield [{"a": 1}, {"a": 2}]
        raise KeyError("id")

    with pytest.raises(ResourceFailed):
        extract_data(rows, package)

    assert package.status == "new"


def test_a_row_without_a_json_form_is_quarantined_and_the_others_are_written(package: Package) -> None:
    done = extract_data([{"a": 1}, {"a": 1j}, {"a": 2}], package, table_name="items")

    tables = table_rows(package, done)
    assert tables["items"] == [{"a": 1}, {"a": 2}]
    assert tables["_dlt_quarantine"] == [
        {
            "resource_name": "items",
            "table_name": "items",
            "path": "[]",
            "rule": "json",
            "item": 1,
            "reason": "complex has no JSON form",
            "raw": "{'a': 1j}",
        }
    ]
    assert done.report.quarantined_rows == {"items": 1}
    assert "- items: 1 quarantined" in str(done.report)


def test_with_on_bad_row_fail_the_error_names_the_number_of_the_row(package: Package) -> None:
    with pytest.raises(RowNotEncodable) as caught:
        extract_data(
            [{"a": 1}, {"a": object()}],
            package,
            table_name="items",
            workload=Workload(on_bad_row="fail"),
        )

    assert caught.value.message == "row 1 of items cannot be encoded: object has no JSON form"


def test_rows_are_on_disk_before_the_last_row_is_read(package: Package) -> None:
    seen: list[int] = []

    def rows() -> Iterator[dict[str, int]]:
        for number in range(10):
            seen.append(len(package.store.names("data/extracted/00000")))
            yield {"n": number}

    extract_data(rows, package, rotation=Rotation(row_group_rows=2, file_bytes=1))

    assert seen == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_two_resources_of_one_table_share_a_folder(package: Package) -> None:
    done = extract_data(
        [
            penstock.resource([{"a": 1}], name="first", table_name="All Items", primary_key="a"),
            penstock.resource(
                [{"a": 2}], name="second", table_name="all_items", columns={"b": {"data_type": "text"}}
            ),
        ],
        package,
    )

    (table,) = done.extracted.tables
    assert (table.table, table.resource, table.rows) == ("all_items", "first", 2)
    assert list(done.extracted.declared_tables["all_items"]["columns"]) == ["a", "b"]


def test_the_first_resource_of_a_table_declares_it_and_others_add_columns(package: Package) -> None:
    rows = [{"a": 1}]

    done = extract_data(
        [
            penstock.resource(rows, name="first", table_name="t", primary_key="a", write_disposition="merge"),
            penstock.resource(rows, name="second", table_name="t", primary_key="b"),
        ],
        package,
    )

    declared = thaw(done.extracted.declared_tables["t"])
    assert declared["write_disposition"] == "merge"
    assert list(declared["columns"]) == ["a"]


def test_an_unsupported_disposition_is_refused_with_its_first_row(package: Package) -> None:
    def rows() -> Iterator[Any]:
        yield {"kind": "a"}
        yield {"kind": "b"}

    resource = penstock.resource(
        rows,
        table_name=lambda row: row["kind"],
        write_disposition=lambda row: "append" if row["kind"] == "a" else "merge",
    )

    with pytest.raises(LoadClientUnsupportedWriteDisposition, match=r"'merge' \(table b\)"):
        extract_data(resource, package, dispositions=frozenset({"append"}))


@pytest.mark.parametrize("name", [None, "", "  ", "____", {"not": "a name"}, 7, "init", "_dlt_loads"])
def test_a_row_with_an_invalid_table_name_stops_no_other_row(name: Any, package: Package) -> None:
    rows = [{"n": 1, "kind": name}, {"n": 2, "kind": "good"}]

    done = extract_data(penstock.resource(rows, name="events", table_name=lambda row: row["kind"]), package)

    tables = {table.table: table.rows for table in done.extracted.tables}
    assert sorted(tables.values()) == [1, 1]
    assert tables["good"] == 1
    assert "" not in tables
    assert not RESERVED_TABLES.intersection(tables)
    assert ("events" in tables) == (name is None or not str(name).strip(" _"))


def test_rows_of_a_table_that_is_skipped_are_not_written(package: Package) -> None:
    done = extract_data(penstock.resource([{"a": 1}], name="t", write_disposition="skip"), package)

    assert done.extracted.tables == ()
    assert "t" in done.extracted.declared_tables


def test_a_dynamic_table_has_its_own_rows_and_hints(package: Package) -> None:
    resource = penstock.resource(
        [[{"k": "a", "n": 1}, {"k": "b", "n": 2}], {"k": "a", "n": 3}],
        name="events",
        table_name=lambda row: f"Events {row['k']}",
        primary_key="n",
    )

    done = extract_data(resource, package)

    rows = table_rows(package, done)
    assert {table: [row["n"] for row in tables] for table, tables in rows.items()} == {
        "events_a": [1, 3],
        "events_b": [2],
    }
    assert all(list(table["columns"]) == ["n"] for table in done.extracted.declared_tables.values())


def test_an_error_in_the_function_of_a_hint_names_the_resource(package: Package) -> None:
    resource = penstock.resource([{"k": 1}, {}], name="events", table_name=lambda row: f"t{row['k']}")

    with pytest.raises(ResourceFailed, match="events raised KeyError"):
        extract_data(resource, package)


def test_a_mark_without_an_item_declares_a_table_without_rows(package: Package) -> None:
    def rows() -> Iterator[Any]:
        hints = penstock.mark.make_hints(columns=[{"name": "id", "data_type": "bigint"}])
        yield penstock.mark.with_hints(None, hints)

    done = extract_data(penstock.resource(rows, name="empty"), package)

    assert done.extracted.tables == ()
    assert list(done.extracted.declared_tables["empty"]["columns"]) == ["id"]


def test_a_mark_inside_a_page_is_refused_and_not_loaded_as_a_row(package: Package) -> None:
    page = [penstock.mark.with_table_name({"a": 1}, "t")]

    with pytest.raises(RowNotEncodable, match="MarkedItem has no JSON form"):
        extract_data([page], package, table_name="t", workload=Workload(on_bad_row="fail"))


def test_the_state_of_source_and_resource_is_stored_in_the_package(package: Package) -> None:
    state: dict[str, Any] = {"sources": {"shop": {"resources": {"visits": {"count": 1}}}}}

    @penstock.resource
    def visits() -> Iterator[dict[str, int]]:
        state_of_resource = penstock.current.resource_state()
        state_of_resource["count"] += 1
        state_of_resource["at"] = datetime(2024, 1, 2, tzinfo=UTC)
        penstock.current.source_state()["since"] = date(2024, 1, 2)
        penstock.current.source_state()["rate"] = Decimal("1.5")
        penstock.current.resource_state("nobody")
        yield {"visit": state_of_resource["count"]}

    done = extract_data(visits, package, state=state)

    assert table_rows(package, done) == {"visits": [{"visit": 2}]}
    assert thaw(done.extracted.state) == {
        "shop": {
            "resources": {"visits": {"count": 2, "at": DATETIME + "2024-01-02T00:00:00+00:00"}},
            "since": DATE + "2024-01-02",
            "rate": DECIMAL + "1.5",
        }
    }


def test_reading_a_state_or_setting_it_to_the_same_value_is_no_change(package: Package) -> None:
    def asking() -> Iterator[int]:
        penstock.current.resource_state()
        penstock.current.source_state()["kept"] = 1
        yield from ()

    def changing() -> Iterator[int]:
        penstock.current.resource_state()["new"] = 1
        yield from ()

    state = {"sources": {"shop": {"kept": 1, "resources": {"old": {}}}}}
    unchanged, changed = (extract_data(rows, package, state=state) for rows in (asking, changing))
    with_rows = extract_data([1], package, state=state, table_name="t")

    assert (unchanged.state_changed, unchanged.has_changes) == (False, False)
    assert (changed.state_changed, changed.has_changes) == (True, True)
    assert (with_rows.state_changed, with_rows.has_changes) == (False, True)


def test_the_package_stores_a_copy_of_the_state(package: Package) -> None:
    state: dict[str, Any] = {"sources": {"shop": {"list": [1]}}}

    done = extract_data([1], package, state=state, table_name="t")
    state["sources"]["shop"]["list"].append(2)

    assert thaw(done.extracted.state) == {"shop": {"list": [1]}}


@pytest.mark.parametrize("disposition", ["replace", {"disposition": "replace"}])
def test_only_the_state_of_a_replacing_resource_is_reset(package: Package, disposition: Any) -> None:
    state = {"sources": {"shop": {"all": 1, "resources": {"a": {"n": 1}, "b": {"n": 1}}}}}

    done = extract_data(
        [penstock.resource([1], name="a", write_disposition=disposition), penstock.resource([1], name="b")],
        package,
        state=state,
    )

    assert thaw(done.extracted.state) == {"shop": {"all": 1, "resources": {"b": {"n": 1}}}}


def test_a_value_that_state_cannot_store_is_an_error(package: Package) -> None:
    def rows() -> Iterator[int]:
        penstock.current.resource_state()["it"] = object()
        yield 1

    with pytest.raises(UsageError, match="a object cannot be stored in the state"):
        extract_data(rows, package)


def test_the_schema_of_a_source_is_stored_in_the_package(package: Package) -> None:
    source = penstock.source(
        lambda: penstock.resource([1], name="n"), name="strict", schema_contract="freeze", max_table_nesting=0
    )()

    done = extract_data(source, package)

    assert done.extracted.schema_name == "strict"
    assert done.extracted.schema is not None
    assert done.extracted.schema["settings"]["schema_contract"] == "freeze"
    assert done.extracted.schema["normalizers"]["json"]["config"] == {"max_nesting": 0}


def test_metrics_are_part_of_the_report(package: Package) -> None:
    def rows() -> Iterator[int]:
        assert penstock.current.get_resource() is penstock.current.resource()
        penstock.current.get_resource_metrics()["pages"] = 3
        yield 1

    assert extract_data(rows, package).report.custom_metrics == {"rows": {"pages": 3}}
