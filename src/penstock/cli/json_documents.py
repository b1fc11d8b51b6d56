"""The objects that commands print with `--json`; `docs/command-line.schema.json` is generated from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from penstock.pipeline.drop_resources import ResourceDropDocument

if TYPE_CHECKING:
    from penstock.cli.kill_demo import InterruptedPackage, RowComparison
    from penstock.cli.program_steps import DurableStep
    from penstock.interfaces.process import ProcessState
    from penstock.normalize.row_numbers import ExampleValue
    from penstock.pipeline.abort import TAbortPlan
    from penstock.pipeline.column_history import EventKind
    from penstock.pipeline.trace import TPipelineStep


class TableColumn(TypedDict):
    """A column of a table."""

    table: str
    column: str


class DemoLoadDocument(TypedDict):
    """A load of the example."""

    name: str
    load_id: str
    seconds: float | None
    rows: dict[str, int | None]
    """The rows that were loaded, by table."""
    new_columns: list[TableColumn]
    """The columns that tables of earlier loads got."""


class DemoDocument(TypedDict):
    """The result of `demo`."""

    folder: str
    program: str
    pipeline_name: str
    pipelines_dir: str
    dataset_name: str | None
    location: str | None
    loads: list[DemoLoadDocument]
    tables: dict[str, list[dict[str, Any]]]
    """All rows after the last load, by table, without system columns."""


class KilledLoadDocument(TypedDict):
    """A load that was killed, and the run after it."""

    day: int
    step: DurableStep
    process: int
    seconds: float
    visible_days: int | None
    """The days whose rows readers saw before the next run; null if they saw a part of a day."""
    package: InterruptedPackage
    """The package as the next run finds it."""
    resumed_steps: list[str]
    resumed_seconds: float
    tables: list[RowComparison]
    """The rows after the next run."""


class KillDemoDocument(TypedDict):
    """The result of `demo --kill`."""

    folder: str
    program: str
    packages: str
    """The folder with the packages of the pipeline."""
    seed: int
    exactly_once: bool
    kills: list[KilledLoadDocument]
    missed_kills: int
    """Runs that ended before their kill."""
    tables: list[RowComparison]


class RunDocument(TypedDict):
    """The result of a run that has loaded packages, or had nothing to load."""

    pipeline_name: str
    dataset_name: str
    location: str
    seconds: float | None
    """The duration of the call; null if it was not measured."""
    load_ids: list[str]
    rows: dict[str, int | None]
    """The rows that were loaded, by table; null if they were not counted."""
    has_failed_jobs: bool


class LoadDocument(RunDocument):
    """The result of `load`, and the program that does the same."""

    script: str


class ScriptDocument(TypedDict):
    """The program that `load --print-script` prints."""

    pipeline_name: str
    script: str


class ProjectDocument(TypedDict):
    """The project that `init` writes."""

    name: str
    folder: str
    program: str
    files: list[str]
    written: list[str]
    """The files that did not exist with this content."""
    secret_settings: list[str]
    """The names of the settings in the file with secrets."""


class ComponentDocument(TypedDict):
    """A source or a destination."""

    name: str
    description: str
    reference: str
    """The function to call, or the object that another package registers."""
    distribution: str
    """The package that it belongs to, with its version if it is another one."""
    extras: list[str]
    """The extras that it needs."""
    missing_extras: list[str]
    is_installed: bool


class SettingPlace(TypedDict):
    """A place of a setting, in the order of the search."""

    provider: str
    name: str
    has_value: bool
    is_used: bool
    is_misplaced: bool
    """Whether a secret is where secrets must not be."""


class SettingDocument(TypedDict):
    """A setting with its value, masked if it is a secret."""

    field: str
    origin: str
    value: str | None
    location: str | None
    places: list[SettingPlace]


class RunSummary(TypedDict):
    """The result of a run, finished or not."""

    started_at: str
    state: Literal["finished"] | ProcessState
    """`ended`: its process ended before the run did; `unknown`: the run began on another machine."""
    seconds: float | None
    failed_step: TPipelineStep | None
    error: str | None
    error_code: str | None
    failed_jobs: int


class PipelineSummary(TypedDict):
    """A pipeline by the records of this machine."""

    pipeline_name: str
    working_dir: str
    destination: str | None
    dataset_name: str | None
    last_run: RunSummary | None
    problem: str | None
    """Why its records cannot be read."""


class LeaseSummary(TypedDict):
    """The process that holds a lease."""

    host: str
    process: int
    user: str
    started_at: str
    last_heartbeat_at: str | None
    is_expired: bool


class PipelineOverview(TypedDict):
    """The destination, the last run and the pending packages of a pipeline."""

    pipeline_name: str
    working_dir: str
    destination: str | None
    dataset_name: str | None
    location: str | None
    first_run: bool
    """Whether no load is complete."""
    extracted_packages: list[str]
    normalized_packages: list[str]
    completed_packages: int
    state_version: int | None
    schemas: dict[str, int]
    """The number of data tables, by schema."""
    last_run: RunSummary | None
    lease: LeaseSummary | None


class ReportServerDocument(TypedDict):
    """The address of the server of reports, which runs until it is interrupted."""

    url: str
    pipelines_dir: str


class ReportedFailedJob(TypedDict):
    """A job with an error, in a report."""

    table: str
    job_id: str
    message: str


class ReportedPackage(TypedDict):
    """A package in a report: the number and the size of its jobs."""

    load_id: str
    state: str
    schema_name: str | None
    sequence: int | None
    completed_at: str | None
    refresh: str | None
    jobs: dict[str, int]
    """The number of jobs, by state."""
    bytes: int
    failed_jobs: list[ReportedFailedJob]


class VariantBase(TypedDict):
    """The column whose values have another type than those of its variant."""

    column: str
    data_type: str


class ColumnNameDocument(TypedDict):
    """The keys that a column's name comes from."""

    keys: list[str]
    convention: str
    normalized: str
    is_tagged: bool
    """Whether it has a tag, because another key has the same name."""


