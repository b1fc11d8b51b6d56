"""Bridges and snippets import dlt, so pytest must not collect them."""

BRIDGES = (
    *("bridge.py", "config_bridge.py", "frame_bridge.py", "merge_bridge.py", "rest_bridge.py"),
    *("program_bridge.py", "run_bridge.py"),
)
collect_ignore = [*BRIDGES, "snippets"]
