"""Cassettes record and replay the requests of executors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import MODE
from tests.flow.factories import make_pipeline
from tests.restapi import KEY, SIZE, Api
from tests.step_failures import step_raises

from penstock.errors import ResourceFailed
from penstock.sources.rest_api import rest_api_source
from penstock.testing import assert_table, cassette

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(MODE != "local", reason="executors share the temporary folder of the driver")


def shop(url: str, key: str, size: int = 3) -> Any:
    users = {"params": {"size": size}, "paginator": {"type": "page_number", "total_path": "total_pages"}}
    return rest_api_source(
        {
            "client": {"base_url": url, "auth": {"type": "api_key", "name": "X-Key", "api_key": key}},
            "resource_defaults": {"primary_key": "id"},
            "resources": [
                {"name": "users", "endpoint": users},
                {"name": "posts", "endpoint": "users/{resources.users.id}/posts", "spread": 1},
                {
                    "name": "rows",
                    "endpoint": {
                        "path": "offset",
                        "paginator": {"type": "offset", "limit": 7, "total_path": "total"},
                    },
                    "spread": 1,
                },
            ],
        },
        name="shop",
    )


def test_requests_of_executors_are_recorded_and_replayed(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    path = tmp_path / "shop.json"
    recorded = make_pipeline(f"{location}/first", tmp_path / "first", spark)
    with Api(users=7) as api, cassette(path, "record"):
        recorded.run(shop(api.url, KEY))

    replayed = make_pipeline(f"{location}/second", tmp_path / "second", spark)
    with cassette(path, all_used=True):
        replayed.run(shop(api.url, "invented"))

    assert KEY not in path.read_text()
    for pipeline in (recorded, replayed):
        assert_table(pipeline, "users", count=7, unique="id")
        assert_table(pipeline, "posts", count=7 * SIZE, unique="id")
        assert_table(pipeline, "rows", count=25, unique="id")


def test_an_unrecorded_request_of_an_executor_fails_the_run(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    path = tmp_path / "shop.json"
    with Api(users=2) as api, cassette(path, "record"):
        list(shop(api.url, KEY).resources["users"])
    pipeline = make_pipeline(location, tmp_path, spark)

    with cassette(path), step_raises(ResourceFailed) as failed:
        pipeline.run(shop(api.url, KEY).with_resources("users", "posts"))

    assert "has no response to GET" in failed.value.cause
