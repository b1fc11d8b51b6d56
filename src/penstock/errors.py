"""Exceptions of the public API, grouped by what the caller does next.

The message states what is wrong, `hint` states the remedy, and the values are attributes. `code` is a heading
in `docs/errors.md`.

PenstockError
├── UsageError: change the call or the settings
│   ├── CannotRestorePipelineException
│   ├── CantExtractTablePrefix
│   ├── CommitRolledBack
│   ├── ConfigFieldMissing
│   ├── ConfigProviderFailed
│   ├── ConfigValueCannotBeCoerced
│   ├── ConfigurationValueError
│   ├── CurrentLoadPackageStateNotAvailable
│   ├── DataItemRequiredForDynamicTableHints
│   ├── DatabaseQueryFailed
│   ├── DltAlreadyImported
│   ├── InconsistentTableTemplate
│   ├── InvalidDatasetName
│   ├── InvalidDestinationReference
│   ├── InvalidFilesystemLayout
│   ├── InvalidIdentifier
│   ├── InvalidJobFileName
│   ├── InvalidPipelineName
│   ├── InvalidSchemaName
│   ├── InvalidSourceConfig
│   ├── JarNotVerified
│   ├── JdbcDriverMissing
│   ├── LoadClientUnsupportedFileFormats
│   ├── LoadClientUnsupportedWriteDisposition
│   ├── LoadIsDecided
│   ├── LoadOvertaken
│   ├── LoadPackageAlreadyCompleted
│   ├── LoadPackageNotCompleted
│   ├── LoadPackageNotFound
│   ├── MissingDependencyException
│   │   └── MissingExtra
│   ├── MissingLocation
│   ├── MissingOnExecutors
│   ├── MissingTableName
│   ├── NotDuringRun
│   ├── PackageRootChanged
│   ├── PipelineConfigMissing
│   ├── PipelineNeverRan
│   ├── PipelineNotActive
│   ├── PlanExpired
│   ├── PlanOutdated
│   ├── RequestNotRecorded
│   ├── ResourceNameTaken
│   ├── ResourceUnbound
│   ├── ResourcesNotFound
│   ├── SchemaCorruptedException
│   ├── SchemaEngineNoUpgradePath
│   ├── SchemaNotFoundError
│   ├── SessionChangesText
│   ├── SessionLacksConf
│   ├── SourceExhausted
│   ├── SparkNotAvailable
│   ├── SqlClientNotAvailable
│   ├── StorageAccessDenied
│   ├── StorageNotShared
│   ├── StorageNotTrusted
│   ├── TableNotFound
│   ├── TablePropertiesConflictException
│   ├── TableVersionGone
│   ├── TablesMovedOn
│   ├── UnboundColumnException
│   ├── UndoRefused
│   ├── UnknownDestination
│   ├── UnknownSourceReference
│   ├── UnsafePath
│   ├── UnsupportedCapability
│   ├── UnsupportedData
│   ├── UnsupportedVersion
│   └── ValueNotSecret
├── DestinationException: raised by a destination; its subclasses are in the next two branches
├── DataError: look at the data
│   ├── ChecksFailed
│   ├── DataValidationError
│   ├── DeletionsRefused
│   ├── DestinationTerminalException
│   │   ├── DestinationHasFailedJobs
│   │   ├── IdentifierTooLongException
│   │   ├── LoadClientJobFailed
│   │   └── LoadClientTerminalException
│   ├── DltResourceException
│   ├── FileNotReadable
│   ├── IncrementalCursorInvalidCoercion
│   ├── IncrementalCursorPathHasValueNone
│   ├── IncrementalCursorPathMissing
│   ├── IncrementalPrimaryKeyMissing
│   ├── ParentFieldMissing
│   ├── ResourceFailed
│   │   └── RequestRefused
│   ├── ResponseNotUnderstood
│   ├── RowNotEncodable
│   └── UnsupportedColumnType
├── RetryableError: run again
│   ├── CommitLost
│   ├── DatabaseNotReachable
│   ├── DestinationTransientException
│   │   ├── BatchFailed
│   │   ├── DatabaseFileLocked
│   │   ├── FollowupJobCreationFailedException
│   │   ├── LoadClientJobRetry
│   │   ├── LoadClientTransientException
│   │   └── TableChainFollowupJobCreationFailedException
│   ├── FilesChanged
│   ├── LeaseLost
│   ├── LoadCompletedElsewhere
│   ├── LoadPackageAborted
│   ├── LoadPackageCancelled
│   ├── PipelineLocked
│   ├── ServerFailed
│   ├── SlotTaken
│   ├── StorageFull
│   ├── StorageNotReachable
│   ├── TransactionsRunning
│   └── WaveFailed
├── InternalError: report it
│   ├── BoundaryDamaged
│   ├── DestinationAhead
│   ├── JobNotFound
│   └── PackageDamaged
├── NeverRaised: a name for dlt errors that penstock does not raise
└── PipelineStepFailed: look at its `exception`
"""

from __future__ import annotations

import difflib
import errno
import re
import shlex
from contextlib import contextmanager
from http import HTTPStatus
from traceback import format_exception
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

from penstock.redaction import redact, redact_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


_DISK_FULL_ERRNOS: Final = frozenset((errno.ENOSPC, errno.EDQUOT))


class PenstockError(Exception):
    """The base class of all exceptions of penstock.

    >>> try:
    ...     raise MissingTableName(data_type="list")
    ... except PenstockError as error:
    ...     error.code, error.hint
    ('missing-table-name', 'pass table_name=... to run(), or name=... to resource()')

    Secrets are masked in the message, the hint and all attributes.
    """

    code: ClassVar[str] = "penstock"

    def __init__(self, message: str, *, hint: str = "", **facts: Any) -> None:
        super().__init__(redact(message))
        self.message, self.hint = message, hint
        self.stage: str | None = None
        self.load_id: str | None = None
        for name, value in facts.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        # Python appends to `__notes__` after setting it, so the list must stay the same object.
        super().__setattr__(name, value if name.startswith("__") else redact_all(value))

    def __str__(self) -> str:
        context = f" (in {self.stage}, package {self.load_id})" if self.stage else ""
        action = f"\n  what to do: {self.hint}" if self.hint else ""
        return f"{self.message}{context}{action}\n  code: {self.code}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild without calling `__init__`, whose arguments are keyword-only in most classes."""
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(cls: type[PenstockError], args: tuple[Any, ...], facts: dict[str, Any]) -> PenstockError:
    error = cls.__new__(cls)
    Exception.__init__(error, *args)
    error.__dict__.update(facts)
    return error


def suggestion(value: Any, allowed: Iterable[str]) -> str:
    """Return a hint with the most similar name and all known names.

    >>> suggestion("paginater", ["path", "paginator"])
    "did you mean 'paginator'? Known: path, paginator"
    """
    names = list(allowed)
    similar = difflib.get_close_matches(str(value), names, n=1)
    listing = ", ".join(names) or "none"
    return f"did you mean {similar[0]!r}? Known: {listing}" if similar else f"known: {listing}"


@contextmanager
def in_stage(stage: str, *, load_id: str) -> Iterator[None]:
    """Add the stage and the package to an error, unless it already has them."""
    try:
        yield
    except PenstockError as error:
        if error.stage is None:
            error.stage, error.load_id = stage, load_id
        raise


@contextmanager
def translate_disk_full(path: str) -> Iterator[None]:
    """Raise `StorageFull` when the system reports a full disk or an exceeded quota."""
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK_FULL_ERRNOS:
            raise
        raise StorageFull(path=path, reason=error.strerror or str(error)) from error


class UsageError(PenstockError):
    """The call or the settings are wrong."""

    code = "usage"