class ColumnEventDocument(TypedDict):
    """A load that added, changed or removed a column."""

    event: EventKind
    data_type: str | None
    load_id: str | None
    completed_at: str | None
    is_pending: bool
    schema_version: int
    schema_version_hash: str
    rule: str | None
    variant_of: VariantBase | None
    contract: str | None
    """The part of the schema contract that permitted it."""
    root_table: str
    path: str | None
    """The JSON path of the values."""
    value_type: str | None
    example: ExampleValue | None
    name: ColumnNameDocument | None
    unknown: str | None
    """Why facts are missing."""


class ColumnHistoryDocument(TypedDict):
    """Why a column exists."""

    pipeline_name: str
    schema_name: str
    table: str
    column: str
    data_type: str | None
    """Its type now; null if it was removed."""
    events: list[ColumnEventDocument]


class SyncDocument(TypedDict):
    """The state and the schemas after `sync`."""

    pipeline_name: str
    state_version: int | None
    schemas: list[str]


class PlanDropDocument(TypedDict):
    """The plan that `drop-plan` deletes."""

    pipeline_name: str
    dropped: list[str]
    """The load ids of its packages."""


class PendingDropDocument(TypedDict):
    """The pending packages that were dropped, and those that were kept."""

    pipeline_name: str
    dropped: list[str]
    kept: list[str]


class PipelineDropDocument(ResourceDropDocument):
    """The resources of a pipeline that were dropped, with what they lost."""

    pipeline_name: str


class PackageAbortDocument(TypedDict):
    """The packages that were aborted; null if none were pending."""

    pipeline_name: str
    aborted: TAbortPlan | None


class FailedJobPath(TypedDict):
    """The job file of a job that `fail-job` has failed."""

    pipeline_name: str
    load_id: str
    path: str
