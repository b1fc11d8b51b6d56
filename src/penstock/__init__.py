"""penstock: declarative data ingestion on Spark.

You write Python generators; penstock infers the schema, flattens nested data into tables, and loads them,
exactly once.
"""

import penstock.dataset  # packages first, so that the public names below are bound last
import penstock.pipeline
import penstock.sources.decorators  # noqa: F401 - see above
from penstock import destinations, sources
from penstock.compat.import_hook import as_dlt
from penstock.config import TCredentials, TSecretStrValue, TSecretValue
from penstock.config.accessor import config, secrets
from penstock.errors import PenstockError
from penstock.interfaces.hooks import RunHooks
from penstock.pipeline import progress, retry
from penstock.pipeline.factory import attach, dataset, pipeline, run
from penstock.pipeline.pipeline import Pipeline
from penstock.schema import Schema
from penstock.sources import current, mark
from penstock.sources.decorators import defer, resource, source, transformer
from penstock.version import __version__

__all__ = [
    "PenstockError",
    "Pipeline",
    "RunHooks",
    "Schema",
    "TCredentials",
    "TSecretStrValue",
    "TSecretValue",
    "__version__",
    "as_dlt",
    "attach",
    "config",
    "current",
    "dataset",
    "defer",
    "destinations",
    "mark",
    "pipeline",
    "progress",
    "resource",
    "retry",
    "run",
    "secrets",
    "source",
    "sources",
    "transformer",
]
