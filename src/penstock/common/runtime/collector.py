"""Progress of a run, by dlt's import path."""

from penstock.interfaces.progress import Collector
from penstock.pipeline.progress import log as LogCollector
from penstock.pipeline.progress import tqdm as TqdmCollector

__all__ = ["Collector", "LogCollector", "TqdmCollector"]
