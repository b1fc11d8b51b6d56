"""The output of `penstock demo`: the program, the rows, the schema with its evolution, and next commands."""

from __future__ import annotations

import json
import shlex
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rich.columns import Columns
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from penstock.cli.demo import ROWS, TABLES
from penstock.cli.output import printable
from penstock.cli.syntax import highlight
from penstock.interfaces.humanize import human_size
from penstock.schema.box_diagram import to_box_diagram

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, RenderableType

    from penstock.cli.demo import Demo, DemoLoad
    from penstock.cli.json_documents import DemoDocument
    from penstock.pipeline.pipeline import Pipeline

_INDENT: Final = 2
_FIRST_LOAD, _SECOND_LOAD = ROWS
_EXPLANATIONS: Final = {
    _FIRST_LOAD: "Types were inferred. Objects became columns (address__city), and the list of items became "
    "a table, whose rows refer to their order.",
    _SECOND_LOAD: "The orders have a new key, and a quantity is a text. Nothing fails and nothing is lost:",
}
_MARK_STYLES: Final = {r"[┌┐└┘├┤┬│─]": "dim", r"\bnew\b": "bold green", r"\bvariant\b": "yellow"}


class DemoReport:
    """Prints the steps of the example as they happen."""

    def __init__(self, demo: Demo, console: Console) -> None:
        self._demo, self._console, self._step = demo, console, 0

    def print_beginning(self) -> None:
        """Print what is going to happen, the input and the program."""
        self._console.print(
            "A small shop is loaded twice into Delta tables, in the folder "
            f"{escape(str(self._demo.folder))}. This takes some seconds, "
            "without Spark, network and credentials."
        )
        file = self._demo.data_file(_FIRST_LOAD, TABLES[-1])
        self._print_title(f"The rows: nested objects, such as in {file}")
        row = json.dumps(ROWS[_FIRST_LOAD][TABLES[-1]][0])
        self._print_block(highlight(row, "json"))
        self._print_title(f"The program: {self._demo.program_file}")
        self._print_block(highlight(self._demo.program))

    def print_load(self, load: DemoLoad) -> None:
        """Print the result of a load, and what it did to the schema."""
        self._print_title(f"The load of {load.name.capitalize()}")
        self._print_lines(Text(printable(str(load.info))))
        self._print_block(_EXPLANATIONS[load.name])
        for table, column in load.new_columns:
            self._print_block(_new_column_text(table, column))
        changed = dict(load.new_columns)
        tables = {name: rows for name, rows in load.tables.items() if name in changed or not changed}
        self._print_block(Columns([_rows_table(name, rows) for name, rows in tables.items()], padding=(0, 2)))

    def print_end(self, pipeline: Pipeline, loads: Sequence[DemoLoad]) -> None:
        """Print the schema, the loads, what to try next, and how to remove the folder."""
        self._print_title("The schema: nested tables are connected with their parents")
        new_columns = [column for load in loads for column in load.new_columns]
        diagram = to_box_diagram(
            pipeline.default_schema.stored, width=self._console.width - _INDENT, new_columns=new_columns
        )
        self._print_lines(_styled_diagram(diagram))
        self._print_title("The loads, each of which is applied exactly once")
        self._print_block(_loads_table(loads))
        self._print_title("What to try next")
        for command, effect in self._suggestions(pipeline.pipeline_name):
            self._print_block(Text(f"# {effect}", style="dim"))
            self._print_lines(Text(command, style="bold"))
        folder, size = self._demo.folder, sum(file.stat().st_size for file in self._demo.folder.rglob("*.*"))
        self._console.print(
            f"\nEverything is in the folder {escape(str(folder))} ({human_size(size)}). Remove it with"
        )
        self._print_lines(Text(f"rm -r {shlex.quote(str(folder))}", style="bold"))

    def _suggestions(self, name: str) -> Iterator[tuple[str, str]]:
        option = f"--pipelines-dir {shlex.quote(str(self._demo.pipelines_dir))}"
        yield f"python {shlex.quote(str(self._demo.program_file))}", "load the rows again: they are appended"
        yield f"penstock pipeline {name} info {option}", "the state of the pipeline"
        yield f"penstock pipeline {name} trace {option}", "what the last run did, step by step"
        file = self._demo.data_file(_SECOND_LOAD, TABLES[-1])
        yield f"penstock load {shlex.quote(str(file))} ./lake", "one file into another folder, by Spark"
        yield f"penstock pipeline {name} schema --format mermaid {option}", "the schema for a Markdown page"

    def _print_title(self, text: str) -> None:
        self._step += 1
        self._console.print(Text.assemble("\n", (f"{self._step}  {text}", "bold")))

    def _print_block(self, content: RenderableType) -> None:
        self._console.print(Padding(content, (0, 0, 0, _INDENT), expand=False))

    def _print_lines(self, text: Text) -> None:
        """Print commands or the lines of a diagram, each as a whole."""
        for line in text.split():
            self._console.print(Text.assemble(" " * _INDENT, line), soft_wrap=True)


def demo_document(demo: Demo, pipeline: Pipeline, loads: Sequence[DemoLoad]) -> DemoDocument:
    """Return the results of the example as plain data."""
    return {
        "folder": str(demo.folder),
        "program": str(demo.program_file),
        "pipeline_name": pipeline.pipeline_name,
        "pipelines_dir": str(demo.pipelines_dir),
        "dataset_name": pipeline.dataset_name,
        "location": loads[-1].info.location,
        "loads": [
            {
                "name": load.name,
                "load_id": package.load_id,
                "seconds": load.info.total_seconds,
                "rows": {table.table: table.rows for table in package.tables},
                "new_columns": [{"table": table, "column": column} for table, column in load.new_columns],
            }
            for load in loads
            for package in load.info.packages
        ],
        "tables": loads[-1].tables,
    }


def _new_column_text(table: str, column: str) -> Text:
    name, is_variant, kind = column.partition("__v_")
    reason = (
        f"for values of {name} that are {kind}; the column {name} keeps its type"
        if is_variant
        else "earlier rows have no value in it"
    )
    return Text.assemble(("+ ", "bold green"), (f"{table}.{column}", "bold"), f"  a new column: {reason}")


def _rows_table(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=Text(name, style="bold"), title_justify="left")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    for column in columns:
        is_number = all(isinstance(row[column], int | float) or row[column] is None for row in rows)
        table.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[column]) for column in columns))
    return table


def _cell(value: Any) -> Text:
    if value is None:
        return Text("null", style="dim")
    return Text(f"{value:%Y-%m-%d %H:%M}" if isinstance(value, datetime) else printable(str(value)))


def _loads_table(loads: Sequence[DemoLoad]) -> Table:
    table = Table()
    for column in ("load", "load id", "rows", "schema"):
        table.add_column(column, overflow="fold")
    for load in loads:
        for package in load.info.packages:
            rows = ", ".join(sorted(f"{item.table} {item.rows}" for item in package.tables))
            changes = f"{len(load.new_columns)} new columns" if load.new_columns else "new"
            table.add_row(load.name, package.load_id, rows, changes)
    return table


def _styled_diagram(diagram: str) -> Text:
    text = Text(diagram)
    for pattern, style in _MARK_STYLES.items():
        text.highlight_regex(pattern, style)
    return text
