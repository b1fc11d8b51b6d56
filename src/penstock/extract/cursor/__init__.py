"""Incremental cursors at run time: detection of new rows, progress of a resource, and its state."""
