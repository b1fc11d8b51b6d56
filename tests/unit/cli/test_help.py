"""The help of all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from tests.unit.cli.golden import assert_output
from typer.testing import CliRunner

from penstock.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator


def all_commands(group: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of a group, of its commands, and of its groups."""
    yield path
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from all_commands(command, *path, name)
        else:
            yield (*path, name)


def test_help_is_stable() -> None:
    outputs = {
        words: CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "100"})
        for words in all_commands(typer.main.get_command(app))
    }

    assert {output.exit_code for output in outputs.values()} == {0}
    assert_output("help", "".join(output.stdout.lstrip("\n") for output in outputs.values()))
