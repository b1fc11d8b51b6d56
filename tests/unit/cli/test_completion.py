"""Completion in the shell: commands, and the names of pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.cli.factories import extract_package
from typer.testing import CliRunner

from penstock.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("words", "completions"),
    [
        ("penstock de", ["demo", "destinations"]),
        ("penstock pipeline ", ["list", "shop", "show"]),
        ("penstock pipeline sh", ["shop", "show"]),
        ("penstock pipeline shop tr", ["trace"]),
    ],
)
def test_the_beginning_of_a_word_is_completed(disk: Path, words: str, completions: list[str]) -> None:
    extract_package()
    environment = {
        "_PENSTOCK_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }

    done = CliRunner().invoke(app, [], prog_name="penstock", env=environment)

    assert sorted(done.stdout.split()) == completions
