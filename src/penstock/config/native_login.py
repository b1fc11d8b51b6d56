"""Logging in with the client libraries of clouds, which are imported when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

from penstock.errors import UsageError


class CredentialsWithDefault:
    """Credentials that fall back to those of the machine when their key is not set."""

    key_field: ClassVar[str] = ""
    """The field without which the credentials of the machine are used."""

    def has_default_credentials(self) -> bool:
        """Return whether the credentials of the machine are used."""
        return getattr(self, self.key_field) is None

    def default_credentials(self) -> Any:
        """Return the credentials of the machine."""
        raise NotImplementedError(f"{type(self).__name__} has no default credentials")


def login_library(module: str, package: str, spec: type) -> Any:
    """Import a module of a client library; raise with the package to install if it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{spec.__name__} needs the Python package {package}, which is not installed",
            hint=f"pip install {package}",
        ) from error
