"""The page of load packages, name by name and sentence by sentence.

`PAGE` holds every function and method of the page with its arguments; a default stands behind `=`.
`SENTENCES` names, for every sentence that states how something behaves, the test below that holds us to it.
"""

from __future__ import annotations

import inspect
import re
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import penstock.package
from penstock.errors import (
    CurrentLoadPackageStateNotAvailable,
    LoadPackageAlreadyCompleted,
    LoadPackageNotCompleted,
    LoadPackageNotFound,
)
from penstock.package import (
    FileStorage,
    LoadJobInfo,
    LoadPackageInfo,
    PackageStorage,
    ParsedLoadJobFileName,
    TJobState,
    TLoadPackage,
    TLoadPackageState,
    TLoadPackageStatus,
    clear_destination_state,
    commit_load_package_state,
    create_load_id,
    destination_state,
    load_package,
    package_context,
)
from penstock.schema import Schema

PAGE: dict[str, tuple[str, ...]] = {
    "ParsedLoadJobFileName.job_id": (),
    "ParsedLoadJobFileName.file_name": (),
    "ParsedLoadJobFileName.with_retry": (),
    "PackageStorage.__init__": ("storage", "initial_state"),
    "PackageStorage.list_packages": (),
    "PackageStorage.list_failed_jobs_infos": ("load_id",),
    "PackageStorage.import_job": ("load_id", "job_file_path", "job_state='new_jobs'"),
    "PackageStorage.complete_loading_package": ("load_id", "load_state"),
    "PackageStorage.remove_completed_jobs": ("load_id",),
    "PackageStorage.schema_name": ("load_id",),
    "PackageStorage.get_load_package_info": ("load_id",),
    "PackageStorage.is_package_partially_loaded": ("package_info",),
    "load_package": (),
    "commit_load_package_state": (),
    "destination_state": (),
    "clear_destination_state": ("commit=True",),
}

SENTENCES: dict[str, tuple[str, str]] = {
    "S1": ("when the package was created", "a_package_knows_when_it_was_created"),
    "S2": ("private space for destinations", "a_destination_has_a_space_of_its_own_in_one_package"),
    "S3": ("load id", "the_package_at_hand_is_its_id_and_its_state"),
    "S4": ("state of the load package", "the_package_at_hand_is_its_id_and_its_state"),
    "P1": ("represents a file name", "a_job_file_name_has_table_id_retries_and_format"),
    "P2": ("table, retries, extension, random text", "a_job_file_name_has_table_id_retries_and_format"),
    "P3": ("job id without retries, immutable", "the_id_of_a_job_stays_whatever_becomes_of_it"),
    "P4": ("unique identifier", "the_id_of_a_job_stays_whatever_becomes_of_it"),
    "P5": ("name of the file", "a_job_file_name_has_table_id_retries_and_format"),
    "P6": ("increased retry count", "a_retry_counts_one_more"),
    "K1": ("updates applied", "what_the_destination_changed_is_kept_under_the_name_of_the_page"),
    "K2": ("root and initial state", "a_storage_has_a_root_and_a_status_for_its_packages"),
    "K3": ("lists all, earliest first", "packages_are_listed_earliest_first"),
    "K4": ("sorted alphabetically", "packages_are_listed_earliest_first"),
    "K5": ("creation time not stored apart", "packages_are_listed_earliest_first"),
    "K6": (
        "failed jobs and messages",
        "failed_jobs_are_listed_with_their_messages_once_the_package_is_finished",
    ),
    "K7": ("adds by moving", "a_job_is_imported_by_moving_its_file"),
    "K8": ("marker file", "a_package_is_finished_by_a_marker_and_only_once"),
    "K9": ("returns path", "a_package_is_finished_by_a_marker_and_only_once"),
    "K10": ("deletes completed jobs", "completed_jobs_are_removed_unless_one_failed"),
    "K11": ("nothing if one failed", "completed_jobs_are_removed_unless_one_failed"),
    "K12": ("schema name", "a_package_knows_the_name_of_its_schema"),
    "K13": ("info with all jobs", "the_info_of_a_package_has_all_jobs_and_their_states"),
    "K14": ("partially loaded", "a_package_is_partially_loaded_when_some_jobs_are_not_new"),
    "F1": ("state in current context", "the_package_at_hand_is_its_id_and_its_state"),
    "F2": ("same dict in all threads", "all_threads_see_the_same_dict"),
    "F3": ("commits", "the_state_is_written_when_it_is_committed"),
    "F4": ("thread safe", "many_threads_commit_and_nothing_is_lost"),
    "F5": ("segment of the destination", "a_destination_has_a_space_of_its_own_in_one_package"),
    "F6": ("clears the segment", "the_space_of_the_destination_is_cleared_and_that_is_written_if_wanted"),
    "F7": ("optionally commits", "the_space_of_the_destination_is_cleared_and_that_is_written_if_wanted"),
}

