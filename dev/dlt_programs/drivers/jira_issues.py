"""Issues by page tokens; users, workflows and projects by an offset; lists two levels deep."""

import dlt
from jira import jira
from server import Reply, page


def answer(request):
    """Return a page of an endpoint."""
    if request.path.endswith("search/jql"):
        start = int(request.query.get("nextPageToken", 0))
        rows, after = page([issue(number) for number in range(12)], start, 5)
        return Reply({"issues": rows, **({"nextPageToken": str(after)} if after else {})})
    start = int(request.query["startAt"])
    if request.path.endswith("users"):
        rows = [
            {"accountId": f"u{number}", "displayName": f"User {number}", "active": True}
            for number in range(7)
        ]
        return Reply(page(rows, start, 5)[0])
    kind = request.path.rpartition("/")[0].rpartition("/")[2]
    rows = [
        {"id": {"name": f"{kind} {number}", "entityId": str(number)}, "steps": [1, 2]} for number in range(3)
    ]
    return Reply({"values": page(rows, start, 5)[0]})


def issue(number):
    """Return an issue with a log of changes."""
    return {
        "id": str(10_000 + number),
        "key": f"ENG-{number}",
        "fields": {
            "summary": f"Issue {number}",
            "created": f"2026-01-{number + 1:02d}T09:00:00.000+0100",
            "labels": ["bug", "ui"][: number % 3],
            "timespent": number * 60 if number % 2 else None,
        },
        "changelog": {
            "histories": [
                {"id": f"{number}-{item}", "items": [{"field": "status", "tags": ["a", "b"]}]}
                for item in range(number % 3)
            ]
        },
    }


def run(_):
    """Load all endpoints."""
    pipeline = dlt.pipeline("jira_pipeline", destination="duckdb", dataset_name="jira")
    pipeline.run(jira(subdomain="acme", email="ada@acme.test", api_token="t-2", page_size=5))
    return pipeline
