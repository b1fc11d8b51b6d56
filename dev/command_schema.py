"""Write the JSON Schema of what commands print with `--json`: `python -m dev.command_schema`.

It is generated from the types of the printed objects, with the docstrings of their fields. The version grows
when a key is removed or gets another type.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from penstock.cli import json_documents as documents
from penstock.cli.connection_checks import ConnectionResult
from penstock.cli.doctor import Finding
from penstock.cli.report import PipelineReport
from penstock.package.info import LoadPackageDocument, PackageJobDocument
from penstock.pipeline.adopt import AdoptionDocument
from penstock.pipeline.plan import LoadPlan
from penstock.pipeline.replay import ReplayDocument
from penstock.pipeline.state import TPipelineState
from penstock.pipeline.trace import PipelineTraceDocument, RunStartDocument
from penstock.pipeline.undo import UndoDocument
from penstock.schema.stored_schema import TStoredSchema

VERSION: Final = 1
SCHEMA_FILE: Final = Path(__file__).parents[1] / "docs" / "command-line.schema.json"
DOCUMENTS: Final[Mapping[str, Any]] = {
    "adopt": AdoptionDocument,
    "config explain": documents.SettingDocument,
    "conns": ConnectionResult,
    "demo": documents.DemoDocument | documents.KillDemoDocument,
    "destinations": documents.ComponentDocument,
    "doctor": Finding,
    "init": documents.ProjectDocument,
    "load": documents.LoadDocument | documents.ScriptDocument,
    "packages": LoadPackageDocument,
    "pipeline abort-packages": documents.PackageAbortDocument,
    "pipeline apply": documents.RunDocument,
    "pipeline drop": documents.PipelineDropDocument,
    "pipeline drop-pending": documents.PendingDropDocument,
    "pipeline drop-pending-packages": documents.PendingDropDocument,
    "pipeline drop-plan": documents.PlanDropDocument,
    "pipeline fail-job": documents.FailedJobPath,
    "pipeline failed-jobs": PackageJobDocument,
    "pipeline info": documents.PipelineOverview,
    "pipeline list": documents.PipelineSummary,
    "pipeline load-package": LoadPackageDocument,
    "pipeline package": LoadPackageDocument,
    "pipeline packages": LoadPackageDocument,
    "pipeline plans": LoadPlan,
    "pipeline replay": ReplayDocument,
    "pipeline report": PipelineReport,
    "pipeline schema": TStoredSchema,
    "pipeline show": documents.ReportServerDocument,
    "pipeline state": TPipelineState,
    "pipeline sync": documents.SyncDocument,
    "pipeline trace": PipelineTraceDocument | RunStartDocument,
    "pipeline undo": UndoDocument,
    "pipeline why": documents.ColumnHistoryDocument,
    "plan": LoadPlan,
    "replay": ReplayDocument,
    "run": documents.RunDocument,
    "sources": documents.ComponentDocument,
    "undo": UndoDocument,
}
"""The type of each object that a command prints; the name of the pipeline is left out."""
_PLAIN_TYPES: Final[Mapping[Any, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    datetime: "string",
    NoneType: "null",
}


def command_schema() -> dict[str, Any]:
    """Return the schema of all commands: `$defs` has one entry for each, and the types that they share."""
    definitions: dict[str, Any] = {}
    commands = {key_of(command): _schema_of(type_, definitions) for command, type_ in DOCUMENTS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:penstock:command-line:{VERSION}",
        "title": "Objects that penstock prints with --json",
        "description": "Each line of a command matches its entry in $defs: pipeline-info for penstock "
        "pipeline NAME info. New keys may appear in each release.",
        "$defs": commands | dict(sorted(definitions.items())),
    }


def key_of(command: str) -> str:
    """Return the key of a command.

    >>> key_of("pipeline info")
    'pipeline-info'
    """
    return command.replace(" ", "-")


def schema_text() -> str:
    """Return the schema as it is published."""
    return json.dumps(command_schema(), indent=2) + "\n"


def _schema_of(type_: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type; records are added to the definitions, once."""
    if type_ in _PLAIN_TYPES:
        return {"type": _PLAIN_TYPES[type_]}
    if type_ is Any:
        return {}
    if is_typeddict(type_) or is_dataclass(type_):
        name = type_.__name__
        if name not in definitions:
            definitions[name] = {}
            definitions[name] |= _record_schema(type_, definitions)
        return {"$ref": f"#/$defs/{name}"}
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in {Union, UnionType}:
        if all(argument in _PLAIN_TYPES for argument in arguments):
            return {"type": [_PLAIN_TYPES[argument] for argument in arguments]}
        return {"anyOf": [_schema_of(argument, definitions) for argument in arguments]}
    if origin in {dict, Mapping}:
        values = _schema_of(arguments[1], definitions)
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if origin in {list, tuple}:
        return {"type": "array", "items": _schema_of(arguments[0], definitions)}
    raise TypeError(f"{type_!r} has no schema")


def _record_schema(record: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(record, localns=_names_for_types(record.__module__))
    descriptions = _field_docstrings(record)
    properties = {
        name: _schema_of(hint, definitions) | _description(descriptions.get(name))
        for name, hint in hints.items()
    }
    required = getattr(record, "__required_keys__", hints.keys())
    return {
        **_description(inspect.getdoc(record)),
        "type": "object",
        "properties": properties,
        "required": [name for name in hints if name in required],
    }


def _description(docstring: str | None) -> dict[str, str]:
    return {"description": " ".join(docstring.partition("\n\n")[0].split())} if docstring else {}


def _field_docstrings(record: type) -> dict[str, str]:
    """Return the strings below the fields of a record and its bases."""
    docstrings: dict[str, str] = {}
    nodes = _module_nodes(record.__module__)
    for node in (node for node in nodes if isinstance(node, ast.ClassDef) and node.name == record.__name__):
        for base in node.bases:
            base_record = getattr(sys.modules[record.__module__], ast.unparse(base))
            docstrings |= _field_docstrings(base_record) if is_typeddict(base_record) else {}
        for field, text in zip(node.body, node.body[1:], strict=False):
            match field, text:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(docstring))),
                ):
                    docstrings[name] = docstring
                case _:
                    pass  # a field without a docstring
    return docstrings


@cache
def _module_nodes(module: str) -> list[ast.stmt]:
    return ast.parse(inspect.getsource(sys.modules[module])).body


@cache
def _names_for_types(module: str) -> dict[str, Any]:
    """Return the names that a module imports only for the checker of types."""
    imports = [
        statement
        for node in _module_nodes(module)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        if isinstance(statement, ast.ImportFrom) and statement.module
    ]
    return {
        alias.name: getattr(import_module(str(statement.module)), alias.name)
        for statement in imports
        for alias in statement.names
        if hasattr(import_module(str(statement.module)), alias.name)
    }


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
