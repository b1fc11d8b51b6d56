"""What a resource is declared to be, as one value; a resource replaces it at each change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.interfaces.hints import NO_HINTS, TableHints
from penstock.schema.frozen_map import FrozenMap
from penstock.sources.resource_cursor import CURSOR_PLACEHOLDER, cursor_parameter, is_cursor_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    from penstock.interfaces.source import ItemStep, Limit
    from penstock.interfaces.work_items import RateLimit
    from penstock.sources.user_function import UserFunction


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Declaration:
    """A resource or a transformer: a function or data, the steps after it, and the hints of its tables."""

    name: str
    data: Any = None
    """What is iterated where there is no function."""
    user_function: UserFunction | None = None
    namer: Callable[[Mapping[str, Any]], str] | None = None
    """Gives the name once arguments are bound."""
    section: str | None = None
    is_transformer: bool = False
    parent_steps: tuple[ItemStep, ...] = ()
    steps: tuple[ItemStep, ...] = ()
    limit: Limit | None = None
    hints: TableHints = NO_HINTS
    variants: Mapping[str, TableHints] = field(default=FrozenMap[TableHints]())
    tables: frozenset[str] | None = None
    selected: bool = True
    parallel: bool = False
    work_items: Any = None
    """What the function is called with, item by item; None for a function that is called once."""
    rate: RateLimit | None = None
    needs: tuple[str, ...] = ()
    """What a session of Spark must bring, by the names of presets."""
    split: Callable[[Any], Iterable[Any]] | None = None
    """Of a transformer: makes work items of what its parent gives."""
    paces_itself: bool = False
    modules: tuple[ModuleType, ...] = ()
    """Modules that travel with the function."""

    def with_step(self, step: ItemStep, insert_at: int | None) -> Declaration:
        """Copy with a step at the end, or where `insert_at` says: the data or the transformer stand at 0."""
        if insert_at is None:
            end = len(self.steps) if is_cursor_step(step) else _append_index(self.steps)
            return replace(self, steps=(*self.steps[:end], step, *self.steps[end:]))
        if insert_at < len(self.parent_steps) + 1 and self.is_transformer:
            at = max(insert_at, 0)
            return replace(self, parent_steps=(*self.parent_steps[:at], step, *self.parent_steps[at:]))
        if insert_at < 1:
            raise UsageError(
                f"nothing can stand before the data of {self.name}", hint="use insert_at=1 for the first step"
            )
        at = insert_at - 1 - len(self.parent_steps)
        return replace(self, steps=(*self.steps[:at], step, *self.steps[at:]))

    def with_cursor_step(self) -> Declaration:
        """Copy with a place for the cursor among the steps, if there is one, and without if there is none.

        The cursor that a hint gives takes the place of one that was added as a step.
        """
        has = self.hints.incremental is not None
        if CURSOR_PLACEHOLDER in self.steps:
            keeps = has or (
                self.user_function is not None and cursor_parameter(self.user_function) is not None
            )
            return (
                self
                if keeps
                else replace(self, steps=tuple(one for one in self.steps if one is not CURSOR_PLACEHOLDER))
            )
        if has:
            others = [one for one in self.steps if is_cursor_step(one)][:1]
            steps = tuple(one for one in self.steps if one not in others)
            return replace(self, steps=(*steps, CURSOR_PLACEHOLDER))
        has_argument = self.user_function is not None and cursor_parameter(self.user_function) is not None
        return replace(self, steps=(*self.steps, CURSOR_PLACEHOLDER)) if has_argument else self

    def with_arguments(self, *args: Any, **kwargs: Any) -> Declaration:
        """Copy with arguments of the function."""
        if self.user_function is None:
            raise UsageError(
                f"{self.name} is not made of a function and takes no arguments", hint="do not call it"
            )
        if self.user_function.is_bound:
            raise UsageError(
                f"{self.name} has its arguments already", hint="call the resource once, and keep the result"
            )
        call = self.user_function.bind(*args, **kwargs)
        name = self.namer(call.with_defaults()) if self.namer else self.name
        return replace(self, user_function=call, name=name)

    def with_variant(self, hints: TableHints) -> Declaration:
        """Copy with hints for one table of several."""
        name = hints.table_name
        if not isinstance(name, str) or not name:
            raise UsageError("a table variant has no name", hint="pass table_name as a text")
        known = self.variants.get(name, replace(self.hints, table_name=name))
        return replace(self, variants=FrozenMap({**self.variants, name: known.merged_with(hints)}))


def _append_index(steps: tuple[ItemStep, ...]) -> int:
    """Where a step comes that is put at the end: before the cursors that stand there."""
    return next((at + 1 for at in reversed(range(len(steps))) if not is_cursor_step(steps[at])), 0)
