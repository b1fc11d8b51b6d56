"""A destination that follows a script and records its calls."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from penstock.errors import (
    BatchFailed,
    CommitRolledBack,
    DestinationAhead,
    DestinationTerminalException,
    LoadClientTerminalException,
    LoadClientTransientException,
)
from penstock.interfaces import (
    AppliedJob,
    Destination,
    DestinationCapabilitiesContext,
    DestinationClientConfiguration,
    FollowupJob,
    JobClientBase,
    LoadJob,
    LoadMark,
    NewLoadJob,
    ParsedLoadJobFileName,
    PreparedTables,
    WithLedger,
    WithStagingDataset,
    WithStateSync,
    WithTableDrop,
    WithTablesByCommit,
    WithUndo,
    renewal_of,
)
from penstock.package import load_package

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from penstock.interfaces import Ledger, StateInfo, StorageSchemaInfo, TLoadJobState
    from penstock.schema import Schema, Table, TSchemaTables, TTableSchema, TWriteDisposition

RAISED: dict[str, Callable[[str], Exception]] = {
    "transient": LoadClientTransientException,
    "progress": lambda text: BatchFailed(table=text, batch_number=3, reason="busy", sent=3),
    "terminal": LoadClientTerminalException,
    "unknown": RuntimeError,
    "assertion": AssertionError,
    "ahead": lambda table: DestinationAhead(table=table, sequence=1),
}


@dataclass
class World:
    """The destination, which survives a crash of the process."""

    folder: Path
    script: dict[str, list[str]] = field(default_factory=dict)
    """The results of the tries of a table's jobs, in order; later tries succeed."""
    staged: tuple[str, ...] = ()
    following_jobs: set[str] = field(default_factory=set)
    following_chains: set[str] = field(default_factory=set)
    capabilities: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    landed: list[str] = field(default_factory=list)
    """Tables in the order in which jobs took effect; each job does once."""
    jobs: set[str] = field(default_factory=set)
    staging: set[str] = field(default_factory=set)
    completed: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)
    moved_on: set[str] = field(default_factory=set)
    fenced: list[str] = field(default_factory=list)
    rolled_back: set[str] = field(default_factory=set)
    overwritten: list[str] = field(default_factory=list)
    """Tables whose first commit another writer overwrites."""
    late: list[str] = field(default_factory=list)
    """Tables that a late process commits to right before their fence."""
    at_once: Counter[str] = field(default_factory=Counter)
    on_complete: Callable[[], None] = lambda: None
    states: list[Any] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    made: int = 0
    ledger: Ledger | None = None
    """The ledger; None for one beside the packages."""

    def destination(self) -> Destination:
        return Destination("scripted", ScriptedReference(self))

    def next_of(self, table: str) -> str:
        with self.lock:
            left = self.script.get(table, [])
            return left.pop(0) if left else "well"

    def land(self, name: ParsedLoadJobFileName, *, staging: bool) -> None:
        with self.lock:
            if name.job_id() not in self.jobs:
                self.jobs.add(name.job_id())
                what = name.table_name if name.file_format == "reference" else str(name)
                self.landed.append(what)
                if staging:
                    self.staging.add(what)

    def new_file(self, table: str) -> Path:
        """Return a follow-up job file with a new name, as third-party code would."""
        with self.lock:
            self.made += 1
            path = self.folder / f"{table}.follow{self.made}.0.sql"
        path.write_text("")
        return path


class NoSessions:
    """A session provider without sessions: the script needs no Spark."""

    def session(self) -> AbstractContextManager[SparkSession]:
        return nullcontext(cast("SparkSession", None))

    deferred_session = session


class ScriptedReference:
    def __init__(self, world: World) -> None:
        self._world = world

    def capabilities(self) -> DestinationCapabilitiesContext:
        return DestinationCapabilitiesContext(
            **{
                "supported_write_dispositions": ("append", "replace"),
                "supported_merge_strategies": (),
                "supported_replace_strategies": (),
                "max_identifier_length": 20,
                "max_column_identifier_length": 20,
                "has_case_sensitive_identifiers": True,
                "spark_needs": (),
                **self._world.capabilities,
            }
        )

    def client(
        self, schema: Schema, initial_config: Any = None, *, spark: SparkSession | None = None
    ) -> ScriptedClient:
        del spark
        kind = UndoingClient if "undo" in self._world.script else ScriptedClient
        kind = DroppingClient if "drop" in self._world.script else kind
        kind = CommittingClient if "by_commits" in self._world.script else kind
        kind = RecordingClient if self._world.ledger is not None else kind
        kind = SyncingClient if "sync" in self._world.script else kind
        return kind(schema, initial_config, self.capabilities(), self._world)

    def spec(self) -> type[DestinationClientConfiguration]:
        return DestinationClientConfiguration


