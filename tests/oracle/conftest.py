"""The bridges and the snippets want dlt; here they cannot even be imported."""

BRIDGES = (
    *("bridge.py", "config_bridge.py", "frame_bridge.py", "merge_bridge.py", "rest_bridge.py"),
    "run_bridge.py",
)
collect_ignore = [*BRIDGES, "snippets"]
