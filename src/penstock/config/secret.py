"""Types for secrets: text that is usable as text and masked when printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic_core import core_schema

from penstock.redaction import MASK, remember_secret

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler


class SecretText(str):
    """A text whose `repr` is masked; otherwise it behaves like its text.

    So it is masked in printed lists, dicts, dataclasses and error arguments, and headers and connection
    strings can be built from it. `redact` masks its text from its creation on.

    >>> key = SecretText("hunter2")
    >>> key, [key], {"key": key}
    (***, [***], {'key': ***})
    >>> "Bearer " + key, f"Bearer {key}"
    ('Bearer hunter2', 'Bearer hunter2')
    """

    __slots__ = ()

    def __new__(cls, value: str = "") -> SecretText:
        """Also register the text for `redact`."""
        remember_secret(value)
        return super().__new__(cls, value)

    def __repr__(self) -> str:
        return MASK

    def __copy__(self) -> SecretText:
        return self

    def __deepcopy__(self, memo: Any) -> SecretText:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain text, because the receiver may not have penstock."""
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
        """Convert texts to `SecretText` after validation, and mask them in JSON."""
        return core_schema.no_info_after_validator_function(
            as_secret,
            handler(source),
            serialization=core_schema.plain_serializer_function_ser_schema(_mask_value, when_used="json"),
        )

    def __repr__(self) -> str:
        return "Secret"


class MaskedValue:
    """The placeholder for a secret in printed output."""

    def __repr__(self) -> str:
        return MASK


def as_secret(value: Any) -> Any:
    """Return the same value with `SecretText` for all its texts.

    >>> as_secret({"user": "ada", "keys": ["one", 2]})
    {'user': ***, 'keys': [***, 2]}
    """
    if isinstance(value, str):
        return value if isinstance(value, SecretText) else SecretText(value)
    if isinstance(value, dict):
        return {key: as_secret(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_secret(item) for item in value]
    return value


def _mask_value(value: Any) -> str | None:
    return None if value is None else MASK


TSecretValue = Annotated[Any, SecretMark()]
"""A secret of any type, for annotations: `key: TSecretValue = None`."""

TSecretStrValue = Annotated[str, SecretMark()]
"""A secret text, for annotations: `password: TSecretStrValue = None`."""
