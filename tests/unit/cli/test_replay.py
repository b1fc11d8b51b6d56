"""The command `replay`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.pipeline.quarantined import quarantine, quarantined
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

    from penstock.pipeline.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("disk", "no_spark")


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    """Return a pipeline with a row in quarantine that can be replayed, and one that cannot."""
    lake = penstock.destinations.delta(bucket_url=str(tmp_path / "lake"))
    pipeline = penstock.pipeline("shop", destination=lake)
    pipeline.run([{"id": 1}], table_name="orders")
    quarantine(pipeline, [quarantined({"id": 2, "colour": "red"}), quarantined("{", rule="json")])
    return pipeline


def replay(pipeline: Pipeline, *options: str) -> Result:
    location = str(pipeline.destination_client().config.bucket_url)  # type: ignore[attr-defined]
    words = ["pipeline", "shop", "replay", "--location", location, *options]
    return CliRunner().invoke(app, words)


def test_the_rows_are_shown_before_they_are_replayed(pipeline: Pipeline) -> None:
    refused = replay(pipeline)
    done = replay(pipeline, "--yes", "--json")

    assert refused.exit_code == 2
    assert "Replay of 1 row of _dlt_quarantine, pipeline shop:\n  orders: 1 row of orders\n" in refused.output
    document = json.loads(done.stdout)
    assert (document["replayed"], document["refused_again"], document["skipped"]) == (1, 0, 1)
    assert pipeline.dataset()["orders"].count() == 2


def test_a_dry_run_and_an_empty_selection_ask_for_nothing(pipeline: Pipeline) -> None:
    shown = replay(pipeline, "--dry-run", "--rule", "columns")
    nothing = replay(pipeline, "--table", "buyers")

    assert (shown.exit_code, nothing.exit_code) == (0, 0)
    assert shown.stdout.startswith("Replay of 1 row of _dlt_quarantine")
    assert nothing.stdout == "No row in _dlt_quarantine of pipeline shop can be replayed.\n"
    assert pipeline.dataset()["orders"].count() == 1
