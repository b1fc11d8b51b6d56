"""The reference page of load packages: every signature, and every sentence about behaviour.

The page is `common.storages.load_package`. Signatures are written down here as name, kind and default;
`SENTENCES` names for each sentence of the page the test below that shows it.
"""

from __future__ import annotations

import contextvars
import inspect
import re
import threading
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints, is_typeddict

import pytest
from tests.rule_assertions import assert_no_offenders

from penstock import package as room
from penstock.errors import (
    CurrentLoadPackageStateNotAvailable,
    InvalidJobFileName,
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
    TLoadPackage,
    TLoadPackageState,
    clear_destination_state,
    commit_load_package_state,
    destination_state,
    load_package,
    package_context,
)
from penstock.package.layout import TLoadPackageStatus, TVersionedState
from penstock.schema import Schema

NONE: Any = inspect.Parameter.empty
POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
Signature = tuple[tuple[str, Any, Any], ...]


def takes(*parameters: str | tuple[str, Any]) -> Signature:
    pairs = (one if isinstance(one, tuple) else (one, NONE) for one in parameters)
    return tuple((name, POSITIONAL, default) for name, default in pairs)


SIGNATURES: dict[str, Signature] = {
    "ParsedLoadJobFileName.job_id": takes("self"),
    "ParsedLoadJobFileName.file_name": takes("self"),
    "ParsedLoadJobFileName.with_retry": takes("self"),
    "PackageStorage.__init__": takes("self", "storage", "initial_state"),
    "PackageStorage.list_packages": takes("self"),
    "PackageStorage.list_failed_jobs_infos": takes("self", "load_id"),
    "PackageStorage.import_job": takes("self", "load_id", "job_file_path", ("job_state", "new_jobs")),
    "PackageStorage.complete_loading_package": takes("self", "load_id", "load_state"),
    "PackageStorage.remove_completed_jobs": takes("self", "load_id"),
    "PackageStorage.schema_name": takes("self", "load_id"),
    "PackageStorage.get_load_package_info": takes("self", "load_id"),
    "PackageStorage.is_package_partially_loaded": takes("package_info"),
    "load_package": takes(),
    "commit_load_package_state": takes(),
    "destination_state": takes(),
    "clear_destination_state": takes(("commit", True)),
}
CLASSES = ("TLoadPackageState", "TLoadPackage", "ParsedLoadJobFileName", "PackageStorage")


class Sentence(NamedTuple):
    """A sentence of the page, in a few words, and the test that shows it."""

    says: str
    test: str


