"""Collections of a content system, in pages by an offset."""

import dlt
from server import Reply
from strapi import strapi_source


def answer(request):
    """Return entries with attributes and relations."""
    start = int(request.query["pagination[start]"])
    total = 60 if request.path.endswith("athletes") else 7
    rows = [entry(number) for number in range(start, min(start + 25, total))]
    return Reply({"data": rows, "meta": {"pagination": {"start": start, "limit": 25, "total": total}}})


def entry(number):
    """Return an entry."""
    return {
        "id": number,
        "attributes": {
            "Name": f"entry {number}",
            "createdAt": "2026-01-05T10:00:00.123Z",
            "rank": None if number % 7 == 0 else number,
            "medals": {"data": [{"id": item, "kind": "gold"} for item in range(number % 3)]},
        },
    }


def run(_):
    """Load two collections."""
    pipeline = dlt.pipeline("strapi", destination="duckdb", dataset_name="strapi_data")
    pipeline.run(strapi_source(["athletes", "clubs"], api_secret_key="t-1", domain="cms.acme.test"))
    return pipeline
