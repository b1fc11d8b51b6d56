"""Folders of the parts: a permanent cache, and a run folder that `down` removes."""

import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


class PartError(Exception):
    """A part cannot be prepared or started; the message has the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFolders:
    """The two folders that the parts write to."""

    cache: Path
    run: Path

    @property
    def shared(self) -> Path:
        """The folder that driver and cluster both read and write."""
        return self.run / "shared"

    @property
    def logs(self) -> Path:
        """One log file per part."""
        return self.run / "logs"

    @property
    def records(self) -> Path:
        """One file per started process; its existence marks a run folder that `down` may delete."""
        return self.run / "parts"

    def log(self, part: str) -> Path:
        """Return the log file of one part."""
        return self.logs / f"{part}.log"


def find_folders() -> PartFolders:
    """Read the environment once."""
    run = os.environ.get("PENSTOCK_DEV_RUN") or Path(tempfile.gettempdir()) / f"penstock-parts-{os.getuid()}"
    return PartFolders(cache=_cache_base().absolute() / "penstock-dev", run=Path(run).absolute())


def _cache_base() -> Path:
    if chosen := os.environ.get("PENSTOCK_DEV_CACHE"):
        return Path(chosen)
    if os.getuid() == 0:
        return Path("/var/cache")  # root's home is private, and the cluster runs as another user
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def make_run_folders(folders: PartFolders) -> None:
    """Create the run folder, readable by the cluster's user, and the folder that both sides write to."""
    folders.run.mkdir(parents=True, exist_ok=True)
    if folders.run.stat().st_uid != os.getuid():
        raise PartError(
            f"{folders.run} belongs to another user: set PENSTOCK_DEV_RUN to a folder of your own"
        )
    for folder in (folders.logs, folders.records, folders.shared):
        folder.mkdir(exist_ok=True)
    folders.run.chmod(0o755)
    folders.shared.chmod(0o777)
    if os.getuid() == 0:
        for folder in (folders.run, folders.cache):
            if not open_to_others(folder):
                raise PartError(f"other users cannot enter {folder}: choose a place outside private folders")


def open_to_others(path: Path) -> bool:
    """Return whether a user without special rights can reach an existing path and read it."""
    real = path.resolve()
    on_the_way = all(folder.stat().st_mode & stat.S_IXOTH for folder in real.parents)
    return on_the_way and bool(real.stat().st_mode & stat.S_IROTH)
