"""A source with many resources, in a separate process to measure its memory.

`PENSTOCK_TEST_RESOURCES` is their number; 10,000 must pass.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
MANY = int(os.environ.get("PENSTOCK_TEST_RESOURCES", "200"))
PROGRAM = """
    import json, resource, sys, time
    import penstock
    from penstock.errors import ResourceFailed
    from penstock.extract.plan import Workload
    from penstock.package import Packages
    from tests.unit.extract.extraction import extract_data

    many, breaks = int(sys.argv[1]), int(sys.argv[3])

    def rows(table):
        for number in range(5):
            if table == breaks and number == 3:
                raise LookupError("no such page")
            yield {"table": table, "number": number}

    @penstock.source
    def catalogue():
        declared = penstock.resource(rows, primary_key="number")
        for table in range(many):
            named = declared.with_name(f"table_{table}")(table)
            # Twenty of the resources run in threads.
            yield named.parallelize() if table % (many // 20) == 0 else named

    source = catalogue()
    chosen = source.with_resources(*source.resources)
    try:
        package = Packages.at(sys.argv[2]).package("17.5")
        done = extract_data(chosen, package, workload=Workload(workers=20))
    except ResourceFailed as error:
        details = {"resource": error.resource, "item": error.item, "cause": error.cause}
        print(json.dumps({**details, "last": error.traceback.strip().splitlines()[-2:]}))
        sys.exit()
    print(json.dumps({
        "rows": done.report.rows,
        "tables": len(done.extracted.tables),
        "files": sum(table.files for table in done.extracted.tables),
        "seconds": time.process_time(),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }))
"""


def extract_in_process(many: int, folder: Path, *, breaks: int = -1) -> Any:
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(many), str(folder), str(breaks)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_many_resources_are_extracted_in_seconds_and_little_memory(tmp_path: Path) -> None:
    few, many = extract_in_process(20, tmp_path / "few"), extract_in_process(MANY, tmp_path / "many")

    took = f"{many['seconds']:.1f} s of processor, {many['megabytes']:.0f} MiB"
    print(f"{MANY:,} resources, 20 in threads: {took}")  # noqa: T201 - a figure for people
    assert (many["rows"], many["tables"], many["files"]) == (5 * MANY, MANY, MANY)
    assert many["megabytes"] - few["megabytes"] < 200
    assert many["seconds"] < 60


@pytest.mark.parametrize("breaks", [MANY * 7 // 9, MANY * 8 // 10])
def test_the_failed_resource_is_named_with_and_without_threads(tmp_path: Path, breaks: int) -> None:
    error = extract_in_process(MANY, tmp_path, breaks=breaks)

    assert error == {
        "resource": f"table_{breaks}",
        "item": 4,
        "cause": "LookupError('no such page')",
        "last": ['  File "<string>", line 14, in rows', "LookupError: no such page"],
    }
