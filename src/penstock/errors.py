"""Every error a caller may see, sorted by what the caller does next.

A message states a fact, `hint` the next move, and the facts are attributes. `code` is a heading in
`docs/errors.md`.

PenstockError
├── UsageError: change the call or the settings
│   ├── CannotRestorePipelineException
│   ├── CantExtractTablePrefix
│   ├── CommitRolledBack
│   ├── ConfigFieldMissing
│   ├── ConfigProviderFailed
│   ├── ConfigValueCannotBeCoerced
│   ├── CurrentLoadPackageStateNotAvailable
│   ├── DataItemRequiredForDynamicTableHints
│   ├── DatabaseQueryFailed
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
│   ├── LoadPackageAlreadyCompleted
│   ├── LoadPackageNotCompleted
│   ├── LoadPackageNotFound
│   ├── MissingExtra
│   ├── MissingLocation
│   ├── MissingOnExecutors
│   ├── MissingTableName
│   ├── NotDuringRun
│   ├── PackageRootChanged
│   ├── PipelineConfigMissing
│   ├── PipelineNeverRan
│   ├── PipelineNotActive
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
│   ├── UnknownDestination
│   ├── UnsafePath
│   ├── UnsupportedData
│   ├── UnsupportedVersion
│   └── ValueNotSecret
├── DestinationException: the destination said it; its classes stand in the two branches that follow
├── DataError: look at the data
│   ├── DataValidationError
│   ├── DestinationTerminalException
│   │   ├── DestinationHasFailedJobs
│   │   ├── IdentifierTooLongException
│   │   ├── LoadClientJobFailed
│   │   └── LoadClientTerminalException
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
├── InternalError: report it to us
│   ├── BoundaryDamaged
│   ├── DestinationAhead
│   ├── JobNotFound
│   └── PackageDamaged
├── NeverRaised: a name for what cannot happen here
└── PipelineStepFailed: look at its `exception`, one of these or one of somebody else
"""

from __future__ import annotations

import errno
import re
from contextlib import contextmanager
from http import HTTPStatus
from traceback import format_exception
from typing import TYPE_CHECKING, Any, ClassVar, Final

from penstock.redaction import redact, redact_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_DISK_FULL_ERRNOS: Final = frozenset((errno.ENOSPC, errno.EDQUOT))


class PenstockError(Exception):
    """The root: catch this to catch everything that penstock raises on purpose.

    >>> try:
    ...     raise MissingTableName(data_type="list")
    ... except PenstockError as error:
    ...     error.code, error.hint
    ('missing-table-name', 'pass table_name=... to run(), or name=... to resource()')

    Secrets are masked in the message, the hint and all facts.
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
        # The list of notes is filled by Python after it was set, so it must stay the same object.
        super().__setattr__(name, value if name.startswith("__") else redact_all(value))

    def __str__(self) -> str:
        where = f" (while in {self.stage}, package {self.load_id})" if self.stage else ""
        move = f"\n  what to do: {self.hint}" if self.hint else ""
        return f"{self.message}{where}{move}\n  code: {self.code}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild without calling `__init__`, whose arguments are keyword-only in most classes."""
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(cls: type[PenstockError], args: tuple[Any, ...], facts: dict[str, Any]) -> PenstockError:
    error = cls.__new__(cls)
    Exception.__init__(error, *args)
    error.__dict__.update(facts)
    return error


@contextmanager
def in_stage(stage: str, *, load_id: str) -> Iterator[None]:
    """Say where an error happened, once, at the door of the room."""
    try:
        yield
    except PenstockError as error:
        if error.stage is None:
            error.stage, error.load_id = stage, load_id
        raise


@contextmanager
def translate_disk_full(path: str) -> Iterator[None]:
    """Raise `StorageFull` with the path where the system reports that a disk is full or a quota used up."""
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK_FULL_ERRNOS:
            raise
        raise StorageFull(path=path, reason=error.strerror or str(error)) from error


class UsageError(PenstockError):
    """The call or the settings cannot work as they are."""

    code = "usage"


class CannotRestorePipelineException(UsageError):
    """A pipeline is to be attached to, and neither this machine nor a destination knows enough of it."""

    code = "cannot-restore-pipeline"

    def __init__(self, *, pipeline_name: str, working_dir: str, reason: str) -> None:
        super().__init__(
            f"there is no pipeline {pipeline_name!r} to attach to: {reason}",
            hint="give attach() the destination and the dataset that it loads to, or run the pipeline first",
            pipeline_name=pipeline_name,
            working_dir=working_dir,
            reason=reason,
        )


class CantExtractTablePrefix(UsageError):
    """The files of one table cannot be told from those of others by how their names begin."""

    code = "cant-extract-table-prefix"

    def __init__(self, *, layout: str, reason: str) -> None:
        super().__init__(
            f"the layout {layout!r} does not tell tables apart: {reason}",
            hint="begin `layout` with {table_name}/, or with {schema_name} and then {table_name}",
            layout=layout,
            reason=reason,
        )


class CommitRolledBack(UsageError):
    """A table does not show the rows that an unfinished load had committed to it."""

    code = "commit-rolled-back"

    def __init__(self, *, table: str, load_id: str, version: int | None) -> None:
        super().__init__(
            f"{table} does not show version {version}, which load {load_id} had written: it was restored, "
            "rolled back or dropped before the load was complete",
            hint=f"bring {table} forward to version {version} and run again, or call "
            "drop_pending_packages() to abort the load",
            table=table,
            load_id=load_id,
            version=version,
        )


class ConfigFieldMissing(UsageError, KeyError):
    """Settings that something cannot do without were found nowhere."""

    code = "config-field-missing"

    def __init__(self, *, spec: str, fields: dict[str, tuple[str, ...]]) -> None:
        places = "".join(
            f"\n  {name} was looked for in:" + "".join(f"\n    {line}" for line in _group_by_provider(tried))
            for name, tried in fields.items()
        )
        super().__init__(
            f"{spec} lacks {', '.join(fields)}{places}",
            hint="pass the value, or set it in one of these places; the first place that has it wins",
        )
        self.spec, self.fields = spec, fields


