"""The proxies of `make up`, made slow, narrow or broken during a block."""

from __future__ import annotations

import json
import os
import urllib.request
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

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


@dataclass(frozen=True)
class ToxicProxy:
    """A proxy of its own before a server; `address` is where it listens."""

    name: str
    address: str

    @contextmanager
    def toxic(self, *toxics: Toxic) -> Iterator[None]:
        """Inject faults during a block."""
        for number, item in enumerate(toxics):
            _post(f"/proxies/{self.name}/toxics", {"name": f"toxic {number}", **vars(item)})
        try:
            yield
        finally:
            for number in range(len(toxics)):
                _request("DELETE", f"/proxies/{self.name}/toxics/toxic%20{number}")


@contextmanager
def proxy_before(upstream: str) -> Iterator[ToxicProxy]:
    """Run a proxy before a server during a block."""
    name = f"proxy_{uuid.uuid4().hex[:8]}"
    proxy = _post("/proxies", {"name": name, "listen": "127.0.0.1:0", "upstream": upstream})
    try:
        yield ToxicProxy(name, proxy["listen"])
    finally:
        _request("DELETE", f"/proxies/{name}")


def _post(path: str, document: dict[str, object]) -> Any:
    return json.loads(_request("POST", path, json.dumps(document).encode()) or b"{}")


def _request(method: str, path: str, body: bytes | None = None) -> bytes:
    url = f"{os.environ['PENSTOCK_TEST_TOXIPROXY']}{path}"
    with urllib.request.urlopen(urllib.request.Request(url, body, method=method), timeout=10) as response:
        content: bytes = response.read()
        return content
