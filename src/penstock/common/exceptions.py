"""Exceptions of all packages, by dlt's import path."""

from penstock.errors import DestinationTerminalException as TerminalException
from penstock.errors import DestinationTransientException as TransientException
from penstock.errors import MissingDependencyException
from penstock.pipeline.exceptions import DltException, PipelineException, PipelineStateNotAvailable

__all__ = [
    "DltException",
    "MissingDependencyException",
    "PipelineException",
    "PipelineStateNotAvailable",
    "TerminalException",
    "TransientException",
]
