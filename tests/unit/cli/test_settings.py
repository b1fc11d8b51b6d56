"""`penstock config explain`: the places of a setting, its value, and names that were meant."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.command_documents import read_documents
from tests.unit.cli.factories import extract_package
from tests.unit.cli.golden import assert_output
from typer.testing import CliRunner

from penstock.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

SECRET = "hunter2-in-the-tree"


def explain(*words: str) -> Result:
    done = CliRunner().invoke(app, ["config", "explain", *words])
    assert done.exit_code == 0, done.exception
    return done


def explain_as_json(*words: str) -> list[dict[str, Any]]:
    return read_documents("config explain", explain(*words, "--json").stdout)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, disk: Path) -> Path:
    """A project with settings."""
    folder = tmp_path / ".penstock"
    folder.mkdir()
    (folder / "config.toml").write_text(
        '[destination.delta]\nbucket_url = "/lake"\n[normalize]\ndriver_rows = 7\n'
    )
    (folder / "secrets.toml").write_text(f'[sources.hub]\ntoken = "{SECRET}"\n')
    (folder / "secrets.toml").chmod(0o600)
    return tmp_path


def test_the_places_of_a_setting_are_shown_with_the_files(project: Path) -> None:
    output = explain("destination.delta.bucket_url", "--pipeline", "shop").stdout

    assert_output("config_explain", output.replace(str(project), "PROJECT"))


def test_a_place_that_wins_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUCKET_URL", "/other")

    (value,) = explain_as_json("bucket_url", "--section", "destination.delta")

    assert (value["field"], value["value"], value["location"]) == (
        "bucket_url",
        "'/other'",
        "environment: BUCKET_URL",
    )
    with_value = [(place["provider"], place["is_used"]) for place in value["places"] if place["has_value"]]
    assert with_value == [("environment", True), ("config.toml", False)]


def test_all_settings_of_a_section_are_shown_in_a_line_each() -> None:
    lines = explain("normalize").stdout.splitlines()

    assert "driver_rows = 7 (config.toml: normalize.driver_rows)" in lines
    assert "quarantine = True (default)" in lines
    assert any(
        line.startswith("bucket_url = '/lake'") for line in explain("destination.delta").stdout.splitlines()
    )


def test_a_default_is_shown() -> None:
    (value,) = explain_as_json("pipelines.shop.restore_from_destination")

    assert (value["origin"], value["value"]) == ("default", "True")
    assert value["places"][0]["name"] == "PIPELINES__SHOP__RESTORE_FROM_DESTINATION"


def test_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESTINATION__DELTA__CREDENTIALS__AWS_SECRET_ACCESS_KEY", SECRET)

    for words in (["sources.hub.token"], ["destination.delta.credentials"], ["destination.delta"]):
        assert SECRET not in explain(*words).output + explain(*words, "--json").output
        assert "***" in explain(*words).output


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (["normalize.driver_row"], "unknown setting of normalize 'driver_row': did you mean 'driver_rows'?"),
        (["destination.dleta.bucket_url"], "unknown destination 'dleta': did you mean 'delta'?"),
        (["token", "--pipeline", "shp"], "unknown pipeline 'shp': did you mean 'shop'?"),
    ],
)
def test_an_unknown_name_is_noted_with_the_one_that_was_meant(words: list[str], note: str) -> None:
    extract_package()

    done = explain(*words, "--json")

    assert note in done.stderr
    assert json.loads(done.stdout)["origin"] == "missing"
