"""Sample arguments of every error class."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

from penstock import errors
from penstock.errors import PenstockError

# Sample arguments of every class; `docs/errors.md` and the golden file show the resulting texts.
EXAMPLES: dict[str, dict[str, Any]] = {
    "PenstockError": {"message": "something failed"},
    "UsageError": {
        "message": "pipeline 'shop' has no destination",
        "hint": "pass destination='delta' to penstock.pipeline() or to run()",
    },
    "CannotRestorePipelineException": {
        "pipeline_name": "shop",
        "working_dir": "pipelines/shop",
        "reason": "no working folder on this machine",
    },
    "CantExtractTablePrefix": {"layout": "{load_id}.{ext}", "reason": "it has no {table_name}"},
    "CommitRolledBack": {"table": "orders", "load_id": "1794709965.511098", "version": 12},
    "ConfigFieldMissing": {
        "spec": "GithubConfiguration",
        "fields": {"token": ("environment: SOURCES__GITHUB__TOKEN", "secrets.toml: sources.github.token")},
    },
    "ConfigProviderFailed": {"provider": "vault", "reason": "ConnectionError"},
    "ConfigValueCannotBeCoerced": {
        "field": "pages",
        "type": "int",
        "place": "environment: SOURCES__GITHUB__PAGES",
        "reason": "Input should be a valid integer, unable to parse string as an integer",
    },
    "ConfigurationValueError": {"message": "the domain of the account is empty"},
    "CurrentLoadPackageStateNotAvailable": {},
    "DataItemRequiredForDynamicTableHints": {"resource": "orders", "hint_name": "table_name"},
    "DatabaseQueryFailed": {
        "database": "postgresql",
        "reason": 'org.postgresql.util.PSQLException: FATAL: password authentication failed for user "ada"',
        "resource": "orders",
    },
    "DltAlreadyImported": {"path": "site-packages/dlt/__init__.py"},
    "InconsistentTableTemplate": {"hint_name": "write_disposition", "table_name": "orders"},
    "InvalidDatasetName": {"name": "../lake", "reason": "it is not a plain folder name"},
    "InvalidDestinationReference": {"name": "warehouse", "found": "a dict"},
    "InvalidFilesystemLayout": {
        "layout": "{table_name}/{day}.{ext}",
        "reason": "unknown placeholder 'day'",
    },
    "InvalidIdentifier": {"identifier": "  ", "reason": "it is blank"},
    "InvalidJobFileName": {"file_name": "orders.parquet", "reason": "it has 2 parts between dots"},
    "InvalidPipelineName": {"name": "shop/eu", "reason": "it is not a plain folder name"},
    "InvalidSchemaName": {"name": "my schema"},
    "InvalidSourceConfig": {
        "path": "resources.orders.endpoint.paginater",
        "reason": "this key is unknown",
        "advice": "did you mean 'paginator'? Known: path, paginator",
    },
    "JarNotVerified": {"path": "jars/delta-storage-4.4.0.jar", "reason": "it is in no preset"},
    "JdbcDriverMissing": {
        "database": "mssql",
        "driver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
        "jar": "com.microsoft.sqlserver:mssql-jdbc",
    },
    "LoadClientUnsupportedFileFormats": {
        "table": "orders",
        "file_format": "avro",
        "supported": ("csv", "jsonl", "parquet"),
    },
    "LoadClientUnsupportedWriteDisposition": {
        "write_disposition": "cdc",
        "supported": ("delete-insert", "upsert"),
        "destination": "delta",
        "table": "orders",
    },
    "LoadIsDecided": {"load_id": "1794709965.511098", "sequence": 12},
    "LoadOvertaken": {"load_id": "1794709965.511098", "sequence": 12, "other": "1794709950.25"},
    "LoadPackageAlreadyCompleted": {"load_id": "1794709965.511098"},
    "LoadPackageNotCompleted": {"load_id": "1794709965.511098"},
    "LoadPackageNotFound": {
        "load_id": "1794709965.511098",
        "path": "s3://lake/demo/_dlt_pkg/shop/packages/1794709965.511098",
    },
    "MissingDependencyException": {
        "caller": "google_analytics",
        "dependencies": ("google-analytics-data>=0.18",),
        "appendix": "or use another source",
    },
    "MissingExtra": {"extra": "spark", "needed_for": "running a pipeline"},
    "MissingLocation": {"destination": "delta", "master": "spark://cluster:7077"},
    "MissingOnExecutors": {"resource": "orders", "module": "requests.adapters"},
    "MissingTableName": {"data_type": "list"},
    "NotDuringRun": {"what": "the resource"},
    "PackageRootChanged": {
        "pipeline": "shop",
        "recorded": "s3://stage/demo/_dlt_pkg/shop",
        "given": "s3://lake/demo/_dlt_pkg/shop",
        "reason": "load 1794709965.511098 is not finished there",
    },
    "PipelineConfigMissing": {"pipeline_name": "shop"},
    "PipelineNeverRan": {"pipeline_name": "shop", "pipelines_dir": "pipelines"},
    "PipelineNotActive": {"pipeline_name": "shop"},
    "PlanExpired": {"load_id": "1794709965.511098", "expires_at": "2026-11-22T00:00:00+00:00"},
    "PlanOutdated": {
        "load_id": "1794709965.511098",
        "changes": ("orders was at version 3, and is at version 5",),
    },
    "RequestNotRecorded": {
        "cassette": "orders.json",
        "request": "GET https://api.example.com/orders?page=4",
        "nearest": "GET https://api.example.com/orders?page=3 (page is 4, recorded: 3)",
        "recorded_count": 0,
    },
    "ResourceNameTaken": {"resource": "orders", "source": "shop"},
    "ResourceUnbound": {"resource": "orders", "missing": "customer_id"},
    "ResourcesNotFound": {"source": "shop", "unknown": "order", "known": "orders, customers"},
    "SchemaCorruptedException": {
        "table": "items",
        "reason": "the merge strategy 'upsert' needs a primary key",
    },
    "SchemaEngineNoUpgradePath": {"schema": "shop", "has": 12, "supports": 11},
    "SchemaNotFoundError": {"schema_name": "crm", "known": ("shop",)},
    "SessionChangesText": {"setting": "spark.sql.variable.substitute", "value": "true"},
    "SessionLacksConf": {
        "destination": "delta",
        "conf": {"spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension"},
    },
    "SourceExhausted": {"resource": "orders"},
    "SparkNotAvailable": {"reason": "pyspark is not installed", "hint": "pip install 'penstock[spark]'"},
    "SqlClientNotAvailable": {"destination": "warehouse"},
    "StorageAccessDenied": {"path": "s3://lake/demo", "reason": "InvalidAccessKeyId: The key does not exist"},
    "StorageNotShared": {"path": "s3://lake", "seen_by": "the driver", "missing_for": "the executors"},
    "StorageNotTrusted": {"path": "ftp://files/lake", "reason": "unknown protocol 'ftp'"},
    "TableNotFound": {"table": "Orders", "schema": "shop"},
    "TablePropertiesConflictException": {
        "table": "lines",
        "prop": "parent",
        "has": "orders",
        "got": "returns",
    },
    "TableVersionGone": {"tables": {"orders": 7}, "dataset": "shop"},
    "TablesMovedOn": {
        "load_id": "1794700870.5",
        "tables": {"orders": "orders was changed after version 7"},
    },
    "UnboundColumnException": {"column": "price"},
    "UndoRefused": {
        "load_ids": ("1794700870.5",),
        "reasons": ("orders has version 8 (WRITE) by another writer",),
        "can_force": True,
    },
    "UnknownDestination": {"name": "detla", "known": ("delta",)},
    "UnknownSourceReference": {"ref": "shop", "tried": ("shop", "sources.shop.shop")},
    "UnsafePath": {"name": "../secrets.toml", "reason": "it leads out of its folder or has an empty part"},
    "UnsupportedCapability": {
        "destination": "warehouse",
        "name": "insert_values_writer_type",
        "value": "select_union",
        "reason": "penstock writes no files with INSERT statements",
        "remedy": "leave it out, and build statements in the client",
    },
    "UnsupportedData": {"data_type": "str", "reason": "it is one value, not rows"},
    "UnsupportedVersion": {"what": "Spark", "has": "3.5.6", "supports": "4.0 and 4.1"},
    "ValueNotSecret": {"field": "token", "place": "config.toml: sources.github.token"},
    "DestinationException": {"message": "the warehouse has no type for json"},
    "DataError": {"message": "the data cannot be loaded"},
    "ChecksFailed": {
        "failures": (
            "check 'valid amount' of orders stops the load: amount >= 0 is not true in 3 of 1,000 rows",
        ),
        "is_pending": False,
    },
    "DataValidationError": {
        "schema_name": "shop",
        "table_name": "orders",
        "column_name": "coupon",
        "schema_entity": "columns",
        "contract_mode": "freeze",
        "reason": "new column",
        "count": 3,
        "data_item": "SPRING",
    },
    "DeletionsRefused": {"table": "orders", "missing": 480, "rows": 1000, "max_deleted": 0.05},
    "DestinationTerminalException": {"message": "the warehouse has no type for json"},
    "DestinationHasFailedJobs": {
        "destination": "warehouse",
        "load_id": "1794709965.511098",
        "failed_jobs": ("orders.5c1c2f0d11.reference",),
    },
    "IdentifierTooLongException": {
        "destination": "warehouse",
        "kind": "column",
        "name": "the_longest_name_of_all",
        "max_length": 16,
    },
    "LoadClientJobFailed": {
        "load_id": "1794709965.511098",
        "job_id": "orders.5c1c2f0d11.reference",
        "failed_message": "the warehouse has no type for json",
    },
    "LoadClientTerminalException": {"message": "the table is locked permanently"},
    "DltResourceException": {"resource_name": "orders", "msg": "the server has closed the account"},
    "FileNotReadable": {"path": "file:///raw/a.parquet", "reason": "Parquet magic bytes not found in footer"},
    "IncrementalCursorInvalidCoercion": {
        "resource": "orders",
        "cursor_path": "updated_at",
        "bound": "initial_value or last value",
        "expected": "'2024-01-01', str",
        "got": "datetime.datetime(2024, 1, 2, 0, 0), datetime",
        "cause": "'>' not supported between instances of 'str' and 'datetime.datetime'",
    },
    "IncrementalCursorPathHasValueNone": {"resource": "orders", "cursor_path": "updated_at"},
    "IncrementalCursorPathMissing": {"resource": "orders", "cursor_path": "updated_at"},
    "IncrementalPrimaryKeyMissing": {"resource": "orders", "key": "order_id"},
    "ParentFieldMissing": {"resource": "posts", "parent": "users", "field": "id", "known": "name, city"},
    "ResourceFailed": {"resource": "orders", "item": 120, "cause": "KeyError('id')"},
    "RequestRefused": {
        "resource": "orders",
        "item": 1,
        "url": "https://api.example.com/orders",
        "status": 401,
        "body": '{"message": "Bad credentials"}',
        "cause": "HTTPError('401 Client Error: Unauthorized for url: https://api.example.com/orders')",
    },
    "ResponseNotUnderstood": {
        "paginator": "PageNumberPaginator",
        "path": "meta.total",
        "wanted": "a whole number",
        "found": "nothing",
    },
    "RowNotEncodable": {"resource": "orders", "item": 7, "cause": "complex has no JSON form"},
    "UnsupportedColumnType": {"column": "took", "reason": "files cannot hold the type interval"},
    "RetryableError": {"message": "the storage did not respond", "hint": "run again"},
    "CommitLost": {"table": "orders", "sequence": 12},
    "DatabaseNotReachable": {
        "database": "postgresql",
        "reason": "org.postgresql.util.PSQLException: Connection to db:5432 refused.",
        "resource": "orders",
    },
    "DestinationTransientException": {"message": "the warehouse did not respond", "hint": "run again"},
    "BatchFailed": {
        "table": "orders",
        "batch_number": 12,
        "reason": "ConnectionError: refused",
        "sent": 11,
    },
    "DatabaseFileLocked": {"path": "/data/shop.duckdb", "holder": "/usr/bin/python3.11 (PID 4711)"},
    "FollowupJobCreationFailedException": {
        "job_id": "orders.5c1c2f0d11.reference",
        "cause": "OSError: no space left",
    },
    "LoadClientJobRetry": {
        "load_id": "1794709965.511098",
        "job_id": "orders.5c1c2f0d11.reference",
        "retry_count": 5,
        "retry_message": "ConnectionError: refused",
    },
    "LoadClientTransientException": {"message": "the warehouse is busy", "hint": "run again"},
    "TableChainFollowupJobCreationFailedException": {
        "root_table_name": "orders",
        "cause": "OSError: no space left",
    },
    "FilesChanged": {"resource": "orders", "first": "2 bad rows", "then": "3 bad rows"},
    "LeaseLost": {"epoch": 4, "host": "worker-7"},
    "LoadCompletedElsewhere": {"load_id": "1794709965.511098", "sequence": 12},
    "LoadPackageAborted": {"load_id": "1794709965.511098", "sequence": 12, "by": "0f3a"},
    "LoadPackageCancelled": {"load_id": "1794709965.511098"},
    "PipelineLocked": {
        "pipeline": "shop",
        "host": "worker-7",
        "process": 4711,
        "user": "etl",
        "age": 93.0,
        "alive": 30.0,
    },
    "ServerFailed": {
        "resource": "orders",
        "item": 1,
        "url": "https://api.example.com/orders",
        "status": 503,
        "cause": "HTTPError('503 Server Error: Service Unavailable for url: https://api.example.com/orders')",
    },
    "SlotTaken": {"pipeline": "shop", "sequence": 13},
    "StorageFull": {
        "path": "lake/demo/_dlt_pkg/shop/packages/1794700870.5798686/extracted.json",
        "reason": "No space left on device",
    },
    "StorageNotReachable": {
        "path": "lake/demo/_dlt_pkg/shop/slots",
        "reason": "EndpointConnectionError: Could not connect to the endpoint URL",
    },
    "TransactionsRunning": {"column": "updated_at", "seconds": 60.0, "transactions": ("5/17",)},
    "WaveFailed": {"resource": "orders", "wave": 12, "reason": "Job aborted due to stage failure"},
    "InternalError": {
        "message": "10 rows of orders were read and 9 written",
        "hint": "keep the package folder and report this",
    },
    "BoundaryDamaged": {
        "path": "s3://lake/demo/_dlt_pkg/shop/cursors/1794709965.511098-5d41402abc4b2a76.hashes",
        "cursor_path": "updated_on",
        "reason": "the file does not exist",
    },
    "DestinationAhead": {"table": "orders", "sequence": 12},
    "JobNotFound": {
        "path": "s3://lake/demo/_dlt_pkg/shop/packages/1794709965.511098/started_jobs/orders.5c1c2f0d11.0.reference"
    },
    "PackageDamaged": {
        "path": "s3://lake/shop/packages/1794709965.511098/data/normalized/5c1c2f0d11aa/00000",
        "reason": "it has 2 data files, but 3 were written",
    },
    "NeverRaised": {"message": "never raised"},
    "PipelineStepFailed": {
        "pipeline": SimpleNamespace(pipeline_name="shop"),
        "step": "load",
        "load_id": "1794709965.511098",
        "exception": errors.SlotTaken(pipeline="shop", sequence=13),
        "step_info": None,
    },
}

CLASSES: dict[str, type[PenstockError]] = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, PenstockError)
}
WITH_FACTS = [name for name, arguments in EXAMPLES.items() if "message" not in arguments]
"""The classes whose message is made of their arguments."""


def example(name: str) -> PenstockError:
    """Build the example of a class."""
    arguments = dict(EXAMPLES[name])
    message = [arguments.pop("message")] if "message" in arguments else []
    return CLASSES[name](*message, **arguments)
