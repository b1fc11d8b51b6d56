"""What pytest must not import: programs for an environment that has dlt."""

collect_ignore = ["dlt_load.py"]