LOAD = "1794709965.511098"
JOB = "items.5c1c2f0d11.0.reference"


@pytest.fixture
def storage(tmp_path: Path) -> PackageStorage:
    return PackageStorage(FileStorage(str(tmp_path / "packages")), "normalized")


@pytest.fixture
def package(storage: PackageStorage) -> PackageStorage:
    storage.create_package(LOAD, schema=Schema("shop"))
    return storage


def put_job(storage: PackageStorage, name: str = JOB) -> None:
    storage.package(LOAD).jobs.add(name, b"{}")


def found(name: str) -> Any:
    thing: Any = penstock.package
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize("name", PAGE)
def test_a_name_of_the_page_has_the_arguments_that_the_page_gives_it(name: str) -> None:
    parameters = [each for each in inspect.signature(found(name)).parameters.values() if each.name != "self"]

    shown = tuple(
        each.name if each.default is inspect.Parameter.empty else f"{each.name}={each.default!r}"
        for each in parameters
    )

    assert shown == PAGE[name]
    assert {each.kind for each in parameters} <= {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert name.endswith("__init__") or inspect.getdoc(found(name))


def test_names_in_the_signatures_of_the_page_exist() -> None:
    assert set(get_args(TLoadPackageStatus)) == {"new", "extracted", "normalized", "loaded", "aborted"}
    assert set(get_args(TJobState)) == {"new_jobs", "failed_jobs", "started_jobs", "completed_jobs"}
    assert {"created_at", "destination_state"} <= set(get_type_hints(TLoadPackageState))
    assert set(get_type_hints(TLoadPackage)) == {"load_id", "state"}
    assert issubclass(ParsedLoadJobFileName, tuple)
    assert isinstance(inspect.getattr_static(PackageStorage, "is_package_partially_loaded"), staticmethod)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_of_the_page_is_held_by_a_test_that_exists(sentence: str) -> None:
    text = Path(__file__).read_text(encoding="utf-8")

    assert re.search(rf"^def test_{SENTENCES[sentence][1]}\(", text, re.MULTILINE)


def test_every_sentence_is_counted() -> None:
    assert len(SENTENCES) == 31


def test_a_package_knows_when_it_was_created(package: PackageStorage) -> None:
    assert package.get_load_package_state(LOAD)["created_at"].startswith("2026-11-15T02:32:45.511098")


def test_a_destination_has_a_space_of_its_own_in_one_package(package: PackageStorage) -> None:
    package.create_package("1794709966.000000")
    with package_context(package.package(LOAD)):
        destination_state()["batch"] = 7
        commit_load_package_state()

    with package_context(package.package(LOAD)):
        assert destination_state() == {"batch": 7}
    with package_context(package.package("1794709966.000000")):
        assert destination_state() == {}


def test_the_package_at_hand_is_its_id_and_its_state(package: PackageStorage) -> None:
    with package_context(package.package(LOAD)):
        at_hand = load_package()

    assert at_hand == {"load_id": LOAD, "state": package.get_load_package_state(LOAD)}
    with pytest.raises(CurrentLoadPackageStateNotAvailable):
        load_package()


def test_all_threads_see_the_same_dict(package: PackageStorage) -> None:
    with package_context(package.package(LOAD)), ThreadPoolExecutor(4) as threads:
        contexts = [copy_context() for _ in range(8)]
        seen = list(threads.map(lambda context: id(context.run(load_package)), contexts))

        assert set(seen) == {id(load_package())}


def test_the_state_is_written_when_it_is_committed(package: PackageStorage) -> None:
    with package_context(package.package(LOAD)):
        destination_state()["batch"] = 7
        before = package.get_load_package_state(LOAD)
        commit_load_package_state()
        after = package.get_load_package_state(LOAD)

    assert "destination_state" not in before
    assert after["destination_state"] == {"batch": 7}
    assert after["_state_version"] == before["_state_version"] + 1


def test_many_threads_commit_and_nothing_is_lost(package: PackageStorage) -> None:
    def work(number: int) -> None:
        destination_state()[f"batch {number}"] = number
        commit_load_package_state()

    with package_context(package.package(LOAD)), ThreadPoolExecutor(8) as threads:
        contexts = [copy_context() for _ in range(32)]
        list(threads.map(lambda number: contexts[number].run(work, number), range(32)))

    assert len(package.get_load_package_state(LOAD)["destination_state"]) == 32


@pytest.mark.parametrize("commit", [True, False])
def test_the_space_of_the_destination_is_cleared_and_that_is_written_if_wanted(
    package: PackageStorage, commit: bool
) -> None:
    with package_context(package.package(LOAD)):
        destination_state()["batch"] = 7
        commit_load_package_state()
        clear_destination_state(commit=commit)
        at_hand = destination_state()

    assert at_hand == {}
    assert ("destination_state" in package.get_load_package_state(LOAD)) is not commit


def test_a_job_file_name_has_table_id_retries_and_format() -> None:
    name = ParsedLoadJobFileName.parse(JOB)

    assert (name.table_name, name.file_id, name.retry_count, name.file_format) == (
        *("items", "5c1c2f0d11", 0),
        "reference",
    )
    assert name.file_name() == JOB
    assert len({ParsedLoadJobFileName.new_file_id() for _ in range(100)}) == 100
    assert re.fullmatch(r"[0-9a-f]{10}", ParsedLoadJobFileName.new_file_id())


def test_the_id_of_a_job_stays_whatever_becomes_of_it(package: PackageStorage) -> None:
    put_job(package)
    package.start_job(LOAD, JOB)
    again = package.retry_job(LOAD, JOB, "no answer")
    package.start_job(LOAD, again)
    package.complete_job(LOAD, again)

    ((state, name),) = package.list_all_jobs_with_states(LOAD)
    assert (state, name.job_id()) == ("completed_jobs", ParsedLoadJobFileName.parse(JOB).job_id())


def test_a_retry_counts_one_more() -> None:
    assert ParsedLoadJobFileName.parse(JOB).with_retry().file_name() == "items.5c1c2f0d11.1.reference"


def test_what_the_destination_changed_is_kept_under_the_name_of_the_page(package: PackageStorage) -> None:
    package.save_schema_updates(LOAD, {"items": {"columns": {}}})
    package.package(LOAD).commit_schema_updates({"items": {"columns": {}}})

    assert PackageStorage.APPLIED_SCHEMA_UPDATES_FILE_NAME in package.package(LOAD).store.names("")
    assert package.get_load_package_info(LOAD).schema_update == {"items": {"columns": {}}}


@pytest.mark.parametrize("status", get_args(TLoadPackageStatus))
def test_a_storage_has_a_root_and_a_status_for_its_packages(
    tmp_path: Path, status: TLoadPackageStatus
) -> None:
    storage = PackageStorage(FileStorage(str(tmp_path)), status)

    storage.create_package("1.5")

    assert storage.list_packages() == ["1.5"]
    assert storage.get_load_package_info("1.5").state == status
    assert (tmp_path / "1.5").is_dir()


def test_packages_are_listed_earliest_first(storage: PackageStorage) -> None:
    ids = [create_load_id() for _ in range(5)]
    for load_id in reversed(ids):
        storage.create_package(load_id)

    assert storage.list_packages() == ids == sorted(ids)


def test_failed_jobs_are_listed_with_their_messages_once_the_package_is_finished(
    package: PackageStorage,
) -> None:
    put_job(package)
    package.start_job(LOAD, JOB)
    package.fail_job(LOAD, JOB, "the table is closed")
    with pytest.raises(LoadPackageNotCompleted):
        package.list_failed_jobs_infos(LOAD)

    package.complete_loading_package(LOAD, "loaded")

    (failed,) = package.list_failed_jobs_infos(LOAD)
    assert isinstance(failed, LoadJobInfo)
    assert (failed.job_file_info.table_name, failed.failed_message) == ("items", "the table is closed")


def test_a_job_is_imported_by_moving_its_file(package: PackageStorage, tmp_path: Path) -> None:
    (tmp_path / JOB).write_bytes(b"{}")

    package.import_job(LOAD, str(tmp_path / JOB))

    assert not (tmp_path / JOB).exists()
    assert package.list_new_jobs(LOAD) == [f"{LOAD}/new_jobs/{JOB}"]


def test_a_package_is_finished_by_a_marker_and_only_once(package: PackageStorage) -> None:
    path = package.complete_loading_package(LOAD, "aborted")

    assert path == package.package(LOAD).path
    assert (Path(path) / PackageStorage.PACKAGE_COMPLETED_FILE_NAME).is_file()
    assert package.get_load_package_info(LOAD).state == "aborted"
    with pytest.raises(LoadPackageAlreadyCompleted):
        package.complete_loading_package(LOAD, "loaded")


@pytest.mark.parametrize("failed", [False, True])
def test_completed_jobs_are_removed_unless_one_failed(package: PackageStorage, failed: bool) -> None:
    other = "others.5c1c2f0d12.0.reference"
    for name in (JOB, other):
        put_job(package, name)
        package.start_job(LOAD, name)
    package.complete_job(LOAD, JOB)
    (package.fail_job if failed else package.complete_job)(LOAD, other)

    package.remove_completed_jobs(LOAD)

    assert bool(package.list_completed_jobs(LOAD)) is failed


def test_a_package_knows_the_name_of_its_schema(package: PackageStorage) -> None:
    assert package.schema_name(LOAD) == "shop"
    with pytest.raises(LoadPackageNotFound):
        package.schema_name("1.0")


def test_the_info_of_a_package_has_all_jobs_and_their_states(package: PackageStorage) -> None:
    names = [f"t{number}.5c1c2f0d11.0.reference" for number in range(4)]
    for name in names:
        put_job(package, name)
    for name in names[1:]:
        package.start_job(LOAD, name)
    package.complete_job(LOAD, names[2])
    package.fail_job(LOAD, names[3], "no")

    info = package.get_load_package_info(LOAD)

    assert isinstance(info, LoadPackageInfo)
    assert {state: [job.job_file_info.table_name for job in jobs] for state, jobs in info.jobs.items()} == {
        "new_jobs": ["t0"],
        "started_jobs": ["t1"],
        "completed_jobs": ["t2"],
        "failed_jobs": ["t3"],
    }
    with pytest.raises(FileNotFoundError):
        package.get_load_package_info("1.0")


def test_a_package_is_partially_loaded_when_some_jobs_are_not_new(package: PackageStorage) -> None:
    put_job(package)
    put_job(package, "others.5c1c2f0d12.0.reference")
    before = PackageStorage.is_package_partially_loaded(package.get_load_package_info(LOAD))

    package.start_job(LOAD, JOB)

    assert not before
    assert PackageStorage.is_package_partially_loaded(package.get_load_package_info(LOAD))