SENTENCES: dict[str, Sentence] = {
    "state.created_at": Sentence(
        "when the package was created", "test_a_state_has_the_creation_time_of_its_package"
    ),
    "state.destination_state": Sentence(
        "private to destinations, of this package only",
        "test_destination_state_is_stored_in_its_package_only",
    ),
    "package.load_id": Sentence("the load id", "test_the_current_package_has_its_id_and_its_state"),
    "package.state": Sentence(
        "the state of the package", "test_the_current_package_has_its_id_and_its_state"
    ),
    "name.represents": Sentence(
        "a file name of a job", "test_a_job_file_name_round_trips_with_its_four_parts"
    ),
    "name.contains": Sentence(
        "table, number of retries, extension, random text",
        "test_a_job_file_name_round_trips_with_its_four_parts",
    ),
    "name.five_bytes": Sentence("5 random bytes make it unique", "test_a_new_file_id_is_five_random_bytes"),
    "name.id_without_retries": Sentence(
        "the id has no retry count", "test_a_job_id_has_no_retry_count_and_never_changes"
    ),
    "name.id_immutable": Sentence(
        "the id never changes while loading", "test_a_job_id_has_no_retry_count_and_never_changes"
    ),
    "job_id.unique": Sentence("identifies the job", "test_jobs_of_one_package_have_different_ids"),
    "file_name.is": Sentence("the name of the file", "test_a_job_file_name_round_trips_with_its_four_parts"),
    "with_retry.increases": Sentence("one retry more", "test_a_retry_increments_the_count"),
    "storage.applied": Sentence(
        "the file of updates that were applied", "test_applied_updates_are_in_a_file_of_that_name"
    ),
    "init.manages": Sentence(
        "manages packages with their root at the storage",
        "test_a_storage_manages_the_packages_below_its_root",
    ),
    "init.initial_state": Sentence(
        "the state that its packages begin with", "test_new_packages_have_the_status_of_their_storage"
    ),
    "list_packages.all": Sentence("lists all load ids", "test_packages_of_every_status_are_listed"),
    "list_packages.earliest_first": Sentence(
        "earliest first", "test_packages_are_listed_as_text_earliest_first"
    ),
    "list_packages.alphabetical": Sentence(
        "ids are sorted as text", "test_packages_are_listed_as_text_earliest_first"
    ),
    "list_packages.no_time": Sentence(
        "the time of creation is not looked at",
        "test_packages_are_ordered_by_id_and_not_by_creation",
    ),
    "failed_infos.lists": Sentence(
        "failed jobs and their messages",
        "test_failed_jobs_of_a_finished_package_are_listed_with_their_messages",
    ),
    "import_job.adds": Sentence(
        "adds a new job by moving a file", "test_a_job_is_imported_by_moving_its_file"
    ),
    "import_job.state": Sentence(
        "into new_jobs, or the state that is asked for", "test_a_job_can_be_imported_into_any_state"
    ),
    "complete.marker": Sentence(
        "writes a marker file with the state",
        "test_a_package_is_completed_by_a_marker_with_its_status",
    ),
    "complete.path": Sentence(
        "gives the path of the package", "test_a_package_is_completed_by_a_marker_with_its_status"
    ),
    "remove_completed.deletes": Sentence("deletes completed jobs", "test_completed_jobs_are_removed"),
    "remove_completed.failed": Sentence(
        "nothing is deleted when a job has failed", "test_nothing_is_removed_from_a_package_with_failed_jobs"
    ),
    "schema_name.gets": Sentence(
        "the name of the package's schema", "test_the_name_of_the_schema_is_returned"
    ),
    "info.gets": Sentence(
        "information on a normalized or completed package",
        "test_a_package_info_has_the_status_the_jobs_and_their_states",
    ),
    "info.jobs": Sentence(
        "with all jobs and their states", "test_a_package_info_has_the_status_the_jobs_and_their_states"
    ),
    "partially.checks": Sentence(
        "has jobs that are not new", "test_a_package_with_jobs_that_are_not_new_is_partially_loaded"
    ),
    "load_package.current": Sentence(
        "the state of the package at hand", "test_the_current_package_has_its_id_and_its_state"
    ),
    "load_package.same_dict": Sentence(
        "all threads see the same dict", "test_all_threads_of_a_load_see_the_same_dict"
    ),
    "commit.writes": Sentence(
        "writes the state of the package at hand", "test_a_committed_state_is_in_the_package"
    ),
    "commit.thread_safe": Sentence("safe in threads", "test_concurrent_commits_of_threads_lose_nothing"),
    "destination_state.segment": Sentence(
        "the part that is the destination's", "test_destination_state_is_stored_in_its_package_only"
    ),
    "clear.clears": Sentence(
        "clears that part", "test_destination_state_is_cleared_with_or_without_a_commit"
    ),
    "clear.commit": Sentence(
        "and commits it, unless told not to",
        "test_destination_state_is_cleared_with_or_without_a_commit",
    ),
}

LOAD_ID = "1794700870.5798686"
JOB = "items.5c1c2f0d11.0.reference"
OTHER = "orders.a1b2c3d4e5.0.reference"


