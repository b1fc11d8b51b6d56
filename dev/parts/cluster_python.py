"""User and Python of the cluster: as on a real cluster, they have no access to this project."""

import functools
import sys
from pathlib import Path
from typing import Final

from dev.parts.environments import ensure_environment
from dev.parts.folders import REPOSITORY, PartError, PartFolders, open_to_others
from dev.parts.processes import ensure_user
from dev.parts.tools import find_tool, run_tool

USER: Final = "penstock-spark"
BOUND: Final = ("grpcio", "numpy", "pandas", "protobuf", "pyarrow", "pyspark", "requests")
"""The packages whose versions are those of the driver."""
UNLOCKED: Final = "pyspark==4.1.4\n"
"""The constraint of a project without a lock file."""


def cluster_user() -> str | None:
    """Return the user that the cluster runs as; None means the caller, who is not root."""
    return ensure_user(USER)


def cluster_python(folders: PartFolders) -> Path:
    """Return a Python with pyspark and requests but without penstock, in the locked versions."""
    return ensure_environment(
        folders,
        "cluster",
        python=_base_python(_driver_minor()),
        packages=("pyspark[connect]", "requests"),
        constraints=_locked_versions(),
    )


def spark_home(python: Path) -> Path:
    """Return the Spark installation of a Python's pyspark."""
    return next(python.parents[1].glob("lib/python3*/site-packages/pyspark"))


def _driver_minor() -> str:
    # Driver and executors must run the same minor version, and the driver runs in the project's environment.
    settings = REPOSITORY / ".venv" / "pyvenv.cfg"
    lines = settings.read_text().splitlines() if settings.exists() else []
    pairs = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    version = pairs.get("version_info") or sys.version.split()[0]
    return ".".join(version.split(".")[:2])


@functools.cache
def _locked_versions() -> str:
    if not (REPOSITORY / "uv.lock").exists():
        return UNLOCKED
    export = ["export", "-q", "--frozen", "--only-group", "dev", "--no-hashes"]
    lines = run_tool([str(find_tool("uv")), *export, "--no-emit-project"], cwd=REPOSITORY).splitlines()
    return "".join(f"{line}\n" for line in lines if line.startswith(BOUND))


def _base_python(minor: str) -> str:
    if cluster_user() is None:
        return minor
    for folder in ("/usr/bin", "/usr/local/bin"):
        result = Path(folder) / f"python{minor}"
        if result.exists() and open_to_others(result):
            return str(result)
    raise PartError(f"no Python {minor} that user {USER} can run: install one outside private homes")
