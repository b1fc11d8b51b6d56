"""Complete loads into a scripted destination: order, retries, failures, follow-up jobs, crashes anywhere."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.load.scripted_destination import NoSessions, ScriptedJob, World

from penstock.errors import (
    CommitRolledBack,
    DestinationAhead,
    FollowupJobCreationFailedException,
    IdentifierTooLongException,
    LeaseLost,
    LoadClientJobFailed,
    LoadClientJobRetry,
    LoadCompletedElsewhere,
    LoadPackageAborted,
    PackageDamaged,
    TableChainFollowupJobCreationFailedException,
)
from penstock.interfaces import DestinationClientConfiguration, StateInfo
from penstock.load.refresh import schema_for_jobs
from penstock.load.run import finish_committed_load, load
from penstock.load.settings import LoaderConfiguration
from penstock.load.target import LoadTarget
from penstock.package import DataFolder, FileStorage, Manifest, Packages, Retention, TableEntry
from penstock.package.file_ledger import FileLedger
from penstock.package.local_files import DirEntry, LocalFiles
from penstock.schema import Schema, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from penstock.load.report import PackageReport
    from penstock.schema import TWriteDisposition

STATE = StateInfo(1, 4, "shop", "a state", datetime(2026, 11, 15, tzinfo=UTC), "hash", "17.5")
QUICK = LoaderConfiguration(retry_pause=0.0, poll_pause=0.0, raise_on_failed_jobs=True)
LENIENT = {"raise_on_failed_jobs": False}
TABLES = ("items", "items__tags", "items__parts", "others")


class Crash(BaseException):
    """The simulated end of the process."""


@dataclass
class MemoryFiles:
    """Files in memory; follow-up job files are on the real disk."""

    files: dict[str, bytes] = field(default_factory=dict)

    def read(self, path: str) -> bytes:
        return self.files[path] if path in self.files else Path(path).read_bytes()

    def exists(self, path: str) -> bool:
        return any(name == path or name.startswith(f"{path}/") for name in self.files)

    def has_file(self, path: str) -> bool:
        return path in self.files

    def put(self, path: str, content: bytes, *, durable: bool = True) -> None:
        del durable
        self.files[path] = content

    def put_if_absent(self, path: str, content: bytes) -> bool:
        return self.files.setdefault(path, content) is content

    def move(self, source: str, target: str) -> None:
        self.files[target] = self.read(source)
        del self.files[source]

    def entries(self, folder: str) -> list[DirEntry]:
        inside = [name.removeprefix(f"{folder}/") for name in self.files if name.startswith(f"{folder}/")]
        folders = {name.split("/")[0] for name in inside if "/" in name}
        return [DirEntry(name, 0, 0.0, name in folders) for name in {name.split("/")[0] for name in inside}]

    @property
    def supports_start_after(self) -> bool:
        return False

    def names(self, folder: str, *, prefix: str, after: str, limit: int | None) -> list[str]:
        del prefix, after, limit
        return [entry.name for entry in self.entries(folder)]

    def sizes(self, folder: str) -> dict[str, int]:
        return {name: len(file) for name, file in self.files.items() if name.startswith(f"{folder}/")}

    def copy(self, source: str, target: str) -> None:
        self.files[target] = self.read(source)

    def delete(self, path: str) -> None:
        for name in [name for name in self.files if name == path or name.startswith(f"{path}/")]:
            del self.files[name]
        Path(path).unlink(missing_ok=True)

    def delete_file(self, path: str) -> None:
        self.delete(path)

    def open_new(self, path: str) -> IO[bytes]:
        raise NotImplementedError(path)


@dataclass
class CrashingFiles(MemoryFiles):
    """The same files, for a process that dies just before or after its n-th change."""

    left: int = 1_000_000
    after: bool = False
    changes: int = 0

    def put(self, path: str, content: bytes, *, durable: bool = True) -> None:
        self._change(lambda: MemoryFiles.put(self, path, content, durable=durable))

    def put_if_absent(self, path: str, content: bytes) -> bool:
        return bool(self._change(lambda: MemoryFiles.put_if_absent(self, path, content)))

    def move(self, source: str, target: str) -> None:
        self._change(lambda: MemoryFiles.move(self, source, target))

    def delete(self, path: str) -> None:
        self._change(lambda: MemoryFiles.delete(self, path))

    def _change(self, change: Any) -> Any:
        self.changes += 1
        if self.changes >= self.left and not self.after:
            raise Crash
        done = change()
        if self.changes >= self.left:
            raise Crash
        return done


def schema_of(tables: tuple[str, ...], disposition: TWriteDisposition) -> Schema:
    schema = Schema("shop")
    for name in tables:
        parent = {"parent": name.split("__")[0]} if "__" in name else {"write_disposition": disposition}
        seen = {"x-normalizer": {"seen-data": True}}
        schema.update_table(
            Table.from_dict({"name": name, "columns": {"id": {"data_type": "bigint"}}, **parent, **seen})
        )
    return schema


@dataclass
class LoadScenario:
    """A sealed load in a folder, with its destination."""

    folder: Path
    world: World
    manifest: Manifest
    memory: MemoryFiles | None = None

    def target(self, files: CrashingFiles | None = None) -> LoadTarget:
        storage = FileStorage(str(self.folder / "packages"), files=files or self.memory or LocalFiles())
        destination = self.world.destination()
        return LoadTarget(
            destination=destination,
            config=DestinationClientConfiguration(destination_name="scripted"),
            schema=schema_for_jobs(self.manifest, recreates=destination.capabilities().renews_tables),
            sessions=NoSessions(),
            ledger=FileLedger(storage.subfolder("ledger")),
            packages=Packages(storage),
            assert_leased=lambda: None,
            retention=Retention(),
        )

    def load(self, **rules: Any) -> PackageReport:
        given = QUICK.model_copy(update=rules)
        return load(self.manifest, self.target(), state=STATE, load_settings=given)

    def crashing_files(self, left: int = 1_000_000, *, after: bool = False) -> CrashingFiles:
        return CrashingFiles((self.memory or MemoryFiles()).files, left=left, after=after)

    def jobs(self) -> dict[str, str]:
        board = self.target().packages.package("17.5").jobs.list_jobs()
        return {job: placed.path for job, placed in board.jobs.items()}

    def folders(self) -> dict[str, str]:
        return {job.split(".")[0]: path.split("/")[0] for job, path in self.jobs().items()}

    def commits(self) -> int:
        return len(self.target().ledger.rows("_dlt_loads"))


def sealed_scenario(
    folder: Path,
    *,
    tables: tuple[str, ...] = TABLES,
    with_jobs: tuple[str, ...] = TABLES,
    disposition: TWriteDisposition = "append",
    memory: MemoryFiles | None = None,
    dropped: tuple[str, ...] = (),
    truncated: tuple[str, ...] = (),
    data: DataFolder | None = None,
    **world: Any,
) -> LoadScenario:
    folder.mkdir(parents=True, exist_ok=True)
    schema = schema_of(tables, disposition)
    entries = tuple(
        TableEntry(
            table=name,
            job=f"{name}.x.0.reference",
            write_disposition=disposition,
            data=data.path if data else None,
        )
        for name in with_jobs
    )
    manifest = Manifest(
        load_id="17.5",
        sequence=1,
        pipeline_name="shop",
        dataset_name="lake",
        schema_name="shop",
        tables=entries,
        folders=(data,) if data else (),
        schema_before=None,
        schema=dict(schema.to_dict()),
        state={},
        dropped={
            name: dict(table.to_dict())
            for name, table in schema_of(dropped, disposition).tables.items()
            if name in dropped
        },
        truncated=truncated,
    )
    scenario = LoadScenario(folder, World(folder, **world), manifest, memory)
    packages = scenario.target().packages
    packages.normalized_packages.create_package("17.5", schema=schema)
    for entry in entries:
        packages.package("17.5").jobs.add(entry.job, b"{}")
    assert packages.seal(manifest)
    return scenario


def test_nested_tables_are_written_before_their_root_and_the_ledger_before_the_marker(
    tmp_path: Path,
) -> None:
    scenario = sealed_scenario(tmp_path)
    seen: list[int] = []
    scenario.world.on_complete = lambda: seen.append(scenario.commits())

    report = scenario.load()

    landed = scenario.world.landed
    assert sorted(landed) == sorted(TABLES)
    assert landed.index("items") > max(landed.index("items__tags"), landed.index("items__parts"))
    assert scenario.world.completed == ["17.5"]
    assert seen == [1], "the ledger has the load when the destination completes it"
    assert {table.table: table.rows for table in report.tables} == dict.fromkeys(TABLES, 3)
    assert set(scenario.folders().values()) == {"completed_jobs"}
    assert scenario.target().packages.package("17.5").status == "loaded"


def test_a_run_that_has_lost_its_lease_does_not_commit_the_load(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path)

    def check() -> None:
        if len(scenario.world.landed) == len(TABLES):
            raise LeaseLost(epoch=1, host="elsewhere")

    target = replace(scenario.target(), assert_leased=check)
    with pytest.raises(LeaseLost):
        load(scenario.manifest, target, state=STATE, load_settings=QUICK)

    assert target.packages.slots.find_decision(1) is None
    assert scenario.commits() == 0
    assert scenario.load().load_id == "17.5", "the next run applies it"


def test_a_run_that_has_lost_its_lease_completes_no_job(tmp_path: Path) -> None:
    """The run that took over may have completed it, and its result must not change."""
    scenario = sealed_scenario(tmp_path)

    def check() -> None:
        if scenario.world.landed:
            raise LeaseLost(epoch=1, host="elsewhere")

    with pytest.raises(LeaseLost):
        load(
            scenario.manifest,
            replace(scenario.target(), assert_leased=check),
            state=STATE,
            load_settings=QUICK,
        )

    package = scenario.target().packages.package("17.5")
    assert "completed_jobs" not in scenario.folders().values()
    assert package.store.names(".results") == []
    assert scenario.load().load_id == "17.5", "the next run applies it"


def target_when_all_written(scenario: LoadScenario, act: Callable[[], object]) -> LoadTarget:
    """Return the target; `act` is called when all tables have their rows, before the load is committed."""
    acts = [act]

    def check() -> None:
        if acts and len(scenario.world.landed) == len(TABLES):
            acts.pop()()

    return replace(scenario.target(), assert_leased=check)


def test_a_load_that_another_process_aborts_is_not_written_to_the_ledger(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path)
    target = target_when_all_written(scenario, lambda: scenario.target().packages.abort(scenario.manifest))

    with pytest.raises(LoadPackageAborted):
        load(scenario.manifest, target, state=STATE, load_settings=QUICK)

    assert scenario.commits() == 0


def test_a_load_that_another_process_completes_is_not_reported_by_both(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path)
    target = target_when_all_written(scenario, scenario.load)

    with pytest.raises(LoadCompletedElsewhere):
        load(scenario.manifest, target, state=STATE, load_settings=QUICK)

    assert scenario.commits() == 1


def test_missing_files_are_reported_before_any_call_of_the_destination(tmp_path: Path) -> None:
    gone = DataFolder(path="data/a", files=1, bytes=3, digest="that of a file that is gone")
    scenario = sealed_scenario(tmp_path, data=gone)

    with pytest.raises(PackageDamaged, match="data/a is damaged: it has 0 data files, but 1 were"):
        scenario.load()

    assert scenario.world.asked == []
    for entry in scenario.manifest.tables:
        scenario.target().packages.normalized_packages.start_job("17.5", entry.job)
        scenario.target().packages.normalized_packages.complete_job("17.5", entry.job, {"applied": []})
    scenario.load()
    assert scenario.commits() == 1, "files of completed jobs are not read"


def test_storage_is_created_and_tables_are_updated_before_jobs_start(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path)

    scenario.load()

    assert scenario.world.asked[:2] == ["initialize", "update items items__tags items__parts others"]
    applied = scenario.target().packages.package("17.5").applied_schema_updates()
    assert applied is not None
    assert list(applied) == ["items", "items__tags", "items__parts", "others"]


def test_a_merge_without_a_key_is_warned_of_once_for_each_root_table(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    merges = {"supported_write_dispositions": ("merge",), "supported_merge_strategies": ("delete-insert",)}
    scenario = sealed_scenario(tmp_path, disposition="merge", capabilities=merges)

    scenario.load()

    texts = [message for message in caplog.messages if "is merged without" in message]
    assert sorted(texts) == [
        f"table {name} is merged without a primary key or a merge key: its rows are appended"
        for name in ("items", "others")
    ]


def test_changes_by_commits_are_recorded_when_their_commits_are_made(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"by_commits": [], "others": ["terminal"]})

    scenario.load(raise_on_failed_jobs=False)

    assert scenario.world.asked[:2] == ["initialize", "prepare items items__tags items__parts others"]
    applied = scenario.target().packages.package("17.5").applied_schema_updates()
    assert sorted(applied or ()) == ["items", "items__parts", "items__tags"]


def test_a_resumed_load_records_the_changes_that_its_first_attempt_planned(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"by_commits": [], "others": ["terminal"]})
    package = scenario.target().packages.package("17.5")
    with pytest.raises(LoadClientJobFailed):
        scenario.load(raise_on_failed_jobs=True)
    assert list(package.applied_schema_updates() or ()) == ["items"]

    scenario.load()

    assert sorted(package.applied_schema_updates() or ()) == sorted(TABLES)
    assert [asked for asked in scenario.world.asked if asked.startswith("prepare")] == [
        "prepare items items__tags items__parts others"
    ]


def test_jobs_see_the_package_and_the_destination_finds_the_state_of_the_pipeline(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path)

    scenario.load()

    assert scenario.world.states == ["a state"]


def test_nested_tables_inherit_the_disposition_of_their_root(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, disposition="replace")

    scenario.load()

    assert {asked for asked in scenario.world.asked if asked.startswith("start")} == {
        f"start {name} replace" for name in TABLES
    }


def test_a_job_is_polled_until_it_ends(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": ["retry"], "others": ["transient"]})

    scenario.load()

    looks = scenario.world.at_once
    assert looks["looks"] == 2 * (len(TABLES) + 1), "running at the first look, at an end at the second"
    assert looks["looks after the end"] == 0
    assert looks["looks without a file"] == 0, "the file of a job exists as long as it runs"


@pytest.mark.parametrize("says", ["transient", "unknown", "retry"])
def test_a_transient_error_is_retried(tmp_path: Path, says: str) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": [says, says]})

    scenario.load()

    assert sorted(scenario.world.landed) == sorted(TABLES)
    assert scenario.jobs()["items.x.reference"] == "completed_jobs/items.x.2.reference"
    package = scenario.target().packages.package("17.5")
    message = (package.store.read(".exceptions/items.x.1.exception") or b"").decode()
    assert message.startswith("retry: transient\n")
    assert says in message


def test_only_tries_in_vain_count_toward_the_limit(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": ["progress", "transient"] * 4 + ["progress"] * 9})

    scenario.load()

    assert scenario.jobs()["items.x.reference"] == "completed_jobs/items.x.17.reference"
    assert sorted(scenario.world.landed) == sorted(TABLES)


def test_after_five_tries_the_run_stops_and_the_next_has_five_more(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": ["transient"] * 9})

    with pytest.raises(LoadClientJobRetry) as caught:
        scenario.load()

    facts = vars(caught.value)
    assert (facts["job_id"], facts["retry_count"]) == ("items.x.reference", 5)
    assert isinstance(caught.value.__cause__, Exception)
    assert scenario.commits() == 0
    assert scenario.folders()["others"] == "completed_jobs", "what is under way is finished"
    scenario.load()
    assert sorted(scenario.world.landed) == sorted(TABLES)
    assert scenario.commits() == 1


@pytest.mark.parametrize("says", ["terminal", "assertion", "failed"])
def test_a_terminal_error_stops_the_load_and_names_the_job(tmp_path: Path, says: str) -> None:
    scenario = sealed_scenario(tmp_path, script={"items__tags": [says]})

    with pytest.raises(LoadClientJobFailed, match=says) as caught:
        scenario.load()

    assert vars(caught.value)["job_id"] == "items__tags.x.reference"
    assert (scenario.commits(), scenario.world.completed) == (0, [])
    assert scenario.jobs()["items__tags.x.reference"] == "new_jobs/items__tags.x.1.reference"
    assert "items" not in scenario.world.landed
    scenario.load()
    assert sorted(scenario.world.landed) == sorted(TABLES)


def test_a_resumed_load_is_not_completed_without_its_earlier_commits(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": ["terminal"], "undo": []})
    with pytest.raises(LoadClientJobFailed):
        scenario.load()
    scenario.world.rolled_back |= {"items__tags"}

    with pytest.raises(CommitRolledBack):
        scenario.load()

    assert (scenario.commits(), scenario.target().packages.slots.find_decision(1)) == (0, None)
    scenario.world.rolled_back.clear()
    scenario.load()
    assert scenario.commits() == 1


def test_a_job_is_repeated_whose_commit_was_overwritten(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"undo": []})
    scenario.world.overwritten += ["items__tags", "others"]

    scenario.load()

    assert scenario.commits() == 1
    assert scenario.world.overwritten == []
    assert Counter(scenario.world.landed) == {"items": 1, "items__tags": 2, "items__parts": 1, "others": 2}
    assert set(scenario.folders().values()) == {"completed_jobs"}


HEARD = threading.Semaphore(0)


@pytest.fixture
def _hears_interrupts() -> Iterator[None]:
    """Shells let what they start in the background pass interrupts over."""

    def hear(number: int, frame: FrameType | None) -> None:
        HEARD.release()
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, hear)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    """Send Ctrl-C from another thread, and wait until it is received, since two pending ones count as one."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)
    assert HEARD.acquire(timeout=60)


