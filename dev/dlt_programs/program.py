"""What drivers know of the run: the script of the program, and the database that both tools read."""

import os
import subprocess

SCRIPT = os.environ.get("PROGRAMS_SCRIPT", "")
"""The path of the script or of the block of a page; empty for verified sources, which drivers import."""


def execute(sql: str) -> None:
    """Execute statements in the database."""
    command = [
        os.environ["PROGRAMS_PSQL"],
        os.environ["PROGRAMS_POSTGRES"],
        "-v",
        "ON_ERROR_STOP=1",
        "-qc",
        sql,
    ]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
