"""Snippets run with penstock instead of dlt: only the import is replaced."""

from __future__ import annotations

import importlib.util
import os
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.unit.extract.extraction import table_rows

import penstock
from penstock.config import in_scope
from penstock.extract.run import extract
from penstock.interfaces.run_context import override_context
from penstock.package import Packages, create_load_id
from penstock.package.typed_json import from_typed
from penstock.schema import naming_convention
from penstock.schema.frozen_map import thaw
from penstock.sources import flows_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from penstock.extract.run import ExtractResult
    from penstock.interfaces import Flow
    from penstock.package import Package

SNIPPETS = {path.stem: path for path in sorted((Path(__file__).parent / "snippets").glob("*.py"))}
NAME = "oracle"


def run_snippet(name: str, folder: Path) -> list[dict[str, Any]]:
    """Return the result of a snippet: rows, tables and state of each extraction."""
    before = dict(os.environ)
    recorder = ExtractionRecorder(folder)
    try:
        _module(name, folder).run(recorder)
    finally:
        sys.modules.pop(name, None)
        os.environ.clear()
        os.environ.update(before)
    return recorder.notes


def _module(name: str, folder: Path) -> ModuleType:
    text = SNIPPETS[name].read_text(encoding="utf-8")
    assert text.count("\nimport dlt\n") == 1
    path = folder / f"{name}.py"
    path.write_text(text.replace("\nimport dlt\n", "\nimport penstock as dlt\n"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class ExtractionRecorder:
    """A recorder of the extractions of a snippet and of their results."""

    def __init__(self, folder: Path) -> None:
        self._packages = Packages.at(str(folder / "packages"))
        self._pipeline = penstock.pipeline(NAME, pipelines_dir=folder)
        self._state: dict[str, Any] = {}
        self._default: str | None = None
        self.notes: list[dict[str, Any]] = []

    def __call__(self, data: Any, **hints: Any) -> None:
        state = {"sources": from_typed(self._state)}
        note: dict[str, Any] = {"rows": {}, "tables": {}, "settings": {}}
        try:
            with override_context(pipeline=self._pipeline), in_scope(pipeline_name=NAME):
                for flow in flows_of(data, **hints):
                    self._note(note, flow, state)
        except penstock.PenstockError as error:
            self.notes.append({"error": type(error).__name__})
            return
        self.notes.append({**note, "state": coded(from_typed(self._state))})

    def declaring(self, declare: Callable[[], Any]) -> None:
        """Record the error of a refused declaration."""
        try:
            declare()
        except penstock.PenstockError as error:
            self.notes.append({"error": type(error).__name__})

    def _note(self, note: dict[str, Any], flow: Flow, state: dict[str, Any]) -> None:
        package = self._packages.package(create_load_id())
        name = flow.name or self._default or NAME
        # Like a pipeline: the first schema is the one of data without a source.
        self._default = self._default or name
        done = extract(
            flow,
            package,
            schema_name=name,
            naming=naming_convention(),
            state=state,
            boundary_store=self._packages.store,
        )
        self._state = thaw(done.extracted.state)
        for table, rows in _rows(package, done).items():
            note["rows"].setdefault(table, []).extend(rows)
        if done.extracted.declared_tables:
            note["settings"][name] = _settings(thaw(done.extracted.schema))
        for table, options in done.extracted.declared_tables.items():
            note["tables"][f"{done.extracted.schema_name}.{table}"] = thaw(options)


def _settings(schema: dict[str, Any] | None) -> dict[str, Any]:
    if schema is None:
        return {}
    options = dict(schema["normalizers"]["json"].get("config", {}))
    options["schema_contract"] = schema["settings"].get("schema_contract")
    return {key: value for key, value in options.items() if value is not None}


def _rows(package: Package, done: ExtractResult) -> dict[str, list[Any]]:
    return {
        name: [coded(from_typed(row)) for row in rows] for name, rows in table_rows(package, done).items()
    }


def coded(plain: Any) -> Any:
    """Encode values that JSON has no type for, like the bridge; timestamps are in UTC."""
    match plain:
        case dict():
            return {key: coded(item) for key, item in plain.items()}
        case list():
            return [coded(item) for item in plain]
        case datetime():
            aware = plain if plain.tzinfo else plain.replace(tzinfo=UTC)
            return {"$": "timestamp", "v": aware.astimezone(UTC).isoformat()}
        case date():
            return {"$": "date", "v": plain.isoformat()}
        case time():
            return {"$": "time", "v": plain.isoformat()}
        case Decimal():
            return {"$": "decimal", "v": str(plain)}
        case bytes():
            return {"$": "binary", "v": plain.hex()}
        case _:
            return plain
