"""The report on a pipeline as plain values, from its working folder, its packages and its destination."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from penstock.cli.output import mask_secrets
from penstock.cli.overview import run_summary
from penstock.cli.pipeline_options import target_of
from penstock.config import redact
from penstock.errors import PenstockError
from penstock.interfaces import WithSmallTables
from penstock.interfaces.humanize import human_count
from penstock.interfaces.sql_client import WithSqlSession
from penstock.normalize.report import schema_changes
from penstock.package.quarantine import QUARANTINE_TABLE
from penstock.pipeline import late_imports
from penstock.pipeline.local_pipeline import LocalPipeline
from penstock.pipeline.trace import PipelineTrace
from penstock.pipeline.workdir import WorkDir
from penstock.schema import Schema
from penstock.schema.defaults import SYSTEM_PREFIX
from penstock.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from penstock.cli.json_documents import ReportedPackage, RunSummary
    from penstock.interfaces import CommitRecord
    from penstock.package import LoadPackageInfo
    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.trace import PipelineTraceDocument
    from penstock.pipeline.workspace import Workspace
    from penstock.schema import Table
    from penstock.schema.stored_schema import TStoredSchema

Result = TypeVar("Result")
MAX_LOADS: Final = 100
MAX_PACKAGES: Final = 30
MAX_RUNS: Final = 20
_MAX_QUARANTINE_REASONS: Final = 100
_MAX_EXAMPLE_LENGTH: Final = 200
_REASON_COLUMNS: Final = ("resource_name", "table_name", "path", "rule", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedLoad:
    """A complete load, with the rows of each table; None for a table whose rows were not counted."""

    load_id: str
    loaded_at: str
    schema_name: str
    schema_version_hash: str
    sequence: int | None = None
    rows: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedTable:
    """A data table: its place in the schema, and its rows."""

    table: str
    schema_name: str
    parent: str | None
    columns: int
    rows: int | None = None
    """The rows of complete loads at the destination; None if they are not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """A change of a table by a load, as text."""

    load_id: str
    loaded_at: str | None
    table: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineReason:
    """Rows in the quarantine table that were refused for one reason."""

    resource_name: str
    table_name: str
    path: str
    rule: str
    reason: str
    count: int
    example: str | None = None
    """The beginning of one of the refused rows or values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineReport:
    """Everything that a report shows, without secrets."""

    pipeline_name: str
    created_at: str
    penstock_version: str
    working_dir: str
    destination: str | None
    dataset_name: str
    location: str | None
    runs: tuple[RunSummary, ...]
    """The last runs, newest first."""
    trace: PipelineTraceDocument | None
    """The trace of the last run that ended."""
    loads: tuple[ReportedLoad, ...]
    """The last complete loads, oldest first."""
    tables: tuple[ReportedTable, ...]
    schemas: tuple[TStoredSchema, ...]
    changes: tuple[SchemaChange, ...]
    """The changes of schemas, oldest first."""
    quarantine: tuple[QuarantineReason, ...]
    rejects: tuple[Mapping[str, Any], ...]
    """The values that contracts refused in the last runs, newest first."""
    checks: tuple[Mapping[str, Any], ...]
    """The results of checks in the last runs, newest first."""
    packages: tuple[ReportedPackage, ...]
    """The pending packages, and the last ones that were loaded, oldest first."""
    state: Mapping[str, Any]
    omissions: tuple[str, ...]
    """The parts that are left out, with the reasons."""

    def asdict(self) -> dict[str, Any]:
        """Return plain data, which JSON can hold."""
        document: dict[str, Any] = json.loads(json.dumps(asdict(self), default=str))
        return document


def pipeline_report(
    pipeline: Pipeline, *, with_spark: bool = False, max_loads: int = MAX_LOADS
) -> PipelineReport:
    """Return the report on a pipeline, with its last loads.

    What cannot be read is left out, and listed with the reason. Spark is started only `with_spark`, for
    tables that cannot be read without it.
    """
    return _ReportReader(pipeline, with_spark=with_spark, max_loads=max_loads).read()


class _ReportReader:
    """Reads the parts of a report; the parts that cannot be read become omissions."""

    def __init__(self, pipeline: Pipeline, *, with_spark: bool, max_loads: int) -> None:
        self._pipeline, self._with_spark, self._max_loads = pipeline, with_spark, max_loads
        self._local = LocalPipeline(Path(pipeline.working_dir))
        self._omissions: list[str] = []
        self._can_read_tables = False

    def read(self) -> PipelineReport:
        """Read all parts."""
        pipeline = self._pipeline
        runs = list(islice(self._local.runs(), MAX_RUNS))
        traces = [run.asdict() for run in runs if isinstance(run, PipelineTrace)]
        commits = self._commits()
        schemas = self._schemas()
        packages = self._attempt("the packages", self._packages, default=list["ReportedPackage"]())
        state = None
        if not self._is_dataset_missing:
            state = self._attempt("the state at the destination", lambda: pipeline.state, default=None)
        report = PipelineReport(
            pipeline_name=pipeline.pipeline_name,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            penstock_version=__version__,
            working_dir=pipeline.working_dir,
            destination=pipeline.destination.destination_name if pipeline.destination else None,
            dataset_name=pipeline.dataset_name,
            location=None if self._workspace is None else self._workspace.client.displayable_location(),
            runs=tuple(summary for run in runs if (summary := run_summary(run)) is not None),
            trace=_redacted(traces[0]) if traces else None,
            loads=tuple(map(_reported_load, commits)),
            tables=self._tables(schemas, commits),
            schemas=tuple(_redacted(schema.to_dict()) for schema in schemas),
            changes=tuple(self._changes(commits) if commits else _traced_changes(traces)),
            quarantine=self._quarantine(schemas),
            rejects=tuple(_recorded(traces, "rejects")),
            checks=tuple(_recorded(traces, "checks")),
            packages=tuple(map(_redacted, packages)),
            state=mask_secrets((self._local.state or {}) if state is None else state),
            omissions=(),
        )
        return replace(report, omissions=tuple(dict.fromkeys(self._omissions)))

    @cached_property
    def _workspace(self) -> Workspace | None:
        """The pipeline at its destination, without a session; None if it cannot be opened."""
        target = self._attempt("the destination", lambda: target_of(self._pipeline), default=None)
        if target is None:
            return None
        return self._attempt(
            "the destination", lambda: late_imports.workspace.Workspace(target, spark=None), default=None
        )

    @property
    def _can_count(self) -> bool:
        """Whether tables of any size can be counted: by Spark, or by the database that has them."""
        workspace = self._workspace
        return self._with_spark or (workspace is not None and isinstance(workspace.client, WithSqlSession))

    @cached_property
    def _is_dataset_missing(self) -> bool:
        """Whether this machine has loaded into a dataset that the destination does not have."""
        workspace = self._workspace
        if workspace is None or self._local.state is None:
            return False
        is_missing = self._attempt(
            "the destination", lambda: not workspace.ledger.is_initialized(), default=False
        )
        if is_missing:
            location = workspace.client.displayable_location()
            self._omissions.append(f"the destination: {location} has no dataset of this pipeline")
        return is_missing

    def _attempt(self, part: str, read: Callable[[], Result], *, default: Result) -> Result:
        """Return what a function reads; after an error the default, and the error is an omission."""
        try:
            return read()
        except (PenstockError, OSError) as error:
            reason = error.message if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
            self._omissions.append(f"{part}: {redact(reason)}")
            return default

    def _commits(self) -> list[CommitRecord]:
        """Return the last complete loads of the pipeline, oldest first."""
        workspace = self._workspace
        if workspace is None:
            return []
        return self._attempt(
            "the loads at the destination", lambda: self._last_commits(workspace), default=[]
        )

    def _last_commits(self, workspace: Workspace) -> list[CommitRecord]:
        ledger = workspace.ledger
        if not ledger.is_initialized():
            return []
        snapshot = ledger.snapshot()
        commits: list[CommitRecord] = []
        for load in reversed(snapshot.loads()):
            if len(commits) == self._max_loads:
                self._omissions.append(f"loads before the last {self._max_loads}")
                break
            commit = snapshot.find(load.load_id)
            if commit is not None and commit.pipeline_name in {None, self._pipeline.pipeline_name}:
                commits.append(commit)
        return commits[::-1]

    def _schemas(self) -> list[Schema]:
        """Return the schemas, by the destination or else by this machine."""
        if not self._is_dataset_missing:
            stored = self._attempt(
                "the schemas at the destination", lambda: list(self._pipeline.schemas.values()), default=None
            )
            if stored is not None:
                self._can_read_tables = self._workspace is not None
                return stored
        workdir, names = WorkDir(self._local.path), (self._local.state or {}).get("schema_names", ())
        documents = (workdir.schema(name) for name in names)
        return [Schema.from_dict(document) for document in documents if document is not None]

    def _packages(self) -> list[ReportedPackage]:
        """Return the pending packages and the last ones that were loaded, oldest first."""
        pipeline = self._pipeline
        pending = [*pipeline.list_extracted_load_packages(), *pipeline.list_normalized_load_packages()]
        loaded = pipeline.list_retained_load_packages()
        if len(loaded) > MAX_PACKAGES:
            self._omissions.append(f"packages that were loaded before the last {MAX_PACKAGES}")
        load_ids = sorted({*pending, *loaded[-MAX_PACKAGES:]})
        return [_package_facts(pipeline.get_load_package_info(load_id)) for load_id in load_ids]

    def _tables(
        self, schemas: Sequence[Schema], commits: Sequence[CommitRecord]
    ) -> tuple[ReportedTable, ...]:
        versions = {
            table: result.get("after") for commit in commits for table, result in commit.tables.items()
        }
        tables = [(schema.name, table) for schema in schemas for table in _parents_first(schema)]
        # A table that no load has written does not exist.
        counts = {
            table.name: self._count(table.name, versions.get(table.name))
            for _, table in tables
            if table.has_seen_data and self._can_read_tables
        }
        uncounted = [name for name, count in counts.items() if count is None]
        if uncounted and self._can_count:
            counts |= self._attempt(
                "the rows of tables",
                lambda: dict(self._pipeline.dataset().row_counts(table_names=uncounted)),
                default=dict[str, int](),
            )
        elif uncounted:
            self._omissions.append(
                f"the rows of {human_count(len(uncounted), 'table')}, which Spark has to read: pass --spark"
            )
        return tuple(
            ReportedTable(
                table=table.name,
                schema_name=schema_name,
                parent=table.parent,
                columns=len(table.complete_columns()),
                rows=counts.get(table.name),
            )
            for schema_name, table in tables
        )

    def _count(self, table: str, version: int | None) -> int | None:
        rows = self._read_small(table, version)
        return None if rows is None else int(rows.num_rows)

    def _read_small(self, table: str, version: int | None = None) -> pa.Table | None:
        """Return the rows of a small table, at the version of its last complete load."""
        client: object = None if self._workspace is None else self._workspace.client
        if not isinstance(client, WithSmallTables):
            return None
        return self._attempt(
            f"the table {table}", lambda: client.read_small_table(table, version), default=None
        )

    def _changes(self, commits: Sequence[CommitRecord]) -> Iterator[SchemaChange]:
        """Yield the changes of each load; the loads before the first one that is read are not compared."""
        last: dict[str, Schema] = {}
        is_complete = len(commits) < self._max_loads
        for commit in commits:
            stored = self._stored_schema(commit)
            if stored is None:
                continue
            previous = last.get(commit.schema_name)
            if previous is not None or is_complete:
                yield from _schema_changes(commit, previous, stored)
            last[commit.schema_name] = stored

    def _stored_schema(self, commit: CommitRecord) -> Schema | None:
        workspace = self._workspace
        if workspace is None:
            return None
        name, version_hash = commit.schema_name, commit.schema_version_hash
        row = self._attempt(
            f"the schema of load {commit.load_id}",
            lambda: workspace.ledger.find_schema(schema_name=name, version_hash=version_hash),
            default=None,
        )
        return None if row is None else Schema.from_dict(json.loads(row.schema))

    def _quarantine(self, schemas: Sequence[Schema]) -> tuple[QuarantineReason, ...]:
        """Return the reasons in the quarantine table, most frequent first."""
        tables = (schema.tables.get(QUARANTINE_TABLE) for schema in schemas)
        if not self._can_read_tables or not any(table and table.has_seen_data for table in tables):
            return ()
        rows = self._read_small(QUARANTINE_TABLE)
        if rows is None and self._can_count:
            rows = self._attempt("the rows in quarantine", self._read_quarantine, default=None)
        elif rows is None:
            self._omissions.append("the rows in quarantine, which Spark has to read: pass --spark")
        if rows is None:
            return ()
        return _quarantine_reasons(rows.to_pylist())

    def _read_quarantine(self) -> pa.Table:
        return self._pipeline.dataset()[QUARANTINE_TABLE].arrow()


def _parents_first(schema: Schema) -> list[Table]:
    """Return the data tables, each followed by its nested tables."""
    positions = {name: position for position, name in enumerate(schema.tables)}

    def path(table: Table) -> tuple[int, ...]:
        above = () if table.parent is None else path(schema.tables[table.parent])
        return (*above, positions[table.name])

    return sorted(schema.data_tables(), key=path)


def _reported_load(commit: CommitRecord) -> ReportedLoad:
    return ReportedLoad(
        load_id=commit.load_id,
        loaded_at=commit.inserted_at,
        schema_name=commit.schema_name,
        schema_version_hash=commit.schema_version_hash,
        sequence=commit.sequence,
        rows={
            table: result.get("rows")
            for table, result in commit.tables.items()
            if not table.startswith(SYSTEM_PREFIX) and not result.get("dropped")
        },
    )


def _schema_changes(commit: CommitRecord, previous: Schema | None, schema: Schema) -> Iterator[SchemaChange]:
    """Yield the changes of data tables between two versions of a schema, and the tables that were dropped."""
    before = {} if previous is None else previous.tables
    changes = [
        (table.name, change) for table in schema.data_tables() for change in schema_changes(before, table)
    ]
    changes += [
        (name, f"dropped table {name}") for name, result in commit.tables.items() if result.get("dropped")
    ]
    for table, change in changes:
        yield SchemaChange(
            load_id=commit.load_id, loaded_at=commit.inserted_at, table=table, change=redact(change)
        )


def _traced_changes(traces: Sequence[Mapping[str, Any]]) -> Iterator[SchemaChange]:
    """Yield the changes that the last runs on this machine recorded, oldest first."""
    for step in _steps(reversed(traces), "normalize"):
        for change in step["info"].get("changes", ()):
            yield SchemaChange(loaded_at=step.get("finished_at"), **_redacted(change))


def _recorded(traces: Sequence[Mapping[str, Any]], key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the records of normalization in the last runs, newest first."""
    for step in _steps(traces, "normalize"):
        yield from map(_redacted, step["info"].get(key, ()))


