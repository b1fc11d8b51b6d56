"""The resource that users hold: a handle over a frozen declaration."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

from penstock.errors import MissingTableName, UnsupportedData, UsageError
from penstock.interfaces.flow_reader import read_flow
from penstock.interfaces.frames import frame_kind
from penstock.interfaces.hints import NO_HINTS, TableHints
from penstock.interfaces.source import DeclarationBase, Flow
from penstock.sources.declaration import Declaration
from penstock.sources.section import module_section
from penstock.sources.state import resource_state
from penstock.sources.stepped import _SteppedResource
from penstock.sources.streams import streams_of
from penstock.sources.user_function import UserFunction

if TYPE_CHECKING:
    from penstock.config import BaseConfiguration


class Resource(_SteppedResource):
    """Items and what is known of their tables. Nothing runs until it is extracted or iterated over.

    Make one with `@penstock.resource` or `@penstock.transformer`. Calling it binds the arguments of its
    function and gives a copy; all other methods change the resource itself. `|` feeds a transformer.

    >>> numbers = Resource.from_data([1, 2, 3], name="numbers")
    >>> list(numbers.add_map(lambda number: number * 10).add_limit(2))
    [10, 20]
    """

    __slots__ = ("_parent",)

    def __init__(self, declaration: Declaration, *, parent: Resource | None = None) -> None:
        super().__init__(declaration)
        self._parent = parent

    @classmethod
    def from_data(  # noqa: PLR0913 - everything that can be declared
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
        """Declare a resource of data, of a generator, or of a function that gives either."""
        _check_data(data)
        takes_item = is_transformer or data_from is not None
        is_function = callable(data) and frame_kind(data) is None
        if takes_item and not is_function:
            raise UsageError("a transformer is not made of data", hint="pass a function that takes an item")
        call = UserFunction(function=data, takes_item=takes_item, spec=spec) if is_function else None
        if call is not None:
            call.signature  # noqa: B018 - a transformer that takes no item is refused here
        return cls(
            Declaration(
                name=name or _default_name(data),
                data=None if is_function else data,
                user_function=call,
                namer=namer,
                section=section or (module_section(data) if is_function else None),
                is_transformer=takes_item,
                hints=hints,
                selected=selected,
            ).with_cursor_step(),
            parent=data_from,
        )

    @property
    def parent(self) -> Resource | None:
        """What a transformer takes its items from."""
        return self._parent

    @property
    def section(self) -> str | None:
        """The section of the configuration in which arguments are looked for."""
        return self.declaration.section

    @property
    def selected(self) -> bool:
        """Whether the items are loaded; if not, they are still there for transformers."""
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
        """Whether the function has arguments without default."""
        return self.declaration.user_function is not None and bool(
            self.declaration.user_function.required_args
        )

    @property
    def args_bound(self) -> bool:
        """Whether arguments were bound, or none can be."""
        return self.declaration.user_function is None or self.declaration.user_function.is_bound

    @property
    def explicit_args(self) -> dict[str, Any]:
        """The arguments that were bound."""
        return dict(self.declaration.user_function.explicit_args) if self.declaration.user_function else {}

    @property
    def exhausted(self) -> bool:
        """Whether it was made of a generator that has been read: there is nothing left to read."""
        read = (self.declaration.data, self.declaration.work_items)
        closed = inspect.GEN_CLOSED
        return any(inspect.isgenerator(one) and inspect.getgeneratorstate(one) == closed for one in read)

    @property
    def state(self) -> dict[str, Any]:
        """The state of this resource, while its pipeline runs."""
        return resource_state(self.name)

    def bind(self, *args: Any, **kwargs: Any) -> Self:
        """Bind the arguments of the function, in place."""
        self.declaration = self.declaration.with_arguments(*args, **kwargs)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Self:
        """Give a copy with the arguments bound."""
        return self.clone().bind(*args, **kwargs)

    def clone(self, *, parent: Resource | None = None) -> Self:
        """Copy; the copy takes its items from the same resource unless `parent` is another."""
        return type(self)(self.declaration, parent=parent or self._parent)

    def with_name(self, new_name: str, new_section: str | None = None) -> Self:
        """Copy under another name: with a table and a state of its own."""
        renamed = self.clone()
        renamed.change(name=new_name, namer=None, section=new_section or self.section)
        return renamed

    def pipe_data_from(self, data_from: Resource) -> Self:
        """Take items from that resource, in place."""
        if not self.is_transformer:
            raise UsageError(
                f"{self.name} takes no items from others", hint="declare it with @penstock.transformer"
            )
        if any(one is self for one in data_from.chain()):
            raise UsageError(f"{self.name} cannot take items from itself", hint="make a copy with with_name")
        self._parent = data_from
        return self

    def chain(self) -> Iterator[Resource]:
        """This resource and those that it takes its items from, nearest first."""
        one: Resource | None = self
        while one is not None:
            yield one
            one = one.parent

    def __or__(self, transform: Resource | Callable[..., Any]) -> Resource:
        """Feed a transformer, and give a copy of it; a plain function is added as a map."""
        if not isinstance(transform, Resource):
            return self.add_map(transform)
        return transform.clone().pipe_data_from(self)

    def __ror__(self, data: Iterable[Any]) -> Self:
        """Feed data to this transformer, and give a copy of it."""
        fed = Resource.from_data(data, name=f"data_of_{self.name}")
        return self.clone().pipe_data_from(fed)

    def __iter__(self) -> Iterator[Any]:
        """Read the items, without loading them. State lasts as long as the reading."""
        return read_flow(
            Flow(name=self.section or self.name, streams=streams_of([self]), section=self.section)
        )

    def __repr__(self) -> str:
        kind = "transformer" if self.is_transformer else "resource"
        fed = f", data_from={self._parent.name!r}" if self._parent else ""
        return f"<penstock.{kind} {self.name!r}, write_disposition={self.write_disposition!r}{fed}>"


def _check_data(data: Any) -> None:
    if isinstance(data, (str, bytes, dict)):
        raise UnsupportedData(data_type=type(data).__name__, reason="it is one value, not rows")
    if isinstance(data, DeclarationBase):
        raise UnsupportedData(data_type=type(data).__name__, reason="it is declared already")
    fits = isinstance(data, (Iterable, AsyncIterator)) or callable(data) or frame_kind(data) is not None
    if not fits:
        raise UnsupportedData(data_type=type(data).__name__, reason="it cannot be iterated")


def _default_name(data: Any) -> str:
    name = getattr(data, "__name__", None)
    if isinstance(name, str) and (callable(data) or isinstance(data, (Iterator, AsyncIterator))):
        return name
    raise MissingTableName(data_type=type(data).__name__)
