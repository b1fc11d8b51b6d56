"""Deals with own fields that are renamed by the state, and transformers that write tables by kind."""

import dlt
from pipedrive import pipedrive_source
from server import Reply, page

TURNS = 2
HASH = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"
RESOURCES = ("custom_fields_mapping", "deals", "persons", "deals_participants", "deals_flow", "leads")


def answer(request):
    """Return a page of an endpoint."""
    name = request.path.removeprefix("/v1/")
    if name.endswith("Fields"):
        return Reply(paged(fields(name), request, 500))
    if name == "recents":
        kind = request.query["items"]
        return Reply(paged([{"item": kind, "data": row} for row in things(kind, request.turn)], request, 4))
    if name.endswith("/participants"):
        number = int(name.split("/")[1])
        return Reply(paged([{"id": number * 10 + item, "person_id": item} for item in (1, 2)], request, 500))
    if name.endswith("/flow"):
        return Reply(paged(flow(int(name.split("/")[1])), request, 500))
    return Reply(paged(things(name, request.turn)[::-1], request, 4))


def paged(rows, request, size):
    """Return a page in the envelope of the API."""
    shown, after = page(rows, int(request.query.get("start", 0)), size)
    more = {"more_items_in_collection": after is not None, "next_start": after}
    return {"success": True, "data": shown, "additional_data": {"pagination": more}}


def fields(name):
    """Return the fields of a kind: one own field with options."""
    options = [{"id": 1, "label": "Cold"}, {"id": 2, "label": "Warm"}]
    own = {
        "key": HASH,
        "name": "Lead Temperature",
        "edit_flag": True,
        "field_type": "enum",
        "options": options,
    }
    return [own, {"key": "title", "name": "Title", "field_type": "varchar"}] if name == "dealFields" else []


def things(kind, turn):
    """Return rows; at the second turn some have changed and some are new."""
    return [
        {
            "id": number,
            "title": f"{kind} {number} at turn {turn}",
            "value": number * 100.5,
            HASH: 1 + number % 2,
            "label_ids": [number % 2],
            "update_time": f"2026-0{turn}-{number + 1:02d} 10:00:00",
        }
        for number in (range(6) if turn == 1 else range(4, 8))
    ]


def flow(number):
    """Return the history of a deal."""
    return [
        {
            "object": kind,
            "timestamp": "2026-01-01 00:00:00",
            "data": {"id": number * 10 + item, "item": kind, HASH: 1},
        }
        for item, kind in enumerate(("dealChange", "note", "dealChange"))
    ]


def run(_):
    """Load the fields first, then what refers to them."""
    pipeline = dlt.pipeline("pipedrive", destination="duckdb", dataset_name="pipedrive_data")
    source = pipedrive_source(pipedrive_api_key="t-5")
    pipeline.run(source.with_resources(*RESOURCES))
    return pipeline
