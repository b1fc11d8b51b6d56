"""Loads numbered frames into Postgres while executors of Spark are killed at random moments."""

from __future__ import annotations

import json
import random
import sys
import threading
import time

import psutil
from pyspark.sql import DataFrame, SparkSession

import penstock
from penstock.errors import PipelineStepFailed, RetryableError

ROWS = 4_000
TASKS = 8
LATEST = 1.2
"""The latest moment of a kill, in times of a load that nothing disturbs."""


def main(url: str, dataset: str, folder: str, loads: int, seed: int) -> None:
    """Load, and print the number of killed executors and the errors after which a load was begun again."""
    spark = session()
    moments = random.Random(seed)
    kills: list[int] = []
    errors: list[str] = []

    def kill_executor() -> None:
        if running := executors():
            victim = moments.choice(running)
            victim.kill()
            kills.append(victim.pid)

    def load(number: int) -> float:
        """Run until the batch is loaded; return the seconds of the last run."""
        while True:
            pipeline = penstock.pipeline(
                dataset,
                destination=penstock.destinations.postgres(url),
                dataset_name=dataset,
                pipelines_dir=folder,
                spark=spark,
            )
            began = time.monotonic()
            try:
                # After an error it is the pending package of the same batch that is loaded.
                pipeline.run(batch(spark, number), table_name="events")
            except (PipelineStepFailed, RetryableError) as error:
                errors.append(str(error).splitlines()[0])
            else:
                return time.monotonic() - began

    # The first load of a session takes longer than others.
    seconds = [load(number) for number in (1, 2)][-1]
    for number in range(3, loads + 1):
        # One kill in each load: it ends however long executors take to start.
        killer = threading.Timer(moments.uniform(0, LATEST * seconds), kill_executor)
        killer.start()
        load(number)
        killer.cancel()
        killer.join()
    sys.stdout.write(json.dumps({"kills": len(kills), "errors": errors}) + "\n")
    spark.stop()


def session() -> SparkSession:
    """Return a session with two executor processes, which Spark starts again when they are killed."""
    return (
        SparkSession.builder.master("local-cluster[2,1,900]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.executor.memory", "800m")
        # Each kill may hit a task of the same stage; the load is to survive, however often it is hit.
        .config("spark.task.maxFailures", "8")
        .getOrCreate()
    )


def batch(spark: SparkSession, number: int) -> DataFrame:
    """Return the rows of one load, each with two nested rows."""
    item = f"named_struct('batch', {number}, 'text', repeat('x', 20))"
    return spark.range(ROWS, numPartitions=TASKS).selectExpr(
        "id AS number", f"{number} AS batch", f"array({item}, {item}) AS items"
    )


def executors() -> list[psutil.Process]:
    """Return the executor processes."""
    return [
        child
        for child in psutil.Process().children(recursive=True)
        if "CoarseGrainedExecutorBackend" in " ".join(child.cmdline())
    ]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