class CannotRestorePipelineException(UsageError):
    """`attach` found no working folder and no stored state of the pipeline."""

    code = "cannot-restore-pipeline"

    def __init__(self, *, pipeline_name: str, working_dir: str, reason: str) -> None:
        super().__init__(
            f"cannot attach to pipeline {pipeline_name!r}: {reason}",
            hint="pass the pipeline's destination and dataset_name to attach(), or run the pipeline first",
            pipeline_name=pipeline_name,
            working_dir=working_dir,
            reason=reason,
        )


class CantExtractTablePrefix(UsageError):
    """The layout does not begin with a prefix that identifies the table."""

    code = "cant-extract-table-prefix"

    def __init__(self, *, layout: str, reason: str) -> None:
        super().__init__(
            f"layout {layout!r} has no prefix that identifies a table: {reason}",
            hint="begin `layout` with {table_name}/ or {schema_name}/{table_name}/",
            layout=layout,
            reason=reason,
        )


class CommitRolledBack(UsageError):
    """A table lost the commit of a load that is not complete yet."""

    code = "commit-rolled-back"

    def __init__(self, *, table: str, load_id: str, version: int | None) -> None:
        super().__init__(
            f"{table} no longer has version {version}, written by the unfinished load {load_id}: "
            "the table was restored, rolled back or dropped",
            hint=f"restore {table} to version {version} and run again, or call drop_pending_packages() to "
            "abort the load",
            table=table,
            load_id=load_id,
            version=version,
        )


class ConfigFieldMissing(UsageError, KeyError):
    """Required settings have no value."""

    code = "config-field-missing"

    def __init__(self, *, spec: str, fields: dict[str, tuple[str, ...]]) -> None:
        places = "".join(
            f"\n  searched for {name} in:" + "".join(f"\n    {line}" for line in _group_by_provider(tried))
            for name, tried in fields.items()
        )
        super().__init__(
            f"{spec} has no value for {', '.join(fields)}{places}",
            hint="pass the value, or set it in one of these places; the first place with a value wins",
        )
        self.spec, self.fields = spec, fields


def _group_by_provider(lookups: tuple[str, ...]) -> list[str]:
    """Join the keys of successive lookups in the same provider into one line."""
    lines: list[str] = []
    for place in lookups:
        provider, _, key = place.partition(": ")
        if lines and lines[-1].startswith(f"{provider}: "):
            lines[-1] += f", {key}"
        else:
            lines.append(place)
    return lines


class ConfigProviderFailed(UsageError):
    """A configuration provider raised an error, which is the `__cause__`."""

    code = "config-provider-failed"

    def __init__(self, *, provider: str, reason: str) -> None:
        super().__init__(
            f"the config provider {provider} failed: {reason}",
            hint="repair or remove the provider; penstock does not skip a failing one",
        )
        self.provider, self.reason = provider, reason


class ConfigValueCannotBeCoerced(UsageError):
    """The value of a setting does not have the type of its field. The value is not shown."""

    code = "config-value-cannot-be-coerced"

    def __init__(self, *, field: str, type: str, place: str, reason: str) -> None:  # noqa: A002 - a fact
        super().__init__(
            f"{field} in {place} is not a valid {type}: {reason}",
            hint="correct the value; in environment variables, write lists and objects as JSON",
        )
        self.field, self.type, self.place, self.reason = field, type, place, reason


class ConfigurationValueError(UsageError, ValueError):
    """A setting has a value that a source cannot use."""

    code = "configuration-value"


class CurrentLoadPackageStateNotAvailable(UsageError):
    """The current load package was read outside of a resource, destination or load job."""

    code = "current-load-package-state-not-available"

    def __init__(self) -> None:
        super().__init__(
            "no load package is being processed here",
            hint="call this inside a resource, a destination or a load job",
        )


class DataItemRequiredForDynamicTableHints(UsageError):
    """A table schema depends on a data item, and no item was passed."""

    code = "data-item-required-for-dynamic-table-hints"

    def __init__(self, *, resource: str, hint_name: str) -> None:
        super().__init__(
            f"{hint_name} of {resource} is a function of a data item, and no item was passed",
            hint="pass an item: compute_table_schema(item)",
            resource=resource,
            hint_name=hint_name,
        )


_TLS_PATTERN = re.compile(r"\bSSL\b|\bTLS\b|SSLHandshake|certificate|certification path|PKIX", re.IGNORECASE)
_TLS_HINT = (
    "connections to other machines verify the server certificate: configure the certificate authority "
    "(sslrootcert= for Postgres, serverSslCert= for MariaDB, a Java trust store for MySQL), or, on a network "
    "that you trust, turn TLS off in the URL: ?sslmode=disable (Postgres), ?sslMode=DISABLED (MySQL) or "
    "?sslMode=disable (MariaDB)"
)


class DatabaseQueryFailed(UsageError):
    """A database rejected the connection or the query."""

    code = "database-not-read"
    database: str
    reason: str
    resource: str | None

    def __init__(self, *, database: str, reason: str, resource: str | None = None) -> None:
        super().__init__(
            f"the {database} database rejected the connection or query{_for_resource(resource)}: {reason}",
            hint=_TLS_HINT
            if _TLS_PATTERN.search(reason)
            else "check host, database, user and password of the credentials, and the query if you pass one",
            database=database,
            reason=reason,
            resource=resource,
        )


class DltAlreadyImported(UsageError):
    """dlt was imported before its name was resolved to penstock."""

    code = "dlt-already-imported"

    def __init__(self, *, path: str) -> None:
        super().__init__(
            f"dlt is already imported, from {path}",
            hint="call penstock.as_dlt() before the first import of dlt, or run the program with "
            "`penstock run PROGRAM --as-dlt`",
            path=path,
        )


class InconsistentTableTemplate(UsageError):
    """A hint is a function of a data item, but the table name is not."""

    code = "inconsistent-table-template"

    def __init__(self, *, hint_name: str, table_name: str) -> None:
        super().__init__(
            f"{hint_name} is a function of a data item, but table_name is always {table_name!r}",
            hint="make table_name a function of the item too, or pass the hint as a value",
            hint_name=hint_name,
            table_name=table_name,
        )


class InvalidDatasetName(UsageError):
    """A dataset name is not a valid folder name."""

    code = "invalid-dataset-name"

    def __init__(self, *, name: str, reason: str) -> None:
        super().__init__(
            f"invalid dataset name {name!r}: {reason}",
            hint="use letters, digits, '_' and '-' only, such as 'github_raw'",
            name=name,
            reason=reason,
        )


class InvalidDestinationReference(UsageError):
    """The object that an entry point, a path or an argument names is not a destination."""

    code = "invalid-destination-reference"

    def __init__(self, *, name: str, found: str) -> None:
        super().__init__(
            f"{name!r} names {found}, which is not a destination",
            hint="name an object with spec(), capabilities() and client(), or a factory of destinations",
            name=name,
            found=found,
        )


class InvalidFilesystemLayout(UsageError):
    """A file layout has an unknown placeholder, or does not name every file uniquely."""

    code = "invalid-filesystem-layout"

    def __init__(self, *, layout: str, reason: str) -> None:
        super().__init__(
            f"invalid layout {layout!r}: {reason}",
            hint="correct `layout` of the destination, for example {table_name}/{load_id}.{file_id}.{ext}; "
            "add custom placeholders to `extra_placeholders`",
            layout=layout,
            reason=reason,
        )


class InvalidIdentifier(UsageError):
    """A name normalizes to an empty identifier."""

    code = "invalid-identifier"

    def __init__(self, *, identifier: str, reason: str) -> None:
        super().__init__(
            f"invalid name {identifier!r}: {reason}",
            hint="rename the table or column",
            identifier=identifier,
            reason=reason,
        )


class InvalidJobFileName(UsageError, ValueError):
    """A file name does not follow the grammar of job files."""

    code = "invalid-job-file-name"

    def __init__(self, *, file_name: str, reason: str) -> None:
        super().__init__(
            f"invalid job file name {file_name!r}: {reason}",
            hint="use the form <table>.<file id>.<retries>.<format>, at most 255 bytes",
            file_name=file_name,
            reason=reason,
        )


