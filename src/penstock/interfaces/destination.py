"""Destinations: the registered reference, and a destination with arguments."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar, cast, overload, runtime_checkable

from penstock.config import config_value, known_sections, read_settings, resolve_configuration
from penstock.errors import InvalidDestinationReference, UnknownDestination, UsageError, suggestion
from penstock.interfaces.capabilities import DestinationCapabilitiesContext
from penstock.interfaces.client import JobClientBase
from penstock.interfaces.configuration import DestinationClientConfiguration
from penstock.interfaces.replacements import REPLACEMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint

    from pyspark.sql import SparkSession

    from penstock.config import Settings
    from penstock.schema import Schema
    from penstock.schema.naming import NamingConvention


Configuration = TypeVar("Configuration", bound=DestinationClientConfiguration)
SECTION = known_sections.DESTINATION
_OWN_PACKAGE = "penstock.destinations"
_CAPABILITIES = frozenset(item.name for item in fields(DestinationCapabilitiesContext))


@runtime_checkable
class DestinationReference(Protocol):
    """A registered destination: an object or module with these functions."""

    def capabilities(self) -> DestinationCapabilitiesContext:
        """Return the capabilities: job files, dispositions, length of names, escape functions."""

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> JobClientBase:
        """Return a client for a schema; it may use the session while it is open.

        Without a configuration, one is created from the settings (`configured`).
        """

    def spec(self) -> type[DestinationClientConfiguration]:
        """Return the class of its settings, including credentials."""


def configured(spec: type[Configuration], initial_config: Any) -> Configuration:
    """Return the given configuration, or one from the settings in `[destination.<name>]`."""
    if isinstance(initial_config, spec):
        return initial_config
    name = spec.model_fields["destination_name"].default
    sections = (SECTION, name) if name else (SECTION,)
    return resolve_configuration(spec, settings=read_settings(), sections=sections)


ENTRY_POINT_GROUP = "penstock.destinations"


def destination_names() -> tuple[str, ...]:
    """Return the names that `destination=` accepts on this machine."""
    return tuple(sorted(entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)))


def find_destination(name: str) -> DestinationReference:
    """Load the destination that is registered under a name.

    >>> find_destination("delta").spec().__name__
    'DeltaConfiguration'
    """
    for entry in entry_points(group=ENTRY_POINT_GROUP, name=name):
        return _load_entry(entry)
    raise _unknown_destination(name)


def _unknown_destination(name: str) -> UnknownDestination:
    return UnknownDestination(name=name, known=destination_names(), instead=REPLACEMENTS.get(name))


def _load_entry(entry: EntryPoint) -> DestinationReference:
    reference = entry.load()
    if not _is_reference(reference):
        raise InvalidDestinationReference(name=entry.name, found=f"a {type(reference).__name__}")
    return cast("DestinationReference", reference)


def _is_reference(value: Any) -> bool:
    return isinstance(value, DestinationReference) and not isinstance(value, (type, Destination))


@dataclass(frozen=True, slots=True)
class Destination:
    """A destination with its arguments; nothing is opened yet.

    The arguments are settings of its spec and fields of its capabilities. They take precedence over settings,
    which are looked up in the section `destination.<destination_name>`.

    >>> Destination.from_reference("delta").destination_name
    'delta'
    """

    destination_name: str
    reference: DestinationReference
    arguments: Mapping[str, Any] = field(default_factory=dict)
    environment: str | None = field(default=None, kw_only=True)
    """The name of the environment, such as `production`; for reports only."""
    destination_type: str = field(default="", kw_only=True, compare=False)
    """The type as `destination=` accepts it: a dotted path, or the registered name of a plug-in."""

    def __post_init__(self) -> None:
        """Refuse unknown arguments; without a type, use the path of the reference."""
        if not self.destination_type:
            kind = type(self.reference)
            object.__setattr__(self, "destination_type", f"{kind.__module__}.{kind.__qualname__}")
        self.check_arguments()

    def check_arguments(self) -> None:
        """Refuse arguments that are neither settings nor capabilities."""
        settings = self.spec.model_fields
        for name in self.arguments:
            if name not in settings and name not in _CAPABILITIES:
                raise UsageError(
                    f"{self.destination_name} has no argument {name!r}",
                    hint=suggestion(name, settings),
                    argument=name,
                )

    @property
    def configured_name(self) -> str | None:
        """The name if it was given; None for a destination with the name of its type."""
        return None if self.destination_name == self.to_name(self.destination_type) else self.destination_name

    @property
    def destination_description(self) -> str:
        """The name and the type, for messages."""
        return f"{self.destination_name} ({self.destination_type})"

    @property
    def spec(self) -> type[DestinationClientConfiguration]:
        """The class of the settings, including credentials."""
        return self.reference.spec()

    @property
    def client_class(self) -> type[JobClientBase]:
        """The class of the clients; `JobClientBase` if the reference has no attribute `client_class`."""
        return cast("type[JobClientBase]", getattr(self.reference, "client_class", JobClientBase))

    def capabilities(
        self, config: DestinationClientConfiguration | None = None, naming: NamingConvention | None = None
    ) -> DestinationCapabilitiesContext:
        """Return the capabilities with those of the arguments; `config` and `naming` may change some.

        >>> Destination.from_reference("delta", recommended_file_size=10).capabilities().recommended_file_size
        10
        """
        capabilities = replace(self.reference.capabilities(), **self._capability_arguments)
        return self.adjust_capabilities(capabilities, config, naming)

    @classmethod
    def adjust_capabilities(
        cls,
        caps: DestinationCapabilitiesContext,
        config: DestinationClientConfiguration | None,
        naming: NamingConvention | None,
    ) -> DestinationCapabilitiesContext:
        """Return the capabilities with these settings and this naming convention; for subclasses."""
        del config, naming
        return caps

    def configuration(
        self,
        settings: Settings,
        *,
        pipeline_name: str,
        dataset_name: str,
        master: str,
        default_schema_name: str | None = None,
    ) -> DestinationClientConfiguration:
        """Return the arguments completed from the settings, for one dataset of one pipeline."""
        return self._resolve(settings, pipeline_name).bound(
            pipeline_name=pipeline_name,
            dataset_name=dataset_name,
            default_schema_name=default_schema_name,
            master=master,
        )

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> JobClientBase:
        """Return a client for a schema; open it with `with`.

        Without a configuration, one is created from the arguments and the settings.
        """
        is_resolved = isinstance(initial_config, DestinationClientConfiguration)
        config = initial_config if is_resolved else self._resolve(read_settings())
        client = self.reference.client(schema, config, spark=spark)
        if self._capability_arguments:
            client.capabilities = self.capabilities(config, schema.naming)
        return client

    def with_arguments(self, **arguments: Any) -> Self:
        """Return the destination with other arguments, such as credentials.

        >>> Destination.from_reference("delta").with_arguments(bucket_url="lake").arguments
        {'bucket_url': 'lake'}
        """
        return self.with_changes(arguments={**self.arguments, **arguments})

    def with_changes(self, **changes: Any) -> Self:
        """Return a copy with other values of fields; subclasses may have other parameters.

        >>> Destination.from_reference("delta").with_changes(destination_name="lake").destination_description
        'lake (penstock.destinations.delta)'
        """
        changed = copy(self)
        for name, value in changes.items():
            object.__setattr__(changed, name, value)
        changed.check_arguments()
        return changed

    @classmethod
    def to_name(cls, ref: Any) -> str:
        """Return the short name of a destination, a factory or a type.

        >>> Destination.to_name("penstock.destinations.delta")
        'delta'
        """
        if isinstance(ref, Destination):
            return cls.to_name(ref.destination_type)
        name = ref if isinstance(ref, str) else getattr(ref, "__name__", type(ref).__name__)
        return str(name).rpartition(".")[2]

    @overload
    @staticmethod
    def from_reference(ref: None, **kwargs: Any) -> None: ...
    @overload
    @staticmethod
    def from_reference(
        ref: TDestinationReference,
        credentials: Any = None,
        destination_name: str | None = None,
        environment: str | None = None,
        **kwargs: Any,
    ) -> Destination: ...
    @staticmethod
    def from_reference(
        ref: TDestinationReference | None,
        credentials: Any = None,
        destination_name: str | None = None,
        environment: str | None = None,
        **kwargs: Any,
    ) -> Destination | None:
        """Return a destination from a name, a path, a reference, a module, a factory or a destination.

        A name is registered, or has a type in the settings: `destination.<name>.destination_type`. A path is
        that of a module, a factory or a destination. The other arguments are those of the factories, and
        replace those of a destination.

        >>> Destination.from_reference("penstock.destinations.delta").destination_name
        'delta'
        >>> Destination.from_reference("delta", bucket_url="s3://lake").arguments
        {'bucket_url': 's3://lake'}
        """
        if ref is None:
            return None
        if credentials is not None:
            kwargs["credentials"] = credentials
        changes: dict[str, Any] = {"destination_name": destination_name, "environment": environment}
        changes = {name: value for name, value in changes.items() if value is not None}
        destination = _destination_of(ref)
        if kwargs:
            changes["arguments"] = {**destination.arguments, **kwargs}
        return destination.with_changes(**changes) if changes else destination

    @property
    def _capability_arguments(self) -> dict[str, Any]:
        settings = self.spec.model_fields
        return {
            name: value
            for name, value in self.arguments.items()
            if name not in settings and value is not None
        }

    def _resolve(
        self, settings: Settings, pipeline_name: str | None = None
    ) -> DestinationClientConfiguration:
        fields_of_spec = self.spec.model_fields
        arguments = {name: value for name, value in self.arguments.items() if name in fields_of_spec}
        return resolve_configuration(
            self.spec,
            settings=settings,
            sections=(SECTION, self.destination_name),
            pipeline_name=pipeline_name,
            explicit={"destination_name": self.destination_name, **arguments},
        )


TDestinationReference: TypeAlias = (
    str | Destination | DestinationReference | ModuleType | Callable[..., Destination]
)
"""A reference to a destination: a name, a path, a destination, a reference, a module or a factory."""


def _destination_of(ref: Any) -> Destination:
    match ref:
        case Destination():
            return ref
        case str():
            return _named_destination(ref) or _destination_of_type(ref)
        case _ if _is_reference(ref):
            return _unregistered_destination(ref)
        case ModuleType():
            return _destination_of_module(ref)
        case _ if callable(ref):
            return _destination_of(_checked_result(ref))
        case _:
            raise InvalidDestinationReference(name="destination", found=f"a {type(ref).__name__}")


def _named_destination(name: str) -> Destination | None:
    """Return the destination of a name with a type in the settings; None without one."""
    destination_type = read_settings().text(SECTION, name, key="destination_type")
    if destination_type is None:
        return None
    return _destination_of_type(destination_type).with_changes(destination_name=name)


def _destination_of_type(destination_type: str) -> Destination:
    """Return the destination that is registered under a name, or that is at a dotted path."""
    if "." in destination_type:
        return _destination_of(_imported_object(destination_type))
    return registered_destination(destination_type)


def registered_destination(name: str) -> Destination:
    """Return the destination that is registered under a name, without arguments.

    >>> registered_destination("delta").destination_type
    'penstock.destinations.delta'
    """
    for entry in entry_points(group=ENTRY_POINT_GROUP, name=name):
        return _registered_destination(entry)
    raise _unknown_destination(name)


def _registered_destination(entry: EntryPoint) -> Destination:
    is_own = entry.module.startswith(f"{_OWN_PACKAGE}.")
    destination_type = f"{_OWN_PACKAGE}.{entry.name}" if is_own else entry.name
    return Destination(entry.name, _load_entry(entry), destination_type=destination_type)


def _destination_of_module(module: ModuleType) -> Destination:
    """Return the destination that is registered with an object in a module, or in a package below it."""
    entries = [
        entry
        for entry in entry_points(group=ENTRY_POINT_GROUP)
        if f"{entry.module}.".startswith(f"{module.__name__}.")
    ]
    match entries:
        case [entry]:
            return _registered_destination(entry)
        case []:
            problem = "a module without a registered destination"
        case _:
            names = ", ".join(sorted(entry.name for entry in entries))
            problem = f"a module with several destinations: {names}"
    raise InvalidDestinationReference(name=module.__name__, found=problem)


def _unregistered_destination(reference: DestinationReference) -> Destination:
    """Return the destination of a reference; a registered one has the registered name."""
    name = reference.spec().model_fields["destination_name"].default or Destination.to_name(reference)
    for entry in entry_points(group=ENTRY_POINT_GROUP, name=name):
        if _load_entry(entry) is reference:
            return _registered_destination(entry)
    return Destination(name, reference)


def _checked_result(factory: Callable[..., Any]) -> Any:
    """Call a factory; return its destination or reference."""
    result = factory()
    if isinstance(result, Destination) or _is_reference(result):
        return result
    name = getattr(factory, "__name__", type(factory).__name__)
    raise InvalidDestinationReference(name=name, found=f"a function that returns a {type(result).__name__}")


def _imported_object(path: str) -> Any:
    """Import the module or the attribute of a module that a dotted path names."""
    module_name, _, attribute = path.rpartition(".")
    for name in (module_name, path):
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # the module exists, and needs another one
            continue
        if name == path:
            return module
        if hasattr(module, attribute):
            return getattr(module, attribute)
    raise UnknownDestination(name=path, known=destination_names())
