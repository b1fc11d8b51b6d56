"""Requests of one endpoint. Also runs where penstock is not installed."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.errors import ParentFieldMissing
from penstock.sources.rest.signers import CredentialStripper
from penstock.sources.rest.status import IgnoreResponseException, raise_for_status
from penstock.sources.rest.urls import is_cross_origin, join_url, without_secret_params
from penstock.sources.rest_api.templates import render_path, render_template, starts_with_placeholder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from requests import Response

    from penstock.interfaces.cursorpath import CursorPath
    from penstock.sources.rest.client import PageData, RESTClient
    from penstock.sources.rest.paginators import BasePaginator


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A client with the parts of its requests; placeholders take values of a parent row or a cursor."""

    resource: str
    client: RESTClient
    path: str
    method: str = "GET"
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    data: Any = None
    headers: Mapping[str, Any] | None = None
    paginator: BasePaginator | None = None
    data_selector: str | None = None
    actions: tuple[Any, ...] = ()
    parent: str | None = None
    placeholder_paths: Mapping[str, CursorPath] = field(default_factory=dict)
    """Paths into a row of the parent, by placeholder."""
    included_fields: tuple[str, ...] = ()
    """Fields of the parent that are added to its children."""
    start_param: str | None = None
    end_param: str | None = None
    convert: Callable[[Any], Any] | None = None

    def with_cursor(
        self, start_param: str | None, end_param: str | None, convert: Callable[[Any], Any] | None
    ) -> Endpoint:
        """Return a copy that sends the values of a cursor in these parameters."""
        return replace(self, start_param=start_param, end_param=end_param, convert=convert)

    def pages(self, values: Mapping[str, Any], **extra_params: Any) -> Iterator[PageData[Any]]:
        """Yield the pages for these placeholder values, requested with extra parameters."""
        path = render_path(self.path, values)
        auth = self._auth_for(path)
        params = render_template({**self.params, **extra_params}, values)
        yield from self.client.paginate(
            path,
            self.method,
            params=params if auth is None else without_secret_params(params),
            json=render_template(self.json, values, keeps_types=True),
            auth=auth,
            data=render_template(self.data, values),
            headers=render_template(self.headers, values),
            paginator=copy.deepcopy(self.paginator),
            data_selector=self.data_selector,
            hooks=response_hooks(self.actions, getattr(self.client.auth, "hidden_params", ())),
        )

    def _auth_for(self, path: str) -> CredentialStripper | None:
        """Return None for the credentials of the client, or a stripper if data names another host."""
        base = self.client.base_url
        is_other_host = starts_with_placeholder(self.path) and is_cross_origin(base, join_url(base, path))
        return CredentialStripper(self.client.auth, self.client.safe_headers) if is_other_host else None

    def children(
        self, parent_context: Mapping[str, Any], values: Mapping[str, Any], **extra_params: Any
    ) -> Iterator[Any]:
        """Yield the pages of the children of one row, given by its `parent_context`."""
        for page in self.pages({**values, **parent_context["values"]}, **extra_params):
            if parent_context["included"]:
                for child in page:
                    child.update(parent_context["included"])
            yield page

    def parent_context(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a row that the requests for its children need."""
        return {"values": self._placeholder_values(row), "included": self._included_values(row)}

    def _placeholder_values(self, row: Mapping[str, Any]) -> dict[str, Any]:
        matches = {name: path.all(row) for name, path in self.placeholder_paths.items()}
        for name, values in matches.items():
            if not values:
                raise self._missing_field(name.rpartition("resources.")[2].partition(".")[2] or name, row)
        return {name: values[0] for name, values in matches.items()}

    def _included_values(self, row: Mapping[str, Any]) -> dict[str, Any]:
        for name in self.included_fields:
            if name not in row:
                raise self._missing_field(name, row)
        return {f"_{self.parent}_{name}": row[name] for name in self.included_fields}

    def _missing_field(self, name: str, row: Mapping[str, Any]) -> ParentFieldMissing:
        fields = ", ".join(row) or "none"
        return ParentFieldMissing(resource=self.resource, parent=str(self.parent), field=name, known=fields)


TO, FROM = "to", "from"


def fetch_children(
    rows: Sequence[Mapping[str, Any]],
    endpoint: Endpoint,
    endpoint_identity: str,
    *,
    pace: Callable[[], None] | None = None,
) -> Iterator[Any]:
    """Yield the pages of the children of some rows; `endpoint_identity` distinguishes the work items."""
    _set_pace(endpoint, pace)
    for row in rows:
        yield from endpoint.children(row, {})


def fetch_pages(
    page_range: Mapping[str, int],
    endpoint: Endpoint,
    endpoint_identity: str,
    *,
    pace: Callable[[], None] | None = None,
) -> Iterator[Any]:
    """Yield the pages that begin in a range; `endpoint_identity` distinguishes the work items."""
    _set_pace(endpoint, pace)
    paginator: Any = endpoint.paginator
    yield from replace(endpoint, paginator=paginator.within(page_range[FROM], page_range[TO])).pages({})


def _set_pace(endpoint: Endpoint, pace: Callable[[], None] | None) -> None:
    if pace is not None:
        endpoint.client.paced_by(pace)


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