class ScriptedClient(JobClientBase, WithStagingDataset):
    def __init__(
        self,
        schema: Schema,
        config: DestinationClientConfiguration,
        capabilities: DestinationCapabilitiesContext,
        world: World,
    ) -> None:
        super().__init__(schema, config, capabilities)
        self._world, self._staging = world, False

    def _say(self, what: str) -> None:
        self._world.asked.append(f"staging: {what}" if self._staging else what)

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        self._say(f"truncate {' '.join(truncate_tables)}" if truncate_tables else "initialize")

    def is_storage_initialized(self) -> bool:
        return "initialize" in self._world.asked

    def drop_storage(self) -> None:
        self._say("drop")

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        self._say(f"update {' '.join(only_tables or ())}")
        return super().update_stored_schema(only_tables, expected_update)

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        assert load_package()["load_id"] == load_id
        renewed = f" anew: {how}" if (how := renewal_of(table["name"], self.schema.tables)) else ""
        self._say(f"start {table['name']} {table['write_disposition']}{renewed}")
        return self._job(file_path)

    def restore_file_load(self, file_path: str) -> LoadJob:
        self._say(f"restore {ParsedLoadJobFileName.parse(file_path).table_name}")
        return self._job(file_path)

    def _job(self, file_path: str) -> LoadJob:
        return ScriptedJob(self._world, file_path, staging=self._staging)

    def create_table_chain_completed_followup_jobs(
        self, table_chain: Sequence[TTableSchema]
    ) -> list[NewLoadJob]:
        root = table_chain[0]["name"]
        self._say(f"follow {' '.join(table['name'] for table in table_chain)}")
        if "broken" in self._world.script.get(f"follow {root}", ()):
            self._world.script[f"follow {root}"].remove("broken")
            raise OSError("no space left")
        return [Request(self._world, root)] if root in self._world.following_chains else []

    def complete_load(self, load_id: str) -> None:
        self._world.on_complete()
        state: Any = load_package()["state"]
        self._world.states.append(state["pipeline_state"]["state"])
        self._world.completed.append(load_id)

    def get_stage_dispositions(self) -> list[TWriteDisposition]:
        return list(self._world.staged)  # type: ignore[arg-type]

    @contextmanager
    def with_staging_dataset(self) -> Iterator[JobClientBase]:
        self._staging = True
        yield self
        self._staging = False


class UndoingClient(ScriptedClient, WithUndo):
    def to_undo(self, table: str, mark: LoadMark) -> AppliedJob | None:
        assert mark.load_id
        if table in self._world.moved_on:
            raise DestinationTerminalException(f"{table} was changed")
        if table not in self._world.landed or table in self._world.undone:
            return None
        return AppliedJob(table=table, version_before=6, version_after=7)

    def undo(self, applied: AppliedJob, load_id: str) -> None:
        assert load_id
        if says := self._world.script["undo"]:
            raise RAISED[says.pop(0)](f"{applied.table} cannot be undone")
        if self._world.undone[-1:] != [applied.table]:
            self._world.undone.append(applied.table)

    def fence(self, table: str, mark: LoadMark) -> None:
        assert mark.load_id
        self._world.landed += [table] if table in self._world.late else []
        self._world.fenced.append(table)

    def verify(self, applied: AppliedJob, mark: LoadMark) -> None:
        if applied.table in self._world.rolled_back:
            raise CommitRolledBack(table=applied.table, load_id=mark.load_id, version=applied.version_after)

    def is_overwritten(self, applied: AppliedJob, mark: LoadMark) -> bool:
        assert mark.load_id
        if applied.table not in self._world.overwritten:
            return False
        self._world.overwritten.remove(applied.table)
        self._world.jobs = {job for job in self._world.jobs if not job.startswith(f"{applied.table}.")}
        return True


