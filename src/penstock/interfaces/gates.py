"""Gates: bounds for all rows that a load has of a table, passed to `run`, `plan` or `pipeline`.

>>> null_share("orders", "customer_id", maximum=0.01).expression
'customer_id is NULL in at most 1 % of the rows'
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UsageError
from penstock.interfaces.check import Check, OnFail, checked_name, checked_on_fail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["freshness", "function", "null_share", "row_count", "unique"]

_ON_FAIL: Final[tuple[OnFail, ...]] = ("warn", "stop")
_LOADS: Final = 7


def row_count(
    table: str,
    *,
    minimum: int | None = None,
    maximum: int | None = None,
    max_change: float | None = None,
    loads: int = _LOADS,
    on_fail: OnFail = "stop",
    name: str | None = None,
) -> Check:
    """Bound the number of rows that a load has for a table.

    `max_change` is the largest difference to the mean of the last `loads` loads, as a share of it: 0.5 allows
    half as many rows and half as many again. Without an earlier load it passes.

    >>> row_count("orders", minimum=1, max_change=0.5).expression
    'at least 1 rows, at most 50% from the mean of 7 loads'
    """
    if minimum is None and maximum is None and max_change is None:
        raise UsageError(f"the row count of {table} has no bound", hint="pass minimum, maximum or max_change")
    bounds = [
        *([] if minimum is None else [f"at least {minimum:,} rows"]),
        *([] if maximum is None else [f"at most {maximum:,} rows"]),
        *([] if max_change is None else [f"at most {max_change:.0%} from the mean of {loads} loads"]),
    ]
    return Check(
        name=checked_name(name or "row count"),
        kind="row_count",
        on_fail=checked_on_fail(on_fail, _ON_FAIL),
        table=table,
        expression=", ".join(bounds),
        minimum=minimum,
        maximum=maximum,
        max_change=max_change,
        loads=loads if max_change is not None else 0,
    )


def null_share(
    table: str, column: str, *, maximum: float = 0.0, on_fail: OnFail = "stop", name: str | None = None
) -> Check:
    """Bound the share of the rows in which a column is NULL, from 0 to 1."""
    return Check(
        name=checked_name(name or f"nulls in {column}"),
        kind="null_share",
        on_fail=checked_on_fail(on_fail, _ON_FAIL),
        table=table,
        expression=f"{column} is NULL in at most {maximum * 100:g} % of the rows",
        columns=(column,),
        maximum=maximum,
    )


def unique(table: str, *columns: str, on_fail: OnFail = "stop", name: str | None = None) -> Check:
    """Require that no two rows of a load have the same values in these columns; rows with NULL never do."""
    if not columns:
        raise UsageError(f"the key of {table} has no columns", hint="pass the names of its columns")
    key = ", ".join(columns)
    return Check(
        name=checked_name(name or f"unique {key}"),
        kind="unique",
        on_fail=checked_on_fail(on_fail, _ON_FAIL),
        table=table,
        expression=f"{key} has no value twice",
        columns=columns,
    )


def freshness(
    table: str,
    column: str,
    *,
    max_age: timedelta | float,
    on_fail: OnFail = "stop",
    name: str | None = None,
) -> Check:
    """Bound the age of the newest value of a column, as a timedelta or in seconds."""
    age = max_age if isinstance(max_age, timedelta) else timedelta(seconds=max_age)
    return Check(
        name=checked_name(name or f"freshness of {column}"),
        kind="freshness",
        on_fail=checked_on_fail(on_fail, _ON_FAIL),
        table=table,
        expression=f"the newest {column} is at most {age} old",
        columns=(column,),
        maximum=age.total_seconds(),
    )


def function(
    table: str, check: Callable[[Any], Any], *, on_fail: OnFail = "stop", name: str | None = None
) -> Check:
    """Call a function with the rows of a table in the load, as a Spark DataFrame.

    It returns True if they pass; a text states what is wrong with them. The rows must not be changed.
    """
    return Check(
        name=checked_name(name or getattr(check, "__name__", type(check).__name__)),
        kind="function",
        on_fail=checked_on_fail(on_fail, _ON_FAIL),
        table=table,
        expression="the function returns True",
        function=check,
    )


def checked_gates(gates: Iterable[Any]) -> tuple[Check, ...]:
    """Return gates that a user passed; raise for anything else."""
    checks = tuple(gates)
    for check in checks:
        if not isinstance(check, Check) or check.kind == "expectation":
            raise UsageError(
                f"{check!r} is no gate",
                hint="pass gates of penstock.gates, such as row_count('orders', minimum=1)",
            )
    return checks
