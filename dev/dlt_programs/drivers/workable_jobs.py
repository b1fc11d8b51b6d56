"""Jobs and members with links to the next page; transformers ask for the details of each job."""

import dlt
from server import Reply, page
from workable import workable_source

TURNS = 2
RESOURCES = ("jobs", "members", "jobs_activities", "jobs_questions")


def answer(request):
    """Return a page of an endpoint."""
    way = request.path.strip("/").split("/")[2:]
    if len(way) == 3:
        main, code, name = way
        return Reply(
            {name: [{"id": f"{main}-{code}-{name}-{item}", "body": f"{name} of {code}"} for item in (1, 2)]}
        )
    name = way[0]
    rows = {"jobs": jobs, "members": members}[name](request.turn)
    shown, after = page(rows, int(request.query.get("since_id", 0)), 4)
    follows = {"paging": {"next": f"https://{request.host}{request.path}?since_id={after}"}} if after else {}
    return Reply({name: shown, **follows})


def jobs(turn):
    """Return jobs; one less at the second turn."""
    return [
        {"id": f"j{number}", "shortcode": f"SC{number}", "title": f"Job {number}"}
        for number in range(7 - turn)
    ]


def members(turn):
    """Return members."""
    return [{"id": f"m{number}", "role": "admin", "active": turn == 1} for number in range(3)]


def run(_):
    """Load jobs and their details; the cursor of candidates has a type that dlt 1.31 cannot read."""
    pipeline = dlt.pipeline("workable", destination="duckdb", dataset_name="workable_data")
    source = workable_source(access_token="t-3", subdomain="acme", load_details=True)
    pipeline.run(source.with_resources(*RESOURCES))
    return pipeline