@pytest.fixture
def storage(tmp_path: Path) -> PackageStorage:
    made = PackageStorage(FileStorage(str(tmp_path)), "normalized")
    made.create_package(LOAD_ID, schema=Schema("shop"))
    for job in (JOB, OTHER):
        made.package(LOAD_ID).jobs.add(job, b"{}")
    return made


def signature(name: str) -> Signature:
    """Return the name, kind and default of each argument of a function of ours."""
    value: Any = room
    for part in name.split("."):
        value = inspect.getattr_static(value, part) if inspect.isclass(value) else getattr(value, part)
    function = value.__func__ if isinstance(value, staticmethod) else value
    parameters = inspect.signature(function).parameters.values()
    return tuple((parameter.name, parameter.kind, parameter.default) for parameter in parameters)


def test_every_signature_is_that_of_the_page() -> None:
    assert_no_offenders(
        (
            f"{name}: {signature(name)}, not {expected}"
            for name, expected in SIGNATURES.items()
            if signature(name) != expected
        ),
        "declare the arguments of the page",
    )


def test_the_classes_of_the_page_are_of_its_kinds() -> None:
    assert get_type_hints(TLoadPackageState).items() > get_type_hints(TVersionedState).items()
    assert is_typeddict(TLoadPackage)
    assert ParsedLoadJobFileName._fields[:4] == ("table_name", "file_id", "retry_count", "file_format")


def test_a_method_of_the_page_without_self_is_static() -> None:
    assert isinstance(inspect.getattr_static(PackageStorage, "is_package_partially_loaded"), staticmethod)


def test_every_name_of_the_page_is_exported() -> None:
    names = {name.split(".")[0] for name in (*SIGNATURES, *CLASSES)}

    assert names <= set(room.__all__)


def test_every_sentence_of_the_page_has_a_test_and_every_test_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tests = set(re.findall(r"^def (test_\w+)", Path(__file__).read_text(encoding="utf-8"), re.MULTILINE))
    of_form = {name for name in tests if "_of_the_page_" in name or name.endswith("_of_the_page")}
    named = {sentence.test for sentence in SENTENCES.values()}

    assert named == tests - of_form
    assert len(SENTENCES) == 37
    with capsys.disabled():
        print(  # noqa: T201
            f"\nthe page: {len(SIGNATURES)} signatures, {len(CLASSES)} classes, {len(SENTENCES)} sentences "
            f"shown by {len(named)} tests"
        )


# --- states


def test_a_state_has_the_creation_time_of_its_package(storage: PackageStorage) -> None:
    assert storage.get_load_package_state(LOAD_ID)["created_at"] == "2026-11-15T00:01:10.579869+00:00"
    assert set(get_type_hints(TLoadPackageState)) >= {"created_at", "destination_state"}


def test_the_current_package_has_its_id_and_its_state(storage: PackageStorage) -> None:
    with package_context(storage.package(LOAD_ID)):
        at_hand = load_package()

    assert at_hand == {"load_id": LOAD_ID, "state": storage.get_load_package_state(LOAD_ID)}
    assert set(get_type_hints(TLoadPackage)) == {"load_id", "state"}
    with pytest.raises(CurrentLoadPackageStateNotAvailable):
        load_package()


# --- names of job files


def test_a_job_file_name_round_trips_with_its_four_parts() -> None:
    name = ParsedLoadJobFileName.parse("s3://lake/new_jobs/items__tags.5c1c2f0d11.3.parquet")

    assert name[:4] == ("items__tags", "5c1c2f0d11", 3, "parquet")
    assert name.file_name() == "items__tags.5c1c2f0d11.3.parquet"
    with pytest.raises(InvalidJobFileName):
        ParsedLoadJobFileName.parse("items.parquet")


def test_a_new_file_id_is_five_random_bytes() -> None:
    ids = {ParsedLoadJobFileName.new_file_id() for _ in range(1000)}

    assert len(ids) == 1000
    assert {len(bytes.fromhex(one)) for one in ids} == {5}


