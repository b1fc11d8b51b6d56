"""A program: one pipeline runs several times and loads into shared tables."""

import os
import sys

from tests.conftest import session_builder
from tests.service.bucket import jdbc_catalog
from tests.service.test_iceberg_jdbc import rows_of

import penstock

location, pipelines_dir, number, loads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
UPSERT = {"disposition": "merge", "strategy": "upsert"}

spark = (
    session_builder("iceberg", "postgres")
    .master("local[1]")
    .config("spark.driver.memory", "1g")
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    .getOrCreate()
)
pipeline = penstock.pipeline(
    f"client{number}",
    pipelines_dir=pipelines_dir,
    destination=penstock.destinations.iceberg(bucket_url=location, **jdbc_catalog(location)),
    dataset_name=os.environ["PENSTOCK_TEST_DATASET"],
    spark=spark,
)
sys.stdin.readline()  # all processes start together
for load in range(loads):
    events, accounts = rows_of(number, load)
    pipeline.run(
        [
            penstock.resource(events, name="events"),
            penstock.resource(accounts, name="accounts", primary_key="id", write_disposition=UPSERT),
        ]
    )
spark.stop()
