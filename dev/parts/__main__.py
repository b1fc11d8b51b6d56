"""The commands: tools, jars, dlt, up, status, down."""

import argparse
import os
import sys
from collections.abc import Collection, Sequence

from dev.parts import jars, lifecycle, postgres
from dev.parts.environments import dlt_python
from dev.parts.folders import PartError, PartFolders, find_folders
from dev.parts.tools import APT_PACKAGES, find_tool


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    parser = argparse.ArgumentParser(prog="python3 -m dev.parts", description="Real parts for tests.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("tools", help="install what the parts need and the machine lacks")
    jars_command = commands.add_parser("jars", help="resolve jars, check them, and print their class paths")
    jars_command.add_argument("names", nargs="*", metavar="GROUP", help=" ".join(jars.GROUPS))
    jars_command.add_argument("--lock", action="store_true", help="resolve anew and write jars.lock")
    commands.add_parser("dlt", help="make the environment of the judge, and print its Python")
    up_command = commands.add_parser("up", help="start parts")
    up_command.add_argument("names", nargs="*", metavar="PART", help=" ".join(lifecycle.CHOICES))
    commands.add_parser("status", help="say how each part is")
    commands.add_parser("down", help="stop everything and remove the run folder")
    chosen = parser.parse_args(arguments)

    os.umask(0o022)  # the cluster's user must be able to read new files
    try:
        return _run(chosen, find_folders())
    except PartError as error:
        print(error, file=sys.stderr)
        return 1


def _run(chosen: argparse.Namespace, folders: PartFolders) -> int:
    match chosen.command:
        case "tools":
            for name in APT_PACKAGES:
                find_tool(name)
            postgres.find_programs()
        case "jars":
            groups = _check_names(chosen.names, jars.GROUPS) or jars.DEFAULT_GROUPS
            if chosen.lock:
                jars.lock_jars(folders, groups)
            print(lifecycle.shell_exports(jars.ensure_jars(folders, groups)), end="")
        case "dlt":
            print(lifecycle.shell_exports({"PENSTOCK_TEST_DLT_PYTHON": str(dlt_python(folders))}), end="")
        case "up":
            return lifecycle.up(folders, _check_names(chosen.names, lifecycle.CHOICES) or lifecycle.USUAL)
        case "status":
            return lifecycle.status(folders)
        case _:
            return lifecycle.down(folders)
    return 0


def _check_names(names: Sequence[str], existing: Collection[str]) -> Sequence[str]:
    if strange := [name for name in names if name not in existing]:
        raise PartError(f"unknown: {' '.join(strange)}; known: {' '.join(existing)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
