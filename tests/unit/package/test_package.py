from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import PackageDamaged, UnsupportedVersion
from penstock.package import (
    DataFolder,
    FileStorage,
    JobFile,
    Manifest,
    OutputColumn,
    Package,
    Packages,
    ParsedLoadJobFileName,
    Projection,
    TableEntry,
    read_job,
)
from penstock.package.control_file import FORMAT_VERSION, encode_control
from penstock.package.job_file import FrameFileColumn
from penstock.package.projection.model import ColumnValue, FieldAccess, Level
from penstock.package.storage import as_json

if TYPE_CHECKING:
    from pathlib import Path

NAME = "items__tags.5c1c2f0d11.0.reference"
PROJECTION = Projection(
    levels=(
        Level(table="items"),
        Level(table="items__tags", lists=((FieldAccess(path=("a", "tags")), None),)),
    ),
    columns=(
        OutputColumn(
            name="value",
            sql_type="STRING",
            values=(ColumnValue(at=FieldAccess(), stored="tagged", kind="text", to="text"),),
        ),
    ),
    is_root=False,
)
MANIFEST = Manifest(
    load_id="17.5",
    sequence=1,
    pipeline_name="shop",
    dataset_name="lake",
    schema_name="shop",
    tables=(TableEntry(table="items", job="items.x.0.reference", write_disposition="append"),),
    schema_before=None,
    schema={"name": "shop", "tables": {"b": {}, "a": {"columns": {"ü": {}}}}},
    state={"_state_version": 1, "sources": {}},
)


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    return Packages.at(str(tmp_path))


def job(package: Package) -> JobFile:
    return JobFile(
        name=ParsedLoadJobFileName.parse(NAME),
        load_id=package.load_id,
        package_path=package.path,
        data=DataFolder(path="data/normalized/x", files=3, bytes=40, digest="d"),
        columns="id STRING, row STRUCT<`a`: STRUCT<`tags`: ARRAY<STRING>>>",
        projection=PROJECTION,
        rows=7,
    )


def test_the_status_is_the_latest_marker(packages: Packages) -> None:
    package = packages.package("17.5")
    seen = [package.status]
    package.mark_extracted({"resources": []})
    seen.append(package.status)
    package.mark_normalized({"tables": []})
    seen.append(package.status)
    package.complete()
    seen.append(package.status)

    assert seen == ["new", "extracted", "normalized", "loaded"]


def test_a_completed_package_is_loaded_even_without_other_markers(packages: Packages) -> None:
    package = packages.package("17.5")
    package.complete()

    assert package.status == "loaded"


def test_the_document_of_extract_round_trips(packages: Packages) -> None:
    package = packages.package("17.5")
    before = package.read_extracted()

    package.mark_extracted({"schema_name": "shop", "resources": [{"rows": 1}]})

    assert before == {}
    assert package.read_extracted() == {"schema_name": "shop", "resources": [{"rows": 1}]}


def test_finishing_deletes_the_data_and_keeps_the_rest(packages: Packages) -> None:
    package = packages.package("17.5")
    package.store.put("data/extracted/00000/part", b"rows")
    package.add_job(job(package))
    package.save_schema({"name": "shop"})

    packages.finish("17.5")

    assert package.store.names("") == ["new_jobs", "package_completed.json", "schema.json"]


def test_packages_are_found_by_status_oldest_first(packages: Packages) -> None:
    for load_id in ("1794709967.000000", "1794709965.000000", "1794709966.000000"):
        packages.package(load_id).mark_extracted({})
    packages.package("1794709966.000000").complete()

    found = packages.with_status("extracted")

    assert [package.load_id for package in found] == ["1794709965.000000", "1794709967.000000"]
    assert packages.with_status("new") == []


def test_a_job_file_round_trips(packages: Packages) -> None:
    package = packages.package("17.5")
    written = job(package)
    package.add_job(written)

    assert package.job(NAME) == written
    assert read_job(f"{package.path}/new_jobs/{NAME}") == written
    assert written.data_path == f"{package.path}/data/normalized/x"


def test_a_known_mark_of_a_load_is_not_read(packages: Packages) -> None:
    package = packages.package("17.5")
    package.add_job(job(package))
    path = f"{package.path}/new_jobs/{NAME}"

    assert read_job(path, mark=MANIFEST.mark).mark == MANIFEST.mark
    assert read_job(path).mark is None, "the package is not sealed"
    package.mark_sealed(MANIFEST.mark)
    assert read_job(path).mark == package.job(NAME).mark == MANIFEST.mark


def test_a_job_file_can_be_opened_below_a_second_folder_named_packages(tmp_path: Path) -> None:
    package = Packages.at(str(tmp_path / "packages" / "of mine")).package("17.5")
    package.add_job(job(package))

    assert read_job(f"{package.path}/new_jobs/{NAME}").package_path == package.path


def test_a_completed_job_is_opened_by_its_name(packages: Packages) -> None:
    package = packages.package("17.5")
    package.add_job(job(package))

    package.jobs.start(NAME)
    for _ in range(2):
        package.jobs.complete(NAME)

    assert package.store.names("new_jobs") == []
    assert package.store.names("completed_jobs") == [NAME]
    assert package.job(NAME).name == job(package).name


