"""Cases for every load: exactly once, all or nothing, and no lost rows."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.config import config_value
from penstock.destinations.lake.dataset import DatasetClient
from penstock.interfaces import Destination, WithAtomicCommit, WithTableVersions
from penstock.schema.defaults import SYSTEM_PREFIX
from penstock.sources.decorators import resource
from penstock.testing.bench import ROOT_TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from penstock.interfaces import (
        DestinationCapabilitiesContext,
        DestinationClientConfiguration,
        DestinationReference,
        JobClientBase,
        LoadJob,
        TRefreshMode,
    )
    from penstock.schema import Schema, TTableSchema
    from penstock.testing.bench import Bench

_ROWS: Final = [{"id": 1, "name": "a", "tags": ["x", "y"]}, {"id": 2, "name": "b", "tags": ["z"]}]
_UPDATED_ROWS: Final = [{"id": 1, "name": "new", "tags": ["w"]}]


class Crash(BaseException):
    """A simulated death of the process: nothing after it is executed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDefinition:
    """A property of every destination."""

    name: str
    promise: str
    check: Callable[[Bench], None]
    needs: tuple[str, ...] = ()


class CrashingDestination:
    """A destination whose process dies before or after its n-th step."""

    def __init__(self, reference: DestinationReference, *, at: int, after: bool) -> None:
        self._reference, self._crash_step, self._after = reference, at, after
        self._lock = threading.Lock()
        self.steps = 0

    def capabilities(self) -> DestinationCapabilitiesContext:
        """Return the capabilities of the wrapped destination."""
        return self._reference.capabilities()

    def spec(self) -> type[DestinationClientConfiguration]:
        """Return the settings class of the wrapped destination."""
        return self._reference.spec()

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> JobClientBase:
        """A client whose jobs and whose completion of a load are steps."""
        client: Any = self._reference.client(schema, initial_config, spark=spark)
        start, restore, complete = client.start_file_load, client.restore_file_load, client.complete_load

        def started(table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
            job: LoadJob = self._step(lambda: _wait_for_end(start(table, file_path, load_id)))
            return job

        def restored(file_path: str) -> LoadJob:
            job: LoadJob = self._step(lambda: _wait_for_end(restore(file_path)))
            return job

        client.start_file_load, client.restore_file_load = started, restored
        client.complete_load = lambda load_id: self._step(lambda: complete(load_id))
        if isinstance(client, WithAtomicCommit):
            commit = client.commit_load
            client.commit_load = lambda load: self._step(lambda: commit(load))  # type: ignore[method-assign] # a step
        client_base: JobClientBase = client
        return client_base

    def _step(self, act: Callable[[], Any]) -> Any:
        with self._lock:
            self.steps += 1
            dies = self.steps == self._crash_step
        if dies and not self._after:
            raise Crash
        done = act()
        if dies:
            raise Crash
        return done


def _wait_for_end(job: LoadJob) -> LoadJob:
    """Wait for a job in another system, so that its effect is decided before the process dies."""
    while job.state() == "running":
        threading.Event().wait(0.01)
    return job


def _check_crash_at_each_step(bench: Bench, expected: dict[str, Any], **hints: Any) -> None:
    """Crash at every step in turn; the next process must end as if there was no crash."""
    at, steps = 1, 2
    while at <= steps:
        for after in (False, True):
            crashed_bench = bench.of_case(f"{at}-{'after' if after else 'before'}")
            crashed_bench.load(_ROWS, **hints)
            mortal = CrashingDestination(crashed_bench.destination.reference, at=at, after=after)
            dying = crashed_bench.with_destination(
                Destination(
                    crashed_bench.destination.destination_name, mortal, crashed_bench.destination.arguments
                )
            )
            try:
                dying.load(_UPDATED_ROWS, **hints)
            except Crash:
                steps = max(steps, mortal.steps + 1)
                crashed_bench.after_a_crash().resume()
            else:
                return
            documents = crashed_bench.documents("tags")
            assert documents == expected, f"step {at}, after={after}: {documents}"
        at += 1


def _tags(*values: str) -> list[dict[str, Any]]:
    return [{"value": value} for value in values]


def _check_append_crashes(bench: Bench) -> None:
    rows = [
        {"id": 1, "name": "a", "tags": _tags("x", "y")},
        {"id": 1, "name": "new", "tags": _tags("w")},
        {"id": 2, "name": "b", "tags": _tags("z")},
    ]
    _check_crash_at_each_step(bench, {"rows": rows, "orphans": {}}, write_disposition="append")


def _check_merge_crashes(bench: Bench) -> None:
    rows = [
        {"id": 1, "name": "new", "tags": _tags("w")},
        {"id": 2, "name": "b", "tags": _tags("z")},
    ]
    disposition = {"disposition": "merge", "strategy": "delete-insert"}
    _check_crash_at_each_step(
        bench, {"rows": rows, "orphans": {}}, write_disposition=disposition, primary_key="id"
    )


def _check_replace_crashes(bench: Bench) -> None:
    rows = [{"id": 1, "name": "new", "tags": _tags("w")}]
    _check_crash_at_each_step(bench, {"rows": rows, "orphans": {}}, write_disposition="replace")


def _check_row_counts(bench: Bench) -> None:
    info = bench.load(_ROWS)

    counts = {table.table: table.rows for package in info.packages for table in package.tables}
    assert counts == {ROOT_TABLE: 2, f"{ROOT_TABLE}__tags": 3}, counts


def _check_nothing_reloaded(bench: Bench) -> None:
    bench.load(_ROWS)

    assert bench.resume().loads_ids == []
    assert len(bench.rows(ROOT_TABLE)) == len(_ROWS)


def _check_other_machine(bench: Bench) -> None:
    bench.load(_ROWS)
    bench.elsewhere().load([{"id": 3, "late": 1}])

    rows = sorted((row["id"], row.get("late")) for row in bench.elsewhere().rows(ROOT_TABLE))
    assert rows == [(1, None), (2, None), (3, 1)], rows


def _check_refresh(bench: Bench) -> None:
    modes: tuple[TRefreshMode, ...] = ("drop_data", "drop_resources")
    for mode in modes:
        bench.load(_ROWS)
        bench.pipeline().run(resource(_UPDATED_ROWS, name=ROOT_TABLE, **bench.hints), refresh=mode)

        documents = bench.documents("tags")
        expected = {"rows": [{"id": 1, "name": "new", "tags": _tags("w")}], "orphans": {}}
        assert documents == expected, f"{mode}: {documents}"


def _check_schema_updates(bench: Bench) -> None:
    pipeline = bench.pipeline()
    pipeline.extract(resource(_ROWS, name=ROOT_TABLE, **bench.hints))
    pipeline.normalize()
    created = pipeline.sync_schema()
    assert pipeline.sync_schema() == {}, "the second time nothing is left to change"
    (load_id,) = pipeline.load().loads_ids
    with_rows = _data_tables(bench.applied_update(load_id))

    assert not created.keys() & with_rows.keys(), f"created twice: {created}, {with_rows}"
    for table in (ROOT_TABLE, f"{ROOT_TABLE}__tags"):
        columns = {**created, **with_rows}[table]["columns"]
        assert set(columns) == set(bench.rows(table)[0]), columns
    (load_id,) = bench.load([{"id": 3, "late": 1}]).loads_ids
    later = {
        name: list(table["columns"]) for name, table in _data_tables(bench.applied_update(load_id)).items()
    }
    assert later == {ROOT_TABLE: ["late"]}, later
    assert pipeline.sync_schema() == {}


def _check_truncation(bench: Bench) -> None:
    bench.load(_ROWS)
    commits = _commit_count(bench)
    with bench.pipeline().destination_client() as client:
        client.initialize_storage(truncate_tables=[ROOT_TABLE])

    assert bench.rows(ROOT_TABLE) == []
    assert len(bench.rows(f"{ROOT_TABLE}__tags")) == len(_tags("x", "y", "z")), "only the given tables"
    assert _commit_count(bench) in {None, (commits or 0) + 1}, "one commit truncates a table"
    bench.load(_UPDATED_ROWS)
    assert [row["id"] for row in bench.rows(ROOT_TABLE)] == [1]


def _commit_count(bench: Bench) -> int | None:
    """Return the number of commits to the root table; None if the destination is not built in."""
    with bench.pipeline().destination_client() as client:
        if not (isinstance(client, DatasetClient) and isinstance(client, WithTableVersions)):
            return None
        return len(client.commits(ROOT_TABLE, spark=client.session()))


def _data_tables(update: Mapping[str, TTableSchema]) -> dict[str, TTableSchema]:
    return {name: table for name, table in update.items() if not name.startswith(SYSTEM_PREFIX)}


CASES: Final[tuple[CaseDefinition, ...]] = (
    CaseDefinition(
        name="rows-are-counted",
        promise="a load reports the rows of each table",
        check=_check_row_counts,
        needs=("append",),
    ),
    CaseDefinition(
        name="nothing-is-loaded-twice",
        promise="a complete load is not changed again",
        check=_check_nothing_reloaded,
        needs=("append",),
    ),
    CaseDefinition(
        name="another-machine-goes-on",
        promise="a new machine continues with the existing tables and schema",
        check=_check_other_machine,
        needs=("append",),
    ),
    CaseDefinition(
        name="an-append-lands-once-whatever-dies",
        promise="a crash at any step duplicates and loses no row",
        check=_check_append_crashes,
        needs=("append",),
    ),
    CaseDefinition(
        name="a-replace-lands-once-whatever-dies",
        promise="as an append, and no table is empty",
        check=_check_replace_crashes,
        needs=("replace",),
    ),
    CaseDefinition(
        name="a-merge-lands-once-whatever-dies",
        promise="as an append, and no nested row is without its root",
        check=_check_merge_crashes,
        needs=("merge", "delete-insert"),
    ),
    CaseDefinition(
        name="what-begins-anew-is-there-alone",
        promise="after a run with `refresh`, tables have only its rows",
        check=_check_refresh,
        needs=("append",),
    ),
    CaseDefinition(
        name="tables-are-created-and-reported-once",
        promise="`sync_schema` and loads report the tables and columns that they create, and no others",
        check=_check_schema_updates,
        needs=("append",),
    ),
    CaseDefinition(
        name="truncated-tables-are-empty",
        promise="`initialize_storage(truncate_tables)` deletes all rows of these tables, by one commit each",
        check=_check_truncation,
        needs=("append",),
    ),
)
