"""The command line.

Takes:   command lines.
Gives:   text for people, JSON and exit codes for scripts.
Touches: pipeline, package, interfaces, config, errors.
"""

from penstock.cli.main import main

__all__ = ["main"]
