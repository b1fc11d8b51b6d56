from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from penstock.errors import ResourceFailed, RowNotEncodable, UsageError
from penstock.extract.plan import Rotation
from penstock.extract.run import extract
from penstock.interfaces import Resource
from penstock.package import Package, Packages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Packages.at(str(tmp_path)).package("17.5")


def resource(rows: Any, name: str = "items") -> Resource:
    return Resource(name=name, table_name=name, rows=rows)


def texts(package: Package, folder: str) -> list[str]:
    found: list[str] = pq.read_table(f"{package.path}/{folder}")["row"].to_pylist()
    return found


def test_every_resource_gets_a_folder_and_the_package_is_marked(package: Package) -> None:
    info = extract(
        [
            resource(lambda: [{"a": 1}, {"a": 2}]),
            resource(lambda: iter(()), "none"),
            resource(lambda: [7], "n"),
        ],
        package,
        schema_name="shop",
    )

    assert texts(package, "data/extracted/00000") == ['{"a":1}', '{"a":2}']
    assert texts(package, "data/extracted/00002") == ['{"value":7}']
    assert package.status == "extracted"
    assert package.extracted()["schema_name"] == "shop"
    assert [found["rows"] for found in package.extracted()["resources"]] == [2, 0, 1]
    assert (info.rows, info.load_id) == (3, "17.5")
    assert str(info).splitlines()[1:] == ["- items: 2 rows", "- none: 0 rows", "- n: 1 rows"]


@pytest.mark.parametrize("resources", [[], [resource(list)], [resource(list), resource(lambda: [[]], "b")]])
def test_a_package_without_a_single_row_is_not_marked(package: Package, resources: list[Resource]) -> None:
    info = extract(resources, package, schema_name="shop")

    assert (info.rows, len(info.resources)) == (0, len(resources))
    assert package.status == "new"
    assert package.extracted() == {}


def test_a_list_that_is_yielded_is_a_page_of_rows(package: Package) -> None:
    def pages() -> Iterator[Any]:
        yield [{"a": 1}, {"a": 2}]
        yield {"a": 3}
        yield []

    info = extract([resource(pages)], package, schema_name="shop")

    assert info.rows == 3


def test_an_error_of_the_user_is_wrapped_once_and_the_package_stays_unmarked(package: Package) -> None:
    def rows() -> Iterator[Any]:
        yield [{"a": 1}, {"a": 2}]
        raise KeyError("id")

    with pytest.raises(ResourceFailed) as caught:
        extract([resource(rows)], package, schema_name="shop")

    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.message == "items raised KeyError('id') after 2 rows"
    assert package.status == "new"


def test_an_error_of_ours_inside_a_generator_is_not_wrapped(package: Package) -> None:
    def rows() -> Iterator[Any]:
        yield 1
        raise UsageError("no such page")

    with pytest.raises(UsageError, match="no such page"):
        extract([resource(rows)], package, schema_name="shop")


def test_a_row_that_cannot_be_written_is_told_by_its_number(package: Package) -> None:
    with pytest.raises(RowNotEncodable) as caught:
        extract([resource(lambda: [{"a": 1}, {"a": object()}])], package, schema_name="shop")

    assert caught.value.message.startswith("row 1 of items cannot be written: ")


def test_rows_are_on_disk_before_the_last_one_is_asked_for(package: Package) -> None:
    seen: list[int] = []

    def rows() -> Iterator[dict[str, int]]:
        for number in range(10):
            seen.append(len(package.store.names("data/extracted/00000")))
            yield {"n": number}

    extract([resource(rows)], package, schema_name="shop", rotation=Rotation(row_group_rows=2, file_bytes=1))

    assert seen == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
