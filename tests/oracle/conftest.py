"""The bridges run in a Python that has dlt; here they cannot even be imported."""

collect_ignore = ["bridge.py", "configbridge.py"]
