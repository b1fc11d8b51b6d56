"""The decorator `@expect`: conditions for the rows of a resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from penstock.errors import UsageError
from penstock.interfaces.check import make_expectation
from penstock.interfaces.source import DeclarationBase

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.interfaces.check import Check, OnFail

T = TypeVar("T")
_ATTRIBUTE: Final = "__penstock_expectations__"


def expect(
    name: str, expression: str, *, on_fail: OnFail = "warn", table: str | None = None
) -> Callable[[T], T]:
    """Declare a condition in Spark SQL that is true for each row; write it above or below `@resource`.

    A row fails if the condition is false or NULL. Before the load is published, failing rows are counted
    (`on_fail="warn"`), moved to `_dlt_quarantine` (`"quarantine"`), or prevent it (`"stop"`). The condition
    applies to the columns of the root tables of the resource, or of `table`, which may be a nested one.

    >>> from penstock.sources.decorators import resource
    >>> @expect("valid amount", "amount >= 0", on_fail="quarantine")
    ... @resource
    ... def orders():
    ...     yield {"amount": 3}
    >>> [check.name for check in orders.expectations]
    ['valid amount']
    """
    expectation = make_expectation(name, expression, on_fail=on_fail, table=table)

    def declare(definition: T) -> T:
        target: Any = definition
        if isinstance(target, DeclarationBase):
            if not hasattr(target, "add_expectation"):
                raise UsageError(
                    f"expectation {name!r} is declared on {target!r}", hint="declare it on a resource"
                )
            target.add_expectation(expectation)
        elif callable(target):
            setattr(target, _ATTRIBUTE, (*declared_expectations(target), expectation))
        else:
            raise UsageError(
                f"expectation {name!r} is declared on a {type(target).__name__}",
                hint="use it as a decorator of a function or of a resource",
            )
        return definition

    return declare


def declared_expectations(function: Any) -> tuple[Check, ...]:
    """Return the expectations that decorators declared on a function, from the bottom to the top."""
    expectations: tuple[Check, ...] = getattr(function, _ATTRIBUTE, ())
    return expectations
