"""Secrets are a type of their own: text that works as text, and does not show when something is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic_core import core_schema

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler

MASK: Final = "***"


class SecretText(str):
    """A text whose `repr` is masked; everything else is the text itself.

    >>> key = SecretText("hunter2")
    >>> key, [key], {"key": key}
    (***, [***], {'key': ***})
    >>> "Bearer " + key
    'Bearer hunter2'
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return MASK

    def __copy__(self) -> SecretText:
        return self

    def __deepcopy__(self, memo: Any) -> SecretText:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as plain text: whoever unpickles it may not have penstock."""
        return (str, (str.__str__(self),))


class SecretMark:
    """Marks an annotated type as secret: `Annotated[str, SecretMark()]`."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(
            hidden,
            handler(source),
            serialization=core_schema.plain_serializer_function_ser_schema(_masked, when_used="json"),
        )

    def __repr__(self) -> str:
        return "Secret"


def hidden(value: Any) -> Any:
    """The same value; texts in it become secret texts."""
    if isinstance(value, str):
        return value if isinstance(value, SecretText) else SecretText(value)
    if isinstance(value, dict):
        return {key: hidden(one) for key, one in value.items()}
    if isinstance(value, list):
        return [hidden(one) for one in value]
    return value


def _masked(value: Any) -> str | None:
    return None if value is None else MASK


TSecretValue = Annotated[Any, SecretMark()]
"""A secret of any type, for annotations: `key: TSecretValue = None`."""

TSecretStrValue = Annotated[str, SecretMark()]
"""A secret text, for annotations: `password: TSecretStrValue = None`."""
