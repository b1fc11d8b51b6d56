"""Checks of the rows of a load, which are evaluated before it is published."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OnFail = Literal["warn", "quarantine", "stop"]
"""The effect of a failed check: a note, rows that are quarantined, or a load that is not published."""
CheckKind = Literal["expectation", "row_count", "null_share", "unique", "freshness", "function"]
ON_FAIL: Final[tuple[OnFail, ...]] = get_args(OnFail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check of one table: a condition for each row, or a bound for a figure of all rows of the load."""

    name: str
    kind: CheckKind = "expectation"
    on_fail: OnFail = "warn"
    resource: str | None = None
    """The resource that declares it; None for a check of a run."""
    table: str | None = None
    """The table; None for each root table of the resource."""
    expression: str = ""
    """The condition in Spark SQL, or the bound in words."""
    columns: tuple[str, ...] = ()
    """The columns of a gate; those of a condition are in its text."""
    minimum: float | None = None
    maximum: float | None = None
    max_change: float | None = None
    """The largest difference to the mean of the last loads, as a share of it."""
    loads: int = 0
    """The number of loads that `max_change` compares with."""
    function: Callable[..., Any] | None = field(default=None, compare=False)
    """Called with the DataFrame of the table."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without the function, and without fields that have no value."""
        document = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "function"}
        document["columns"] = list(self.columns)
        return {key: value for key, value in document.items() if value not in (None, "", [])}

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Check:
        """Read a document of `to_dict`."""
        return Check(**{**document, "columns": tuple(document.get("columns", ()))})


def make_expectation(name: Any, expression: Any, *, on_fail: str = "warn", table: str | None = None) -> Check:
    """Create a check that a condition in Spark SQL is true for each row.

    >>> make_expectation("valid amount", "amount >= 0", on_fail="stop").on_fail
    'stop'
    """
    if not isinstance(expression, str) or not expression.strip():
        raise UsageError(
            f"{expression!r} is no condition in Spark SQL", hint="pass a condition such as 'amount >= 0'"
        )
    return Check(
        name=checked_name(name),
        on_fail=checked_on_fail(on_fail, ON_FAIL),
        table=table,
        expression=expression,
    )


def checked_name(name: Any) -> str:
    """Return the name of a check; raise if it is empty or no text."""
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"invalid name {name!r} of a check", hint="pass a text, such as 'valid amount'")
    return name


def checked_on_fail(on_fail: str, choices: tuple[OnFail, ...]) -> OnFail:
    """Return what a failed check does; raise if it is none of the choices."""
    for choice in choices:
        if on_fail == choice:
            return choice
    raise UsageError(f"invalid value {on_fail!r} of on_fail", hint=f"use one of: {', '.join(choices)}")
