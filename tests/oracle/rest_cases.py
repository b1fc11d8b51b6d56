"""Configurations of REST sources, as users of dlt write them; imports neither dlt nor penstock."""

from __future__ import annotations

import base64
from typing import Any

from tests.restapi import KEY, PASSWORD, TOKEN, USER, Api

Runs = list[dict[str, Any]]


def configuration(api: Api, *resources: Any, client: Any = None, **more: Any) -> Runs:
    return [{"client": {"base_url": api.url, **(client or {})}, "resources": list(resources), **more}]


def paged(api: Api, path: str, paginator: Any, **endpoint: Any) -> Runs:
    return configuration(
        api, {"name": "rows", "endpoint": {"path": path, "paginator": paginator, **endpoint}}
    )


def secured(api: Api, path: str, auth: Any) -> Runs:
    return configuration(api, {"name": "rows", "endpoint": f"secure/{path}"}, client={"auth": auth})


def is_odd(row: dict[str, Any]) -> bool:
    return bool(row["id"] % 2)


def renamed(row: dict[str, Any]) -> dict[str, Any]:
    return {"number": row["id"], "name": row["name"]}


def twice(row: dict[str, Any]) -> Any:
    yield row
    yield {**row, "again": True}


def no_colons(text: str) -> str:
    return text.replace(":", "")


def raise_on_bad(response: Any, *_: Any, **__: Any) -> None:
    response.status_code = 200


def empty(response: Any, *_: Any, **__: Any) -> None:
    response.status_code, response._content = 200, b'{"data": []}'


USERS: dict[str, Any] = {
    "name": "users",
    "endpoint": {
        "path": "users",
        "params": {"size": 3},
        "paginator": {"type": "page_number", "total_path": "total_pages"},
    },
}
RESOLVED: dict[str, Any] = {"type": "resolve", "resource": "users", "field": "id"}
CURSOR: dict[str, Any] = {"cursor_path": "updated_at", "initial_value": "2026-01-20T00:00:00Z"}