def _group_by_provider(lookups: tuple[str, ...]) -> list[str]:
    """`provider: key` many times becomes `provider: key, key`, in the same order."""
    lines: list[str] = []
    for place in lookups:
        provider, _, key = place.partition(": ")
        if lines and lines[-1].startswith(f"{provider}: "):
            lines[-1] += f", {key}"
        else:
            lines.append(place)
    return lines


class ConfigProviderFailed(UsageError):
    """A provider of settings could not be loaded or did not answer; the cause is chained."""

    code = "config-provider-failed"

    def __init__(self, *, provider: str, reason: str) -> None:
        super().__init__(
            f"the config provider {provider} failed: {reason}",
            hint="repair the provider or remove it: going on without it could miss a value that it has",
        )
        self.provider, self.reason = provider, reason


class ConfigValueCannotBeCoerced(UsageError):
    """A setting was found, and is not of the type it must have. The value itself is not shown."""

    code = "config-value-cannot-be-coerced"

    def __init__(self, *, field: str, type: str, place: str, reason: str) -> None:  # noqa: A002 - a fact
        super().__init__(
            f"{field} in {place} is not a value for {type}: {reason}",
            hint="correct the value; lists and objects are given as JSON text in environment variables",
        )
        self.field, self.type, self.place, self.reason = field, type, place, reason


class CurrentLoadPackageStateNotAvailable(UsageError):
    """A load package was asked for where none is at hand."""

    code = "current-load-package-state-not-available"

    def __init__(self) -> None:
        super().__init__(
            "no load package is at hand here",
            hint="call this from a resource, a destination or a load job while it runs",
        )


class DataItemRequiredForDynamicTableHints(UsageError):
    """A table was asked for whose hints are functions of an item, and none was given."""

    code = "data-item-required-for-dynamic-table-hints"

    def __init__(self, *, resource: str, hint_name: str) -> None:
        super().__init__(
            f"{hint_name} of {resource} is a function of an item, and no item was given",
            hint="pass one of its items: compute_table_schema(item)",
            resource=resource,
            hint_name=hint_name,
        )


_TLS_PATTERN = re.compile(r"\bSSL\b|\bTLS\b|SSLHandshake|certificate|certification path|PKIX", re.IGNORECASE)
_TLS_HINT = (
    "connections to other machines verify the server: name the certificate of its authority (sslrootcert= "
    "for Postgres, serverSslCert= for MariaDB, a trust store of Java for MySQL); or, on a network that you "
    "trust, do without by ?sslmode=disable in the URL (Postgres), ?sslMode=DISABLED (MySQL) or "
    "?sslMode=disable (MariaDB)"
)


class DatabaseQueryFailed(UsageError):
    """A database cannot be opened, or does not take what it is asked."""

    code = "database-not-read"
    database: str
    reason: str
    resource: str | None

    def __init__(self, *, database: str, reason: str, resource: str | None = None) -> None:
        super().__init__(
            f"a database of {database} cannot be read{_for_resource(resource)}: {reason}",
            hint=_TLS_HINT
            if _TLS_PATTERN.search(reason)
            else "look at host, database, user and password of the credentials, "
            "and at the query if there is one",
            database=database,
            reason=reason,
            resource=resource,
        )


class InconsistentTableTemplate(UsageError):
    """A hint is a function of an item, but the table's name is not."""

    code = "inconsistent-table-template"

    def __init__(self, *, hint_name: str, table_name: str) -> None:
        super().__init__(
            f"{hint_name} is a function of an item, but the table is always {table_name!r}",
            hint="give table_name as a function too, so that each item names its table",
            hint_name=hint_name,
            table_name=table_name,
        )


class InvalidDatasetName(UsageError):
    """A dataset's name must be a legal folder name everywhere."""

    code = "invalid-dataset-name"

    def __init__(self, *, name: str, reason: str) -> None:
        super().__init__(
            f"{name!r} cannot be a dataset name: {reason}",
            hint="use letters, digits, '_' and '-' only, such as 'github_raw'",
            name=name,
            reason=reason,
        )


class InvalidDestinationReference(UsageError):
    """What is registered under a destination's name is no destination."""

    code = "invalid-destination-reference"

    def __init__(self, *, name: str, found: str) -> None:
        super().__init__(
            f"the entry point {name!r} gives {found}, which is no destination",
            hint="an entry point of a destination names an object with spec(), capabilities() and client()",
            name=name,
            found=found,
        )


class InvalidFilesystemLayout(UsageError):
    """The names that a layout gives do not tell files apart, or hold something that nobody knows."""

    code = "invalid-filesystem-layout"

    def __init__(self, *, layout: str, reason: str) -> None:
        super().__init__(
            f"files cannot be called {layout!r}: {reason}",
            hint="set `layout` of the destination, such as {table_name}/{load_id}.{file_id}.{ext};"
            " placeholders of your own go into `extra_placeholders`",
            layout=layout,
            reason=reason,
        )


class InvalidIdentifier(UsageError):
    """A name has nothing left to be an identifier of."""

    code = "invalid-identifier"

    def __init__(self, *, identifier: str, reason: str) -> None:
        super().__init__(
            f"{identifier!r} cannot be a name: {reason}",
            hint="give the table or column another name",
            identifier=identifier,
            reason=reason,
        )


class InvalidJobFileName(UsageError, ValueError):
    """A file name does not follow the grammar of job files."""

    code = "invalid-job-file-name"

    def __init__(self, *, file_name: str, reason: str) -> None:
        super().__init__(
            f"{file_name!r} is not the name of a job file: {reason}",
            hint="the form is <table>.<file id>.<retries>.<format>, with at most 255 bytes",
            file_name=file_name,
            reason=reason,
        )


class InvalidPipelineName(UsageError):
    """A pipeline's name must be a legal folder name everywhere."""

    code = "invalid-pipeline-name"

    def __init__(self, *, name: str, reason: str) -> None:
        super().__init__(
            f"{name!r} cannot be a pipeline name: {reason}",
            hint="use letters, digits, '_' and '-' only, such as 'github_events'",
            name=name,
            reason=reason,
        )


class InvalidSchemaName(UsageError):
    """A schema's name must be an identifier of at most 64 characters."""

    code = "invalid-schema-name"

    def __init__(self, *, name: str) -> None:
        super().__init__(
            f"{name!r} cannot be a schema name",
            hint="use a Python identifier of at most 64 characters",
            name=name,
        )


