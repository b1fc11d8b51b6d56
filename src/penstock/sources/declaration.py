"""The declaration of a resource as one immutable value; each change of the resource replaces it."""

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

    from penstock.interfaces.check import Check
    from penstock.interfaces.source import ItemStep, Limit
    from penstock.interfaces.work_items import RateLimit
    from penstock.sources.user_function import UserFunction


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Declaration:
    """A resource or transformer: a function or data, the steps after it, and the hints of its tables."""

    name: str
    data: Any = None
    """The iterable, for a resource without a function."""
    user_function: UserFunction | None = None
    namer: Callable[[Mapping[str, Any]], str] | None = None
    """Returns the name from the bound arguments."""
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
    """The items that the function is called with, one by one; None for a function that is called once."""
    rate: RateLimit | None = None
    needs: tuple[str, ...] = ()
    """Names of the presets that the Spark session needs."""
    split: Callable[[Any], Iterable[Any]] | None = None
    """Splits the items of the parent into work items; for transformers."""
    paces_itself: bool = False
    modules: tuple[ModuleType, ...] = ()
    """Modules that are serialized with the function."""
    expectations: tuple[Check, ...] = ()

    def with_step(self, step: ItemStep, insert_at: int | None) -> Declaration:
        """Return a copy with a step at the end, or at `insert_at`, where 0 is the data or the transformer."""
        if insert_at is None:
            end = len(self.steps) if is_cursor_step(step) else _append_index(self.steps)
            return replace(self, steps=(*self.steps[:end], step, *self.steps[end:]))
        if insert_at < len(self.parent_steps) + 1 and self.is_transformer:
            index = max(insert_at, 0)
            return replace(self, parent_steps=(*self.parent_steps[:index], step, *self.parent_steps[index:]))
        if insert_at < 1:
            raise UsageError(
                f"a step cannot run before the data of {self.name}",
                hint="use insert_at=1 for the first step",
            )
        index = insert_at - 1 - len(self.parent_steps)
        return replace(self, steps=(*self.steps[:index], step, *self.steps[index:]))

    def with_cursor_step(self) -> Declaration:
        """Return a copy with a cursor placeholder among the steps, or without one if it has no cursor.

        The cursor of a hint replaces a cursor that was added as a step.
        """
        has_hint = self.hints.incremental is not None
        has_cursor = has_hint or (
            self.user_function is not None and cursor_parameter(self.user_function) is not None
        )
        steps = tuple(step for step in self.steps if step is not CURSOR_PLACEHOLDER)
        if not has_cursor:
            return replace(self, steps=steps)
        if len(steps) < len(self.steps):
            return self
        if has_hint:
            replaced = [step for step in steps if is_cursor_step(step)][:1]
            steps = tuple(step for step in steps if step not in replaced)
        return replace(self, steps=(*steps, CURSOR_PLACEHOLDER))

    def with_arguments(self, *args: Any, **kwargs: Any) -> Declaration:
        """Return a copy with arguments of the function."""
        if self.user_function is None:
            raise UsageError(f"{self.name} has no function and takes no arguments", hint="do not call it")
        if self.user_function.is_bound:
            raise UsageError(
                f"the arguments of {self.name} are already bound",
                hint="call the resource once, and keep the result",
            )
        function = self.user_function.bind(*args, **kwargs)
        name = self.namer(function.with_defaults()) if self.namer else self.name
        return replace(self, user_function=function, name=name)

    def with_variant(self, hints: TableHints) -> Declaration:
        """Return a copy with hints for one table of several."""
        name = hints.table_name
        if not isinstance(name, str) or not name:
            raise UsageError("a table variant has no name", hint="pass table_name as a text")
        variant = self.variants.get(name, replace(self.hints, table_name=name))
        return replace(self, variants=FrozenMap({**self.variants, name: variant.merged_with(hints)}))


def _append_index(steps: tuple[ItemStep, ...]) -> int:
    """Return the index for an appended step: before the cursors at the end."""
    return next((index + 1 for index in reversed(range(len(steps))) if not is_cursor_step(steps[index])), 0)