def test_an_interrupted_move_counts_as_done_and_can_be_finished(packages: Packages) -> None:
    package = packages.package("17.5")
    package.add_job(job(package))
    package.store.put(f"completed_jobs/{NAME}", encode_control(replace(job(package), rows=8).to_dict()))

    assert package.job(NAME).rows == 8
    assert len(package.jobs.repair().stale) == 1
    assert package.store.names("new_jobs") == []


def test_a_missing_job_file_is_named(packages: Packages) -> None:
    with pytest.raises(PackageDamaged, match=r"new_jobs/items__tags\.5c1c2f0d11\.0\.reference"):
        packages.package("17.5").job(NAME)


def test_a_job_file_with_several_folders_round_trips(packages: Packages) -> None:
    package = packages.package("17.5")
    first = job(package).parts[0]
    more = replace(first, data=DataFolder(path="data/normalized/y"), columns="id STRING, row BOOLEAN")

    package.add_job(replace(job(package), more=(more,)))

    assert package.job(NAME).parts == (first, more)


def test_a_job_file_over_frame_files_round_trips(packages: Packages) -> None:
    package = packages.package("17.5")
    landed = (FrameFileColumn(column="c_1", field="k0", sql_type="BIGINT"),)
    first = replace(job(package), columns="`c_1` INT", landed=landed)
    more = replace(first.parts[0], data=DataFolder(path="data/extracted/00001"))

    package.add_job(replace(first, more=(more,)))

    assert package.job(NAME).parts == (first.parts[0], more)
    assert package.job(NAME).landed == landed


def test_a_job_file_of_a_later_format_is_refused(packages: Packages) -> None:
    package = packages.package("17.5")
    package.store.put(f"new_jobs/{NAME}", as_json({**job(package).to_dict(), "format_version": 99}))

    with pytest.raises(UnsupportedVersion, match="has version 99, this release supports up to 1"):
        package.job(NAME)


@pytest.mark.parametrize(
    "part",
    ["format_version", "load_id", "data", "columns", "data_format", "rows", "projection", "landed", "more"],
)
def test_a_job_file_without_a_field_is_damaged(packages: Packages, part: str) -> None:
    package = packages.package("17.5")
    whole = {"format_version": FORMAT_VERSION, **job(package).to_dict()}
    package.store.put(f"new_jobs/{NAME}", as_json({key: whole[key] for key in whole if key != part}))

    with pytest.raises(PackageDamaged, match=f"{NAME} is damaged: .*{part}"):
        package.job(NAME)


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        "text",
        7,
        {"format_version": None},
        {"format_version": "1"},
        {"format_version": True},
        {"format_version": 0},
        {"data": "data/normalized/x"},
        {"data": {"colour": "red"}},
        {"landed": {"column": "c_1"}},
        {"landed": [{"column": "c_1", "field": 7, "sql_type": "BIGINT"}]},
        {"projection": []},
        {"projection": {"steps": []}},
        {"projection": {"steps": [], "columns": [{"colour": "red"}]}},
        {"projection": {"steps": [7], "columns": []}},
    ],
)
def test_a_job_file_with_a_wrong_field_is_damaged(packages: Packages, wrong: Any) -> None:
    package = packages.package("17.5")
    content = (
        {"format_version": FORMAT_VERSION, **job(package).to_dict(), **wrong}
        if isinstance(wrong, dict)
        else wrong
    )
    package.store.put(f"new_jobs/{NAME}", as_json(content))

    with pytest.raises(PackageDamaged):
        package.job(NAME)


def test_a_slot_is_taken_once(packages: Packages) -> None:
    sealed = [packages.seal(MANIFEST), packages.seal(replace(MANIFEST, load_id="18.0"))]

    assert sealed == [True, False]
    assert packages.last_sealed() == MANIFEST


def test_the_last_sealed_is_the_one_with_the_highest_number(packages: Packages) -> None:
    before = packages.last_sealed()
    for sequence in range(1, 13):
        packages.seal(replace(MANIFEST, load_id=f"{sequence}.0", sequence=sequence))
        packages.finish(f"{sequence}.0")

    last = packages.last_sealed()

    assert before is None
    assert last is not None
    assert last.sequence == 12


def test_a_damaged_slot_is_an_error_and_not_an_empty_one(packages: Packages) -> None:
    packages.store.put("slots/0000000001.json", b"")

    with pytest.raises(PackageDamaged):
        packages.last_sealed()


def test_packages_of_two_roots_are_independent(tmp_path: Path) -> None:
    first, second = (Packages(FileStorage(str(tmp_path / name))) for name in ("one", "two"))

    assert first.seal(MANIFEST)
    assert second.last_sealed() is None


def test_a_late_marker_does_not_restore_a_deleted_package(tmp_path: Path) -> None:
    package = Packages.at(str(tmp_path)).package("17.5")
    package.create()
    package.mark_extracted({})
    package.delete()

    package.mark_normalized({})

    assert package.status == "new"
