"""`penstock sources` and `penstock destinations`: a line each, with what is missing."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from tests.command_documents import read_documents
from tests.unit.cli.golden import assert_output
from typer.testing import CliRunner

import penstock
from penstock.cli import components
from penstock.cli.app import app


def register(monkeypatch: pytest.MonkeyPatch, *entries: EntryPoint) -> None:
    own = [EntryPoint(name, f"penstock.destinations.{name}:X", "g") for name in ("delta", "iceberg")]
    monkeypatch.setattr(components, "entry_points", lambda **_: [*entries, *own])


@pytest.mark.parametrize("command", ["sources", "destinations"])
@pytest.mark.parametrize("installed", [True, False])
def test_each_has_a_line(command: str, installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, EntryPoint("crm", "shop_plugins.crm:CRM", "g"))
    monkeypatch.setattr(components, "find_spec", lambda _: object() if installed else None)

    output = CliRunner().invoke(app, [command], env={"COLUMNS": "80"}).stdout

    assert_output(f"{command}_{'installed' if installed else 'missing'}", output)


def test_json_has_the_function_and_the_missing_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "find_spec", lambda name: None if name == "requests" else object())

    output = CliRunner().invoke(app, ["sources", "--json"]).stdout

    documents = {document["name"]: document for document in read_documents("sources", output)}
    assert documents["rest_api"]["missing_extras"] == ["rest"]
    assert not documents["rest_api"]["is_installed"]
    assert documents["filesystem"]["is_installed"]


def test_every_own_destination_is_listed_by_its_factory() -> None:
    own = [
        item
        for item in components.known_destinations()
        if item.reference.startswith("penstock.destinations.")
    ]

    assert {item.name for item in own} == {"delta", "duckdb", "filesystem", "iceberg", "postgres"}
    assert all(callable(getattr(penstock.destinations, item.name)) for item in own)
