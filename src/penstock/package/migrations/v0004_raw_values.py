"""Version 4: nested datasets hold values as they were seen, and projections decide what becomes of them."""

from __future__ import annotations

from typing import Any

VERSION = 4

_TYPES = {"TIMESTAMP": "timestamp", "DATE": "date", "DOUBLE": "double", "BIGINT": "bigint"}


def upgrade(kind: str, document: dict[str, Any]) -> dict[str, Any]:
    """Conversions of earlier versions said less: each is a list of values that may come."""
    if kind != "job":
        return document
    more = [{**part, "projection": _projection(part["projection"])} for part in document["more"]]
    return {**document, "projection": _projection(document["projection"]), "more": more}


def _projection(projection: dict[str, Any]) -> dict[str, Any]:
    levels: list[dict[str, Any]] = [{"table": ""}]
    levels += [
        {"table": step["table"], "lists": [[{"path": step["path"]}, None]]} for step in projection["steps"]
    ]
    return {
        "levels": levels,
        "columns": [_column(column) for column in projection["columns"]],
        "is_root": not projection["steps"],
    }


def _column(column: dict[str, Any]) -> dict[str, Any]:
    values = [{"at": {"path": column["path"]}, **value} for value in _values(column)]
    return {"name": column["name"], "sql_type": column["sql_type"], "values": values}


def _values(column: dict[str, Any]) -> list[dict[str, Any]]:
    to = _TYPES.get(column["sql_type"], "decimal" if column["sql_type"].startswith("DECIMAL") else "text")
    texts = "tagged" if column["tagged"] else "text"
    match column["conversion"]:
        case "parse":
            kinds = ["text", *([to] if column["tagged"] else [])]
            return [{"stored": texts, "kind": kind, "to": to} for kind in kinds]
        case "text":
            kinds = ["text"]
            if column["tagged"]:
                kinds += ["decimal", "timestamp", "date", "time", "binary", "double"]
            return [{"stored": texts, "kind": kind, "to": "text"} for kind in kinds]
        case "binary":
            kind = "binary" if column["tagged"] else "text"
            return [{"stored": texts, "kind": kind, "to": "binary"}]
        case "json":
            return [{"stored": "struct", "kind": "object", "to": "json"}]
        case "number":
            kinds = ["bigint", "double", "wei", "decimal"]
            return [{"stored": "mixed", "kind": kind, "to": to} for kind in kinds]
        case "document":
            return [{"stored": "struct", "kind": "object", "to": "json"}]
        case _:
            return [{"stored": "typed", "kind": to, "to": to}]
