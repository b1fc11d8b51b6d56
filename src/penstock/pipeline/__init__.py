"""Opens the valves in order; the only room that sees every stage.

Takes:   the user's data, destination and session.
Gives:   a finished load, and a way to read it back.
Touches: every room below.
"""

from penstock.interfaces.flow_reader import register_flow_reader
from penstock.interfaces.frame_writer import register_frame_writer
from penstock.interfaces.framecursor import register_frame_cursor_engine
from penstock.pipeline.factory import dataset, pipeline
from penstock.pipeline.frame_engine import frame_cursor_engine, read_items, write_frame
from penstock.pipeline.pipeline import Pipeline

register_flow_reader(read_items)
register_frame_writer(write_frame)
register_frame_cursor_engine(frame_cursor_engine)

__all__ = ["Pipeline", "dataset", "pipeline"]
