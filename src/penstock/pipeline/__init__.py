"""Runs the stages in order; the only package that imports all of them.

Input:   the user's data, destination and session.
Output:  a complete load, and a way to read it back.
Imports: every package below.
"""

from penstock.pipeline.factory import dataset, pipeline
from penstock.pipeline.pipeline import Pipeline

__all__ = ["Pipeline", "dataset", "pipeline"]
