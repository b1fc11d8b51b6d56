"""The error names of programs for dlt exist, belong to penstock's tree, and are raised."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.architecture.source_tree import ROOT, source_files
from tests.rule_assertions import assert_no_offenders

from penstock import errors
from penstock.errors import NeverRaised, PenstockError

if TYPE_CHECKING:
    from collections.abc import Iterator

SAME: Final = ""

NAMES: Final[dict[str, dict[str, str]]] = {
    "penstock.pipeline.exceptions": {
        "DltException": "PenstockError",
        "PipelineException": "PenstockError",
        "PipelineStepFailed": SAME,
        "PipelineConfigMissing": SAME,
        "CannotRestorePipelineException": SAME,
        "PipelineHasPendingDataException": "NeverRaised",
        "PipelineNeverRan": SAME,
        "PipelineNotActive": SAME,
        "InvalidPipelineName": SAME,
        "PipelineStateEngineNoUpgradePathException": "UnsupportedVersion",
        "PipelineStateNotAvailable": "NotDuringRun",
    },
    "penstock.load.exceptions": {
        "LoadClientJobFailed": SAME,
        "LoadClientJobRetry": SAME,
        "LoadClientJobTerminalRetry": "LoadClientJobFailed",
        "LoadPackageAborted": SAME,
        "TableChainFollowupJobCreationFailedException": SAME,
        "FollowupJobCreationFailedException": SAME,
        "LoadClientUnsupportedFileFormats": SAME,
        "LoadClientUnsupportedWriteDisposition": SAME,
        "DestinationTerminalException": SAME,
        "DestinationTransientException": SAME,
        "LoadClientJobException": "DestinationException",
    },
    "penstock.package.exceptions": {
        "LoadPackageNotFound": SAME,
        "LoadPackageNotCompleted": SAME,
        "LoadPackageAlreadyCompleted": SAME,
        "CurrentLoadPackageStateNotAvailable": SAME,
        "StorageMigrationError": "UnsupportedVersion",
        "NoMigrationPathException": "UnsupportedVersion",
        "WrongStorageVersionException": "UnsupportedVersion",
        "InStorageSchemaModified": "NeverRaised",
        "SchemaNotFoundError": SAME,
        "JobFileFormatUnsupported": "InvalidJobFileName",
    },
    "penstock.interfaces.exceptions": {
        "DestinationException": SAME,
        "DestinationUndefinedEntity": "TableNotFound",
        "DestinationTerminalException": SAME,
        "DestinationTransientException": SAME,
        "DestinationHasFailedJobs": SAME,
        "DestinationSchemaTampered": "NeverRaised",
        "DestinationInvalidFileFormat": "NeverRaised",
        "DestinationLoadingViaStagingNotSupported": "NeverRaised",
        "DestinationNoStagingMode": "NeverRaised",
        "DestinationIncompatibleLoaderFileFormatException": "LoadClientUnsupportedFileFormats",
        "UnsupportedDataType": "UnsupportedColumnType",
        "IdentifierTooLongException": SAME,
        "UnknownDestinationModule": "UnknownDestination",
        "SchemaUpdateError": "NeverRaised",
        "SqlClientNotAvailable": SAME,
        "FSClientNotAvailable": "NeverRaised",
        "LoadClientTerminalException": SAME,
        "LoadClientTransientException": SAME,
    },
    "penstock.destinations.exceptions": {
        "DestinationConnectionError": "StorageNotReachable",
        "DatabaseTerminalException": "DestinationTerminalException",
        "DatabaseTransientException": "DestinationTransientException",
        "DatabaseUndefinedRelation": "TableNotFound",
        "CantExtractTablePrefix": SAME,
        "DatabaseException": "DestinationException",
        "DestinationException": SAME,
        "DestinationTerminalException": SAME,
        "DestinationTransientException": SAME,
        "DestinationUndefinedEntity": "TableNotFound",
        "InvalidFilesystemLayout": SAME,
        "LoadClientNotConnected": "StorageNotReachable",
        "LoadJobNotExistsException": "JobNotFound",
        "LoadJobTerminalException": "LoadClientJobFailed",
        "LoadJobTransientException": "LoadClientJobRetry",
        "MergeDispositionException": "SchemaCorruptedException",
    },
    "penstock.extract.exceptions": {
        "DltResourceException": SAME,
        "ResourceExtractionError": "ResourceFailed",
        "ExtractorException": "PenstockError",
        "PipeItemProcessingError": "ResourceFailed",
        "PipeGenInvalid": "UnsupportedData",
        "InvalidResourceDataType": "UnsupportedData",
        "InvalidResourceDataTypeBasic": "UnsupportedData",
        "InvalidResourceDataTypeIsNone": "UnsupportedData",
        "InvalidResourceDataTypeMultiplePipes": "UnsupportedData",
        "ResourceNameMissing": "MissingTableName",
        "ResourcesNotFoundError": "ResourcesNotFound",
        "SourceExhausted": SAME,
        "ParametrizedResourceUnbound": "ResourceUnbound",
        "DataItemRequiredForDynamicTableHints": SAME,
        "InconsistentTableTemplate": SAME,
        "IncrementalCursorPathMissing": SAME,
        "IncrementalCursorPathHasValueNone": SAME,
        "IncrementalPrimaryKeyMissing": SAME,
        "IncrementalCursorInvalidCoercion": SAME,
        "ValidationError": "DataValidationError",
        "CurrentSourceNotAvailable": "NotDuringRun",
        "CurrentSourceSchemaNotAvailable": "NotDuringRun",
        "DeletingResourcesNotSupported": "UsageError",
        "DltException": "PenstockError",
        "DltSourceException": "UsageError",
        "ExplicitSourceNameInvalid": "InvalidSchemaName",
        "IncrementalUnboundError": "UsageError",
        "InvalidParallelResourceDataType": "UnsupportedData",
        "InvalidParentResourceDataType": "UnsupportedData",
        "InvalidParentResourceIsAFunction": "UnsupportedData",
        "InvalidResourceReturnsResource": "UnsupportedData",
        "InvalidStepFunctionArguments": "ResourceFailed",
        "InvalidTransformerDataTypeGeneratorFunctionRequired": "UsageError",
        "InvalidTransformerGeneratorFunction": "UsageError",
        "PipeException": "PenstockError",
        "PipeNotBoundToData": "ResourceUnbound",
        "ResourceNotATransformer": "UsageError",
        "SourceDataIsNone": "UnsupportedData",
        "SourceNotAFunction": "UsageError",
        "UnknownSourceReference": SAME,
    },
    "penstock.schema.exceptions": {
        "DataValidationError": SAME,
        "CannotCoerceColumnException": "NeverRaised",
        "CannotCoerceNullException": "NeverRaised",
        "UnboundColumnException": SAME,
        "SchemaCorruptedException": SAME,
        "TablePropertiesConflictException": SAME,
        "ParentTableNotFoundException": "TableNotFound",
        "TableNotFound": SAME,
        "SchemaIdentifierNormalizationCollision": "NeverRaised",
        "TableIdentifiersFrozen": "NeverRaised",
        "InvalidSchemaName": SAME,
        "SchemaEngineNoUpgradePathException": "SchemaEngineNoUpgradePath",
        "DltException": "PenstockError",
        "SchemaException": "PenstockError",
        "UnboundColumnWithoutTypeException": "UnboundColumnException",
    },
    "penstock.normalize.exceptions": {
        "NormalizeJobFailed": "NeverRaised",
        "DltException": "PenstockError",
        "NormalizeException": "PenstockError",
    },
}
"""The modules that hold dlt's names, and the class of each name."""

