"""Set-up of all tests.

The folder is the marker; profiles of hypothesis; the seed; the Spark session.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import subprocess
import sys
import uuid
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, core, settings
from pyspark.sql import SparkSession

from penstock.pipeline.pipeline import active_pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parent

# A slow machine is not a failure: no time limit for one example, and no complaint about a slow start.
# Hypothesis would try the same examples in each run of CI: they come from the seed instead.
_PATIENT: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
    "derandomize": False,
}
settings.register_profile("quick", max_examples=25, **_PATIENT)
settings.register_profile("at length", max_examples=200, **_PATIENT)
LONG_SHARE = Fraction(os.environ.get("PENSTOCK_TEST_AT_LENGTH") or 0)
"""The share of the tests marked `at_length` that run: `1` for all, `1/2` for a half that the seed chooses."""
AT_LENGTH = LONG_SHARE == 1
"""Whether tests run at their full sizes."""
settings.load_profile("at length" if AT_LENGTH else "quick")

# For processes that tests start: they are short, and the optimizing compiler takes more than it saves.
# Hadoop starts a process for each file that it makes, to set its mode: VFORK is the shortest way to do that.
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djdk.lang.Process.launchMechanism=VFORK"
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"{_QUICK} -XX:ReservedCodeCacheSize=512m")

# Each of them has a home folder of its own: an archive of classes would be written and never used.
os.environ.setdefault("SPARK__CLASS_ARCHIVE", "false")

MODE = os.environ.get("PENSTOCK_TEST_MODE", "local")
if MODE != "local":
    # A cluster is tested with what Spark does: it writes small tables too.
    os.environ.setdefault("NORMALIZE__DRIVER_ROWS", "0")
SEED = int(os.environ.setdefault("PENSTOCK_TEST_SEED", str(random.SystemRandom().randrange(1, 1_000_000))))
"""The seed of tests that try a few cases of many: new in each run unless it is set, and printed."""
OPTIONAL_JARS = [
    group
    for group in ("s3", "postgres", "mariadb", "mysql")
    if f"PENSTOCK_TEST_JARS_{group.upper()}" in os.environ
]
"""Present jars besides those of the table formats: a JVM loads them at its start."""
EXTENSIONS = {
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}


def pytest_configure(config: pytest.Config) -> None:
    """Make hypothesis choose its examples by the seed too, unless its own option sets one."""
    if config.getoption("--hypothesis-seed") is None:
        core.global_force_seed = SEED  # type: ignore[assignment]  # as its option does


def pytest_report_header() -> str:
    """Return the seed, printed before anything can hang."""
    return f"seed: PENSTOCK_TEST_SEED={SEED}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seed after the failures."""
    terminalreporter.write_line(f"to choose the same again: PENSTOCK_TEST_SEED={SEED}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test by its folder; on a cluster keep only tests that are marked for every mode of Spark.

    Of the tests marked `at_length`, keep the share that is set.
    """
    for item in items:
        if item.path.is_relative_to(TESTS):
            item.add_marker(item.path.relative_to(TESTS).parts[0])
    if MODE != "local":
        items[:] = [item for item in items if item.get_closest_marker("every_mode")]
    items[:] = [item for item in items if not item.get_closest_marker("at_length") or is_in_share(item)]


def is_in_share(item: pytest.Item) -> bool:
    """Return whether a long test runs: the seed decides for each test, whichever tests are collected."""
    return random.Random(f"{SEED} {item.nodeid}").random() < LONG_SHARE


def pytest_collection_finish() -> None:
    """Keep the garbage collector from walking through all tests and modules again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def class_path(*jar_groups: str) -> str:
    """Return the class path of the jars of these groups."""
    return ":".join(os.environ[f"PENSTOCK_TEST_JARS_{group.upper()}"] for group in jar_groups)


def process_env() -> dict[str, str]:
    """Return the environment of a process that builds its own session with the jars of most tests."""
    return {**os.environ, "SPARK__JARS": class_path("delta", "iceberg")}


def session_builder(*jar_groups: str) -> SparkSession.Builder:
    """Return the builder of a classic session as users build it: jars and extension, but no catalog."""
    jars = class_path(*jar_groups)
    os.environ["PYSPARK_PYTHON"] = os.environ.get("PENSTOCK_TEST_CLUSTER_PYTHON", sys.executable)
    return (
        SparkSession.builder.appName("penstock-tests")
        .config("spark.driver.extraClassPath", jars)
        .config("spark.executor.extraClassPath", jars)
        .config(
            "spark.sql.extensions", ",".join(EXTENSIONS[group] for group in jar_groups if group in EXTENSIONS)
        )
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        # One session sees hundreds of tables in a run, and Delta keeps the state of each.
        .config("spark.driver.memory", "6g")
        # It runs as long as all tests: optimize code, and reserve much memory for new objects.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=4 -Xms6g -Xmn3g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.session.timeZone", "America/New_York")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.databricks.delta.snapshotPartitions", "2")
    )


def classic_session(*jar_groups: str) -> SparkSession:
    """Return a classic session on this machine, or in that mode on the standalone cluster."""
    builder = session_builder(*jar_groups)
    if MODE != "standalone":
        return builder.master("local[2]").getOrCreate()
    # Executors run as another user, who must be able to write into folders that the driver makes.
    os.umask(0)
    return (
        builder.master(os.environ["PENSTOCK_TEST_SPARK_MASTER"])
        .config("spark.hadoop.fs.permissions.umask-mode", "000")
        .config("spark.driver.extraJavaOptions", _QUICK)
        .config("spark.executor.extraJavaOptions", _QUICK)
        .config("spark.cores.max", "2")
        .config("spark.executor.cores", "1")
        .config("spark.executor.memory", "1g")
        .getOrCreate()
    )


@pytest.fixture(autouse=True)
def _no_pipeline_stays_active() -> Iterator[None]:
    """Deactivate the pipeline of a test: schemas and settings of the next one would follow it."""
    yield
    if (pipeline := active_pipeline()) is not None:
        pipeline.deactivate()


@pytest.fixture(scope="session")
def session_of_mode() -> Iterator[SparkSession]:
    """The user's session: local, on the standalone cluster, or a client of the Connect server."""
    match MODE:
        case "local" | "standalone":
            session = classic_session("delta", "iceberg", *OPTIONAL_JARS)
        case "connect":
            os.umask(0)
            session = SparkSession.builder.remote(os.environ["PENSTOCK_TEST_CONNECT"]).getOrCreate()
        case _:
            raise ValueError(f"PENSTOCK_TEST_MODE={MODE}")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark(session_of_mode: SparkSession) -> SparkSession:
    """The session of tests; folders with few rows override it by one that compiles nothing."""
    return session_of_mode


@pytest.fixture
def compiled(session_of_mode: SparkSession) -> SparkSession:
    """The session that compiles, active in the thread: Spark reads some settings from the active session."""
    session_of_mode.createDataFrame([], "nothing INT")
    return session_of_mode


@pytest.fixture
def location(tmp_path: Path) -> Iterator[str]:
    """A folder that driver and executors both see, empty and removed afterwards."""
    shared = os.environ.get("PENSTOCK_TEST_SHARED")
    if MODE == "local" and shared is None:
        yield str(tmp_path / "lake")
        return
    folder = Path(shared or tmp_path) / f"{MODE}-{uuid.uuid4().hex[:8]}"
    yield str(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A mounted disk of 4 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("mount is not installed")
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
