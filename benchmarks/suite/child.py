"""One case in a process: its argument is a JSON text, its results are written into its folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.suite.plan import Plan, run_case
from benchmarks.suite.results import case_to_dict


def main(text: str) -> None:
    """Run the case."""
    command = json.loads(text)
    folder = Path(command["folder"])
    work = folder / "work"
    work.mkdir()
    plan = Plan(size=command["size"], rounds=command["rounds"], folder=work)
    results = {name: case_to_dict(case) for name, case in run_case(command["case"], plan).items()}
    (folder / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
