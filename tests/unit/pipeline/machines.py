"""Two machines that run one pipeline; a call can be stalled at any durable write while others continue.

Everything is real but three things: object storage is in memory, the clock of the lease is virtual, and
normalize, which needs Spark, has a stand-in. Tables follow the rules of Delta: a commit carries the number of
its load, and a number that is not above the last one is skipped.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import fsspec
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from tests.unit.pipeline.fake_session import fake_session

import penstock
from penstock.errors import DestinationAhead
from penstock.interfaces import (
    AppliedJob,
    Destination,
    DestinationCapabilitiesContext,
    DestinationClientConfiguration,
    JobClientBase,
    LoadJob,
    ParsedLoadJobFileName,
    WithPackageStorage,
)
from penstock.normalize.normalized import NormalizedPackage
from penstock.package import (
    DataFolder,
    FileStorage,
    JobFile,
    Packages,
    Projection,
    TableEntry,
    lease,
    read_job,
)
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.file_ledger import FileLedger
from penstock.package.ids import file_id
from penstock.package.projection.model import Level
from penstock.pipeline import execution
from penstock.pipeline.state import decode_state
from penstock.schema import Schema, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from penstock.interfaces import LoadMark, TLoadJobState
    from penstock.load.report import LoadInfo
    from penstock.package import Package

ALIVE = 60_000.0
"""Seconds of the virtual clock after which a lease is taken over. No thread of a lease beats in real time."""
When = Literal["before", "after", "late"]
"""A write is made after the stall, before it, or fails for the caller and is made much later."""


class Crash(BaseException):
    """The process ends here."""


class Clock:
    """The clock of the lease, for all machines."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def pass_time(self) -> None:
        self.now += 3 * ALIVE

    def sleep(self, _: float) -> None:
        self.now += ALIVE / 2

    def as_module(self) -> Any:
        return SimpleNamespace(time=lambda: self.now, sleep=self.sleep)


@dataclass(frozen=True, slots=True)
class Stall:
    """A write at which a call stalls, and what becomes of the write."""

    kind: str = ""
    """A part of its name; the empty text for any write."""
    at: int = 1
    """The number of the write among those of its kind, counted from the last stall."""
    when: When = "before"


class Call:
    """A call of a pipeline in a separate thread. Either the call works or the test does, never both."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act = act
        self._resumed, self._returned = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._stall: Stall | None = None
        self._count = 0
        self._is_dead = False
        self.writes: list[str] = []
        self.late: list[Callable[[], Any]] = []
        """Writes that the storage makes when the test calls `land`."""
        self.has_ended = False
        self.value: Any = None
        self.error: BaseException | None = None

    def proceed(self, stall: Stall | None = None) -> bool:
        """Work until the stall or the end; returns whether it is the end."""
        self._stall, self._count = stall, 0
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._resumed.release()
        assert self._returned.acquire(timeout=120), f"the call hangs after {self.writes[-3:]}"
        return self.has_ended

    def kill(self) -> None:
        """End the call where it is stalled; it makes no write any more."""
        self._is_dead = True
        self.proceed()

    def write(self, name: str, make: Callable[[], Any]) -> Any:
        if self._is_dead:
            raise Crash
        self.writes.append(name)
        stall = self._stall
        self._count += stall is not None and stall.kind in name
        if stall is None or stall.kind not in name or self._count != stall.at:
            return make()
        if stall.when == "late":
            self.late.append(make)
            raise TimeoutError(f"no answer to {name}")
        if stall.when == "before":
            self._pause()
            return make()
        value = make()
        self._pause()
        return value

    def _pause(self) -> None:
        self._returned.release()
        self._resumed.acquire()
        if self._is_dead:
            raise Crash

    def _run(self) -> None:
        _calling.set(self)
        try:
            self.value = self._act()
        except BaseException as error:  # the test looks at it
            self.error = error
        self.has_ended = True
        self._returned.release()


_calling: ContextVar[Call | None] = ContextVar("calling", default=None)


def durable(name: str, make: Callable[[], Any]) -> Any:
    """Make a write, at which the call that makes it may be stalled."""
    call = _calling.get()
    return make() if call is None else call.write(name, make)


class StallingSystem(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Object storage in memory: each request that changes something is a point to stall at."""

    store: dict[str, Any] = {}  # noqa: RUF012 - shared by all instances, as in the class above
    pseudo_dirs = [""]  # noqa: RUF012 - as above

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        make = super().pipe_file
        durable(f"put {path}", lambda: make(path, value, mode=mode, **options))

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        make = super().cp_file
        durable(f"copy {path2}", lambda: make(path1, path2, **options))

    def rm_file(self, path: str) -> None:
        make = super().rm_file
        durable(f"delete {path}", lambda: make(path) if self.isfile(path) else None)


