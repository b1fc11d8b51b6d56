"""Settings, by dlt's import path."""

from penstock.config import (
    NotResolved,
    configspec,
    get_fun_spec,
    known_sections,
    resolve_configuration,
    with_config,
)
from penstock.errors import ConfigFieldMissing as ConfigFieldMissingException
from penstock.errors import ConfigurationValueError
from penstock.errors import ConfigValueCannotBeCoerced as ConfigValueCannotBeCoercedException

__all__ = [
    "ConfigFieldMissingException",
    "ConfigValueCannotBeCoercedException",
    "ConfigurationValueError",
    "NotResolved",
    "configspec",
    "get_fun_spec",
    "known_sections",
    "resolve_configuration",
    "with_config",
]