class InvalidSourceConfig(UsageError):
    """A key in the configuration of a built-in source is not one that it has, or has no value that fits."""

    code = "invalid-source-config"

    def __init__(self, *, path: str, reason: str, advice: str) -> None:
        super().__init__(f"{path}: {reason}", hint=advice, path=path, reason=reason, advice=advice)


class JarNotVerified(UsageError):
    """A jar that Spark resolved for penstock is not the one that this release was made with."""

    code = "jar-not-verified"
    path: str

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"the jar {path} is not used: {reason}",
            hint="delete the file and run again; if it comes again, the Maven repository or its cache on "
            "this machine (~/.ivy2*, ~/.m2) has other files: repair it, or name jars that you trust in "
            "spark.jars of the settings",
            path=path,
            reason=reason,
        )


class JdbcDriverMissing(UsageError):
    """The session of Spark has no driver for a database."""

    code = "jdbc-driver-missing"

    def __init__(self, *, database: str, driver: str, jar: str) -> None:
        super().__init__(
            f"the Spark session has no driver for {database}: {driver or 'its class'} is in no jar",
            hint=f"start the session with the jar {jar}, for instance by spark.jars.packages; a session that "
            "penstock starts has those of Postgres, MySQL and MariaDB",
            database=database,
            driver=driver,
            jar=jar,
        )


class LoadClientUnsupportedFileFormats(UsageError):
    """A table is to be written as files that the destination cannot write."""

    code = "load-client-unsupported-file-formats"

    def __init__(self, *, table: str, file_format: str, supported: tuple[str, ...]) -> None:
        super().__init__(
            f"table {table} is to be written as {file_format!r} files, which nobody here can",
            hint=f"use one of: {', '.join(supported)}",
            table=table,
            file_format=file_format,
            supported=supported,
        )


class LoadClientUnsupportedWriteDisposition(UsageError):
    """A disposition, a merge strategy or a table format is one that the destination does not have."""

    code = "load-client-unsupported-write-disposition"

    def __init__(
        self,
        *,
        write_disposition: str,
        supported: tuple[str, ...],
        destination: str = "the destination",
        table: str | None = None,
    ) -> None:
        what = f" table {table}" if table is not None else ""
        super().__init__(
            f"{destination} cannot write{what} with {write_disposition!r} yet",
            hint=f"use one of: {', '.join(supported)}",
            write_disposition=write_disposition,
            supported=supported,
            destination=destination,
            table=table,
        )


class LoadIsDecided(UsageError):
    """A load was to be aborted that counts already."""

    code = "load-is-decided"

    def __init__(self, *, load_id: str, sequence: int) -> None:
        super().__init__(
            f"load {load_id} (sequence {sequence}) is committed and cannot be aborted",
            hint="call run(): what is left to do for it will be done",
            load_id=load_id,
            sequence=sequence,
        )


class LoadPackageAlreadyCompleted(UsageError):
    """A package was to be finished twice."""

    code = "load-package-already-completed"

    def __init__(self, *, load_id: str) -> None:
        super().__init__(
            f"package {load_id} is finished already",
            hint="look at it with get_load_package_info(); there is nothing left to do",
            load_id=load_id,
        )


class LoadPackageNotCompleted(UsageError):
    """Something was asked about a package that only a finished one can answer."""

    code = "load-package-not-completed"

    def __init__(self, *, load_id: str) -> None:
        super().__init__(
            f"package {load_id} is not finished yet",
            hint="load it, or give it up, and ask again",
            load_id=load_id,
        )


class LoadPackageNotFound(UsageError, FileNotFoundError):
    """There is no package with that id."""

    code = "load-package-not-found"

    def __init__(self, *, load_id: str, path: str) -> None:
        super().__init__(
            f"there is no package {load_id} at {path}",
            hint="look at the ids that list_packages() gives",
            load_id=load_id,
            path=path,
        )


class MissingExtra(UsageError):
    """Something is asked for whose packages are not installed."""

    code = "missing-extra"

    def __init__(self, *, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs packages that are not installed",
            hint=f"pip install 'penstock[{extra}]'",
            extra=extra,
            needed_for=needed_for,
        )


class MissingLocation(UsageError):
    """A lake on a cluster must say where it is."""

    code = "missing-location"

    def __init__(self, *, destination: str, master: str) -> None:
        super().__init__(
            f"the {destination} destination has no location, and Spark runs on {master}, "
            "where a local folder is not seen by all",
            hint=f"pass penstock.destinations.{destination}(bucket_url=...) or set "
            f"DESTINATION__{destination.upper()}__BUCKET_URL",
            destination=destination,
            master=master,
        )


class MissingOnExecutors(UsageError):
    """Code that was sent to the executors needs a module that they do not have."""

    code = "missing-on-executors"

    def __init__(self, *, resource: str, module: str) -> None:
        top = module.partition(".")[0]
        move = (
            "what runs on executors cannot ask penstock for state or marks: pass values as arguments"
            if top == "penstock"
            else f"install {top} on the executors, or start Spark with it in spark.submit.pyFiles"
        )
        super().__init__(
            f"{resource} runs on the executors and needs the module {module}, which they do not have",
            hint=f"{move}; extract.work_items = 'driver' runs the resource on the driver",
            resource=resource,
            module=module,
        )


class MissingTableName(UsageError):
    """Data without a name of its own needs `table_name`."""

    code = "missing-table-name"

    def __init__(self, *, data_type: str) -> None:
        super().__init__(
            f"a {data_type} has no name to call its table by",
            hint="pass table_name=... to run(), or name=... to resource()",
            data_type=data_type,
        )


class NotDuringRun(UsageError):
    """Something of the moment was asked for where there is none."""

    code = "not-during-run"

    def __init__(self, *, what: str) -> None:
        super().__init__(
            f"{what} was asked for, and none is at hand here",
            hint="ask inside a source or resource, while a pipeline runs it",
            what=what,
        )


class PackageRootChanged(UsageError):
    """The packages of a pipeline are to be kept elsewhere than before, and loads may be unfinished there."""

    code = "package-root-changed"

    def __init__(self, *, pipeline: str, recorded: str, given: str, reason: str) -> None:
        super().__init__(
            f"packages of pipeline {pipeline} were in {recorded}, are to be in {given} now, and {reason}",
            hint="set package_storage or staging as it was and run once, or move the folder itself; "
            "RUN__ACCEPT_PACKAGE_ROOT=true accepts the new place and leaves unfinished loads behind",
            pipeline=pipeline,
            recorded=recorded,
            given=given,
            reason=reason,
        )