class InvalidPipelineName(UsageError):
    """A pipeline name is not a valid folder name."""

    code = "invalid-pipeline-name"

    def __init__(self, *, name: str, reason: str) -> None:
        super().__init__(
            f"invalid pipeline name {name!r}: {reason}",
            hint="use letters, digits, '_' and '-' only, such as 'github_events'",
            name=name,
            reason=reason,
        )


class InvalidSchemaName(UsageError):
    """A schema name is not an identifier of at most 64 characters."""

    code = "invalid-schema-name"

    def __init__(self, *, name: str) -> None:
        super().__init__(
            f"invalid schema name {name!r}",
            hint="use a Python identifier of at most 64 characters",
            name=name,
        )


class InvalidSourceConfig(UsageError):
    """A key of a built-in source's configuration is unknown or has a wrong value."""

    code = "invalid-source-config"

    def __init__(self, *, path: str, reason: str, advice: str) -> None:
        super().__init__(f"{path}: {reason}", hint=advice, path=path, reason=reason, advice=advice)


class JarNotVerified(UsageError):
    """The checksum of a resolved jar does not match this release."""

    code = "jar-not-verified"
    path: str

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"the jar {path} failed verification: {reason}",
            hint="delete the file and run again; if it is downloaded again, clear the Maven caches "
            "(~/.ivy2*, ~/.m2), check the Maven repository, or set spark.jars to jars that you trust",
            path=path,
            reason=reason,
        )


class JdbcDriverMissing(UsageError):
    """The Spark session has no JDBC driver for a database."""

    code = "jdbc-driver-missing"

    def __init__(self, *, database: str, driver: str, jar: str) -> None:
        super().__init__(
            f"the Spark session has no JDBC driver for {database}: {driver or 'its class'} not found",
            hint=f"start the session with the jar {jar}, for example by spark.jars.packages; sessions that "
            "penstock starts include the drivers for Postgres, MySQL and MariaDB",
            database=database,
            driver=driver,
            jar=jar,
        )


class LoadClientUnsupportedFileFormats(UsageError):
    """The destination cannot write the requested file format."""

    code = "load-client-unsupported-file-formats"

    def __init__(self, *, table: str, file_format: str, supported: tuple[str, ...]) -> None:
        super().__init__(
            f"the destination cannot write {file_format!r} files (table {table})",
            hint=f"use one of: {', '.join(supported)}",
            table=table,
            file_format=file_format,
            supported=supported,
        )


class LoadClientUnsupportedWriteDisposition(UsageError):
    """The destination does not support a write disposition, merge strategy or table format."""

    code = "load-client-unsupported-write-disposition"

    def __init__(
        self,
        *,
        write_disposition: str,
        supported: tuple[str, ...],
        destination: str = "the destination",
        table: str | None = None,
    ) -> None:
        suffix = f" (table {table})" if table is not None else ""
        super().__init__(
            f"{destination} does not support {write_disposition!r}{suffix}",
            hint=f"use one of: {', '.join(supported)}",
            write_disposition=write_disposition,
            supported=supported,
            destination=destination,
            table=table,
        )


class LoadIsDecided(UsageError):
    """A committed load cannot be aborted."""

    code = "load-is-decided"

    def __init__(self, *, load_id: str, sequence: int) -> None:
        super().__init__(
            f"load {load_id} (sequence {sequence}) is committed and cannot be aborted",
            hint="call run() to complete it",
            load_id=load_id,
            sequence=sequence,
        )


class LoadOvertaken(UsageError):
    """Another run, with other packages, completed a load with the sequence number of this one."""

    code = "load-overtaken"

    def __init__(self, *, load_id: str, sequence: int, other: str) -> None:
        super().__init__(
            f"load {load_id} (sequence {sequence}) cannot be committed: load {other}, which was sealed in "
            "another folder of packages, was committed first, and both continue the same state",
            hint="drop_pending_packages() here, and run again: rows are extracted by the state at the "
            "destination. Machines that run one pipeline need one package_storage that all of them reach",
            load_id=load_id,
            sequence=sequence,
            other=other,
        )


class LoadPackageAlreadyCompleted(UsageError):
    """A package is already complete."""

    code = "load-package-already-completed"

    def __init__(self, *, load_id: str) -> None:
        super().__init__(
            f"package {load_id} is already complete",
            hint="remove this call; get_load_package_info() shows the package",
            load_id=load_id,
        )


class LoadPackageNotCompleted(UsageError):
    """An operation needs a complete package."""

    code = "load-package-not-completed"

    def __init__(self, *, load_id: str) -> None:
        super().__init__(
            f"package {load_id} is not complete yet",
            hint="load or drop the package first",
            load_id=load_id,
        )


class LoadPackageNotFound(UsageError, FileNotFoundError):
    """No package has this id."""

    code = "load-package-not-found"

    def __init__(self, *, load_id: str, path: str) -> None:
        super().__init__(
            f"package {load_id} does not exist at {path}",
            hint="use an id that list_packages() returns",
            load_id=load_id,
            path=path,
        )


class MissingDependencyException(UsageError, ImportError):
    """Python packages that a source needs are not installed."""

    code = "missing-dependency"

    def __init__(self, caller: str, dependencies: Sequence[str], appendix: str = "") -> None:
        super().__init__(
            f"{caller} needs Python packages that are not installed",
            hint="; ".join(
                filter(None, (f"pip install {' '.join(map(shlex.quote, dependencies))}", appendix))
            ),
            caller=caller,
            dependencies=tuple(dependencies),
            appendix=appendix,
        )


class MissingExtra(MissingDependencyException):
    """Python packages of an optional feature are not installed."""

    code = "missing-extra"

    def __init__(self, *, extra: str, needed_for: str) -> None:
        super().__init__(needed_for, (f"penstock[{extra}]",))
        self.extra, self.needed_for = extra, needed_for


class MissingLocation(UsageError):
    """A destination on a cluster has no location."""

    code = "missing-location"

    def __init__(self, *, destination: str, master: str) -> None:
        super().__init__(
            f"the {destination} destination has no location, and Spark runs on {master}, where executors "
            "cannot reach a local folder",
            hint=f"pass penstock.destinations.{destination}(bucket_url=...) or set "
            f"DESTINATION__{destination.upper()}__BUCKET_URL",
            destination=destination,
            master=master,
        )


class MissingOnExecutors(UsageError):
    """Code that runs on executors imports a module that is not installed there."""

    code = "missing-on-executors"

    def __init__(self, *, resource: str, module: str) -> None:
        top = module.partition(".")[0]
        action = (
            "code on executors cannot read state or marks of penstock: pass the values as arguments"
            if top == "penstock"
            else f"install {top} on the executors, or add it to spark.submit.pyFiles"
        )
        super().__init__(
            f"{resource} runs on the executors, where its module {module} is not installed",
            hint=f"{action}; or set extract.work_items = 'driver' to run the resource on the driver",
            resource=resource,
            module=module,
        )


class MissingTableName(UsageError):
    """`run` got data without a name, and no `table_name`."""

    code = "missing-table-name"

    def __init__(self, *, data_type: str) -> None:
        super().__init__(
            f"a {data_type} has no name to derive a table name from",
            hint="pass table_name=... to run(), or name=... to resource()",
            data_type=data_type,
        )


class NotDuringRun(UsageError):
    """Something that exists only during a run was used outside of one."""

    code = "not-during-run"

    def __init__(self, *, what: str) -> None:
        super().__init__(
            f"cannot access {what} outside of a run",
            hint="access it inside a source or resource while a pipeline runs",
            what=what,
        )


class PackageRootChanged(UsageError):
    """The package root changed while loads may be unfinished in the previous one."""

    code = "package-root-changed"

    def __init__(self, *, pipeline: str, recorded: str, given: str, reason: str) -> None:
        super().__init__(
            f"the package root of pipeline {pipeline} changed from {recorded} to {given}, and {reason}",
            hint="restore the previous package_storage or staging and run once, or move the folder; "
            "RUN__ACCEPT_PACKAGE_ROOT=true accepts the new root and abandons unfinished loads",
            pipeline=pipeline,
            recorded=recorded,
            given=given,
            reason=reason,
        )