class CommittingClient(ScriptedClient, WithTablesByCommit):
    """A client that changes the first table by a statement, and the others by the commits of their rows."""

    def prepare_tables(
        self,
        tables: Sequence[str],
        *,
        with_rows: Collection[str],
        expected_update: TSchemaTables,
        stored_tables: Mapping[str, Table],
    ) -> PreparedTables:
        first, *others = tables
        self._say(f"prepare {' '.join(tables)}")
        by_commits = {name: expected_update[name] for name in others if name in with_rows}
        return PreparedTables(applied={first: expected_update[first]}, by_commits=by_commits)


class DroppingClient(ScriptedClient, WithTableDrop):
    def drop_tables(self, *tables: str) -> None:
        self._say(f"drop {' '.join(tables)}")
        if says := self._world.script["drop"]:
            raise RAISED[says.pop(0)](f"{' '.join(tables)} cannot be dropped")


class RecordingClient(ScriptedClient, WithLedger):
    def ledger(self) -> Ledger:
        assert self._world.ledger is not None
        return self._world.ledger


class SyncingClient(ScriptedClient, WithStateSync):
    """A client that stores schemas and states, and no ledger."""

    def is_storage_initialized(self) -> bool:
        return True

    def get_stored_schema(self) -> StorageSchemaInfo | None:
        assert self._world.ledger is not None
        return self._world.ledger.last_schema(self.schema.name)

    def get_stored_state(self, pipeline_name: str) -> StateInfo | None:
        assert self._world.ledger is not None
        return self._world.ledger.last_state(pipeline_name)


class ScriptedJob(LoadJob, FollowupJob):
    def __init__(self, world: World, file_path: str, *, staging: bool) -> None:
        super().__init__(ParsedLoadJobFileName.parse(file_path).file_name())
        self._world, self._staging = world, staging
        self._name, self._path, self._has_ended = ParsedLoadJobFileName.parse(file_path), file_path, False
        self._says = world.next_of(self._name.table_name)
        if self._says in RAISED:
            raise RAISED[self._says](f"{self._name.table_name}: {self._says}")
        with world.lock:
            world.at_once["now"] += 1
            world.at_once["most"] = max(world.at_once["most"], world.at_once["now"])
        self._looks = 0

    def state(self) -> TLoadJobState:
        """Return running at the first poll, and the end at the second."""
        self._looks += 1
        with self._world.lock:
            self._world.at_once["looks"] += 1
            self._world.at_once["looks without a file"] += not Path(self._path).exists()
            self._world.at_once["looks after the end"] += self._has_ended
            if self._looks == 1:
                return "running"
            self._world.at_once["now"] -= 1
        self._has_ended = True
        if self._says in {"retry", "failed", "partly"}:
            return "retry" if self._says == "retry" else "failed"
        self._world.land(self._name, staging=self._staging)
        return "completed"

    def exception(self) -> str:
        assert self._says in {"retry", "failed", "partly"}, "only jobs that did not succeed are asked why"
        return f"{self._name.table_name} says {self._says}"

    def applied(self) -> Sequence[AppliedJob]:
        if self._says == "partly":
            return (AppliedJob(table=f"{self._name.table_name}__gone", version_before=1, version_after=2),)
        return (AppliedJob(table=self._name.table_name, rows=3),) if self._name.file_format != "sql" else ()

    def create_followup_jobs(self, final_state: TLoadJobState) -> Sequence[NewLoadJob]:
        assert final_state == "completed"
        if self._says == "broken":
            raise OSError("no space left")
        is_followed = self._name.table_name in self._world.following_jobs and self._name.file_format != "sql"
        return (Request(self._world, self._name.table_name), NoRequest(self._world)) if is_followed else ()


class Request(NewLoadJob):
    def __init__(self, world: World, table: str) -> None:
        self._path = world.new_file(table)
        super().__init__(self._path.name)

    def new_file_path(self) -> str:
        return str(self._path)

    def state(self) -> TLoadJobState:
        return "completed"

    def exception(self) -> str:
        return ""


class NoRequest(Request):
    """An empty request."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "nothing")

    def new_file_path(self) -> str:
        return ""
