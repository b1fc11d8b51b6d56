"""The cursor of an endpoint: what it is declared to be, and what it puts into requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.interfaces.incremental import Incremental
from penstock.sources.rest_api.validation import invalid_config

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PLACEHOLDER_VALUES = ("initial_value", "start_value", "last_value", "end_value")


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorPlan:
    """A cursor, the parameters that say where it begins and ends, and how its values are written there."""

    incremental: Incremental[Any] | None = None
    start_param: str | None = None
    end_param: str | None = None
    convert: Callable[[Any], Any] | None = None


def plan_cursor(config_path: str, endpoint: Mapping[str, Any]) -> CursorPlan:
    """The cursor that one of the parameters is, or that `incremental` says."""
    params = endpoint.get("params") or {}
    found = [name for name, value in params.items() if isinstance(value, (dict, Incremental))]
    if len(found) > 1:
        raise invalid_config(
            f"{config_path}.params", f"{' and '.join(found)} are cursors", "an endpoint has one cursor"
        )
    if found:
        said = params[found[0]]
        if isinstance(said, Incremental):
            return CursorPlan(incremental=said, start_param=found[0])
        return _build_cursor_plan(said, start_param=found[0], end_param=None)
    said = endpoint.get("incremental")
    if said is None:
        return CursorPlan()
    if isinstance(said, Incremental):
        return CursorPlan(incremental=said)
    return _build_cursor_plan(said, start_param=said.get("start_param"), end_param=said.get("end_param"))


def _build_cursor_plan(
    config: Mapping[str, Any], *, start_param: str | None, end_param: str | None
) -> CursorPlan:
    ours = {"type", "start_param", "end_param", "convert", "transform"}
    return CursorPlan(
        incremental=Incremental(**{key: value for key, value in config.items() if key not in ours}),
        start_param=start_param,
        end_param=end_param,
        convert=config.get("convert") or config.get("transform"),
    )


def cursor_values(cursor: Incremental[Any] | None, convert: Callable[[Any], Any] | None) -> dict[str, Any]:
    """What the placeholders of a cursor mean now."""
    if cursor is None:
        return {}
    now = {f"incremental.{name}": getattr(cursor, name) for name in _PLACEHOLDER_VALUES}
    return {key: _convert_value(value, convert) for key, value in now.items()}


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
    return {name: _convert_value(value, convert) for name, value in said.items() if name is not None}


def _convert_value(value: Any, convert: Callable[[Any], Any] | None) -> Any:
    return value if convert is None or value is None else convert(value)