class PipelineConfigMissing(UsageError):
    """A pipeline is to do what it needs a destination for, and has none."""

    code = "pipeline-config-missing"

    def __init__(self, *, pipeline_name: str) -> None:
        super().__init__(
            f"pipeline {pipeline_name!r} has no destination",
            hint="pass destination='delta' to penstock.pipeline() or to run()",
            pipeline_name=pipeline_name,
        )


class PipelineNeverRan(UsageError):
    """What a pipeline's last run came to was asked for, and this machine knows of none."""

    code = "pipeline-never-ran"

    def __init__(self, *, pipeline_name: str, pipelines_dir: str) -> None:
        super().__init__(
            f"there is no run of pipeline {pipeline_name!r} in {pipelines_dir}",
            hint="run it, or ask on the machine on which it ran",
            pipeline_name=pipeline_name,
            pipelines_dir=pipelines_dir,
        )


class PipelineNotActive(UsageError):
    """A pipeline is to be deactivated that is not active."""

    code = "pipeline-not-active"

    def __init__(self, *, pipeline_name: str) -> None:
        super().__init__(
            f"pipeline {pipeline_name!r} is not active, so it cannot be deactivated",
            hint="call activate() first, or leave this call out",
            pipeline_name=pipeline_name,
        )


class ResourceNameTaken(UsageError):
    """Two resources of one source have the same name."""

    code = "resource-name-taken"

    def __init__(self, *, resource: str, source: str) -> None:
        super().__init__(
            f"there are two resources {resource!r} in source {source}",
            hint="rename one of them with with_name(...)",
            resource=resource,
            source=source,
        )


class ResourceUnbound(UsageError):
    """A resource lacks something before it can be read."""

    code = "resource-unbound"

    def __init__(self, *, resource: str, missing: str) -> None:
        super().__init__(
            f"{resource} cannot be read without {missing}",
            hint="call the resource with its arguments, or feed the transformer with data_from or |",
            resource=resource,
            missing=missing,
        )


class ResourcesNotFound(UsageError):
    """A source has no resource of that name."""

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
    """What a table says about how it is written cannot be done."""

    code = "schema-corrupted"

    def __init__(self, *, table: str, reason: str) -> None:
        super().__init__(
            f"table {table} cannot be written: {reason}",
            hint="change the hints of the resource, then run again",
            table=table,
            reason=reason,
        )


class SchemaEngineNoUpgradePath(UsageError):
    """A stored schema has a version this release cannot read."""

    code = "schema-engine"

    def __init__(self, *, schema: str, has: int, supports: int) -> None:
        super().__init__(
            f"schema {schema} has engine version {has}, this release reads up to {supports}",
            hint="upgrade penstock, or export the schema with the tool that wrote it",
            schema=schema,
            has=has,
            supports=supports,
        )


class SchemaNotFoundError(UsageError, KeyError):
    """A pipeline has no schema of that name."""

    code = "schema-not-found"

    def __init__(self, *, schema_name: str, known: tuple[str, ...]) -> None:
        super().__init__(
            f"there is no schema {schema_name!r}",
            hint=f"use one of: {', '.join(known)}",
            schema_name=schema_name,
            known=known,
        )


class SessionChangesText(UsageError):
    """A session replaces parts of SQL text before it reads it, and penstock cannot turn that off."""

    code = "session-changes-text"

    def __init__(self, *, setting: str, value: str | None) -> None:
        super().__init__(
            f"the Spark session changes SQL text that is made of names and values: {setting} is {value}",
            hint=f'set it in your session, before the pipeline: spark.conf.set("{setting}", "false")',
            setting=setting,
            value=value,
        )


class SessionLacksConf(UsageError):
    """A session was given that lacks settings which only count at its start."""

    code = "session-lacks-conf"

    def __init__(self, *, destination: str, conf: dict[str, str]) -> None:
        lines = "\n    ".join(f'.config("{key}", "{value}")' for key, value in conf.items())
        super().__init__(
            f"the given Spark session cannot write {destination} tables",
            hint=f"build the session with these lines (they count only before it starts):\n    {lines}",
            destination=destination,
            conf=conf,
        )


class SourceExhausted(UsageError):
    """A generator was handed over that has been read already."""

    code = "source-exhausted"

    def __init__(self, *, resource: str) -> None:
        super().__init__(
            f"{resource} is made of a generator that has been read to its end",
            hint="make the generator anew, or pass the function that makes it",
            resource=resource,
        )


class SparkNotAvailable(UsageError):
    """No Spark session could be had."""

    code = "spark-not-available"

    def __init__(self, *, reason: str, hint: str) -> None:
        super().__init__(f"no Spark session: {reason}", hint=hint, reason=reason)


class SqlClientNotAvailable(UsageError):
    """A dataset is to be read whose destination does not give its tables back."""

    code = "sql-client-not-available"

    def __init__(self, *, destination: str) -> None:
        super().__init__(
            f"{destination} cannot be read by penstock",
            hint="read its tables with the tools of the destination",
            destination=destination,
        )


class StorageAccessDenied(UsageError, OSError):
    """A storage answers, and does not let us in."""

    code = "storage-refused"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"{path} is refused: {reason}",
            hint="check the bucket, its region, and the keys in destination.<name>.credentials or of the "
            "machine; a Spark that has opened a bucket keeps the keys until it is restarted",
            path=path,
            reason=reason,
        )


class StorageNotShared(UsageError):
    """Driver and executors do not see the same package storage."""

    code = "storage-not-shared"

    def __init__(self, *, path: str, seen_by: str, missing_for: str) -> None:
        super().__init__(
            f"{path} is seen by {seen_by} but not by {missing_for}",
            hint="set bucket_url to storage that both reach: an object store or a mounted folder",
            path=path,
            seen_by=seen_by,
            missing_for=missing_for,
        )


class StorageNotTrusted(UsageError):
    """Two runs could both decide the same load on this storage."""

    code = "storage-not-trusted"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"{path} cannot be trusted to make a file once: {reason}",
            hint="set package_storage to a local or shared disk, Amazon S3, Google Cloud Storage or Azure; "
            "Delta and Iceberg tables may stay where they are. If this is a server that speaks S3 and checks "
            "If-None-Match in one step, set destination.<name>.credentials.conditional_writes to true",
            path=path,
            reason=reason,
        )


