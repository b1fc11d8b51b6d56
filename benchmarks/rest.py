"""A REST source on the driver and on executors: rows a second, and what the server sees under a limit.

    uv run dev/with-parts python -m benchmarks.rest [children|pages|rate ...] [--slots 8] [--delay 0.05]

The server is a real one on this machine that takes `--delay` seconds for each answer; executors are tasks of
a local session with `--slots` slots, in the Python that PENSTOCK_TEST_CLUSTER_PYTHON names.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tests.restapi import Api

import penstock
from penstock.sources.rest_api import rest_api_source

CASES = ("children", "pages", "rate")
LIMIT = 20


def session(slots: int) -> SparkSession:
    """Return a local session whose executors have another Python, without penstock."""
    os.environ.setdefault("PYSPARK_PYTHON", os.environ.get("PENSTOCK_TEST_CLUSTER_PYTHON", sys.executable))
    return (
        SparkSession.builder.appName("rest")
        .master(f"local[{slots}]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


def source(api: Api, case: str, *, limit: str | None) -> Any:
    """Return parents with children, or pages by offset, to distribute over executors."""
    client = {"base_url": api.url, **({"rate_limit": limit} if limit else {})}
    users = {"params": {"size": 100}, "paginator": {"type": "page_number", "total_path": "total_pages"}}
    posts = {"path": "users/{resources.users.id}/posts", "paginator": {"type": "offset", "limit": 10}}
    resources: list[Any] = [
        {"name": "users", "selected": False, "endpoint": users},
        {"name": "rows", "endpoint": posts, "spread": True},
    ]
    if case == "pages":
        paginator = {"type": "offset", "limit": 10}
        resources = [
            {"name": "rows", "endpoint": {"path": "users/0/posts", "paginator": paginator}, "spread": 4}
        ]
    return rest_api_source({"client": client, "resources": resources}, name="api")


def measure(spark: SparkSession, case: str, where: str, options: argparse.Namespace) -> None:
    """Extract once, and print a line."""
    os.environ["EXTRACT__WORK_ITEMS"] = where
    many = (
        {"users": options.users, "posts": 20}
        if case != "pages"
        else {"users": 1, "posts": options.users * 20}
    )
    with Api(delay=options.delay, **many) as api, tempfile.TemporaryDirectory() as folder:
        pipeline = penstock.pipeline(
            f"bench_{case}_{where}",
            destination=penstock.destinations.filesystem(f"{folder}/lake"),
            pipelines_dir=f"{folder}/pipelines",
            spark=spark,
        )
        limit = f"{LIMIT}/s" if case == "rate" else None
        info = pipeline.run(source(api, case, limit=limit))
        took = info.seconds["extract"]
        assert pipeline.last_trace is not None
        rows = pipeline.last_trace.last_normalize_info.row_counts["rows"]
        waves = len(list(Path(folder).glob("lake/**/packages/*/waves/*/*.json")))
        if bool(waves) != (where == "executors"):
            raise SystemExit(f"{waves} waves on the {where}: this is not what was to be measured")
        span = api.seen[-1][0] - api.seen[0][0]
        line = f"{case:9} {where:10} {rows:7,} rows, {len(api.seen):6,} requests in {took:6.1f} s"
        print(f"{line}: {rows / took:7,.0f} rows/s, {len(api.seen) / span:6.1f} requests/s")
        if limit:
            print(f"{'':20} at most {api.most_within(1.0)} requests in any second, limit {LIMIT}")


def main() -> None:
    """Print a line for each case, on the driver and on executors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--users", type=int, default=300)
    options = parser.parse_args()
    spark = session(options.slots)
    spark.range(1).collect()
    for case in options.cases or CASES:
        for where in ("driver", "executors"):
            measure(spark, case, where, options)


if __name__ == "__main__":
    main()