def _steps(traces: Iterable[Mapping[str, Any]], name: str) -> Iterator[Mapping[str, Any]]:
    return (step for trace in traces for step in trace["steps"] if step["step"] == name)


def _quarantine_reasons(rows: Sequence[Mapping[str, Any]]) -> tuple[QuarantineReason, ...]:
    """Count the rows of the quarantine table by resource, table, rule and reason, with an example of each."""
    keys = [tuple(str(row.get(name) or "") for name in _REASON_COLUMNS) for row in rows]
    counts = Counter(keys)
    examples = {key: row.get("raw") for key, row in zip(reversed(keys), reversed(rows), strict=True)}
    return tuple(
        QuarantineReason(
            **dict(zip(_REASON_COLUMNS, map(redact, key), strict=True)),
            count=count,
            example=None if examples[key] is None else redact(str(examples[key]))[:_MAX_EXAMPLE_LENGTH],
        )
        for key, count in counts.most_common(_MAX_QUARANTINE_REASONS)
    )


def _package_facts(info: LoadPackageInfo) -> ReportedPackage:
    """Return a package with the number and the size of its jobs, and those that failed."""
    jobs = [job for jobs in info.jobs.values() for job in jobs]
    return {
        "load_id": info.load_id,
        "state": info.state,
        "schema_name": info.schema_name,
        "sequence": info.sequence,
        "completed_at": None if info.completed_at is None else info.completed_at.isoformat(),
        "refresh": info.refresh,
        "jobs": {state: len(listed) for state, listed in info.jobs.items() if listed},
        "bytes": sum(job.file_size for job in jobs),
        "failed_jobs": [
            {
                "table": job.job_file_info.table_name,
                "job_id": job.job_file_info.job_id(),
                "message": job.failed_message,
            }
            for job in jobs
            if job.failed_message
        ],
    }


def _redacted(value: Any) -> Any:
    """Return plain data with the secrets in its texts masked; the values below any key are kept."""
    if isinstance(value, Mapping):
        return {key: _redacted(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redacted(item) for item in value]
    return redact(value) if isinstance(value, str) else value
