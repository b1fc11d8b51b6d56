"""A client of a REST API: turns pages until there are no more. Also runs where penstock is not installed."""

from __future__ import annotations

import copy
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from urllib.parse import urlsplit

import requests
from requests import PreparedRequest, Request, Response

from penstock.errors import UsageError
from penstock.sources.rest.detector import detect_paginator, rows_path
from penstock.sources.rest.json_paths import json_path
from penstock.sources.rest.retry import RetrySession
from penstock.sources.rest.signers import CredentialStripper, prepare_redirect, strip_credentials
from penstock.sources.rest.status import IgnoreResponseException, raise_for_status
from penstock.sources.rest.urls import is_cross_origin, join_url, masked_text, masked_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from requests.auth import AuthBase

    from penstock.interfaces.cursorpath import CursorPath
    from penstock.sources.rest.paginators import BasePaginator

T = TypeVar("T")
# By name: the module travels.
_LOG: Final = logging.getLogger("penstock.sources.rest")


class PageData(list[T], Generic[T]):
    """The rows of a page, with the request of the next one and everything else that had to do with it."""

    def __init__(
        self, rows: Iterable[T], request: Request, response: Response, paginator: BasePaginator, auth: Any
    ) -> None:
        super().__init__(rows)
        self.request, self.response, self.paginator, self.auth = request, response, paginator, auth


