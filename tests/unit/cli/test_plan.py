"""The commands for plans: one process plans, another one shows and applies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.command_documents import read_documents
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

PROGRAM = """
import penstock

@penstock.resource
def planned_orders():
    yield {"id": 1, "items": [{"sku": "A7"}]}
    yield {"id": 2}
"""

pytestmark = pytest.mark.usefixtures("no_spark", "disk")


def invoke(words: str) -> Result:
    """Run a command without a terminal."""
    return CliRunner().invoke(app, words.split())


def test_a_source_is_planned_shown_and_applied(tmp_path: Path) -> None:
    (tmp_path / "planned_shop.py").write_text(PROGRAM, encoding="utf-8")

    planned = invoke("plan planned_shop:planned_orders --destination ./lake --dataset demo --html plan.html")
    (shown,) = read_documents("pipeline plans", invoke("pipeline planned_orders plans --json").stdout)
    unconfirmed = invoke("pipeline planned_orders apply")
    applied = invoke("pipeline planned_orders apply --yes --json")

    assert planned.exit_code == 0, planned.output
    (package,) = shown["packages"]
    assert f"penstock pipeline planned_orders apply {package['load_id']}" in planned.output
    assert "new table planned_orders: id bigint" in planned.output
    assert "<table>" in (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert unconfirmed.exit_code == 2
    (document,) = read_documents("pipeline apply", applied.stdout)
    assert document["rows"] == {table["table"]: table["inserted"] for table in package["tables"]}
    assert invoke("pipeline planned_orders plans").stdout == "There are no plans.\n"


def test_a_plan_is_named_where_several_wait() -> None:
    pipeline = penstock.pipeline("shop", destination=penstock.destinations.delta(bucket_url="lake"))
    first, second = (pipeline.plan([{"id": number}], table_name="orders").load_ids[0] for number in (1, 2))

    unnamed = invoke("pipeline shop drop-plan --yes")
    dropped = invoke(f"pipeline shop drop-plan {first} --yes")

    assert isinstance(unnamed.exception, penstock.errors.UsageError)
    assert dropped.stdout == f"Dropped {first}.\n"
    assert [plan.load_ids for plan in pipeline.list_plans()] == [(second,)]


def test_an_error_of_the_source_ends_the_plan(tmp_path: Path) -> None:
    (tmp_path / "broken_shop.py").write_text("def broken():\n    raise KeyError('x')\n", encoding="utf-8")

    planned = invoke("plan broken_shop:broken --destination ./lake")

    assert planned.exit_code == 1
