"""Invalid names and calls, files in place of folders, and links."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.package.package_model import manifest_of

from penstock.errors import (
    InternalError,
    InvalidJobFileName,
    JobNotFound,
    LoadPackageCancelled,
    LoadPackageNotFound,
    PackageDamaged,
    UnsafePath,
    UsageError,
)
from penstock.package import FileStorage, Packages, PackageStorage, ParsedLoadJobFileName, read_job
from penstock.package.control_file import encode_control
from penstock.package.local_files import LocalFiles
from penstock.package.storage import as_json

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB = "items.5c1c2f0d11.0.reference"


@pytest.fixture
def storage(tmp_path: Path) -> PackageStorage:
    made = PackageStorage(FileStorage(str(tmp_path / "packages")), "normalized")
    made.create_package("17.5")
    made.package("17.5").jobs.add(JOB, b"{}")
    return made


# --- names

BAD_NAMES = {
    "up": "../a",
    "up in the middle": "a/../../b",
    "here": "./a",
    "root": "/etc/passwd",
    "double slash": "a//b",
    "slash at the end": "a/",
    "nul": "a\x00b",
    "newline": "a\nb",
    "tab": "a\tb",
    "escape": "a\x1bb",
    "delete": "a\x7fb",
    "backslash": "..\\a",
    "drive": "C:\\a",
    "half a character": "a\ud800b",
    "long part": "a" * 256,
    "long part in bytes": "\u00fc" * 128,
    "long path": "/".join(["a" * 100] * 10),
}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
@pytest.mark.parametrize("call", ["read", "exists", "delete", "names", "path", "subfolder", "open_new"])
def test_a_name_cannot_leave_its_storage(tmp_path: Path, name: str, call: str) -> None:
    (tmp_path / "a").write_bytes(b"mine")
    storage = FileStorage(str(tmp_path / "inside"))

    with pytest.raises(UnsafePath):
        getattr(storage, call)(name)

    assert (tmp_path / "a").read_bytes() == b"mine"


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
def test_a_refused_name_writes_nothing(tmp_path: Path, name: str) -> None:
    storage = FileStorage(str(tmp_path / "inside"))
    for write in (
        lambda: storage.put(name, b""),
        lambda: storage.put_if_absent(name, b""),
        lambda: storage.move("a", name),
    ):
        with pytest.raises(UnsafePath):
            write()

    assert list(tmp_path.iterdir()) == []


GOOD_NAMES = [
    "\u202eevil",
    "con",
    "nul.txt",
    "a b",
    "a*?[x]",
    "%2e%2e",
    "~",
    "-rf",
    "\u00fc",
    "\U0001f600",
    "$HOME",
]


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_an_unusual_but_valid_name_round_trips(tmp_path: Path, name: str) -> None:
    for root in (str(tmp_path), f"memory://{tmp_path.name}"):
        storage = FileStorage(root)
        storage.put(f"folder/{name}", b"1")

        assert (storage.names("folder"), storage.read(f"folder/{name}")) == ([name], b"1")
        storage.delete("folder")


BAD_IDS = [
    "",
    ".",
    "..",
    "a/b",
    "../a",
    ".hidden",
    "a\x00",
    "a b",
    "x" * 121,
    "a..b",
    "\u0661",
    "a\n",
    "-a",
    "C:",
]


@pytest.mark.parametrize("load_id", BAD_IDS)
def test_an_invalid_load_id_is_refused(storage: PackageStorage, load_id: str) -> None:
    calls: list[Any] = [storage.package, storage.create_package, storage.delete_package, storage.schema_name]
    for call in calls:
        with pytest.raises(UnsafePath):
            call(load_id)

    assert storage.list_packages() == ["17.5"]


BAD_JOBS = {
    "empty": "",
    "one part": "items",
    "three parts": "items.x.0",
    "no number": "items.x.zero.reference",
    "negative": "items.x.-1.reference",
    "leading zero": "items.x.007.reference",
    "other digits": "items.x.\u0663.reference",
    "fraction": "items.x.1e3.reference",
    "many digits": f"items.x.{'9' * 10}.reference",
    "five parts": "items.x.0.parquet.zip",
    "six parts": "items.x.0.parquet.gz.gz",
    "no table": ".x.0.reference",
    "no format": "items.x.0.",
    "message": "items.x.0.exception",
    "dots": "../../../x.y.0.z/..",
    "nul": "items\x00.x.0.reference",
    "newline": "items\n.x.0.reference",
    "backslash": "a\\b.x.0.reference",
    "half a character": "it\udcffems.x.0.reference",
    "long": f"{'t' * 250}.x.0.reference",
    "long in bytes": f"{chr(0xFC) * 120}.x.0.reference",
}


@pytest.mark.parametrize("name", BAD_JOBS.values(), ids=BAD_JOBS)
def test_every_call_refuses_an_invalid_job_name(storage: PackageStorage, tmp_path: Path, name: str) -> None:
    calls: list[Any] = [
        storage.start_job,
        storage.complete_job,
        storage.retry_job,
        storage.fail_job,
        storage.retry_failed_job,
        lambda load_id, job: storage.package(load_id).jobs.add(job, b"{}"),
        lambda load_id, job: storage.package(load_id).job(job),
    ]
    for call in calls:
        with pytest.raises(InvalidJobFileName):
            call("17.5", name)

    assert storage.list_new_jobs("17.5") == [f"17.5/new_jobs/{JOB}"]


def test_a_foreign_file_in_a_job_folder_is_ignored_and_kept(storage: PackageStorage) -> None:
    store = storage.package("17.5").store
    store.put("new_jobs/README", b"hello")
    store.put("new_jobs/items.x.007.reference", b"{}")

    assert storage.list_new_jobs("17.5") == [f"17.5/new_jobs/{JOB}"]
    assert storage.package("17.5").jobs.list_jobs().unknown == (
        "new_jobs/README",
        "new_jobs/items.x.007.reference",
    )


@pytest.mark.parametrize("retries", [9, 99, 99_999_999])
def test_the_longest_name_of_a_job_can_be_retried(storage: PackageStorage, retries: int) -> None:
    name = ParsedLoadJobFileName("t" * 223, "x", retries, "reference").file_name()
    storage.package("17.5").jobs.add(name, b"{}")
    storage.start_job("17.5", name)

    again = storage.retry_job("17.5", name, "timed out")

    assert ParsedLoadJobFileName.parse(again).retry_count == retries + 1
    assert f"17.5/new_jobs/{again}" in storage.list_new_jobs("17.5")
    storage.start_job("17.5", again)
    storage.fail_job("17.5", again, "too often")
    assert storage.list_failed_jobs("17.5") == [f"17.5/failed_jobs/{again}"]


def test_a_job_at_the_maximum_retry_count_is_not_moved(storage: PackageStorage) -> None:
    name = "items.x.999999999.reference"
    storage.package("17.5").jobs.add(name, b"{}")
    storage.start_job("17.5", name)

    with pytest.raises(InvalidJobFileName):
        storage.retry_job("17.5", name, "timed out")

    assert storage.list_started_jobs("17.5") == [f"17.5/started_jobs/{name}"]


# --- calls


def test_reading_or_moving_jobs_never_creates_a_package(
    storage: PackageStorage,
) -> None:
    calls: list[Any] = [
        lambda: storage.list_new_jobs("18.0"),
        lambda: storage.get_load_package_info("18.0"),
        lambda: storage.save_load_package_state("18.0", {}),
        lambda: storage.save_schema_updates("18.0", {}),
        lambda: storage.complete_loading_package("18.0", "loaded"),
        lambda: storage.remove_completed_jobs("18.0"),
        lambda: storage.delete_package("18.0"),
        lambda: storage.cancel("18.0"),
        lambda: storage.import_job("18.0", f"/{JOB}"),
    ]
    for call in calls:
        with pytest.raises(LoadPackageNotFound):
            call()
    for call in (
        lambda: storage.start_job("18.0", JOB),
        lambda: storage.complete_job("18.0", JOB, {"rows": 1}),
        lambda: storage.fail_job("18.0", JOB, "because"),
        lambda: storage.retry_job("18.0", JOB, "because"),
    ):
        with pytest.raises(JobNotFound):
            call()

    assert not storage.package("18.0").exists()
    assert storage.list_packages() == ["17.5"]


@pytest.mark.parametrize("status", ["new", "extracted", "normalized", "done", "", None])
def test_a_package_ends_only_as_loaded_or_aborted(storage: PackageStorage, status: Any) -> None:
    with pytest.raises(UsageError):
        storage.complete_loading_package("17.5", status)

    assert not storage.is_package_completed("17.5")


@pytest.mark.parametrize("state", ["", "new", "data", "../elsewhere", None])
def test_a_job_is_imported_only_into_job_folders(storage: PackageStorage, tmp_path: Path, state: Any) -> None:
    (tmp_path / "tags.x.0.parquet").write_bytes(b"PAR1")

    with pytest.raises(UsageError):
        storage.import_job("17.5", str(tmp_path / "tags.x.0.parquet"), state)

    assert (tmp_path / "tags.x.0.parquet").exists()


@pytest.mark.parametrize("name", ["tags.parquet", "nothing.x.0.parquet"])
def test_a_file_that_cannot_be_imported_is_kept(storage: PackageStorage, tmp_path: Path, name: str) -> None:
    (tmp_path / "tags.parquet").write_bytes(b"PAR1")

    with pytest.raises(UsageError):
        storage.import_job("17.5", str(tmp_path / name))

    assert (tmp_path / "tags.parquet").exists()
    assert storage.list_new_jobs("17.5") == [f"17.5/new_jobs/{JOB}"]


@pytest.mark.parametrize("path", ["", "x", "a/b", JOB, f"new_jobs/{JOB}"])
def test_an_address_that_is_not_a_job_file_is_named(path: str) -> None:
    with pytest.raises(UsageError, match="not the address of a job file"):
        read_job(path)


@pytest.mark.parametrize(
    "result",
    [{"at": object()}, {"x": b"1"}, {"x": {1, 2}}, {"x": "\ud800"}, {("a",): 1}],
    ids=["object", "bytes", "set", "half a character", "tuple as key"],
)
def test_a_value_without_json_form_is_refused_before_any_move(
    storage: PackageStorage, result: dict[Any, Any]
) -> None:
    storage.start_job("17.5", JOB)

    with pytest.raises(UsageError):
        storage.complete_job("17.5", JOB, result)

    assert storage.list_started_jobs("17.5") == [f"17.5/started_jobs/{JOB}"]


@pytest.mark.parametrize("value", [object(), {1, 2}, "\ud800", 2**70])
def test_a_state_that_cannot_be_written_leaves_the_old_one(storage: PackageStorage, value: Any) -> None:
    before = storage.get_load_package_state("17.5")

    with pytest.raises(UsageError):
        storage.save_load_package_state("17.5", {**before, "destination_state": {"x": value}})

    assert storage.get_load_package_state("17.5") == before


def test_a_too_deeply_nested_control_file_is_not_written() -> None:
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(UsageError):
        as_json(endless)


@pytest.mark.parametrize(
    "message", ["half \ud800 a character", "\x00\x1b[31m", "", "x" * 100_000, "\u202eabc"]
)
def test_a_failed_job_can_have_any_message(storage: PackageStorage, message: str) -> None:
    storage.start_job("17.5", JOB)
    storage.fail_job("17.5", JOB, message)

    kept = storage.get_job_failed_message("17.5", ParsedLoadJobFileName.parse(JOB))

    assert kept == message.encode(errors="backslashreplace").decode()


@pytest.mark.parametrize("sequence", [0, -1, 10**10, 10**30])
def test_an_invalid_sequence_is_not_sealed(tmp_path: Path, sequence: int) -> None:
    packages = Packages.at(str(tmp_path))

    with pytest.raises(InternalError, match="cannot be the number of a load"):
        packages.seal(manifest_of("2.0", sequence))

    assert packages.slots.last() == 0


def test_work_on_a_cancelled_package_stops(storage: PackageStorage) -> None:
    storage.raise_if_cancelled("17.5")
    storage.cancel("17.5")

    with pytest.raises(LoadPackageCancelled):
        storage.raise_if_cancelled("17.5")


# --- files, folders and links


def test_a_file_in_place_of_a_job_folder_is_an_error(
    storage: PackageStorage,
) -> None:
    folder = Path(storage.package("17.5").path) / "started_jobs"
    folder.write_bytes(b"not a folder")

    with pytest.raises(PackageDamaged, match="a file exists where a folder is expected"):
        storage.list_started_jobs("17.5")
    with pytest.raises(PackageDamaged, match="a file exists where a folder is expected"):
        storage.start_job("17.5", JOB)
    with pytest.raises(PackageDamaged):
        storage.package("17.5").store.put(f"started_jobs/{JOB}", b"")
    with pytest.raises(PackageDamaged):
        storage.package("17.5").store.put_if_absent(f"started_jobs/{JOB}", b"")


def test_a_folder_in_place_of_a_file_is_an_error_without_leftovers(tmp_path: Path) -> None:
    storage = FileStorage(str(tmp_path))
    storage.put("taken/inside", b"")

    with pytest.raises(PackageDamaged):
        storage.put("taken", b"")
    with pytest.raises(PackageDamaged):
        storage.read("taken")

    assert [path.name for path in tmp_path.iterdir()] == ["taken"], "a file that was being written is left"


def test_foreign_entries_among_packages_are_ignored(storage: PackageStorage, tmp_path: Path) -> None:
    for name in ("README.md", "notes"):
        (tmp_path / "packages" / name).write_text("hello")
    for name in ("lost+found", ".git", "a b", "empty"):
        (tmp_path / "packages" / name).mkdir()

    assert storage.list_packages() == ["17.5"]
    assert storage.list_packages_with_status("new") == []
    assert storage.list_packages_with_status("loaded") == []


def test_deleting_a_package_does_not_follow_links(storage: PackageStorage, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"1")
    package = Path(storage.package("17.5").path)
    (package / "data").symlink_to(outside)
    (package / "new_jobs" / "tags.x.0.parquet").symlink_to(outside / "precious")
    (package / "loop").symlink_to(package / "loop")
    (package / "nowhere").symlink_to(tmp_path / "nowhere")

    jobs = storage.list_new_jobs("17.5")
    storage.package("17.5").remove_data()
    storage.delete_package("17.5")

    assert len(jobs) == 2, "a link that leads nowhere hides the rest of the folder"
    assert (outside / "precious").read_bytes() == b"1"
    assert not package.exists()


def test_a_linked_package_is_not_listed_and_deleting_it_deletes_the_link(
    storage: PackageStorage, tmp_path: Path
) -> None:
    elsewhere = PackageStorage(FileStorage(str(tmp_path / "elsewhere")), "normalized")
    elsewhere.create_package("18.0")
    (tmp_path / "packages" / "18.0").symlink_to(tmp_path / "elsewhere" / "18.0")

    listed = storage.list_packages()
    storage.storage.delete("18.0")

    assert listed == ["17.5"]
    assert elsewhere.list_packages() == ["18.0"]


def test_an_oversized_control_file_is_not_read_into_memory(
    storage: PackageStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.package.local_files.MAX_CONTROL_FILE_BYTES", 1_000_000)
    monkeypatch.setattr("penstock.package.storage.MAX_CONTROL_FILE_BYTES", 1_000_000)
    package = Path(storage.package("17.5").path)
    (package / "extracted.json").write_bytes(b" " * 1_000_001)

    with pytest.raises(PackageDamaged, match="more than 1000000 bytes"):
        storage.package("17.5").read_extracted()


def test_a_file_that_moves_away_during_a_listing_does_not_hide_the_others(
    storage: PackageStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = storage.package("17.5")
    package.jobs.add("tags.x.0.reference", b"{}")
    real = os.scandir

    @contextmanager
    def scandir(folder: str) -> Iterator[list[os.DirEntry[str]]]:
        with real(folder) as listing:
            found = list(listing)
        # Another process starts the first job between the listing and the look at it.
        for entry in found:
            if entry.name == JOB and folder.endswith("new_jobs"):
                (Path(package.path) / "started_jobs").mkdir()
                Path(entry.path).rename(Path(package.path) / "started_jobs" / JOB)
        yield found

    monkeypatch.setattr(os, "scandir", scandir)

    assert sorted(job.path for job in package.jobs.list_jobs().jobs.values()) == [
        "new_jobs/tags.x.0.reference",
        f"started_jobs/{JOB}",
    ]


def test_a_lost_reply_of_a_network_disk_is_recovered(tmp_path: Path) -> None:
    """Create the link, but report an error."""
    real = os.link

    def link(source: Any, target: Any) -> None:
        real(source, target)
        raise FileExistsError(target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "link", link)
        made = LocalFiles().put_if_absent(str(tmp_path / "slot"), b"mine")

    assert made
    assert not LocalFiles().put_if_absent(str(tmp_path / "slot"), b"other")
    assert [path.name for path in tmp_path.iterdir()] == ["slot"]


def test_a_full_disk_leaves_only_the_old_file(tmp_path: Path) -> None:
    storage = FileStorage(str(tmp_path))
    storage.put("a", b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            storage.put("a", encode_control({"new": True}))

    assert storage.read("a") == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
