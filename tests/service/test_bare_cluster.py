"""The cluster of the dev scripts has neither penstock nor the driver's files; `penstock doctor` passes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import MODE

pytestmark = [
    pytest.mark.every_mode,
    pytest.mark.handful,
    pytest.mark.skipif(MODE != "connect", reason="asks the Connect server"),
]
LOOK = """
import os, sys
os.umask(0)
from pyspark.sql import SparkSession

def look(batches):
    import os, sys, pyarrow as pa
    try:
        import penstock
        has = "penstock"
    except ImportError:
        has = "no penstock"
    try:
        os.listdir(FOLDER)
        sees = "sees it"
    except OSError:
        sees = "does not see it"
    for batch in batches:
        report = f"{has}, {sees}, user {os.getuid()}"
        yield pa.RecordBatch.from_arrays([pa.array([report] * batch.num_rows)], names=["report"])

FOLDER = sys.argv[1]
spark = SparkSession.builder.remote(os.environ["PENSTOCK_TEST_CONNECT"]).getOrCreate()
rows = spark.range(8, numPartitions=4).mapInArrow(look, "report string").distinct().collect()
print("|".join(row["report"] for row in rows))
"""

RELEASE = """
import os
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote(os.environ["PENSTOCK_TEST_CONNECT"]).getOrCreate()
spark.range(1).collect()
spark.client.release_session()
"""


def doctor(folder: Path, *arguments: str) -> tuple[int, list[dict[str, str]]]:
    environment = {
        **os.environ,
        "SPARK__REMOTE": os.environ["PENSTOCK_TEST_CONNECT"],
        "PENSTOCK_HOME": str(folder),
    }
    program = "import os; os.umask(0); from penstock.cli import main; main()"
    command = [sys.executable, "-c", program, "doctor", "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_executors_have_no_penstock_and_do_not_see_the_drivers_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)

    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    report = done.stdout.strip().splitlines()[-1]
    assert "no penstock" in report
    if os.getuid() == 0:
        assert "does not see it" in report
        assert "user 0" not in report


def test_the_connect_server_shares_no_temporary_files_with_other_users() -> None:
    """When a session is released, the server opens a folder with one name for all servers."""
    done = subprocess.run([sys.executable, "-c", RELEASE], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    temporary = Path(os.environ["PENSTOCK_TEST_SHARED"]).parent / "spark" / "tmp"
    assert (temporary / "spark_connect_model_cache").is_dir()


def test_the_doctor_finds_a_connect_server_ready(tmp_path: Path) -> None:
    code, findings = doctor(tmp_path, "--location", f"{os.environ['PENSTOCK_TEST_SHARED']}/doctor")

    verdicts = {finding["check"]: finding["verdict"] for finding in findings}
    assert code == 0, findings
    assert verdicts["Session"] == verdicts["Isolation"] == verdicts["Storage"] == verdicts["Delta"] == "ok"
    assert "a clone on the server" in next(f["fact"] for f in findings if f["check"] == "Isolation")


@pytest.mark.at_length
def test_the_doctor_reports_that_a_cluster_has_no_location(tmp_path: Path) -> None:
    code, findings = doctor(tmp_path)

    failure = next(finding for finding in findings if finding["verdict"] == "failure")
    assert code == 1
    assert "DESTINATION__DELTA__BUCKET_URL" in failure["fix"]
