"""Types of the arguments of destinations, by dlt's import path."""

from penstock.pipeline.types import TDestinationReferenceArg

__all__ = ["TDestinationReferenceArg"]
