"""Specs: classes whose fields are settings, their fields, and their native values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import new_class
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, dataclass_transform, get_origin, overload

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticUndefined

from penstock.config.secret import MaskedValue, as_secret
from penstock.config.type_hints import is_optional, is_secret, member_subclasses, union_members
from penstock.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic.fields import FieldInfo


def parse_native(spec: type[BaseModel], native: Any) -> Mapping[str, Any]:
    """Return the fields of `native`; raise ValueError if the spec does not understand it.

    >>> class Api(BaseModel):
    ...     pages: int = 10
    >>> parse_native(Api, '{"pages": 3}'), parse_native(Api, None)
    ({'pages': 3}, {})
    """
    if native is None:
        return {}
    if isinstance(native, BaseModel):
        return {name: getattr(native, name) for name in native.model_fields_set}
    mapping = _as_mapping(native)
    if mapping is not None:
        return spec.fields_of_mapping(mapping) if issubclass(spec, CredentialsConfiguration) else mapping
    if not hasattr(spec, "parse_native_representation"):
        raise ValueError("it is not an object")
    before = {name: _field_default(info) for name, info in spec.model_fields.items()}
    part: Any = spec.model_construct(**before)
    part.parse_native_representation(native)
    return {name: value for name, value in part.__dict__.items() if value != before.get(name)}


def _as_mapping(native: Any) -> Mapping[str, Any] | None:
    if isinstance(native, Mapping):
        return native
    if isinstance(native, str) and native.lstrip().startswith("{"):
        with suppress(ValueError):
            read = json.loads(native)
            return read if isinstance(read, dict) else None
    return None


def _field_default(info: FieldInfo) -> Any:
    default = info.get_default(call_default_factory=True)
    return None if default is PydanticUndefined else default


T = TypeVar("T", bound=type)


class BaseConfiguration(BaseModel):
    """The base class of specs; `resolve_configuration` fills its fields.

    A field without a default, or with the default None and a type that is not optional, is required.

    >>> class Api(BaseConfiguration):
    ...     url: str = None
    ...     pages: int = 10
    >>> Api(url="https://example.com")
    Api(url='https://example.com', pages=10)
    """

    model_config = ConfigDict(
        extra="forbid",
        arbitrary_types_allowed=True,
        coerce_numbers_to_str=True,
        hide_input_in_errors=True,
        protected_namespaces=(),
    )

    __section__: ClassVar[str | None] = None
    """The section of the fields; it is never dropped from a lookup."""

    def on_resolved(self) -> None:
        """Validate or complete the spec after all fields are resolved; for subclasses."""

    def on_partial(self) -> bool | None:
        """Set fields that no provider has; for subclasses. Return True if no other field is needed."""
        return False

    def is_partial(self) -> bool:
        """Return whether a required field has no value."""
        return any(field.required and getattr(self, field.name) is None for field in spec_fields(type(self)))

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        secret = secret_fields(type(self))
        for name, value in super().__repr_args__():
            yield name, (MaskedValue() if name in secret and value is not None else value)

    def __repr__(self) -> str:
        return redact(super().__repr__())

    def __str__(self) -> str:
        return redact(super().__str__())


class CredentialsConfiguration(BaseConfiguration):
    """The base class of credentials. Their section is `credentials`; one text may replace all fields.

    Override `parse_native_representation` to parse such a text, `to_native_representation` to create one.

    >>> class Login(CredentialsConfiguration):
    ...     user: str = None
    ...     def parse_native_representation(self, native_value):
    ...         self.user = native_value.removeprefix("login:")
    >>> Login("login:ada"), Login(user="ada")
    (Login(user='ada'), Login(user='ada'))
    """

    __section__: ClassVar[str | None] = "credentials"

    def __init__(self, native_value: Any = None, /, **fields: Any) -> None:
        """Create credentials from fields, from a native value, or from both; fields win."""
        super().__init__(**{**parse_native(type(self), native_value), **fields})

    @classmethod
    def fields_of_mapping(cls, mapping: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the fields in an object that sets them all, such as a credentials file; for subclasses."""
        return mapping

    def parse_native_representation(self, native_value: Any) -> None:
        """Set the fields from a native value, such as a connection string, or raise ValueError."""
        raise ValueError(f"{type(self).__name__} cannot be created from one value")

    def to_native_representation(self) -> Any:
        """Return one value for all fields. It contains secrets."""
        raise NotImplementedError(f"{type(self).__name__} has no native representation")

    def to_native_credentials(self) -> Any:
        """Return the value with which other libraries log in: the native representation."""
        return self.to_native_representation()


