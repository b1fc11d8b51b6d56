"""The fields of a spec, as the lookup sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_origin

from pydantic_core import PydanticUndefined

from penstock.config.specs import BaseConfiguration, NotResolved
from penstock.config.type_hints import is_optional, is_secret, member_subclasses, union_members

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecField:
    """A value to look for: its name, its type, and what holds where none is found."""

    name: str
    hint: Any
    default: Any = None
    required: bool = False
    is_looked_up: bool = True
    """Whether providers are asked at all."""

    @property
    def secret(self) -> bool:
        """Whether the value is a secret."""
        return is_secret(self.hint)

    @property
    def specs(self) -> tuple[type[BaseConfiguration], ...]:
        """The specs that the value may be of, in the order of preference."""
        return member_subclasses(self.hint, BaseConfiguration)

    @property
    def accepts_tables(self) -> bool:
        """Whether a whole section of a file can be the value."""
        return any(arm is Any or _accepts_table(arm) for arm in union_members(self.hint))


def spec_fields(spec: type[BaseConfiguration]) -> tuple[SpecField, ...]:
    """The fields of a spec, in their order.

    >>> class Api(BaseConfiguration):
    ...     url: str = None
    ...     pages: int = 10
    >>> [(field.name, field.required) for field in spec_fields(Api)]
    [('url', True), ('pages', False)]
    """
    return tuple(_field(name, info) for name, info in spec.model_fields.items())


def _field(name: str, info: FieldInfo) -> SpecField:
    hint = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
    default = info.get_default(call_default_factory=True)
    nothing = default is PydanticUndefined or default is None
    return SpecField(
        name=name,
        hint=hint,
        default=None if nothing else default,
        required=nothing and not is_optional(info.annotation),
        is_looked_up=not _is_not_resolved(info.metadata),
    )


def _is_not_resolved(metadata: Iterable[Any]) -> bool:
    return any(isinstance(mark, NotResolved) or mark is NotResolved for mark in metadata)


def _accepts_table(member: Any) -> bool:
    kind = get_origin(member) or member
    if not isinstance(kind, type):
        return False
    return issubclass(kind, Mapping) or hasattr(kind, "__annotations__") or hasattr(kind, "model_fields")