class TableNotFound(UsageError):
    """A table was asked for that the schema does not have."""

    code = "table-not-found"

    def __init__(self, *, table: str, schema: str) -> None:
        super().__init__(
            f"there is no table {table!r} in {schema!r}",
            hint="look at the names in `.tables`; names are normalized (CamelCase is camel_case)",
            table=table,
            schema=schema,
        )


class TablePropertiesConflictException(UsageError):
    """A table is to become something else than it is."""

    code = "table-properties-conflict"

    def __init__(self, *, table: str, prop: str, has: str | None, got: str | None) -> None:
        super().__init__(
            f"the {prop} of table {table!r} is {has!r} and cannot become {got!r}",
            hint="write it to another table, or drop this one first",
            table=table,
            prop=prop,
            has=has,
            got=got,
        )


class TableVersionGone(UsageError):
    """The state of a table before a load that is not complete was asked for, and its files were deleted."""

    code = "table-version-gone"

    def __init__(self, *, tables: Mapping[str, int], dataset: str) -> None:
        told = ", ".join(f"version {version} of {table}" for table, version in tables.items())
        super().__init__(
            f"{told} in {dataset!r} is what complete loads had left, and its files are gone; newer versions "
            "hold a load that was not complete when the dataset was first looked at",
            hint="open the dataset again; where a load is unfinished still, run the pipeline to finish it, or"
            " read the tables as they are with dataset(consistent=False)",
            tables=dict(tables),
            dataset=dataset,
        )


class TablesMovedOn(UsageError):
    """A load was to be taken back, and others have written to its tables since."""

    code = "tables-moved-on"

    def __init__(self, *, load_id: str, tables: Mapping[str, str]) -> None:
        super().__init__(
            f"load {load_id} cannot be taken back: {'; '.join(tables.values())}",
            hint="run again to complete the load, or bring these tables back by hand and call "
            "drop_pending_packages() again",
            load_id=load_id,
            tables=dict(tables),
        )


class UnboundColumnException(UsageError):
    """A column is to be made, and nobody has said or shown its type."""

    code = "unbound-column"

    def __init__(self, *, column: str) -> None:
        super().__init__(
            f"column {column!r} has no type yet",
            hint="declare its data_type, or bring a value for it",
            column=column,
        )


class UnknownDestination(UsageError):
    """No destination of that name is installed."""

    code = "unknown-destination"

    def __init__(self, *, name: str, known: tuple[str, ...]) -> None:
        super().__init__(
            f"there is no destination called {name!r}",
            hint=f"use one of: {', '.join(known) or 'none installed'}; "
            "others register an entry point in the group 'penstock.destinations'",
            name=name,
            known=known,
        )


class UnsafePath(UsageError):
    """A name leads out of its folder, or no storage could hold it."""

    code = "unsafe-path"

    def __init__(self, *, name: str, reason: str) -> None:
        super().__init__(
            f"{name!r} cannot be a file here: {reason}",
            hint="use a plain name",
            name=name,
            reason=reason,
        )


class UnsupportedData(UsageError):
    """What was handed to `run` is not data that can be loaded."""

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
    """A file or an engine has a version this release was not made for."""

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
    """A secret stands in a place that is not made for secrets."""

    code = "value-not-secret"

    def __init__(self, *, field: str, place: str) -> None:
        super().__init__(
            f"{field} is a secret, and was found in {place}, where secrets must not be",
            hint="move it to secrets.toml or to an environment variable, and think of it as known to others",
        )
        self.field, self.place = field, place


class DestinationException(PenstockError):
    """The destination said it: it refuses something for good, or cannot do it now."""

    code = "destination"


class DataError(PenstockError):
    """The data cannot go where it was sent."""

    code = "data"


class DataValidationError(DataError):
    """The data brings something that the schema contract freezes."""

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
        where = f"{table_name}.{column_name}" if column_name else table_name
        many = f"{count:,} value{'' if count == 1 else 's'}"
        example = "" if data_item is None else f", such as {data_item!r}"
        super().__init__(
            f"{where}: {reason}, and {schema_entity} is set to {contract_mode} ({many}{example})",
            hint=f"change the data, or set schema_contract={{{schema_entity!r}: 'evolve'}}",
            schema_name=schema_name,
            table_name=table_name,
            column_name=column_name,
            schema_entity=schema_entity,
            contract_mode=contract_mode,
            reason=reason,
            count=count,
            data_item=data_item,
        )


class DestinationTerminalException(DataError, DestinationException):
    """The destination refuses something, and would refuse it again."""

    code = "destination-terminal"


class DestinationHasFailedJobs(DestinationTerminalException):
    """A load was completed without some of its jobs."""

    code = "destination-has-failed-jobs"

    def __init__(self, *, destination: str, load_id: str, failed_jobs: tuple[str, ...]) -> None:
        super().__init__(
            f"load {load_id} went to {destination} without {len(failed_jobs)} jobs: {', '.join(failed_jobs)}",
            hint="the messages stand beside the jobs in `failed_jobs` of the package",
            destination=destination,
            load_id=load_id,
            failed_jobs=failed_jobs,
        )


class IdentifierTooLongException(DestinationTerminalException):
    """A name is longer than the destination allows."""

    code = "identifier-too-long"

    def __init__(self, *, destination: str, kind: str, name: str, max_length: int) -> None:
        super().__init__(
            f"the {kind} name {name!r} has {len(name)} characters, and {destination} allows {max_length}",
            hint="load the data again: names are cut to fit when rows are normalized for this destination",
            destination=destination,
            kind=kind,
            name=name,
            max_length=max_length,
        )


class LoadClientJobFailed(DestinationTerminalException):
    """A job cannot be loaded as it is."""

    code = "load-client-job-failed"

    def __init__(
        self,
        *,
        load_id: str,
        job_id: str,
        failed_message: str,
        failed_jobs: Mapping[str, str] | None = None,
    ) -> None:
        """`failed_jobs` are the messages of all that failed, by the ids of the jobs."""
        every = dict(failed_jobs or {job_id: failed_message})
        others = [other for other in every if other != job_id]
        super().__init__(
            f"job {job_id} of load {load_id} failed: {failed_message}"
            + (f"; so did {', '.join(others)}" if others else ""),
            hint="the load does not count and its package is kept; tables that have its rows already get "
            "them once. Fix the cause and run again, or set LOAD__RAISE_ON_FAILED_JOBS=false to load without "
            "the tables that fail",
            load_id=load_id,
            job_id=job_id,
            failed_message=failed_message,
            failed_jobs=every,
        )


