"""Loads of one dataset in turns, with dlt or penstock by one program.

The Python of dlt imports it too, so it imports neither tool.
"""

from __future__ import annotations

from typing import Any

STRATEGIES = ("append", "delete-insert", "upsert", "scd2")


def load_turn(tool: Any, pipeline: Any, strategy: str, turn: int) -> None:
    """Load the rows of a turn. All but scd2 have a cursor, and some rows that it has passed."""
    rows = _versions(turn) if strategy == "scd2" else _rows(turn)

    cursor = tool.sources.incremental("number", initial_value=0)

    def orders(last: Any = cursor) -> Any:
        yield rows

    def snapshot() -> Any:
        state = tool.current.resource_state()
        state["turns"] = state.get("turns", 0) + 1
        yield [{**row, "turns": state["turns"]} if row["id"] == 0 else row for row in rows]

    read = snapshot if strategy == "scd2" else orders
    pipeline.run(tool.resource(read, name="orders", **_hints(strategy, turn))())


def _hints(strategy: str, turn: int) -> dict[str, Any]:
    match strategy:
        case "append":
            return {"write_disposition": "append"}
        case "scd2":
            moment = f"2026-03-{turn + 1:02d}T00:00:00+00:00"
            options = {"disposition": "merge", "strategy": "scd2", "boundary_timestamp": moment}
            return {"write_disposition": options}
        case _:
            return {"write_disposition": {"disposition": "merge", "strategy": strategy}, "primary_key": "id"}


def _rows(turn: int) -> list[dict[str, Any]]:
    return [_row(number) for number in range(max(1, turn * 3 - 1), turn * 3 + 3)]


def _row(number: int) -> dict[str, Any]:
    return {
        "id": number % 7,
        "number": number,
        "size": f"about {number}" if number % 11 == 10 else number,
        "tags": [{"tag": f"t{number}"}] * (number % 3),
        f"by_{number % 3}": "new",
    }


def _versions(turn: int) -> list[dict[str, Any]]:
    return [
        {"id": number, "number": number, "name": f"n{(turn + number) // 3 % 3}", "tags": [{"tag": number}]}
        for number in range(6)
        if (turn + number) % 4
    ]
