"""The bridges and the snippets want dlt; here they cannot even be imported."""

collect_ignore = ["bridge.py", "configbridge.py", "framebridge.py", "mergebridge.py", "snippets"]
