"""Events of a repository, in pages by links in the headers; each type of event has its own table."""

import dlt
from github import github_repo_events
from server import Reply, page

TURNS = 2
EVENTS = [
    {
        "id": f"{4000 + number}",
        "type": ("PushEvent", "IssuesEvent", "WatchEvent")[number % 3],
        "actor": {"id": number % 4, "login": f"user-{number % 4}"},
        "repo": {"id": 1, "name": "ada/engine"},
        "payload": {
            "commits": [{"sha": f"c{number}-{item}", "distinct": True} for item in range(number % 3)]
        },
        "public": True,
        "created_at": f"2026-02-{1 + number // 24:02d}T{number % 24:02d}:00:00Z",
    }
    for number in range(60)
]


def answer(request):
    """Return events, latest first; at the second turn there are 20 more."""
    known = EVENTS[:40] if request.turn == 1 else EVENTS
    rows, after = page(known[::-1], int(request.query.get("page", 0)) * 15, 15)
    link = (
        f'<https://api.github.com{request.path}?per_page=100&page={after // 15}>; rel="next"' if after else ""
    )
    return Reply(rows, headers={"x-ratelimit-remaining": "59", **({"Link": link} if link else {})})


def run(turn):
    """Load the events that are new."""
    pipeline = dlt.pipeline("github_events", destination="duckdb", dataset_name="github")
    pipeline.run(github_repo_events("ada", "engine", access_token=""))
    return pipeline
