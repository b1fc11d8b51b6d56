"""Programs written for dlt: replacement of their imports, their catalog, and comparison of datasets."""

from __future__ import annotations

import http.client
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from dev.dlt_programs.catalog import FOLDER, PROGRAMS, Program
from dev.dlt_programs.comparison import Content, differences
from dev.dlt_programs.imports import with_penstock
from dev.dlt_programs.server import LocalApi, Reply, Request, page

if TYPE_CHECKING:
    from pathlib import Path

TYPES = {"items": {"id": "bigint", "price": "decimal", "_dlt_id": "text"}}
SAME = Content(
    types=TYPES | {"items__tags": {"value": "text", "_dlt_parent_id": "text", "_dlt_list_idx": "bigint"}},
    rows={
        "items": [{"id": 1, "price": 2, "_dlt_id": "a"}, {"id": 2, "price": None, "_dlt_id": "b"}],
        "items__tags": [{"value": "x", "_dlt_parent_id": "a", "_dlt_list_idx": 0, "_dlt_id": "c"}],
    },
    state={"shop": {"resources": {"items": {"last": 2}}}},
    requests=("GET /items",),
)


def changed(**tables: list[dict[str, Any]]) -> Content:
    return replace(SAME, rows={**SAME.rows, **tables})


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("import dlt", "import penstock as dlt"),
        ("import dlt as d", "import penstock as d"),
        ("import dlt.common as common", "import penstock.common as common"),
        ("from dlt.sources.helpers import requests", "from penstock.sources.helpers import requests"),
        ("from dlt import resource", "from penstock import resource"),
        ("if True:\n    import dlt", "if True:\n    import penstock as dlt"),
        ("from .dlt import own", "from .dlt import own"),
        ("import dlthub", "import dlthub"),
        ("text = 'import dlt'  # import dlt", "text = 'import dlt'  # import dlt"),
    ],
)
def test_only_the_imports_of_dlt_are_replaced(line: str, expected: str) -> None:
    assert with_penstock(line) == expected


def test_an_import_that_no_other_name_replaces_is_refused() -> None:
    with pytest.raises(ValueError, match="line 1"):
        with_penstock("import dlt.common")


def test_each_program_has_a_driver_and_one_place() -> None:
    drivers = {path.stem for path in (FOLDER / "drivers").glob("*.py")}

    assert drivers == {program.name for program in PROGRAMS}
    assert all(bool(program.source) != bool(program.script) for program in PROGRAMS)


def test_a_block_of_a_page_is_copied_as_a_script(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("```py\nfirst = 1\n```\n\n```py\nimport dlt\n```\n")
    folder = tmp_path / "run"
    folder.mkdir()

    script = Program("second", "kind", script="page.md#1").copy_to(folder, tmp_path, tmp_path)

    assert script is not None
    assert script.read_text() == "import dlt\n"


def test_equal_rows_with_other_ids_and_in_another_order_are_equal() -> None:
    other_ids = {"a": "k", "b": "l", "c": "m"}
    rows = {
        name: [{key: other_ids.get(value, value) for key, value in row.items()} for row in reversed(table)]
        for name, table in SAME.rows.items()
    }

    assert differences(SAME, replace(SAME, rows=rows)) == []


@pytest.mark.parametrize(
    ("other", "line"),
    [
        (changed(items=SAME.rows["items"][:1]), "only dlt has row of items {'id': 2}"),
        (
            changed(items=[*SAME.rows["items"], SAME.rows["items"][1]]),
            "only penstock has row of items {'id': 2}",
        ),
        (replace(SAME, rows={"items": SAME.rows["items"]}), "only dlt has table items__tags"),
        (
            replace(SAME, types={**SAME.types, "items": {**TYPES["items"], "id": "text"}}),
            "only dlt has column of items ('id', 'bigint')",
        ),
        (replace(SAME, requests=()), "only dlt has request GET /items"),
    ],
)
def test_each_difference_is_named(other: Content, line: str) -> None:
    assert line in differences(SAME, other)


def test_another_state_is_a_difference_and_empty_entries_are_none() -> None:
    assert differences(SAME, replace(SAME, state={**SAME.state, "empty": {}})) == []
    assert differences(SAME, replace(SAME, state={}))[0].startswith("state: ")


def test_nested_rows_without_a_parent_are_a_difference() -> None:
    orphan = {**SAME.rows["items__tags"][0], "_dlt_parent_id": "nowhere"}

    assert any("without a parent" in line for line in differences(SAME, changed(items__tags=[orphan])))


def test_the_server_answers_by_host_and_path_and_notes_the_requests() -> None:
    def answer(request: Request) -> Reply:
        rows, after = page([1, 2, 3], int(request.query["at"]), 2)
        return Reply({"host": request.host, "rows": rows, "after": after, "turn": request.turn})

    api = LocalApi(answer)
    try:
        connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=10)
        connection.request("GET", "/api.acme.test/items?at=2")
        document = json.loads(connection.getresponse().read())
        connection.request("GET", "/api.acme.test/items")
        status = connection.getresponse().status
    finally:
        api.close()

    assert document == {"host": "api.acme.test", "rows": [3], "after": None, "turn": 1}
    assert api.lines[0] == "GET api.acme.test/items?at=2 "
    assert status == 404
    assert len(api.faults) == 1, "a request without a reply fails the program"
