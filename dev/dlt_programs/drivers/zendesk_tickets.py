"""Tickets with own fields that the state names, events and metrics, with the token of an OAuth login."""

import os

import dlt
from server import Reply, page
from zendesk import zendesk_support

TURNS = 2
MONTHS = (1_767_225_600, 1_769_904_000, 1_772_323_200)  # January, February and March
TOKEN = "oauth-token-of-acme"  # noqa: S105 - of a server that this file is
RESOURCES = ("ticket_fields", "ticket_events", "tickets", "users", "groups")


def answer(request):
    """Return a page of an endpoint to those who have the token."""
    if request.headers["Authorization"] != f"Bearer {TOKEN}":
        return Reply({"error": "no token"}, 401)
    name = request.path.rpartition("/")[2].removesuffix(".json")
    if name == "ticket_fields":
        return Reply({name: fields(request.turn), "next_page": None})
    rows = ROWS[name](request.turn)
    shown, after = page(rows, int(request.query.get("cursor", 0)), 4)
    following = f"https://{request.host}{request.path}?cursor={after}" if after else None
    stream = {"end_of_stream": after is None, "next_page": following}
    return Reply(
        {name: shown, "meta": {"has_more": after is not None}, "links": {"next": following}, **stream}
    )


def fields(turn):
    """Return the own fields; at the second turn one has another title and one more option."""
    options = [{"value": f"v{item}", "name": f"Value {item}"} for item in range(2 + turn)]
    title = "Region" if turn == 1 else "Area"
    return [
        {"id": 1, "title": title, "type": "tagger", "custom_field_options": options},
        {"id": 2, "title": "Order number", "type": "text"},
    ]


def tickets(turn):
    """Return tickets."""
    return [
        {
            "id": number,
            "subject": f"Ticket {number} at turn {turn}",
            "tags": ["new", "vip"][: number % 3],
            "custom_fields": [{"id": 1, "value": f"v{number % 3}"}, {"id": 2, "value": f"o-{number}"}],
            "fields": [],
            "via": {"channel": "web", "source": {"rel": None}},
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": f"2026-0{turn}-{number + 1:02d}T00:00:00Z",
            "due_at": "2026-12-01T00:00:00Z" if number % 2 else None,
        }
        for number in (range(9) if turn == 1 else range(7, 12))
    ]


def events(turn):
    """Return events; at the second turn some that are past the end of the interval."""
    start = MONTHS[turn] - 5 if turn == 2 else MONTHS[0]
    return [
        {"id": start + number, "ticket_id": number % 3, "timestamp": start + number, "event_type": "Audit"}
        for number in range(10)
    ]


def people(turn):
    """Return users or groups."""
    return [{"id": number, "name": f"Name {number}", "active": turn == 1} for number in range(5)]


ROWS = {
    "tickets": tickets,
    "ticket_events": events,
    "users": people,
    "groups": people,
}


def run(turn):
    """Load what is new."""
    # The source asks for the interval of a scheduler.
    os.environ |= {
        "DLT_INTERVAL_START": f"2026-0{turn}-01T00:00:00Z",
        "DLT_INTERVAL_END": f"2026-0{turn + 1}-01T00:00:00Z",
    }
    pipeline = dlt.pipeline("zendesk", destination="duckdb", dataset_name="zendesk_data")
    source = zendesk_support(credentials={"subdomain": "acme", "oauth_token": TOKEN}, load_all=False)
    pipeline.run(source.with_resources(*RESOURCES))
    return pipeline
