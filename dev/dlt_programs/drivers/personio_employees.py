"""Employees with a token for client id and secret; balances and reports by deferred transformers."""

import os

import dlt
from personio import personio_source
from server import Reply, page

TURNS = 2
CLIENT = {"client_id": "id-of-the-client", "client_secret": "secret-of-the-client"}
TOKEN = "token-of-the-client"  # noqa: S105 - of a server that this file is


def answer(request):
    """Return a token, or a page to those who have it."""
    if request.path == "/v1/auth":
        return Reply({"data": {"token": TOKEN}} if request.json == CLIENT else {"error": "unknown"})
    if request.headers["Authorization"] != f"Bearer {TOKEN}":
        return Reply({"error": "no token"}, 401)
    name = request.path.removeprefix("/v1/company/")
    if name.endswith("absences/balance"):
        return Reply(
            {"data": [{"id": 1, "name": "Leave", "balance": 12.5}, {"id": 2, "name": "Care", "balance": 3}]}
        )
    if name == "custom-reports/reports":
        return Reply({"data": [{"attributes": {"id": "r1", "name": "Salaries"}}]})
    rows = ROWS[name](request.turn)
    size = int(request.query.get("limit", 100))
    number = int(request.query["page"])
    first = 0 if name in {"employees", "time-off-types", "attendances"} else 1
    return Reply(
        {
            "data": page(rows, (number - first) * size, size)[0],
            "metadata": {"current_page": number, "total_pages": -(-len(rows) // size)},
        }
    )


def employees(turn):
    """Return employees as sets of attributes; at the second turn two have changed and one is new."""
    return [
        {
            "type": "Employee",
            "attributes": {
                "id": attribute("id", "ID", number),
                "name": attribute("first_name", "First name", f"Ada {number}"),
                "hired": attribute(
                    "hire_date", "Hire date", f"2020-01-{number + 1:02d}T00:00:00+01:00", "date"
                ),
                "own": attribute(None, "Shoe size", 40 + number),
                "at": attribute(
                    "last_modified_at", "Changed", f"2026-0{turn}-{number + 1:02d}T09:00:00+01:00", "date"
                ),
            },
        }
        for number in (range(8) if turn == 1 else range(6, 9))
    ]


def attribute(universal, label, value, kind="standard"):
    """Return an attribute of an employee."""
    return {"label": label, "value": value, "type": kind, "universal_id": universal}


def absences(turn):
    """Return absences."""
    return [
        {
            "type": "TimeOffPeriod",
            "attributes": {
                "id": number,
                "status": "approved",
                "days_count": number / 2,
                "created_at": "2026-01-01T00:00:00+01:00",
                "updated_at": f"2026-0{turn}-{number + 1:02d}T00:00:00+01:00",
            },
        }
        for number in range(turn, turn + 5)
    ]


def attendances(turn):
    """Return attendances."""
    return [
        {
            "id": number,
            "attributes": {
                "employee": number % 3,
                "date": f"2026-01-{number + 1:02d}",
                "start_time": "08:00",
                "break": 30,
                "updated_at": f"2026-0{turn}-{number + 1:02d}T17:00:00+00:00",
            },
        }
        for number in range(4)
    ]


def reports(_):
    """Return the rows of a report."""
    items = [
        {
            "employee_id": number,
            "attributes": [
                {"attribute_id": "salary", "value": 1000 + number, "data_type": "decimal"},
                {"attribute_id": "since", "value": "2020-05-01", "data_type": "date"},
            ],
        }
        for number in range(3)
    ]
    return [{"attributes": {"id": "r1", "items": items}}]


ROWS = {
    "employees": employees,
    "time-offs": absences,
    "time-off-types": lambda _: [
        {"attributes": {"id": 1, "name": "Leave"}},
        {"attributes": {"id": 2, "name": "Care"}},
    ],
    "attendances": attendances,
    "attendances/projects": lambda _: [{"id": 5, "attributes": {"name": "Engine", "active": True}}],
    "document-categories": lambda _: [{"id": 7, "attributes": {"name": "Contracts"}}],
    "custom-reports/reports/r1": reports,
}


def run(turn):
    """Load all resources."""
    # The source asks for the interval of a scheduler.
    os.environ |= {
        "DLT_INTERVAL_START": f"2026-0{turn}-01T00:00:00Z",
        "DLT_INTERVAL_END": f"2026-0{turn + 1}-01T00:00:00Z",
    }
    pipeline = dlt.pipeline("personio", destination="duckdb", dataset_name="personio_data")
    pipeline.run(personio_source(**CLIENT, items_per_page=3))
    return pipeline