class PipelineConfigMissing(UsageError):
    """An operation needs a destination, and the pipeline has none."""

    code = "pipeline-config-missing"

    def __init__(self, *, pipeline_name: str) -> None:
        super().__init__(
            f"pipeline {pipeline_name!r} has no destination",
            hint="pass destination='delta' to penstock.pipeline() or to run()",
            pipeline_name=pipeline_name,
        )


class PipelineNeverRan(UsageError):
    """This machine has no record of a run of the pipeline."""

    code = "pipeline-never-ran"

    def __init__(self, *, pipeline_name: str, pipelines_dir: str) -> None:
        super().__init__(
            f"pipeline {pipeline_name!r} has no recorded run in {pipelines_dir}",
            hint="run it, or repeat this on the machine where it ran",
            pipeline_name=pipeline_name,
            pipelines_dir=pipelines_dir,
        )


class PipelineNotActive(UsageError):
    """`deactivate` was called on a pipeline that is not active."""

    code = "pipeline-not-active"

    def __init__(self, *, pipeline_name: str) -> None:
        super().__init__(
            f"pipeline {pipeline_name!r} is not active and cannot be deactivated",
            hint="call activate() first, or remove this call",
            pipeline_name=pipeline_name,
        )


class PlanExpired(UsageError):
    """A plan is too old to be applied."""

    code = "plan-expired"

    def __init__(self, *, load_id: str, expires_at: str) -> None:
        super().__init__(
            f"the plan of package {load_id} expired at {expires_at}",
            hint="call plan() again, which drops it; plan.expires_after is the number of days of a plan",
            load_id=load_id,
            expires_at=expires_at,
        )


class PlanOutdated(UsageError):
    """A plan cannot be applied, because its figures are not true any more."""

    code = "plan-outdated"

    def __init__(self, *, load_id: str, changes: Sequence[str]) -> None:
        super().__init__(
            f"the plan of package {load_id} is out of date: {'; '.join(changes)}",
            hint="call plan() again, and drop this one with drop_plan()",
            load_id=load_id,
            changes=tuple(changes),
        )


class RequestNotRecorded(UsageError):
    """A request that a test makes is not on its cassette, or was recorded less often."""

    code = "request-not-recorded"

    def __init__(self, *, cassette: str, request: str, nearest: str | None, recorded_count: int) -> None:
        if recorded_count:
            message = f"cassette {cassette} has no more responses to {request}; recorded: {recorded_count}"
        else:
            message = f"cassette {cassette} has no response to {request}; nearest: {nearest or 'none'}"
        super().__init__(
            message,
            hint="correct the request, or record again with PENSTOCK_CASSETTES=record",
            cassette=cassette,
            request=request,
            nearest=nearest,
            recorded_count=recorded_count,
        )


class ResourceNameTaken(UsageError):
    """Two resources of one source have the same name."""

    code = "resource-name-taken"

    def __init__(self, *, resource: str, source: str) -> None:
        super().__init__(
            f"source {source} has two resources named {resource!r}",
            hint="rename one of them with with_name(...)",
            resource=resource,
            source=source,
        )


class ResourceUnbound(UsageError):
    """A resource lacks an argument or its parent resource."""

    code = "resource-unbound"

    def __init__(self, *, resource: str, missing: str) -> None:
        super().__init__(
            f"{resource} is missing {missing}",
            hint="call the resource with its arguments, or connect the transformer by data_from or |",
            resource=resource,
            missing=missing,
        )


class ResourcesNotFound(UsageError):
    """A source has no resource of this name."""

    code = "resources-not-found"

    def __init__(self, *, source: str, unknown: str, known: str) -> None:
        super().__init__(
            f"source {source} has no resource {unknown}",
            hint=f"use one of: {known}",
            source=source,
            unknown=unknown,
            known=known,
        )


class SchemaCorruptedException(UsageError):
    """The hints of a table contradict each other or its schema."""

    code = "schema-corrupted"

    def __init__(self, *, table: str, reason: str) -> None:
        super().__init__(
            f"invalid schema of table {table}: {reason}",
            hint="correct the hints of the resource, then run again",
            table=table,
            reason=reason,
        )


class SchemaEngineNoUpgradePath(UsageError):
    """This release cannot read the engine version of a stored schema."""

    code = "schema-engine"

    def __init__(self, *, schema: str, has: int, supports: int) -> None:
        super().__init__(
            f"schema {schema} has engine version {has}, this release supports up to {supports}",
            hint="upgrade penstock, or export the schema with the tool that wrote it",
            schema=schema,
            has=has,
            supports=supports,
        )


class SchemaNotFoundError(UsageError, KeyError):
    """A pipeline has no schema of this name."""

    code = "schema-not-found"

    def __init__(self, *, schema_name: str, known: tuple[str, ...]) -> None:
        super().__init__(
            f"schema {schema_name!r} does not exist",
            hint=f"use one of: {', '.join(known)}",
            schema_name=schema_name,
            known=known,
        )


class SessionChangesText(UsageError):
    """A Spark setting substitutes parts of SQL text, and penstock cannot turn it off."""

    code = "session-changes-text"

    def __init__(self, *, setting: str, value: str | None) -> None:
        super().__init__(
            f"the Spark session substitutes variables in SQL text: {setting} is {value}",
            hint=f'before the pipeline runs, call spark.conf.set("{setting}", "false")',
            setting=setting,
            value=value,
        )


class SessionLacksConf(UsageError):
    """A Spark session lacks settings that take effect only when it starts."""

    code = "session-lacks-conf"

    def __init__(self, *, destination: str, conf: dict[str, str]) -> None:
        lines = "\n    ".join(f'.config("{key}", "{value}")' for key, value in conf.items())
        super().__init__(
            f"the Spark session is not configured for {destination} tables",
            hint=f"add these lines where you build the session, before it starts:\n    {lines}",
            destination=destination,
            conf=conf,
        )


class SourceExhausted(UsageError):
    """A generator was already consumed."""

    code = "source-exhausted"

    def __init__(self, *, resource: str) -> None:
        super().__init__(
            f"the generator of {resource} is exhausted",
            hint="create the generator again, or pass the generator function",
            resource=resource,
        )


class SparkNotAvailable(UsageError):
    """No Spark session could be started or connected to."""

    code = "spark-not-available"

    def __init__(self, *, reason: str, hint: str) -> None:
        super().__init__(f"no Spark session: {reason}", hint=hint, reason=reason)


class SqlClientNotAvailable(UsageError):
    """The destination cannot read its tables back."""

    code = "sql-client-not-available"

    def __init__(self, *, destination: str) -> None:
        super().__init__(
            f"penstock cannot read tables of the {destination} destination",
            hint="read its tables with the tools of the destination",
            destination=destination,
        )


class StorageAccessDenied(UsageError, OSError):
    """A storage denied access, or a bucket does not exist."""

    code = "storage-refused"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"access to {path} was denied: {reason}",
            hint="check the bucket, its region, and the keys in destination.<name>.credentials or of the "
            "machine; restart Spark after changing keys, because it caches them per bucket",
            path=path,
            reason=reason,
        )


class StorageNotShared(UsageError):
    """A storage path is not reachable for both driver and executors."""

    code = "storage-not-shared"

    def __init__(self, *, path: str, seen_by: str, missing_for: str) -> None:
        super().__init__(
            f"{path} is visible to {seen_by} but not to {missing_for}",
            hint="set bucket_url to storage that both can reach: an object store or a shared disk",
            path=path,
            seen_by=seen_by,
            missing_for=missing_for,
        )


