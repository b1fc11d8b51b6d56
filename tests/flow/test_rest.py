"""REST sources, whole runs: children and pages on executors and on the driver, under a limit of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.factories import make_pipeline
from tests.restapi import KEY, Api

from penstock.sources.rest_api import rest_api_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    import penstock


@pytest.fixture
def api() -> Iterator[Api]:
    with Api(users=7, posts=12) as running:
        yield running


def shop(api: Api, *, spread: bool, rate_limit: str | None = None) -> Any:
    """Return users with their posts, and pages of rows: 5 requests of users, 7 * 3 of posts, 4 of rows."""
    shared: dict[str, Any] = {"spread": True} if spread else {}
    posts = {"path": "users/{resources.users.id}/posts", "paginator": {"type": "offset", "limit": 5}}
    users = {"params": {"size": 3}, "paginator": {"type": "page_number", "total_path": "total_pages"}}
    return rest_api_source(
        {
            "client": {
                "base_url": api.url,
                "auth": {"type": "api_key", "name": "X-Key", "api_key": KEY},
                **({"rate_limit": rate_limit} if rate_limit else {}),
            },
            "resource_defaults": {"primary_key": "id"},
            "resources": [
                {"name": "users", "endpoint": users},
                {"name": "posts", "include_from_parent": ["name"], "endpoint": posts, **shared},
                {
                    "name": "rows",
                    "endpoint": {"path": "offset", "paginator": {"type": "offset", "limit": 7}},
                    **shared,
                },
            ],
        },
        name="shop",
    )


def tables_of(pipeline: penstock.Pipeline) -> dict[str, list[Any]]:
    """Return all rows of all tables, without the columns that differ from load to load."""
    result = {}
    for table in sorted(pipeline.dataset().row_counts()):
        frame = pipeline.dataset()[table].spark()
        remaining = sorted(name for name in frame.columns if not name.startswith("_dlt"))
        result[table] = sorted(map(str, frame.select(*remaining).collect()))
    return result


@pytest.mark.every_mode
def test_executors_read_the_same_children_and_pages_as_the_driver(
    api: Api, spark: SparkSession, location: str, tmp_path: Path
) -> None:
    complete = make_pipeline(f"{location}/whole", tmp_path / "whole", spark)
    complete.run(shop(api, spread=False))
    asked = sorted(api.paths)
    api.seen.clear()

    spread = make_pipeline(f"{location}/spread", tmp_path / "spread", spark)
    spread.run(shop(api, spread=True))

    assert tables_of(spread) == tables_of(complete)
    assert spread.dataset().row_counts()["posts"] == 84
    # One request more: the first page of rows is requested for their number.
    assert sorted(api.paths) == sorted([*asked, "/offset?offset=0&limit=7"])


@pytest.mark.at_length
@pytest.mark.parametrize("where", ["executors", "driver"])
def test_a_rate_limit_counts_the_requests_of_driver_and_executors(
    api: Api,
    spark: SparkSession,
    location: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    monkeypatch.setenv("EXTRACT__WORK_ITEMS", where)
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(shop(api, spread=True, rate_limit="10/s"))

    assert pipeline.dataset().row_counts()["posts"] == 84
    assert len(api.seen) == 29
    # They are sent within 2.8 s. A busy machine receives some of them late, so the test requires less.
    moments = [moment for moment, *_ in api.seen]
    assert max(moments) - min(moments) >= 1.4


def test_a_second_run_after_a_failure_requests_only_unfinished_items(
    api: Api, spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT__SLOTS", "1")
    monkeypatch.setenv("EXTRACT__WAVE_SECONDS", "1")
    pipeline = make_pipeline(location, tmp_path, spark)
    api.users, api.gone = 20, {15}

    with pytest.raises(Exception, match="returned 404 Not Found"):
        pipeline.run(shop(api, spread=True).with_resources("posts"))
    done = {path for path in api.paths if path.startswith("/users/0/")}
    api.gone = set()
    api.seen.clear()
    pipeline.run(shop(api, spread=True).with_resources("posts"))

    assert done
    assert not [path for path in api.paths if path.startswith("/users/0/")]
    assert pipeline.dataset().row_counts()["posts"] == 240


@pytest.mark.at_length
def test_a_run_resumed_with_other_work_items_duplicates_no_row(
    api: Api, spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT__SLOTS", "1")
    pipeline = make_pipeline(location, tmp_path, spark)
    api.users, api.posts, api.gone = 50, 2, {40}

    def posts(size: int) -> Any:
        users = {"params": {"size": size}, "paginator": {"type": "page_number", "total_path": "total_pages"}}
        children = {"name": "posts", "endpoint": "users/{resources.users.id}/posts", "spread": 50}
        return rest_api_source(
            {"client": {"base_url": api.url}, "resources": [{"name": "users", "endpoint": users}, children]},
            name="shop",
        ).with_resources("posts")

    with pytest.raises(Exception, match="returned 404 Not Found"):
        pipeline.run(posts(3))
    api.gone = set()
    pipeline.run(posts(4))

    assert len(api.paths) > 100
    assert pipeline.dataset().row_counts()["posts"] == 100
