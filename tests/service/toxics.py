"""The proxy of `make up` before the S3 gateway, made slow, narrow or broken during a block."""

from __future__ import annotations

import json
import os
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Toxic:
    """A fault of connections, for all of them or a share; `stream` is its direction."""

    type: str
    attributes: dict[str, int] = field(default_factory=dict)
    toxicity: float = 1.0
    stream: Literal["upstream", "downstream"] = "downstream"


@contextmanager
def toxic(*toxics: Toxic) -> Iterator[str]:
    """Yield the endpoint of the proxy, and remove all faults afterwards."""
    reset()
    try:
        for number, item in enumerate(toxics):
            _post("/proxies/s3/toxics", {"name": f"toxic {number}", **vars(item)})
        yield os.environ["PENSTOCK_TEST_S3_TOXIC"]
    finally:
        reset()


def reset() -> None:
    """Remove all toxics."""
    _post("/reset", {})


def _post(path: str, document: dict[str, object]) -> None:
    url = f"{os.environ['PENSTOCK_TEST_TOXIPROXY']}{path}"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(document).encode()), timeout=10):
        pass
