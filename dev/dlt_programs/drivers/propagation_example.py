"""The example of propagated keys in the documentation: a merge with a key that only the run names."""

import runpy

import dlt
from program import SCRIPT


def run(_):
    """Run the script."""
    runpy.run_path(SCRIPT, run_name="__main__")
    return dlt.pipeline()
