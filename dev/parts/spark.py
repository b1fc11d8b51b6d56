"""A Spark cluster of two workers, and a Spark Connect server on it, run by another user without penstock."""

import json
import os
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from dev.parts.cluster_python import cluster_python, cluster_user, spark_home
from dev.parts.folders import PartFolders
from dev.parts.jars import DEFAULT_GROUPS, ensure_jars
from dev.parts.processes import (
    LOOPBACK,
    NO_ANSWER,
    Launch,
    Part,
    Started,
    free_port,
    own_folder,
    port_answers,
)
from dev.parts.tools import find_tool

MASTER: Final = "spark-master"
WORKERS: Final = ("spark-worker-1", "spark-worker-2")
CONNECT: Final = "connect"
CONNECT_STARTED: Final = "Spark Connect server started"

# Each worker declares room for two applications, so a classic driver runs beside the Connect server.
WORKER_ROOM: Final = ("--cores", "2", "--memory", "2g")
# They run for some minutes, in which the optimizing compiler takes more than it saves.
_SHORT: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djdk.lang.Process.launchMechanism=VFORK"
CONNECT_CONF: Final = {
    "spark.cores.max": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    "spark.executor.extraJavaOptions": _SHORT,
    "spark.executor.memory": "1g",
    "spark.connect.grpc.binding.address": LOOPBACK,
    "spark.hadoop.fs.permissions.umask-mode": "000",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.extensions": (
        "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    ),
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


def _launch_master(folders: PartFolders, _: Mapping[str, Started]) -> Launch:
    port, page = free_port(), free_port()
    url = f"spark://{LOOPBACK}:{port}"
    options = ("--host", LOOPBACK, "--port", str(port), "--webui-port", str(page))
    return _launch(
        folders,
        command=("spark-class", "org.apache.spark.deploy.master.Master", *options),
        address=url,
        exports={
            "PENSTOCK_TEST_SPARK_MASTER": url,
            "PENSTOCK_TEST_SHARED": str(folders.shared),
            "PENSTOCK_TEST_CLUSTER_PYTHON": str(cluster_python(folders)),
            **ensure_jars(folders, DEFAULT_GROUPS),
        },
        facts={"page": f"http://{LOOPBACK}:{page}/json/"},
    )


def _launch_worker(name: str) -> Callable[[PartFolders, Mapping[str, Started]], Launch]:
    def launch(folders: PartFolders, running: Mapping[str, Started]) -> Launch:
        master, port = running[MASTER], free_port()
        options = ("--host", LOOPBACK, "--port", str(port), "--webui-port", str(free_port()), *WORKER_ROOM)
        work = own_folder(folders.run / "spark" / name, cluster_user())
        return _launch(
            folders,
            command=(
                *("spark-class", "org.apache.spark.deploy.worker.Worker", *options),
                *("--work-dir", str(work), master.address),
            ),
            address=f"{LOOPBACK}:{port}",
            facts=master.facts,
        )

    return launch


def _launch_connect(folders: PartFolders, running: Mapping[str, Started]) -> Launch:
    address = f"{LOOPBACK}:{(port := free_port())}"
    jars = running[MASTER].exports
    class_path = ":".join(jars[f"PENSTOCK_TEST_JARS_{group.upper()}"] for group in DEFAULT_GROUPS)
    # The server keeps a folder of one fixed name among temporary files: /tmp would give it to the first user.
    temporary = own_folder(folders.run / "spark" / "tmp", cluster_user())
    conf = {
        **CONNECT_CONF,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.extraClassPath": class_path,
        "spark.driver.extraJavaOptions": f"{_SHORT} -Djava.io.tmpdir={temporary}",
        "spark.executor.extraClassPath": class_path,
        "spark.sql.warehouse.dir": str(folders.shared / "warehouse"),
    }
    return _launch(
        folders,
        command=(
            *("spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
            *("--name", "Spark Connect server", "--master", running[MASTER].address),
            *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
        ),
        address=address,
        memory="2g",
        exports={"PENSTOCK_TEST_CONNECT": f"sc://{address}"},
    )


def _launch(
    folders: PartFolders,
    *,
    command: tuple[str, ...],
    address: str,
    memory: str = "256m",
    exports: dict[str, str] | None = None,
    facts: dict[str, str] | None = None,
) -> Launch:
    python, user = cluster_python(folders), cluster_user()
    home = own_folder(folders.run / "spark", user)
    spark = spark_home(python)
    return Launch(
        command=(str(spark / "bin" / command[0]), *command[1:]),
        cwd=home,
        env={**_cluster_env(python, spark=spark, home=home), "SPARK_DAEMON_MEMORY": memory},
        user=user,
        umask=0,
        address=address,
        exports=exports or {},
        facts=facts or {},
    )


def _cluster_env(python: Path, *, spark: Path, home: Path) -> dict[str, str]:
    """Make an environment from nothing, so that the driver's paths do not leak in.

    The venv comes first on the PATH: a driver that names no Python asks the executors for `python3`.
    """
    java_home = os.environ.get("JAVA_HOME") or str(find_tool("java").resolve().parents[1])
    return {
        "HOME": str(home),
        "JAVA_HOME": java_home,
        "LANG": "C.UTF-8",
        "PATH": f"{python.parent}:/usr/local/bin:/usr/bin:/bin",
        "PYSPARK_PYTHON": str(python),
        "SPARK_HOME": str(spark),
        "SPARK_LOCAL_DIRS": str(home / "local"),
        "SPARK_LOCAL_IP": LOOPBACK,
        "TZ": "UTC",
    }


def _master_healthy(_: PartFolders, started: Started) -> bool:
    return _master_page(started).get("status") == "ALIVE"


def _worker_healthy(_: PartFolders, started: Started) -> bool:
    port = int(started.address.rsplit(":", 1)[1])
    workers = _master_page(started).get("workers", [])
    return any(worker["port"] == port and worker["state"] == "ALIVE" for worker in workers)


def _connect_healthy(folders: PartFolders, started: Started) -> bool:
    log = folders.log(CONNECT).read_text(errors="replace")
    return CONNECT_STARTED in log and port_answers(started.address)


def _master_page(started: Started) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(started.facts["page"], timeout=2) as answer:
            page: dict[str, Any] = json.load(answer)
            return page
    except NO_ANSWER:
        return {}


PARTS: Final = (
    Part(name=MASTER, group="spark", launch=_launch_master, healthy=_master_healthy),
    *(
        Part(name=name, group="spark", launch=_launch_worker(name), healthy=_worker_healthy, needs=(MASTER,))
        for name in WORKERS
    ),
    Part(name=CONNECT, group="connect", launch=_launch_connect, healthy=_connect_healthy, needs=(MASTER,)),
)
