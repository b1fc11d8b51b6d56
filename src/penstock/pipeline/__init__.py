"""Opens the valves in order; the only room that sees every stage.

Takes:   the user's data, destination and session.
Gives:   a finished load, and a way to read it back.
Touches: every room below.
"""

from penstock.pipeline.factory import dataset, pipeline
from penstock.pipeline.pipeline import Pipeline

__all__ = ["Pipeline", "dataset", "pipeline"]