def test_a_job_id_has_no_retry_count_and_never_changes(storage: PackageStorage) -> None:
    ids = {ParsedLoadJobFileName.parse(JOB).job_id()}
    for _ in range(2):
        started = storage.start_job(LOAD_ID, storage.list_new_jobs(LOAD_ID)[0])
        ids.add(ParsedLoadJobFileName.parse(started).job_id())
        ids.add(ParsedLoadJobFileName.parse(storage.retry_job(LOAD_ID, started, "timed out")).job_id())

    assert ids == {"items.5c1c2f0d11.reference"}


def test_jobs_of_one_package_have_different_ids(storage: PackageStorage) -> None:
    ids = [name.job_id() for _, name in storage.list_all_jobs_with_states(LOAD_ID)]

    assert sorted(ids) == ["items.5c1c2f0d11.reference", "orders.a1b2c3d4e5.reference"]


def test_a_retry_increments_the_count() -> None:
    name = ParsedLoadJobFileName.parse(JOB)

    assert name.with_retry() == name._replace(retry_count=1)
    assert name.with_retry().with_retry().retry_count == 2


# --- packages below a storage


def test_applied_updates_are_in_a_file_of_that_name(storage: PackageStorage) -> None:
    package = storage.package(LOAD_ID)
    storage.save_schema_updates(LOAD_ID, {"items": {}, "orders": {}})

    package.commit_schema_updates({"items": {}})

    assert PackageStorage.APPLIED_SCHEMA_UPDATES_FILE_NAME == "applied_schema_updates.json"
    document = package.store.read_json(PackageStorage.APPLIED_SCHEMA_UPDATES_FILE_NAME)
    assert document == {"format_version": 1, "tables": {"items": {}}}
    assert not package.store.exists(PackageStorage.SCHEMA_UPDATES_FILE_NAME)


def test_a_storage_manages_the_packages_below_its_root(tmp_path: Path, storage: PackageStorage) -> None:
    elsewhere = PackageStorage(FileStorage(str(tmp_path / "elsewhere")), "normalized")

    assert storage.list_packages() == [LOAD_ID]
    assert elsewhere.list_packages() == []
    assert (tmp_path / LOAD_ID / "new_jobs" / JOB).exists()


@pytest.mark.parametrize("status", ["new", "extracted", "normalized", "planned", "loaded", "aborted"])
def test_new_packages_have_the_status_of_their_storage(tmp_path: Path, status: Any) -> None:
    storage = PackageStorage(FileStorage(str(tmp_path)), status)

    storage.create_package("17.5")

    assert storage.list_packages() == ["17.5"]
    assert storage.get_load_package_info("17.5").state == status


def test_packages_of_every_status_are_listed(tmp_path: Path) -> None:
    storages = [PackageStorage(FileStorage(str(tmp_path)), status) for status in get_args(TLoadPackageStatus)]
    for number, storage in enumerate(storages):
        storage.create_package(f"{number}.5")
    storages[4].record_finished("4.5")

    assert storages[0].list_packages() == ["0.5", "1.5", "2.5", "3.5", "4.5", "5.5"]
    assert storages[0].list_packages_with_status("normalized") == ["2.5"]


def test_packages_are_listed_as_text_earliest_first(tmp_path: Path) -> None:
    storage = PackageStorage(FileStorage(str(tmp_path)), "extracted")
    for load_id in ("1794700871.1", "1794700870.9", "1794700870.10", "9"):
        storage.create_package(load_id)

    assert storage.list_packages() == ["1794700870.10", "1794700870.9", "1794700871.1", "9"]


def test_packages_are_ordered_by_id_and_not_by_creation(tmp_path: Path) -> None:
    storage = PackageStorage(FileStorage(str(tmp_path)), "new")
    for load_id in ("3", "1", "2"):
        storage.create_package(load_id, {"created_at": "2000-01-01T00:00:00+00:00"})

    assert storage.list_packages() == ["1", "2", "3"]