class LoadClientTerminalException(DestinationTerminalException):
    """Raised by a destination: the job is failed."""

    code = "load-client-terminal"


class FileNotReadable(DataError):
    """A file of a source is not what its format says."""

    code = "file-not-readable"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"{path} cannot be read: {reason}",
            hint="mend the file, move it away, or leave it out by file_glob, and run again",
            path=path,
            reason=reason,
        )


class IncrementalCursorInvalidCoercion(DataError):
    """A cursor value cannot be compared with the one to go on from."""

    code = "incremental-cursor-invalid-coercion"

    def __init__(
        self, *, resource: str, cursor_path: str, bound: str, expected: str, got: str, cause: str
    ) -> None:
        super().__init__(
            f"{resource}: {cursor_path} brings {got}, which cannot be compared with the {bound} "
            f"({expected}): {cause}",
            hint=f"give a {bound} of the type that the data has, or convert the field with add_map",
            resource=resource,
            cursor_path=cursor_path,
            bound=bound,
            expected=expected,
            got=got,
            cause=cause,
        )


class IncrementalCursorPathHasValueNone(DataError):
    """A row has None where its cursor value should be."""

    code = "incremental-cursor-path-has-value-none"

    def __init__(self, *, resource: str, cursor_path: str) -> None:
        super().__init__(
            f"a row of {resource} has None at {cursor_path}",
            hint="pass on_cursor_value_missing='include' to load such rows, or 'exclude' to leave them out",
            resource=resource,
            cursor_path=cursor_path,
        )


class IncrementalCursorPathMissing(DataError):
    """A row has nothing where its cursor value should be."""

    code = "incremental-cursor-path-missing"

    def __init__(self, *, resource: str, cursor_path: str | None) -> None:
        super().__init__(
            f"a row of {resource} has no {cursor_path}"
            if cursor_path
            else f"the incremental of {resource} has no cursor_path",
            hint="name the field as it stands in the data, or pass on_cursor_value_missing='include' or "
            "'exclude'; of a frame it must be a column",
            resource=resource,
            cursor_path=cursor_path,
        )


class IncrementalPrimaryKeyMissing(DataError):
    """A row at the boundary lacks the key that tells it from others."""

    code = "incremental-primary-key-missing"

    def __init__(self, *, resource: str, key: str) -> None:
        super().__init__(
            f"a row of {resource} has no {key}, by which its incremental tells rows apart",
            hint="name the key as it stands in the data; primary_key=() in the incremental does without",
            resource=resource,
            key=key,
        )


class ParentFieldMissing(DataError):
    """A row of a parent has not what its child needs of it."""

    code = "parent-field-missing"

    def __init__(self, *, resource: str, parent: str, field: str, known: str) -> None:
        super().__init__(
            f"{resource} needs {field} of every row of {parent}, and one has none; it has {known}",
            hint=f"name a field that all rows of {parent} have, or filter the others out",
            resource=resource,
            parent=parent,
            field=field,
            known=known,
        )


