"""Where a Delta lake is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import MissingLocation, UsageError
from penstock.package.storage import absolute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.config import Settings

_KNOWN = frozenset(("bucket_url",))
_USER_INFO = re.compile(r"//[^/@]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSettings:
    """The settings of one lake."""

    bucket_url: str

    def describe(self) -> str:
        """The location without anything that stands before an `@` in it."""
        return _USER_INFO.sub("//***@", self.bucket_url)


def configure(
    explicit: Mapping[str, Any], *, settings: Settings, pipeline_name: str, master: str
) -> DeltaSettings:
    """The argument, else the configuration, else a folder beside you; that last only on a local Spark."""
    unknown = sorted(set(explicit) - _KNOWN)
    if unknown:
        raise UsageError(
            f"the delta destination does not know {', '.join(unknown)}",
            hint=f"its settings are: {', '.join(sorted(_KNOWN))}",
            unknown=unknown,
        )
    given = explicit.get("bucket_url") or settings.get("destination", "delta", key="bucket_url")
    if given is not None:
        return DeltaSettings(bucket_url=absolute(str(given)))
    if not master.startswith("local"):
        raise MissingLocation(destination="delta", master=master)
    return DeltaSettings(bucket_url=absolute(f"{pipeline_name}_lake"))
