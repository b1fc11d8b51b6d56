"""Exceptions of settings, by dlt's import path."""

from penstock.errors import ConfigFieldMissing as ConfigFieldMissingException
from penstock.errors import ConfigProviderFailed as ConfigProviderException
from penstock.errors import ConfigurationValueError
from penstock.errors import ConfigValueCannotBeCoerced as ConfigValueCannotBeCoercedException
from penstock.errors import ValueNotSecret as ValueNotSecretException

__all__ = [
    "ConfigFieldMissingException",
    "ConfigProviderException",
    "ConfigValueCannotBeCoercedException",
    "ConfigurationValueError",
    "ValueNotSecretException",
]
