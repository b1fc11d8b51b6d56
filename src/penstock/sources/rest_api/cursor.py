"""The cursor of an endpoint: what it is declared to be, and what it puts into requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.interfaces.incremental import Incremental
from penstock.sources.rest_api.keys import wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_VALUES = ("initial_value", "start_value", "last_value", "end_value")


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorPlan:
    """A cursor, the parameters that say where it begins and ends, and how its values are written there."""

    incremental: Incremental[Any] | None = None
    start_param: str | None = None
    end_param: str | None = None
    convert: Callable[[Any], Any] | None = None


def plan_cursor(where: str, endpoint: Mapping[str, Any]) -> CursorPlan:
    """The cursor that one of the parameters is, or that `incremental` says."""
    params = endpoint.get("params") or {}
    found = [name for name, value in params.items() if isinstance(value, (dict, Incremental))]
    if len(found) > 1:
        raise wrong(f"{where}.params", f"{' and '.join(found)} are cursors", "an endpoint has one cursor")
    if found:
        said = params[found[0]]
        if isinstance(said, Incremental):
            return CursorPlan(incremental=said, start_param=found[0])
        return _plan(said, start_param=found[0], end_param=None)
    said = endpoint.get("incremental")
    if said is None:
        return CursorPlan()
    if isinstance(said, Incremental):
        return CursorPlan(incremental=said)
    return _plan(said, start_param=said.get("start_param"), end_param=said.get("end_param"))


def _plan(said: Mapping[str, Any], *, start_param: str | None, end_param: str | None) -> CursorPlan:
    ours = {"type", "start_param", "end_param", "convert", "transform"}
    return CursorPlan(
        incremental=Incremental(**{key: value for key, value in said.items() if key not in ours}),
        start_param=start_param,
        end_param=end_param,
        convert=said.get("convert") or said.get("transform"),
    )


def cursor_values(cursor: Incremental[Any] | None, convert: Callable[[Any], Any] | None) -> dict[str, Any]:
    """What the placeholders of a cursor mean now."""
    if cursor is None:
        return {}
    now = {f"incremental.{name}": getattr(cursor, name) for name in _VALUES}
    return {key: _written(value, convert) for key, value in now.items()}


def cursor_params(
    cursor: Incremental[Any] | None,
    convert: Callable[[Any], Any] | None,
    *,
    start_param: str | None,
    end_param: str | None,
) -> dict[str, Any]:
    """The parameters that say where the cursor begins and ends.

    The beginning is that of the run: how far it has come moves while the children of other rows are read.
    """
    if cursor is None:
        return {}
    said = {start_param: cursor.start_value, end_param: cursor.end_value}
    return {name: _written(value, convert) for name, value in said.items() if name is not None}


def _written(value: Any, convert: Callable[[Any], Any] | None) -> Any:
    return value if convert is None or value is None else convert(value)
