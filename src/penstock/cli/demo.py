"""The example of `penstock demo`: a small shop, loaded twice; its files, its program and its results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from string import Template
from typing import TYPE_CHECKING, Any, Final

from penstock.destinations import delta
from penstock.errors import MissingExtra, UsageError
from penstock.pipeline.factory import pipeline as create_pipeline
from penstock.schema.defaults import (
    ID_COLUMN,
    LIST_INDEX_COLUMN,
    LOAD_ID_COLUMN,
    PARENT_ID_COLUMN,
    SYSTEM_PREFIX,
)
from penstock.sources.decorators import resource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.load.report import LoadInfo
    from penstock.pipeline.pipeline import Pipeline

PIPELINE_NAME: Final = "shop"
TABLES: Final = ("customers", "orders")
ROWS: Final[dict[str, dict[str, list[dict[str, Any]]]]] = {
    "monday": {
        "customers": [
            {"id": 1, "name": "Ada", "address": {"city": "London", "country": "GB"}},
            {"id": 2, "name": "Grace", "address": {"city": "New York", "country": "US"}},
        ],
        "orders": [
            {
                "id": 101,
                "customer_id": 1,
                "ordered_at": "2026-05-04T09:12:00Z",
                "items": [
                    {"sku": "tea", "price": 4.5, "quantity": 2},
                    {"sku": "mug", "price": 9.0, "quantity": 1},
                ],
            },
            {
                "id": 102,
                "customer_id": 2,
                "ordered_at": "2026-05-04T16:40:00Z",
                "items": [{"sku": "tea", "price": 4.5, "quantity": 6}],
            },
        ],
    },
    "tuesday": {
        "customers": [{"id": 3, "name": "Edith", "address": {"city": "Melbourne", "country": "AU"}}],
        "orders": [
            {
                "id": 103,
                "customer_id": 3,
                "ordered_at": "2026-05-05T08:05:00Z",
                "coupon": "SPRING",
                "items": [{"sku": "mug", "price": 9.0, "quantity": "a dozen"}],
            }
        ],
    },
}
"""The rows of each load, by table. Those of the second have a new key, and a text where numbers were."""

_PROGRAM: Final = Template("""\
import json
from pathlib import Path
import penstock

folder = Path($folder)
lake = penstock.destinations.delta(bucket_url=str(folder / "lake"))
pipeline = penstock.pipeline("$pipeline_name", folder / "pipelines", destination=lake)
for day in ("monday", "tuesday"):
    files = (folder / "data" / day).glob("*.jsonl")
    tables = {file.stem: file.read_text().splitlines() for file in files}
    rows = {name: map(json.loads, lines) for name, lines in tables.items()}
    resources = [penstock.resource(rows[name], name=name) for name in rows]
    print(pipeline.run(resources))
""")
_PROGRAM_NAME: Final = "shop.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoLoad:
    """The result of one load of the example."""

    name: str
    info: LoadInfo
    new_columns: tuple[tuple[str, str], ...]
    """The columns that tables of earlier loads got, with the names of the tables."""
    tables: dict[str, list[dict[str, Any]]]
    """All rows after the load, by table, without system columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """The example in its folder."""

    folder: Path

    @property
    def program(self) -> str:
        """The Python program that does the same."""
        return _PROGRAM.substitute(folder=json.dumps(str(self.folder)), pipeline_name=PIPELINE_NAME)

    @property
    def program_file(self) -> Path:
        """The file with the program."""
        return self.folder / _PROGRAM_NAME

    @property
    def pipelines_dir(self) -> Path:
        """The folder with the working folder of the pipeline."""
        return self.folder / "pipelines"

    def data_file(self, load: str, table: str) -> Path:
        """Return the file with the rows of a table in one load."""
        return self.folder / "data" / load / f"{table}.jsonl"

    def write_files(self) -> None:
        """Write the rows and the program into the folder; raise if the folder has files already."""
        prepare_folder(self.folder)
        for load, tables in ROWS.items():
            for table, rows in tables.items():
                file = self.data_file(load, table)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        self.program_file.write_text(self.program, encoding="utf-8")

    def pipeline(self) -> Pipeline:
        """Return the pipeline of the example."""
        return create_pipeline(
            PIPELINE_NAME,
            self.pipelines_dir,
            destination=delta(bucket_url=str(self.folder / "lake")),
            progress="none",
        )

    def run_loads(self, pipeline: Pipeline) -> Iterator[DemoLoad]:
        """Run one load after the other."""
        for name in ROWS:
            yield self._run_load(pipeline, name)

    def _run_load(self, pipeline: Pipeline, name: str) -> DemoLoad:
        earlier_tables = () if pipeline.first_run else pipeline.default_schema.data_table_names()
        info = pipeline.run(
            [resource(_read_rows(self.data_file(name, table)), name=table) for table in TABLES]
        )
        normalized = pipeline.last_trace.last_normalize_info if pipeline.last_trace else None
        reports = [root for package in (normalized.packages if normalized else ()) for root in package.roots]
        return DemoLoad(
            name=name,
            info=info,
            new_columns=tuple(
                column for report in reports for column in report.new_columns if column[0] in earlier_tables
            ),
            tables=read_tables(pipeline),
        )


def prepare_folder(folder: Path) -> None:
    """Create the folder; raise if it has files already, or if a library is missing."""
    if find_spec("deltalake") is None:
        raise MissingExtra(extra="delta", needed_for="the demo")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"folder {folder} is not empty",
            hint="remove it, or name another one with --folder",
        )
    folder.mkdir(parents=True, exist_ok=True)


def read_tables(pipeline: Pipeline) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all data tables in the order of their extraction, without system columns."""
    dataset, positions = pipeline.dataset(), dict[str | None, int]({None: 0})
    tables: dict[str, list[dict[str, Any]]] = {}
    for table in pipeline.default_schema.data_tables():
        rows = dataset[table.name].arrow().to_pylist()
        # Parents come first; the rows of a load have the order of their files.
        rows.sort(
            key=lambda row: (
                row.get(LOAD_ID_COLUMN, ""),
                positions[row.get(PARENT_ID_COLUMN)],
                row.get(LIST_INDEX_COLUMN, 0),
            )
        )
        positions.update((row[ID_COLUMN], position) for position, row in enumerate(rows))
        tables[table.name] = [without_system_columns(row) for row in rows]
    return tables


def _read_rows(file: Path) -> Iterator[Any]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def without_system_columns(row: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a row that come from its source."""
    return {name: value for name, value in row.items() if not name.startswith(SYSTEM_PREFIX)}
