"""What the extract stage is given: streams of items, and how they hang together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from penstock.interfaces.hints import NO_HINTS, TableHints
from penstock.schema.frozen_map import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.interfaces.refresh import TRefreshMode
    from penstock.interfaces.work_items import WorkItemSpec
    from penstock.schema import StoredSchema

StepKind = Literal["map", "yield_map", "filter", "call", "metrics", "incremental"]
NextItemMode = Literal["round_robin", "fifo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStep:
    """What is done with each item on its way.

    `map`, `filter` and `yield_map` are called with every row of a page, `call` and `metrics` with the page.
    The function of `incremental` is called once, with nothing, and gives the cursor that the items pass.
    """

    kind: StepKind
    function: Callable[..., Any]
    takes_mark: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How much of a resource is taken. Counts what it yields, or the rows of it with `count_rows`."""

    max_items: int | None = None
    max_time: float | None = None
    count_rows: bool = False


class DeclarationBase:
    """The base of what users declare: something that is no item, should a resource yield it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stream:
    """One resource, ready to be read. A stream that several others take their items from is read once."""

    name: str
    open: Callable[..., Any]
    """Gives the items: called with nothing, or, of a transformer, with an item and its mark."""
    parent: Stream | None = None
    parent_steps: tuple[ItemStep, ...] = ()
    """Steps between the parent and the transformer."""
    steps: tuple[ItemStep, ...] = ()
    limit: Limit | None = None
    hints: TableHints = NO_HINTS
    variants: Mapping[str, TableHints] = field(default=FrozenMap[TableHints]())
    """Hints of single tables, for streams that write to several."""
    tables: frozenset[str] | None = None
    """The tables whose rows are wanted; None for all."""
    selected: bool = True
    parallel: bool = False
    resource: Any = None
    """What the user holds, for `current.resource()`."""
    work: WorkItemSpec | None = None
    """Items that can be shared out: the stream is opened once for each of them."""
    needs: tuple[str, ...] = ()
    """What a session of Spark must bring for it, by the names of presets: the jar of a database, say."""

    @property
    def is_transformer(self) -> bool:
        """Whether the items come from another stream."""
        return self.parent is not None

    def chain(self) -> Iterator[Stream]:
        """This stream and those that it takes its items from, nearest first."""
        stream: Stream | None = self
        while stream is not None:
            yield stream
            stream = stream.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """One source, ready to be read: its streams, and what it says of the whole schema."""

    name: str | None
    """The name of the source, of its schema and of its state; None for data that came without a source."""
    streams: tuple[Stream, ...]
    section: str | None = None
    schema: StoredSchema | None = None
    """What the source brought: settings, and tables that it declares. None where it brought nothing."""
    source: Any = None
    """What the user holds, for `current.source()`."""
    contract: Any = None
    """The schema contract of the run; None where it has none."""
    refresh: TRefreshMode | None = None
    """What of the source begins anew with this run; None for nothing."""

    @property
    def needs(self) -> tuple[str, ...]:
        """What a session of Spark must bring for its streams."""
        return tuple(
            dict.fromkeys(need for stream in self.streams for one in stream.chain() for need in one.needs)
        )

    @property
    def sections(self) -> tuple[str, ...] | None:
        """The sections of the configuration that its resources look in; None for those that look alone."""
        return ("sources", self.section, self.name) if self.section and self.name and self.source else None
