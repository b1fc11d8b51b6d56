"""Resources that are called once for each work item, so that their items can be shared out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import UnsupportedData, UsageError
from penstock.interfaces.frames import frame_kind
from penstock.interfaces.source import DeclarationBase
from penstock.interfaces.work_items import RateLimit

if TYPE_CHECKING:
    from penstock.sources.resource import Resource

    R = TypeVar("R", bound=Resource)


def with_work_items(resource: R, work_items: Any, rate_limit: str | None) -> R:
    """The resource itself, whose function takes an item first; refused where there is no such function."""
    if work_items is None:
        if rate_limit is not None:
            raise UsageError(
                f"{resource.name} has a rate limit and no work items",
                hint="declare what it is called with: work_items=[...]",
            )
        return resource
    call = resource.declaration.user_function
    if call is None or resource.is_transformer:
        raise UsageError(
            f"{resource.name} is no function that can be called for each of its work items",
            hint="declare a function whose first argument is the item; a transformer has its items already",
        )
    _check_work_items(work_items)
    taking = replace(call, takes_item=True)
    taking.signature  # noqa: B018 - a function that takes no item is refused here
    rate = None if rate_limit is None else RateLimit.parse(rate_limit)
    resource.change(user_function=taking, work_items=work_items, rate=rate)
    return resource


def _check_work_items(work_items: Any) -> None:
    if isinstance(work_items, DeclarationBase):
        raise UnsupportedData(
            data_type=type(work_items).__name__,
            reason="items that another resource gives are those of a transformer",
        )
    kind = frame_kind(work_items)
    if kind == "spark":
        return
    is_one = isinstance(work_items, (str, bytes, dict, AsyncIterator)) or kind is not None
    if is_one or not (callable(work_items) or isinstance(work_items, Iterable)):
        raise UnsupportedData(
            data_type=type(work_items).__name__, reason="work items are a list, a range or a generator"
        )
