"""Opens the valves in order; the only room that sees every stage.

Takes:   the user's data, destination and session.
Gives:   a finished load, and a way to read it back.
Touches: every room below.
"""

from penstock.interfaces.framecursor import use_frame_cursors
from penstock.interfaces.landing import use_lander
from penstock.interfaces.reading import use_reader
from penstock.pipeline.factory import dataset, pipeline
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.stages import frame_cursors, land_frame, read_items

use_reader(read_items)
use_lander(land_frame)
use_frame_cursors(frame_cursors)

__all__ = ["Pipeline", "dataset", "pipeline"]
