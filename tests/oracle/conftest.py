"""The bridges and the snippets want dlt; here they cannot even be imported."""

BRIDGES = (
    *("bridge.py", "configbridge.py", "framebridge.py", "mergebridge.py", "restbridge.py"),
    "runbridge.py",
)
collect_ignore = [*BRIDGES, "snippets"]
