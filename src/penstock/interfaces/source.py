"""What the extract stage is given: a named stream of rows and where they belong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Rows and the table they go to. `rows` is called once, when extraction begins."""

    name: str
    table_name: str
    rows: Callable[[], Iterable[Any]]
    write_disposition: str = "append"
