"""The half of a resource that speaks of its items: steps that they pass, and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from penstock.errors import UsageError
from penstock.interfaces.incremental import Incremental
from penstock.interfaces.source import ItemStep, Limit, StepKind
from penstock.sources.hinted import _HintedResource
from penstock.sources.resource_cursor import cursor_step
from penstock.sources.user_function import step_takes_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _SteppedResource(_HintedResource):
    """Changes its items on their way. Every method changes the resource itself, and gives it back."""

    __slots__ = ()

    def add_map(self, item_map: Callable[..., Any], insert_at: int | None = None) -> Self:
        """Replace each row by what `item_map` makes of it; a row that becomes None is left out."""
        return self._add_function_step("map", item_map, insert_at)

    def add_yield_map(self, item_map: Callable[..., Iterator[Any]], insert_at: int | None = None) -> Self:
        """Replace each row by the items that `item_map` yields for it."""
        return self._add_function_step("yield_map", item_map, insert_at)

    def add_filter(self, item_filter: Callable[..., bool], insert_at: int | None = None) -> Self:
        """Keep the rows for which `item_filter` is true."""
        return self._add_function_step("filter", item_filter, insert_at)

    def add_step(
        self, item_transform: Callable[..., Any] | Incremental[Any], insert_at: int | None = None
    ) -> Self:
        """Replace each item, a page of rows as a whole, by what `item_transform` makes of it.

        An `incremental` as a step is a cursor that the items pass.
        """
        if isinstance(item_transform, Incremental):
            self.declaration = self.declaration.with_step(cursor_step(item_transform), insert_at)
            return self
        return self._add_function_step("call", item_transform, insert_at)

    def add_metrics(self, metrics_f: Callable[..., None], insert_at: int | None = None) -> Self:
        """Call `metrics_f(items, meta, metrics)` with each item; `metrics` is a dict that it may fill."""
        self.declaration = self.declaration.with_step(ItemStep(kind="metrics", function=metrics_f), insert_at)
        return self

    def add_limit(
        self,
        max_items: int | None = None,
        max_time: float | None = None,
        count_rows: bool | None = False,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> Self:
        """Take at most so many items, counted after all steps, or so many seconds; then close the generator.

        Items are what the resource yields: a page is one, unless `count_rows`. A page that passes the limit
        is kept whole. None and -1 mean no limit. The limit of a transformer is that of what it takes its
        items from: this one is ignored.
        """
        if max_time is not None and max_time < 0:
            raise UsageError("max_time is negative", hint="give seconds, or None for no limit")
        if self.declaration.is_transformer:
            return self
        most = None if max_items is None or max_items < 0 else max_items
        has_limit = most is not None or max_time is not None
        limit = Limit(max_items=most, max_time=max_time, count_rows=bool(count_rows))
        self.change(limit=limit if has_limit else None)
        return self

    @property
    def limit(self) -> Limit | None:
        """The limit, if there is one."""
        return self.declaration.limit

    def select_tables(self, *table_names: str) -> Self:
        """Keep only rows of these tables; for resources whose items name their table."""
        self.change(tables=frozenset(table_names))
        return self

    @property
    def can_parallelize(self) -> bool:
        """Whether there is anything to run: data that is there already has nothing."""
        return self.declaration.user_function is not None or hasattr(self.declaration.data, "__next__")

    def parallelize(self) -> Self:
        """Run the generator, or the transformer for each item, in a thread; the order of items may change."""
        if not self.can_parallelize:
            raise UsageError(
                f"{self.name} holds data and has nothing to run in a thread",
                hint="use parallelized with generators and functions",
            )
        self.change(parallel=True)
        return self

    def _add_function_step(self, kind: StepKind, function: Callable[..., Any], insert_at: int | None) -> Self:
        if not callable(function):
            raise UsageError(f"{function!r} is not a function", hint="pass a function of an item")
        step = ItemStep(kind=kind, function=function, takes_mark=step_takes_mark(function))
        self.declaration = self.declaration.with_step(step, insert_at)
        return self
