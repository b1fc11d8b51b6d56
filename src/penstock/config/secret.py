"""Secrets are a type of their own: text that works as text, and does not show when something is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic_core import core_schema

from penstock.redaction import MASK, remember_secret

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler


class SecretText(str):
    """A text whose `repr` is masked; in everything else it is the text itself.

    So it does not show in a printed list, dict, dataclass or error with arguments, and headers and connection
    strings are made of it as of any other text. `redact` masks it in texts from then on.

    >>> key = SecretText("hunter2")
    >>> key, [key], {"key": key}
    (***, [***], {'key': ***})
    >>> "Bearer " + key, f"Bearer {key}"
    ('Bearer hunter2', 'Bearer hunter2')
    """

    __slots__ = ()

    def __new__(cls, value: str = "") -> SecretText:
        """Also remember it, so that `redact` knows it."""
        remember_secret(value)
        return super().__new__(cls, value)

    def __repr__(self) -> str:
        return MASK

    def __copy__(self) -> SecretText:
        return self

    def __deepcopy__(self, memo: Any) -> SecretText:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as plain text: who receives it may not have penstock."""
        return (str, (str.__str__(self),))


class SecretMark:
    """Marks a type as secret, as `TSecretValue` and `TSecretStrValue` do.

    >>> from penstock.config import BaseConfiguration
    >>> class Api(BaseConfiguration):
    ...     url: str
    ...     token: TSecretStrValue
    >>> Api(url="https://example.com", token="hunter2")
    Api(url='https://example.com', token=***)
    """

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Turn texts into `SecretText` after validation, and mask them in JSON."""
        return core_schema.no_info_after_validator_function(
            as_secret,
            handler(source),
            serialization=core_schema.plain_serializer_function_ser_schema(_mask_value, when_used="json"),
        )

    def __repr__(self) -> str:
        return "Secret"


class MaskedValue:
    """Stands where a secret would be shown."""

    def __repr__(self) -> str:
        return MASK


def as_secret(value: Any) -> Any:
    """The same value; texts in it become secret texts.

    >>> as_secret({"user": "ada", "keys": ["one", 2]})
    {'user': ***, 'keys': [***, 2]}
    """
    if isinstance(value, str):
        return value if isinstance(value, SecretText) else SecretText(value)
    if isinstance(value, dict):
        return {key: as_secret(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_secret(one) for one in value]
    return value


def _mask_value(value: Any) -> str | None:
    return None if value is None else MASK


TSecretValue = Annotated[Any, SecretMark()]
"""A secret of any type, for annotations: `key: TSecretValue = None`."""

TSecretStrValue = Annotated[str, SecretMark()]
"""A secret text, for annotations: `password: TSecretStrValue = None`."""