class RESTClient:
    """Makes requests to one API, and turns its pages.

    Without a `session`, requests are made again after 429 and 5xx and when the connection fails. Without a
    `paginator` or a `data_selector`, they are found out from the first response.

    Log-ins, headers, cookies and parameters go to the host of the first request only. `safe_headers` names
    headers that may go to other hosts as well, beside those of `SAFE_HEADERS`.

    >>> client = RESTClient("https://api.example.com/v1", headers={"Accept": "application/json"})
    >>> client
    RESTClient('https://api.example.com/v1')
    """

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str] | None = None,
        auth: AuthBase | None = None,
        paginator: BasePaginator | None = None,
        data_selector: str | CursorPath | None = None,
        session: requests.Session | None = None,
        *,
        safe_headers: Sequence[str] = (),
    ) -> None:
        self.base_url, self.headers, self.auth, self.paginator = base_url, headers, auth, paginator
        self.data_selector, self.safe_headers = data_selector, tuple(safe_headers)
        self.session = session if session is not None else RetrySession()
        self._pace: Callable[[], None] | None = None

    def paced_by(self, pace: Callable[[], None] | None) -> None:
        """Have `pace` called before every request; one that is made again, or redirected, is another.

        A session that was given makes its own repetitions, and these are not seen here.
        """
        if isinstance(self.session, RetrySession):
            self.session.pace = pace
        else:
            self._pace = pace

    def request(self, path: str = "", method: str = "GET", **kwargs: Any) -> Response:
        """Make one request; `how` is what `requests` takes. Bad answers are not raised."""
        parts = ("headers", "params", "json", "data", "auth", "hooks")
        asked = self._build_request(path, method, **{part: kwargs.pop(part, None) for part in parts})
        return self._send(asked, **kwargs)

    def get(self, path: str, params: Mapping[str, Any] | None = None, **kwargs: Any) -> Response:
        """Make a GET request."""
        return self.request(path, "GET", params=params, **kwargs)

    def post(self, path: str, json: Any = None, *, data: Any = None, **kwargs: Any) -> Response:
        """Make a POST request."""
        return self.request(path, "POST", json=json, data=data, **kwargs)

    def paginate(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
        self,
        path: str = "",
        method: str = "GET",
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        auth: AuthBase | None = None,
        paginator: BasePaginator | None = None,
        data_selector: str | CursorPath | None = None,
        hooks: Mapping[str, Any] | None = None,
        headers: Mapping[str, Any] | None = None,
        *,
        data: Any = None,
        **kwargs: Any,
    ) -> Iterator[PageData[Any]]:
        """Give the pages of an endpoint, one after the other; bad answers are raised unless `hooks` act."""
        turning = paginator if paginator is not None else copy.deepcopy(self.paginator)
        selector = data_selector or self.data_selector
        where = json_path(selector) if selector else None
        request = self._build_request(
            path,
            method,
            headers=headers,
            params=dict(params) if params else {},
            json=copy.deepcopy(json),
            data=data,
            auth=auth,
            hooks=self._hooks(hooks, auth or self.auth),
        )
        if turning is not None:
            turning.init_request(request)
        while True:
            try:
                response = self._send(request, **kwargs)
            except IgnoreResponseException:
                return
            if where is None:
                where = rows_path(response.json())
            rows = select_rows(response.json(), where)
            if turning is None:
                turning = detect_paginator(response)
            turning.update_state(response, rows)
            self._prepare_next_request(turning, request)
            yield PageData(rows, request, response, turning, auth or self.auth)
            if not turning.has_next_page:
                return

    def __repr__(self) -> str:
        return f"RESTClient({masked_url(self.base_url)!r})"

    def __getstate__(self) -> dict[str, Any]:
        """All but who paces it: everywhere else it is somebody else."""
        return {**self.__dict__, "_pace": None}

    @staticmethod
    def _hooks(hooks: Mapping[str, Any] | None, auth: Any) -> dict[str, Any]:
        said = dict(hooks or {})
        if "response" not in said:
            said["response"] = [partial(raise_for_status, hidden=getattr(auth, "hidden_params", ()))]
        return said

    def _build_request(self, path: str, method: str, **parts: Any) -> Request:
        if parts["json"] and parts["data"]:
            raise UsageError("a request has json or data, not both", hint="leave one of them out")
        parts["headers"] = {**(self.headers or {}), **(parts["headers"] or {})}
        parts["auth"] = parts["auth"] or self.auth
        return Request(method=method.upper(), url=join_url(self.base_url, path), **parts)

    def _prepare_next_request(self, paginator: BasePaginator, request: Request) -> None:
        """Prepare the next request; at another host it has nothing that was set for the first.

        So have all requests after it: a server that names the addresses could lead back.
        """
        url, params = str(request.url), dict(request.params or {})
        paginator.update_request(request)
        if not is_cross_origin(url, str(request.url)):
            return
        kept = {
            name: value for name, value in dict(request.params or {}).items() if params.get(name) != value
        }
        if strip_credentials(request, self.safe_headers) or len(kept) < len(request.params or {}):
            hosts = urlsplit(url).hostname, urlsplit(str(request.url)).hostname
            _LOG.warning("the pages of %s go on at %s, which is asked without the log-in", *hosts)
        request.params = kept

    def _send(self, request: Request, **kwargs: Any) -> Response:
        auth: Any = request.auth
        if isinstance(auth, CredentialStripper):
            # None removes a parameter that the session adds to all requests.
            of_session: Any = self.session.params
            request = copy.copy(request)
            request.params = {**dict.fromkeys(dict(of_session or {})), **(request.params or {})}
        if hasattr(auth, "use_session"):
            # So the requests for tokens are repeated and counted as all others are.
            auth.use_session(self.session)
        if self._pace is not None:
            # Before it is signed: a token may grow old while it waits.
            self._pace()
        prepared = self.session.prepare_request(request)
        prepared.safe_headers = self.safe_headers  # type: ignore[attr-defined]  # read by follow_redirect
        names = ("proxies", "stream", "verify", "cert")
        options = {name: kwargs.pop(name, {} if name == "proxies" else None) for name in names}
        try:
            if isinstance(self.session, RetrySession) or not kwargs.get("allow_redirects", True):
                return self._send_prepared(prepared, options, **{"allow_redirects": True, **kwargs})
            return self._send_following_redirects(prepared, options, **kwargs)
        except requests.RequestException as error:
            hidden = getattr(auth, "hidden_params", ())
            shown = masked_text(str(error), str(prepared.url), *hidden)
            # The error of the library shows the address as it is, in its text and in those that it is due to.
            failed = _with_message(error, shown)
        raise failed

    def _send_prepared(
        self, prepared: PreparedRequest, options: Mapping[str, Any], **kwargs: Any
    ) -> Response:
        sending = self.session.merge_environment_settings(prepared.url, **options)
        return self.session.send(prepared, **{**sending, **kwargs})

    def _send_following_redirects(
        self, prepared: PreparedRequest, options: Mapping[str, Any], **kwargs: Any
    ) -> Response:
        """Follow redirections in place of a session of the user, which would take the headers along."""
        kwargs["allow_redirects"] = False
        response, history = self._send_prepared(prepared, options, **kwargs), list[Response]()
        while (following := response.next) is not None:
            if len(history) >= self.session.max_redirects:
                raise requests.TooManyRedirects(f"more than {len(history)} redirections", response=response)
            if prepare_redirect(response.request, following):
                # It adds a log-in that is known for the new host.
                library: Any = self.session
                library.rebuild_auth(following, response)
            history.append(response)
            response = self._send_prepared(following, options, **kwargs)
        response.history = history
        return response


def _with_message(error: requests.RequestException, text: str) -> requests.RequestException:
    """The error with another text; a more general one where its own class is not made of a text."""
    for kind in type(error).__mro__:
        if issubclass(kind, requests.RequestException):
            try:
                return kind(text, request=error.request, response=error.response)
            except Exception:  # noqa: S112 - a class of another library may want other arguments
                continue
    return requests.RequestException(text, request=error.request, response=error.response)


def paginate(url: str, **kwargs: Any) -> Iterator[PageData[Any]]:
    """Give the pages of one address; takes what `RESTClient` and its `paginate` take.

    >>> pages = paginate("https://api.example.com/orders", headers={"Accept": "application/json"})
    """
    names = ("headers", "auth", "paginator", "data_selector", "session")
    safe = kwargs.pop("safe_headers", ())
    client = RESTClient(url, **{name: kwargs.pop(name, None) for name in names}, safe_headers=safe)
    return client.paginate("", **kwargs)


def select_rows(document: Any, path: CursorPath) -> list[Any]:
    """The rows at a path: one list, one object as a list, or all values where the path leads to many."""
    found = path.all(document)
    rows = found[0] if len(found) == 1 else found
    if rows is None:
        return []
    return rows if isinstance(rows, list) else [rows]
