"""Code travels to the executors by value: they need have neither penstock nor the user's modules."""

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

__all__ = ["loads", "serialize_by_value", "serialized_runner", "without_defaults"]

_PACKAGE_FOLDERS: Final = frozenset(("site-packages", "dist-packages"))
_NEVER_BY_VALUE: Final = frozenset(("penstock", "pyspark", "py4j"))
_registry: Any = cloudpickle.cloudpickle
_registry_lock = threading.Lock()


def serialize_by_value(obj: Any, *modules: ModuleType) -> bytes:
    """A thing as bytes, with everything of these modules that it needs, and of all that are not installed."""
    buffer = io.BytesIO()
    with _pickled_by_value([*modules, *_user_modules()]):
        packer: Any = _Pickler
        packer(buffer).dump(obj)
    return buffer.getvalue()


def serialized_runner(task: bytes) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What `mapInArrow` is given: for each number in the first column it runs that part of a packed task.

    The task is compressed: nothing in it can be read where plans or their pieces are kept.
    """
    small = zlib.compress(task)

    # Travels by value: nothing of penstock may be referred to in here.
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        job = loads(zlib.decompress(small))
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from job.run(number)

    return run


def without_defaults(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy without defaults and annotations, which often name what only the driver has.

    For those who pass every argument.
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
        """Defaults and annotations that only mean something to penstock mean nothing there."""
        if isinstance(obj, (ConfigValue, SecretMark)):
            return type(None), ()
        whole: Any = super()
        return whole.reducer_override(obj)


@contextmanager
def _pickled_by_value(modules: Iterable[ModuleType]) -> Iterator[None]:
    """The list of modules is one for the whole process: it is left as it was found."""
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
    """The user's own modules: files that stand neither among installed packages nor in Python itself."""
    return [module for module in list(sys.modules.values()) if _is_user_module(module)]


def _is_user_module(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    name = getattr(module, "__name__", "")
    if not isinstance(file, str) or name == "__main__" or name.partition(".")[0] in _NEVER_BY_VALUE:
        return False
    return not _is_installed(file)


@cache
def _is_installed(file: str) -> bool:
    """Whether a file is of Python or of an installed package: links are followed once for each file."""
    path = Path(file).resolve()
    return bool(_PACKAGE_FOLDERS & set(path.parts)) or any(
        path.is_relative_to(home) for home in _python_homes()
    )


@cache
def _python_homes() -> frozenset[Path]:
    return frozenset(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))