TCredentials = CredentialsConfiguration
"""Any credentials, for annotations."""


def set_fields(spec: BaseModel, values: Mapping[str, Any]) -> None:
    """Set fields of a spec, with secrets as `SecretText`."""
    secret = secret_fields(type(spec))
    for name, value in values.items():
        setattr(spec, name, as_secret(value) if name in secret else value)


class NotResolved:
    """Marks a type that is not read from providers: `Annotated[str, NotResolved()]`."""


def secret_fields(spec: type[BaseModel]) -> frozenset[str]:
    """Return the names of the secret fields."""
    return frozenset(
        name for name, field in spec.model_fields.items() if is_secret(field.annotation, field.metadata)
    )


@overload
def configspec(cls: T, /) -> T: ...
@overload
def configspec(cls: None = None, /, *, init: bool = True) -> Callable[[T], T]: ...
@dataclass_transform(kw_only_default=True)
def configspec(cls: Any = None, /, *, init: bool = True) -> Any:
    """Turn an annotated class into a `BaseConfiguration`; a spec is returned unchanged.

    >>> @configspec
    ... class Api:
    ...     pages: int = 10
    >>> Api(pages="3")
    Api(pages=3)
    """
    return _as_spec if cls is None else _as_spec(cls)


def _as_spec(cls: type) -> type[BaseConfiguration]:
    if issubclass(cls, BaseConfiguration):
        return cls
    left_out = {"__dict__", "__weakref__"}
    space = {name: value for name, value in vars(cls).items() if name not in left_out}
    bases = tuple(base for base in cls.__bases__ if base is not object)
    spec: type[BaseConfiguration] = new_class(
        cls.__name__, (*bases, BaseConfiguration), exec_body=lambda body: body.update(space)
    )
    return spec


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecField:
    """A value to look up: its name, type and default."""

    name: str
    hint: Any
    default: Any = None
    required: bool = False
    is_looked_up: bool = True
    """Whether providers are queried."""

    @property
    def secret(self) -> bool:
        """Whether the value is a secret."""
        return is_secret(self.hint)

    @property
    def specs(self) -> tuple[type[BaseConfiguration], ...]:
        """The specs in the type of the value, in order of preference."""
        return member_subclasses(self.hint, BaseConfiguration)

    @property
    def accepts_tables(self) -> bool:
        """Whether a whole section of a file is a valid value."""
        return any(arm is Any or _accepts_table(arm) for arm in union_members(self.hint))


def spec_fields(spec: type[BaseConfiguration]) -> tuple[SpecField, ...]:
    """Return the fields of a spec, in order.

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
    has_no_default = default is PydanticUndefined or default is None
    return SpecField(
        name=name,
        hint=hint,
        default=None if has_no_default else default,
        required=has_no_default and not is_optional(info.annotation),
        is_looked_up=not _is_not_resolved(info.metadata),
    )


def _is_not_resolved(metadata: Iterable[Any]) -> bool:
    return any(isinstance(mark, NotResolved) or mark is NotResolved for mark in metadata)


def _accepts_table(member: Any) -> bool:
    kind = get_origin(member) or member
    if not isinstance(kind, type):
        return False
    return issubclass(kind, Mapping) or hasattr(kind, "__annotations__") or hasattr(kind, "model_fields")
