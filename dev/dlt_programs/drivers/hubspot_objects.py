"""Companies, deals and owners with links to the next page; the types of columns come with the rows."""

import dlt
from hubspot import hubspot
from server import Reply, page

PROPERTIES = {
    "companies": {
        "createdate": "datetime",
        "domain": "string",
        "hs_lastmodifieddate": "datetime",
        "name": "string",
    },
    "deals": {
        "amount": "number",
        "closedate": "datetime",
        "createdate": "datetime",
        "dealname": "string",
        "dealstage": "enumeration",
        "hs_lastmodifieddate": "datetime",
        "pipeline": "enumeration",
    },
}
VALUES = {
    "string": "text {}",
    "number": "{}.5",
    "datetime": "2026-02-03T04:05:{:02d}.789Z",
    "enumeration": "option-{}",
}
OWN = {"score": "number", "vip": "bool", "hs_object_id": "number"}


def answer(request):
    """Return the properties of a kind, or a page of objects with text values."""
    kind = request.path.rstrip("/").rpartition("/")[2]
    if "/properties/" in request.path:
        stages = [{"name": "hs_v2_date_entered_won", "type": "datetime"}]
        return Reply(
            {
                "results": [{"name": name, "type": of} for name, of in (PROPERTIES[kind] | OWN).items()]
                + stages
            }
        )
    if "/pipelines/" in request.path:
        return Reply(
            {"results": [{"id": f"{kind}-1", "label": "Sales", "stages": [{"id": "won"}, {"id": "lost"}]}]}
        )
    rows, after = page([thing(kind, number) for number in range(11)], int(request.query.get("after", 0)), 5)
    link = f"https://api.hubapi.com{request.path}?after={after}"
    return Reply({"results": rows, **({"paging": {"next": {"link": link}}} if after else {})})


def thing(kind, number):
    """Return an object of the API: all values are texts."""
    if kind == "owners":
        return {"id": str(number), "email": f"{number}@acme.test", "teams": [{"id": "t", "primary": True}]}
    return {
        "id": str(number),
        "properties": {
            **{name: VALUES[of].format(number) for name, of in PROPERTIES[kind].items()},
            "score": f"{number}.25" if number % 2 else None,
            "vip": "true" if number % 2 else "false",
            "hs_object_id": str(number),
            "hs_v2_date_entered_won": "2026-02-01T00:00:00Z" if number % 3 else None,
        },
        "associations": {"deals": {"results": [{"id": f"{number}{item}"} for item in range(number % 3)]}},
    }


def run(_):
    """Load some kinds of objects."""
    pipeline = dlt.pipeline("hubspot", destination="duckdb", dataset_name="hubspot_dataset")
    source = hubspot(api_key="t-4")
    pipeline.run(
        source.with_resources("companies", "deals", "owners", "pipelines_deals", "stages_timing_deals")
    )
    return pipeline