@pytest.mark.usefixtures("_hears_interrupts")
@pytest.mark.parametrize("says", ["well", "retry"])
def test_an_interrupted_load_waits_for_its_jobs_and_records_their_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    tables = ("a", "b", "c", "d")
    scenario = sealed_scenario(tmp_path, tables=tables, with_jobs=tables, script={"b": [says]})
    both, look = threading.Barrier(2), ScriptedJob.state

    def state(self: ScriptedJob) -> Any:
        found = look(self)
        if found == "running":
            both.wait(10)
            time.sleep(0.2)
            if self.job_id().startswith("a."):
                interrupt()
            time.sleep(0.2)
        return found

    monkeypatch.setattr(ScriptedJob, "state", state)

    with pytest.raises(KeyboardInterrupt):
        scenario.load(workers=2)

    begun = "completed_jobs" if says == "well" else "new_jobs"
    assert scenario.folders() == {"a": "completed_jobs", "b": begun, "c": "new_jobs", "d": "new_jobs"}
    assert scenario.commits() == 0
    monkeypatch.setattr(ScriptedJob, "state", look)
    scenario.load()
    assert sorted(scenario.world.landed) == sorted(tables)


@pytest.mark.usefixtures("_hears_interrupts")
def test_a_second_interrupt_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = sealed_scenario(tmp_path, tables=("a",), with_jobs=("a",))
    release, look = threading.Event(), ScriptedJob.state

    def state(self: ScriptedJob) -> Any:
        for _ in range(2):
            time.sleep(0.3)
            interrupt()
        release.wait(10)
        return look(self)

    monkeypatch.setattr(ScriptedJob, "state", state)

    with pytest.raises(KeyboardInterrupt):
        scenario.load(workers=1)

    assert not release.is_set()
    assert scenario.folders() == {"a": "started_jobs"}
    release.set()


