"""The command line.

Input:   command lines.
Output:  text for people, JSON and exit codes for scripts.
Imports: pipeline, package, interfaces, config, errors.
"""

from penstock.cli.main import main

__all__ = ["main"]
