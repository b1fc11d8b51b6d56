"""A run whose resource raises, and the one after it."""

import dlt
from dlt.pipeline.exceptions import PipelineStepFailed


@dlt.resource
def broken(fails):
    yield {"id": 1}
    if fails:
        raise ValueError("no more")
    yield {"id": 2}


pipeline = dlt.pipeline("failed_run", destination="duckdb", dataset_name="unlucky")
try:
    pipeline.run(broken(True))
except PipelineStepFailed as error:
    print(error.step)
pipeline.run(broken(False))
