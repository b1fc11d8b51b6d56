"""The import hook that resolves `dlt` and its modules to penstock, for programs that stay unchanged."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import DltAlreadyImported

if TYPE_CHECKING:
    from collections.abc import Sequence

_ALIAS: Final = "dlt"
_TARGET: Final = "penstock"


def as_dlt() -> None:
    """Resolve `import dlt` to penstock in this process, in modules imported after this call.

    An installed dlt is left as it is and is not imported. Repeated calls are idempotent.

    >>> import penstock
    >>> penstock.as_dlt()
    >>> import dlt
    >>> dlt.pipeline is penstock.pipeline
    True
    """
    imported = sys.modules.get(_ALIAS)
    if imported is not None and not isinstance(imported, AliasModule):
        raise DltAlreadyImported(path=str(getattr(imported, "__file__", None)))
    if not any(isinstance(finder, AliasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, AliasFinder())


class AliasModule(ModuleType):
    """A module under dlt's name whose attributes are those of the module of penstock.

    A proxy and not the module itself: importing `dlt.pipeline` binds the submodule in its parent, and would
    hide the function of the same name.
    """

    def __init__(self, name: str, target: ModuleType) -> None:
        super().__init__(name, target.__doc__)
        self.__dict__["__target__"] = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["__target__"], name)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        elif not isinstance(value, AliasModule):
            setattr(self.__dict__["__target__"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["__target__"], name)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["__target__"])


class AliasFinder(MetaPathFinder):
    """A finder of `dlt` and its submodules, ahead of those of the path."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of an alias; None for other packages and unknown modules."""
        if fullname.partition(".")[0] != _ALIAS:
            return None
        spec = find_spec(_target_name(fullname))
        if spec is None:
            return None
        is_package = spec.submodule_search_locations is not None
        return ModuleSpec(fullname, AliasLoader(), is_package=is_package)


class AliasLoader(Loader):
    """A loader of aliases: it imports the module of penstock."""

    def create_module(self, spec: ModuleSpec) -> AliasModule:
        """Import the module of penstock and return its alias."""
        return AliasModule(spec.name, import_module(_target_name(spec.name)))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module of penstock has been executed by its own import."""


def _target_name(fullname: str) -> str:
    return _TARGET + fullname.removeprefix(_ALIAS)
