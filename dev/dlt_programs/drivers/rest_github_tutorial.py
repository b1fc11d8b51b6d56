"""The declared REST source of the tutorial: issues with a cursor, merged, in pages by links in headers."""

import runpy

import dlt
from program import SCRIPT
from server import Reply, page

TURNS = 2


def answer(request):
    """Return issues that changed since the time of the cursor."""
    numbers = range(25) if request.turn == 1 else range(20, 31)
    issues = [issue(number, request.turn) for number in numbers]
    rows, after = page(issues, int(request.query.get("page", 0)), 10)
    link = f'<https://{request.host}{request.path}?page={after}>; rel="next"'
    return Reply(rows, headers={"Link": link} if after else {})


def issue(number, turn):
    """Return an issue."""
    return {
        "id": number,
        "title": f"Issue {number} at turn {turn}",
        "user": {"login": f"user-{number % 3}", "site_admin": False},
        "labels": [{"id": item, "name": f"label {item}"} for item in range(number % 3)],
        "assignees": [],
        "body": None if number % 4 == 0 else "text",
        "updated_at": f"2026-0{turn}-{number % 28 + 1:02d}T00:00:00Z",
    }


def run(_):
    """Run the block of the page."""
    runpy.run_path(SCRIPT)
    return dlt.pipeline()
