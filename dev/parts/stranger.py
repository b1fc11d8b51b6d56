"""The cluster's own user and Python: like a real cluster's, they know nothing of this project."""

import functools
import sys
from pathlib import Path
from typing import Final

from dev.parts.environments import ensure_environment
from dev.parts.places import REPOSITORY, PartError, Places, open_to_others
from dev.parts.processes import ensure_user
from dev.parts.tools import find_tool, run_tool

USER: Final = "penstock-spark"
BOUND: Final = ("grpcio", "numpy", "pandas", "protobuf", "pyarrow", "pyspark", "requests")
"""The packages whose versions the cluster has in common with the driver."""
UNLOCKED: Final = "pyspark==4.1.4\n"
"""What binds the versions while the project has no lock file."""


def stranger_user() -> str | None:
    """Give the user that the cluster runs as; None means the caller, who is not root."""
    return ensure_user(USER)


def stranger_python(places: Places) -> Path:
    """Give a Python that has pyspark and requests but not penstock, in the versions of the project's lock."""
    return ensure_environment(
        places,
        "stranger",
        python=_base_python(_driver_minor()),
        packages=("pyspark[connect]", "requests"),
        constraints=_locked_versions(),
    )


def spark_home(python: Path) -> Path:
    """Give the Spark that came with a Python's pyspark."""
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
    if stranger_user() is None:
        return minor
    for folder in ("/usr/bin", "/usr/local/bin"):
        found = Path(folder) / f"python{minor}"
        if found.exists() and open_to_others(found):
            return str(found)
    raise PartError(f"no Python {minor} that user {USER} can run: install one outside private homes")
