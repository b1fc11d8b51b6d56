"""The resource that users hold: a mutable handle over a frozen declaration."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from penstock.errors import (
    DataItemRequiredForDynamicTableHints,
    MissingTableName,
    UnsupportedData,
    UsageError,
)
from penstock.interfaces.check import make_expectation
from penstock.interfaces.declared_tables import declared_tables
from penstock.interfaces.flow_reader import read_flow
from penstock.interfaces.frames import frame_kind
from penstock.interfaces.hints import NO_HINTS, TableHints, make_hints
from penstock.interfaces.incremental import Incremental
from penstock.interfaces.source import DeclarationBase, Flow, ItemStep, Limit, StepKind
from penstock.schema import naming_convention
from penstock.schema.frozen_map import thaw
from penstock.sources.declaration import Declaration
from penstock.sources.expectations import declared_expectations
from penstock.sources.resource_cursor import cursor_step
from penstock.sources.section import module_section
from penstock.sources.state import resource_state
from penstock.sources.streams import streams_of
from penstock.sources.user_function import UserFunction, step_takes_mark

if TYPE_CHECKING:
    from penstock.config import BaseConfiguration
    from penstock.interfaces.check import Check, OnFail
    from penstock.interfaces.hints import NestedValues
    from penstock.schema import TTableSchema


class Resource(DeclarationBase):
    """Items with the hints of their tables. Nothing runs until it is extracted or iterated over.

    Create one with `@penstock.resource` or `@penstock.transformer`. A call binds the arguments of the
    function and returns a copy, as `clone`, `with_name` and `|` do; all other methods change the resource
    itself and return it. `|` connects a transformer.

    >>> numbers = Resource.from_data([1, 2, 3], name="numbers")
    >>> list(numbers.add_map(lambda number: number * 10).add_limit(2))
    [10, 20]
    """

    __slots__ = ("_parent", "declaration")

    def __init__(self, declaration: Declaration, *, parent: Resource | None = None) -> None:
        self.declaration = declaration
        self._parent = parent

    @classmethod
    def from_data(  # noqa: PLR0913 - all parts of a declaration
        cls,
        data: Any,
        name: str | None = None,
        section: str | None = None,
        hints: TableHints = NO_HINTS,
        selected: bool = True,  # noqa: FBT001, FBT002 - dlt's signature
        data_from: Resource | None = None,
        *,
        is_transformer: bool = False,
        spec: type[BaseConfiguration] | None = None,
        namer: Callable[..., str] | None = None,
    ) -> Self:
        """Declare a resource from data, a generator, or a function that returns either."""
        _check_data(data)
        if data_from is not None and not isinstance(data_from, Resource):
            raise UnsupportedData(
                data_type=type(data_from).__name__, reason="a transformer takes items of a resource"
            )
        takes_item = is_transformer or data_from is not None
        is_function = callable(data) and frame_kind(data) is None
        if takes_item and not is_function:
            raise UsageError(
                "a transformer needs a function, not data", hint="pass a function that takes an item"
            )
        function = UserFunction(function=data, takes_item=takes_item, spec=spec) if is_function else None
        if function is not None:
            function.signature  # noqa: B018 - raises when a transformer takes no item
        return cls(
            Declaration(
                name=name or _default_name(data),
                data=None if is_function else data,
                user_function=function,
                namer=namer,
                section=section or (module_section(data) if is_function else None),
                is_transformer=takes_item,
                hints=hints,
                selected=selected,
                expectations=declared_expectations(data),
            ).with_cursor_step(),
            parent=data_from,
        )

    @property
    def name(self) -> str:
        """The name of the resource."""
        return self.declaration.name

    @property
    def parent(self) -> Resource | None:
        """The resource that feeds this transformer."""
        return self._parent

    @property
    def section(self) -> str | None:
        """The configuration section in which arguments are looked up."""
        return self.declaration.section

    @property
    def selected(self) -> bool:
        """Whether the items are loaded; if not, they still feed transformers."""
        return self.declaration.selected

    @selected.setter
    def selected(self, selected: bool) -> None:
        self.change(selected=selected)

    @property
    def is_transformer(self) -> bool:
        """Whether the items come from another resource."""
        return self.declaration.is_transformer

    @property
    def requires_args(self) -> bool:
        """Whether the function has arguments without a default."""
        return self.declaration.user_function is not None and bool(
            self.declaration.user_function.required_args
        )

    @property
    def args_bound(self) -> bool:
        """Whether arguments have been bound, or cannot be."""
        return self.declaration.user_function is None or self.declaration.user_function.is_bound

    @property
    def explicit_args(self) -> dict[str, Any]:
        """The bound arguments."""
        return dict(self.declaration.user_function.explicit_args) if self.declaration.user_function else {}

    @property
    def exhausted(self) -> bool:
        """Whether the resource reads from a generator that is already consumed."""
        inputs = (self.declaration.data, self.declaration.work_items)
        return any(
            inspect.isgenerator(data) and inspect.getgeneratorstate(data) == inspect.GEN_CLOSED
            for data in inputs
        )

    @property
    def state(self) -> dict[str, Any]:
        """The state of this resource during a run of its pipeline."""
        return resource_state(self.name)

    def change(self, **changes: Any) -> None:
        """Replace fields of the declaration."""
        self.declaration = replace(self.declaration, **changes)

    # Arguments and copies

    def bind(self, *args: Any, **kwargs: Any) -> Self:
        """Bind the arguments of the function, in place."""
        self.declaration = self.declaration.with_arguments(*args, **kwargs)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Self:
        """Return a copy with the arguments bound."""
        return self.clone().bind(*args, **kwargs)

    def clone(self, *, parent: Resource | None = None) -> Self:
        """Return a copy, fed by the same resource unless `parent` is another."""
        return type(self)(self.declaration, parent=parent or self._parent)

    def with_name(self, new_name: str, new_section: str | None = None) -> Self:
        """Return a copy under another name, with a separate table and state."""
        renamed = self.clone()
        renamed.change(name=new_name, namer=None, section=new_section or self.section)
        return renamed

    # Tables and their hints

    @property
    def hints(self) -> TableHints:
        """All hints as one value."""
        return self.declaration.hints

    @property
    def table_name(self) -> str | Callable[[Any], str]:
        """The table, or a function that returns the table of an item; by default the name of the resource."""
        return self.hints.table_name or self.name

    @table_name.setter
    def table_name(self, name: str | Callable[[Any], str]) -> None:
        self.apply_hints(table_name=name)

    @property
    def write_disposition(self) -> Any:
        """The declared write disposition; `append` by default."""
        disposition = self.hints.write_disposition
        return "append" if disposition is None else thaw(disposition)

    @write_disposition.setter
    def write_disposition(self, value: Any) -> None:
        self.apply_hints(write_disposition=value)

    @property
    def columns(self) -> Any:
        """The declared columns by name."""
        return thaw(self.hints.columns)

    @property
    def schema_contract(self) -> Any:
        """The declared schema contract."""
        return thaw(self.hints.schema_contract)

    @property
    def table_format(self) -> Any:
        """The declared table format, if any."""
        return self.hints.table_format

    @property
    def parent_table_name(self) -> Any:
        """The declared parent table, if any."""
        return self.hints.parent_table_name

    @property
    def nested_hints(self) -> Any:
        """Hints of nested tables by path."""
        return self.hints.nested_hints

    @property
    def max_table_nesting(self) -> int | None:
        """Levels of nesting that become tables and columns; deeper values are kept as JSON."""
        return self.hints.max_table_nesting

    @max_table_nesting.setter
    def max_table_nesting(self, levels: int) -> None:
        self.change(hints=replace(self.hints, max_table_nesting=levels))

    @property
    def incremental(self) -> Any:
        """The declared cursor, if any."""
        return self.hints.incremental

    @property
    def has_dynamic_table_name(self) -> bool:
        """Whether the table name is a function of the item."""
        return self.hints.has_dynamic_table_name

    def apply_hints(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
        self,
        table_name: str | Callable[[Any], str] | None = None,
        parent_table_name: str | Callable[[Any], str] | None = None,
        write_disposition: Any = None,
        columns: Any = None,
        primary_key: Any = None,
        merge_key: Any = None,
        incremental: Any = None,
        schema_contract: Any = None,
        additional_table_hints: Any = None,
        table_format: Any = None,
        file_format: Any = None,
        references: Any = None,
        create_table_variant: bool = False,  # noqa: FBT001, FBT002 - as above
        nested_hints: Any = None,
        *,
        nested: NestedValues | None = None,
    ) -> Self:
        """Change the hints of this resource. None keeps a hint, an empty value removes it.

        With `create_table_variant` the hints apply to the table `table_name` only.
        """
        hints = make_hints(
            table_name=table_name,
            parent_table_name=parent_table_name,
            write_disposition=write_disposition,
            columns=columns,
            primary_key=primary_key,
            merge_key=merge_key,
            incremental=incremental,
            schema_contract=schema_contract,
            additional_table_hints=additional_table_hints,
            table_format=table_format,
            file_format=file_format,
            references=references,
            nested_hints=nested_hints,
            nested=nested,
        )
        self.merge_hints(hints, create_table_variant=create_table_variant)
        return self

    def set_incremental(self, new_incremental: Any) -> Any:
        """Set or replace the cursor and return it; `incremental.EMPTY` removes it."""
        self.apply_hints(incremental=new_incremental)
        return self.incremental

    def merge_hints(self, hints_template: TableHints, *, create_table_variant: bool = False) -> None:
        """Apply hints from `mark.make_hints`, as `apply_hints` does."""
        if create_table_variant:
            self.declaration = self.declaration.with_variant(hints_template)
        else:
            self.change(hints=self.hints.merged_with(hints_template))
            self.declaration = self.declaration.with_cursor_step()

    def compute_table_schema(self, item: Any = None) -> TTableSchema:
        """Return the table schema that the hints declare; hints that are functions get this item."""
        if item is None and self.hints.dynamic_names:
            raise DataItemRequiredForDynamicTableHints(
                resource=self.name, hint_name=self.hints.dynamic_names[0]
            )
        (root, *_) = declared_tables(
            self.hints.for_item(item), resource=self.name, naming=naming_convention("direct")
        )
        return root.to_dict()

    # Steps of the items, and their limit

    def add_map(self, item_map: Callable[..., Any], insert_at: int | None = None) -> Self:
        """Replace each row by the result of `item_map`; None drops the row."""
        return self._add_function_step("map", item_map, insert_at)

    def add_yield_map(self, item_map: Callable[..., Iterator[Any]], insert_at: int | None = None) -> Self:
        """Replace each row by the items that `item_map` yields for it."""
        return self._add_function_step("yield_map", item_map, insert_at)

    def add_filter(self, item_filter: Callable[..., bool], insert_at: int | None = None) -> Self:
        """Keep the rows for which `item_filter` returns true."""
        return self._add_function_step("filter", item_filter, insert_at)

    def add_step(
        self, item_transform: Callable[..., Any] | Incremental[Any], insert_at: int | None = None
    ) -> Self:
        """Replace each item, which may be a page of rows, by the result of `item_transform`.

        An `incremental` as a step filters the items by its cursor.
        """
        if isinstance(item_transform, Incremental):
            self.declaration = self.declaration.with_step(cursor_step(item_transform), insert_at)
            return self
        return self._add_function_step("call", item_transform, insert_at)

    def add_metrics(self, metrics_f: Callable[..., None], insert_at: int | None = None) -> Self:
        """Call `metrics_f(items, meta, metrics)` with each item; the function may fill the dict `metrics`."""
        self.declaration = self.declaration.with_step(ItemStep(kind="metrics", function=metrics_f), insert_at)
        return self

    def add_limit(
        self,
        max_items: int | None = None,
        max_time: float | None = None,
        count_rows: bool | None = False,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> Self:
        """Limit the number of items, counted after all steps, or the seconds; then close the generator.

        A page of rows counts as one item, unless `count_rows` is set. The page that reaches the limit is kept
        whole. None and -1 mean no limit. On a transformer this has no effect: limit the resource that feeds
        it.
        """
        if max_time is not None and max_time < 0:
            raise UsageError(
                f"max_time must not be negative, got {max_time}", hint="pass seconds, or None for no limit"
            )
        if self.declaration.is_transformer:
            return self
        item_count = None if max_items is None or max_items < 0 else max_items
        has_limit = item_count is not None or max_time is not None
        limit = Limit(max_items=item_count, max_time=max_time, count_rows=bool(count_rows))
        self.change(limit=limit if has_limit else None)
        return self

    @property
    def limit(self) -> Limit | None:
        """The limit, if any."""
        return self.declaration.limit

    def select_tables(self, *table_names: str) -> Self:
        """Keep only rows of these tables, for resources that write to several."""
        self.change(tables=frozenset(table_names))
        return self

    @property
    def expectations(self) -> tuple[Check, ...]:
        """The conditions for the rows of its tables."""
        return self.declaration.expectations

    def expect(
        self, name: str, expression: str, *, on_fail: OnFail = "warn", table: str | None = None
    ) -> Self:
        """Add a condition in Spark SQL that is true for each row, as the decorator `expect` does."""
        return self.add_expectation(make_expectation(name, expression, on_fail=on_fail, table=table))

    def add_expectation(self, expectation: Check) -> Self:
        """Add a condition after the others; those of one table have different names."""
        key = (expectation.table, expectation.name)
        if key in {(other.table, other.name) for other in self.expectations}:
            raise UsageError(
                f"{self.name} has two expectations with the name {expectation.name!r}",
                hint="give each expectation of a table its own name",
            )
        self.change(expectations=(*self.expectations, expectation))
        return self

    @property
    def can_parallelize(self) -> bool:
        """Whether the resource runs a function or a generator; finished data needs no thread."""
        return self.declaration.user_function is not None or hasattr(self.declaration.data, "__next__")

    def parallelize(self) -> Self:
        """Run the generator, or the transformer for each item, in a thread; the order of items may change."""
        if not self.can_parallelize:
            raise UnsupportedData(
                data_type=type(self.declaration.data).__name__,
                reason="only generators and functions can be parallelized",
            )
        self.change(parallel=True)
        return self

    def _add_function_step(self, kind: StepKind, function: Callable[..., Any], insert_at: int | None) -> Self:
        if not callable(function):
            raise UsageError(f"{function!r} is not a function", hint="pass a function that takes an item")
        step = ItemStep(kind=kind, function=function, takes_mark=step_takes_mark(function))
        self.declaration = self.declaration.with_step(step, insert_at)
        return self

    # Transformers and reading

    def pipe_data_from(self, data_from: Resource) -> Self:
        """Feed this transformer from `data_from`, in place."""
        if not self.is_transformer:
            raise UsageError(
                f"{self.name} is not a transformer", hint="declare it with @penstock.transformer"
            )
        if any(resource is self for resource in data_from.chain()):
            raise UsageError(f"{self.name} cannot feed itself", hint="make a copy with with_name")
        self._parent = data_from
        return self

    def chain(self) -> Iterator[Resource]:
        """Yield this resource and those that feed it, nearest first."""
        resource: Resource | None = self
        while resource is not None:
            yield resource
            resource = resource.parent

    def __or__(self, transform: Resource | Callable[..., Any]) -> Resource:
        """Return a copy of the transformer, fed by this resource; a plain function is added as a map."""
        if not isinstance(transform, Resource):
            return self.add_map(transform)
        return transform.clone().pipe_data_from(self)

    def __ror__(self, data: Iterable[Any]) -> Self:
        """Return a copy of this transformer, fed by the data."""
        feeder = Resource.from_data(data, name=f"data_of_{self.name}")
        return self.clone().pipe_data_from(feeder)

    def __iter__(self) -> Iterator[Any]:
        """Read the items without loading them. State lasts until the iteration ends."""
        return read_flow(
            Flow(name=self.section or self.name, streams=streams_of([self]), section=self.section)
        )

    def __repr__(self) -> str:
        kind = "transformer" if self.is_transformer else "resource"
        feeder = f", data_from={self._parent.name!r}" if self._parent else ""
        return f"<penstock.{kind} {self.name!r}, write_disposition={self.write_disposition!r}{feeder}>"


def _check_data(data: Any) -> None:
    if isinstance(data, (str, bytes, dict)):
        raise UnsupportedData(data_type=type(data).__name__, reason="it is one value, not rows")
    if isinstance(data, DeclarationBase):
        raise UnsupportedData(data_type=type(data).__name__, reason="it is already declared")
    is_readable = (
        isinstance(data, (Iterable, AsyncIterator)) or callable(data) or frame_kind(data) is not None
    )
    if not is_readable:
        raise UnsupportedData(data_type=type(data).__name__, reason="it cannot be iterated")


def _default_name(data: Any) -> str:
    name = getattr(data, "__name__", None)
    if isinstance(name, str) and (callable(data) or isinstance(data, (Iterator, AsyncIterator))):
        return name
    raise MissingTableName(data_type=type(data).__name__)
