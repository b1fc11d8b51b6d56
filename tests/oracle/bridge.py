"""Answers questions as dlt does. Runs in a Python that has dlt, and knows nothing of penstock.

One JSON document `{"ask": ..., ...}` comes on standard input, one goes to standard output.
"""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from typing import Any

from dlt.common.normalizers.naming import direct, duck_case, snake_case, sql_ci_v1, sql_cs_v1
from dlt.common.schema import Schema

CONVENTIONS = {
    "snake_case": snake_case,
    "sql_ci_v1": sql_ci_v1,
    "sql_cs_v1": sql_cs_v1,
    "direct": direct,
    "duck_case": duck_case,
}


def names(question: dict[str, Any]) -> list[list[str]]:
    naming = CONVENTIONS[question["convention"]].NamingConvention(question["max_length"])
    return [[naming.normalize_identifier(raw), naming.normalize_path(raw)] for raw in question["raw"]]


def schema(question: dict[str, Any]) -> dict[str, Any]:
    """Open a schema document, and say how dlt writes it again."""

    # Each answer from a fresh one: writing a document may count a version.
    def opened() -> Any:
        return Schema.from_dict(deepcopy(question["document"]))

    return {
        "modified": opened().is_modified,
        "document": opened().to_dict(),
        "yaml": opened().to_pretty_yaml(),
        "json": opened().to_pretty_json(),
        "bare_yaml": opened().to_pretty_yaml(remove_processing_hints=True),
    }


ANSWERS = {"names": names, "schema": schema}

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    answer = ANSWERS[asked["ask"]](asked)
    sys.stdout.write(json.dumps(answer))
