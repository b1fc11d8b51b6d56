"""A client of a REST API that follows its pages. Also runs where penstock is not installed."""

from __future__ import annotations

import copy
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from urllib.parse import urlsplit

import requests
from requests import PreparedRequest, Request, Response

from penstock.errors import ResponseNotUnderstood, UsageError
from penstock.sources.rest.detector import PaginatorFactory, rows_path
from penstock.sources.rest.json_paths import json_path
from penstock.sources.rest.retry import RetrySession
from penstock.sources.rest.signers import CredentialStripper, prepare_redirect, strip_credentials
from penstock.sources.rest.status import IgnoreResponseException, raise_for_status
from penstock.sources.rest.urls import is_cross_origin, join_url, masked_text, masked_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from requests.auth import AuthBase

    from penstock.interfaces.cursorpath import CursorPath
    from penstock.sources.rest.http_client import RequestSettings
    from penstock.sources.rest.paginators import BasePaginator

T = TypeVar("T")
# A fixed name: the module is also serialized to executors.
_LOG: Final = logging.getLogger("penstock.sources.rest")


class PageData(list[T], Generic[T]):
    """The rows of a page, with the next request, the response, the paginator and the authentication."""

    def __init__(
        self, rows: Iterable[T], request: Request, response: Response, paginator: BasePaginator, auth: Any
    ) -> None:
        super().__init__(rows)
        self.request, self.response, self.paginator, self.auth = request, response, paginator, auth


class RESTClient:
    """A client for one API: makes requests and follows pages.

    Without a `session`, requests are retried after 429 and 5xx and when the connection fails. Without a
    `paginator` or a `data_selector`, they are detected from the first response, the paginator by
    `paginator_factory`.

    `config` has the timeout and retries of the session that is created, and whether messages show the bodies
    of error responses.

    Credentials, headers, cookies and parameters are sent to the host of the first request only.
    `safe_headers` names more headers, beside `SAFE_HEADERS`, that may be sent to other hosts.

    >>> client = RESTClient("https://api.example.com/v1", headers={"Accept": "application/json"})
    >>> client
    RESTClient('https://api.example.com/v1')
    """

    def __init__(  # noqa: PLR0913 - the arguments are dlt's
        self,
        base_url: str,
        headers: Mapping[str, str] | None = None,
        auth: AuthBase | None = None,
        paginator: BasePaginator | None = None,
        data_selector: str | CursorPath | None = None,
        session: requests.Session | None = None,
        paginator_factory: PaginatorFactory | None = None,
        config: RequestSettings | None = None,
        *,
        safe_headers: Sequence[str] = (),
    ) -> None:
        self.base_url, self.headers, self.auth, self.paginator = base_url, headers, auth, paginator
        self.data_selector, self.safe_headers = data_selector, tuple(safe_headers)
        self.session = session if session is not None else _new_session(config)
        self.pagination_factory = paginator_factory or PaginatorFactory()
        shows_bodies = config is not None and config.http_show_error_body
        self._max_body_length = config.http_max_error_body_length if config and shows_bodies else 0
        self._pace: Callable[[], None] | None = None

    def paced_by(self, pace: Callable[[], None] | None) -> None:
        """Call `pace` before every request, also before retries and redirects.

        Retries inside a session of the user are not visible here and are not paced.
        """
        if isinstance(self.session, RetrySession):
            self.session.pace = pace
        else:
            self._pace = pace

    def request(self, path: str = "", method: str = "GET", **kwargs: Any) -> Response:
        """Make one request; other arguments are those of `requests`. Does not raise for an error status."""
        parts = ("headers", "params", "json", "data", "auth", "hooks")
        request = self._build_request(path, method, **{part: kwargs.pop(part, None) for part in parts})
        return self._send(request, **kwargs)

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
        """Yield the pages of an endpoint; raise for an error status unless `hooks` handle responses."""
        active = paginator if paginator is not None else copy.deepcopy(self.paginator)
        selector = data_selector or self.data_selector
        selected_path = json_path(selector) if selector else None
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
        if active is not None:
            active.init_request(request)
        while True:
            try:
                response = self._send(request, **kwargs)
            except IgnoreResponseException:
                return
            if selected_path is None:
                selected_path = rows_path(response.json())
            rows = self.extract_response(response, selected_path)
            if active is None:
                active = self.detect_paginator(response, rows)
            active.update_state(response, rows)
            self._prepare_next_request(active, request)
            yield PageData(rows, request, response, active, auth or self.auth)
            if not active.has_next_page:
                return

    def extract_response(self, response: Response, data_selector: str | CursorPath) -> list[Any]:
        """Return the rows of a response."""
        return select_rows(response.json(), json_path(data_selector))

    def detect_paginator(self, response: Response, data: Any) -> BasePaginator:
        """Return the paginator that fits the first response and its rows."""
        paginator, _ = self.pagination_factory.create_paginator(response)
        if paginator is None:
            raise ResponseNotUnderstood(
                paginator="the paginator factory", path="$", wanted="a sign of the next page", found="nothing"
            )
        return paginator

    def __repr__(self) -> str:
        return f"RESTClient({masked_url(self.base_url)!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without `_pace`, which is local to the process."""
        return {**self.__dict__, "_pace": None}

    def _hooks(self, hooks: Mapping[str, Any] | None, auth: Any) -> dict[str, Any]:
        all_hooks = dict(hooks or {})
        if "response" not in all_hooks:
            all_hooks["response"] = [
                partial(
                    raise_for_status,
                    hidden=getattr(auth, "hidden_params", ()),
                    max_body_length=self._max_body_length,
                )
            ]
        return all_hooks

    def _build_request(self, path: str, method: str, **parts: Any) -> Request:
        if parts["json"] and parts["data"]:
            raise UsageError("a request has json or data, not both", hint="omit one of them")
        parts["headers"] = {**(self.headers or {}), **(parts["headers"] or {})}
        parts["auth"] = parts["auth"] or self.auth
        return Request(method=method.upper(), url=join_url(self.base_url, path), **parts)

    def _prepare_next_request(self, paginator: BasePaginator, request: Request) -> None:
        """Prepare the next request; for another host, remove all that was set for the first one.

        It is removed for all later requests too: the server that names the URLs could lead back.
        """
        url, params = str(request.url), dict(request.params or {})
        paginator.update_request(request)
        if not is_cross_origin(url, str(request.url)):
            return
        new_params = {
            name: value for name, value in dict(request.params or {}).items() if params.get(name) != value
        }
        if strip_credentials(request, self.safe_headers) or len(new_params) < len(request.params or {}):
            hosts = urlsplit(url).hostname, urlsplit(str(request.url)).hostname
            _LOG.warning("the pages of %s continue at %s; credentials are not sent there", *hosts)
        request.params = new_params

    def _send(self, request: Request, **kwargs: Any) -> Response:
        auth: Any = request.auth
        if isinstance(auth, CredentialStripper):
            # None removes a parameter that the session adds to all requests.
            of_session: Any = self.session.params
            request = copy.copy(request)
            request.params = {**dict.fromkeys(dict(of_session or {})), **(request.params or {})}
        if hasattr(auth, "use_session"):
            # Token requests are then retried and paced as all others.
            auth.use_session(self.session)
        if self._pace is not None:
            # Before signing: a token may expire during the wait.
            self._pace()
        prepared = self.session.prepare_request(request)
        prepared.safe_headers = self.safe_headers  # type: ignore[attr-defined]  # read by prepare_redirect
        names = ("proxies", "stream", "verify", "cert")
        options = {name: kwargs.pop(name, {} if name == "proxies" else None) for name in names}
        try:
            if isinstance(self.session, RetrySession) or not kwargs.get("allow_redirects", True):
                return self._send_prepared(prepared, options, **{"allow_redirects": True, **kwargs})
            return self._send_following_redirects(prepared, options, **kwargs)
        except requests.RequestException as error:
            hidden = getattr(auth, "hidden_params", ())
            message = masked_text(str(error), str(prepared.url), *hidden)
            # Raised outside the handler: the original error and its causes show the URL unmasked.
            masked_error = _with_message(error, message)
        raise masked_error

    def _send_prepared(
        self, prepared: PreparedRequest, options: Mapping[str, Any], **kwargs: Any
    ) -> Response:
        settings = self.session.merge_environment_settings(prepared.url, **options)
        return self.session.send(prepared, **{**settings, **kwargs})

    def _send_following_redirects(
        self, prepared: PreparedRequest, options: Mapping[str, Any], **kwargs: Any
    ) -> Response:
        """Follow redirects here, because a session of the user would keep the headers."""
        kwargs["allow_redirects"] = False
        response, history = self._send_prepared(prepared, options, **kwargs), list[Response]()
        while (redirected := response.next) is not None:
            if len(history) >= self.session.max_redirects:
                raise requests.TooManyRedirects(f"more than {len(history)} redirects", response=response)
            if prepare_redirect(response.request, redirected):
                # Adds credentials that are configured for the new host.
                library: Any = self.session
                library.rebuild_auth(redirected, response)
            history.append(response)
            response = self._send_prepared(redirected, options, **kwargs)
        response.history = history
        return response


