"""Invalid names, addresses and states are refused and change nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.package.package_model import manifest_of

from penstock.errors import (
    InvalidJobFileName,
    JobNotFound,
    LoadPackageNotFound,
    PackageDamaged,
    PenstockError,
    UnsafePath,
    UsageError,
)
from penstock.interfaces import LoadMark
from penstock.package import Packages, PackageStorage, ParsedLoadJobFileName, read_job

if TYPE_CHECKING:
    from pathlib import Path

LOAD_ID, NAME = "17.5", "items.5c1c2f0d11.0.reference"
FOLDER = f"packages/{LOAD_ID}"
HUGE = 10**400
MARK = LoadMark(pipeline_name="shop", sequence=1, load_id=LOAD_ID, manifest_hash="d")


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    return Packages.at(str(tmp_path / "root"))


JOB_NAMES = {
    "empty": ("", "1 parts"),
    "one_word": ("items", "1 parts"),
    "two_dots": ("items.x.reference", "3 parts"),
    "four_dots": ("items.x.0.reference.bak", "5 parts"),
    "gz_twice": ("items.x.0.reference.gz.gz", "6 parts"),
    "only_dots": ("...", "4 parts"),
    "up": ("..", "3 parts"),
    "no_table": (".x.0.reference", "4 parts"),
    "no_id": ("items..0.reference", "4 parts"),
    "no_format": ("items.x.0.", "4 parts"),
    "ends_in_a_folder": ("items.x.0.reference/", "1 parts"),
    "no_retries": ("items.x..reference", "4 parts"),
    "negative_retries": ("items.x.-1.reference", "'-1' is no number of retries"),
    "plus": ("items.x.+1.reference", "no number of retries"),
    "leading_zero": ("items.x.01.reference", "no number of retries"),
    "underscore": ("items.x.1_0.reference", "no number of retries"),
    "hexadecimal": ("items.x.0x1.reference", "no number of retries"),
    "space": ("items.x. 1.reference", "no number of retries"),
    "arabic_digit": ("items.x.\N{ARABIC-INDIC DIGIT THREE}.reference", "no number of retries"),
    "superscript_digit": ("items.x.\N{SUPERSCRIPT TWO}.reference", "no number of retries"),
    "full_width_digit": ("items.x.\N{FULLWIDTH DIGIT ONE}.reference", "no number of retries"),
    "ten_digits": ("items.x.1000000000.reference", "no number of retries"),
    "absurd_retries": (f"items.x.{'9' * 5000}.reference", "no number of retries"),
    "zero_byte": ("items\0.x.0.reference", "no name may have"),
    "new_line": ("items.x.0.reference\n", "no name may have"),
    "delete_character": ("items.x\x7f.0.reference", "no name may have"),
    "backslash": ("..\\items.x.0.reference", "no name may have"),
    "half_a_character": ("items\ud800.x.0.reference", "no name may have"),
    "absurd_length": (f"{'a' * 10_000}.x.0.reference", "more than 236 bytes"),
    "many_bytes": (f"{'ü' * 120}.x.0.reference", "more than 236 bytes"),
    "message": ("items.x.0.exception", "that of messages"),
}


@pytest.mark.parametrize("name", JOB_NAMES)
def test_an_invalid_job_file_name_is_refused_everywhere(packages: Packages, name: str) -> None:
    file_name, says = JOB_NAMES[name]
    packages.normalized_packages.create_package(LOAD_ID)
    storage = packages.normalized_packages
    for use in (
        ParsedLoadJobFileName.parse,
        packages.package(LOAD_ID).job,
        lambda name: storage.start_job(LOAD_ID, name),
        lambda name: storage.complete_job(LOAD_ID, name, {"rows": 1}),
        lambda name: storage.retry_job(LOAD_ID, name, "why"),
        lambda name: storage.retry_failed_job(LOAD_ID, name),
        lambda name: storage.fail_job(LOAD_ID, name, "why"),
    ):
        with pytest.raises(InvalidJobFileName, match=says):
            use(file_name)


PARTS: dict[str, tuple[tuple[str, str, int], str]] = {
    "folder_in_table": (("a/b", "x", 0), "contains a folder"),
    "up_and_out": (("../../etc/items", "x", 0), "contains a folder"),
    "absolute": (("/etc/items", "x", 0), "contains a folder"),
    "folder_in_id": (("items", "x/y", 0), "contains a folder"),
    "dot_in_table": (("a.b", "x", 0), "5 parts"),
    "negative": (("items", "x", -1), "'-1' is no number of retries"),
    "too_often": (("items", "x", 10**9), "no number of retries"),
    "empty_id": (("items", "", 0), "4 parts"),
}


@pytest.mark.parametrize("parts", PARTS)
def test_parts_of_an_invalid_name_are_refused(packages: Packages, parts: str) -> None:
    (table, file_id, retries), says = PARTS[parts]
    name = ParsedLoadJobFileName(table, file_id, retries, "reference")

    with pytest.raises(InvalidJobFileName, match=says):
        PackageStorage.build_job_file_name(table, file_id, retries)
    with pytest.raises(InvalidJobFileName, match=says):
        packages.package(LOAD_ID).jobs.add(name.file_name(), b"{}")


def test_a_job_is_not_retried_beyond_the_maximum_count(packages: Packages) -> None:
    name = "items.x.999999999.reference"
    packages.package(LOAD_ID).jobs.add(name, b"{}", "started_jobs")

    with pytest.raises(InvalidJobFileName, match="no number of retries"):
        packages.normalized_packages.retry_job(LOAD_ID, name, "why")

    assert packages.normalized_packages.list_started_jobs(LOAD_ID) == [f"{LOAD_ID}/started_jobs/{name}"]


LOAD_IDS = {
    "empty": "",
    "here": ".",
    "up": "..",
    "out": "../../etc",
    "absolute": "/etc",
    "inner_up": "17..5",
    "below": "17.5/new_jobs",
    "address": "s3://bucket/17.5",
    "backslash": "..\\17.5",
    "zero_byte": "17.5\0",
    "new_line": "17.5\n",
    "escape": "17\x1b.5",
    "space": "17 5",
    "hidden": ".finished",
    "option": "-rf",
    "absurd_length": "1" * 10_000,
    "one_too_long": "1" * 121,
    "arabic_digits": "\N{ARABIC-INDIC DIGIT ONE}\N{ARABIC-INDIC DIGIT SEVEN}.5",
    "half_a_character": "17\ud800",
    "tilde": "~",
    "star": "*",
}


@pytest.mark.parametrize("load_id", LOAD_IDS)
def test_an_invalid_load_id_is_refused_everywhere(packages: Packages, load_id: str) -> None:
    storage = packages.normalized_packages
    for use in (
        packages.package,
        packages.finish,
        storage.create_package,
        storage.delete_package,
        storage.get_load_package_info,
        storage.record_finished,
        lambda load_id: storage.start_job(load_id, NAME),
        lambda load_id: storage.import_job(load_id, NAME),
    ):
        with pytest.raises(UnsafePath, match="cannot be a load id") as caught:
            use(LOAD_IDS[load_id])
        assert len(caught.value.message) < 600

    assert packages.store.names("") == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("../x", "leads out"),
        ("a/../../x", "leads out"),
        ("/etc/passwd", "leads out"),
        ("a//b", "empty part"),
        ("a/", "empty part"),
        ("./a", "leads out"),
        ("a\\b", "backslash"),
        ("a\0", "control character"),
        ("a\x7f", "control character"),
        ("\ud800", "half of a character"),
        ("ü" * 128, "longer than 255 bytes"),
        ("a/" * 450 + "a", "longer than 900 characters"),
    ],
    ids=ascii,
)
def test_a_name_that_leaves_its_storage_is_refused_everywhere(
    packages: Packages, name: str, says: str
) -> None:
    store = packages.store
    for use in (
        store.read,
        store.exists,
        store.names,
        store.delete,
        store.subfolder,
        store.path,
        store.open_new,
    ):
        with pytest.raises(UnsafePath, match=says):
            use(name)
    with pytest.raises(UnsafePath, match=says):
        store.put(name, b"")
    with pytest.raises(UnsafePath, match=says):
        store.move("a", name)


@pytest.mark.parametrize(
    ("path", "error", "says"),
    [
        ("", UsageError, "is not the address of a job file"),
        (NAME, UsageError, "is not the address of a job file"),
        (f"new_jobs/{NAME}", UsageError, "is not the address of a job file"),
        (f"p/../{NAME}", UnsafePath, "leads out"),
        (f"p//{NAME}", UnsafePath, "leads out"),
        ("p/new_jobs/", UnsafePath, "leads out"),
        (f"p/new_jobs/{NAME}\0", UnsafePath, "control character"),
        (f"p/new_jobs/{NAME}", PackageDamaged, "the job file does not exist"),
    ],
    ids=ascii,
)
def test_an_address_that_is_not_of_a_job_is_refused(path: str, error: type[PenstockError], says: str) -> None:
    with pytest.raises(error, match=says):
        read_job(path)


@pytest.mark.parametrize("job", ["../../x/items.x.0.reference", "/etc/items.x.0.reference"])
def test_a_job_is_never_opened_outside_its_package(packages: Packages, job: str) -> None:
    with pytest.raises(UnsafePath, match="leads out"):
        packages.package(LOAD_ID).job(job)


@pytest.mark.parametrize("state", ["new_jobs", "started_jobs", "failed_jobs", "completed_jobs"])
def test_a_file_in_place_of_a_job_folder_is_damage(packages: Packages, state: str) -> None:
    packages.normalized_packages.create_package(LOAD_ID)
    packages.package(LOAD_ID).store.put(state, b"")

    with pytest.raises(PackageDamaged, match=f"{state} is damaged: a file exists where a folder is expected"):
        packages.normalized_packages.list_new_jobs(LOAD_ID)
    with pytest.raises(PackageDamaged, match="a file exists where a folder is expected"):
        packages.package(LOAD_ID).store.put(f"{state}/{NAME}", b"")


@pytest.mark.parametrize("state", ["new_jobs", "completed_jobs"])
def test_a_linked_job_folder_is_neither_listed_nor_written_nor_deleted(
    packages: Packages, state: str, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / NAME).write_bytes(b"{}")
    packages.normalized_packages.create_package(LOAD_ID)
    (tmp_path / "root" / FOLDER / state).symlink_to(outside)
    store = packages.package(LOAD_ID).store

    for use in (store.entries, store.exists):
        with pytest.raises(PackageDamaged, match="a link leads out of its folder"):
            use(state)
    for change in (lambda name: store.put(name, b"new"), store.delete, store.open_new):
        with pytest.raises(PackageDamaged, match="a link leads out of its folder"):
            change(f"{state}/{NAME}")
    packages.normalized_packages.delete_package(LOAD_ID)

    assert (outside / NAME).read_bytes() == b"{}"
    assert not (tmp_path / "root" / FOLDER).exists()


def test_a_package_that_is_a_link_is_not_listed(packages: Packages, tmp_path: Path) -> None:
    packages.normalized_packages.create_package(LOAD_ID)
    (tmp_path / "root" / "packages" / "18.0").symlink_to(tmp_path / "root" / FOLDER)

    assert packages.normalized_packages.list_packages() == [LOAD_ID]


def test_a_root_may_be_a_link(packages: Packages, tmp_path: Path) -> None:
    packages.normalized_packages.create_package(LOAD_ID)
    (tmp_path / "alias").symlink_to(tmp_path / "root")

    assert Packages.at(str(tmp_path / "alias")).normalized_packages.list_packages() == [LOAD_ID]


@pytest.mark.parametrize("sequence", [1, 3, HUGE])
def test_a_manifest_in_the_slot_of_another_number_is_damage(packages: Packages, sequence: int) -> None:
    packages.store.put("slots/0000000002.json", manifest_of(LOAD_ID, sequence).to_json())

    with pytest.raises(PackageDamaged, match=r"0000000002.json is damaged: its sequence is"):
        packages.slots.read(2)


@pytest.mark.parametrize("sequence", [2, 0, -1, HUGE % 10**30])
def test_a_package_with_the_mark_of_another_slot_is_damaged_and_kept(
    packages: Packages, sequence: int
) -> None:
    packages.normalized_packages.create_package(LOAD_ID)
    packages.slots.seal(manifest_of(LOAD_ID, 1))
    packages.package(LOAD_ID).mark_sealed(replace(MARK, sequence=sequence))

    with pytest.raises(PackageDamaged, match=f"is not in slot {sequence}"):
        packages.drop(LOAD_ID)

    assert packages.package(LOAD_ID).exists()


IMPORTS: dict[str, tuple[str, type[PenstockError], str]] = {
    "not_there": (f"in/{NAME}", UsageError, "no job file exists at"),
    "no_folder": (f"nowhere/{NAME}", UsageError, "no job file exists at"),
    "no_job_name": ("in/rows.parquet", InvalidJobFileName, "2 parts"),
    "not_there_and_no_name": ("in/missing", InvalidJobFileName, "1 parts"),
    "folder": ("in/", InvalidJobFileName, "1 parts"),
    "up": ("in/..", InvalidJobFileName, "3 parts"),
    "zero_byte": (f"in/\0{NAME}", InvalidJobFileName, "no name may have"),
    "message": ("in/items.x.0.exception", InvalidJobFileName, "that of messages"),
    "a_folder_with_a_jobs_name": ("in/folder.x.0.reference", PackageDamaged, "a folder where a file is"),
    "a_link": ("in/link.x.0.reference", PackageDamaged, "a link leads out"),
}


@pytest.mark.parametrize("case", IMPORTS)
def test_a_file_that_is_not_a_job_is_not_imported_and_kept(
    packages: Packages, case: str, tmp_path: Path
) -> None:
    path, error, says = IMPORTS[case]
    packages.normalized_packages.create_package(LOAD_ID)
    (tmp_path / "in" / "folder.x.0.reference").mkdir(parents=True)
    (tmp_path / "in" / "rows.parquet").write_bytes(b"rows")
    (tmp_path / "in" / "link.x.0.reference").symlink_to(tmp_path / "in" / "rows.parquet")
    before = sorted((tmp_path / "in").iterdir())

    with pytest.raises(error, match=says):
        packages.normalized_packages.import_job(LOAD_ID, f"{tmp_path}/{path}")

    assert sorted((tmp_path / "in").iterdir()) == before
    assert packages.normalized_packages.list_new_jobs(LOAD_ID) == []


@pytest.mark.parametrize("state", ["", "new", "NEW_JOBS", "../new_jobs", "data", "new_jobs/", None])
def test_an_unknown_job_state_is_refused(packages: Packages, state: Any, tmp_path: Path) -> None:
    packages.normalized_packages.create_package(LOAD_ID)
    (tmp_path / NAME).write_bytes(b"{}")

    with pytest.raises(UsageError, match="is no state of a job") as caught:
        packages.normalized_packages.import_job(LOAD_ID, str(tmp_path / NAME), state)

    assert "completed_jobs" in caught.value.hint
    assert (tmp_path / NAME).exists()


@pytest.mark.parametrize("status", ["", "new", "normalized", "LOADED", "done"])
def test_a_package_has_no_other_final_status(packages: Packages, status: Any) -> None:
    packages.normalized_packages.create_package(LOAD_ID)

    with pytest.raises(UsageError, match="a package cannot end as"):
        packages.normalized_packages.complete_loading_package(LOAD_ID, status)

    assert packages.package(LOAD_ID).status == "normalized"


def test_missing_jobs_and_packages_are_named(packages: Packages) -> None:
    with pytest.raises(LoadPackageNotFound, match=f"package {LOAD_ID} does not exist"):
        packages.normalized_packages.list_new_jobs(LOAD_ID)
    with pytest.raises(JobNotFound, match=f"new_jobs/{NAME}"):
        packages.normalized_packages.start_job(LOAD_ID, NAME)


def test_foreign_files_are_not_listed_as_jobs(packages: Packages) -> None:
    packages.normalized_packages.create_package(LOAD_ID)
    for name in (
        "notes.txt",
        "items.x.\N{ARABIC-INDIC DIGIT ONE}.reference",
        "items.x.0.reference.bak",
        ".DS_Store",
    ):
        packages.package(LOAD_ID).store.put(f"new_jobs/{name}", b"")

    assert packages.normalized_packages.list_new_jobs(LOAD_ID) == []
    assert len(packages.package(LOAD_ID).jobs.list_jobs().unknown) == 4
