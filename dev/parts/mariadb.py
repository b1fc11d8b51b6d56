"""A MariaDB server with an empty data folder; `make up` leaves it out."""

import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dev.parts.folders import PartFolders
from dev.parts.processes import LOOPBACK, Launch, Part, Started, ensure_user, free_port, own_folder
from dev.parts.tools import find_tool, run_tool

ROLE: Final = "penstock"
SETTINGS: Final = (f"--bind-address={LOOPBACK}", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin")


def _launch(folders: PartFolders, _: Mapping[str, Started]) -> Launch:
    server = find_tool("mariadbd")
    find_tool("mariadb")
    user = ensure_user("mysql")  # the server refuses to run as root
    home = own_folder(folders.run / "mariadb", user, mode=0o700)
    password = secrets.token_hex(8)
    shutil.rmtree(home / "data", ignore_errors=True)  # left by a crashed server
    data = own_folder(home / "data", user)
    _make_data_folder(data, user=user)
    port, first = free_port(), home / "first.sql"
    first.write_text(
        f"CREATE USER '{ROLE}'@'{LOOPBACK}' IDENTIFIED BY '{password}';\n"
        f"GRANT ALL ON *.* TO '{ROLE}'@'{LOOPBACK}';\n"
        f"CREATE DATABASE {ROLE};\n"
    )
    first.chmod(0o644)  # its folder is private
    command = [str(server), "--no-defaults", f"--datadir={data}", f"--port={port}", *SETTINGS]
    command += [f"--socket={home / 'socket'}", f"--pid-file={home / 'pid'}", f"--init-file={first}"]
    return Launch(
        command=tuple(command),
        cwd=home,
        user=user,
        address=f"{LOOPBACK}:{port}",
        exports={"PENSTOCK_TEST_MARIADB": f"mariadb://{ROLE}:{password}@{LOOPBACK}:{port}/{ROLE}"},
        facts={"port": str(port), "password": password},
    )


def _healthy(_: PartFolders, started: Started) -> bool:
    """Return whether the role of the tests can log in: the server answers before its setup has ended."""
    port = started.facts["port"]
    question = ["mariadb", "--no-defaults", "-h", LOOPBACK, "-P", port, "-u", ROLE, "-Ne", "SELECT 1", ROLE]
    answer = subprocess.run(
        question,
        env={**os.environ, "MYSQL_PWD": started.facts["password"]},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return answer.stdout.strip() == "1"


def _make_data_folder(data: Path, *, user: str | None) -> None:
    as_user = [f"--user={user}"] if user else []
    make = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db", *as_user]
    run_tool(make)


PARTS: Final = (Part(name="mariadb", group="mariadb", launch=_launch, healthy=_healthy),)