LEFT_OUT: Final[dict[str, dict[str, str]]] = {
    "penstock.schema.exceptions": {
        "ColumnNameConflictException": "columns whose names collide are both kept",
        "IncompatibleSchemaException": "schemas are merged; a property that cannot change has its own error",
    },
    "penstock.extract.exceptions": {
        "CreatePipeException": "there are no pipes: data that cannot be read is UnsupportedData",
        "DataLocationKindRequired": "the inputs of resources are not recorded",
        "InvalidSourceReference": "an unknown reference is UnknownSourceReference",
        "ResourceFunctionExpected": "data and functions are declared alike",
        "ResourceNotFoundError": "a KeyError, as for any dictionary",
        "SourceIsAClassTypeError": "a class is called like a function",
        "UnclosablePipe": "there are no pipes; generators are closed",
    },
    "penstock.destinations.exceptions": {
        "DestinationSchemaWillNotUpdate": "columns are added by the commit of their rows",
        "InvalidPlaceholderCallback": "placeholders of layouts are values",
        "LoadJobFileTooBig": "job files point to data and have no limit",
        "LoadJobInvalidStateTransitionException": "the state of a job is the folder of its file",
    },
}
"""dlt's names that no module has, because nothing here fails in that way, with the reason."""

NOT_RAISED_BY_US: Final = {
    "DltResourceException": "for people who write sources",
    "LoadClientTerminalException": "for people who write destinations",
    "LoadClientTransientException": "for people who write destinations",
}

EVERY: Final = [
    (module, name, class_name or name)
    for module, names in NAMES.items()
    for name, class_name in names.items()
]
ALIASES: Final = {name: class_name for _, name, class_name in EVERY if name != class_name}


