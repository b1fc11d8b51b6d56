"""Records the vector files again: `PENSTOCK_TEST_DLT_PYTHON=... python -m tests.oracle.record [file ...]`.

One of them needs the Postgres that `make up` starts: put `dev/with-parts` before the command.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from tests.oracle import (
    adapter_cases,
    database_outcomes,
    merge_outcomes,
    scenario_outcomes,
    test_config,
    test_contracts,
    test_duckdb_snippets,
    test_rest,
    test_values,
)
from tests.oracle.frame_cases import dlt_results as frames
from tests.oracle.identifiers import identifiers
from tests.oracle.oracle_client import VECTORS, ask
from tests.oracle.row_sets import RECORDED
from tests.oracle.schema_documents import document, import_steps
from tests.oracle.snippet_runner import SNIPPETS
from tests.oracle.test_names import ALL, digest
from tests.oracle.test_rows import answers, recorded
from tests.oracle.test_states import STATES

if TYPE_CHECKING:
    from collections.abc import Callable


def names() -> dict[str, str]:
    raw = identifiers()
    return {
        f"{convention}/{length}": digest(ask("names", convention=convention, max_length=length, raw=raw))
        for convention, length in ALL
    }


def files() -> dict[str, Any]:
    answer: dict[str, Any] = ask("schema", document=document())
    return answer


def imports() -> list[Any]:
    answer: list[Any] = ask("imports", steps=import_steps())
    return answer


def rows() -> list[list[str]]:
    return [recorded(case, expected) for case, expected in answers(0, RECORDED)]


def contracts() -> list[list[str]]:
    return [test_contracts.recorded(case, expected) for case, expected in test_contracts.answers()]


def config() -> dict[str, Any]:
    return {name: test_config.dlt_answers(name) for name in test_config.QUESTIONS}


def snippets() -> dict[str, Any]:
    answer: dict[str, Any] = ask("snippets", paths=[str(path) for path in SNIPPETS.values()])
    return answer


def states() -> list[Any]:
    answer: list[Any] = ask("states", states=STATES)
    return answer


def merges() -> dict[str, Any]:
    return merge_outcomes.dlt_outcomes(merge_outcomes.RECORDED)


def database_merges() -> dict[str, Any]:
    """Return the outcomes in DuckDB, and in the Postgres that `make up` starts."""
    postgres = os.environ["PENSTOCK_TEST_POSTGRES"]
    return {
        "duckdb": database_outcomes.dlt_outcomes(database_outcomes.RECORDED),
        "postgres": database_outcomes.dlt_outcomes(database_outcomes.RECORDED, postgres),
    }


def adapters() -> dict[str, Any]:
    answer = ask("adapters", resource=adapter_cases.RESOURCE, cases=adapter_cases.CASES)
    return {name: adapter_cases.changes(table) for name, table in answer.items()}


def rest() -> Any:
    return test_rest.theirs_now()


RECORDERS: dict[str, Callable[[], Any]] = {
    "names.json": names,
    "files.json": files,
    "imports.json": imports,
    "rows.json": rows,
    "values.json": test_values.recorded,
    "contracts.json": contracts,
    "snippets.json": snippets,
    "states.json": states,
    "config.json": config,
    "frames.json": frames,
    "merges.json": merges,
    "database_merges.json": database_merges,
    "duckdb_snippets.json": test_duckdb_snippets.dlt_outcomes,
    "scenarios.json": scenario_outcomes.dlt_outcomes,
    "scenarios_page.json": scenario_outcomes.dlt_outcomes_of_the_page,
    "rest.json": rest,
    "adapters.json": adapters,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or RECORDERS:
        (VECTORS / name).write_text(json.dumps(RECORDERS[name](), indent=1, ensure_ascii=False) + "\n")
