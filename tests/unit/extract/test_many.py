"""A source with ten thousand resources, in a process of its own: memory is that of the whole process."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
MANY = 10_000
PROGRAM = """
    import json, resource, sys, time
    import penstock
    from penstock.package import Packages
    from tests.unit.extract.reading import extracted

    many = int(sys.argv[1])

    def rows(table):
        for number in range(5):
            yield {"table": table, "number": number}

    @penstock.source
    def catalogue():
        declared = penstock.resource(rows, primary_key="number")
        for table in range(many):
            yield declared.with_name(f"table_{table}")(table)

    source = catalogue()
    chosen = source.with_resources(*source.resources)
    done = extracted(chosen, Packages.at(sys.argv[2]).package("17.5"))
    print(json.dumps({
        "rows": done.info.rows,
        "tables": len(done.extracted.tables),
        "files": sum(table.files for table in done.extracted.tables),
        "seconds": time.process_time(),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }))
"""


def told(*arguments: str) -> Any:
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_ten_thousand_resources_are_extracted_in_seconds_and_little_memory(tmp_path: Path) -> None:
    few, many = told("10", str(tmp_path / "few")), told(str(MANY), str(tmp_path / "many"))

    assert (many["rows"], many["tables"], many["files"]) == (5 * MANY, MANY, MANY)
    assert many["megabytes"] - few["megabytes"] < 200
    assert many["seconds"] < 60
