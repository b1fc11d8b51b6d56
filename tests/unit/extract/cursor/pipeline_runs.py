"""Consecutive runs of one pipeline in a folder, for tests of cursors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.extract.extraction import extract_data, table_rows

from penstock.package import Packages, create_load_id
from penstock.package.typed_json import from_typed
from penstock.schema.frozen_map import thaw

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.extract.run import ExtractResult


class Runs:
    """Extracts data, and keeps the state between runs."""

    def __init__(self, folder: Path) -> None:
        self.packages = Packages.at(str(folder))
        self.sources: dict[str, Any] = {}
        """The state after the last run, in typed JSON."""
        self.done: ExtractResult | None = None

    def __call__(self, data: Any, **more: Any) -> list[Any]:
        """Run an extraction; return the rows of all tables."""
        package = self.packages.package(create_load_id())
        state = {"sources": from_typed(self.sources)}
        self.done = extract_data(data, package, state=state, boundary_store=self.packages.store, **more)
        self.sources = thaw(self.done.extracted.state)
        tables = table_rows(package, self.done) if self.done.report.rows else {}
        return [row for rows in tables.values() for row in rows]

    def entry(self, resource: str, cursor_path: str) -> dict[str, Any]:
        """Return the state of a cursor."""
        tables: dict[str, Any] = self.sources["shop"]["resources"][resource]["incremental"][cursor_path]
        return tables

    @property
    def files(self) -> list[str]:
        """The files of cursors."""
        return self.packages.store.names("cursors")
