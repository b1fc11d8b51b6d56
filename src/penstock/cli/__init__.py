"""The command line.

Input:   command lines.
Output:  text for people, JSON and exit codes for scripts.
Imports: pipeline, sources, destinations, package, interfaces, schema, config, errors.
"""

from penstock.cli.main import main

__all__ = ["main"]
