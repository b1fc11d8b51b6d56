"""penstock: declarative data ingestion on Spark.

You write Python generators; penstock infers the schema, flattens nested data into tables, and loads them,
exactly once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

import penstock.dataset  # packages first, so that the public names below are bound last
import penstock.pipeline
import penstock.sources.decorators  # noqa: F401 - see above
from penstock import destinations, sources
from penstock.compat.import_hook import as_dlt
from penstock.config import TCredentials, TSecretStrValue, TSecretValue
from penstock.config.accessor import config, secrets
from penstock.destinations import destination
from penstock.errors import PenstockError
from penstock.interfaces import gates
from penstock.interfaces.hooks import RunHooks
from penstock.pipeline import progress, retry
from penstock.pipeline.factory import attach, dataset, pipeline, run
from penstock.pipeline.pipeline import Pipeline
from penstock.schema import Schema
from penstock.sources import current, mark
from penstock.sources.decorators import defer, resource, source, transformer
from penstock.sources.expectations import expect
from penstock.version import __version__

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.relation import Relation

_LATE_NAMES = {"Dataset": "penstock.dataset.dataset", "Relation": "penstock.dataset.relation"}


def __getattr__(name: str) -> object:
    """Import a class that needs Spark when it is first used."""
    if name not in _LATE_NAMES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(import_module(_LATE_NAMES[name]), name)


__all__ = [
    "Dataset",
    "PenstockError",
    "Pipeline",
    "Relation",
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
    "destination",
    "destinations",
    "expect",
    "gates",
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