def cases(api: Api) -> dict[str, Any]:
    """Return by name the configurations that run one after another in one pipeline."""
    return {
        "names-alone": lambda: configuration(api, "single", "header", "link"),
        "json-link": lambda: paged(api, "link", {"type": "json_link", "next_url_path": "links.next"}),
        "json-link-relative": lambda: paged(api, "relative", "json_link"),
        "header-link": lambda: paged(api, "header", "header_link"),
        "header-cursor": lambda: paged(api, "headcursor", "header_cursor"),
        "cursor": lambda: paged(api, "cursor", "cursor"),
        "cursor-in-body": lambda: paged(
            *(api, "bodycursor"),
            {"type": "cursor", "cursor_path": "next_cursor", "cursor_body_path": "page.after"},
            method="POST",
            json={"page": {"size": 10}},
        ),
        "offset": lambda: paged(api, "offset", {"type": "offset", "limit": 7}),
        "offset-to-a-maximum": lambda: paged(
            api, "offset", {"type": "offset", "limit": 7, "maximum_offset": 14, "total_path": None}
        ),
        "offset-that-says-more": lambda: paged(
            api, "offset", {"type": "offset", "limit": 7, "total_path": None, "has_more_path": "has_more"}
        ),
        "page-number": lambda: paged(
            api, "pages/1", {"type": "page_number", "base_page": 1, "total_path": "total_pages"}
        ),
        "page-number-until-empty": lambda: paged(api, "pages", {"type": "page_number", "total_path": None}),
        "page-number-in-body": lambda: paged(
            api,
            "bodypages",
            {"type": "page_number", "page_body_path": "page"},
            method="POST",
            json={"query": "x"},
        ),
        "found-out": lambda: configuration(
            api, "pages", "cursor", "relative", {"name": "h", "endpoint": "header"}
        ),
        "defaults": lambda: configuration(
            *(api, "single", {"name": "offset", "primary_key": "name", "endpoint": {"params": {"limit": 5}}}),
            resource_defaults={
                "primary_key": "id",
                "write_disposition": "merge",
                "endpoint": {"params": {"limit": 9, "more": 1}, "paginator": "single_page"},
            },
        ),
        "bearer": lambda: secured(api, "bearer", {"token": TOKEN}),
        "api-key-in-header": lambda: secured(
            api, "header", {"type": "api_key", "name": "X-Key", "api_key": KEY}
        ),
        "api-key-in-query": lambda: secured(
            api, "query", {"type": "api_key", "name": "k", "api_key": KEY, "location": "query"}
        ),
        "http-basic": lambda: secured(
            api, "basic", {"type": "http_basic", "username": USER, "password": PASSWORD}
        ),
        "oauth": lambda: secured(
            *(api, "oauth"),
            {
                "type": "oauth2_client_credentials",
                "access_token_url": f"{api.url}/token",
                "client_id": USER,
                "client_secret": PASSWORD,
            },
        ),
        "header-of-the-client": lambda: configuration(
            *(api, {"name": "rows", "endpoint": "secure/basic"}),
            client={
                "headers": {
                    "Authorization": f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"
                }
            },
        ),
        "selected": lambda: paged(api, "nested", "single_page", data_selector="payload.batches[0].rows"),
        "selected-from-many": lambda: paged(
            api, "nested", "single_page", data_selector="payload.batches[*].rows[*].order"
        ),
        "selected-nowhere": lambda: paged(api, "nested", "single_page", data_selector="payload.nothing"),
        "children": lambda: configuration(
            *(api, USERS),
            {"name": "user", "endpoint": "users/{resources.users.id}"},
            {
                "name": "posts",
                "primary_key": "id",
                "include_from_parent": ["id", "name"],
                "endpoint": {
                    "path": "users/{id}/posts",
                    "params": {"id": RESOLVED},
                    "paginator": {"type": "offset", "limit": 5},
                },
            },
        ),
        "children-by-placeholder": lambda: configuration(
            *(api, USERS),
            {
                "name": "echo",
                "endpoint": {
                    "path": "echo/{resources.users.address.city}/x",
                    "method": "POST",
                    "params": {"who": "{resources.users.name}", "plain": 1},
                    "json": {
                        "id": "{resources.users.id}",
                        "text": "no {resources.users.id}",
                        "deep": ["{resources.users.id}"],
                    },
                    "headers": {"X-Said": "{resources.users.name}"},
                    "data_selector": "$",
                },
            },
        ),
        "grandchildren": lambda: configuration(
            *(api, USERS),
            {
                "name": "posts",
                "endpoint": {
                    "path": "users/{resources.users.id}/posts",
                    "paginator": {"type": "offset", "limit": 6},
                },
            },
            {
                "name": "echo",
                "endpoint": {"path": "echo/{resources.posts.id}"},
                "include_from_parent": ["title"],
            },
        ),
        "an-unselected-parent": lambda: configuration(
            *(api, {**USERS, "selected": False}),
            {"name": "user", "endpoint": "users/{resources.users.id}"},
        ),
        "ignored": lambda: configuration(
            *(api, USERS),
            {
                "name": "posts",
                "endpoint": {
                    "path": "users/{resources.users.id}/posts",
                    "params": {"gap": 1},
                    "paginator": "single_page",
                    "response_actions": [{"status_code": 404, "action": "ignore"}],
                },
            },
        ),
        "ignored-by-content": lambda: configuration(
            api,
            {
                "name": "n",
                "endpoint": {
                    "path": "users/99",
                    "response_actions": [{"content": "no such", "action": "ignore"}],
                },
            },
        ),
        "acted-upon": lambda: configuration(
            api,
            {
                "name": "n",
                "endpoint": {"path": "users/99", "response_actions": [{"status_code": 404, "action": empty}]},
            },
            {
                "name": "m",
                "endpoint": {"path": "users/98", "response_actions": [raise_on_bad], "data_selector": "$"},
            },
        ),
        "a-bad-answer": lambda: configuration(api, {"name": "n", "endpoint": "users/99"}),
        "steps": lambda: configuration(
            api,
            {
                "name": "header",
                "processing_steps": [{"filter": is_odd}, {"map": renamed}, {"yield_map": twice}],
            },
        ),
        "cursor-as-parameter": lambda: (
            configuration(
                api, {"name": "since", "endpoint": {"params": {"since": {"type": "incremental", **CURSOR}}}}
            )
            * 2
        ),
        "cursor-with-both-ends": lambda: configuration(
            api,
            {
                "name": "since",
                "endpoint": {
                    "incremental": {
                        **CURSOR,
                        "end_value": "2026-01-22T00:00:00Z",
                        "start_param": "since",
                        "end_param": "until",
                    }
                },
            },
        ),
        "cursor-by-placeholder": lambda: (
            configuration(
                api,
                {
                    "name": "since",
                    "primary_key": "id",
                    "endpoint": {
                        "params": {
                            "since": "{incremental.start_value}",
                            "first": "{incremental.initial_value}",
                        },
                        "incremental": CURSOR,
                    },
                },
            )
            * 2
        ),
        "cursor-in-a-body": lambda: configuration(
            api,
            {
                "name": "since",
                "endpoint": {
                    "method": "POST",
                    "json": {"since": "{incremental.start_value}"},
                    "incremental": {**CURSOR, "convert": no_colons},
                },
            },
        ),
        "hints": lambda: configuration(
            api,
            {
                "name": "header",
                "table_name": "orders",
                "write_disposition": "replace",
                "primary_key": ["id", "name"],
                "columns": {"id": {"data_type": "text"}},
                "max_table_nesting": 1,
            },
            resource_defaults={"columns": {"name": {"description": "what it is called"}}},
        ),
        "a-key-that-is-not-known": lambda: configuration(
            api, {"name": "a", "endpoint": {"paginater": "auto"}}
        ),
        "a-parent-that-is-not-there": lambda: configuration(
            api, {"name": "a", "endpoint": "x/{resources.b.id}"}
        ),
        "a-field-that-is-not-there": lambda: configuration(
            api, USERS, {"name": "a", "endpoint": "echo/{resources.users.nothing}"}
        ),
        "two-of-a-name": lambda: configuration(api, "single", "single"),
        "two-parents": lambda: configuration(
            api, USERS, "single", {"name": "a", "endpoint": "echo/{resources.users.id}/{resources.single.id}"}
        ),
        "two-cursors": lambda: configuration(
            api,
            {"name": "a", "endpoint": {"params": {k: {"type": "incremental", **CURSOR} for k in ("b", "c")}}},
        ),
    }