class StorageNotTrusted(UsageError):
    """The storage cannot create a file atomically, so that two runs could commit the same load."""

    code = "storage-not-trusted"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"{path} has no atomic create: {reason}",
            hint="set package_storage to a local or shared disk, Amazon S3, Google Cloud Storage or Azure; "
            "Delta and Iceberg tables do not have to move. For an S3-compatible server that implements "
            "If-None-Match atomically, set destination.<name>.credentials.conditional_writes to true",
            path=path,
            reason=reason,
        )


class TableNotFound(UsageError, KeyError):
    """The schema has no table of this name."""

    code = "table-not-found"

    def __init__(self, *, table: str, schema: str, known: Sequence[str] | None = None) -> None:
        super().__init__(
            f"table {table!r} does not exist in schema {schema!r}",
            hint="use a name from `.tables`; names are normalized (CamelCase becomes camel_case)"
            if known is None
            else suggestion(table, known),
            table=table,
            schema=schema,
            known=known,
        )


class TablePropertiesConflictException(UsageError):
    """A property of a table cannot change."""

    code = "table-properties-conflict"

    def __init__(self, *, table: str, prop: str, has: str | None, got: str | None) -> None:
        super().__init__(
            f"the {prop} of table {table!r} is {has!r} and cannot change to {got!r}",
            hint="write to another table, or drop this one first",
            table=table,
            prop=prop,
            has=has,
            got=got,
        )


class TableVersionGone(UsageError):
    """A consistent read needs a table version whose files were deleted."""

    code = "table-version-gone"

    def __init__(self, *, tables: Mapping[str, int], dataset: str) -> None:
        versions = ", ".join(f"version {version} of {table}" for table, version in tables.items())
        super().__init__(
            f"the files of {versions} in {dataset!r} were deleted, and newer versions contain a load that "
            "was not complete when the dataset was opened",
            hint="open the dataset again; if a load is still unfinished, run the pipeline to complete it, or "
            "read the latest versions with dataset(consistent=False)",
            tables=dict(tables),
            dataset=dataset,
        )


class TablesMovedOn(UsageError):
    """A load cannot be rolled back, because its tables were changed since."""

    code = "tables-moved-on"

    def __init__(self, *, load_id: str, tables: Mapping[str, str]) -> None:
        super().__init__(
            f"load {load_id} cannot be rolled back: {'; '.join(tables.values())}",
            hint="run again to complete the load, or restore these tables manually and call "
            "drop_pending_packages() again",
            load_id=load_id,
            tables=dict(tables),
        )


class UnboundColumnException(UsageError):
    """A column has neither a declared type nor a value to infer one from."""

    code = "unbound-column"

    def __init__(self, *, column: str) -> None:
        super().__init__(
            f"column {column!r} has no data type",
            hint="declare its data_type, or load a row with a value for it",
            column=column,
        )


class UndoRefused(UsageError):
    """Complete loads cannot be undone; nothing was changed."""

    code = "undo-refused"

    def __init__(self, *, load_ids: Sequence[str], reasons: Sequence[str], can_force: bool) -> None:
        hint = "restore the tables by hand, or run the pipeline to load on top of these loads"
        if can_force:
            hint = "force=True (--force) overwrites these changes with the rows before the undone loads"
        super().__init__(
            f"{'loads' if len(load_ids) > 1 else 'load'} {', '.join(load_ids)} cannot be undone: "
            f"{'; '.join(reasons)}",
            hint=hint,
            load_ids=tuple(load_ids),
            reasons=tuple(reasons),
            can_force=can_force,
        )


class UnknownDestination(UsageError):
    """No destination has this name or path."""

    code = "unknown-destination"

    def __init__(self, *, name: str, known: tuple[str, ...], instead: str | None = None) -> None:
        start = suggestion(name, known) if instead is None else f"{instead}; {suggestion('', known)}"
        super().__init__(
            f"unknown destination {name!r}",
            hint="import it where Python finds it: this path is no module, and no attribute of a module"
            if "." in name
            else f"{start}; another name needs destination.{name}.destination_type in the "
            "settings; plug-ins register an entry point in the group 'penstock.destinations'",
            name=name,
            known=known,
            instead=instead,
        )


class UnknownSourceReference(UsageError, KeyError):
    """No source has this reference."""

    code = "unknown-source-reference"

    def __init__(self, *, ref: str, tried: tuple[str, ...]) -> None:
        super().__init__(
            f"unknown source {ref!r}; tried {', '.join(tried)}",
            hint="write module.function: a source or a resource in a module that Python finds",
            ref=ref,
            tried=tried,
        )


class UnsafePath(UsageError):
    """A name leads out of its folder, or is not a valid file name."""

    code = "unsafe-path"

    def __init__(self, *, name: str, reason: str) -> None:
        super().__init__(
            f"invalid file name {name!r}: {reason}",
            hint="use a plain relative name without special characters",
            name=name,
            reason=reason,
        )


class UnsupportedCapability(UsageError):
    """A destination declares a capability that penstock cannot honour."""

    code = "unsupported-capability"

    def __init__(self, *, destination: str, name: str, value: Any, reason: str, remedy: str) -> None:
        super().__init__(
            f"{destination}: capability {name} is {value!r}, but {reason}",
            hint=remedy,
            destination=destination,
            name=name,
            value=value,
            reason=reason,
            remedy=remedy,
        )


class UnsupportedData(UsageError):
    """`run` cannot load data of this type."""

    code = "unsupported-data"

    def __init__(
        self,
        *,
        data_type: str,
        reason: str,
        hint: str = "pass a list, a generator or a generator function of dicts or values",
    ) -> None:
        super().__init__(
            f"cannot load a {data_type}: {reason}",
            hint=hint,
            data_type=data_type,
            reason=reason,
        )


class UnsupportedVersion(UsageError):
    """A file, state or Spark version is not supported by this release."""

    code = "unsupported-version"

    def __init__(self, *, what: str, has: str, supports: str) -> None:
        super().__init__(
            f"{what} has version {has}, this release supports {supports}",
            hint="upgrade penstock, or use a supported version",
            what=what,
            has=has,
            supports=supports,
        )


class ValueNotSecret(UsageError):
    """A secret was found in a provider that is not for secrets."""

    code = "value-not-secret"

    def __init__(self, *, field: str, place: str) -> None:
        super().__init__(
            f"{field} is a secret and must not be in {place}",
            hint="move it to secrets.toml or an environment variable, and replace it if it was shared",
        )
        self.field, self.place = field, place


class DestinationException(PenstockError):
    """An error of a destination, terminal or transient."""

    code = "destination"


class DataError(PenstockError):
    """The data cannot be loaded as it is."""

    code = "data"


class ChecksFailed(DataError):
    """Rows of a load fail checks that stop it."""

    code = "checks-failed"

    def __init__(self, *, failures: Sequence[str], is_pending: bool) -> None:
        """`is_pending`: whether the package remains, because an earlier call extracted it."""
        hint = (
            "the package stays pending: change the check, or call drop_pending_packages() and extract again"
            if is_pending
            else "nothing is published, and the next run reads the rows again: correct them, or the check; "
            "plan() shows the load without publishing it"
        )
        super().__init__("; ".join(failures), hint=hint)
        self.failures, self.is_pending = tuple(failures), is_pending


class DataValidationError(DataError):
    """The data violates the schema contract."""

    code = "data-validation"

    def __init__(
        self,
        *,
        schema_name: str,
        table_name: str,
        column_name: str | None,
        schema_entity: str,
        contract_mode: str,
        reason: str,
        count: int,
        data_item: Any = None,
    ) -> None:
        target = f"{table_name}.{column_name}" if column_name else table_name
        values = f"{count:,} value{'' if count == 1 else 's'}"
        example = "" if data_item is None else f", such as {data_item!r}"
        super().__init__(
            f"{target}: {reason}, but the contract of {schema_entity} is {contract_mode} ({values}{example})",
            hint="drop the package, which has this contract, by pipeline.drop_pending_packages(); "
            f"then change the data, or set schema_contract={{{schema_entity!r}: 'evolve'}}",
            schema_name=schema_name,
            table_name=table_name,
            column_name=column_name,
            schema_entity=schema_entity,
            contract_mode=contract_mode,
            reason=reason,
            count=count,
            data_item=data_item,
        )


