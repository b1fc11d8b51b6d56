"""Settings: read once at the door and passed on as values.

Takes:   environment variables and `config.toml` of the project and of the home folder.
Gives:   `Settings`, a value that answers lookups by section and key.
Touches: errors.
"""

from penstock.config.accessor import ConfigAccessor
from penstock.config.places import home_folder, pipelines_folder, settings_folder
from penstock.config.settings import Settings, read_settings

__all__ = [
    "ConfigAccessor",
    "Settings",
    "home_folder",
    "pipelines_folder",
    "read_settings",
    "settings_folder",
]
