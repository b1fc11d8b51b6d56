"""What a resource is declared to be, as one value; a resource replaces it at each change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.interfaces.hints import NO_HINTS, TableHints
from penstock.schema.frozen import FrozenMap
from penstock.sources.cursors import OWN, cursor_parameter, is_cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    from penstock.interfaces.source import Limit, Step
    from penstock.interfaces.work import RateLimit
    from penstock.sources.call import Call


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Declaration:
    """A resource or a transformer: a function or data, the steps after it, and the hints of its tables."""

    name: str
    data: Any = None
    """What is iterated where there is no function."""
    call: Call | None = None
    namer: Callable[[Mapping[str, Any]], str] | None = None
    """Gives the name once arguments are bound."""
    section: str | None = None
    is_transformer: bool = False
    before: tuple[Step, ...] = ()
    steps: tuple[Step, ...] = ()
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
    cut: Callable[[Any], Iterable[Any]] | None = None
    """Of a transformer: makes work items of what its parent gives."""
    paces_itself: bool = False
    modules: tuple[ModuleType, ...] = ()
    """Modules that travel with the function."""

    def with_step(self, step: Step, insert_at: int | None) -> Declaration:
        """Copy with a step at the end, or where `insert_at` says: the data or the transformer stand at 0."""
        if insert_at is None:
            end = len(self.steps) if is_cursor(step) else _end(self.steps)
            return replace(self, steps=(*self.steps[:end], step, *self.steps[end:]))
        if insert_at < len(self.before) + 1 and self.is_transformer:
            at = max(insert_at, 0)
            return replace(self, before=(*self.before[:at], step, *self.before[at:]))
        if insert_at < 1:
            raise UsageError(
                f"nothing can stand before the data of {self.name}", hint="use insert_at=1 for the first step"
            )
        at = insert_at - 1 - len(self.before)
        return replace(self, steps=(*self.steps[:at], step, *self.steps[at:]))

    def with_cursor(self) -> Declaration:
        """Copy with a place for the cursor among the steps, if there is one, and without if there is none.

        The cursor that a hint gives takes the place of one that was added as a step.
        """
        has = self.hints.incremental is not None
        if OWN in self.steps:
            keeps = has or (self.call is not None and cursor_parameter(self.call) is not None)
            return self if keeps else replace(self, steps=tuple(one for one in self.steps if one is not OWN))
        if has:
            others = [one for one in self.steps if is_cursor(one)][:1]
            steps = tuple(one for one in self.steps if one not in others)
            return replace(self, steps=(*steps, OWN))
        has_argument = self.call is not None and cursor_parameter(self.call) is not None
        return replace(self, steps=(*self.steps, OWN)) if has_argument else self

    def with_bound(self, *args: Any, **kwargs: Any) -> Declaration:
        """Copy with arguments of the function."""
        if self.call is None:
            raise UsageError(
                f"{self.name} is not made of a function and takes no arguments", hint="do not call it"
            )
        if self.call.is_bound:
            raise UsageError(
                f"{self.name} has its arguments already", hint="call the resource once, and keep the result"
            )
        call = self.call.bind(*args, **kwargs)
        name = self.namer(call.with_defaults()) if self.namer else self.name
        return replace(self, call=call, name=name)

    def with_variant(self, hints: TableHints) -> Declaration:
        """Copy with hints for one table of several."""
        name = hints.table_name
        if not isinstance(name, str) or not name:
            raise UsageError("a table variant has no name", hint="pass table_name as a text")
        known = self.variants.get(name, replace(self.hints, table_name=name))
        return replace(self, variants=FrozenMap({**self.variants, name: known.merged(hints)}))


def _end(steps: tuple[Step, ...]) -> int:
    """Where a step comes that is put at the end: before the cursors that stand there."""
    return next((at + 1 for at in reversed(range(len(steps))) if not is_cursor(steps[at])), 0)
