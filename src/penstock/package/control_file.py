"""Control files: small JSON documents that say which version of the format they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.errors import PackageDamaged, UnsupportedVersion
from penstock.package.migrations import apply_migrations, latest_version
from penstock.package.storage import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.package.storage import FileStorage

FORMAT_VERSION: Final = latest_version()
_VERSION_KEY = "format_version"


def encode_control(document: Mapping[str, Any]) -> bytes:
    """The content of a control file."""
    return as_json({_VERSION_KEY: FORMAT_VERSION, **document})


def read_control(storage: FileStorage, name: str, kind: str) -> dict[str, Any] | None:
    """A control file in the form of this release, or None when there is none."""
    document = storage.read_json(name)
    return None if document is None else upgrade_document(document, kind, path=storage.path(name))


def upgrade_document(document: Any, kind: str, *, path: str) -> dict[str, Any]:
    """A document of any version that this release knows, without the version."""
    if not isinstance(document, dict):
        raise PackageDamaged(path=path, reason=f"it holds a {type(document).__name__} and no object")
    content = dict(document)
    has = content.pop(_VERSION_KEY, None)
    if not isinstance(has, int) or isinstance(has, bool) or has < 1:
        raise PackageDamaged(path=path, reason=f"its {_VERSION_KEY} is {has!r}")
    if has > FORMAT_VERSION:
        raise UnsupportedVersion(what=path, has=str(has), supports=f"up to {FORMAT_VERSION}")
    try:
        return apply_migrations(kind, content, version=has)
    except (KeyError, TypeError) as error:
        raise PackageDamaged(path=path, reason=f"{error} is missing or wrong in it") from error
