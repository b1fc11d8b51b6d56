"""Settings: read once at the door and passed on as values.

Takes:   environment variables, `secrets.toml` and `config.toml` of the project and of the home folder.
Gives:   `Settings`, a value that answers lookups by section and key, and specs filled from it.
Touches: errors.
"""

from penstock.config.accessor import ConfigAccessor
from penstock.config.places import home_folder, pipelines_folder, settings_folder
from penstock.config.providers import ConfigProvider
from penstock.config.resolve import resolve_configuration
from penstock.config.secrets import TSecretStrValue, TSecretValue
from penstock.config.settings import Settings, read_settings
from penstock.config.specs import BaseConfiguration, CredentialsConfiguration, NotResolved, configspec

__all__ = [
    "BaseConfiguration",
    "ConfigAccessor",
    "ConfigProvider",
    "CredentialsConfiguration",
    "NotResolved",
    "Settings",
    "TSecretStrValue",
    "TSecretValue",
    "configspec",
    "home_folder",
    "pipelines_folder",
    "read_settings",
    "resolve_configuration",
    "settings_folder",
]