class _Uses(ast.NodeVisitor):
    """Collect the names that a module uses as values, not those it only catches, tests for or annotates."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        self.names.add(node.id)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        for child in node.body:
            self.visit(child)

    def visit_Call(self, node: ast.Call) -> None:
        if not (isinstance(node.func, ast.Name) and node.func.id in {"isinstance", "issubclass"}):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Skip the type of an argument."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for child in (*node.args.defaults, *node.args.kw_defaults, *node.body, *node.decorator_list):
            if child is not None:
                self.visit(child)


def uses(tree: ast.Module) -> set[str]:
    """Return the names that a module uses as values."""
    visitor = _Uses()
    visitor.visit(tree)
    return visitor.names


@cache
def raised() -> frozenset[str]:
    """Return the classes that some module uses to raise, and their base classes."""
    names: set[str] = set()
    for name, file in source_files().items():
        if Path(name).name not in {"errors.py", "exceptions.py"}:
            names |= uses(file.tree)
    classes = [vars(errors)[name] for name in names if isinstance(vars(errors).get(name), type)]
    return frozenset(base.__name__ for error in classes for base in error.__mro__)


@pytest.mark.parametrize(
    ("source", "is_raised"),
    [
        ("raise CommitLost(table='t')", True),
        ("def f(error=CommitLost): raise error()", True),
        ("kind = CommitLost if a else b", True),
        ("try:\n  f()\nexcept CommitLost:\n  raise", False),
        ("def f(error: CommitLost) -> CommitLost:\n  return isinstance(error, CommitLost)", False),
        ("from penstock.errors import CommitLost", False),
    ],
)
def test_a_class_that_a_module_raises_is_recognized(source: str, is_raised: bool) -> None:
    assert ("CommitLost" in uses(ast.parse(source))) is is_raised


def name_faults(module_name: str, name: str, actual: str) -> Iterator[str]:
    """Yield the faults of one of dlt's names in a module of penstock."""
    module = importlib.import_module(module_name)
    error = getattr(module, name, None)
    if error is not vars(errors)[actual]:
        yield f"{module_name}.{name} is {error!r}, not errors.{actual}"
    elif not issubclass(error, PenstockError):
        yield f"{module_name}.{name} is not a PenstockError"
    if name not in module.__all__:
        yield f"{module_name}.{name} is not in __all__"


def test_every_error_name_of_dlt_is_a_penstock_class_in_the_module_that_programs_import() -> None:
    assert_no_offenders(
        (fault for entry in EVERY for fault in name_faults(*entry)), "export the class of penstock.errors"
    )


def test_names_that_are_left_out_do_not_exist() -> None:
    assert_no_offenders(
        (
            f"{module}.{name}"
            for module, names in LEFT_OUT.items()
            for name in names
            if hasattr(importlib.import_module(module), name)
        ),
        "move the name to NAMES",
    )


def test_modules_of_error_names_export_the_listed_names_and_no_others() -> None:
    exported = {module: list(importlib.import_module(module).__all__) for module in NAMES}

    assert_no_offenders(
        (
            f"{module}: {sorted(set(names) ^ set(NAMES[module])) or names}"
            for module, names in exported.items()
            if names != sorted(NAMES[module])
        ),
        "sort __all__ and list in NAMES what it exports",
    )


def test_every_error_that_programs_catch_is_raised_by_a_module() -> None:
    never = {name for _, name, actual in EVERY if actual not in raised() and actual != "NeverRaised"}

    assert_no_offenders(
        sorted(never ^ set(NOT_RAISED_BY_US)),
        "map a name to NeverRaised, or correct NOT_RAISED_BY_US",
    )


def test_no_module_raises_what_is_documented_as_never_raised() -> None:
    assert NeverRaised.__name__ not in raised()
    assert NeverRaised.__subclasses__() == []


def documented_aliases() -> dict[str, str]:
    """Return the entry of each name on the page for users of dlt: penstock's class, or the reason."""
    page = (ROOT / "docs" / "differences-from-dlt.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"^## Errors$(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| `")]
    return {name: text.strip() for names, text in rows for name in re.findall(r"`(\w+)`", names)}


def test_every_alias_of_an_error_is_documented_for_users_of_dlt() -> None:
    texts = documented_aliases()

    assert_no_offenders(
        [
            *sorted(set(texts) ^ set(ALIASES)),
            *(
                f"{name}: {texts[name]!r}"
                for name, actual in ALIASES.items()
                if name in texts
                and ((texts[name] == f"`{actual}`") is (actual == "NeverRaised") or len(texts[name]) <= 5)
            ),
        ],
        "give our class, or the reason why it is never raised, in docs/differences-from-dlt.md (Errors)",
    )


def test_the_names_can_be_imported_without_spark() -> None:
    program = "import sys; sys.modules['pyspark'] = None\n" + "\n".join(
        f"import {module}" for module in NAMES
    )

    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert process.returncode == 0, process.stderr