class DeletionsRefused(DataError):
    """The source lacks more rows of a table than it may; nothing was loaded."""

    code = "deletions-refused"

    def __init__(self, *, table: str, missing: int, rows: int, max_deleted: float) -> None:
        super().__init__(
            f"the source lacks {missing:,} of the {rows:,} rows of {table} ({missing / rows:.1%}), and "
            f"max_deleted is {max_deleted:.1%}: nothing was loaded",
            hint="if the rows were deleted at the source, run once with a larger max_deleted; "
            "otherwise the source is incomplete",
            table=table,
            missing=missing,
            rows=rows,
            max_deleted=max_deleted,
        )


class DestinationTerminalException(DataError, DestinationException):
    """A destination error that a retry does not solve."""

    code = "destination-terminal"


class DestinationHasFailedJobs(DestinationTerminalException):
    """A load was completed without its failed jobs."""

    code = "destination-has-failed-jobs"

    def __init__(self, *, destination: str, load_id: str, failed_jobs: tuple[str, ...]) -> None:
        super().__init__(
            f"load {load_id} to {destination} has {len(failed_jobs)} failed jobs: {', '.join(failed_jobs)}",
            hint="read the messages next to the jobs in `failed_jobs` of the package",
            destination=destination,
            load_id=load_id,
            failed_jobs=failed_jobs,
        )


class IdentifierTooLongException(DestinationTerminalException):
    """A name is longer than the maximum of the destination."""

    code = "identifier-too-long"

    def __init__(self, *, destination: str, kind: str, name: str, max_length: int) -> None:
        super().__init__(
            f"{kind} name {name!r} has {len(name)} characters, {destination} allows {max_length}",
            hint="extract and load the data again: normalize shortens names to fit this destination",
            destination=destination,
            kind=kind,
            name=name,
            max_length=max_length,
        )


class LoadClientJobFailed(DestinationTerminalException):
    """A load job failed terminally."""

    code = "load-client-job-failed"

    def __init__(
        self,
        *,
        load_id: str,
        job_id: str,
        failed_message: str,
        failed_jobs: Mapping[str, str] | None = None,
    ) -> None:
        """Use `failed_jobs` for the messages of all failed jobs by job id."""
        every = dict(failed_jobs or {job_id: failed_message})
        others = [other for other in every if other != job_id]
        super().__init__(
            f"job {job_id} of load {load_id} failed: {failed_message}"
            + (f"; also failed: {', '.join(others)}" if others else ""),
            hint="fix the cause and run again: the load is not committed, its package is kept, and no row is "
            "written twice. Unless load.raise_on_failed_jobs is true, only a refresh, or a table that does "
            "not match the load, is stopped",
            load_id=load_id,
            job_id=job_id,
            failed_message=failed_message,
            failed_jobs=every,
        )


class LoadClientTerminalException(DestinationTerminalException):
    """Raised by a destination to fail a job terminally."""

    code = "load-client-terminal"


class DltResourceException(DataError):
    """A resource of a source failed."""

    code = "dlt-resource"

    def __init__(self, resource_name: str, msg: str) -> None:
        super().__init__(f"{resource_name}: {msg}", resource_name=resource_name, msg=msg)


class FileNotReadable(DataError):
    """A source file is not valid in its format."""

    code = "file-not-readable"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"{path} cannot be read: {reason}",
            hint="repair or move the file, or exclude it by file_glob, then run again",
            path=path,
            reason=reason,
        )


class IncrementalCursorInvalidCoercion(DataError):
    """A cursor value cannot be compared with the start or end value."""

    code = "incremental-cursor-invalid-coercion"

    def __init__(
        self, *, resource: str, cursor_path: str, bound: str, expected: str, got: str, cause: str
    ) -> None:
        super().__init__(
            f"{resource}: {cursor_path} is {got}, which cannot be compared with the {bound} "
            f"({expected}): {cause}",
            hint=f"pass {bound} of the type of the data, or convert the field with add_map",
            resource=resource,
            cursor_path=cursor_path,
            bound=bound,
            expected=expected,
            got=got,
            cause=cause,
        )


class IncrementalCursorPathHasValueNone(DataError):
    """The cursor value of a row is None."""

    code = "incremental-cursor-path-has-value-none"

    def __init__(self, *, resource: str, cursor_path: str) -> None:
        super().__init__(
            f"a row of {resource} has None at {cursor_path}",
            hint="pass on_cursor_value_missing='include' to load such rows or 'exclude' to skip them",
            resource=resource,
            cursor_path=cursor_path,
        )


class IncrementalCursorPathMissing(DataError):
    """A row has no cursor field."""

    code = "incremental-cursor-path-missing"

    def __init__(self, *, resource: str, cursor_path: str | None) -> None:
        super().__init__(
            f"a row of {resource} has no {cursor_path}"
            if cursor_path
            else f"the incremental of {resource} has no cursor_path",
            hint="use the field name of the data (in a frame, a column), or pass "
            "on_cursor_value_missing='include' or 'exclude'",
            resource=resource,
            cursor_path=cursor_path,
        )


class IncrementalPrimaryKeyMissing(DataError):
    """A row at the boundary lacks the primary key of the incremental."""

    code = "incremental-primary-key-missing"

    def __init__(self, *, resource: str, key: str) -> None:
        super().__init__(
            f"a row of {resource} has no {key}, the primary key of its incremental",
            hint="use the key name of the data, or turn deduplication off with primary_key=()",
            resource=resource,
            key=key,
        )


class ParentFieldMissing(DataError):
    """A row of a parent resource lacks a field that its child resource needs."""

    code = "parent-field-missing"

    def __init__(self, *, resource: str, parent: str, field: str, known: str) -> None:
        super().__init__(
            f"{resource} needs {field} of every row of {parent}, and a row has only {known}",
            hint=f"use a field that all rows of {parent} have, or filter out the other rows",
            resource=resource,
            parent=parent,
            field=field,
            known=known,
        )


class ResourceFailed(DataError):
    """User code raised an error, which is the `__cause__`."""

    code = "resource-failed"
    resource: str
    item: int | str
    cause: str
    traceback: str

    def __init__(self, *, resource: str, item: int | str, cause: str, traceback: str = "") -> None:
        super().__init__(
            f"{resource} raised {cause} at item {item}",
            hint="fix the code in the traceback above; nothing of this package was loaded",
            resource=resource,
            item=item,
            cause=cause,
            traceback=traceback,
        )

    @staticmethod
    def from_exception(
        error: Exception, *, resource: str, item: int | str, response: tuple[str, int, str] | None = None
    ) -> ResourceFailed:
        """Wrap `error`; keep its traceback as text, because an error from an executor has none.

        `response` is the URL, the status and the body of the HTTP response that caused the error.
        """
        return ResourceFailed.for_response(
            resource=resource,
            item=item,
            cause=_safe_repr(error),
            traceback="".join(format_exception(error)),
            response=response,
        )

    @staticmethod
    def for_response(
        *, resource: str, item: int | str, cause: str, traceback: str, response: tuple[str, int, str] | None
    ) -> ResourceFailed:
        """Return the error class that fits the HTTP status, or `ResourceFailed` without a response."""
        if response is None:
            return ResourceFailed(resource=resource, item=item, cause=cause, traceback=traceback)
        url, status, body = response
        kind = ServerFailed if status >= _FIRST_SERVER_ERROR or status in {408, 429} else RequestRefused
        return kind(
            resource=resource, item=item, url=url, status=status, body=body, cause=cause, traceback=traceback
        )


