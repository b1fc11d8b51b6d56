"""The names by which programs for dlt catch errors are there, belong to our tree, and are raised."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from penstock import errors
from penstock.errors import NeverRaised, PenstockError

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "src" / "penstock"
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
        "UnsupportedDataType": "ColumnNotLandable",
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
    },
    "penstock.extract.exceptions": {
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
    },
    "penstock.normalize.exceptions": {"NormalizeJobFailed": "NeverRaised"},
}
"""Where dlt's names are found, and what each is called here."""

NOT_RAISED_BY_US: Final = {
    "LoadClientTerminalException": "for people who write destinations",
    "LoadClientTransientException": "for people who write destinations",
}

EVERY: Final = [(place, name, ours or name) for place, names in NAMES.items() for name, ours in names.items()]
ALIASES: Final = {name: ours for _, name, ours in EVERY if name != ours}


class _Uses(ast.NodeVisitor):
    """The names that a file makes something of: not those it only catches, tests for, or has as a type."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        self.found.add(node.id)

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
        """A type says nothing."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for child in (*node.args.defaults, *node.args.kw_defaults, *node.body, *node.decorator_list):
            if child is not None:
                self.visit(child)


def uses(source: str) -> set[str]:
    visitor = _Uses()
    visitor.visit(ast.parse(source))
    return visitor.found


def raised() -> set[str]:
    """The classes that some file makes use of to raise, and those above them."""
    files = [path for path in HOUSE.rglob("*.py") if path.name not in {"errors.py", "exceptions.py"}]
    names = set().union(*(uses(path.read_text(encoding="utf-8")) for path in files))
    classes = [vars(errors)[name] for name in names if isinstance(vars(errors).get(name), type)]
    return {above.__name__ for found in classes for above in found.__mro__}


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("raise CommitLost(table='t')", True),
        ("def f(error=CommitLost): raise error()", True),
        ("kind = CommitLost if a else b", True),
        ("try:\n  f()\nexcept CommitLost:\n  raise", False),
        ("def f(error: CommitLost) -> CommitLost:\n  return isinstance(error, CommitLost)", False),
        ("from penstock.errors import CommitLost", False),
    ],
)
def test_a_class_that_is_raised_is_known_when_it_is_seen(source: str, seen: bool) -> None:
    assert ("CommitLost" in uses(source)) is seen


@pytest.mark.parametrize(("place", "name", "ours"), EVERY)
def test_the_name_is_where_a_program_looks_for_it_and_is_one_of_ours(
    place: str, name: str, ours: str
) -> None:
    module = importlib.import_module(place)

    found = getattr(module, name)
    assert found is vars(errors)[ours]
    assert issubclass(found, PenstockError)
    assert name in module.__all__


@pytest.mark.parametrize("place", NAMES)
def test_a_place_has_no_name_that_is_not_in_the_list(place: str) -> None:
    assert sorted(NAMES[place]) == list(importlib.import_module(place).__all__)


def test_what_is_caught_is_raised_by_somebody() -> None:
    found = raised()

    silent = {name for _, name, ours in EVERY if ours not in found and ours != "NeverRaised"}
    assert silent == set(NOT_RAISED_BY_US)


def test_what_is_said_to_be_raised_by_nobody_is_raised_by_nobody() -> None:
    assert NeverRaised.__name__ not in raised()
    assert NeverRaised.__subclasses__() == []


def told() -> dict[str, str]:
    """What the page for those who come from dlt says of each name: our class, or why nobody raises it."""
    page = (ROOT / "docs" / "coming-from-dlt.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"^### Errors$(.*?)(?=^##)", page, flags=re.MULTILINE | re.DOTALL)
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| `")]
    return {name: said.strip() for names, said in rows for name in re.findall(r"`(\w+)`", names)}


def test_every_name_that_is_another_one_here_is_told_to_those_who_come_from_dlt() -> None:
    said = told()

    assert set(said) == set(ALIASES)
    for name, ours in ALIASES.items():
        assert (said[name] == f"`{ours}`") is (ours != "NeverRaised"), name
        assert len(said[name]) > 5, "there is a reason"


def test_the_names_can_be_imported_without_spark() -> None:
    program = "import sys; sys.modules['pyspark'] = None\n" + "\n".join(f"import {place}" for place in NAMES)

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