class ResourceFailed(DataError):
    """The user's code raised; the cause is chained."""

    code = "resource-failed"
    resource: str
    item: int | str
    cause: str
    traceback: str

    def __init__(self, *, resource: str, item: int | str, cause: str, traceback: str = "") -> None:
        super().__init__(
            f"{resource} raised {cause} at item {item}",
            hint="the traceback above is your code's; nothing of this package was loaded",
            resource=resource,
            item=item,
            cause=cause,
            traceback=traceback,
        )

    @staticmethod
    def from_exception(
        error: Exception, *, resource: str, item: int | str, response: tuple[str, int] | None = None
    ) -> ResourceFailed:
        """Name an error; its traceback is kept as text too, for those who get the error from elsewhere.

        `answer` is the host and the status of a server, where the error is its answer.
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
        *, resource: str, item: int | str, cause: str, traceback: str, response: tuple[str, int] | None
    ) -> ResourceFailed:
        """Return the error of the class that fits the answer of a server, where there is one."""
        if response is None:
            return ResourceFailed(resource=resource, item=item, cause=cause, traceback=traceback)
        host, status = response
        kind = ServerFailed if status >= _FIRST_SERVER_ERROR or status in {408, 429} else RequestRefused
        return kind(resource=resource, item=item, host=host, status=status, cause=cause, traceback=traceback)


_KNOWN_STATUSES = frozenset(HTTPStatus)
_FIRST_SERVER_ERROR = 500
_STATUS_HINTS = {
    401: "check the credentials: auth= of the client, or its token or key in the settings",
    403: "give the user of these credentials the right to read this, or use other credentials",
    404: "check base_url and path, or ignore this status with response_actions",
    429: "set a rate_limit for the client, or run again later",
}


class RequestRefused(ResourceFailed):
    """A server refused a request of a resource: it answered with a status from 400 to 499."""

    code = "request-refused"
    host: str
    status: int

    def __init__(
        self, *, resource: str, item: int | str, host: str, status: int, cause: str, traceback: str = ""
    ) -> None:
        PenstockError.__init__(
            self,
            _status_message(host, status, resource),
            hint=_STATUS_HINTS.get(status, "check the request: path, params, headers and body"),
            resource=resource,
            item=item,
            host=host,
            status=status,
            cause=cause,
            traceback=traceback,
        )


def _status_message(host: str, status: int, resource: str) -> str:
    phrase = f" {HTTPStatus(status).phrase}" if status in _KNOWN_STATUSES else ""
    return f"{host} answered {status}{phrase} to a request of {resource}"


def _for_resource(resource: str | None) -> str:
    return f" for {resource}" if resource else ""


# An error of Java's in the text of one of Python's, after many lines about where it was.
_JAVA_CAUSE = re.compile(r"^(?:Caused by)?: ([\w.$]+(?:Exception|Error)\b[^\n]*)", re.MULTILINE)


def _safe_repr(error: Exception) -> str:
    try:
        causes = _JAVA_CAUSE.findall(str(error))
        return f"{type(error).__name__}({causes[-1]!r})" if causes else repr(error)
    except Exception as other:  # any class may break in its own way while it is shown
        return f"{type(error).__name__}(<{type(other).__name__} while it was shown>)"


class ResponseNotUnderstood(DataError):
    """A response does not tell what a paginator looks for."""

    code = "response-not-understood"

    def __init__(self, *, paginator: str, path: str, wanted: str, found: str) -> None:
        super().__init__(
            f"{paginator} looks for {wanted} at {path} of a response, and found {found}",
            hint="correct the path, or say another way to stop: a maximum, or stop_after_empty_page",
            paginator=paginator,
            path=path,
            wanted=wanted,
            found=found,
        )


class RowNotEncodable(DataError):
    """A row holds a value that has no JSON form here."""

    code = "row-not-encodable"

    def __init__(self, *, resource: str, item: int | str, cause: str) -> None:
        super().__init__(
            f"row {item} of {resource} cannot be written: {cause}",
            hint="convert the value to text, a number, a date, bytes, a list or a dict before yielding it",
            resource=resource,
            item=item,
            cause=cause,
        )


class UnsupportedColumnType(DataError):
    """A column of a frame has a type or a name that no file can hold."""

    code = "column-not-landable"

    def __init__(self, *, column: str, reason: str) -> None:
        super().__init__(
            f"column {column} of a frame cannot be written: {reason}",
            hint="cast, rename or drop it before you hand the frame over",
            column=column,
            reason=reason,
        )


class RetryableError(PenstockError):
    """The same call may work when run again."""

    code = "retryable"


class CommitLost(RetryableError):
    """A table commit was sent and no trace of it is found."""

    code = "commit-lost"

    def __init__(self, *, table: str, sequence: int) -> None:
        super().__init__(
            f"{table} shows no commit of sequence {sequence}",
            hint="run again: the package is sealed and will be applied from where it stopped",
            table=table,
            sequence=sequence,
        )


class DatabaseNotReachable(RetryableError):
    """A database that is read from does not answer, or takes no further connection."""

    code = "database-not-reachable"
    database: str
    reason: str
    resource: str | None

    def __init__(self, *, database: str, reason: str, resource: str | None = None) -> None:
        super().__init__(
            f"a database of {database} cannot be reached{_for_resource(resource)}: {reason}",
            hint="look at host and port of the credentials, whether the driver of Spark reaches the "
            "database, and how many connections it takes; then run again: nothing is lost",
            database=database,
            reason=reason,
            resource=resource,
        )


class DestinationTransientException(RetryableError, DestinationException):
    """The destination could not do something now, and may do it later."""

    code = "destination-transient"


class FollowupJobCreationFailedException(DestinationTransientException):
    """A job is done, and the destination could not say what follows it."""

    code = "followup-job-creation-failed"

    def __init__(self, *, job_id: str, cause: str) -> None:
        super().__init__(
            f"the jobs that follow {job_id} could not be made: {cause}",
            hint="run again: what is done is not done twice",
            job_id=job_id,
            cause=cause,
        )


class LoadClientJobRetry(DestinationTransientException):
    """A job was tried as many times as the settings allow for one run."""

    code = "load-client-job-retry"

    def __init__(self, *, load_id: str, job_id: str, retry_count: int, retry_message: str) -> None:
        super().__init__(
            f"job {job_id} of load {load_id} was tried {retry_count} times, the last time: {retry_message}",
            hint="run again later: the package is kept and goes on from where it stopped",
            load_id=load_id,
            job_id=job_id,
            retry_count=retry_count,
            retry_message=retry_message,
        )


class LoadClientTransientException(DestinationTransientException):
    """Raised by a destination: the job is to be tried again."""

    code = "load-client-transient"


class TableChainFollowupJobCreationFailedException(DestinationTransientException):
    """A chain of tables is done, and the destination could not say what follows it."""

    code = "table-chain-followup-job-creation-failed"

    def __init__(self, *, root_table_name: str, cause: str) -> None:
        super().__init__(
            f"the jobs that follow the tables of {root_table_name} could not be made: {cause}",
            hint="run again: what is done is not done twice",
            root_table_name=root_table_name,
            cause=cause,
        )


class FilesChanged(RetryableError):
    """Files became others while they were read: what was read of them does not count."""

    code = "files-changed"

    def __init__(self, *, resource: str, first: Any, then: Any) -> None:
        super().__init__(
            f"files of {resource} changed while they were read: first {first}, then {then}",
            hint="run again: nothing of them was loaded; move files to their place when they are done",
            resource=resource,
            first=first,
            then=then,
        )


class LeaseLost(RetryableError):
    """Another run has taken over, or may have."""

    code = "lease-lost"

    def __init__(self, *, epoch: int, host: str) -> None:
        super().__init__(
            f"this run on {host} has lost its lease (epoch {epoch}) and stopped",
            hint="another run goes on with the same packages; look why this one stood still, then run again",
            epoch=epoch,
            host=host,
        )


class LoadCompletedElsewhere(RetryableError):
    """The ledger has the row of a load before the process that applied it wrote it."""

    code = "load-completed-elsewhere"

    def __init__(self, *, load_id: str, sequence: int) -> None:
        super().__init__(
            f"load {load_id} (sequence {sequence}) was completed by another process while this one ran it",
            hint="the load counts once; look why two processes ran this pipeline, then run again",
            load_id=load_id,
            sequence=sequence,
        )


class LoadPackageAborted(RetryableError):
    """A load was given up by somebody while it was being applied."""

    code = "load-package-aborted"

    def __init__(self, *, load_id: str, sequence: int, by: str) -> None:
        super().__init__(
            f"load {load_id} (sequence {sequence}) was aborted while it was being loaded",
            hint="run again: the next load takes the next number",
            load_id=load_id,
            sequence=sequence,
            by=by,
        )


class LoadPackageCancelled(RetryableError):
    """Somebody has told all who work on a package to stop."""

    code = "load-package-cancelled"

    def __init__(self, *, load_id: str) -> None:
        super().__init__(
            f"work on package {load_id} was cancelled",
            hint="run again, or drop the package",
            load_id=load_id,
        )


class PipelineLocked(RetryableError):
    """Another run of this pipeline is going on."""

    code = "pipeline-locked"

    def __init__(
        self, *, pipeline: str, host: str, process: int, user: str, age: float, alive: float
    ) -> None:
        super().__init__(
            f"{pipeline} is being run by {user} on {host} (process {process}) for {age:.0f} s",
            hint="wait for it to end; if it was killed, its lease is taken over "
            f"{2 * alive:.0f} s after its last sign of life",
            pipeline=pipeline,
            host=host,
            process=process,
            user=user,
            age=age,
            alive=alive,
        )


class ServerFailed(RetryableError, ResourceFailed):
    """A server could not answer a request of a resource now: status 408, 429, or 500 and more."""

    code = "server-failed"
    host: str
    status: int

    def __init__(
        self, *, resource: str, item: int | str, host: str, status: int, cause: str, traceback: str = ""
    ) -> None:
        PenstockError.__init__(
            self,
            _status_message(host, status, resource),
            hint=_STATUS_HINTS.get(status, "run again later: nothing of this package was loaded"),
            resource=resource,
            item=item,
            host=host,
            status=status,
            cause=cause,
            traceback=traceback,
        )


class SlotTaken(RetryableError):
    """Another run of this pipeline decided the next load first."""

    code = "slot-taken"

    def __init__(self, *, pipeline: str, sequence: int) -> None:
        super().__init__(
            f"another run of {pipeline} has sealed load {sequence}",
            hint="let the other run finish, then call run() without data: the rows are kept in their package",
            pipeline=pipeline,
            sequence=sequence,
        )


class StorageFull(RetryableError, OSError):
    """A disk has no space left, or a quota is used up."""

    code = "storage-full"
    path: str

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"there is no space left to write {path}: {reason}",
            hint="free space there or raise the quota, then run again: packages that are complete are kept, "
            "what was being extracted is extracted again, and nothing is loaded twice",
            path=path,
            reason=reason,
        )


class StorageNotReachable(RetryableError, OSError):
    """A storage does not answer."""

    code = "storage-not-reachable"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"{path} cannot be reached: {reason}",
            hint="look at the network, the address and the credentials, then run again: nothing is lost",
            path=path,
            reason=reason,
        )


class TransactionsRunning(RetryableError):
    """Rows before the last value of a cursor may still be committed: a run now would never see them."""

    code = "transactions-running"

    def __init__(self, *, column: str, seconds: float, transactions: tuple[str, ...]) -> None:
        super().__init__(
            f"{len(transactions)} transactions that write did not end in {seconds:g} seconds; their rows may "
            f"come before the last value of {column}",
            hint="run again when they are over, or give settle=0 and the incremental a lag; "
            "pg_locks shows them by virtualtransaction",
            column=column,
            seconds=seconds,
            transactions=transactions,
        )


class WaveFailed(RetryableError):
    """Spark could not finish a wave of work items."""

    code = "wave-failed"

    def __init__(self, *, resource: str, wave: int, reason: str) -> None:
        super().__init__(
            f"wave {wave} of {resource} was not finished: {reason}",
            hint="run again: waves that are finished are kept, and only this one is repeated",
            resource=resource,
            wave=wave,
            reason=reason,
        )


class InternalError(PenstockError):
    """Something that should not happen."""

    code = "internal"


class BoundaryDamaged(InternalError):
    """The file with the hashes of the rows at a cursor's last value is not what the state says."""

    code = "boundary-damaged"
    path: str

    def __init__(self, *, path: str, cursor_path: str, reason: str) -> None:
        super().__init__(
            f"{path} holds the rows that {cursor_path} has read at its last value, and {reason}",
            hint="restore the file, or name the destination beside which it stands; or run once with "
            "primary_key=() in the incremental, which loads the rows at the last value once more",
            path=path,
            cursor_path=cursor_path,
            reason=reason,
        )


