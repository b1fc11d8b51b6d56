"""The published JSON Schema: it has all commands with `--json`, and their output matches it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
from deltalake import write_deltalake
from dev.command_schema import DOCUMENTS, SCHEMA_FILE, key_of, schema_text
from jsonschema import Draft202012Validator, ValidationError
from pyarrow import table
from tests.command_documents import read_documents
from tests.unit.cli.factories import make_stuck_package, orders
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app
from penstock.cli.command_groups import PIPELINE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXAMPLES: Mapping[str, str] = {
    "adopt": "buyers --pipeline crm --location lake --dataset-name raw --cursor id --dry-run",
    "config explain": "normalize",
    "conns": "",
    "demo": "--folder example",
    "destinations": "",
    "doctor": "",
    "init": "python",
    "load": "rows.csv ./lake --print-script",
    "packages": "lake/shop/_dlt_pkg/shop",
    "pipeline abort-packages": "--yes",
    "pipeline apply": "--yes",
    "pipeline drop": "orders --state-only --yes",
    "pipeline drop-pending": "--yes",
    "pipeline drop-pending-packages": "--yes",
    "pipeline drop-plan": "--yes",
    "pipeline fail-job": "1794709965.511098 orders.5c1c2f0d11.1.reference --yes",
    "pipeline failed-jobs": "",
    "pipeline info": "",
    "pipeline list": "",
    "pipeline load-package": "",
    "pipeline package": "",
    "pipeline packages": "",
    "pipeline plans": "",
    "pipeline replay": "--yes",
    "pipeline report": "",
    "pipeline schema": "",
    "pipeline state": "",
    "pipeline sync": "--yes",
    "pipeline trace": "",
    "pipeline undo": "--yes",
    "pipeline why": "orders.id",
    "replay": "--pipeline shop --yes",
    "sources": "",
    "undo": "--pipeline shop --yes",
}
"""The arguments of each command, but not of `run`, `plan` and `pipeline show`, which other tests start."""
STUCK = {"pipeline failed-jobs", "pipeline fail-job"}
"""Commands for a pipeline with a job that failed."""
PLANS = {"pipeline plans", "pipeline apply", "pipeline drop-plan"}
"""Commands for a pipeline with a plan."""


def commands_with_json(group: Any, *path: str) -> Iterator[str]:
    """Yield the commands that have the option; the placeholder for the name of a pipeline is left out."""
    for name, command in group.commands.items():
        words = path if name == PIPELINE_NAME else (*path, name)
        if hasattr(command, "commands"):
            yield from commands_with_json(command, *words)
        elif any("--json" in parameter.opts for parameter in command.params):
            yield " ".join(words)


def test_every_command_with_json_has_a_schema() -> None:
    commands = set(commands_with_json(typer.main.get_command(app)))

    assert commands == DOCUMENTS.keys() == EXAMPLES.keys() | {"run", "plan", "pipeline show"}


def test_the_published_schema_is_that_of_the_code() -> None:
    if os.environ.get("PENSTOCK_TEST_GOLDEN") == "write":
        SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
    published = SCHEMA_FILE.read_text(encoding="utf-8")

    assert published == schema_text(), "python -m dev.command_schema writes the file"
    Draft202012Validator.check_schema(json.loads(published))


@pytest.mark.usefixtures("disk", "no_spark")
@pytest.mark.parametrize("command", EXAMPLES)
def test_the_output_of_a_command_matches_the_schema(
    command: str, tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("SOURCES__SHOP__BUCKET_URL", str(tmp_path))
    options = ["--json"]
    if command in STUCK:
        make_stuck_package(tmp_path, disk)
        options += ["--location", "lake"]
    else:
        pipeline = penstock.pipeline("shop", destination=penstock.destinations.delta(bucket_url="lake"))
        pipeline.run(orders())
        pipeline.extract(orders())
    Path("rows.csv").write_text("id\n1\n", encoding="utf-8")
    write_deltalake("lake/raw/buyers", table({"id": [1, 2]}))
    first, *rest = command.split()
    words = [first, "shop", *rest] if first == "pipeline" and rest != ["list"] else [first, *rest]
    if command in {"pipeline drop", "pipeline undo", "undo", *PLANS}:
        pipeline.drop_pending_packages()
    if command in PLANS:
        pipeline.plan(orders())
    if command == "pipeline package":
        words += pipeline.list_completed_load_packages()

    done = CliRunner().invoke(app, [*words, *EXAMPLES[command].split(), *options])

    assert done.exit_code in {0, 1, 3}, done.output
    assert read_documents(command, done.stdout), done.output


@pytest.mark.parametrize(
    "document",
    [{"pipeline_name": "shop"}, {"pipeline_name": "shop", "dropped": [], "kept": [], "more": 1}],
)
def test_missing_and_other_keys_are_recognized(document: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read_documents("pipeline drop-pending", json.dumps(document))


def test_a_document_is_validated_by_the_key_of_its_command() -> None:
    published = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    schema = {**published, "$ref": f"#/$defs/{key_of('pipeline sync')}"}

    document = {"pipeline_name": "shop", "state_version": 1, "schemas": ["shop"], "new_key": 1}

    assert Draft202012Validator(schema).is_valid(document)
    assert not Draft202012Validator(schema).is_valid({**document, "state_version": "1"})
