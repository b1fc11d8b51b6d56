"""The commands `sources` and `destinations`: what exists on this machine, and what to install."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.output import print_json, printable
from penstock.cli.pipeline_options import AsJson  # noqa: TC001 - typer reads the annotation
from penstock.interfaces.destination import ENTRY_POINT_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.cli.json_documents import ComponentDocument

_OWN_PACKAGE: Final = "penstock"
_EXTRA_MODULES: Final = {
    "delta": "deltalake",
    "duckdb": "duckdb",
    "postgres": "psycopg",
    "rest": "requests",
    "s3": "s3fs",
    "spark": "pyspark",
}
"""The modules by which an extra is recognized."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A source or a destination."""

    name: str
    description: str
    reference: str
    """The function to call, or the object that another package registers."""
    distribution: str = _OWN_PACKAGE
    """The package that it belongs to, with its version if it is another one."""
    extras: tuple[str, ...] = ()
    """The extras that it needs."""

    @property
    def missing_extras(self) -> tuple[str, ...]:
        """The extras that are not installed."""
        return tuple(extra for extra in self.extras if find_spec(_EXTRA_MODULES[extra]) is None)

    @property
    def status(self) -> str:
        """Whether it can be used, or how to install what it lacks."""
        missing = ",".join(self.missing_extras)
        if missing:
            return f"pip install 'penstock[{missing}]'"
        return "installed" if self.distribution == _OWN_PACKAGE else f"from {self.distribution}"


_SOURCES: Final = (
    Component(
        name="functions",
        description="generators, lists, frames",
        reference="penstock.resource, penstock.source",
    ),
    Component(
        name="filesystem",
        description="CSV, JSONL and Parquet files",
        reference="penstock.sources.filesystem.files",
        extras=("spark",),
    ),
    Component(
        name="filesystem (S3)",
        description="the same in buckets",
        reference="penstock.sources.filesystem.files",
        extras=("spark", "s3"),
    ),
    Component(
        name="sql_database",
        description="tables of databases",
        reference="penstock.sources.sql_database.sql_database, sql_table",
        extras=("spark",),
    ),
    Component(
        name="rest_api",
        description="REST APIs, page by page",
        reference="penstock.sources.rest_api.rest_api_source",
        extras=("rest",),
    ),
)
_FUNCTION: Final = Component(
    name="function", description="rows are sent by a function", reference="penstock.destination"
)
_OWN_DESTINATIONS: Final = {
    "delta": ("Delta tables by path or catalog", ("delta", "spark")),
    "duckdb": ("a database in one file", ("duckdb",)),
    "filesystem": ("plain files: Parquet, JSONL, CSV", ("spark",)),
    "iceberg": ("Iceberg tables in catalogs", ("spark",)),
    "postgres": ("schemas of a Postgres database", ("postgres", "spark")),
}


def sources(*, as_json: AsJson = False) -> None:
    """List the sources with the extras that they need."""
    _print_components(_SOURCES, as_json=as_json)


def destinations(*, as_json: AsJson = False) -> None:
    """List the destinations, also those of other packages, with the extras that they need."""
    _print_components(known_destinations(), as_json=as_json)


def known_destinations() -> Iterator[Component]:
    """Yield the registered destinations, and the one that every function can be.

    >>> [component.name for component in known_destinations() if component.distribution == "penstock"]
    ['delta', 'duckdb', 'filesystem', 'iceberg', 'postgres', 'function']
    """
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name):
        if entry.module.startswith(f"{_OWN_PACKAGE}."):
            description, extras = _OWN_DESTINATIONS[entry.name]
            reference = f"{_OWN_PACKAGE}.destinations.{entry.name}"
            yield Component(name=entry.name, description=description, reference=reference, extras=extras)
        else:
            distribution = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.module
            yield Component(
                name=entry.name,
                description="of another package",
                reference=entry.value,
                distribution=distribution,
            )
    yield _FUNCTION


def _component_document(component: Component) -> ComponentDocument:
    return {
        "name": component.name,
        "description": component.description,
        "reference": component.reference,
        "distribution": component.distribution,
        "extras": list(component.extras),
        "missing_extras": list(component.missing_extras),
        "is_installed": not component.missing_extras,
    }


def _print_components(components: Iterable[Component], *, as_json: bool) -> None:
    if as_json:
        for component in components:
            print_json(_component_document(component))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for component in components:
        style = "yellow" if component.missing_extras else "green"
        table.add_row(
            Text(printable(component.name), style="bold"),
            Text(printable(component.description)),
            Text(printable(component.status), style=style),
        )
    Console(highlight=False).print(table)