class DestinationAhead(InternalError):
    """Another load has used the sequence number of this one in a table, or a later number."""

    code = "destination-ahead"

    def __init__(self, *, table: str, sequence: int) -> None:
        super().__init__(
            f"{table} has a commit of another load with sequence {sequence} or later, and none of this load",
            hint="ledger, packages and tables do not belong together: bring back what was moved or deleted, "
            "or use another pipeline name",
            table=table,
            sequence=sequence,
        )


class JobNotFound(InternalError):
    """A job was to be moved that is not there."""

    code = "job-not-found"

    def __init__(self, *, path: str) -> None:
        super().__init__(
            f"there is no job file {path}",
            hint="another process has moved it on; read the package again",
            path=path,
        )


class PackageDamaged(InternalError):
    """A control file of a package cannot be read, or its data files are not those that were written."""

    code = "package-damaged"

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(
            f"{path} cannot be read: {reason}",
            hint="restore the file, or give the rows up with pipeline.drop_pending_packages()",
            path=path,
            reason=reason,
        )


class NeverRaised(PenstockError):
    """Programs for dlt catch by some names what cannot happen here; these names mean this class.

    It is there so that such a program can be read. To catch it catches nothing.
    """

    code = "never-raised"


class PipelineStepFailed(PenstockError):
    """A step of `run`, `extract`, `normalize` or `load` failed; `exception` is what with.

    `step_info` says what came of the step until then. A copy that comes from another process lacks it, the
    `pipeline`, and an `exception` that is not one of ours.
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
        """`why` is what `exception` says, without secrets."""
        hint = "the error above this one says more"
        if isinstance(exception, PenstockError):
            why, hint = why or exception.message, exception.hint
        why = why or type(exception).__name__
        where = f"{step} of package {load_id}" if load_id else step
        super().__init__(
            f"pipeline {pipeline.pipeline_name!r} failed in {where}: {why}",
            hint=hint,
            pipeline=pipeline,
            pipeline_name=pipeline.pipeline_name,
            step_info=step_info,
            why=why,
        )
        self.step, self.load_id, self.exception = step, load_id, exception

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may do better later."""
        return isinstance(self.exception, RetryableError)

    def __reduce__(self) -> tuple[Any, ...]:
        """What may hold a session or come of somebody else's library stays where it is."""
        ours = self.exception if isinstance(self.exception, PenstockError) else None
        facts = {**self.__dict__, "pipeline": None, "step_info": None, "exception": ours}
        return (_rebuild, (type(self), self.args, facts))
