"""Runs the stages in order; the only package that imports all of them.

Takes:   the user's data, destination and session.
Gives:   a complete load, and a way to read it back.
Touches: every package below.
"""

from penstock.pipeline.factory import dataset, pipeline
from penstock.pipeline.pipeline import Pipeline

__all__ = ["Pipeline", "dataset", "pipeline"]
