"""Specs: classes that say which settings something takes, and of which types."""

from __future__ import annotations

from types import new_class
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform, overload

from pydantic import BaseModel, ConfigDict

from penstock.config.native_values import parse_native
from penstock.config.secret import MaskedValue
from penstock.config.type_hints import is_secret
from penstock.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T", bound=type)


class BaseConfiguration(BaseModel):
    """The base of all specs; its fields are filled by `resolve_configuration`.

    A field without default, or with the default None and a type that is not optional, must be found.

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
    """The section that the fields always stand in, whatever other sections are dropped."""

    def on_resolved(self) -> None:
        """Called once all fields have their values; subclasses check or complete them here."""

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        secret = secret_fields(type(self))
        for name, value in super().__repr_args__():
            yield name, (MaskedValue() if name in secret and value is not None else value)

    def __repr__(self) -> str:
        return redact(super().__repr__())

    def __str__(self) -> str:
        return redact(super().__str__())


class CredentialsConfiguration(BaseConfiguration):
    """The base of all credentials. Their section is `credentials`; one text may stand for all fields.

    Override `parse_native_representation` to take such a text apart, `to_native_representation` to make one.

    >>> class Login(CredentialsConfiguration):
    ...     user: str = None
    ...     def parse_native_representation(self, native_value):
    ...         self.user = native_value.removeprefix("login:")
    >>> Login("login:ada"), Login(user="ada")
    (Login(user='ada'), Login(user='ada'))
    """

    __section__: ClassVar[str | None] = "credentials"

    def __init__(self, native_value: Any = None, /, **fields: Any) -> None:
        """Made from fields, or from the one value that stands for them."""
        super().__init__(**{**parse_native(type(self), native_value), **fields})

    def parse_native_representation(self, native_value: Any) -> None:
        """Set the fields from one value, such as a connection string; ValueError where it is none."""
        raise ValueError(f"{type(self).__name__} cannot be given as one value")

    def to_native_representation(self) -> Any:
        """One value that stands for all fields. It holds secrets."""
        raise NotImplementedError(f"{type(self).__name__} cannot be told in one value")

    def to_native_credentials(self) -> Any:
        """What a library that knows nothing of penstock logs in with: the native representation."""
        return self.to_native_representation()


TCredentials = CredentialsConfiguration
"""Any credentials, for annotations."""


class NotResolved:
    """Marks an annotated type as one that no provider is asked for: `Annotated[str, NotResolved()]`."""


def secret_fields(spec: type[BaseModel]) -> frozenset[str]:
    """The names of the fields whose values are secrets."""
    return frozenset(
        name for name, field in spec.model_fields.items() if is_secret(field.annotation, field.metadata)
    )


@overload
def configspec(cls: T, /) -> T: ...
@overload
def configspec(cls: None = None, /, *, init: bool = True) -> Callable[[T], T]: ...
@dataclass_transform(kw_only_default=True)
def configspec(cls: Any = None, /, *, init: bool = True) -> Any:
    """Make a spec of a class: plain annotated classes become a `BaseConfiguration`, specs stay as they are.

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
    made: type[BaseConfiguration] = new_class(
        cls.__name__, (*bases, BaseConfiguration), exec_body=lambda body: body.update(space)
    )
    return made