def test_the_error_has_all_jobs_that_failed_concurrently(tmp_path: Path) -> None:
    tables = ("items", "others", "parts")
    scenario = sealed_scenario(
        tmp_path, tables=tables, with_jobs=tables, script={"items": ["failed"], "others": ["failed"]}
    )

    with pytest.raises(LoadClientJobFailed) as caught:
        scenario.load(workers=3)

    facts = vars(caught.value)
    assert facts["failed_jobs"] == {
        "items.x.reference": "items says failed",
        "others.x.reference": "others says failed",
    }
    first = facts["job_id"]
    (other,) = facts["failed_jobs"].keys() - {first}
    assert facts["failed_message"] == facts["failed_jobs"][first]
    assert f"; also failed: {other}" in caught.value.message


@pytest.mark.parametrize("undo", [True, False])
def test_a_chain_with_a_failed_job_can_be_left_out(tmp_path: Path, undo: bool) -> None:
    script: dict[str, list[str]] = {"items": ["terminal"], **({"undo": []} if undo else {})}
    scenario = sealed_scenario(tmp_path, script=script)

    report = scenario.load(raise_on_failed_jobs=False)

    assert [table.table for table in report.tables] == ["others"]
    assert scenario.commits() == 1
    assert scenario.folders() == {
        "items": "failed_jobs",
        "items__tags": "failed_jobs",
        "items__parts": "failed_jobs",
        "others": "completed_jobs",
    }
    messages = {job.job_id.split(".")[0]: job.failed_message for job in report.failed_jobs}
    assert messages["items"] == "items: terminal"
    assert sorted(scenario.world.undone) == (["items__parts", "items__tags"] if undo else [])
    assert ("were rolled back" if undo else "cannot undo") in messages["items__tags"]


