"""Fake hosts: requests are recorded and answered by a function."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from penstock.sources.rest import RetrySession

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = tuple[int, Any, dict[str, str]]


class FakeHosts(BaseAdapter):
    """All hosts; `seen` are the requests that came."""

    def __init__(self, answer: Callable[[requests.PreparedRequest], Answer]) -> None:
        super().__init__()
        self.answer, self.seen = answer, list[requests.PreparedRequest]()

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        # A request is signed again in its place, so it is kept as it is now.
        self.seen.append(request.copy())
        status, document, headers = self.answer(request)
        response = requests.Response()
        response.status_code, response.url, response.request = status, str(request.url), request
        response.headers = CaseInsensitiveDict(headers)
        response.raw = io.BytesIO(json.dumps(document).encode())
        return response

    def close(self) -> None:
        """Nothing is open."""

    def header_values(self, header: str) -> list[str | None]:
        return [request.headers.get(header) for request in self.seen]

    @property
    def urls(self) -> list[str]:
        return [str(request.url) for request in self.seen]


def session_to(hosts: FakeHosts, **how: Any) -> RetrySession:
    session = RetrySession(**{"backoff": 0.001, **how})
    session.trust_env = False
    for scheme in ("http://", "https://"):
        session.mount(scheme, hosts)
    return session


def query_of(request: requests.PreparedRequest) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(str(request.url)).query))
