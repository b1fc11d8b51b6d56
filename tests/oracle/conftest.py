"""The bridge runs in a Python that has dlt; here it cannot even be imported."""

collect_ignore = ["bridge.py"]
