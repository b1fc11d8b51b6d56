"""The example of masked columns in the documentation: rows that functions change, and queries of them."""

import runpy

import dlt
from program import SCRIPT


def run(_):
    """Run the script; it checks its result by SQL."""
    runpy.run_path(SCRIPT, run_name="__main__")
    return dlt.pipeline()
