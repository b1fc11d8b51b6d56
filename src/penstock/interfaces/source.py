"""The input of the extract stage: streams of items and their relations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from penstock.interfaces.hints import NO_HINTS, TableHints
from penstock.schema.frozen_map import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.interfaces.check import Check
    from penstock.interfaces.refresh import TRefreshMode
    from penstock.interfaces.work_items import WorkItemSpec
    from penstock.schema import StoredSchema

StepKind = Literal["map", "yield_map", "filter", "call", "metrics", "incremental"]
NextItemMode = Literal["round_robin", "fifo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStep:
    """A step for the items of a stream.

    `map`, `filter` and `yield_map` are called with every row of a page, `call` and `metrics` with the page.
    The function of `incremental` is called once, without arguments, and returns the cursor for the items.
    """

    kind: StepKind
    function: Callable[..., Any]
    takes_mark: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The limit of a resource: a number of yielded items, or of rows with `count_rows`."""

    max_items: int | None = None
    max_time: float | None = None
    count_rows: bool = False


class DeclarationBase:
    """The base class of sources and resources: an object of it is not an item."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stream:
    """A resource to be read. A stream with several transformers is read once."""

    name: str
    open: Callable[..., Any]
    """Opens the iterator: called without arguments, or for a transformer with an item and its mark."""
    parent: Stream | None = None
    parent_steps: tuple[ItemStep, ...] = ()
    """Steps between the parent and the transformer."""
    steps: tuple[ItemStep, ...] = ()
    limit: Limit | None = None
    hints: TableHints = NO_HINTS
    variants: Mapping[str, TableHints] = field(default=FrozenMap[TableHints]())
    """Hints of single tables, for streams that write to several."""
    tables: frozenset[str] | None = None
    """The tables to read; None for all."""
    selected: bool = True
    parallel: bool = False
    resource: Any = None
    """The user's object, for `current.resource()`."""
    work: WorkItemSpec | None = None
    """Items that can be distributed: the stream is opened once per item."""
    needs: tuple[str, ...] = ()
    """Presets that a Spark session needs for it, such as the jar of a database."""
    expectations: tuple[Check, ...] = ()
    """Conditions for the rows of its tables."""

    @property
    def is_transformer(self) -> bool:
        """Whether the items come from another stream."""
        return self.parent is not None

    def chain(self) -> Iterator[Stream]:
        """Return this stream and its parents, nearest first."""
        stream: Stream | None = self
        while stream is not None:
            yield stream
            stream = stream.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A source to be read: its streams and schema settings."""

    name: str | None
    """The name of the source, its schema and its state; None for data without a source."""
    streams: tuple[Stream, ...]
    section: str | None = None
    schema: StoredSchema | None = None
    """The schema of the source: settings and declared tables. None if it has none."""
    source: Any = None
    """The user's object, for `current.source()`."""
    contract: Any = None
    """The schema contract of the run; None if unset."""
    refresh: TRefreshMode | None = None
    """The refresh of the source in this run; None if unset."""
    gates: tuple[Check, ...] = ()
    """The gates of the run."""
    is_only_one: bool = True
    """Whether the run has no other flow, so that each gate is for a table of this one."""

    @property
    def expectations(self) -> tuple[Check, ...]:
        """The conditions for rows that its streams declare, each with its resource."""
        streams = {link.name: link for stream in self.streams for link in stream.chain()}
        return tuple(
            replace(expectation, resource=name)
            for name, stream in streams.items()
            for expectation in stream.expectations
        )

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the presets that a Spark session needs for its streams."""
        return tuple(
            dict.fromkeys(need for stream in self.streams for link in stream.chain() for need in link.needs)
        )

    @property
    def sections(self) -> tuple[str, ...] | None:
        """Return the configuration sections of its resources; None for resources without a source."""
        return ("sources", self.section, self.name) if self.section and self.name and self.source else None
