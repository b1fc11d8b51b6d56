"""Import in a new process, beside PySpark and dlt."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from benchmarks.suite.dlt_process import PYTHON, dlt_environment
from benchmarks.suite.fresh import compiled_environment, wall_seconds
from benchmarks.suite.results import BARE, DLT, PENSTOCK, SECONDS, CaseResult, collect

if TYPE_CHECKING:
    from benchmarks.suite.plan import Plan

_NO_SPARK: Final = "import sys, penstock; sys.exit('pyspark' in sys.modules)"


def run(plan: Plan) -> dict[str, CaseResult]:
    """Import in turns, after a round that compiles modules and fills the cache of files."""
    commands = {
        PENSTOCK: [sys.executable, "-c", _NO_SPARK],
        BARE: [sys.executable, "-c", "from pyspark.sql import SparkSession"],
        DLT: [os.environ[PYTHON], "-c", "import dlt"],
    }
    usual, dlt = (compiled_environment(plan.folder, env) for env in (os.environ, dlt_environment()))
    rounds = [
        {
            side: {SECONDS: wall_seconds(command, env=dlt if side == DLT else usual)}
            for side, command in commands.items()
        }
        for _ in range(1 + 3 * plan.rounds)
    ]
    title = "Import in a new process, which must not import PySpark"
    return {"imports": CaseResult(title=title, measures=collect(rounds[1:]))}
