"""The modules that are imported when they are first used: `late_imports.execution`.

`import penstock` must not import pyspark, pyarrow or sqlglot: every script does it, also on machines that
only declare sources. No other module imports late, except the reference of function destinations.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import MissingExtra

if TYPE_CHECKING:
    from penstock.extract import run as extract_run
    from penstock.pipeline import (
        abort,
        adopt,
        adopt_files,
        column_history,
        drop,
        drop_resources,
        execution,
        job_changes,
        live_view,
        package_listing,
        planning,
        recorder,
        replaying,
        restore,
        state_changes,
        state_view,
        sync,
        target,
        unbound_packages,
        undo,
        workspace,
    )
    from penstock.spark import cursor, frame_writer

__all__ = [
    "abort",
    "adopt",
    "adopt_files",
    "column_history",
    "cursor",
    "drop",
    "drop_resources",
    "execution",
    "extract_run",
    "frame_writer",
    "job_changes",
    "live_view",
    "package_listing",
    "planning",
    "recorder",
    "replaying",
    "restore",
    "signature_name",
    "state_changes",
    "state_view",
    "sync",
    "target",
    "unbound_packages",
    "undo",
    "workspace",
]
_PATHS: Final = {
    "cursor": "penstock.spark.cursor",
    "extract_run": "penstock.extract.run",
    "frame_writer": "penstock.spark.frame_writer",
}
"""The paths of modules outside of this package."""
_SIGNATURE_NAMES: Final = {
    "ExtractInfo": "penstock.extract.report",
    "LoadInfo": "penstock.load.report",
    "LoadJobInfo": "penstock.package",
    "LoadPackageInfo": "penstock.package",
    "NormalizeInfo": "penstock.normalize.report",
    "RunConfiguration": "penstock.pipeline.settings",
    "StateInjectableContext": "penstock.pipeline.state",
    "TLoadPackageState": "penstock.package",
    "TPipelineState": "penstock.pipeline.state",
}
"""Names in the signatures of `Pipeline`, and their modules."""
_NEED_SPARK: Final = frozenset(
    (
        "adopt_files",
        "column_history",
        "cursor",
        "drop",
        "execution",
        "frame_writer",
        "planning",
        "replaying",
        "sync",
        "target",
        "undo",
        "workspace",
    )
)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    if name in _NEED_SPARK:
        _require_spark()
    try:
        module = import_module(_PATHS.get(name, f"{__package__}.{name}"))
    except ModuleNotFoundError as error:
        if name != "live_view" or (error.name or "").partition(".")[0] != "rich":
            raise
        raise MissingExtra(extra="rich", needed_for='progress="rich"') from error
    globals()[name] = module
    return module


def signature_name(name: str) -> Any:
    """Return a name in the signatures of `Pipeline`, whose module is imported now."""
    if name not in _SIGNATURE_NAMES:
        raise AttributeError(name)
    return getattr(import_module(_SIGNATURE_NAMES[name]), name)


def _require_spark() -> None:
    try:
        import pyspark.sql  # noqa: F401, PLC0415 - imported to see whether it is installed, and late
    except ImportError as error:
        raise MissingExtra(extra="spark", needed_for="running a pipeline") from error
