"""Placeholders in the path of an endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import InvalidSourceConfig, UsageError
from penstock.sources import incremental
from penstock.sources.decorators import resource as resource_of
from penstock.sources.rest_api import rest_api_source
from penstock.sources.rest_api.plan import plan_resources
from penstock.sources.rest_api.templates import render_path

if TYPE_CHECKING:
    from tests.restapi import Api


def config(url: str, **endpoint: Any) -> Any:
    things = resource_of([{"id": 7}, {"id": "x/y"}], name="things")
    return {"client": {"base_url": url}, "resources": [things, {"name": "a", "endpoint": endpoint}]}


def test_a_parameter_of_the_path_may_be_a_placeholder(api: Api) -> None:
    source_config = config(api.url, path="echo/{id}/posts", params={"id": "{resources.things.id}", "n": 1})

    rows = [row for row in rest_api_source(source_config) if "query" in row]

    assert [(row["id"], row["query"]) for row in rows] == [
        ("7/posts", {"n": "1"}),
        ("x%2Fy/posts", {"n": "1"}),
    ]


def test_a_path_parameter_may_be_a_cursor_with_more_text(api: Api) -> None:
    source_config = config(
        api.url,
        path="echo/{id}/{since}",
        params={"id": "n-{resources.things.id}-{{}}", "since": "{incremental.initial_value}"},
        incremental=incremental("id", initial_value="2026"),
        data_selector="$",
    )

    assert plan_resources(source_config)[1].endpoint["path"] == (
        "echo/n-{resources.things.id}-{{}}/{incremental.initial_value}"
    )


def test_other_braces_are_literal_or_rejected(api: Api) -> None:
    plain = config(api.url, path="echo/{id}", params={"id": "{x}"})
    mixed = config(api.url, path="echo/{id}", params={"id": "{x}{resources.things.id}"})

    assert [row["id"] for row in rest_api_source(plain) if "query" in row] == ["%7Bx%7D"]
    with pytest.raises(
        InvalidSourceConfig, match=r"resources\.a\.endpoint\.params\.id: \{x\} is not a placeholder"
    ):
        rest_api_source(mixed)


@pytest.mark.parametrize("value", [".", ".."])
def test_a_value_that_is_a_dot_segment_is_rejected(value: str) -> None:
    with pytest.raises(UsageError, match="changes the address"):
        render_path("users/{u.id}/posts", {"u.id": value})


@pytest.mark.parametrize("value", ["...", ".x", "a.b", 1.5])
def test_a_value_with_dots_is_accepted(value: Any) -> None:
    assert render_path("users/{u.id}", {"u.id": value}) == f"users/{value}"
