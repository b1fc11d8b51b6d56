from __future__ import annotations

import inspect
import pickle
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.rule_assertions import assert_no_offenders

from penstock import errors
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"

# One true-to-life example of each class; the page shows its text.
EXAMPLES: dict[str, dict[str, Any]] = {
    "PenstockError": {"message": "something is wrong"},
    "UsageError": {
        "message": "pipeline 'shop' has no destination",
        "hint": "pass destination='delta' to penstock.pipeline() or to run()",
    },
    "CannotRestorePipelineException": {
        "pipeline_name": "shop",
        "working_dir": "pipelines/shop",
        "reason": "this machine has no working folder of it",
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
    "CurrentLoadPackageStateNotAvailable": {},
    "DataItemRequiredForDynamicTableHints": {"resource": "orders", "hint_name": "table_name"},
    "DatabaseQueryFailed": {
        "database": "postgresql",
        "reason": 'org.postgresql.util.PSQLException: FATAL: password authentication failed for user "ada"',
        "resource": "orders",
    },
    "InconsistentTableTemplate": {"hint_name": "write_disposition", "table_name": "orders"},
    "InvalidDatasetName": {"name": "../lake", "reason": "it is not a plain folder name"},
    "InvalidDestinationReference": {"name": "warehouse", "found": "a dict"},
    "InvalidFilesystemLayout": {
        "layout": "{table_name}/{day}.{ext}",
        "reason": "nobody knows the placeholder 'day'",
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
    "JarNotVerified": {"path": "jars/delta-storage-4.4.0.jar", "reason": "no preset brings it"},
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
    "LoadPackageAlreadyCompleted": {"load_id": "1794709965.511098"},
    "LoadPackageNotCompleted": {"load_id": "1794709965.511098"},
    "LoadPackageNotFound": {
        "load_id": "1794709965.511098",
        "path": "s3://lake/demo/_dlt_pkg/shop/packages/1794709965.511098",
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
    "ResourceNameTaken": {"resource": "orders", "source": "shop"},
    "ResourceUnbound": {"resource": "orders", "missing": "customer_id"},
    "ResourcesNotFound": {"source": "shop", "unknown": "order", "known": "orders, customers"},
    "SchemaCorruptedException": {
        "table": "items",
        "reason": "the merge strategy 'upsert' needs a primary key, and there is none",
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
    "StorageNotTrusted": {"path": "ftp://files/lake", "reason": "nothing is known about 'ftp'"},
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
        "tables": {"orders": "orders was changed after version 7 and cannot be rolled back"},
    },
    "UnboundColumnException": {"column": "price"},
    "UnknownDestination": {"name": "detla", "known": ("delta",)},
    "UnsafePath": {"name": "../secrets.toml", "reason": "it leads out of its folder or has an empty part"},
    "UnsupportedData": {"data_type": "str", "reason": "it is one value, not rows"},
    "UnsupportedVersion": {"what": "Spark", "has": "3.5.6", "supports": "4.0 and 4.1"},
    "ValueNotSecret": {"field": "token", "place": "config.toml: sources.github.token"},
    "DestinationException": {"message": "the warehouse has no type for json"},
    "DataError": {"message": "the data cannot go where it was sent"},
    "DataValidationError": {
        "schema_name": "shop",
        "table_name": "orders",
        "column_name": "coupon",
        "schema_entity": "columns",
        "contract_mode": "freeze",
        "reason": "a new column",
        "count": 3,
        "data_item": "SPRING",
    },
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
    "LoadClientTerminalException": {"message": "the table is locked for good"},
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
        "host": "api.example.com",
        "status": 401,
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
    "RetryableError": {"message": "the storage did not answer", "hint": "run again"},
    "CommitLost": {"table": "orders", "sequence": 12},
    "DatabaseNotReachable": {
        "database": "postgresql",
        "reason": "org.postgresql.util.PSQLException: Connection to db:5432 refused.",
        "resource": "orders",
    },
    "DestinationTransientException": {"message": "the warehouse did not answer", "hint": "run again"},
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
        "host": "api.example.com",
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
        "message": "10 rows of orders went in and 9 came out",
        "hint": "keep the package folder and report this",
    },
    "BoundaryDamaged": {
        "path": "s3://lake/demo/_dlt_pkg/shop/cursors/1794709965.511098-5d41402abc4b2a76.hashes",
        "cursor_path": "updated_on",
        "reason": "is not there",
    },
    "DestinationAhead": {"table": "orders", "sequence": 12},
    "JobNotFound": {
        "path": "s3://lake/demo/_dlt_pkg/shop/packages/1794709965.511098/started_jobs/orders.5c1c2f0d11.0.reference"
    },
    "PackageDamaged": {
        "path": "s3://lake/shop/packages/1794709965.511098/data/normalized/5c1c2f0d11aa/00000",
        "reason": "3 files were written there, and 2 are there",
    },
    "NeverRaised": {"message": "nobody raises this"},
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


def drawn_tree() -> dict[str, str | None]:
    """Return each class of the drawing with its base class, in the order of the drawing."""
    tree: dict[str, str | None] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.fullmatch(r"([│├└─ ]*)([A-Z]\w+)(: .+)?", line)
        if match is None or (not match[1] and match[2] != "PenstockError"):
            continue
        depth = len(match[1]) // 4
        above[depth:] = [match[2]]
        tree[match[2]] = above[depth - 1] if depth else None
    return tree


@cache
def sections() -> dict[str, tuple[int, str]]:
    """Return each heading of the page below the title, with its level and the text under it."""
    parts = re.split(r"^(#{2,6}) (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {parts[at + 1]: (len(parts[at]), parts[at + 2]) for at in range(1, len(parts), 3)}


def test_the_drawn_tree_is_the_tree_of_classes() -> None:
    real = {
        name: error.__bases__[0].__name__ if error is not PenstockError else None
        for name, error in CLASSES.items()
    }

    assert drawn_tree() == real


def test_the_drawing_keeps_the_order_of_the_file() -> None:
    assert list(drawn_tree()) == list(CLASSES)


def test_every_class_has_an_example() -> None:
    assert list(EXAMPLES) == list(CLASSES)


def pickling_faults(name: str) -> Iterator[str]:
    """Yield what a copy of the example by pickle has lost or changed."""
    error = example(name)
    error.stage, error.load_id = "load", "1794709965.511098"
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception as failure:  # every failure of a class is to be listed
        yield f"{name} cannot be pickled: {failure!r}"
        return
    if type(copy) is not CLASSES[name]:
        yield f"{name} becomes {type(copy).__name__}"
    for fact in ("__dict__", "args"):
        if getattr(copy, fact) != getattr(error, fact):
            yield f"{name}.{fact} becomes {getattr(copy, fact)!r}, from {getattr(error, fact)!r}"
    if str(copy) != str(error):
        yield f"the text of {name} becomes {str(copy)!r}, from {str(error)!r}"


def test_every_error_survives_pickling_with_its_facts() -> None:
    assert_no_offenders(
        (fault for name in EXAMPLES if name != "PipelineStepFailed" for fault in pickling_faults(name)),
        "pass the facts to `PenstockError.__init__`, or give the class a `__reduce__`",
    )


def test_a_failed_step_survives_pickling_without_its_pipeline() -> None:
    error = example("PipelineStepFailed")

    copy = pickle.loads(pickle.dumps(error))

    assert (str(copy), copy.load_id, copy.step) == (str(error), error.load_id, "load")
    assert copy.is_retryable
    assert isinstance(copy.exception, errors.SlotTaken)
    assert copy.pipeline is None


def test_every_argument_of_an_error_is_an_attribute_of_it() -> None:
    assert_no_offenders(
        (
            f"{name}.{fact} is {vars(error).get(fact)!r}, given {value!r}"
            for name, error in ((name, example(name)) for name in WITH_FACTS)
            for fact, value in EXAMPLES[name].items()
            if vars(error).get(fact) != value
        ),
        "set the attribute in `__init__`",
    )


def test_an_error_has_its_stage_its_hint_and_its_code() -> None:
    with pytest.raises(PenstockError) as caught, errors.in_stage("load", load_id="17.5"):
        raise errors.CommitLost(table="orders", sequence=3)

    assert str(caught.value) == (
        "orders shows no commit of sequence 3 (while in load, package 17.5)\n"
        "  what to do: run again: the package is sealed and will be applied from where it stopped\n"
        "  code: commit-lost"
    )


def test_the_first_stage_to_see_an_error_names_it() -> None:
    with (
        pytest.raises(PenstockError) as caught,
        errors.in_stage("run", load_id="2"),
        errors.in_stage("extract", load_id="1"),
    ):
        raise errors.DataError("bad")

    assert (caught.value.stage, caught.value.load_id) == ("extract", "1")


def test_error_codes_are_unique() -> None:
    codes = [error.code for error in CLASSES.values()]

    assert len(set(codes)) == len(codes)
    assert [name for name, error in CLASSES.items() if "code" not in vars(error)] == []


def test_the_headings_of_the_page_are_the_codes() -> None:
    levels = {
        error.code: 3 if error.__base__ not in (PenstockError, Exception) else 2 for error in CLASSES.values()
    }

    assert {code: level for code, (level, _) in sections().items()} == levels


def test_the_page_keeps_the_order_of_the_file() -> None:
    assert list(sections()) == [error.code for error in CLASSES.values()]


def page_text(code: str) -> str:
    """Return the section of the page for a code; empty where the page lacks it."""
    return sections().get(code, (0, ""))[1]


def test_the_page_shows_the_message_of_every_error() -> None:
    assert_no_offenders(
        (
            f"docs/errors.md, {error.code}:\n{error}"
            for error in map(example, EXAMPLES)
            if f"```text\n{error}\n```" not in page_text(error.code)
        ),
        "show these messages in the section of their code",
    )


def test_the_page_names_every_fact_of_every_error() -> None:
    assert_no_offenders(
        (
            f"docs/errors.md, {CLASSES[name].code}: `{fact}`"
            for name in WITH_FACTS
            for fact in inspect.signature(CLASSES[name]).parameters
            if f"`{fact}`" not in page_text(CLASSES[name].code)
        ),
        "describe the fact in the section of the code",
    )
