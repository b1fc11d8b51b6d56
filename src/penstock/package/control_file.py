"""Control files: small JSON documents with a format version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.errors import PackageDamaged, UnsupportedVersion
from penstock.package.storage import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.package.storage import FileStorage

FORMAT_VERSION: Final = 1
_VERSION_KEY = "format_version"


def encode_control(document: Mapping[str, Any]) -> bytes:
    """Return the content of a control file."""
    return as_json({_VERSION_KEY: FORMAT_VERSION, **document})


def read_control(storage: FileStorage, name: str) -> dict[str, Any] | None:
    """Read a control file; None when it does not exist."""
    document = storage.read_json(name)
    return None if document is None else without_version(document, path=storage.path(name))


def without_version(document: Any, *, path: str) -> dict[str, Any]:
    """Return the content of a control file; refuse a version that this release cannot read.

    Version 2 will need a migration here, chosen by the kind of the file.
    """
    if not isinstance(document, dict):
        raise PackageDamaged(path=path, reason=f"it holds a {type(document).__name__} and no object")
    content = dict(document)
    version = content.pop(_VERSION_KEY, None)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise PackageDamaged(path=path, reason=f"its {_VERSION_KEY} is {version!r}")
    if version > FORMAT_VERSION:
        raise UnsupportedVersion(what=path, has=str(version), supports=f"up to {FORMAT_VERSION}")
    return content