def test_failed_jobs_of_a_finished_package_are_listed_with_their_messages(storage: PackageStorage) -> None:
    storage.start_job(LOAD_ID, JOB)
    storage.fail_job(LOAD_ID, JOB, "no such column: \u00fc")
    with pytest.raises(LoadPackageNotCompleted):
        storage.list_failed_jobs_infos(LOAD_ID)
    storage.complete_loading_package(LOAD_ID, "loaded")

    infos = storage.list_failed_jobs_infos(LOAD_ID)

    assert [(info.job_file_info.file_name(), info.failed_message) for info in infos] == [
        (JOB, "no such column: \u00fc")
    ]
    assert {type(info) for info in infos} == {LoadJobInfo}
    with pytest.raises(LoadPackageNotFound):
        storage.list_failed_jobs_infos("17.5")


# --- jobs


def test_a_job_is_imported_by_moving_its_file(tmp_path: Path, storage: PackageStorage) -> None:
    outside = tmp_path / "outside" / "tags.5c1c2f0d11.0.parquet"
    outside.parent.mkdir()
    outside.write_bytes(b"PAR1")

    storage.import_job(LOAD_ID, str(outside))

    assert f"{LOAD_ID}/new_jobs/tags.5c1c2f0d11.0.parquet" in storage.list_new_jobs(LOAD_ID)
    assert (tmp_path / LOAD_ID / "new_jobs" / outside.name).read_bytes() == b"PAR1"
    assert not outside.exists()


@pytest.mark.parametrize("state", ["new_jobs", "started_jobs", "failed_jobs", "completed_jobs"])
def test_a_job_can_be_imported_into_any_state(tmp_path: Path, storage: PackageStorage, state: Any) -> None:
    outside = tmp_path / "tags.5c1c2f0d11.0.parquet"
    outside.write_bytes(b"PAR1")

    storage.import_job(LOAD_ID, str(outside), state)

    assert [name.file_name() for name in storage.get_load_package_jobs(LOAD_ID)[state]][-1] == outside.name


def test_a_package_is_completed_by_a_marker_with_its_status(tmp_path: Path, storage: PackageStorage) -> None:
    path = storage.complete_loading_package(LOAD_ID, "aborted")

    assert path == str(tmp_path / LOAD_ID)
    marker = storage.package(LOAD_ID).store.read_json("package_completed.json")
    assert marker == {"format_version": 1, "status": "aborted"}
    assert storage.is_package_completed(LOAD_ID)
    with pytest.raises(LoadPackageAlreadyCompleted):
        storage.complete_loading_package(LOAD_ID, "loaded")


def finish_jobs(storage: PackageStorage) -> None:
    for job in (JOB, OTHER):
        storage.start_job(LOAD_ID, job)
    storage.complete_job(LOAD_ID, OTHER, {"rows": 3})


def test_completed_jobs_are_removed(storage: PackageStorage) -> None:
    finish_jobs(storage)

    storage.remove_completed_jobs(LOAD_ID)

    assert storage.list_completed_jobs(LOAD_ID) == []
    assert storage.list_started_jobs(LOAD_ID) == [f"{LOAD_ID}/started_jobs/{JOB}"]


def test_nothing_is_removed_from_a_package_with_failed_jobs(storage: PackageStorage) -> None:
    finish_jobs(storage)
    storage.fail_job(LOAD_ID, JOB, "no such column")

    storage.remove_completed_jobs(LOAD_ID)

    assert storage.list_completed_jobs(LOAD_ID) == [f"{LOAD_ID}/completed_jobs/{OTHER}"]


# --- info of a package


def test_the_name_of_the_schema_is_returned(storage: PackageStorage) -> None:
    assert storage.schema_name(LOAD_ID) == "shop"
    with pytest.raises(LoadPackageNotFound):
        storage.schema_name("17.5")


