"""What is done with responses that are not simply data. Also runs where penstock is not installed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.sources.rest.status import IgnoreResponseException, raise_for_status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from requests import Response

IGNORE = "ignore"


def response_hooks(actions: Sequence[Any], hidden: tuple[str, ...]) -> dict[str, Any] | None:
    """The hooks that act on responses, and last the one that raises what is bad; None for no actions."""
    if not actions:
        return None
    acting = [partial(_run_action, action=action) for action in actions]
    return {"response": [*acting, partial(raise_for_status, hidden=hidden)]}


def _run_action(response: Response, *_: Any, action: Any, **__: Any) -> None:
    if callable(action):
        action(response)
        return
    if not _is_match(action, response):
        return
    what = action.get("action")
    if what == IGNORE:
        raise IgnoreResponseException
    for function in [what] if callable(what) else what:
        function(response)


def _is_match(action: Mapping[str, Any], response: Response) -> bool:
    status, content = action.get("status_code"), action.get("content")
    if status is None and content is None:
        return not isinstance(action.get("action"), str)
    fits_status = status is None or response.status_code == int(status)
    return fits_status and (content is None or content in response.text)
