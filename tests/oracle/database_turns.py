"""Turns of dlt and penstock on one dataset, compared with those of dlt alone on another one."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.oracle.database_outcomes import load_outcome
from tests.oracle.merge_outcomes import BRIDGE
from tests.oracle.oracle_client import PYTHON
from tests.oracle.turns import load_turn

import penstock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.oracle.database_content import Content

    from penstock.pipeline.pipeline import Pipeline


@contextmanager
def dlt_process() -> Iterator[Callable[..., None]]:
    """Start dlt; yield a function that loads a turn with it."""
    assert PYTHON is not None
    command = [PYTHON, "-P", str(BRIDGE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = process.stdin, process.stdout

        def load(**question: Any) -> None:
            lines[0].write(json.dumps({"ask": "turn", **question}) + "\n")
            lines[0].flush()
            assert lines[1].readline() == "null\n", "dlt has failed: its standard error has the reason"

        yield load
        process.stdin.close()


def load_turns(
    load_with_dlt: Callable[..., None],
    pipeline: Callable[[Path], Pipeline],
    folder: Path,
    strategy: str,
    turns: int,
    *,
    mixed: str,
    alone: str,
) -> None:
    """Load turns into both datasets, each on a machine without a working folder; penstock begins."""
    for turn in range(turns):
        machine = folder / f"machine-{turn}"
        if turn % 2:
            load_with_dlt(dataset=mixed, folder=str(machine), strategy=strategy, turn=turn)
        else:
            load_turn(penstock, pipeline(machine), strategy, turn)
        load_with_dlt(dataset=alone, folder=str(folder / f"alone-{turn}"), strategy=strategy, turn=turn)


def outcome(content: Content, strategy: str) -> dict[str, Any]:
    """Return what must be equal in both datasets."""
    disposition = strategy if strategy == "append" else {"strategy": strategy}
    return load_outcome({"name": "orders", "loads": [{"write_disposition": disposition}]}, content)