_KNOWN_STATUSES = frozenset(HTTPStatus)
_FIRST_SERVER_ERROR = 500
_STATUS_HINTS = {
    401: "check auth: the credentials of the client, or its token or key in the settings",
    403: "check auth: grant these credentials read access, or use other credentials",
    404: "check base_url and path, or ignore this status with response_actions",
    429: "set a rate_limit for the client, or run again later",
}


class RequestRefused(ResourceFailed):
    """A server rejected a request of a resource with a status from 400 to 499."""

    code = "request-refused"
    host: str
    status: int

    def __init__(
        self,
        *,
        resource: str,
        item: int | str,
        url: str,
        status: int,
        cause: str,
        traceback: str = "",
        body: str = "",
    ) -> None:
        """`url` is the address of the request without secrets, `body` the beginning of the response."""
        facts: dict[str, Any] = {"item": item, "cause": cause, "traceback": traceback}
        hint = "check the request: path, params, headers and body"
        _init_for_response(self, (url, status, body), default_hint=hint, resource=resource, **facts)


def _init_for_response(
    error: ResourceFailed, response: tuple[str, int, str], *, default_hint: str, resource: str, **facts: Any
) -> None:
    """Initialize the error of a response: its URL, its status and the beginning of its body."""
    url, status, body = response
    PenstockError.__init__(
        error,
        _status_message(url, status, resource, body),
        hint=_STATUS_HINTS.get(status, default_hint),
        resource=resource,
        host=urlsplit(url).netloc,
        url=url,
        status=status,
        body=body,
        **facts,
    )


def _status_message(url: str, status: int, resource: str, body: str) -> str:
    phrase = f" {HTTPStatus(status).phrase}" if status in _KNOWN_STATUSES else ""
    # No blank follows the URL: a text after `bearer ` or `token ` is masked.
    content = f"; body: {body}" if body else ""
    return f"a request of {resource} returned {status}{phrase}: {url}{content}"


def _for_resource(resource: str | None) -> str:
    return f" for {resource}" if resource else ""


# The root cause in the text of a Java error, after the lines of its stack trace.
_JAVA_CAUSE = re.compile(r"^(?:Caused by)?: ([\w.$]+(?:Exception|Error)\b[^\n]*)", re.MULTILINE)


def _safe_repr(error: Exception) -> str:
    try:
        causes = _JAVA_CAUSE.findall(str(error))
        return f"{type(error).__name__}({causes[-1]!r})" if causes else repr(error)
    except Exception as other:  # `__str__` and `__repr__` of a foreign class may raise anything
        return f"{type(error).__name__}(<{type(other).__name__} in its repr>)"


class ResponseNotUnderstood(DataError):
    """A response lacks the field that a paginator reads."""

    code = "response-not-understood"

    def __init__(self, *, paginator: str, path: str, wanted: str, found: str) -> None:
        super().__init__(
            f"{paginator} expects {wanted} at {path} of the response, got {found}",
            hint="correct the path, or set another stop condition: a maximum or stop_after_empty_page",
            paginator=paginator,
            path=path,
            wanted=wanted,
            found=found,
        )


class RowNotEncodable(DataError):
    """A row has a value that cannot be encoded as JSON."""

    code = "row-not-encodable"

    def __init__(self, *, resource: str, item: int | str, cause: str) -> None:
        super().__init__(
            f"row {item} of {resource} cannot be encoded: {cause}",
            hint="convert the value to text, a number, a date, bytes, a list or a dict before you yield it",
            resource=resource,
            item=item,
            cause=cause,
        )


class UnsupportedColumnType(DataError):
    """A column of a frame has a type or name that files cannot hold."""

    code = "column-not-landable"

    def __init__(self, *, column: str, reason: str) -> None:
        super().__init__(
            f"unsupported column {column} of a frame: {reason}",
            hint="cast, rename or drop the column before you yield the frame",
            column=column,
            reason=reason,
        )


class RetryableError(PenstockError):
    """The same call may succeed when repeated."""

    code = "retryable"


class CommitLost(RetryableError):
    """A table does not have a commit that was written to it."""

    code = "commit-lost"

    def __init__(self, *, table: str, sequence: int) -> None:
        super().__init__(
            f"{table} has no commit with sequence {sequence}, although it was written",
            hint="run again: the sealed package continues where it stopped",
            table=table,
            sequence=sequence,
        )


class DatabaseNotReachable(RetryableError):
    """A database does not respond or accepts no more connections."""

    code = "database-not-reachable"
    database: str
    reason: str
    resource: str | None

    def __init__(self, *, database: str, reason: str, resource: str | None = None) -> None:
        super().__init__(
            f"the {database} database cannot be reached{_for_resource(resource)}: {reason}",
            hint="check host and port of the credentials, the network between the Spark driver and the "
            "database, and its connection limit; then run again: no data is lost",
            database=database,
            reason=reason,
            resource=resource,
        )


class DestinationTransientException(RetryableError, DestinationException):
    """A destination error that a retry may solve."""

    code = "destination-transient"


class BatchFailed(DestinationTransientException):
    """The function of a destination raised an error for a batch of rows."""

    code = "batch-failed"

    def __init__(self, *, table: str, batch_number: int, reason: str, sent: int) -> None:
        super().__init__(
            f"batch {batch_number} of table {table} was not sent: {reason}",
            hint="run again: batches that were sent are not repeated",
            table=table,
            batch_number=batch_number,
            reason=reason,
        )
        self.sent = sent


class DatabaseFileLocked(DestinationTransientException):
    """Another process has opened the file of a database."""

    code = "database-file-locked"

    def __init__(self, *, path: str, holder: str = "") -> None:
        super().__init__(
            f"{path} is open in another process{f': {holder}' if holder else ''}, "
            "and only one process can open a file of DuckDB for writing",
            hint="close it there, or let that process end, and run again",
            path=path,
            holder=holder,
        )


class FollowupJobCreationFailedException(DestinationTransientException):
    """The destination could not create the follow-up jobs of a job."""

    code = "followup-job-creation-failed"

    def __init__(self, *, job_id: str, cause: str) -> None:
        super().__init__(
            f"the follow-up jobs of {job_id} could not be created: {cause}",
            hint="run again: completed jobs are not repeated",
            job_id=job_id,
            cause=cause,
        )


class LoadClientJobRetry(DestinationTransientException):
    """A job used up the retries of one run."""

    code = "load-client-job-retry"

    def __init__(self, *, load_id: str, job_id: str, retry_count: int, retry_message: str) -> None:
        super().__init__(
            f"job {job_id} of load {load_id} failed after {retry_count} retries: {retry_message}",
            hint="run again later: the package is kept and continues where it stopped",
            load_id=load_id,
            job_id=job_id,
            retry_count=retry_count,
            retry_message=retry_message,
        )


class LoadClientTransientException(DestinationTransientException):
    """Raised by a destination to retry a job."""

    code = "load-client-transient"


class TableChainFollowupJobCreationFailedException(DestinationTransientException):
    """The destination could not create the follow-up jobs of a table chain."""

    code = "table-chain-followup-job-creation-failed"

    def __init__(self, *, root_table_name: str, cause: str) -> None:
        super().__init__(
            f"the follow-up jobs of the table chain {root_table_name} could not be created: {cause}",
            hint="run again: completed jobs are not repeated",
            root_table_name=root_table_name,
            cause=cause,
        )


class FilesChanged(RetryableError):
    """Source files changed while they were read; the result is discarded."""

    code = "files-changed"

    def __init__(self, *, resource: str, first: Any, then: Any) -> None:
        super().__init__(
            f"files of {resource} changed while they were read: first {first}, then {then}",
            hint="run again: nothing was loaded; write files elsewhere and move them in when complete",
            resource=resource,
            first=first,
            then=then,
        )


class LeaseLost(RetryableError):
    """The lease of this run expired, and another run may own it."""

    code = "lease-lost"

    def __init__(self, *, epoch: int, host: str) -> None:
        super().__init__(
            f"the run on {host} lost its lease (epoch {epoch}) and stopped",
            hint="find out why this run was paused, then run again; another run may continue its packages",
            epoch=epoch,
            host=host,
        )