def _with_message(error: requests.RequestException, text: str) -> requests.RequestException:
    """Return the error with another message, of the nearest class that a message is enough for."""
    for kind in type(error).__mro__:
        if issubclass(kind, requests.RequestException):
            try:
                return kind(text, request=error.request, response=error.response)
            except Exception:  # noqa: S112 - a class of another library may need other arguments
                continue
    return requests.RequestException(text, request=error.request, response=error.response)


def _new_session(config: RequestSettings | None) -> RetrySession:
    if config is None:
        return RetrySession()
    return RetrySession(
        timeout=config.request_timeout,
        attempts=config.request_max_attempts,
        backoff=config.request_backoff_factor,
        max_delay=config.request_max_retry_delay,
    )


def paginate(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
    url: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    json: Any = None,
    auth: AuthBase | None = None,
    paginator: BasePaginator | None = None,
    data_selector: str | CursorPath | None = None,
    hooks: Mapping[str, Any] | None = None,
    *,
    data: Any = None,
    session: requests.Session | None = None,
    safe_headers: Sequence[str] = (),
    **kwargs: Any,
) -> Iterator[PageData[Any]]:
    """Yield the pages of one URL; takes the arguments of `RESTClient` and `RESTClient.paginate`.

    >>> pages = paginate("https://api.example.com/orders", headers={"Accept": "application/json"})
    """
    client = RESTClient(url, headers=headers, session=session, safe_headers=safe_headers)
    return client.paginate(
        "",
        method=method,
        params=params,
        json=json,
        auth=auth,
        paginator=paginator,
        data_selector=data_selector,
        hooks=hooks,
        data=data,
        **kwargs,
    )


def select_rows(document: Any, path: CursorPath) -> list[Any]:
    """Return the rows at a path: a list, an object as a list of one, or all matches of a wildcard path."""
    values = path.all(document)
    rows = values[0] if len(values) == 1 else values
    if rows is None:
        return []
    return rows if isinstance(rows, list) else [rows]
