"""Default values of arguments that say: look for me."""

from __future__ import annotations

from typing import Any, Final


class ConfigValue:
    """The default of an argument that comes from configuration."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def secret(self) -> bool:
        """Whether the argument is a secret."""
        return self._name == "secrets"

    def __repr__(self) -> str:
        return f"penstock.{self._name}.value"

    def __copy__(self) -> ConfigValue:
        return self

    def __deepcopy__(self, memo: Any) -> ConfigValue:
        return self

    def __reduce__(self) -> str:
        return f"{'secrets' if self.secret else 'config'}_value"


config_value: Final[Any] = ConfigValue("config")
"""`def github(org: str = config_value)`: the argument is looked for in every provider."""

secrets_value: Final[Any] = ConfigValue("secrets")
"""`def github(token: str = secrets_value)`: the argument is a secret, looked for where secrets may be."""
