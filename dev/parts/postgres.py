"""A Postgres server with an empty data folder."""

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dev.parts.folders import PartError, PartFolders
from dev.parts.processes import LOOPBACK, Launch, Part, Started, ensure_user, free_port, own_folder
from dev.parts.tools import apt_install, run_tool

ROLE: Final = "penstock"
SETTINGS: Final = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "fsync": "off",
    # Tests have an Iceberg catalog for each location, and each catalog has separate connections.
    "max_connections": "200",
    "shared_buffers": "64MB",
}


def _launch(folders: PartFolders, _: Mapping[str, Started]) -> Launch:
    programs = find_programs()
    user = ensure_user("postgres")  # the server refuses to run as root
    home = own_folder(folders.run / "postgres", user, mode=0o700)
    password = secrets.token_hex(8)
    shutil.rmtree(home / "data", ignore_errors=True)  # left by a crashed server
    _make_data_folder(programs, home, user=user, password=password)
    port = free_port()
    settings = [word for key, value in SETTINGS.items() for word in ("-c", f"{key}={value}")]
    return Launch(
        command=(str(programs / "postgres"), "-D", str(home / "data"), "-p", str(port), *settings),
        cwd=home,
        user=user,
        address=f"{LOOPBACK}:{port}",
        stop_signal=signal.SIGINT,  # ends open connections instead of waiting for them
        exports={"PENSTOCK_TEST_POSTGRES": f"postgresql://{ROLE}:{password}@{LOOPBACK}:{port}/postgres"},
    )


def _healthy(_: PartFolders, started: Started) -> bool:
    question = [str(find_programs() / "psql"), started.exports["PENSTOCK_TEST_POSTGRES"], "-qAtc", "select 1"]
    answer = subprocess.run(question, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return answer.stdout.strip() == "1"


def find_programs() -> Path:
    """Return the folder of the server's programs, after installing them if they are missing."""
    result = _find_installed()
    if result is None:
        apt_install("postgresql")
        result = _find_installed()
    if result is None:
        raise PartError("initdb is still missing after the installation of postgresql")
    return result


def _find_installed() -> Path | None:
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    path = [Path(folder) for folder in os.environ.get("PATH", "").split(":")]
    return next((folder for folder in (*debian, *path) if (folder / "initdb").exists()), None)


def _make_data_folder(programs: Path, home: Path, *, user: str | None, password: str) -> None:
    secret = home / "password"
    secret.write_text(password)
    secret.chmod(0o644)  # its folder is private
    as_user = ["runuser", "-u", user, "--"] if user else []
    choices = [
        "--no-sync",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--auth=scram-sha-256",
        f"--pwfile={secret}",
    ]
    command = [str(programs / "initdb"), "-D", str(home / "data"), f"--username={ROLE}", *choices]
    run_tool([*as_user, *command], cwd=home)


PARTS: Final = (Part(name="postgres", group="postgres", launch=_launch, healthy=_healthy),)