def test_a_table_that_does_not_match_its_load_stops_the_load_and_is_not_left_out(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items__tags": ["ahead"]})

    with pytest.raises(LoadClientJobFailed) as caught:
        scenario.load(raise_on_failed_jobs=False)

    assert isinstance(caught.value.__cause__, DestinationAhead)
    assert scenario.commits() == 0


def test_a_run_that_has_lost_its_lease_undoes_nothing(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": ["terminal"], "undo": []})

    def check() -> None:
        if "start items append" in scenario.world.asked:
            raise LeaseLost(epoch=1, host="elsewhere")

    target = replace(scenario.target(), assert_leased=check)
    with pytest.raises(LeaseLost):
        load(scenario.manifest, target, state=STATE, load_settings=QUICK.model_copy(update=LENIENT))

    assert scenario.world.undone == []


def test_the_changes_of_a_failed_job_are_undone(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": ["partly"], "undo": []})

    report = scenario.load(raise_on_failed_jobs=False)

    assert set(scenario.world.undone) == {"items__gone", "items__parts", "items__tags"}
    messages = {job.job_id.split(".")[0]: job.failed_message for job in report.failed_jobs}
    assert messages["items"] == "items says partly (and its rows were rolled back)"


def test_a_partly_applied_job_fails_only_after_its_undo(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": ["partly", "partly"], "undo": ["unknown"]})

    with pytest.raises(LoadClientJobRetry, match="cannot be undone"):
        scenario.load(raise_on_failed_jobs=False)

    assert scenario.folders()["items"] == "started_jobs"
    scenario.load(raise_on_failed_jobs=False)
    assert "items__gone" in scenario.world.undone
    assert scenario.folders()["items"] == "failed_jobs"


def test_a_transient_undo_error_is_retried_by_the_next_run(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": ["terminal"], "undo": ["unknown"]})

    with pytest.raises(LoadClientJobRetry, match="cannot be undone"):
        scenario.load(raise_on_failed_jobs=False)
    assert scenario.commits() == 0
    scenario.load(raise_on_failed_jobs=False)

    assert set(scenario.world.undone) == {"items__parts", "items__tags"}
    assert scenario.commits() == 1


@pytest.mark.parametrize("says", [[], ["unknown"]], ids=["at once", "the second time"])
def test_unrecorded_commits_of_a_chain_that_is_left_out_are_undone(tmp_path: Path, says: list[str]) -> None:
    scenario = sealed_scenario(tmp_path, script={"undo": says})
    storage = scenario.target().packages.normalized_packages
    for table in ("items__tags", "items__parts"):
        storage.start_job("17.5", f"{table}.x.0.reference")
    storage.fail_job("17.5", "items__tags.x.0.reference", "a row is refused")
    scenario.world.landed.append("items__parts")

    if says:
        with pytest.raises(LoadClientJobRetry, match="cannot be undone"):
            scenario.load(raise_on_failed_jobs=False)
        assert scenario.commits() == 0
    report = scenario.load(raise_on_failed_jobs=False)

    assert scenario.world.undone == ["items__parts"]
    assert set(scenario.folders().values()) == {"failed_jobs", "completed_jobs"}
    messages = {job.job_id.split(".")[0]: job.failed_message for job in report.failed_jobs}
    assert "were rolled back" in messages["items__parts"]
    assert "was not run" in messages["items"]


def failed_by_hand(scenario: LoadScenario) -> str:
    """Fail the job that was tried; return its file name."""
    storage = scenario.target().packages.normalized_packages
    ((name, state),) = storage.list_retried_new_jobs("17.5")
    assert state == "new_jobs"
    storage.fail_retried_job("17.5", name)
    return name


@pytest.mark.parametrize("has_landed", [True, False])
def test_a_job_that_was_failed_by_hand_is_left_out_and_what_its_tries_wrote_is_undone(
    tmp_path: Path, has_landed: bool
) -> None:
    scenario = sealed_scenario(tmp_path, script={"others": ["terminal"], "undo": []})
    with pytest.raises(LoadClientJobFailed):
        scenario.load(workers=1)
    failed_by_hand(scenario)
    scenario.world.landed += ["others"] if has_landed else []

    report = scenario.load()

    (failed,) = report.failed_jobs
    assert scenario.world.undone == (["others"] if has_landed else [])
    assert failed.failed_message == "others: terminal (not tried again, and its rows were rolled back)"
    assert scenario.folders()["others"] == "failed_jobs"
    assert {table.table for table in report.tables} == {"items", "items__tags", "items__parts"}


def test_an_undo_error_keeps_a_failed_by_hand_job_for_the_next_run(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"others": ["terminal"], "undo": ["transient"]})
    with pytest.raises(LoadClientJobFailed):
        scenario.load(workers=1)
    failed_by_hand(scenario)
    scenario.world.landed.append("others")

    with pytest.raises(LoadClientJobRetry, match="cannot be undone"):
        scenario.load()
    scenario.load()

    assert scenario.world.undone == ["others"]


def test_a_terminal_undo_error_does_not_block_the_pipeline(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": ["terminal"], "undo": ["terminal", "terminal"]})

    report = scenario.load(raise_on_failed_jobs=False)

    messages = {job.job_id.split(".")[0]: job.failed_message for job in report.failed_jobs}
    assert "its rows remain in their table: items__tags cannot be undone" in messages["items__tags"]
    assert scenario.commits() == 1


def test_a_chain_whose_nested_table_fails_is_left_out_before_its_root_starts(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items__tags": ["terminal"]})

    scenario.load(raise_on_failed_jobs=False)

    assert "items" not in scenario.world.landed
    assert scenario.folders()["items"] == "failed_jobs"


def test_staged_rows_go_to_a_dataset_that_is_truncated_once(tmp_path: Path) -> None:
    scenario = sealed_scenario(
        tmp_path,
        disposition="replace",
        with_jobs=("items", "others"),
        staged=("replace",),
        script={"items": ["transient"] * 5},
    )

    with pytest.raises(LoadClientJobRetry):
        scenario.load()
    scenario.load()

    assert scenario.world.staging == {"items", "others"}
    prepared = [asked for asked in scenario.world.asked if not asked.startswith("staging: start")]
    assert prepared[:5] == [
        "initialize",
        "update items items__tags items__parts others",
        "staging: initialize",
        "staging: update items items__tags items__parts others",
        "staging: truncate items items__tags items__parts others",
    ]
    assert sum("truncate" in asked for asked in scenario.world.asked) == 1, "not again when it is resumed"


def test_follow_up_jobs_run_later_in_the_final_dataset(tmp_path: Path) -> None:
    scenario = sealed_scenario(
        tmp_path,
        disposition="replace",
        staged=("replace",),
        following_jobs={"items__tags"},
        following_chains={"items"},
    )

    report = scenario.load()

    landed = scenario.world.landed
    assert len(landed) == len(TABLES) + 2
    followers = [name for name in landed if name.endswith(".sql")]
    assert landed.index(followers[0]) < landed.index("items"), "a root waits for what follows its children"
    assert landed.index(followers[1]) > landed.index("items")
    assert "follow items items__tags items__parts" in scenario.world.asked
    assert scenario.world.staging == set(TABLES), "jobs that follow others work on both datasets"
    assert set(scenario.folders().values()) == {"completed_jobs"}
    assert {table.table for table in report.tables} == set(TABLES)


def test_a_job_is_not_repeated_when_its_follow_up_jobs_cannot_be_created(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"items": ["broken"]}, following_jobs={"items"})

    with pytest.raises(FollowupJobCreationFailedException, match="no space left"):
        scenario.load()
    assert scenario.folders()["items"] == "started_jobs"
    scenario.load()

    assert scenario.world.asked.count("start items append") == 2, "the job and the one that follows it"
    assert scenario.world.asked.count("restore items") == 1
    assert scenario.world.landed.count("items") == 1


def test_follow_up_jobs_that_cannot_be_created_are_created_by_the_next_run(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, script={"follow items": ["broken"]}, following_chains={"items"})

    with pytest.raises(TableChainFollowupJobCreationFailedException, match="no space left"):
        scenario.load()
    assert scenario.commits() == 0
    scenario.load()

    assert sum(name.endswith(".sql") for name in scenario.world.landed) == 1


@pytest.mark.parametrize(("strategy", "most"), [("sequential", 1), ("parallel", 4)])
def test_concurrent_jobs_are_limited_by_the_destination(tmp_path: Path, strategy: str, most: int) -> None:
    scenario = sealed_scenario(tmp_path, capabilities={"loader_parallelism_strategy": strategy})

    scenario.load(poll_pause=0.5)

    assert 1 <= scenario.world.at_once["most"] <= most
    assert (scenario.world.at_once["most"] == 1) == (strategy == "sequential")


def test_a_destination_may_allow_fewer_jobs_than_the_settings(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path, capabilities={"max_parallel_load_jobs": 1})

    scenario.load(poll_pause=0.02)

    assert scenario.world.at_once["most"] == 1


@pytest.mark.parametrize("script", [{}, {"by_commits": []}], ids=["by statements", "by commits"])
def test_a_too_long_name_is_refused_before_any_job(tmp_path: Path, script: dict[str, list[str]]) -> None:
    scenario = sealed_scenario(tmp_path, capabilities={"max_identifier_length": 8}, script=script)

    with pytest.raises(IdentifierTooLongException, match="items__tags"):
        scenario.load()

    assert scenario.world.landed == []


def test_data_of_interrupted_attempts_is_deleted(tmp_path: Path) -> None:
    scenario = sealed_scenario(
        tmp_path, data=DataFolder(path="data/normalized/second/00000"), script={"others": ["terminal"]}
    )
    package = scenario.target().packages.package("17.5")
    package.jobs.add("items.older.0.reference", b"{}")
    kept = ["data/extracted/00000/rows", "data/normalized/second/00000/rows", "data/sets/items/x/rows"]
    for name in (*kept, "data/normalized/first/00000/rows", "data/normalized/third/00001/rows"):
        package.store.put(name, b"rows")

    with pytest.raises(LoadClientJobFailed):
        scenario.load()

    assert package.store.tree("data") == kept
    assert "items.older.reference" not in scenario.jobs()
    scenario.load()
    assert "items.older.reference" not in scenario.world.jobs, "and none of them was run"
    assert set(scenario.folders().values()) == {"completed_jobs"}


def test_a_missing_job_file_is_reported(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path)
    scenario.target().packages.package("17.5").store.delete("new_jobs/others.x.0.reference")

    with pytest.raises(PackageDamaged, match=r"others\.x\.reference"):
        scenario.load()


def test_a_load_in_the_ledger_is_only_finished(tmp_path: Path) -> None:
    scenario = sealed_scenario(tmp_path)
    scenario.load()
    (tmp_path / "packages" / "packages" / "17.5" / "package_completed.json").unlink()
    scenario.world.asked.clear()

    finish_committed_load(scenario.manifest, scenario.target(), state=STATE)

    assert scenario.world.asked == []
    assert scenario.world.completed == ["17.5", "17.5"], "marking twice does no harm"
    assert scenario.target().packages.package("17.5").status == "loaded"


def check_complete(scenario: LoadScenario) -> None:
    """Check that every table has its rows once."""
    landed = scenario.world.landed
    tables = [name for name in landed if not name.endswith(".sql")]
    assert sorted(tables) == sorted(TABLES)
    assert len([name for name in landed if name.endswith(".sql")]) == 2
    assert landed.index("items") > max(landed.index("items__tags"), landed.index("items__parts"))
    assert scenario.commits() == 1
    assert set(scenario.world.completed) == {"17.5"}
    assert sum("truncate" in asked for asked in scenario.world.asked) >= 1
    assert scenario.world.staging == set(TABLES)
    assert scenario.target().packages.package("17.5").status == "loaded"
    assert not [path for path in scenario.jobs().values() if not path.startswith("completed_jobs/")]


def followed(folder: Path) -> LoadScenario:
    return sealed_scenario(
        folder,
        memory=MemoryFiles(),
        disposition="replace",
        staged=("replace",),
        following_jobs={"items__tags"},
        following_chains={"items"},
    )


def crash_and_resume(
    scenario: LoadScenario, deaths: list[tuple[int, bool]], rules: LoaderConfiguration = QUICK
) -> None:
    for left, after in deaths:
        with suppress(Crash):
            target = scenario.target(scenario.crashing_files(left, after=after))
            if target.ledger.find_commit(schema_name="shop", load_id="17.5") is None:
                load(scenario.manifest, target, state=STATE, load_settings=rules)
    target = scenario.target()
    if target.ledger.find_commit(schema_name="shop", load_id="17.5") is None:
        load(scenario.manifest, target, state=STATE, load_settings=rules)
    else:
        finish_committed_load(scenario.manifest, target, state=STATE)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_after_a_crash_at_any_write_the_next_process_completes_the_load(tmp_path: Path, after: bool) -> None:
    scenario = followed(tmp_path / "whole")
    files = scenario.crashing_files()
    load(scenario.manifest, scenario.target(files), state=STATE, load_settings=QUICK)
    check_complete(scenario)
    assert files.changes > 30

    for left in range(1, files.changes + 1):
        scenario = followed(tmp_path / f"{left}")
        crash_and_resume(scenario, [(left, after)])
        check_complete(scenario)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_chain_is_complete_or_left_out_wherever_the_process_dies(tmp_path: Path, after: bool) -> None:
    rules = QUICK.model_copy(update={"raise_on_failed_jobs": False})
    left = 0
    while True:
        left += 1
        script = {"items": ["terminal"], "undo": list[str]()}
        scenario = sealed_scenario(tmp_path / f"{left}", memory=MemoryFiles(), script=script)
        files = scenario.crashing_files(left, after=after)
        with suppress(Crash):
            load(scenario.manifest, scenario.target(files), state=STATE, load_settings=rules)
        if files.changes < left:
            break
        crash_and_resume(scenario, [], rules)

        ends = {table: scenario.folders()[table] for table in TABLES if table != "others"}
        assert len(set(ends.values())) == 1, f"{left}: {ends}"
        is_left_out = "failed_jobs" in ends.values()
        taken_back = set(scenario.world.undone)
        assert taken_back == (set(scenario.world.landed) - {"others"} if is_left_out else set())
        assert scenario.commits() == 1
    assert left > 25


@given(deaths=st.lists(st.tuples(st.integers(1, 60), st.booleans()), max_size=6))
def test_a_load_is_completed_after_any_number_of_crashes(
    deaths: list[tuple[int, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    scenario = followed(tmp_path_factory.mktemp("load"))

    crash_and_resume(scenario, deaths)

    check_complete(scenario)
