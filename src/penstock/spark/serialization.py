"""Serialization of code by value: executors need neither penstock nor the user's modules."""

from __future__ import annotations

import inspect
import io
import sys
import sysconfig
import threading
import types
import zlib
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark import cloudpickle
from pyspark.cloudpickle import CloudPickler, loads

from penstock.config import ConfigValue
from penstock.config.secret import SecretMark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

    import pyarrow as pa

__all__ = [
    "RemoteTraceback",
    "loads",
    "serialize_by_value",
    "serialized_mapper",
    "serialized_runner",
    "without_defaults",
]

_PACKAGE_FOLDERS: Final = frozenset(("site-packages", "dist-packages"))
_NEVER_BY_VALUE: Final = frozenset(("penstock", "pyspark", "py4j"))
_registry: Any = cloudpickle.cloudpickle
_registry_lock = threading.Lock()


class RemoteTraceback(Exception):
    """The traceback of an executor, as the cause of the error on the driver."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


def serialize_by_value(obj: Any, *modules: ModuleType) -> bytes:
    """Serialize an object with all that it needs from these modules and from the user's modules."""
    buffer = io.BytesIO()
    with _pickled_by_value(list(dict.fromkeys((*modules, *_user_modules())))):
        packer: Any = _Pickler
        packer(buffer).dump(obj)
    return buffer.getvalue()


def serialized_runner(task: bytes) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow` that runs the part of a task with the number in the first column.

    The task is compressed, so that nothing of it is readable in plans and where they are stored.
    """
    small = zlib.compress(task)

    # Sent by value: it must not refer to penstock.
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        job = loads(zlib.decompress(small))
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from job.run(number)

    return run


def serialized_mapper(task: bytes) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow` that passes the rows of a partition to a task; see above."""
    small = zlib.compress(task)

    # Sent by value: it must not refer to penstock.
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from loads(zlib.decompress(small)).run(batches)

    return run


def without_defaults(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a copy without defaults and annotations, which often refer to modules of the driver.

    For callers that pass every argument.
    """
    if not inspect.isfunction(function):
        return function
    copy = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, closure=function.__closure__
    )
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy


class _Pickler(CloudPickler):
    def reducer_override(self, obj: Any) -> Any:
        """Remove defaults and annotations that only penstock uses."""
        if isinstance(obj, (ConfigValue, SecretMark)):
            return type(None), ()
        parent: Any = super()
        return parent.reducer_override(obj)


@contextmanager
def _pickled_by_value(modules: Iterable[ModuleType]) -> Iterator[None]:
    """Register modules for serialization by value within a block; the registry is global to the process."""
    with _registry_lock:
        before = _registry.list_registry_pickle_by_value()
        added = [module for module in modules if module.__name__ not in before and _register(module)]
        try:
            yield
        finally:
            for module in added:
                _registry.unregister_pickle_by_value(module)


def _register(module: ModuleType) -> bool:
    if sys.modules.get(module.__name__) is not module:
        return False
    _registry.register_pickle_by_value(module)
    return True


def _user_modules() -> list[ModuleType]:
    """Return the user's own modules: neither installed packages nor the standard library."""
    return [module for module in list(sys.modules.values()) if _is_user_module(module)]


def _is_user_module(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    name = getattr(module, "__name__", "")
    if not isinstance(file, str) or name == "__main__" or name.partition(".")[0] in _NEVER_BY_VALUE:
        return False
    return not _is_installed(file)


@cache
def _is_installed(file: str) -> bool:
    """Return whether a file belongs to Python or an installed package; links are resolved once per file."""
    path = Path(file).resolve()
    return bool(_PACKAGE_FOLDERS & set(path.parts)) or any(
        path.is_relative_to(home) for home in _python_homes()
    )


@cache
def _python_homes() -> frozenset[Path]:
    return frozenset(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))
