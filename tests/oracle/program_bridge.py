"""Programs for files of DuckDB, run by dlt; a program for a Python that has dlt and no penstock."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}
os.environ["DLT_DATA_DIR"] = tempfile.mkdtemp()

from dlt.common.configuration.container import Container
from dlt.common.pipeline import PipelineContext

# Both tools use these modules of this folder; the interpreter was started without the folder on its path.
sys.path.append(str(Path(__file__).parent))
# mypy finds them by their whole names.
from database_content import content_of  # type: ignore[import-not-found]
from program_runner import comparable, run_program  # type: ignore[import-not-found]


def outcome(name: str) -> dict[str, Any]:
    """Return the outcome of a program, or its error."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            result: dict[str, Any] = comparable(run_program(name, Path(folder), content_of))
        except Exception:
            result = {"error": traceback.format_exc()}
        finally:
            Container()[PipelineContext].deactivate()
        return result


if __name__ == "__main__":
    question = json.load(sys.stdin)
    answers = {name: outcome(name) for name in question["programs"]}
    sys.stdout.write(json.dumps(answers))
