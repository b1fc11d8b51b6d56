"""Response actions of an endpoint, as hooks. Also runs where penstock is not installed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.sources.rest.status import IgnoreResponseException, raise_for_status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from requests import Response

IGNORE = "ignore"


def response_hooks(actions: Sequence[Any], hidden: tuple[str, ...]) -> dict[str, Any] | None:
    """Return hooks that run the actions, then raise for an error status; None for no actions."""
    if not actions:
        return None
    hooks = [partial(_run_action, action=action) for action in actions]
    return {"response": [*hooks, partial(raise_for_status, hidden=hidden)]}


def _run_action(response: Response, *_: Any, action: Any, **__: Any) -> None:
    if callable(action):
        action(response)
        return
    if not _is_match(action, response):
        return
    effect = action.get("action")
    if effect == IGNORE:
        raise IgnoreResponseException
    for function in [effect] if callable(effect) else effect:
        function(response)


def _is_match(action: Mapping[str, Any], response: Response) -> bool:
    status, content = action.get("status_code"), action.get("content")
    if status is None and content is None:
        return not isinstance(action.get("action"), str)
    is_status = status is None or response.status_code == int(status)
    return is_status and (content is None or content in response.text)