class LoadCompletedElsewhere(RetryableError):
    """Another process completed the load while this one applied it."""

    code = "load-completed-elsewhere"

    def __init__(self, *, load_id: str, sequence: int) -> None:
        super().__init__(
            f"load {load_id} (sequence {sequence}) was completed by another process during this run",
            hint="find out why two processes ran this pipeline, then run again; the load is applied once",
            load_id=load_id,
            sequence=sequence,
        )


class LoadPackageAborted(RetryableError):
    """A load was aborted by another process while it was being applied."""

    code = "load-package-aborted"

    def __init__(self, *, load_id: str, sequence: int, by: str) -> None:
        super().__init__(
            f"load {load_id} (sequence {sequence}) was aborted while it was being loaded",
            hint="run again: the next load gets the next sequence number",
            load_id=load_id,
            sequence=sequence,
            by=by,
        )


class LoadPackageCancelled(RetryableError):
    """Work on a package was cancelled."""

    code = "load-package-cancelled"

    def __init__(self, *, load_id: str) -> None:
        super().__init__(
            f"work on package {load_id} was cancelled",
            hint="run again, or drop the package",
            load_id=load_id,
        )


class PipelineLocked(RetryableError):
    """Another run holds the lease of this pipeline."""

    code = "pipeline-locked"

    def __init__(
        self, *, pipeline: str, host: str, process: int, user: str, age: float, alive: float
    ) -> None:
        super().__init__(
            f"pipeline {pipeline} is already running: user {user}, host {host}, process {process}, "
            f"for {age:.0f} s",
            hint="wait for that run to end; if it was killed, a new run can take over its lease "
            f"{2 * alive:.0f} s after the last heartbeat",
            pipeline=pipeline,
            host=host,
            process=process,
            user=user,
            age=age,
            alive=alive,
        )


class ServerFailed(RetryableError, ResourceFailed):
    """A server failed a request of a resource with status 408, 429, or 500 and above."""

    code = "server-failed"
    host: str
    status: int

    def __init__(
        self,
        *,
        resource: str,
        item: int | str,
        url: str,
        status: int,
        cause: str,
        traceback: str = "",
        body: str = "",
    ) -> None:
        """`url` is the address of the request without secrets, `body` the beginning of the response."""
        facts: dict[str, Any] = {"item": item, "cause": cause, "traceback": traceback}
        hint = "run again later; nothing of this package was loaded"
        _init_for_response(self, (url, status, body), default_hint=hint, resource=resource, **facts)


class SlotTaken(RetryableError):
    """Another run of this pipeline sealed the next load first."""

    code = "slot-taken"

    def __init__(self, *, pipeline: str, sequence: int) -> None:
        super().__init__(
            f"another run of {pipeline} sealed load {sequence} first",
            hint="wait for the other run, then call run() without data: the rows are kept in their package",
            pipeline=pipeline,
            sequence=sequence,
        )


class StorageFull(RetryableError, OSError):
    """A disk is full or a quota is exceeded."""

    code = "storage-full"
    path: str

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"no space left to write {path}: {reason}",
            hint="free space or raise the quota, then run again: complete packages are kept, an unfinished "
            "extract starts again, and no row is loaded twice",
            path=path,
            reason=reason,
        )


class StorageNotReachable(RetryableError, OSError):
    """A storage does not respond."""

    code = "storage-not-reachable"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"{path} cannot be reached: {reason}",
            hint="check the network, the address and the credentials, then run again: no data is lost",
            path=path,
            reason=reason,
        )


class TransactionsRunning(RetryableError):
    """Open transactions may commit rows below the cursor value, which later runs would miss."""

    code = "transactions-running"

    def __init__(self, *, column: str, seconds: float, transactions: tuple[str, ...]) -> None:
        super().__init__(
            f"{len(transactions)} writing transaction(s) did not end in {seconds:g} s and may commit rows "
            f"below the last value of {column}",
            hint="run again when they have ended, or pass settle=0 and set a lag for the incremental; "
            "pg_locks lists them by virtualtransaction",
            column=column,
            seconds=seconds,
            transactions=transactions,
        )


class WaveFailed(RetryableError):
    """Spark failed to complete a wave of work items."""

    code = "wave-failed"

    def __init__(self, *, resource: str, wave: int, reason: str) -> None:
        super().__init__(
            f"wave {wave} of {resource} failed: {reason}",
            hint="run again: finished waves are kept, only this one is repeated",
            resource=resource,
            wave=wave,
            reason=reason,
        )


class InternalError(PenstockError):
    """An invariant is broken."""

    code = "internal"


class BoundaryDamaged(InternalError):
    """The file of row hashes at a cursor's last value is missing or does not match the state."""

    code = "boundary-damaged"
    path: str

    def __init__(self, *, path: str, cursor_path: str, reason: str) -> None:
        super().__init__(
            f"the boundary file {path} of cursor {cursor_path} is unusable: {reason}",
            hint="restore the file, or set the destination that stores it; or run once with primary_key=() "
            "in the incremental, which loads the rows at the last value again",
            path=path,
            cursor_path=cursor_path,
            reason=reason,
        )


class DestinationAhead(InternalError):
    """A table already has a commit of another load with this or a later sequence number."""

    code = "destination-ahead"

    def __init__(self, *, table: str, sequence: int) -> None:
        super().__init__(
            f"{table} has a commit of another load with sequence {sequence} or later, and none of this load",
            hint="ledger, packages and tables do not match: restore what was moved or deleted, or use "
            "another pipeline name",
            table=table,
            sequence=sequence,
        )


class JobNotFound(InternalError):
    """A job file does not exist."""

    code = "job-not-found"

    def __init__(self, *, path: str) -> None:
        super().__init__(
            f"job file {path} does not exist",
            hint="read the package again: another process may have moved the job",
            path=path,
        )


class PackageDamaged(InternalError):
    """A control file of a package is unreadable, or its data files do not match the manifest."""

    code = "package-damaged"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"{path} is damaged: {reason}",
            hint="restore the file, or discard the rows with pipeline.drop_pending_packages()",
            path=path,
            reason=reason,
        )


class NeverRaised(PenstockError):
    """An alias for dlt exceptions that penstock never raises, so that programs for dlt can import them."""

    code = "never-raised"


class PipelineStepFailed(PenstockError):
    """A step of `run`, `extract`, `normalize` or `load` failed with `exception`.

    `step_info` describes the step up to the failure. A copy from another process has no `step_info` and
    `pipeline`, and its `exception` is None unless it is a `PenstockError`.
    """

    code = "pipeline-step-failed"

    def __init__(
        self,
        *,
        pipeline: Any,
        step: str,
        load_id: str | None,
        exception: Exception,
        step_info: Any = None,
        why: str | None = None,
    ) -> None:
        """Use `why` as the text of `exception`, without secrets."""
        hint = "see the error above"
        if isinstance(exception, PenstockError):
            why, hint = why or exception.message, exception.hint
        why = why or type(exception).__name__
        failed_step = f"{step} of package {load_id}" if load_id else step
        super().__init__(
            f"pipeline {pipeline.pipeline_name!r} failed in {failed_step}: {why}",
            hint=hint,
            pipeline=pipeline,
            pipeline_name=pipeline.pipeline_name,
            step_info=step_info,
            why=why,
        )
        self.step, self.load_id, self.exception = step, load_id, exception

    @property
    def is_retryable(self) -> bool:
        """Whether repeating the call may succeed."""
        return isinstance(self.exception, RetryableError)

    def __reduce__(self) -> tuple[Any, ...]:
        """Drop the pipeline and foreign exceptions, which may hold a session or not be serializable."""
        exception = self.exception if isinstance(self.exception, PenstockError) else None
        facts = {**self.__dict__, "pipeline": None, "step_info": None, "exception": exception}
        return (_rebuild, (type(self), self.args, facts))