@dataclass
class Commit:
    mark: LoadMark
    rows: list[int]


class Warehouse:
    """Tables of one destination: each a list of commits, and a commit is atomic."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.tables: dict[str, list[Commit]] = {}

    def destination(self) -> Destination:
        return Destination("warehouse", WarehouseReference(self))

    def rows(self, table: str) -> list[int]:
        return sorted(row for commit in self.tables.get(table, []) for row in commit.rows)

    def append(self, table: str, mark: LoadMark, rows: list[int]) -> bool:
        """Returns whether the commit was made; one that exists is skipped."""
        commits = self.tables.setdefault(table, [])
        if any(commit.mark == mark for commit in commits):
            return False
        if commits and commits[-1].mark.sequence >= mark.sequence:
            raise DestinationAhead(table=table, sequence=mark.sequence)
        commits.append(Commit(mark, rows))
        return True


class WarehouseReference:
    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse

    def capabilities(self) -> DestinationCapabilitiesContext:
        return DestinationCapabilitiesContext(
            supported_write_dispositions=("append",),
            supported_merge_strategies=(),
            supported_replace_strategies=(),
            max_identifier_length=60,
            max_column_identifier_length=60,
            has_case_sensitive_identifiers=True,
            spark_needs=(),
        )

    def client(self, schema: Schema, initial_config: Any = None, *, spark: Any = None) -> WarehouseClient:
        del spark
        return WarehouseClient(schema, initial_config, self.capabilities(), self._warehouse)

    def spec(self) -> type[DestinationClientConfiguration]:
        return DestinationClientConfiguration


class WarehouseClient(JobClientBase, WithPackageStorage):
    def __init__(self, schema: Schema, config: Any, capabilities: Any, warehouse: Warehouse) -> None:
        super().__init__(schema, config, capabilities)
        self._warehouse = warehouse

    def package_root(self, pipeline_name: str) -> str:
        return f"{self._warehouse.root}/{pipeline_name}"

    def initialize_storage(self, truncate_tables: Any = None) -> None:
        assert not truncate_tables

    def is_storage_initialized(self) -> bool:
        return True

    def drop_storage(self) -> None:
        raise NotImplementedError

    def start_file_load(self, table: Any, file_path: str, load_id: str) -> LoadJob:
        del load_id
        return AppendJob(self._warehouse, table["name"], file_path)

    def restore_file_load(self, file_path: str) -> LoadJob:
        return AppendJob(self._warehouse, ParsedLoadJobFileName.parse(file_path).table_name, file_path)

    def complete_load(self, load_id: str) -> None:
        del load_id


class AppendJob(LoadJob):
    def __init__(self, warehouse: Warehouse, table: str, file_path: str) -> None:
        super().__init__(ParsedLoadJobFileName.parse(file_path).file_name())
        job = read_job(file_path)
        assert job.mark is not None
        mark, self._table = job.mark, table
        rows = landed_rows(FileStorage(job.package_path), job.data.path)
        assert len(rows) == job.rows, f"{len(rows)} of {job.rows} rows are in the package"
        self._rows = len(rows)
        self._is_new = durable(f"commit {table}", lambda: warehouse.append(table, mark, rows))

    def state(self) -> TLoadJobState:
        return "completed"

    def exception(self) -> str:
        return ""

    def applied(self) -> Sequence[AppliedJob]:
        return (AppliedJob(table=self._table, rows=self._rows, skipped=not self._is_new),)


def landed_rows(store: FileStorage, folder: str) -> list[int]:
    """The ids of the rows in the files that extract has written."""
    rows: list[int] = []
    for name in store.tree(folder):
        with store.open(name) as stream:
            rows += [json.loads(text)["id"] for text in pq.read_table(stream).column("row").to_pylist()]
    return rows


def normalize_without_spark(package: Package, schema: Schema, **_: Any) -> NormalizedPackage:
    """One job for each table that was extracted; its rows stay in the files they were written to."""
    extracted, after = ExtractManifest.from_dict(package.read_extracted()), schema.clone()
    entries, folders = [], []
    for table in (table for table in extracted.tables if table.rows):
        name = ParsedLoadJobFileName(
            table.table, file_id(package.load_id, uuid.uuid4().hex, table.table), 0, "reference"
        )
        folder = DataFolder(path=table.folder)
        package.add_job(
            JobFile(
                name=name,
                load_id=package.load_id,
                package_path=package.path,
                data=folder,
                columns="row STRING",
                projection=Projection(levels=(Level(table=table.table),)),
                rows=table.rows,
            )
        )
        entries.append(
            TableEntry(
                table=table.table,
                job=name.file_name(),
                write_disposition="append",
                data=table.folder,
                rows=table.rows,
            )
        )
        folders.append(folder)
        seen = {"x-normalizer": {"seen-data": True}, "write_disposition": "append"}
        after.update_table(
            Table.from_dict({"name": table.table, "columns": {"id": {"data_type": "bigint"}}, **seen})
        )
    return NormalizedPackage(tables=tuple(entries), folders=tuple(folders), schema=after)


Operation = Literal["run", "extract", "normalize", "load", "collect"]
OPERATIONS: tuple[Operation, ...] = ("run", "extract", "normalize", "load", "collect")
MACHINES = ("one", "two")


@dataclass
class World:
    """A source, a destination, and machines with a disk each."""

    folder: Path
    clock: Clock
    root: str = field(default_factory=lambda: f"memory://{uuid.uuid4().hex[:12]}")
    available: int = 0
    """`items` has so many rows; a run reads those behind the cursor."""
    collected: int = 0
    """`events` are read once, without a destination, and wait on their machine: each call gets new ones."""
    owed: set[int] = field(default_factory=set)
    """Events of calls that have reported success."""
    calls: dict[str, Call] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    last_error: BaseException | None = None
    history: list[str] = field(default_factory=list)
    """The log of the schedule, for people who debug a failure."""
    _promises: dict[str, Callable[[], None]] = field(default_factory=dict)
    _late: list[Callable[[], Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.warehouse = Warehouse(f"{self.root}/lake")

    # --- what machines do

    def begin(self, machine: str, operation: Operation, stall: Stall | None = None) -> bool:
        """Call the pipeline on a machine; returns whether the call has ended."""
        self.history.append(f"{machine} begins to {operation} with {self.available} rows")
        act, self._promises[machine] = getattr(self, f"_{operation}")(machine)
        self.calls[machine] = Call(act)
        return self.proceed(machine, stall)

    def proceed(self, machine: str, stall: Stall | None = None) -> bool:
        """Let a call that is stalled continue."""
        call = self.calls[machine]
        has_ended = call.proceed(stall)
        if has_ended:
            self._end(machine)
        what = f"ends with {call.error!r:.200}" if has_ended else f"stalls {stall} at {call.writes[-1]}"
        self.history.append(f"{machine} {what}, {len(call.late)} writes late")
        return has_ended

    def kill(self, machine: str) -> None:
        """A process dies where it is stalled."""
        self.history.append(f"{machine} dies")
        self.calls[machine].kill()
        self._end(machine)

    def land(self) -> None:
        """The storage makes the writes that it had not answered."""
        self.history.append(f"{len(self._late)} writes land")
        for make in self._late:
            try:
                make()
            except OSError as error:  # such as a name that is taken by now: nothing hears of it
                self.outcomes[f"late: {type(error).__name__}"] += 1
        self._late.clear()

    def _end(self, machine: str) -> None:
        call = self.calls.pop(machine)
        self._late += call.late
        error = self.last_error = call.error
        self.outcomes[type(error).__name__ if error else "success"] += 1
        if error is None:
            self._promises[machine]()
        elif not isinstance(error, penstock.errors.PenstockError | Crash):
            raise error

    def _pipeline(self, machine: str, *, has_destination: bool = True) -> penstock.Pipeline:
        disk = self.folder / machine
        # Read when a call begins. What waits for a destination is a point to stall at too.
        os.environ["EXTRACT__PACKAGE_STORAGE"] = f"{self.root}/{machine}"
        if not has_destination:
            return penstock.pipeline("shop", disk, dataset_name="lake")
        return penstock.pipeline(
            "shop",
            disk,
            dataset_name="lake",
            destination=self.warehouse.destination(),
            spark=fake_session(),
        )

    def _items(self) -> Any:
        def items() -> Iterator[dict[str, int]]:
            state = penstock.current.resource_state()
            rows = range(state.get("next", 0), self.available)
            state["next"] = self.available
            yield from ({"id": row} for row in rows)

        return penstock.source(lambda: penstock.resource(items, name="items"), name="shop")()

    def _run(self, machine: str) -> tuple[Callable[[], Any], Callable[[], None]]:
        available = set(range(self.available))
        infos: list[LoadInfo] = []

        def promise() -> None:
            missing = available - set(self.warehouse.rows("items"))
            has_reported = infos[0].has_unextracted_data
            assert not missing or has_reported, f"a run reports success without rows {sorted(missing)}"

        return lambda: infos.append(self._pipeline(machine).run(self._items())), promise

    def _extract(self, machine: str) -> tuple[Callable[[], Any], Callable[[], None]]:
        loads: list[str] = []

        def act() -> None:
            loads.extend(self._pipeline(machine).extract(self._items()).loads_ids)

        def promise() -> None:
            packages = self.packages()
            pending = packages.pending_packages()
            complete = FileLedger(packages.store.subfolder("ledger")).complete_loads()
            counting = {package.load_id for package in pending} | {load.load_id for load in complete}
            assert counting.issuperset(loads), f"packages {loads} are reported, and {counting} count"

        return act, promise

    def _normalize(self, machine: str) -> tuple[Callable[[], Any], Callable[[], None]]:
        return lambda: self._pipeline(machine).normalize(), lambda: None

    def _load(self, machine: str) -> tuple[Callable[[], Any], Callable[[], None]]:
        return lambda: self._pipeline(machine).load(), lambda: None

    def _collect(self, machine: str) -> tuple[Callable[[], Any], Callable[[], None]]:
        events = range(self.collected, self.collected + 2)
        self.collected += 2

        def act() -> None:
            rows = penstock.resource([{"id": event} for event in events], name="events")
            # A source of its own: a package that waited says what its source remembers, and no other.
            queue = penstock.source(lambda: rows, name="queue")
            self._pipeline(machine, has_destination=False).extract(queue())

        return act, lambda: self.owed.update(events)

    # --- what is true in the end

    def packages(self) -> Packages:
        return Packages.at(f"{self.warehouse.root}/shop")

    def settle(self) -> None:
        """End every call, land every write, and run twice more on each machine."""
        for machine in list(self.calls):
            self.proceed(machine)
        self.land()
        self.clock.pass_time()
        for machine in MACHINES * 2:  # a run may only load what is pending
            before = self.outcomes["success"]
            assert self.begin(machine, "run")
            assert self.outcomes["success"] > before, f"no run succeeds any more: {self.last_error!r}"
        self.check()

    def check(self) -> None:
        """Every row is in its table once, the state agrees with the tables, and nothing waits."""
        items = self.warehouse.rows("items")
        assert items == list(range(self.available)), f"{items} are in the table of {self.available} rows"
        events = self.warehouse.rows("events")
        assert len(events) == len(set(events)), f"events are in the table twice: {events}"
        assert self.owed <= set(events), f"{sorted(self.owed - set(events))} of {sorted(self.owed)} are lost"
        packages = self.packages()
        stored = FileLedger(packages.store.subfolder("ledger")).last_state("shop")
        sources = decode_state(stored.state)["sources"] if stored else {}
        cursor = sources.get("shop", {}).get("resources", {}).get("items", {}).get("next", 0)
        assert cursor == self.available, f"the cursor is at {cursor} of {self.available}"
        assert packages.unsealed_packages() == []
        assert packages.pending_load() is None


@contextmanager
def machines(folder: Path) -> Iterator[Callable[[], World]]:
    """Make worlds, for the time of a block."""
    clock = Clock()
    number = 0

    def make() -> World:
        nonlocal number
        number += 1
        return World(folder / str(number), clock)

    fsspec.register_implementation("memory", StallingSystem, clobber=True)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lease, "_now", lambda: clock.now)
            patch.setattr(lease, "time", clock.as_module())
            patch.setattr(execution, "normalize", normalize_without_spark)
            for name, value in (
                ("LEASE_BEAT", str(ALIVE / 3)),
                ("LEASE_ALIVE", str(ALIVE)),
                ("KEEP_PACKAGES", "0"),
                ("PENDING", "continue"),
            ):
                patch.setenv(f"RUN__{name}", value)
            patch.setenv("EXTRACT__PACKAGE_STORAGE", "")
            patch.setenv("LOAD__RETRY_PAUSE", "0")
            patch.setenv("LOAD__WORKERS", "1")
            yield make
    finally:
        fsspec.register_implementation("memory", MemoryFileSystem, clobber=True)
        StallingSystem.store.clear()
        StallingSystem.pseudo_dirs[:] = [""]