def test_a_package_info_has_the_status_the_jobs_and_their_states(storage: PackageStorage) -> None:
    finish_jobs(storage)
    pending = storage.get_load_package_info(LOAD_ID)
    storage.complete_loading_package(LOAD_ID, "loaded")
    ended = storage.get_load_package_info(LOAD_ID)

    assert {type(pending), type(ended)} == {LoadPackageInfo}
    assert (pending.load_id, pending.state, ended.state) == (LOAD_ID, "normalized", "loaded")
    assert {state: [job.job_file_info.file_name() for job in jobs] for state, jobs in ended.jobs.items()} == {
        "new_jobs": [],
        "failed_jobs": [],
        "started_jobs": [JOB],
        "completed_jobs": [OTHER],
    }
    assert (pending.completed_at is None, ended.completed_at is None) == (True, False)
    with pytest.raises(LoadPackageNotFound) as caught:
        storage.get_load_package_info("17.5")
    assert isinstance(caught.value, FileNotFoundError)


def test_a_package_with_jobs_that_are_not_new_is_partially_loaded(storage: PackageStorage) -> None:
    seen = [PackageStorage.is_package_partially_loaded(storage.get_load_package_info(LOAD_ID))]
    storage.start_job(LOAD_ID, JOB)
    seen.append(PackageStorage.is_package_partially_loaded(storage.get_load_package_info(LOAD_ID)))

    assert seen == [False, True]


# --- the package at hand


def test_all_threads_of_a_load_see_the_same_dict(storage: PackageStorage) -> None:
    seen: list[int] = []
    with package_context(storage.package(LOAD_ID)):
        moment = contextvars.copy_context()  # as the stages hand it to their threads
        threads = [
            threading.Thread(target=lambda: seen.append(id(moment.copy().run(load_package))))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert seen == [id(load_package())] * 4


def test_a_committed_state_is_in_the_package(storage: PackageStorage) -> None:
    before = storage.get_load_package_state(LOAD_ID)
    with package_context(storage.package(LOAD_ID)):
        destination_state()["done"] = 3
        not_yet = storage.get_load_package_state(LOAD_ID)
        commit_load_package_state()

    after = storage.get_load_package_state(LOAD_ID)
    assert not_yet == before
    assert after["destination_state"] == {"done": 3}
    assert (before["_state_version"], after["_state_version"]) == (0, 1)


def test_concurrent_commits_of_threads_lose_nothing(storage: PackageStorage) -> None:
    def write(number: int) -> None:
        for count in range(25):
            destination_state()[f"{number}/{count}"] = count
            load_package()["state"][f"extra {number}/{count}"] = 1  # type: ignore[literal-required]
            commit_load_package_state()

    with package_context(storage.package(LOAD_ID)):
        moment = contextvars.copy_context()
        threads = [threading.Thread(target=moment.copy().run, args=(write, number)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    state = storage.get_load_package_state(LOAD_ID)
    assert len(state["destination_state"]) == 100
    assert len([key for key in state if key.startswith("extra")]) == 100


def test_destination_state_is_stored_in_its_package_only(storage: PackageStorage) -> None:
    storage.create_package("17.5")
    for load_id, value in ((LOAD_ID, 1), ("17.5", 2)):
        with package_context(storage.package(load_id)):
            destination_state()["value"] = value
            commit_load_package_state()

    kept = [storage.get_load_package_state(load_id)["destination_state"] for load_id in (LOAD_ID, "17.5")]
    assert kept == [{"value": 1}, {"value": 2}]


def test_destination_state_is_cleared_with_or_without_a_commit(storage: PackageStorage) -> None:
    with package_context(storage.package(LOAD_ID)):
        destination_state()["value"] = 1
        commit_load_package_state()
        clear_destination_state(commit=False)
        uncommitted = storage.get_load_package_state(LOAD_ID).get("destination_state")
        empty = dict(destination_state())
        clear_destination_state()

    assert (uncommitted, empty) == ({"value": 1}, {})
    assert "destination_state" not in storage.get_load_package_state(LOAD_ID)
