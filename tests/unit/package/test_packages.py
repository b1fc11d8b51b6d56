"""The order of packages: seal, decision, finish, retention and drop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.package.package_model import manifest_of

from penstock.errors import LoadIsDecided, LoadPackageAborted, PackageDamaged, StorageNotReachable
from penstock.package import FileStorage, Packages, Retention
from penstock.package.object_files import ObjectFiles

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO = "1.0", "2.0"


@pytest.fixture(params=["disk", "memory"])
def packages(request: pytest.FixtureRequest, tmp_path: Path) -> Packages:
    found = Packages.at(str(tmp_path) if request.param == "disk" else f"memory://{tmp_path.name}")
    for load_id in (ONE, TWO):
        found.normalized_packages.create_package(load_id)
        found.package(load_id).store.put("data/part", b"rows")
    return found


def load(packages: Packages, load_id: str, sequence: int) -> None:
    assert packages.seal(manifest_of(load_id, sequence))
    packages.commit(manifest_of(load_id, sequence))
    packages.finish(load_id)


def test_a_load_is_not_sealed_while_the_previous_one_is_pending(packages: Packages) -> None:
    packages.seal(manifest_of(ONE, 1))

    assert packages.seal(manifest_of(TWO, 2)) is False

    packages.commit(manifest_of(ONE, 1))
    assert packages.seal(manifest_of(TWO, 2)) is False, "committed is not finished: it is rolled forward"
    packages.finish(ONE)
    assert packages.seal(manifest_of(TWO, 2)) is True


def test_a_load_is_not_sealed_after_one_that_the_caller_does_not_know(packages: Packages) -> None:
    load(packages, ONE, 1)

    # Numbers may have gaps where slots were lost.
    assert packages.seal(manifest_of(TWO, 3), after=0) is False
    assert packages.slots.last() == 1
    assert packages.seal(manifest_of(TWO, 3), after=1) is True
    assert packages.seal(manifest_of(TWO, 3), after=1) is True


def test_a_second_seal_of_the_same_content_is_idempotent(packages: Packages) -> None:
    first = packages.seal(manifest_of(ONE, 1))

    assert (first, packages.seal(manifest_of(ONE, 1))) == (True, True)
    assert packages.seal(replace(manifest_of(ONE, 1), state={"other": True})) is False
    assert packages.seal(manifest_of(TWO, 1)) is False


def test_a_package_takes_only_one_number(packages: Packages) -> None:
    packages.seal(manifest_of(ONE, 1))
    packages.abort(manifest_of(ONE, 1))

    assert packages.seal(manifest_of(ONE, 2)) is False
    assert packages.slots.last() == 1


def test_numbers_continue_from_the_ledger_when_slots_are_lost(packages: Packages) -> None:
    assert packages.seal(manifest_of(ONE, 8)) is True
    packages.finish(ONE)

    assert packages.seal(manifest_of(TWO, 7)) is False, "an old number is not won though its slot is empty"
    assert packages.seal(manifest_of(TWO, 12)) is True, "the ledger may know more than the slots"
    assert packages.slots.last() == 12


def test_the_first_of_commit_and_abort_counts(packages: Packages) -> None:
    packages.seal(manifest_of(ONE, 1))
    packages.commit(manifest_of(ONE, 1))
    with pytest.raises(LoadIsDecided):
        packages.abort(manifest_of(ONE, 1))
    packages.commit(manifest_of(ONE, 1))
    packages.finish(ONE)

    packages.seal(manifest_of(TWO, 2))
    packages.abort(manifest_of(TWO, 2))
    with pytest.raises(LoadPackageAborted):
        packages.commit(manifest_of(TWO, 2))

    assert [packages.package(load_id).status for load_id in (ONE, TWO)] == ["loaded", "aborted"]


def test_a_slot_without_a_mark_is_rolled_forward(packages: Packages) -> None:
    packages.slots.seal(manifest_of(ONE, 1))

    assert packages.find_manifest(ONE) == manifest_of(ONE, 1)
    assert packages.pending_load() == manifest_of(ONE, 1)
    assert packages.package(ONE).load_mark() == manifest_of(ONE, 1).mark
    assert packages.drop(ONE) == "aborted", "it is in a slot, so it is not simply deleted"


def test_a_sealed_package_deleted_by_hand_is_aborted(packages: Packages) -> None:
    packages.seal(manifest_of(ONE, 1))
    packages.package(ONE).delete()

    assert packages.pending_load() is None
    with pytest.raises(LoadPackageAborted):
        packages.commit(manifest_of(ONE, 1))
    assert not packages.package(ONE).exists()
    assert packages.seal(manifest_of(TWO, 2)) is True


def test_unfinished_packages_are_pending_or_incomplete(packages: Packages) -> None:
    load(packages, ONE, 1)
    for load_id in ("5.0", "6.0", "7.0"):
        packages.package(load_id).create()
    packages.package("6.0").mark_extracted({})
    packages.package("7.0").mark_extracted({})
    packages.package("7.0").mark_normalized({})
    packages.package("7.0").complete("aborted")

    pending, incomplete = packages.unfinished_packages()

    assert [package.load_id for package in pending] == [TWO, "6.0"]
    assert [package.load_id for package in incomplete] == ["5.0"]


def test_the_id_of_a_new_package_is_after_those_of_clocks_ahead(packages: Packages) -> None:
    for load_id in ("4102444800.5", "4102444700.5"):
        packages.package(load_id).create()
    made = packages.new_package()
    made.create()

    assert "4102444800.5" < made.load_id < packages.new_package().load_id


def test_data_is_deleted_unless_retained_or_a_job_has_failed(packages: Packages) -> None:
    load(packages, ONE, 1)
    packages.seal(manifest_of(TWO, 2))
    packages.package(TWO).jobs.add("items.x.0.reference", b"{}", "started_jobs")
    packages.package(TWO).jobs.fail("items.x.0.reference", "bad")
    packages.commit(manifest_of(TWO, 2))
    packages.finish(TWO)
    packages.normalized_packages.create_package("3.0")
    packages.package("3.0").store.put("data/part", b"rows")
    packages.finish("3.0", retention=Retention(data=True))

    kept = {load_id: packages.package(load_id).store.exists("data") for load_id in (ONE, TWO, "3.0")}

    assert kept == {ONE: False, TWO: True, "3.0": True}


def test_the_oldest_finished_packages_are_deleted_except_the_last_sealed_and_failed_ones(
    packages: Packages,
) -> None:
    load(packages, ONE, 1)
    load(packages, TWO, 2)
    for load_id in ("3.0", "4.0"):
        packages.loaded_packages.create_package(load_id)
    packages.package("3.0").jobs.add("items.x.0.reference", b"{}", "failed_jobs")

    packages.apply_retention(Retention(packages=1))
    some = packages.loaded_packages.list_packages()
    packages.apply_retention(Retention(packages=0))

    assert some == [TWO, "3.0", "4.0"]
    assert packages.loaded_packages.list_packages() == [TWO, "3.0"]
    assert packages.pending_load() is None
    assert packages.slots.read(1) == manifest_of(ONE, 1), "manifests stay"


def test_all_packages_are_kept_without_a_limit(packages: Packages) -> None:
    load(packages, ONE, 1)

    packages.apply_retention(Retention(packages=None))

    assert packages.loaded_packages.list_packages_with_status("loaded") == [ONE]


def test_a_slot_with_the_content_of_another_is_damage(packages: Packages) -> None:
    packages.store.put("slots/0000000001.json", manifest_of(ONE, 2).to_json())

    with pytest.raises(PackageDamaged, match="its sequence is 2"):
        packages.last_sealed()


class Lossy:
    """An object store that loses replies: it performs a request and then fails."""

    def __init__(self, system: Any, *errors: OSError) -> None:
        self._system, self._errors, self.tries = system, list(errors), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def pipe_file(self, path: str, content: bytes, mode: str = "overwrite") -> None:
        self.tries += 1
        error = self._errors.pop(0) if self._errors else None
        if error is None or "Conflict" not in str(error):
            self._system.pipe_file(path, content, mode=mode)
        if error is not None:
            raise error


def storage_that_loses(root: str, *errors: OSError) -> tuple[FileStorage, Lossy]:
    system = Lossy(FileStorage(root).file_system, *errors)
    return FileStorage(root, files=ObjectFiles(system)), system


def test_a_lost_reply_is_recovered_by_reading_the_object(tmp_path: Path) -> None:
    storage, _ = storage_that_loses(f"memory://{tmp_path.name}", OSError("connection reset"))

    assert storage.put_if_absent("slot", b"mine") is True
    assert storage.put_if_absent("slot", b"other") is False


def test_a_conflict_of_conditional_puts_is_retried(tmp_path: Path) -> None:
    conflict = OSError(22, "An error occurred (ConditionalRequestConflict): meanwhile")
    storage, system = storage_that_loses(f"memory://{tmp_path.name}", conflict, conflict)

    assert storage.put_if_absent("slot", b"mine") is True
    assert system.tries == 3


class FlexibleChecksumError(Exception):
    """The error of botocore for a reply that does not match its checksum, which `s3fs` passes on at once."""


@pytest.mark.parametrize(("torn_replies", "requests"), [(0, 1), (2, 3)])
def test_a_reply_with_a_wrong_checksum_is_retried(tmp_path: Path, torn_replies: int, requests: int) -> None:
    class Torn(Lossy):
        def cat_file(self, path: str) -> bytes:
            self.tries += 1
            if self.tries <= torn_replies:
                raise FlexibleChecksumError
            content: bytes = self._system.cat_file(path)
            return content

    root = f"memory://{tmp_path.name}"
    FileStorage(root).put("lease", b"beat")
    system = Torn(FileStorage(root).file_system)

    assert FileStorage(root, files=ObjectFiles(system)).read("lease") == b"beat"
    assert system.tries == requests


def test_permanent_checksum_errors_are_reported_as_unreachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Torn(Lossy):
        def cat_file(self, path: str) -> bytes:
            raise FlexibleChecksumError(path)

    monkeypatch.setattr("penstock.package.object_files.time.sleep", lambda _: None)
    root = f"memory://{tmp_path.name}"
    storage = FileStorage(root, files=ObjectFiles(Torn(FileStorage(root).file_system)))

    with pytest.raises(StorageNotReachable, match="FlexibleChecksumError"):
        storage.read("lease")


def test_a_refusal_of_the_store_is_an_error(tmp_path: Path) -> None:
    class Refusing(Lossy):
        def pipe_file(self, path: str, content: bytes, mode: str = "overwrite") -> None:
            raise PermissionError(13, "denied", path)

    root = f"memory://{tmp_path.name}"
    storage = FileStorage(root, files=ObjectFiles(Refusing(FileStorage(root).file_system)))

    with pytest.raises(PermissionError):
        storage.put_if_absent("slot", b"mine")
