"""The public `penstock.config` and `penstock.secrets`: settings by dotted path, and markers for arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from penstock.config.coerce import infer_value
from penstock.config.explain import explain
from penstock.config.lookup import Sections
from penstock.config.resolution import LookupContext, ResolvedFields, raise_missing, resolve_fields
from penstock.config.secret import SecretMark, as_secret
from penstock.config.settings import read_settings, register_provider, write_value
from penstock.config.signature import config_value, secrets_value
from penstock.config.specs import SpecField

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.config.explain import Explanation
    from penstock.config.providers import ConfigProvider
    from penstock.config.settings import SettingsKind
    from penstock.config.specs import BaseConfiguration


class _Accessor:
    """Reads a setting by its exact dotted path at every access; no section is dropped."""

    _kind: SettingsKind
    value: Any

    def __getitem__(self, path: str) -> Any:
        resolved = self._resolve(path, None, required=True)
        raise_missing(f"penstock.{self._kind}", resolved.resolutions)
        return next(iter(resolved.values.values()))

    def get(self, path: str, expected_type: Any = None) -> Any:
        """Return the setting at `path` as a value of the type, or None if it is not set.

        Without a type, a text that looks like a number, bool, list or object is converted.
        """
        return next(iter(self._resolve(path, expected_type, required=False).values.values()), None)

    def __setitem__(self, path: str, value: Any) -> None:
        """Set a value for this process. Environment variables win over it."""
        write_value(self._kind, path, as_secret(value) if self._kind == "secrets" else value)

    def __contains__(self, path: str) -> bool:
        return bool(self._resolve(path, None, required=False).values)

    def register_provider(self, provider: ConfigProvider) -> None:
        """Add a provider for this process, after the environment and the files."""
        register_provider(provider)

    def explain(
        self,
        what: str | type[BaseConfiguration] | Callable[..., Any],
        *,
        sections: tuple[str, ...] = (),
        pipeline_name: str | None = None,
    ) -> Explanation:
        """Explain where a dotted path, a spec or a function's arguments get values; print the result."""
        return explain(what, sections=sections, pipeline_name=pipeline_name)

    def __repr__(self) -> str:
        return f"penstock.{self._kind}"

    def _resolve(self, path: str, expected_type: Any, *, required: bool) -> ResolvedFields:
        *above, key = path.split(".")
        hint = Any if expected_type is None else expected_type
        spec_field = SpecField(
            name=key,
            hint=Annotated[hint, SecretMark()] if self._kind == "secrets" else hint,
            required=required,
        )
        providers = [
            provider
            for provider in read_settings().providers
            if provider.supports_secrets or self._kind == "config"
        ]
        context = LookupContext(providers=providers, sections=Sections(prefix=tuple(above)))
        resolved = resolve_fields([spec_field], context, {})
        values = resolved.values
        if expected_type is None and values:
            values = {key: infer_value(values[key])}
        return ResolvedFields(
            values=values,
            resolutions=tuple(replace(resolution, field=path) for resolution in resolved.resolutions),
        )


class ConfigAccessor(_Accessor):
    """`penstock.config`: settings of every provider, by dotted path.

    `penstock.config.value` as the default of an argument makes it configurable.

    >>> import os; os.environ["SOURCES__HUB__PAGES"] = "3"
    >>> ConfigAccessor()["sources.hub.pages"], ConfigAccessor().get("sources.hub.pages", str)
    (3, '3')
    >>> ConfigAccessor().get("sources.hub.nothing") is None
    True
    >>> del os.environ["SOURCES__HUB__PAGES"]
    """

    _kind = "config"
    value: Any = config_value


class SecretsAccessor(_Accessor):
    """`penstock.secrets`: secrets by dotted path, from the providers that may hold them.

    `penstock.secrets.value` as the default of an argument makes it a configurable secret.

    >>> import os; os.environ["SOURCES__HUB__TOKEN"] = "hunter2"
    >>> SecretsAccessor()["sources.hub.token"]
    ***
    >>> SecretsAccessor()["sources.hub.token"] == "hunter2"
    True
    >>> del os.environ["SOURCES__HUB__TOKEN"]
    """

    _kind = "secrets"
    value: Any = secrets_value


config: Final = ConfigAccessor()
secrets: Final = SecretsAccessor()
